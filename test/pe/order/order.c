/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ordering: data, fence or quiet, flag. Whoever sees the flag sees the data, for each way to
 * write data and each way to raise a flag. Rules R201, R202, R218-R221.
 */
#include "pe_data.h"

enum { WORDS = 512, FEW_WORDS = 64, ROUNDS = 64, BIG_WORDS = 16 * 1024 };

enum data_way { BY_PUT, BY_PUT_NBI, BY_P, BY_AMO, BY_IPUT, BY_SIGNAL, N_DATA };
enum flag_way { FLAG_P, FLAG_PUT, FLAG_SET, FLAG_ADD, FLAG_INC, FLAG_SIGNAL, N_FLAG };

static const char *const data_name[N_DATA] = {"put",    "put_nbi", "p",
                                              "atomic", "iput",    "put_signal"};
static const char *const flag_name[N_FLAG] = {"p", "put", "set", "add", "inc", "signal"};

static long *data; /* WORDS or BIG_WORDS, written by the left neighbour */
static uint64_t data_signal;
static long flag, ack;
static uint64_t flag_word; /* the flag as a signal */

static void write_data(enum data_way way, const long *source, int nwords, long value)
{
    int right = pe_right();

    switch (way) {
    case BY_PUT:
        shmem_long_put(data, source, (size_t)nwords, right);
        break;
    case BY_PUT_NBI:
        for (int i = 0; i < nwords; i += 64)
            shmem_long_put_nbi(data + i, source + i, 64, right);
        break;
    case BY_P:
        for (int i = 0; i < nwords; i++)
            shmem_long_p(&data[i], value, right);
        break;
    case BY_AMO:
        for (int i = 0; i < nwords; i += 16)
            shmem_long_atomic_set(&data[i], value, right);
        break;
    case BY_IPUT:
        shmem_long_iput(data, source, 2, 1, (size_t)nwords / 2, right);
        shmem_long_iput(data + 1, source, 2, 1, (size_t)nwords / 2, right);
        break;
    case BY_SIGNAL:
        shmem_long_put_signal_nbi(data, source, (size_t)nwords, &data_signal, (uint64_t)value,
                                  SHMEM_SIGNAL_SET, right);
        break;
    case N_DATA:
        break;
    }
}

static void raise_flag(enum flag_way way, long value)
{
    int right = pe_right();

    switch (way) {
    case FLAG_P:
        shmem_long_p(&flag, value, right);
        break;
    case FLAG_PUT:
        shmem_long_put(&flag, &value, 1, right);
        break;
    case FLAG_SET:
        shmem_long_atomic_set(&flag, value, right);
        break;
    case FLAG_ADD:
        shmem_long_atomic_add(&flag, 1, right);
        break;
    case FLAG_INC:
        shmem_long_atomic_inc(&flag, right);
        break;
    case FLAG_SIGNAL:
        shmem_signal_set(&flag_word, (uint64_t)value, right);
        break;
    case N_FLAG:
        break;
    }
}

static void await_flag(enum flag_way way, long value)
{
    if (way == FLAG_SIGNAL)
        shmem_signal_wait_until(&flag_word, SHMEM_CMP_EQ, (uint64_t)value);
    else
        shmem_long_wait_until(&flag, SHMEM_CMP_EQ, value);
}

/* One pairing of ways: ROUNDS times data, fence or quiet, flag; check; acknowledge. */
static void check_pairing(enum data_way data_way, enum flag_way flag_way, int nwords, int rounds)
{
    long *source = malloc((size_t)nwords * sizeof(*source));
    int step = data_way == BY_AMO ? 16 : 1;

    PE_REQUIRE(source != NULL, "malloc failed");
    flag = ack = 0;
    flag_word = data_signal = 0;
    shmem_barrier_all();
    for (long round = 1; round <= rounds; round++) {
        bool bad = false;

        for (int i = 0; i < nwords; i++)
            source[i] = round;
        write_data(data_way, source, nwords, round);
        if (round % 2)
            shmem_fence();
        else
            shmem_quiet();
        raise_flag(flag_way, round);
        await_flag(flag_way, round);
        for (int i = 0; i < nwords && !bad; i += step)
            bad = !PE_CHECK(data[i] == round, "%s then flag by %s: word %d is %ld in round %ld",
                            data_name[data_way], flag_name[flag_way], i, data[i], round);
        shmem_quiet(); /* an nbi source is about to be rewritten */
        shmem_long_atomic_set(&ack, round, pe_left());
        shmem_long_wait_until(&ack, SHMEM_CMP_EQ, round);
    }
    shmem_barrier_all();
    free(source);
}

/*
 * R221: after quiet the data is visible to all PEs, not only delivered: a third PE, told through
 * its own flag, gets it from the target.
 */
static void check_third_party(void)
{
    enum { N = 1000 };
    static long source[N], got[N];
    int target = pe_right(), third = (pe_me + 2) % pe_n, writer = (pe_me + 2 * pe_n - 2) % pe_n;

    flag = ack = 0;
    shmem_barrier_all();
    for (long round = 1; round <= pe_rounds(ROUNDS); round++) {
        for (int i = 0; i < N; i++)
            source[i] = round * 100 + pe_me;
        shmem_long_put_nbi(data, source, N, target);
        shmem_quiet();
        shmem_long_p(&flag, round, third);
        shmem_long_wait_until(&flag, SHMEM_CMP_EQ, round);
        shmem_long_get(got, data, N, (writer + 1) % pe_n);
        for (int i = 0; i < N; i++)
            if (!PE_CHECK(got[i] == round * 100 + writer, "third party: word %d is %ld, not %ld", i,
                          got[i], round * 100 + writer))
                break;
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

/* R219, R220: a plain store through shmem_ptr, fence, put or atomic flag. */
static void check_store_then_flag(void)
{
    volatile long *there = shmem_ptr(data, pe_right());

    flag = ack = 0;
    shmem_barrier_all();
    for (long round = 1; round <= pe_rounds(ROUNDS); round++) {
        if (there != NULL)
            for (int i = 0; i < WORDS; i++)
                there[i] = round;
        else
            for (int i = 0; i < FEW_WORDS; i++)
                shmem_long_p(&data[i], round, pe_right());
        shmem_fence();
        raise_flag(round % 2 ? FLAG_P : FLAG_SET, round);
        shmem_long_wait_until(&flag, SHMEM_CMP_EQ, round);
        for (int i = 0; i < FEW_WORDS; i++)
            if (!PE_CHECK(data[i] == round, "store: word %d is %ld in round %ld", i, data[i],
                          round))
                break;
        shmem_long_atomic_set(&ack, round, pe_left());
        shmem_long_wait_until(&ack, SHMEM_CMP_EQ, round);
    }
    shmem_barrier_all();
}

int main(void)
{
    pe_test_begin();
    data = shmem_calloc(BIG_WORDS, sizeof(*data));
    PE_REQUIRE(data != NULL, "calloc failed");
    for (int d = 0; d < N_DATA; d++)
        for (int f = 0; f < N_FLAG; f++)
            check_pairing(d, f, d == BY_P || d == BY_IPUT ? FEW_WORDS : WORDS, pe_rounds(ROUNDS));
    check_pairing(BY_PUT, FLAG_P, BIG_WORDS, pe_rounds(ROUNDS));
    check_pairing(BY_PUT_NBI, FLAG_SET, BIG_WORDS, pe_rounds(ROUNDS));
    check_third_party();
    check_overwrite();
    check_store_then_flag();
    return pe_test_end();
}
