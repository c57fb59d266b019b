/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a job costs before and after its work: for `steppe-bench launch`.
 */
#include "harness.h"

int bench_startup(void)
{
    uint64_t start = bench_now_ns(), init_ns;
    int me;

    shmem_init();
    init_ns = bench_now_ns() - start;
    me = shmem_my_pe();
    start = bench_now_ns();
    shmem_finalize();
    printf("{\"pe\": %d, \"init_ns\": %llu, \"finalize_ns\": %llu}\n", me,
           (unsigned long long)init_ns, (unsigned long long)(bench_now_ns() - start));
    return 0;
}
