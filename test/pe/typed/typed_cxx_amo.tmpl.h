/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Included in a C++ function: checks the overloads of atomics, waits and tests on one TYPE.
 */
{
    const TYPE top = std::numeric_limits<TYPE>::max();
    TYPE *cell = static_cast<TYPE *>(arena);

    cell[0] = top;
    cell[1] = 0;
    shmem_barrier_all();
    check(shmem_atomic_fetch(cell, right) == top,
          "shmem_atomic_fetch(cell) did not return the value of the right PE");
    check(shmem_atomic_fetch(ctx, cell, right) == top,
          "shmem_atomic_fetch(ctx, cell) did not return the value of the right PE");
    shmem_atomic_add(cell + 1, static_cast<TYPE>(40), right);
    shmem_atomic_inc(ctx, cell + 1, right);
    shmem_wait_until(cell + 1, SHMEM_CMP_EQ, static_cast<TYPE>(41));
    check(shmem_test_all(cell, 1, NULL, SHMEM_CMP_GE, top) == 1,
          "shmem_test_all(cell) did not return 1");
    shmem_barrier_all();
    check(shmem_atomic_compare_swap(ctx, cell, top, static_cast<TYPE>(7), right) == top,
          "shmem_atomic_compare_swap(ctx, cell) did not return the old value");
    shmem_barrier_all();
    check(cell[0] == 7, "shmem_atomic_compare_swap(ctx, cell) by the left PE did not store 7");
    shmem_barrier_all();
}
