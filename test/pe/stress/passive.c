/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks that operations need no call of their target (rules R47, R48, R105, R119, R129 and R221 of
 * docs/reference/conformance.md): one PE computes or sleeps and reads its memory with plain loads,
 * while the other PEs put, get, do atomics and signal, check the results, and then let the PE go
 * on. An operation that needs a call of the target shows as a stage without progress. The first
 * operations follow shmem_init at once. Needs two PEs; the options are those of pe_stress.h.
 */
#include "pe_stress.h"

enum { HUGE_BYTES = 64 << 20, BIG_BYTES = 4 << 20, SMALL = 5000, ROUNDS = 12, AMOS = 12 };

enum work {
    AMO_WORK,
    SMALL_PUT,
    SMALL_GET,
    SIGNAL_WORK,
    STRIDED,
    BIG_PUT,
    BIG_GET,
    CTX_WORK,
    N_WORK
};

static const char *const work_name[N_WORK] = {"atomics", "small puts", "small gets", "signals",
                                              "strided", "large put",  "large get",  "contexts"};

/* On the target; each other PE has its line. */
static struct line {
    uint64_t go; /* 1: this PE has seen what it wanted */
    uint64_t amo64, ctx64, sig, sig_nbi;
    uint32_t amo32, ctx32;
    long strided[64];
    char small[SMALL];
} lines[64];

static char *big;     /* symmetric, every PE's own pattern, written by one PE a round */
static char *big_own; /* private */
static size_t big_bytes;
static int target;
static volatile double heat; /* what computing comes to */

/* Out of the library until everybody has let this PE go. */
static void stay_outside(bool asleep)
{
    unsigned gone = 0;

    stress_stage("target, %s", asleep ? "asleep" : "computing");
    while (gone != (unsigned)pe_n - 1) {
        gone = 0;
        for (int pe = 0; pe < pe_n; pe++)
            gone += (unsigned)__atomic_load_n(&lines[pe].go, __ATOMIC_ACQUIRE);
        if (asleep) nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        for (int i = 0; i < 20000 && !asleep; i++)
            heat = heat * 0.999 + i;
    }
}

static void do_atomics(struct line *line)
{
    uint64_t fetched[AMOS];

    for (uint64_t i = 0; i < AMOS; i++) {
        PE_CHECK_EQ(shmem_uint64_atomic_fetch_add(&line->amo64, 3, target), 4 * i);
        shmem_uint64_atomic_inc(&line->amo64, target);
        shmem_quiet();
        PE_CHECK_EQ(shmem_uint32_atomic_swap(&line->amo32, (uint32_t)i + 1, target), i);
        PE_CHECK_EQ(shmem_uint32_atomic_compare_swap(&line->amo32, 0, 9, target), i + 1);
    }
    for (int i = 0; i < AMOS; i++)
        shmem_uint64_atomic_fetch_nbi(&fetched[i], &line->amo64, target);
    shmem_quiet();
    for (int i = 0; i < AMOS; i++)
        PE_CHECK_EQ(fetched[i], 4 * AMOS);
}

/* Put n bytes in some way, quiet, and read them back. */
static void do_put(char *dest, size_t n, unsigned stamp, bool nbi)
{
    pe_fill(big_own, n, stamp);
    if (nbi)
        shmem_putmem_nbi(dest, big_own, n, target);
    else
        shmem_putmem(dest, big_own, n, target);
    shmem_quiet();
    memset(big_own, 0, n);
    shmem_getmem(big_own, dest, n, target);
    PE_CHECK_BYTES(big_own, n, stamp, "put to a passive PE, read back");
}

static void do_small_puts(struct line *line)
{
    static const size_t sizes[] = {1, 8, 100, 1024, 4097, SMALL};

    for (unsigned i = 0; i < 6; i++)
        do_put(line->small, sizes[i], (unsigned)pe_me * 7 + i, i % 2);
    shmem_long_p(&line->strided[0], 77, target);
    shmem_quiet();
    PE_CHECK_EQ(shmem_long_g(&line->strided[0], target), 77);
}

/* The pattern that the target has prepared, in pieces and as a whole. */
static void do_get(size_t n, bool nbi)
{
    memset(big_own, 0, n);
    if (nbi) {
        for (size_t at = 0; at < n; at += n / 8)
            shmem_getmem_nbi(big_own + at, big + at, n / 8, target);
        shmem_quiet();
    } else {
        shmem_getmem(big_own, big, n, target);
    }
    PE_CHECK_BYTES(big_own, n / 8 * 8, (unsigned)target + 1, "get from a passive PE");
}

static void do_signals(struct line *line)
{
    pe_fill(big_own, SMALL, 3 + (unsigned)pe_me);
    shmem_putmem_signal(line->small, big_own, SMALL / 2, &line->sig, 5, SHMEM_SIGNAL_SET, target);
    shmem_putmem_signal_nbi(line->small + SMALL / 2, big_own + SMALL / 2, SMALL / 2, &line->sig_nbi,
                            6, SHMEM_SIGNAL_ADD, target);
    shmem_signal_add(&line->sig_nbi, 10, target);
    shmem_quiet();
    PE_CHECK_EQ(shmem_uint64_atomic_fetch(&line->sig, target), 5);
    PE_CHECK_EQ(shmem_uint64_atomic_fetch(&line->sig_nbi, target), 16);
    memset(big_own, 0, SMALL);
    shmem_getmem(big_own, line->small, SMALL, target);
    PE_CHECK_BYTES(big_own, SMALL, 3 + (unsigned)pe_me, "data of signals");
}

static void do_strided(struct line *line)
{
    long from[32], got[32] = {0};

    for (int i = 0; i < 32; i++)
        from[i] = i * 1000 + pe_me;
    shmem_long_iput(line->strided, from, 2, 1, 32, target);
    shmem_quiet();
    shmem_long_iget(got, line->strided, 1, 2, 32, target);
    PE_CHECK(memcmp(from, got, sizeof(got)) == 0,
             "iget from a PE outside the library did not return the data that iput had stored");
}

/* A new context, and what it left behind when it was destroyed. */
static void do_context(struct line *line)
{
    shmem_ctx_t ctx = pe_ctx(SHMEM_CTX_PRIVATE);

    shmem_ctx_uint64_atomic_add(ctx, &line->ctx64, 11, target);
    shmem_ctx_fence(ctx);
    shmem_ctx_uint32_p(ctx, &line->ctx32, 12, target);
    shmem_ctx_destroy(ctx);
    PE_CHECK_EQ(shmem_uint32_g(&line->ctx32, target), 12);
    PE_CHECK_EQ(shmem_uint64_atomic_fetch(&line->ctx64, target), 11);
}

/* One writer of the large block a round; the others read it when it is only read. */
static void do_work(enum work work, struct line *line)
{
    bool writer = pe_me == (target + 1) % pe_n, nbi = stress_pick(2);

    stress_stage("%s at PE %d", work_name[work], target);
    stress_ops++;
    if (work == AMO_WORK)
        do_atomics(line);
    else if (work == SMALL_PUT)
        do_small_puts(line);
    else if (work == SMALL_GET)
        do_get(8 * (1 + stress_pick(600)), nbi);
    else if (work == SIGNAL_WORK)
        do_signals(line);
    else if (work == STRIDED)
        do_strided(line);
    else if (work == BIG_PUT && writer)
        do_put(big, big_bytes, (unsigned)target + 1, nbi);
    else if (work == BIG_GET)
        do_get(big_bytes / 8 * 8, nbi);
    else if (work == CTX_WORK)
        do_context(line);
}

/* The last thing that the target waits for: three ways. */
static void let_go(struct line *line)
{
    stress_stage("letting PE %d go", target);
    switch (stress_pick(3)) {
    case 0:
        shmem_uint64_p(&line->go, 1, target);
        break;
    case 1:
        shmem_uint64_atomic_inc(&line->go, target);
        break;
    default:
        shmem_signal_set(&line->go, 1, target);
        break;
    }
    shmem_quiet();
}

static void play_round(uint64_t round)
{
    size_t kind = stress_draw(N_WORK), step = 1 + 2 * stress_draw(N_WORK / 2);
    bool asleep = stress_draw(2);

    target = (int)((stress_seed + (uint64_t)pe_n - 1 + round) % (uint64_t)pe_n);
    if (pe_me == target) {
        stay_outside(asleep);
        return;
    }
    for (size_t i = 0; i < 3; i++) /* three different kinds */
        do_work((enum work)((kind + i * step) % N_WORK), &lines[pe_me]);
    let_go(&lines[pe_me]);
}

/* Nothing collective has been called yet: only shmem_init can have connected anybody. */
static void first_contact(void)
{
    pe_me = shmem_my_pe();
    pe_n = shmem_n_pes();
    target = pe_n - 1;
    stress_own = stress_state(stress_seed, (uint64_t)pe_me);
    if (pe_n < 2 || pe_n > 64) return;
    if (pe_me == target) {
        stay_outside(false);
        return;
    }
    do_work(AMO_WORK, &lines[pe_me]);
    do_work(STRIDED, &lines[pe_me]);
    let_go(&lines[pe_me]);
}

int main(int argc, char **argv)
{
    stress_options(argc, argv);
    signal(SIGALRM, stress_hung);
    stress_stage("shmem_init");
    shmem_init();
    first_contact();
    pe_test_attach();
    clock_gettime(CLOCK_MONOTONIC, &stress_started);
    PE_REQUIRE(pe_n <= 64, "this test runs with at most 64 PEs");
    big_bytes = stress_seconds > 0 ? HUGE_BYTES : BIG_BYTES;
    big = pe_malloc(big_bytes);
    big_own = pe_private(big_bytes);
    if (pe_n < 2) pe_test_skip("a passive target needs another PE");
    pe_fill(big, big_bytes, (unsigned)pe_me + 1);
    while (pe_n > 1 && stress_more(ROUNDS)) {
        memset(lines, 0, sizeof(lines));
        shmem_barrier_all();
        play_round(stress_round);
        shmem_barrier_all();
    }
    return stress_end("passive");
}
