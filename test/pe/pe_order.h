/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each way to write data to a PE and each way to raise a flag there, on a given context, selected
 * by name. These ways are the rows and columns of the table of operations that fence and quiet
 * order (OpenSHMEM 1.6, section 9.12; rules R218-R220 of docs/reference/conformance.md).
 */
#ifndef STEPPE_TEST_PE_ORDER_H
#define STEPPE_TEST_PE_ORDER_H

#include "pe_data.h"

enum { ORDER_CTXS = 6, ORDER_WORDS = 8 };

enum data_way {
    DATA_PUT,
    DATA_PUT_NBI,
    DATA_PUT_SIZED,
    DATA_P,
    DATA_IPUT,
    DATA_SET,
    DATA_ADD,
    DATA_FETCH_ADD,
    DATA_FETCH_NBI,
    DATA_SIGNAL_SET,
    DATA_PUT_SIGNAL,
    DATA_PUT_SIGNAL_NBI,
    DATA_STORE,
    N_DATA
};

enum flag_way {
    FLAG_P,
    FLAG_PUT,
    FLAG_PUT_NBI,
    FLAG_IPUT,
    FLAG_SET,
    FLAG_ADD,
    FLAG_INC,
    FLAG_XOR,
    FLAG_FETCH_ADD,
    FLAG_SWAP,
    FLAG_CSWAP,
    FLAG_SIGNAL_SET,
    FLAG_SIGNAL_ADD,
    FLAG_PUT_SIGNAL,
    FLAG_PUT_SIGNAL_NBI,
    FLAG_STORE,
    N_FLAG
};

static const char *const order_data_name[N_DATA] = {
    "put",        "put_nbi",        "put8",      "p",         "iput",
    "atomic_set", "atomic_add",     "fetch_add", "fetch_nbi", "signal_set",
    "put_signal", "put_signal_nbi", "store"};
static const char *const order_flag_name[N_FLAG] = {
    "p",          "put",        "put_nbi",        "iput", "atomic_set",   "atomic_add",
    "atomic_inc", "atomic_xor", "fetch_add",      "swap", "compare_swap", "signal_set",
    "signal_add", "put_signal", "put_signal_nbi", "store"};

/* What a sender writes on a receiver beside the data; symmetric, zero at first. */
struct order_cells {
    uint64_t flag;                  /* the turn */
    uint64_t signal;                /* of put_signal as data */
    uint64_t counters[ORDER_WORDS]; /* 1 more each time that data is an addition */
    uint64_t extra;                 /* data of put_signal as a flag */
};

/* Contexts of all options; [0] is the default one. NOSTORE is on the last two. */
static inline void order_ctxs_create(shmem_ctx_t *ctxs)
{
    static const long options[ORDER_CTXS] = {0,
                                             0,
                                             SHMEM_CTX_SERIALIZED,
                                             SHMEM_CTX_PRIVATE,
                                             SHMEM_CTX_NOSTORE,
                                             SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE};

    ctxs[0] = SHMEM_CTX_DEFAULT;
    for (int i = 1; i < ORDER_CTXS; i++)
        ctxs[i] = pe_ctx(options[i]);
}

static inline void order_ctxs_destroy(shmem_ctx_t *ctxs)
{
    for (int i = 1; i < ORDER_CTXS; i++)
        shmem_ctx_destroy(ctxs[i]);
}

/* Does it add to the counters instead of writing bytes? */
static inline bool order_counts(enum data_way way)
{
    return way == DATA_ADD || way == DATA_FETCH_ADD || way == DATA_FETCH_NBI;
}

/* Is the source free on return? */
static inline bool order_blocks(enum data_way way)
{
    return way != DATA_PUT_NBI && way != DATA_PUT_SIGNAL_NBI && way != DATA_FETCH_NBI;
}

/* Make offset and bytes such as this way can write: aligned, and few where each costs a message. */
static inline void order_fit(enum data_way way, size_t *at, size_t *n)
{
    size_t most = way == DATA_P ? 48 : way == DATA_IPUT ? 1024 : 128;

    if (way != DATA_P && way != DATA_IPUT && way != DATA_SET && way != DATA_SIGNAL_SET) return;
    *at &= ~(size_t)7;
    if (*n > most) *n = most;
    if (way != DATA_P) *n = (*n + 15) & ~(size_t)15;
}

/* Elements of 8 bytes, then of 4, 2 and 1. */
static inline void order_write_p(shmem_ctx_t ctx, unsigned char *dest, const unsigned char *source,
                                 size_t n, int pe)
{
    size_t i = 0;
    uint64_t value;

    for (; i + 8 <= n; i += 8) {
        memcpy(&value, source + i, 8);
        shmem_ctx_uint64_p(ctx, (uint64_t *)(dest + i), value, pe);
    }
    memcpy(&value, source + i, n - i);
    if (n & 4) shmem_ctx_uint32_p(ctx, (uint32_t *)(dest + i), (uint32_t)value, pe);
    if (n & 4) i += 4, value >>= 32;
    if (n & 2) shmem_ctx_uint16_p(ctx, (uint16_t *)(dest + i), (uint16_t)value, pe);
    if (n & 2) i += 2, value >>= 16;
    if (n & 1) shmem_ctx_uint8_p(ctx, dest + i, (uint8_t)value, pe);
}

/* Even words by one call, odd ones by another, of 4 or 8 bytes. */
static inline void order_write_iput(shmem_ctx_t ctx, unsigned char *dest,
                                    const unsigned char *source, size_t n, int pe)
{
    if (n % 32 == 0) {
        shmem_ctx_iput64(ctx, dest, source, 2, 2, n / 16, pe);
        shmem_ctx_iput64(ctx, dest + 8, source + 8, 2, 2, n / 16, pe);
    } else {
        shmem_ctx_iput32(ctx, dest, source, 2, 2, n / 8, pe);
        shmem_ctx_iput32(ctx, dest + 4, source + 4, 2, 2, n / 8, pe);
    }
}

static inline void order_write_words(shmem_ctx_t ctx, enum data_way way, unsigned char *dest,
                                     const unsigned char *source, size_t n, int pe)
{
    for (size_t i = 0; i < n; i += 8) {
        uint64_t value;

        memcpy(&value, source + i, 8);
        if (way == DATA_SET)
            shmem_ctx_uint64_atomic_set(ctx, (uint64_t *)(dest + i), value, pe);
        else
            shmem_ctx_signal_set(ctx, (uint64_t *)(dest + i), value, pe);
    }
}

static inline void order_count(shmem_ctx_t ctx, enum data_way way, uint64_t *counters, int pe)
{
    static uint64_t fetched[ORDER_WORDS]; /* nobody looks: fence does not order it */

    for (int i = 0; i < ORDER_WORDS; i++)
        if (way == DATA_ADD)
            shmem_ctx_uint64_atomic_add(ctx, &counters[i], 1, pe);
        else if (way == DATA_FETCH_ADD)
            shmem_ctx_uint64_atomic_fetch_add(ctx, &counters[i], 1, pe);
        else
            shmem_ctx_uint64_atomic_fetch_inc_nbi(ctx, &fetched[i], &counters[i], pe);
}

/* By the CPU where shmem_ptr gives an address, else by put. */
static inline void order_store(shmem_ctx_t ctx, void *dest, const void *source, size_t n, int pe)
{
    void *there = shmem_ptr(dest, pe);

    if (there != NULL)
        memcpy(there, source, n);
    else
        shmem_ctx_putmem(ctx, dest, source, n, pe);
}

/* Write n bytes of data, or count, on PE pe. */
static inline void order_write(shmem_ctx_t ctx, enum data_way way, unsigned char *dest,
                               const unsigned char *source, size_t n, struct order_cells *cells,
                               uint64_t turn, int pe)
{
    switch (way) {
    case DATA_PUT:
        shmem_ctx_putmem(ctx, dest, source, n, pe);
        break;
    case DATA_PUT_NBI:
        shmem_ctx_putmem_nbi(ctx, dest, source, n, pe);
        break;
    case DATA_PUT_SIZED:
        shmem_ctx_put8(ctx, dest, source, n, pe);
        break;
    case DATA_P:
        order_write_p(ctx, dest, source, n, pe);
        break;
    case DATA_IPUT:
        order_write_iput(ctx, dest, source, n, pe);
        break;
    case DATA_SET:
    case DATA_SIGNAL_SET:
        order_write_words(ctx, way, dest, source, n, pe);
        break;
    case DATA_PUT_SIGNAL:
        shmem_ctx_putmem_signal(ctx, dest, source, n, &cells->signal, turn, SHMEM_SIGNAL_SET, pe);
        break;
    case DATA_PUT_SIGNAL_NBI:
        shmem_ctx_putmem_signal_nbi(ctx, dest, source, n, &cells->signal, turn, SHMEM_SIGNAL_SET,
                                    pe);
        break;
    case DATA_STORE:
        order_store(ctx, dest, source, n, pe);
        break;
    default:
        order_count(ctx, way, cells->counters, pe);
        break;
    }
}

/* The ways to raise a flag that carry data or a signal. */
static inline void order_raise_signal(shmem_ctx_t ctx, enum flag_way way, struct order_cells *cells,
                                      uint64_t turn, int pe)
{
    static uint64_t extra; /* all sources are alike */

    switch (way) {
    case FLAG_SIGNAL_SET:
        shmem_ctx_signal_set(ctx, &cells->flag, turn, pe);
        break;
    case FLAG_SIGNAL_ADD:
        shmem_ctx_signal_add(ctx, &cells->flag, 1, pe);
        break;
    case FLAG_PUT_SIGNAL:
        shmem_ctx_putmem_signal(ctx, &cells->extra, &extra, turn % 2 * 8, &cells->flag, turn,
                                SHMEM_SIGNAL_SET, pe);
        break;
    default:
        shmem_ctx_putmem_signal_nbi(ctx, &cells->extra, &extra, 8, &cells->flag, 1,
                                    SHMEM_SIGNAL_ADD, pe);
        break;
    }
}

static inline void order_raise_atomic(shmem_ctx_t ctx, enum flag_way way, uint64_t *flag,
                                      uint64_t turn, int pe)
{
    uint64_t old = turn - 1;

    switch (way) {
    case FLAG_SET:
        shmem_ctx_uint64_atomic_set(ctx, flag, turn, pe);
        break;
    case FLAG_ADD:
        shmem_ctx_uint64_atomic_add(ctx, flag, 1, pe);
        break;
    case FLAG_INC:
        shmem_ctx_uint64_atomic_inc(ctx, flag, pe);
        break;
    case FLAG_XOR:
        shmem_ctx_uint64_atomic_xor(ctx, flag, turn ^ (turn - 1), pe);
        break;
    case FLAG_FETCH_ADD:
        old = shmem_ctx_uint64_atomic_fetch_add(ctx, flag, 1, pe);
        break;
    case FLAG_SWAP:
        old = shmem_ctx_uint64_atomic_swap(ctx, flag, turn, pe);
        break;
    default:
        old = shmem_ctx_uint64_atomic_compare_swap(ctx, flag, turn - 1, turn, pe);
        break;
    }
    PE_CHECK(old == turn - 1, "%s of a flag returned the old value %lu, expected %lu",
             order_flag_name[way], old, turn - 1);
}

/*
 * Raise the flag, which is turn - 1, to turn. The flag's source of put_nbi belongs to the call's
 * turn, so the caller quiets before 16 more turns have passed.
 */
static inline void order_raise(shmem_ctx_t ctx, enum flag_way way, struct order_cells *cells,
                               uint64_t turn, int pe)
{
    static uint64_t turns[16];
    uint64_t *source = &turns[turn % 16];

    switch (way) {
    case FLAG_P:
        shmem_ctx_uint64_p(ctx, &cells->flag, turn, pe);
        break;
    case FLAG_PUT:
        shmem_ctx_uint64_put(ctx, &cells->flag, (uint64_t[]){turn}, 1, pe);
        break;
    case FLAG_PUT_NBI:
        *source = turn;
        shmem_ctx_uint64_put_nbi(ctx, &cells->flag, source, 1, pe);
        break;
    case FLAG_IPUT:
        shmem_ctx_uint64_iput(ctx, &cells->flag, (uint64_t[]){turn}, 3, 2, 1, pe);
        break;
    case FLAG_STORE: {
        uint64_t *there = shmem_ptr(&cells->flag, pe);

        if (there != NULL)
            __atomic_store_n(there, turn, __ATOMIC_RELAXED); /* fence ordered it */
        else
            shmem_ctx_uint64_p(ctx, &cells->flag, turn, pe);
        break;
    }
    case FLAG_SIGNAL_SET:
    case FLAG_SIGNAL_ADD:
    case FLAG_PUT_SIGNAL:
    case FLAG_PUT_SIGNAL_NBI:
        order_raise_signal(ctx, way, cells, turn, pe);
        break;
    default:
        order_raise_atomic(ctx, way, &cells->flag, turn, pe);
        break;
    }
}

/* The flag was seen: is the data of this stamp all there? */
static inline void order_check(enum data_way way, const unsigned char *data, size_t n,
                               unsigned stamp, const struct order_cells *cells, uint64_t turn,
                               uint64_t count, const char *what)
{
    if (!order_counts(way)) PE_CHECK_BYTES(data, n, stamp, what);
    for (int i = 0; order_counts(way) && i < ORDER_WORDS; i++) {
        uint64_t counter = __atomic_load_n(&cells->counters[i], __ATOMIC_RELAXED);

        PE_CHECK(counter == count, "%s: the flag is here, but counter %d is %lu, expected %lu",
                 what, i, counter, count);
    }
    if (way == DATA_PUT_SIGNAL || way == DATA_PUT_SIGNAL_NBI)
        PE_CHECK(cells->signal == turn,
                 "%s: the flag is here, but the signal of the data is %lu, expected %lu", what,
                 cells->signal, turn);
}

#endif
