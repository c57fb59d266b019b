/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks put with signal, signal_add, signal_set, signal_fetch and signal_wait_until (OpenSHMEM
 * 1.6, section 9.8; rules R129-R132 and R136-R140 of docs/reference/conformance.md): for many sizes
 * the signal never arrives before its data, and additions by all PEs are counted.
 */
#include "pe_data.h"

enum { MAX = 1024 * 1024 };

static char *inbox;       /* heap, MAX bytes, written by the left neighbour */
static uint64_t sig, ack; /* globals: another segment than the data (R41, R134) */

static const size_t sizes[] = {1,   8,   63,   64,   100,   256,    257,
                               768, 769, 4096, 8193, 65537, 300001, MAX};

/* Send nbytes with the given operation, receive as much, check it at the moment of the signal. */
static void one_round(size_t nbytes, uint64_t round, int op, bool nbi, char *source)
{
    unsigned seed = (unsigned)(round * 8);
    uint64_t got;

    pe_fill(source, nbytes, seed + (unsigned)pe_me);
    if (nbi)
        shmem_putmem_signal_nbi(inbox, source, nbytes, &sig, op == SHMEM_SIGNAL_ADD ? 1 : round, op,
                                pe_right());
    else
        shmem_putmem_signal(inbox, source, nbytes, &sig, op == SHMEM_SIGNAL_ADD ? 1 : round, op,
                            pe_right());
    if (!nbi) memset(source, 0x33, nbytes); /* R130 */
    got = shmem_signal_wait_until(&sig, SHMEM_CMP_GE, round);
    PE_CHECK_EQ(got, round); /* R139 */
    PE_CHECK_BYTES(inbox, nbytes, seed + (unsigned)pe_left(),
                   nbi ? "put_signal_nbi" : "put_signal");
    shmem_quiet(); /* R131 */
    shmem_signal_set(&ack, round, pe_left());
    shmem_signal_wait_until(&ack, SHMEM_CMP_GE, round);
}

/* R129, R132. */
static void check_never_early(int op)
{
    char *source = pe_private(MAX);
    uint64_t round = 0;

    sig = ack = 0;
    shmem_barrier_all();
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        int repeat = pe_rounds(sizes[i] < 5000 ? 24 : 8);

        for (int k = 0; k < repeat; k++)
            one_round(sizes[i], ++round, op, k % 2, source);
    }
    shmem_barrier_all();
    free(source);
}

/* R136: additions by all PEs at once are all counted; data slots of all have arrived. */
static void check_all_add(void)
{
    enum { SLOT = 200 };
    int rounds = pe_rounds(40);
    uint64_t *heap_sig = pe_calloc(1, sizeof(*heap_sig));
    char source[SLOT];

    for (int round = 1; round <= rounds; round++) {
        pe_fill(source, SLOT, (unsigned)(round + pe_me * 40));
        for (int pe = 0; pe < pe_n; pe++)
            shmem_putmem_signal(inbox + SLOT * pe_me, source, SLOT, heap_sig, 1, SHMEM_SIGNAL_ADD,
                                pe);
        shmem_signal_wait_until(heap_sig, SHMEM_CMP_EQ, (uint64_t)(round * pe_n));
        for (int pe = 0; pe < pe_n; pe++)
            PE_CHECK_BYTES(inbox + SLOT * pe, SLOT, (unsigned)(round + pe * 40),
                           "data of put_signal by all PEs");
        shmem_barrier_all();
    }
    PE_CHECK_EQ(shmem_signal_fetch(heap_sig), rounds * pe_n);
    shmem_barrier_all();
    shmem_free(heap_sig);
}

/* R137, R138, R140: the forms without data, context forms included. */
static void check_signal_ops(void)
{
    static uint64_t word;

    for (int pe = 0; pe < pe_n; pe++)
        shmem_signal_add(&word, (uint64_t)pe_me + 1, pe);
    shmem_barrier_all();
    PE_CHECK_EQ(shmem_signal_fetch(&word), pe_n * (pe_n + 1) / 2);
    shmem_barrier_all();
    shmem_ctx_signal_set(SHMEM_CTX_DEFAULT, &word, UINT64_MAX - (uint64_t)pe_me, pe_right());
    shmem_quiet();
    shmem_barrier_all();
    PE_CHECK(shmem_signal_fetch(&word) == UINT64_MAX - (uint64_t)pe_left(),
             "signal_fetch after signal_set by the left PE returned a wrong value");
    PE_CHECK(shmem_signal_wait_until(&word, SHMEM_CMP_GT, 5) == UINT64_MAX - (uint64_t)pe_left(),
             "signal_wait_until(> 5) did not return the large unsigned value of the signal");
    shmem_barrier_all();
    shmem_ctx_signal_add(SHMEM_CTX_DEFAULT, &word, 100, pe_right()); /* wraps */
    shmem_barrier_all();
    PE_CHECK_EQ(shmem_signal_fetch(&word), 99 - pe_left());
    shmem_barrier_all();
}

int main(void)
{
    pe_test_begin();
    inbox = pe_malloc(MAX);
    check_never_early(SHMEM_SIGNAL_SET);
    check_never_early(SHMEM_SIGNAL_ADD);
    check_all_add();
    check_signal_ops();
    return pe_test_end();
}
