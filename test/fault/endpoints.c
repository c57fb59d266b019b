/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job with many private contexts, each of which is used with every PE. The contexts ask for
 * endpoints of their own, which take descriptors in this process and at their peers. The job must
 * not fail when descriptors are scarce; limits.py starts it with low limits.
 *
 * usage: fault_endpoints CONTEXTS [HELD]
 *   HELD   number of descriptors that the program itself takes first
 * Exit status 2 when a context or a word is wrong.
 */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define WORDS 256 /* too many for a message: the context's own endpoint carries them */

static int hold(int n)
{
    for (int i = 0; i < n; i++)
        if (dup(STDIN_FILENO) < 0) return -1;
    return 0;
}

/* Each PE writes its number and the round into its place on each other one, on all contexts. */
static void put_all(shmem_ctx_t *ctxs, int n, long *places)
{
    int me = shmem_my_pe(), n_pes = shmem_n_pes();

    for (int i = 0; i < n; i++) {
        long words[WORDS];

        for (int k = 0; k < WORDS; k++)
            words[k] = (long)me * n + i;
        for (int pe = 0; pe < n_pes; pe++)
            shmem_ctx_putmem(ctxs[i], places + ((size_t)me * (size_t)n + (size_t)i) * WORDS, words,
                             sizeof(words), pe);
        shmem_ctx_quiet(ctxs[i]);
    }
}

static int count_wrong(const long *places, int n_places)
{
    int wrong = 0;

    for (int i = 0; i < n_places; i++)
        for (int k = 0; k < WORDS; k++)
            wrong += places[(size_t)i * WORDS + (size_t)k] != i;
    return wrong;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 40, wrong = 0;
    shmem_ctx_t *ctxs = calloc((size_t)n, sizeof(*ctxs));
    long *places;

    shmem_init();
    places = shmem_calloc((size_t)(n * shmem_n_pes()) * WORDS, sizeof(*places));
    if (ctxs == NULL || places == NULL || hold(argc > 2 ? atoi(argv[2]) : 0) != 0) {
        fprintf(stderr, "the program cannot get its own memory or its HELD descriptors\n");
        shmem_global_exit(2);
    }
    for (int i = 0; i < n; i++)
        wrong += shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctxs[i]) != 0;
    if (wrong == 0) put_all(ctxs, n, places);
    shmem_barrier_all();
    wrong += count_wrong(places, n * shmem_n_pes());
    if (wrong > 0) {
        fprintf(stderr, "pe %d: %d contexts were not created, or words have wrong values\n",
                shmem_my_pe(), wrong);
        shmem_global_exit(2);
    }
    for (int i = 0; i < n; i++)
        shmem_ctx_destroy(ctxs[i]);
    shmem_free(places);
    shmem_finalize();
    free(ctxs);
    return 0;
}
