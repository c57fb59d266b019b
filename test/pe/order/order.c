/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks that a PE that sees a flag sees the data that was written before it, with a fence or quiet
 * between (OpenSHMEM 1.6, section 9.12; rules R201, R202 and R218-R221 of
 * docs/reference/conformance.md): for six ways to write data and six ways to raise a flag, for
 * plain stores, and for a third PE after quiet.
 */
#include "pe_order.h"

enum { SMALL = 512, MIDDLE = 4096, LARGE = 128 * 1024, ROUNDS = 64 };

static unsigned char *data, *source; /* LARGE bytes each; data is written by the left neighbour */
static struct order_cells cells;
static long flag, ack;

static void restart(void)
{
    memset(&cells, 0, sizeof(cells));
    flag = ack = 0;
    shmem_barrier_all();
}

/* One pairing of ways: ROUNDS times data, fence or quiet, flag; check; acknowledge. */
static void check_pairing(enum data_way data_way, enum flag_way flag_way, size_t n)
{
    size_t step = data_way == DATA_PUT_NBI ? SMALL : n; /* several nonblocking puts are under way */
    char what[64];

    snprintf(what, sizeof(what), "%s, then flag by %s", order_data_name[data_way],
             order_flag_name[flag_way]);
    restart();
    for (int round = 1; round <= pe_rounds(ROUNDS); round++) {
        uint64_t turn = (uint64_t)round;

        pe_fill(source, n, (unsigned)(round * 16 + pe_me));
        for (size_t at = 0; at < n; at += step)
            order_write(SHMEM_CTX_DEFAULT, data_way, data + at, source + at, step, &cells, turn,
                        pe_right());
        if (round % 2)
            shmem_fence();
        else
            shmem_quiet();
        order_raise(SHMEM_CTX_DEFAULT, flag_way, &cells, turn, pe_right());
        if (flag_way == FLAG_SIGNAL_SET)
            shmem_signal_wait_until(&cells.flag, SHMEM_CMP_EQ, turn);
        else
            shmem_uint64_wait_until(&cells.flag, SHMEM_CMP_EQ, turn);
        order_check(data_way, data, n, (unsigned)(round * 16 + pe_left()), &cells, turn, 0, what);
        shmem_quiet(); /* an nbi source is about to be rewritten */
        shmem_long_atomic_set(&ack, round, pe_left());
        shmem_long_wait_until(&ack, SHMEM_CMP_EQ, round);
    }
    shmem_barrier_all();
}

static void check_pairings(void)
{
    static const struct {
        enum data_way way;
        size_t n; /* bytes; few where each word is a message */
    } writes[] = {{DATA_PUT, MIDDLE},    {DATA_PUT_NBI, MIDDLE}, {DATA_P, SMALL},
                  {DATA_SET, SMALL / 2}, {DATA_IPUT, SMALL},     {DATA_PUT_SIGNAL_NBI, MIDDLE}};
    static const enum flag_way flags[] = {FLAG_P,   FLAG_PUT, FLAG_SET,
                                          FLAG_ADD, FLAG_INC, FLAG_SIGNAL_SET};

    for (int d = 0; d < 6; d++)
        for (int f = 0; f < 6; f++)
            check_pairing(writes[d].way, flags[f], writes[d].n);
    check_pairing(DATA_PUT, FLAG_P, LARGE);
    check_pairing(DATA_PUT_NBI, FLAG_SET, LARGE);
}

/*
 * R221: after quiet the data is visible to all PEs, not only delivered: a third PE, told through
 * its own flag, gets it from the target.
 */
static void check_third_party(void)
{
    enum { N = 1000 };
    static long mine[N], got[N];
    int third = (pe_me + 2) % pe_n, writer = (pe_me + 2 * pe_n - 2) % pe_n;

    restart();
    for (long round = 1; round <= pe_rounds(ROUNDS); round++) {
        for (int i = 0; i < N; i++)
            mine[i] = round * 100 + pe_me;
        shmem_long_put_nbi((long *)data, mine, N, pe_right());
        shmem_quiet();
        shmem_long_p(&flag, round, third);
        shmem_long_wait_until(&flag, SHMEM_CMP_EQ, round);
        shmem_long_get(got, (long *)data, N, (writer + 1) % pe_n);
        PE_CHECK_EACH(
            int, i, N, got[i] == round * 100 + writer,
            "a third PE got old data from the target after the writer's quiet: word %d is %ld, "
            "expected %ld",
            i, got[i], round * 100 + writer);
        shmem_barrier_all();
    }
}

/* R218: fences order a stream of puts to one place: the last one wins. */
static void check_overwrite(void)
{
    static long cell;

    cell = 0;
    shmem_barrier_all();
    for (long i = 1; i <= 300; i++) {
        if (i % 3 == 0)
            shmem_long_p(&cell, i, pe_right());
        else if (i % 3 == 1)
            shmem_long_put(&cell, &i, 1, pe_right());
        else
            shmem_long_atomic_set(&cell, i, pe_right());
        shmem_fence();
    }
    shmem_barrier_all();
    PE_CHECK_EQ(cell, 300);
    shmem_barrier_all();
}

/* R219, R220: a plain store through shmem_ptr, then a put or an atomic as the flag. */
static void check_store_then_flag(void)
{
    check_pairing(DATA_STORE, FLAG_P, MIDDLE);
    check_pairing(DATA_STORE, FLAG_SET, MIDDLE);
}

int main(void)
{
    pe_test_begin();
    data = pe_calloc(LARGE, 1);
    source = pe_private(LARGE);
    check_pairings();
    check_third_party();
    check_overwrite();
    check_store_then_flag();
    return pe_test_end();
}
