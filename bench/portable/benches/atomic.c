/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures atomics of 4 and 8 bytes on a word of the peer. In the benches contend-*, all PEs access
 * one word of PE 0 at the same time. A fetching atomic begins after the previous one has returned
 * its value. Atomics without a result are issued back to back, with one quiet per sample.
 * Nonblocking (nbi) fetching atomics are issued in the same way. On the node, the raw side uses the
 * CPU's atomics on the word that Steppe's side also uses. On the fabric, the raw side uses
 * libfabric's atomics.
 */
#include "../raw_fabric_wait_and_flush.h"

#define LOOP static inline __attribute__((always_inline))

enum op { ADD, INC, XOR, SET, FETCH, FETCH_ADD, FETCH_INC, FETCH_XOR, SWAP, CSWAP };

/* ---- one operation, by type ------------------------------------------------------------------ */
/*
 * Each function performs one atomic. The argument op is a constant, so the compiler keeps only one
 * branch of the switch. All OpenSHMEM libraries have these atomics for the types uint and ulong.
 */

#define ONE(BITS, TYPE, T)                                                                         \
    LOOP void one##BITS(enum op op, T *word, T v, int pe, volatile uint64_t *result)               \
    {                                                                                              \
        switch (op) {                                                                              \
        case ADD:                                                                                  \
            shmem_##TYPE##_atomic_add(word, v, pe);                                                \
            break;                                                                                 \
        case INC:                                                                                  \
            shmem_##TYPE##_atomic_inc(word, pe);                                                   \
            break;                                                                                 \
        case XOR:                                                                                  \
            shmem_##TYPE##_atomic_xor(word, v, pe);                                                \
            break;                                                                                 \
        case SET:                                                                                  \
            shmem_##TYPE##_atomic_set(word, v, pe);                                                \
            break;                                                                                 \
        case FETCH:                                                                                \
            *result = shmem_##TYPE##_atomic_fetch(word, pe);                                       \
            break;                                                                                 \
        case FETCH_ADD:                                                                            \
            *result = shmem_##TYPE##_atomic_fetch_add(word, v, pe);                                \
            break;                                                                                 \
        case FETCH_INC:                                                                            \
            *result = shmem_##TYPE##_atomic_fetch_inc(word, pe);                                   \
            break;                                                                                 \
        case FETCH_XOR:                                                                            \
            *result = shmem_##TYPE##_atomic_fetch_xor(word, v, pe);                                \
            break;                                                                                 \
        case SWAP:                                                                                 \
            *result = shmem_##TYPE##_atomic_swap(word, v, pe);                                     \
            break;                                                                                 \
        case CSWAP:                                                                                \
            *result = shmem_##TYPE##_atomic_compare_swap(word, v, v + 1, pe);                      \
            break;                                                                                 \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* ADD, INC and XOR ignore the result, so the compiler can use shorter instructions. */        \
    LOOP void cpu##BITS(enum op op, T *word, T v, volatile uint64_t *result)                       \
    {                                                                                              \
        T expected = v;                                                                            \
                                                                                                   \
        switch (op) {                                                                              \
        case ADD:                                                                                  \
            __atomic_fetch_add(word, v, __ATOMIC_SEQ_CST);                                         \
            break;                                                                                 \
        case INC:                                                                                  \
            __atomic_fetch_add(word, 1, __ATOMIC_SEQ_CST);                                         \
            break;                                                                                 \
        case XOR:                                                                                  \
            __atomic_fetch_xor(word, v, __ATOMIC_SEQ_CST);                                         \
            break;                                                                                 \
        case SET:                                                                                  \
            __atomic_store_n(word, v, __ATOMIC_RELEASE);                                           \
            break;                                                                                 \
        case FETCH:                                                                                \
            *result = __atomic_load_n(word, __ATOMIC_SEQ_CST);                                     \
            break;                                                                                 \
        case FETCH_ADD:                                                                            \
            *result = __atomic_fetch_add(word, v, __ATOMIC_SEQ_CST);                               \
            break;                                                                                 \
        case FETCH_INC:                                                                            \
            *result = __atomic_fetch_add(word, 1, __ATOMIC_SEQ_CST);                               \
            break;                                                                                 \
        case FETCH_XOR:                                                                            \
            *result = __atomic_fetch_xor(word, v, __ATOMIC_SEQ_CST);                               \
            break;                                                                                 \
        case SWAP:                                                                                 \
            *result = __atomic_exchange_n(word, v, __ATOMIC_SEQ_CST);                              \
            break;                                                                                 \
        case CSWAP:                                                                                \
            __atomic_compare_exchange_n(word, &expected, v + 1, false, __ATOMIC_SEQ_CST,           \
                                        __ATOMIC_SEQ_CST);                                         \
            *result = expected;                                                                    \
            break;                                                                                 \
        }                                                                                          \
    }
ONE(32, uint, uint32_t)
ONE(64, ulong, uint64_t)

#if BENCH_TEAMS
#define ONE_NBI(BITS, TYPE, T)                                                                     \
    LOOP void nbi##BITS(enum op op, T *word, T v, int pe, T *result)                               \
    {                                                                                              \
        switch (op) {                                                                              \
        case FETCH:                                                                                \
            shmem_##TYPE##_atomic_fetch_nbi(result, word, pe);                                     \
            break;                                                                                 \
        case FETCH_ADD:                                                                            \
            shmem_##TYPE##_atomic_fetch_add_nbi(result, word, v, pe);                              \
            break;                                                                                 \
        case FETCH_INC:                                                                            \
            shmem_##TYPE##_atomic_fetch_inc_nbi(result, word, pe);                                 \
            break;                                                                                 \
        case FETCH_XOR:                                                                            \
            shmem_##TYPE##_atomic_fetch_xor_nbi(result, word, v, pe);                              \
            break;                                                                                 \
        case SWAP:                                                                                 \
            shmem_##TYPE##_atomic_swap_nbi(result, word, v, pe);                                   \
            break;                                                                                 \
        case CSWAP:                                                                                \
            shmem_##TYPE##_atomic_compare_swap_nbi(result, word, v, v + 1, pe);                    \
            break;                                                                                 \
        default:                                                                                   \
            break;                                                                                 \
        }                                                                                          \
    }
ONE_NBI(32, uint, uint32_t)
ONE_NBI(64, ulong, uint64_t)
#endif

/* ---- loops ------------------------------------------------------------------------------- */

LOOP bool fetches(enum op op)
{
    return op >= FETCH;
}

LOOP void steppe(struct bench_run *run, uint64_t n_ops, enum op op)
{
    uint64_t *word = bench_counter(run->shared, BENCH_STEPPE);
    volatile uint64_t result;
    int pe = run->peer;

    if (run->nbytes == sizeof(uint32_t))
        for (uint64_t i = 0; i < n_ops; i++)
            one32(op, (uint32_t *)word, (uint32_t)i, pe, &result);
    else
        for (uint64_t i = 0; i < n_ops; i++)
            one64(op, word, i, pe, &result);
    if (!fetches(op)) shmem_quiet();
    (void)result;
}

#if BENCH_TEAMS
LOOP void steppe_nbi(struct bench_run *run, uint64_t n_ops, enum op op)
{
    static uint64_t result; /* symmetric, because it is a static variable */
    uint64_t *word = bench_counter(run->shared, BENCH_STEPPE);

    if (run->nbytes == sizeof(uint32_t))
        for (uint64_t i = 0; i < n_ops; i++)
            nbi32(op, (uint32_t *)word, (uint32_t)i, run->peer, (uint32_t *)&result);
    else
        for (uint64_t i = 0; i < n_ops; i++)
            nbi64(op, word, i, run->peer, &result);
    shmem_quiet();
}

#endif

LOOP void node(struct bench_run *run, uint64_t n_ops, enum op op)
{
    uint64_t *word = bench_counter(run->shared_ptr, BENCH_STEPPE);
    volatile uint64_t result;

    if (run->nbytes == sizeof(uint32_t))
        for (uint64_t i = 0; i < n_ops; i++)
            cpu32(op, (uint32_t *)word, (uint32_t)i, &result);
    else
        for (uint64_t i = 0; i < n_ops; i++)
            cpu64(op, word, i, &result);
    if (!fetches(op)) bench_full_fence();
    (void)result;
}

static void fabric(struct bench_run *run, uint64_t n_ops, enum raw_ofi_op op, bool fetches,
                   bool one_by_one)
{
    size_t offset = BENCH_FABRIC_FLAG(run, counter);

    for (uint64_t i = 0; i < n_ops; i++)
        if (!fetches) {
            run->fabric->atomic(run->peer, offset, op, run->nbytes, i);
        } else {
            run->fabric->fetch_atomic(run->peer, offset, op, run->nbytes, i + 1, i);
            if (one_by_one) run->fabric->wait();
        }
    if (!fetches) run->fabric->fetch_add(run->peer, offset, 0); /* follows the atomics */
    run->fabric->wait();
}

/*
 * Defines three loops for one atomic: Steppe's loop, the raw loop on the node, and the raw loop on
 * the fabric, which performs raw_op.
 */
#define LOOPS(name, op, raw_op)                                                                    \
    static void steppe_##name(struct bench_run *run, uint64_t n_ops)                               \
    {                                                                                              \
        steppe(run, n_ops, op);                                                                    \
    }                                                                                              \
    static void node_##name(struct bench_run *run, uint64_t n_ops)                                 \
    {                                                                                              \
        node(run, n_ops, op);                                                                      \
    }                                                                                              \
    static void fabric_##name(struct bench_run *run, uint64_t n_ops)                               \
    {                                                                                              \
        fabric(run, n_ops, raw_op, (op) >= FETCH, true);                                           \
    }                                                                                              \
    enum { raw_op_##name = raw_op, fetches_##name = (op) >= FETCH }
#define LOOPS_NBI(name, op)                                                                        \
    static void steppe_##name##_nbi(struct bench_run *run, uint64_t n_ops)                         \
    {                                                                                              \
        steppe_nbi(run, n_ops, op);                                                                \
    }                                                                                              \
    static void fabric_##name##_nbi(struct bench_run *run, uint64_t n_ops)                         \
    {                                                                                              \
        fabric(run, n_ops, (enum raw_ofi_op)raw_op_##name, true, false);                           \
    }                                                                                              \
    struct bench

LOOPS(add, ADD, RAW_OFI_ADD);
LOOPS(inc, INC, RAW_OFI_ADD);
LOOPS(xor, XOR, RAW_OFI_XOR);
LOOPS(set, SET, RAW_OFI_WRITE);
LOOPS(fetch, FETCH, RAW_OFI_READ);
LOOPS(fetch_add, FETCH_ADD, RAW_OFI_ADD);
LOOPS(fetch_inc, FETCH_INC, RAW_OFI_ADD);
LOOPS(fetch_xor, FETCH_XOR, RAW_OFI_XOR);
LOOPS(swap, SWAP, RAW_OFI_WRITE);
LOOPS(cswap, CSWAP, RAW_OFI_CSWAP);
#if BENCH_TEAMS
LOOPS_NBI(fetch, FETCH);
LOOPS_NBI(fetch_add, FETCH_ADD);
LOOPS_NBI(fetch_inc, FETCH_INC);
LOOPS_NBI(fetch_xor, FETCH_XOR);
LOOPS_NBI(swap, SWAP);
LOOPS_NBI(cswap, CSWAP);
#endif

void bench_fetch_add(struct bench_run *run, uint64_t n_ops)
{
    steppe(run, n_ops, FETCH_ADD);
}

void bench_node_fetch_add(struct bench_run *run, uint64_t n_ops)
{
    node(run, n_ops, FETCH_ADD);
}

void bench_fabric_fetch_add(struct bench_run *run, uint64_t n_ops)
{
    fabric(run, n_ops, RAW_OFI_ADD, true, true);
}

/*
 * Value of the target word before a block. After the block, --verify compares the word with the sum
 * of this value and the number of increments.
 */
static uint64_t old_counter;

static void fill_inc(struct bench_run *run, uint64_t block)
{
    uint64_t *word = bench_counter(run->shared, BENCH_STEPPE);

    (void)block;
    old_counter = run->nbytes == sizeof(uint32_t) ? *(uint32_t *)word : *word;
}

static void check_inc(struct bench_run *run, uint64_t block, uint64_t n_ops)
{
    uint64_t *word = bench_counter(run->shared, BENCH_STEPPE);
    bool narrow = run->nbytes == sizeof(uint32_t), contended = run->peer == run->me;
    uint64_t actual = narrow ? *(uint32_t *)word : *word;
    uint64_t expected = old_counter + n_ops * (contended ? (uint64_t)run->n_measuring : 1);

    (void)block;
    if (narrow) expected = (uint32_t)expected;
    if (run->peer < 0 || (run->measures && !contended) || actual == expected) return;
    bench_die(run, "--verify: wrong data: the counter is %llu, but must be %llu",
              (unsigned long long)actual, (unsigned long long)expected);
}

/* ---- rows ---------------------------------------------------------------------------------- */

/*
 * Open MPI 4.1.4 writes past the end of a 4-byte result of compare_swap. Therefore the program for
 * any OpenSHMEM library measures only atomics of 8 bytes.
 */
#ifdef BENCH_PORTABLE
static const size_t widths[] = {sizeof(uint64_t), 0};
#else
static const size_t widths[] = {sizeof(uint32_t), sizeof(uint64_t), 0};
#endif

#define ATOMIC(label, text, loop)                                                                  \
    .name = label, .group = "atomic", .description = "shmem_TYPE_atomic_" text,                    \
    .metric = BENCH_LATENCY, .sized = true, .sizes = widths,                                       \
    .atomic = (enum raw_ofi_op)raw_op_##loop, .fetches = fetches_##loop,                           \
    .joined_up_to = fetches_##loop ? 0 : sizeof(uint64_t), .steppe = {steppe_##loop, NULL},        \
    .node = {node_##loop, NULL}, .fabric = {fabric_##loop, NULL}
#define INCREMENTS .fill = fill_inc, .check = check_inc
#define PLAIN(label, routine, loop)                                                                \
    {                                                                                              \
        ATOMIC(label, routine " called back to back, with one shmem_quiet per sample", loop),      \
            .min_ops = 1000                                                                        \
    }
#define FETCHING(label, routine, loop)                                                             \
    {                                                                                              \
        ATOMIC(label, routine, loop)                                                               \
    }
#define NBI(label, routine, loop)                                                                  \
    {                                                                                              \
        .name = label, .group = "atomic", .metric = BENCH_LATENCY, .sized = true, .sizes = widths, \
        .atomic = (enum raw_ofi_op)raw_op_##loop, .fetches = true,                                 \
        .description = "shmem_TYPE_atomic_" routine                                                \
                       "_nbi called back to back, with one shmem_quiet per sample",                \
        .min_ops = 1000, .steppe = {steppe_##loop##_nbi, NULL}, .node = {node_##loop, NULL},       \
        .fabric = {                                                                                \
            fabric_##loop##_nbi,                                                                   \
            NULL                                                                                   \
        }                                                                                          \
    }
#define CONTEND(label, routine, loop, ...)                                                         \
    {                                                                                              \
        ATOMIC(label, routine ", called by all PEs at once on one word of PE 0", loop),            \
            .shape = BENCH_TO_ONE, __VA_ARGS__                                                     \
    }

static const struct bench rows[] = {
    PLAIN("atomic-add", "add", add),
    {ATOMIC("atomic-inc", "inc called back to back, with one shmem_quiet per sample", inc),
     .min_ops = 1000, INCREMENTS},
    PLAIN("atomic-xor", "xor", xor),
    PLAIN("atomic-set", "set", set),
    FETCHING("atomic-fetch", "fetch", fetch),
    FETCHING("atomic-fetch-add", "fetch_add", fetch_add),
    {ATOMIC("atomic-fetch-inc", "fetch_inc", fetch_inc), INCREMENTS},
    FETCHING("atomic-fetch-xor", "fetch_xor", fetch_xor),
    FETCHING("atomic-swap", "swap", swap),
    FETCHING("atomic-cswap", "compare_swap", cswap),
#if BENCH_TEAMS
    NBI("atomic-fetch-nbi", "fetch", fetch),
    NBI("atomic-fetch-add-nbi", "fetch_add", fetch_add),
    NBI("atomic-fetch-inc-nbi", "fetch_inc", fetch_inc),
    NBI("atomic-fetch-xor-nbi", "fetch_xor", fetch_xor),
    NBI("atomic-swap-nbi", "swap", swap),
    NBI("atomic-cswap-nbi", "compare_swap", cswap),
#endif
    CONTEND("contend-add", "add", add, .min_ops = 1000),
    CONTEND("contend-inc", "inc", inc, .min_ops = 1000, INCREMENTS),
    CONTEND("contend-fetch-add", "fetch_add", fetch_add, .min_ops = 0),
    CONTEND("contend-fetch-inc", "fetch_inc", fetch_inc, INCREMENTS),
    CONTEND("contend-swap", "swap", swap, .min_ops = 0),
    CONTEND("contend-cswap", "compare_swap", cswap, .min_ops = 0),
};
BENCH_LIST(bench_list_atomic, rows);
