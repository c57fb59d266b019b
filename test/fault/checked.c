/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job that knows the value of every word of its symmetric memory: puts, gets, atomics and signals
 * in a ring, and much memory to which nobody writes. Strangers (garbage.py, stray.c) disturb this
 * job.
 *
 * usage: fault_checked [SECONDS [REST]]
 * PE 0 prints "running" after the first round. With REST, PE 0 prints "resting", all PEs sleep for
 * REST seconds and run one more round. Each PE prints "fine" at its end. Exit status 3 when a word
 * is wrong, 2 without memory.
 */
#include <shmem.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "now.h"

#define WORDS 2048
#define STILL (1 << 17) /* words that nobody writes to, in the heap and in the segment */

static uint64_t inbound[WORDS], outbound[WORDS], back[WORDS];
static uint64_t counter, signal_word;
static uint64_t still_data[STILL];
static uint64_t *still_heap;
static int me, n_pes;

static uint64_t word(int pe, uint64_t round, size_t i)
{
    uint64_t x = ((uint64_t)pe << 48) + (round << 20) + i + 1;

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    return x ^ x >> 27;
}

static void check(const char *what, size_t i, uint64_t is, uint64_t must)
{
    if (is == must) return;
    printf("pe %d: wrong: %s[%zu] is %llx, not %llx\n", me, what, i, (unsigned long long)is,
           (unsigned long long)must);
    shmem_global_exit(3);
}

static void still_fill(uint64_t *words)
{
    for (size_t i = 0; i < STILL; i++)
        words[i] = word(me, 0, i);
}

static void still_check(const char *name, const uint64_t *words)
{
    for (size_t i = 0; i < STILL; i++)
        check(name, i, words[i], word(me, 0, i));
}

static void ring(uint64_t round)
{
    int next = (me + 1) % n_pes, before = (me + n_pes - 1) % n_pes;

    for (size_t i = 0; i < WORDS; i++)
        outbound[i] = word(me, round, i);
    shmem_putmem_signal(inbound, outbound, sizeof(outbound), &signal_word, 1, SHMEM_SIGNAL_ADD,
                        next);
    for (int pe = 0; pe < n_pes; pe++)
        shmem_uint64_atomic_add(&counter, 1, pe);
    shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, round);
    for (size_t i = 0; i < WORDS; i++)
        check("inbound", i, inbound[i], word(before, round, i));
    shmem_getmem(back, inbound, sizeof(back), next);
    shmem_barrier_all();
    check("counter", 0, shmem_uint64_atomic_fetch(&counter, next), round * (uint64_t)n_pes);
    shmem_getmem(back, inbound, sizeof(back), next);
    for (size_t i = 0; i < WORDS; i++)
        check("back", i, back[i], word(me, round, i));
    shmem_barrier_all();
}

static void rest(unsigned seconds, uint64_t round)
{
    shmem_barrier_all();
    if (me == 0) printf("resting\n");
    fflush(stdout);
    sleep(seconds);
    ring(round);
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 2, end;
    static int go, mine;
    uint64_t round = 0;

    alarm(100); /* whoever is still here then has hung, and is not left behind */
    shmem_init();
    me = shmem_my_pe();
    n_pes = shmem_n_pes();
    still_heap = shmem_malloc(STILL * sizeof(*still_heap));
    if (still_heap == NULL) return 2;
    still_fill(still_data);
    still_fill(still_heap);
    ring(++round);
    if (me == 0) printf("running\n");
    fflush(stdout);
    end = now() + seconds;
    do {
        ring(++round);
        if (round % 16 == 0) usleep(20000); /* idle: the progress thread sleeps */
        mine = now() < end;
        shmem_int_max_reduce(SHMEM_TEAM_WORLD, &go, &mine, 1);
    } while (go);
    if (argc > 2) rest((unsigned)atoi(argv[2]), ++round);
    still_check("still_data", still_data);
    still_check("still_heap", still_heap);
    shmem_barrier_all();
    if (me == 0) printf("%llu rounds\n", (unsigned long long)round);
    printf("fine\n");
    shmem_finalize();
    return 0;
}
