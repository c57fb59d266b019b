/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks that a request to the proxy thread of a memory's owner takes few operations on the
 * fabric: no read of the owner's progress unless its queue may be full. Needs the provider shim,
 * which counts reads, and the fake driver. The number of posts is printed in a failure but not
 * checked.
 */
#include "pe_kinds.h"

#include <dlfcn.h>

enum { CALLS = 100 };

static long counted(const char *what)
{
    long (*count)(const char *) = (long (*)(const char *))dlsym(RTLD_DEFAULT, "provshim_count");

    PE_REQUIRE(count != NULL, "the provider shim is not loaded: no function provshim_count");
    return count(what);
}

/* Each PE asks pe to put and add so often; at most so many reads of each. */
static void check(const char *what, long *words, int pe, long most)
{
    long reads, posts;

    shmem_barrier_all();
    reads = counted("reads");
    posts = counted("posts");
    for (int call = 0; call < CALLS; call++) {
        shmem_long_p(words + pe_me, call, pe);
        shmem_long_atomic_inc(words + pe_n, pe);
    }
    reads = counted("reads") - reads;
    posts = counted("posts") - posts;
    PE_CHECK(reads <= most, "%s: %ld reads in %d requests, more than the limit (%ld posts)", what,
             reads, 2 * CALLS, posts);
    shmem_barrier_all();
}

int main(void)
{
    struct pe_space s;
    long *words;

    pe_test_begin();
    PE_REQUIRE(pe_kind_create(PE_GPU, PE_MIB, &s), "creating a GPU space failed");
    words = pe_kind_malloc(&s, (size_t)pe_n + 1);
    pe_gpu_fill(words + pe_n, 0, 1);
    check("one origin", words, pe_right(), 0);
    PE_CHECK_EQ(shmem_long_g(words + pe_n, pe_me), CALLS);
    check("all origins at one owner", words, 0, CALLS / 2);
    if (pe_me == 0) PE_CHECK_EQ(shmem_long_g(words + pe_n, 0), CALLS * (pe_n + 1L));
    shmem_barrier_all();
    shmem_space_free(s.space, words);
    pe_kind_destroy(&s);
    return pe_test_end();
}
