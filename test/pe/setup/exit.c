/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ends a job before shmem_finalize in the way that the argument names (OpenSHMEM 1.6, section 9.1;
 * rule R14 of docs/reference/conformance.md). The last PE leaves while the other PEs wait, are in a
 * barrier or a collective, or compute; or all PEs return from main beside threads that are in
 * routines of the library. run_exit.sh checks the status and the time; this program checks nothing.
 *
 * usage: exit WAY
 */
#include "pe_threads.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

static long never; /* nobody sets it */
static long words[2];

/* Blocked for ever, each PE in its own way. */
static void block(void)
{
    static volatile unsigned long spin;

    switch (pe_me % 4) {
    case 0:
        shmem_long_wait_until(&never, SHMEM_CMP_EQ, 1);
        break;
    case 1:
        shmem_barrier_all();
        break;
    case 2:
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &words[0], &words[1], 1);
        break;
    default:
        for (;;)
            spin++;
    }
}

/*
 * One PE leaves with status 0; the others go on with point-to-point work, and with so many
 * barriers: the first ones meet those of its finalize. Some finalize themselves.
 */
static int leave(int n_barriers)
{
    if (pe_me == pe_n - 1) exit(0);
    for (int i = 0; i < 50; i++)
        shmem_long_atomic_inc(&words[0], pe_n - 1);
    for (int i = 0; i < n_barriers; i++)
        shmem_barrier_all();
    if (pe_me % 2 == 0) shmem_finalize();
    return 0;
}

/* ---- threads that stay in the library while their PE ends -------------------------------- */

enum { BUSY = 2, MORE = 200 };

static atomic_long calls[BUSY];
static long *heap_words; /* nobody sets the first */

static void *put_and_get(void *arg)
{
    for (;; atomic_fetch_add(&calls[0], 1)) {
        shmem_long_p(&heap_words[1], 1, pe_me);
        (void)shmem_long_g(&heap_words[1], pe_me);
        shmem_long_atomic_inc(&heap_words[2], pe_me);
        shmem_quiet();
    }
    return arg;
}

static void *make_contexts(void *arg)
{
    for (;; atomic_fetch_add(&calls[1], 1)) {
        shmem_ctx_t ctx = SHMEM_CTX_INVALID;

        if (shmem_ctx_create(0, &ctx) == 0) shmem_ctx_destroy(ctx);
    }
    return arg;
}

static void *wait_for_ever(void *arg)
{
    shmem_long_wait_until(&heap_words[0], SHMEM_CMP_NE, 0);
    return arg;
}

/* Registered before the library's handlers, so it runs when they have run: all goes on. */
static void after_finalize(void)
{
    for (int i = 0; i < BUSY; i++) {
        long seen = atomic_load(&calls[i]);

        while (seen > 0 && atomic_load(&calls[i]) < seen + MORE)
            sched_yield();
    }
}

static int leave_beside_threads(void)
{
    void *(*const bodies[])(void *) = {put_and_get, make_contexts, wait_for_ever};

    heap_words = pe_calloc(3, sizeof(*heap_words));
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++)
        (void)pe_thread(bodies[i], NULL);
    for (int i = 0; i < BUSY; i++)
        while (atomic_load(&calls[i]) == 0)
            sched_yield();
    return 0;
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    bool beside = strcmp(way, "leave_beside_threads") == 0;
    int provided;

    atexit(after_finalize);
    shmem_init_thread(beside ? SHMEM_THREAD_MULTIPLE : SHMEM_THREAD_SINGLE, &provided);
    pe_test_attach();
    shmem_barrier_all();
    if (strcmp(way, "all_global_exit") == 0) shmem_global_exit(10 + pe_me);
    if (beside) return leave_beside_threads();
    if (strcmp(way, "leave") == 0) return leave(0);
    if (strcmp(way, "leave_collectives") == 0) return leave(5);
    if (strcmp(way, "leave_collective") == 0) return leave(1);
    if (pe_me != pe_n - 1) block();
    printf("last words of pe %d", pe_me); /* R14: flushed without a newline */
    if (strcmp(way, "global_exit") == 0) shmem_global_exit(3);
    if (strcmp(way, "return") == 0) return 5;
    if (strcmp(way, "exit") == 0) exit(6);
    if (strcmp(way, "kill") == 0) raise(SIGKILL);
    if (strcmp(way, "abort") == 0) abort();
    if (strcmp(way, "segv") == 0) raise(SIGSEGV);
    fprintf(stderr, "pe %d: no way to leave is called %s\n", pe_me, way);
    shmem_global_exit(PE_FAIL);
}
