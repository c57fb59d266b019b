/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the kernels of handle.cu do with shmemx_device.h, which the including file includes first.
 * The code is compiled for devices, and as C for the host twins (test/fakecuda/twins_handle.c). All
 * threads of a block call these functions.
 */
#ifndef STP_TEST_HANDLE_OPS_H
#define STP_TEST_HANDLE_OPS_H

enum { OPS_WORDS = 1000 };

/* What a block of each PE has, in symmetric memory that devices reach. */
struct ops_part {
    uint64_t data[OPS_WORDS], landing[OPS_WORDS], own[OPS_WORDS], back[OPS_WORDS];
    uint64_t answer, alone, signal, added;
    double real;
    unsigned int bits, small;
};

/* What went wrong there: how often, the first time where, and with what values. */
struct ops_result {
    uint64_t n_failed, line, got, want, n_done;
};

/* Memory at an address that devices use. */
#define OPS_AT(address) (*SHMEMX_DEV_AT(address, sizeof(*(address))))

struct ops_block {
    const shmemx_device_handle_t *handle;
    struct ops_part *mine;
    struct ops_result *result;
    uint64_t block, n_blocks;
    int me, right, left;
};

SHMEMX_DEV_COLD void ops_check(const struct ops_block *ops, uint64_t line, uint64_t got,
                               uint64_t want)
{
    struct ops_result *result = &OPS_AT(ops->result);

    if (got == want) return;
    if (result->n_failed++ > 0) return;
    result->line = line;
    result->got = got;
    result->want = want;
}
#define OPS_CHECK(ops, got, want) ops_check(ops, __LINE__, (uint64_t)(got), (uint64_t)(want))

SHMEMX_DEV uint64_t ops_value(const struct ops_block *ops, int pe, uint64_t round, uint64_t i)
{
    return ((uint64_t)pe * ops->n_blocks + ops->block) * 1000000 + round * OPS_WORDS + i;
}

SHMEMX_DEV int ops_first(void)
{
    return stp_dev_lane(2) == 0;
}

SHMEMX_DEV void ops_fill(const struct ops_block *ops, uint64_t round)
{
    for (uint64_t i = stp_dev_lane(2); i < OPS_WORDS; i += stp_dev_lanes(2))
        OPS_AT(&ops->mine->data[i]) = ops_value(ops, ops->me, round, i);
}

SHMEMX_DEV void ops_expect(const struct ops_block *ops, const uint64_t *data, int pe,
                           uint64_t round)
{
    for (uint64_t i = 0; i < OPS_WORDS; i++)
        OPS_CHECK(ops, OPS_AT(&data[i]), ops_value(ops, pe, round, i));
}

/* Data, then a signal: never early. What came is answered, so that nobody overwrites it. */
SHMEMX_DEV void ops_signals(const struct ops_block *ops, uint64_t round)
{
    struct ops_part *mine = ops->mine;
    uint64_t want = round + 1;

    ops_fill(ops, round);
    if (round % 2 == 0)
        shmemx_dev_putmem_signal_block(ops->handle, mine->landing, mine->data, sizeof(mine->data),
                                       &mine->signal, 1, SHMEMX_DEV_SIGNAL_ADD, ops->right);
    else
        shmemx_dev_putmem_signal_nbi_block(ops->handle, mine->landing, mine->data,
                                           sizeof(mine->data), &mine->signal, want,
                                           SHMEMX_DEV_SIGNAL_SET, ops->right);
    if (!ops_first()) return;
    OPS_CHECK(ops,
              shmemx_dev_signal_wait_until(ops->handle, &mine->signal, SHMEMX_DEV_CMP_GE, want),
              want);
    ops_expect(ops, mine->landing, ops->left, round);
    shmemx_dev_uint64_p(ops->handle, &mine->answer, want, ops->left);
    shmemx_dev_uint64_wait_until(ops->handle, &mine->answer, SHMEMX_DEV_CMP_EQ, want);
    OPS_CHECK(ops, shmemx_dev_uint64_test(ops->handle, &mine->answer, SHMEMX_DEV_CMP_GT, want), 0);
    shmemx_dev_quiet(ops->handle);
}

/* To the right and back: only this block of this PE writes there. */
SHMEMX_DEV void ops_reads(const struct ops_block *ops, uint64_t round)
{
    struct ops_part *mine = ops->mine;

    shmemx_dev_uint64_put_block(ops->handle, mine->own, mine->data, OPS_WORDS, ops->right);
    if (ops_first()) shmemx_dev_fence(ops->handle);
    stp_dev_meet(2);
    shmemx_dev_uint64_get_block(ops->handle, mine->back, mine->own, OPS_WORDS, ops->right);
    if (!ops_first()) return;
    ops_expect(ops, mine->back, ops->me, round);
    OPS_CHECK(ops, shmemx_dev_uint64_g(ops->handle, &mine->own[7], ops->right),
              ops_value(ops, ops->me, round, 7));
    OPS_AT(&mine->back[1]) = 0;
    shmemx_dev_getmem_nbi(ops->handle, &mine->back[1], &mine->own[1], sizeof(uint64_t), ops->right);
    shmemx_dev_quiet(ops->handle);
    OPS_CHECK(ops, OPS_AT(&mine->back[1]), ops_value(ops, ops->me, round, 1));
    shmemx_dev_uint_p(ops->handle, &mine->small, (unsigned int)round, ops->right);
    shmemx_dev_fence(ops->handle);
    OPS_CHECK(ops, shmemx_dev_uint_g(ops->handle, &mine->small, ops->right), round);
}

/* Words that all blocks of all PEs change at PE 0, and words of this block at the neighbour. */
SHMEMX_DEV void ops_atomics(const struct ops_block *ops, uint64_t *total)
{
    struct ops_part *mine = ops->mine;

    shmemx_dev_uint64_atomic_add(ops->handle, total, 3, 0);
    (void)shmemx_dev_uint64_atomic_fetch_inc(ops->handle, total, 0);
    shmemx_dev_uint64_atomic_inc(ops->handle, &mine->added, ops->right);
    (void)shmemx_dev_uint_atomic_fetch_xor(ops->handle, &mine->bits, 5, ops->right);
    shmemx_dev_uint_atomic_xor(ops->handle, &mine->bits, 5, ops->right);
}

/* Only this block of this PE changes these. */
SHMEMX_DEV void ops_alone(const struct ops_block *ops)
{
    uint64_t *word = &ops->mine->alone;
    int right = ops->right;

    OPS_CHECK(ops, shmemx_dev_uint64_atomic_swap(ops->handle, word, 40, right), 0);
    OPS_CHECK(ops, shmemx_dev_uint64_atomic_compare_swap(ops->handle, word, 39, 1, right), 40);
    OPS_CHECK(ops, shmemx_dev_uint64_atomic_compare_swap(ops->handle, word, 40, 2, right), 40);
    OPS_CHECK(ops, shmemx_dev_uint64_atomic_fetch_add(ops->handle, word, 5, right), 2);
    OPS_CHECK(ops, shmemx_dev_uint64_atomic_fetch(ops->handle, word, right), 7);
    OPS_CHECK(ops, shmemx_dev_uint64_atomic_fetch_or(ops->handle, word, 8, right), 7);
    OPS_CHECK(ops, shmemx_dev_uint64_atomic_fetch_and(ops->handle, word, 12, right), 15);
    shmemx_dev_uint64_atomic_set(ops->handle, word, 0, right);
    shmemx_dev_double_atomic_set(ops->handle, &ops->mine->real, 0.25, right);
    shmemx_dev_fence(ops->handle);
    OPS_CHECK(ops, shmemx_dev_double_atomic_swap(ops->handle, &ops->mine->real, -1.5, right) * 4,
              1);
    shmemx_dev_quiet(ops->handle);
}

/* All of a block. It says when it is through. */
SHMEMX_DEV void ops_run(const struct ops_block *ops, uint64_t *total, uint64_t rounds)
{
    for (uint64_t round = 0; round < rounds; round++) {
        ops_signals(ops, round);
        stp_dev_meet(2);
        ops_reads(ops, round);
        if (ops_first()) ops_atomics(ops, total);
        stp_dev_meet(2);
    }
    if (!ops_first()) return;
    ops_alone(ops);
    OPS_AT(&ops->result->n_done) = rounds;
}

/* One block of each PE: a barrier orders what was stored before it. */
SHMEMX_DEV void ops_barrier(const struct ops_block *ops, uint64_t *word, uint64_t rounds)
{
    for (uint64_t round = 1; round <= rounds; round++) {
        if (ops_first()) shmemx_dev_uint64_p(ops->handle, word, round, ops->right);
        shmemx_dev_barrier_block(ops->handle);
        if (ops_first()) OPS_CHECK(ops, OPS_AT(word), round);
        shmemx_dev_barrier_block(ops->handle);
    }
    if (ops_first()) OPS_AT(&ops->result->n_done) = rounds;
}

/* One thread: adds 1 to word again and again, until stop is not 0. */
SHMEMX_DEV void ops_add(uint64_t *word, const uint64_t *stop, uint64_t limit)
{
    for (uint64_t i = 0; i < limit && stp_dev_load64(stop) == 0; i++)
        (void)stp_dev_add64(word, 1);
}

SHMEMX_DEV struct ops_block ops_begin(const shmemx_device_handle_t *handle, struct ops_part *parts,
                                      struct ops_result *results, uint64_t block, uint64_t n_blocks)
{
    int me = shmemx_dev_my_pe(handle), n = shmemx_dev_n_pes(handle);
    struct ops_block ops = {handle, parts + block, results + block, block, n_blocks,
                            me,     (me + 1) % n,  (me + n - 1) % n};

    return ops;
}

#endif /* STP_TEST_HANDLE_OPS_H */
