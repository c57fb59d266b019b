/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks GPU memory that the program made by handles (cuMemCreate, cuMemMap) as a space: at any
 * offset, and as a heap. Such memory has no IPC handle, so the PE that owns it copies for the
 * others. Also checks leaks.
 */
#include "pe_handles.h"
#include "pe_kinds.h"
#include "pe_leaks.h"

enum { N = 3000 };

static bool same_node; /* as the PE to the right */
static void *context;

static void check_path(shmem_space_t space)
{
    shmemx_space_path_t path = shmemx_space_path(space, pe_right());

    PE_CHECK_EQ(shmemx_space_path(space, pe_me), SHMEMX_PATH_DEVICE);
    if (!same_node || pe_n == 1) return;
    PE_CHECK(path == SHMEMX_PATH_STAGED, "the path to the right PE is %s, expected staged",
             shmemx_space_path_name(path));
}

/* Put, get and atomics around the ring. */
static void check_use(long *block, long salt)
{
    long values[N], got[N];

    for (long i = 0; i < N; i++)
        values[i] = salt + 10000L * pe_me + i;
    shmem_barrier_all();
    shmem_long_put(block, values, N, pe_right());
    shmem_barrier_all();
    PE_GPU_EXPECT(block, salt + 10000L * pe_left(), N, "what came from the left");
    memset(got, 0, sizeof(got));
    shmem_long_get(got, block, N, pe_left());
    PE_EXPECT(got, salt + 10000L * ((pe_left() + pe_n - 1) % pe_n), N, "what the left has");
    shmem_barrier_all();
    shmem_long_p(block, 0, pe_me);
    shmem_barrier_all();
    for (int pe = 0; pe < pe_n; pe++)
        shmem_long_atomic_add(block, pe_me + 1, pe);
    shmem_barrier_all();
    PE_CHECK_EQ(shmem_long_g(block, pe_right()), pe_n * (pe_n + 1) / 2);
    shmem_barrier_all();
}

static void check_block(bool shareable)
{
    size_t nbytes = 2 * PE_HANDLES_UNIT, at = 64 * (size_t)(pe_me + 1) * 100;
    unsigned long long address = pe_handles_alloc(nbytes, shareable);
    char *buffer = (char *)(uintptr_t)address + at;
    shmem_space_t space;

    PE_REQUIRE(shmemx_buffer_register(SHMEM_TEAM_WORLD, buffer, N * sizeof(long) + 8, 0, -1, 0,
                                      &space) == 0,
               "shmemx_buffer_register of memory by handles failed");
    check_path(space);
    check_use((long *)(void *)(buffer + 8), 1000000);
    PE_CHECK_EQ(shmem_space_destroy(space), 0);
    pe_handles_free(address, nbytes);
}

static void check_heap(void)
{
    unsigned long long address = pe_handles_alloc(PE_HANDLES_UNIT, true);
    shmem_space_t space;
    long *first, *second;

    PE_REQUIRE(shmemx_buffer_register(SHMEM_TEAM_WORLD, (void *)(uintptr_t)address, PE_HANDLES_UNIT,
                                      SHMEMX_ADOPT_HEAP, -1, 0, &space) == 0,
               "shmemx_buffer_register of memory by handles as a heap failed");
    first = shmem_space_malloc(space, N * sizeof(long));
    second = shmem_space_calloc(space, N, sizeof(long));
    check_use(second, 5000000);
    check_use(first, 6000000);
    shmem_free(second);
    shmem_free(first);
    PE_CHECK_EQ(shmem_space_destroy(space), 0);
    pe_handles_free(address, PE_HANDLES_UNIT);
}

/* A space lies in one allocation. */
static void check_refused(void)
{
    unsigned long long address = pe_handles_alloc(PE_HANDLES_UNIT, true);
    shmem_space_t space;

    PE_CHECK(shmemx_buffer_register(SHMEM_TEAM_WORLD, (void *)(uintptr_t)address,
                                    PE_HANDLES_UNIT + 64, 0, -1, 0, &space) != 0,
             "shmemx_buffer_register past the end of the allocation returned 0, expected an error");
    pe_handles_free(address, PE_HANDLES_UNIT);
}

static void check_leaks(void)
{
    static const struct pe_slack slack = {8, 256, 64, PE_ARENAS, 4096};
    struct pe_holdings before = {0}, after;

    for (int i = 0; i < 60; i++) { /* the first ones touch the places of staged copies */
        check_block(true);
        if (i == 40) before = pe_holdings();
    }
    after = pe_holdings();
    pe_check_holdings(&before, &after, &slack, "20 rounds");
}

int main(void)
{
    long *heap;

    pe_test_begin();
    heap = pe_heap_seen(1);
    if (!pe_handles_load() || !pe_kind_exists(PE_GPU)) {
        pe_test_skip("no GPU with memory by handles");
        return pe_test_end();
    }
    same_node = shmem_ptr(heap, pe_right()) != NULL;
    PE_REQUIRE(pe_cuda.retain(&context, 0) == 0 && pe_cuda.set_current(context) == 0,
               "the primary context of device 0 cannot be retained and made current");
    check_block(true);
    check_block(false);
    check_heap();
    check_refused();
    check_leaks();
    pe_cuda.set_current(NULL);
    pe_cuda.release(0);
    shmem_free(heap);
    return pe_test_end();
}
