/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The raw limit on the node: the same work by memcpy, plain stores and CPU atomics on the other
 * PE's memory as shmem_ptr maps it. Waits are plain loads.
 */
#include <shmem.h>
#include "shmem_peer.h"

#include <sched.h>
#include <string.h>

/* Memory may have changed: keeps a loop from being folded into one turn. */
static void touch(void)
{
    __asm__ __volatile__("" ::: "memory");
}

/* What quiet promises beyond memcpy: the stores are seen before anything done later. */
static void full_fence(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static void pause_cpu(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

static void spin_until(const long *word, long value, unsigned polls)
{
    for (unsigned n = 1; __atomic_load_n(word, __ATOMIC_ACQUIRE) < value; n++) {
        pause_cpu();
        if (n % polls == 0) sched_yield();
    }
}

void raw_put(struct peer_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        memcpy(peer_shmem.dest_there, run->local, run->nbytes);
        full_fence();
    }
}

void raw_get(struct peer_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        memcpy(run->local, peer_shmem.dest_there, run->nbytes);
        touch();
    }
}

void raw_put_window(struct peer_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        for (int k = 0; k < run->window; k++) {
            memcpy(peer_shmem.dest_there, run->local, run->nbytes);
            touch();
        }
        full_fence();
    }
}

void raw_get_window(struct peer_run *run, uint64_t n_ops)
{
    raw_get(run, n_ops * (uint64_t)run->window);
}

void raw_p(struct peer_run *run, uint64_t n_ops)
{
    volatile long *dest = (volatile long *)(void *)peer_shmem.dest_there;

    (void)run;
    for (uint64_t i = 0; i < n_ops; i++)
        *dest = (long)i;
    full_fence();
}

void raw_rate(struct peer_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        memcpy(peer_shmem.dest_there, run->local, run->nbytes);
        touch();
    }
    full_fence();
}

void raw_get_rate(struct peer_run *run, uint64_t n_ops)
{
    raw_get(run, n_ops);
}

void raw_fetch_add(struct peer_run *run, uint64_t n_ops)
{
    volatile long seen;

    (void)run;
    for (uint64_t i = 0; i < n_ops; i++)
        seen = __atomic_fetch_add(&peer_shmem.words_there->counter.value, 1, __ATOMIC_SEQ_CST);
    (void)seen;
}

void raw_swap(struct peer_run *run, uint64_t n_ops)
{
    volatile long seen;

    (void)run;
    for (uint64_t i = 0; i < n_ops; i++)
        seen =
            __atomic_exchange_n(&peer_shmem.words_there->counter.value, (long)i, __ATOMIC_SEQ_CST);
    (void)seen;
}

void raw_compare_swap(struct peer_run *run, uint64_t n_ops)
{
    static long seen;

    (void)run;
    for (uint64_t i = 0; i < n_ops; i++)
        if (__atomic_compare_exchange_n(&peer_shmem.words_there->counter.value, &seen, seen + 1,
                                        false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
            seen++;
}

void raw_lock(struct peer_run *run, uint64_t n_ops)
{
    long *lock = &peer_shmem.words_there->raw_lock.value;

    (void)run;
    for (uint64_t i = 0; i < n_ops; i++) {
        long taken = 1;

        __atomic_exchange_n(lock, taken, __ATOMIC_SEQ_CST);
        __atomic_compare_exchange_n(lock, &taken, 0, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    }
}

void raw_ping(struct peer_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        __atomic_store_n(&peer_shmem.words_there->raw_turn.value, ++run->token, __ATOMIC_RELEASE);
        spin_until(&peer_shmem.words->raw_turn.value, run->token, run->polls);
    }
}

void raw_pong(struct peer_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        spin_until(&peer_shmem.words->raw_turn.value, ++run->token, run->polls);
        __atomic_store_n(&peer_shmem.words_there->raw_turn.value, run->token, __ATOMIC_RELEASE);
    }
}

/* Dissemination: with two PEs it is one flag each way. */
void raw_barrier(struct peer_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        peer_shmem.raw_token++;
        for (int k = 0, step = 1; step < run->n_pes; k++, step *= 2) {
            struct peer_words *next = peer_shmem.words_of[(run->me + step) % run->n_pes];

            __atomic_store_n(&next->round[k].value, peer_shmem.raw_token, __ATOMIC_RELEASE);
            spin_until(&peer_shmem.words->round[k].value, peer_shmem.raw_token, run->polls);
        }
    }
}
