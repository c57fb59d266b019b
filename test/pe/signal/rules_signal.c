/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks signals rule by rule (OpenSHMEM 1.6, section 9.8; rules R129-R134, R136-R139 and R268 of
 * docs/reference/conformance.md): a signal never arrives before its data, in any pair of segments;
 * puts of no elements; completion by quiet; concurrent additions and sets; and the value that ended
 * a wait. Sizes and typed forms are in signal.c and typed_signal.c.
 */
#include "pe_table.h"

enum { MAX = 300000, TURNS = 6, TIMES = 60 };

static unsigned char in_global[MAX];
static uint64_t global_signals[2], acks;
static unsigned char *in_heap; /* MAX bytes */
static uint64_t *heap_signals; /* 2 words */
static unsigned char outbox[MAX];

static void clear_signals(void)
{
    memset(global_signals, 0, sizeof(global_signals));
    memset(heap_signals, 0, 2 * sizeof(*heap_signals));
    acks = 0;
    shmem_barrier_all();
}

/* Tell the left neighbour that its message of this turn was read, and hear the same. */
static void acknowledge(uint64_t turn)
{
    shmem_signal_set(&acks, turn, pe_left());
    shmem_signal_wait_until(&acks, SHMEM_CMP_EQ, turn);
}

/* Data and signal in any two segments, and this size: when the signal is there, so is the data. */
static void check_pair(unsigned char *dest, uint64_t *sig, size_t nbytes)
{
    clear_signals();
    for (uint64_t turn = 1; turn <= TURNS; turn++) {
        unsigned seed = (unsigned)(turn * 16) + (unsigned)nbytes;

        pe_fill(outbox, nbytes, seed + (unsigned)pe_me);
        if (turn % 2)
            shmem_putmem_signal(dest, outbox, nbytes, sig, 1, SHMEM_SIGNAL_ADD, pe_right());
        else
            shmem_putmem_signal_nbi(dest, outbox, nbytes, sig, turn, SHMEM_SIGNAL_SET, pe_right());
        PE_CHECK_EQ(shmem_signal_wait_until(sig, SHMEM_CMP_GE, turn), turn);
        PE_CHECK_BYTES(dest, nbytes, seed + (unsigned)pe_left(), "data when their signal is here");
        shmem_quiet();
        acknowledge(turn);
    }
}

static void check_never_early(void)
{
    static const size_t sizes[] = {1, 4, 9, 384, 8192, 8200, 65600, MAX};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        check_pair(in_heap, heap_signals, sizes[i]);
        check_pair(in_heap, global_signals, sizes[i]);
        check_pair(in_global, heap_signals, sizes[i]);
        check_pair(in_global, global_signals, sizes[i]);
    }
}

/* The word may lie right behind the data, in one cache line with its end. */
static void check_adjacent(void)
{
    uint64_t *words = (uint64_t *)in_heap;

    for (uint64_t n = 1; n < 12; n++) {
        memset(in_heap, 0, 128);
        shmem_barrier_all();
        for (uint64_t i = 0; i < n; i++)
            ((uint64_t *)outbox)[i] = n * 100 + i + 1;
        shmem_uint64_put_signal(words, (uint64_t *)outbox, n, &words[n], n, SHMEM_SIGNAL_SET,
                                pe_right());
        shmem_signal_wait_until(&words[n], SHMEM_CMP_EQ, n);
        for (uint64_t i = 0; i < n; i++)
            PE_CHECK_EQ(words[i], n * 100 + i + 1);
        PE_CHECK_EQ(words[n + 1], 0);
        shmem_barrier_all();
    }
}

/* What was put before is covered only with a fence between: then the signal speaks for it. */
static void check_earlier_puts(void)
{
    clear_signals();
    for (uint64_t turn = 1; turn <= TURNS; turn++) {
        pe_fill(outbox, MAX, (unsigned)(turn + 8 * (unsigned)pe_me));
        shmem_putmem_nbi(in_global, outbox, MAX, pe_right());
        shmem_putmem_signal(in_heap, outbox, 100, &heap_signals[1], turn, SHMEM_SIGNAL_SET,
                            pe_right());
        shmem_fence();
        shmem_putmem_signal(in_heap + 100, outbox + 100, 20, heap_signals, turn, SHMEM_SIGNAL_SET,
                            pe_right());
        shmem_signal_wait_until(heap_signals, SHMEM_CMP_EQ, turn);
        PE_CHECK_EQ(shmem_signal_fetch(&heap_signals[1]), turn);
        PE_CHECK_BYTES(in_global, MAX, (unsigned)(turn + 8 * (unsigned)pe_left()),
                       "data of an earlier put, with a fence before the signal");
        PE_CHECK_BYTES(in_heap, 120, (unsigned)(turn + 8 * (unsigned)pe_left()),
                       "data of an earlier put_signal, with a fence before the signal");
        shmem_quiet();
        acknowledge(turn);
    }
}

/* The source of a blocking form is free on return; signal and data are complete at quiet. */
static void check_source_and_quiet(void)
{
    unsigned char *source = pe_private(MAX), *got = pe_private(MAX);

    clear_signals();
    for (uint64_t turn = 1; turn <= TURNS; turn++) {
        size_t nbytes = turn % 2 ? 900 : MAX;

        pe_fill(source, nbytes, (unsigned)(turn + 40 * (unsigned)pe_me));
        shmem_putmem_signal(in_heap, source, nbytes, global_signals, turn, SHMEM_SIGNAL_SET,
                            pe_right());
        memset(source, 0xdd, nbytes);
        shmem_quiet();
        PE_CHECK_EQ(shmem_uint64_atomic_fetch(global_signals, pe_right()), turn);
        shmem_getmem(got, in_heap, nbytes, pe_right());
        PE_CHECK_BYTES(got, nbytes, (unsigned)(turn + 40 * (unsigned)pe_me),
                       "data of put_signal, read back after quiet");
        shmem_barrier_all();
    }
    free(source);
    free(got);
}

/* The nonblocking form, on a context of its own: complete, source free, after that one's quiet. */
static void check_nbi_quiet(void)
{
    shmem_ctx_t ctx = pe_ctx(0);

    clear_signals();
    for (uint64_t turn = 1; turn <= TURNS; turn++) {
        pe_fill(outbox, MAX, (unsigned)(turn + 24 * (unsigned)pe_me));
        shmem_ctx_putmem_signal_nbi(ctx, in_heap, outbox, MAX, heap_signals, 5, SHMEM_SIGNAL_ADD,
                                    pe_right());
        shmem_ctx_quiet(ctx);
        memset(outbox, 0xdd, MAX);
        PE_CHECK_EQ(shmem_uint64_g(heap_signals, pe_right()), 5 * turn);
        shmem_barrier_all();
        PE_CHECK_BYTES(in_heap, MAX, (unsigned)(turn + 24 * (unsigned)pe_left()),
                       "data of put_signal_nbi after the context's quiet");
        shmem_barrier_all();
    }
    shmem_ctx_destroy(ctx);
}

/* Every form with no elements: the signal fires, nothing else is touched. */
static void check_no_elements(void)
{
    uint64_t *sig = heap_signals, *word = global_signals;
    int right = pe_right();

    clear_signals();
    memset(in_heap, 7, 64);
    shmem_barrier_all();
    shmem_putmem_signal(NULL, NULL, 0, sig, 1, SHMEM_SIGNAL_ADD, right);
    shmem_putmem_signal_nbi(NULL, NULL, 0, sig, 10, SHMEM_SIGNAL_ADD, right);
    shmem_put64_signal(in_heap, outbox, 0, sig, 100, SHMEM_SIGNAL_ADD, right);
    shmem_put8_signal_nbi(in_heap, NULL, 0, sig, 1000, SHMEM_SIGNAL_ADD, right);
    shmem_double_put_signal(NULL, NULL, 0, sig, 10000, SHMEM_SIGNAL_ADD, right);
    shmem_ctx_int_put_signal_nbi(SHMEM_CTX_DEFAULT, (int *)in_heap, NULL, 0, sig, 100000,
                                 SHMEM_SIGNAL_ADD, right);
    shmem_putmem_signal(in_global, NULL, 0, word, 77, SHMEM_SIGNAL_SET, right);
    PE_CHECK_EQ(shmem_signal_wait_until(sig, SHMEM_CMP_GE, 111111), 111111);
    PE_CHECK_EQ(shmem_signal_wait_until(word, SHMEM_CMP_NE, 0), 77);
    PE_CHECK_SAME(in_heap, 64, 7, "dest of no elements");
}

/* put_signal and signal_add by everyone on one word: all counted, none torn on the way. */
static void check_same_operator(void)
{
    uint64_t each = UINT64_C(1) << 32 | 1, all = (uint64_t)TIMES * 2 * (uint64_t)pe_n * each;
    uint64_t last = 0;

    clear_signals();
    for (int i = 0; i < TIMES; i++)
        for (int k = 0; k < pe_n; k++) {
            int pe = (pe_me + k) % pe_n;

            shmem_putmem_signal(in_heap + pe_me, outbox, 1, heap_signals, each, SHMEM_SIGNAL_ADD,
                                pe);
            shmem_signal_add(heap_signals, each, pe);
        }
    while (last != all) {
        uint64_t now = shmem_signal_fetch(heap_signals);

        if (!PE_CHECK(
                now >= last && now <= all && now >> 32 == (now & UINT32_MAX),
                "a signal to which all PEs add is %016lx after %016lx, expected no smaller value, "
                "with equal halves",
                now, last))
            break;
        last = now;
        shmem_signal_wait_until(heap_signals, SHMEM_CMP_GE, last < all ? last + each : all);
    }
}

/* Sets by everyone at once, with data and without: always the value of one of them. */
static void check_sets(void)
{
    clear_signals();
    for (int i = 0; i < TIMES; i++)
        for (int k = 0; k < pe_n; k++) {
            uint64_t value = (uint64_t)pe_me << 32 | (uint64_t)pe_me, seen;

            if (i % 2)
                shmem_signal_set(global_signals, value, (pe_me + k) % pe_n);
            else
                shmem_putmem_signal(in_heap + pe_me, outbox, 1, global_signals, value,
                                    SHMEM_SIGNAL_SET, (pe_me + k) % pe_n);
            seen = shmem_signal_fetch(global_signals);
            PE_CHECK(seen >> 32 == (seen & UINT32_MAX) && (int)(seen >> 32) < pe_n,
                     "a signal that all PEs set is %016lx, which no PE has stored", seen);
        }
}

/* signal_set and _add return before they are done, and are done after the quiet of the context. */
static void check_plain_quiet(void)
{
    shmem_ctx_t ctx = pe_ctx(0);

    clear_signals();
    for (uint64_t i = 1; i <= TIMES; i++) {
        shmem_signal_add(&heap_signals[0], 2, pe_right());
        shmem_signal_set(&global_signals[0], i, pe_right());
        shmem_quiet();
        shmem_ctx_signal_add(ctx, &heap_signals[1], 3, pe_right());
        shmem_ctx_signal_set(ctx, &global_signals[1], 2 * i, pe_right());
        shmem_ctx_quiet(ctx);
        PE_CHECK_EQ(shmem_uint64_g(&heap_signals[0], pe_right()), 2 * i);
        PE_CHECK_EQ(shmem_uint64_g(&global_signals[0], pe_right()), i);
        PE_CHECK_EQ(shmem_uint64_g(&heap_signals[1], pe_right()), 3 * i);
        PE_CHECK_EQ(shmem_uint64_g(&global_signals[1], pe_right()), 2 * i);
    }
    shmem_ctx_destroy(ctx);
}

/* Whoever polls with signal_fetch sees the data, as one who waits does. */
static void check_fetch_acquires(void)
{
    clear_signals();
    for (uint64_t turn = 1; turn <= TURNS; turn++) {
        pe_fill(outbox, 5000, (unsigned)(turn + 48 * (unsigned)pe_me));
        shmem_putmem(in_heap, outbox, 5000, pe_right());
        shmem_fence();
        shmem_signal_set(global_signals, turn, pe_right());
        while (shmem_signal_fetch(global_signals) != turn)
            ;
        PE_CHECK_BYTES(in_heap, 5000, (unsigned)(turn + 48 * (unsigned)pe_left()),
                       "data after signal_fetch has returned their signal");
        acknowledge(turn);
    }
}

/*
 * The word satisfies a wait only now and then, and the wait must return the value that did. One
 * thread of control sets the left neighbour's word forth and back until that says enough.
 */
static void check_value_returned(void)
{
    static uint64_t blink, enough;
    int writer = pe_n - 1, wanted = pe_rounds(8) == 8 ? 200000 : 100;

    blink = enough = 0;
    shmem_barrier_all();
    if (pe_n > 1 && pe_me == writer) {
        while (shmem_signal_fetch(&enough) == 0) {
            shmem_signal_set(&blink, UINT64_MAX, 0);
            shmem_quiet();
            shmem_signal_set(&blink, 0, 0);
            shmem_quiet();
        }
    } else if (pe_n > 1 && pe_me == 0) {
        for (int i = 0; i < wanted; i++) {
            uint64_t got = shmem_signal_wait_until(&blink, SHMEM_CMP_GT, 5);

            if (!PE_CHECK(
                    got == UINT64_MAX,
                    "signal_wait_until returned %lu, expected the value that satisfied the wait, "
                    "UINT64_MAX",
                    got))
                break;
        }
        shmem_signal_set(&enough, 1, writer);
        shmem_quiet();
    } else if (pe_n == 1) {
        blink = 9;
        PE_CHECK_EQ(shmem_signal_wait_until(&blink, SHMEM_CMP_LE, 9), 9);
    }
    shmem_barrier_all();
}

/* All comparisons are of unsigned values, and each is what its name says. */
static void check_unsigned(void)
{
    static const struct {
        int cmp;
        uint64_t value, operand;
    } holds[] = {{SHMEM_CMP_EQ, 5, 5},          {SHMEM_CMP_NE, 5, 6},
                 {SHMEM_CMP_GT, UINT64_MAX, 1}, {SHMEM_CMP_GE, UINT64_C(1) << 63, 1},
                 {SHMEM_CMP_LT, 1, UINT64_MAX}, {SHMEM_CMP_LE, 1, UINT64_C(1) << 63},
                 {SHMEM_CMP_GE, 7, 7},          {SHMEM_CMP_LE, 7, 7}};

    for (size_t i = 0; i < sizeof(holds) / sizeof(holds[0]); i++) {
        shmem_barrier_all();
        shmem_signal_set(&global_signals[1], holds[i].value, pe_right());
        shmem_barrier_all();
        PE_CHECK(
            shmem_signal_wait_until(&global_signals[1], holds[i].cmp, holds[i].operand) ==
                holds[i].value,
            "signal_wait_until with comparison %zu of the table returned another value than the "
            "signal has",
            i);
    }
}

/* A wait ends by whatever updates the word: put_signal, signal_add, signal_set, atomics. */
static void check_any_update(void)
{
    clear_signals();
    for (uint64_t turn = 1; turn <= 4 * TURNS; turn++) {
        switch (turn % 4) {
        case 0:
            shmem_signal_add(heap_signals, 1, pe_right());
            break;
        case 1:
            shmem_signal_set(heap_signals, turn, pe_right());
            break;
        case 2:
            shmem_uint64_atomic_inc(heap_signals, pe_right());
            break;
        default:
            shmem_putmem_signal(NULL, NULL, 0, heap_signals, turn, SHMEM_SIGNAL_SET, pe_right());
        }
        PE_CHECK_EQ(shmem_signal_wait_until(heap_signals, SHMEM_CMP_GE, turn), turn);
        acknowledge(turn);
    }
}

static const struct pe_rule rules[] = {
    {"R129 R132 R134 a signal is never before its data, in any segments", check_never_early},
    {"R134 the word right behind the data", check_adjacent},
    {"R129 R131 earlier puts and signals come with a fence", check_earlier_puts},
    {"R130 source free on return, complete at quiet", check_source_and_quiet},
    {"R131 the nonblocking form is complete at quiet", check_nbi_quiet},
    {"R133 no elements, yet the signal", check_no_elements},
    {"R136 additions are exact", check_same_operator},
    {"R136 sets do not tear", check_sets},
    {"R137 signal_set and signal_add are complete at quiet", check_plain_quiet},
    {"R138 signal_fetch acquires", check_fetch_acquires},
    {"R139 the value that satisfied the test", check_value_returned},
    {"R139 unsigned comparisons", check_unsigned},
    {"R268 signal_wait_until ends by every kind of update", check_any_update},
};

int main(void)
{
    pe_test_begin();
    in_heap = pe_malloc(MAX);
    heap_signals = pe_calloc(2, sizeof(*heap_signals));
    PE_RULES_RUN(rules);
    return pe_test_end();
}
