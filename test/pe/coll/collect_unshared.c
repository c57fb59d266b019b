/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks fcollect, collect and alltoall of globals that the PEs of a node do not share, because
 * the process had a second thread when the library was loaded. Large data then goes through the
 * fabric, also between PEs of one node. The test fails if the globals are shared.
 */
#include "pe_test.h"

#include <pthread.h>
#include <unistd.h>

enum { MOST = 16, WORDS = 20000 }; /* the larger sizes fit no chunk of the team */

static const size_t sizes[] = {1, 200, 3000, WORDS};
static long source[WORDS * MOST], dest[WORDS * MOST];

static void *be_there(void *arg)
{
    for (;;)
        pause();
    return arg;
}

static void start_early(int argc, char **argv, char **env)
{
    pthread_t thread;

    (void)argc, (void)argv, (void)env;
    if (pthread_create(&thread, NULL, be_there, NULL) != 0) abort();
}

/* Runs before the constructors of the libraries. */
static void (*const early)(int, char **, char **)
    __attribute__((section(".preinit_array"), used)) = start_early;

static long value_of(int pe, size_t n, size_t i)
{
    return (long)(n * 1000003 + (size_t)pe * 7919 + i);
}

/* dest holds n elements of each PE, the first of which is at `first` of its source. */
static void check(const char *what, size_t n, size_t first)
{
    for (int pe = 0; pe < pe_n; pe++)
        for (size_t i = 0; i < n; i++) {
            long got = dest[(size_t)pe * n + i], want = value_of(pe, n, first + i);
            if (!PE_CHECK(got == want,
                          "%s of %zu elements: element %zu from PE %d is %ld, expected %ld", what,
                          n, i, pe, got, want))
                return;
        }
}

static void begin(size_t n)
{
    shmem_barrier_all();
    memset(dest, 0, sizeof(dest));
    for (size_t i = 0; i < n * (size_t)pe_n; i++)
        source[i] = value_of(pe_me, n, i);
    shmem_barrier_all();
}

int main(void)
{
    pe_test_begin();
    PE_REQUIRE(pe_n <= MOST, "this test runs with at most %d PEs", MOST);
    PE_CHECK(
        pe_n == 1 || shmem_ptr(dest, (pe_me + 1) % pe_n) == NULL,
        "shmem_ptr to a global of the next PE is not NULL: the globals are shared, so nothing is "
        "tested");
    for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++) {
        size_t n = sizes[k];

        begin(n);
        shmem_long_fcollect(SHMEM_TEAM_WORLD, dest, source, n);
        check("fcollect", n, 0);
        begin(n);
        shmem_long_collect(SHMEM_TEAM_WORLD, dest, source, n);
        check("collect", n, 0);
        begin(n);
        shmem_long_alltoall(SHMEM_TEAM_WORLD, dest, source, n);
        check("alltoall", n, (size_t)pe_me * n);
    }
    return pe_test_end();
}
