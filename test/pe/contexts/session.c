/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks that sessions change nothing that a program can observe (OpenSHMEM 1.6, section 9.9; rules
 * R47, R48, R95, R142-R149 and R262 of docs/reference/conformance.md): each kind of operation in a
 * batch, its completion and order, any arguments of start and stop, and progress of batched
 * operations while the PE makes no call. The progress check is left out with
 * SHMEM_OFI_PROGRESS_THREAD=off.
 */
#include "pe_data.h"

#include <stdint.h>
#include <unistd.h>

enum { WORDS = 600, SIZES = 300, LIMIT_S = 60 };

static struct {
    long words[WORDS], sum[2], flag, reply;
    int ints[WORDS];
    short shorts[8];
    char bytes[SIZES * SIZES], signalled[64];
    uint64_t signal;
    unsigned bits[3];
} * area;

static const long batch = SHMEM_CTX_SESSION_BATCH;
static const long with_ops = SHMEM_CTX_SESSION_TOTAL_OPS;

/* What must not be looked at. */
static const shmem_ctx_session_config_t *nowhere(void)
{
    return (const shmem_ctx_session_config_t *)(uintptr_t)8;
}

static void start_with(shmem_ctx_t ctx, size_t total_ops)
{
    shmem_ctx_session_config_t config = {.total_ops = total_ops};

    shmem_ctx_session_start(ctx, batch, &config, with_ops);
    config.total_ops = 12345; /* was read */
}

/* ---- everything in a batch --------------------------------------------------------------- */

static void put_words(shmem_ctx_t ctx, int pe, long salt)
{
    long block[3];

    for (int i = 0; i < WORDS; i++) {
        long value = salt * 1000 + i;

        if (i % 4 == 0)
            shmem_ctx_long_p(ctx, &area->words[i], value, pe);
        else if (i % 4 == 1)
            shmem_ctx_long_put(ctx, &area->words[i], &value, 1, pe);
        else if (i % 4 == 2)
            shmem_ctx_long_atomic_set(ctx, &area->words[i], value, pe);
        else
            shmem_ctx_long_iput(ctx, &area->words[i], &value, 1, 1, 1, pe);
        shmem_ctx_int_p(ctx, &area->ints[i], (int)value + 1, pe);
    }
    for (int i = 0; i < 3; i++) /* the source is free on return */
        block[i] = salt * 7 + i;
    shmem_ctx_long_put(ctx, area->words, block, 3, pe);
    memset(block, 0xee, sizeof(block));
    for (int i = 0; i < 8; i++)
        shmem_ctx_short_p(ctx, &area->shorts[i], (short)(salt + i), pe);
}

/* Blocks of every length, at every alignment, too small for a batch and too large. */
static void put_bytes(shmem_ctx_t ctx, int pe, const char *source)
{
    for (size_t n = 0; n < SIZES; n++)
        shmem_ctx_putmem_nbi(ctx, area->bytes + n * SIZES + n % 8, source + n, n - n % 8, pe);
}

static void update(shmem_ctx_t ctx, int pe)
{
    for (int i = 0; i < 100; i++) {
        shmem_ctx_long_atomic_add(ctx, &area->sum[0], i, pe);
        shmem_ctx_long_atomic_inc(ctx, &area->sum[1], pe);
    }
    shmem_ctx_uint_atomic_or(ctx, &area->bits[0], 1u << pe_me % 32, pe);
    shmem_ctx_uint_atomic_and(ctx, &area->bits[1], ~(1u << pe_me % 32), pe);
    shmem_ctx_uint_atomic_xor(ctx, &area->bits[2], 1u << pe_me % 32, pe);
}

static void check_words(long salt)
{
    for (int i = 0; i < WORDS; i++) {
        long want = i < 3 ? salt * 7 + i : salt * 1000 + i;

        /* No fence between the first words' two values: either may be the last. */
        if (i < 3 && area->words[i] == salt * 1000 + i) continue;
        if (!PE_CHECK(area->words[i] == want, "long %d of the batch is %ld, expected %ld", i,
                      area->words[i], want))
            return;
        if (!PE_CHECK(area->ints[i] == (int)(salt * 1000 + i) + 1,
                      "int %d of the batch is %d, which is not the value that was put", i,
                      area->ints[i]))
            return;
    }
    for (int i = 0; i < 8; i++)
        PE_CHECK_EQ(area->shorts[i], (short)(salt + i));
}

static void check_bytes(const char *source)
{
    for (size_t n = 0; n < SIZES; n++) {
        const char *at = area->bytes + n * SIZES;
        size_t before = n % 8, count = n - n % 8;

        if (!PE_CHECK(memcmp(at + before, source + n, count) == 0,
                      "put_nbi of %zu bytes in a batch: dest does not have the data", count))
            return;
        PE_CHECK_SAME(at, before, 0, "bytes before dest of a put in a batch");
        PE_CHECK_SAME(at + before + count, SIZES - before - count, 0,
                      "bytes after dest of a put in a batch");
    }
}

static void check_updates(int n_writers)
{
    unsigned all = 0;

    for (int i = 0; i < n_writers; i++)
        all ^= 1u << i % 32;
    PE_CHECK_EQ(area->sum[0], 4950L * n_writers);
    PE_CHECK_EQ(area->sum[1], 100L * n_writers);
    PE_CHECK_EQ(area->bits[2], ~all);
    for (int i = 0; i < n_writers; i++) {
        PE_CHECK(area->bits[0] >> i % 32 & 1, "atomic_or of pe %d in a batch is missing", i);
        PE_CHECK(!(area->bits[1] >> i % 32 & 1), "atomic_and of pe %d in a batch is missing", i);
    }
}

enum ending { BY_QUIET, BY_BARRIER, BY_STOP, BY_PE_QUIET, N_ENDINGS };

/* R142, R148: to the neighbour words and bytes, to everybody updates; complete as ever. */
static void check_batch(shmem_ctx_t ctx, size_t total_ops, enum ending ending)
{
    static char source[2 * SIZES];
    int right = pe_right();

    memset(area, 0, sizeof(*area));
    area->bits[1] = area->bits[2] = ~0u;
    pe_fill(source, sizeof(source), (unsigned)pe_me);
    shmem_barrier_all();
    start_with(ctx, total_ops);
    put_words(ctx, right, 10 + pe_me);
    put_bytes(ctx, right, source);
    for (int pe = 0; pe < pe_n; pe++)
        update(ctx, pe);
    if (ending == BY_STOP) shmem_ctx_session_stop(ctx); /* which promises nothing */
    for (int pe = 0; pe < pe_n && ending == BY_PE_QUIET; pe++)
        shmem_ctx_pe_quiet(ctx, &pe, 1);
    if (ending != BY_PE_QUIET && (ending != BY_BARRIER || ctx != SHMEM_CTX_DEFAULT))
        shmem_ctx_quiet(ctx);
    shmem_barrier_all();
    pe_fill(source, sizeof(source), (unsigned)pe_left());
    check_words(10 + pe_left());
    check_bytes(source);
    check_updates(pe_n);
    shmem_barrier_all();
    shmem_ctx_session_stop(ctx);
}

/* ---- what start and stop accept ------------------------------------------------------------ */

static void put_and_check(shmem_ctx_t ctx, long value)
{
    int right = pe_right();

    area->words[0] = 0;
    shmem_barrier_all();
    for (int i = 0; i < 5; i++)
        shmem_ctx_long_p(ctx, &area->words[i], value + pe_me + i, right);
    shmem_ctx_quiet(ctx);
    for (int i = 0; i < 5; i++)
        PE_CHECK_EQ(shmem_long_g(&area->words[i], right), value + pe_me + i);
    shmem_barrier_all();
}

/* R95, R142-R147: any number of starts and stops, any options, any mask. */
static void check_arguments(shmem_ctx_t ctx)
{
    shmem_ctx_session_config_t config = {.total_ops = 3};

    shmem_ctx_session_start(SHMEM_CTX_INVALID, batch, nowhere(), with_ops);
    shmem_ctx_session_start(SHMEM_CTX_INVALID, 0, NULL, 0);
    shmem_ctx_session_stop(SHMEM_CTX_INVALID);
    shmem_ctx_session_stop(ctx); /* never started */
    put_and_check(ctx, 100);
    shmem_ctx_session_start(ctx, batch, nowhere(), 0);
    put_and_check(ctx, 200);
    shmem_ctx_session_start(ctx, 0, NULL, 0); /* options add up, what is not masked stays */
    put_and_check(ctx, 300);
    shmem_ctx_session_start(ctx, 0, &config, with_ops); /* fewer than come */
    put_and_check(ctx, 400);
    shmem_ctx_session_start(ctx, ~0L, nowhere(), ~with_ops); /* unknown: all bits but one */
    put_and_check(ctx, 500);
    shmem_ctx_session_stop(ctx);
    shmem_ctx_session_stop(ctx);
    put_and_check(ctx, 600);
    config.total_ops = 0;
    shmem_ctx_session_start(ctx, ~0L, &config, ~0L);
    put_and_check(ctx, 700);
    shmem_ctx_session_start(ctx, batch, NULL, 0);
    shmem_ctx_session_stop(ctx);
    put_and_check(ctx, 800);
}

/* R145, R96: destroyed with a session open and work in it. */
static void check_destroy(void)
{
    shmem_ctx_t ctx = SHMEM_CTX_INVALID;

    for (long round = 1; round <= 5; round++) {
        area->words[1] = 0;
        shmem_barrier_all();
        ctx = pe_ctx(round % 2 ? SHMEM_CTX_PRIVATE : 0);
        shmem_ctx_session_start(ctx, batch, NULL, 0);
        shmem_ctx_long_p(ctx, &area->words[1], round, pe_right());
        shmem_ctx_destroy(ctx);
        PE_CHECK_EQ(shmem_long_g(&area->words[1], pe_right()), round);
        shmem_barrier_all();
    }
}

/* A session of a team's context, every other PE: its numbers count. */
static void check_team(void)
{
    int n_even = (pe_n + 1) / 2;
    shmem_ctx_t ctx = SHMEM_CTX_INVALID;
    shmem_team_t even;

    memset(area, 0, sizeof(*area));
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, n_even, NULL, 0, &even);
    shmem_barrier_all();
    if (even != SHMEM_TEAM_INVALID) {
        PE_REQUIRE(shmem_team_create_ctx(even, 0, &ctx) == 0,
                   "shmem_team_create_ctx on the team of even PEs failed");
        shmem_ctx_session_start(ctx, batch, NULL, 0);
        for (int pe = 0; pe < n_even; pe++)
            shmem_ctx_long_atomic_add(ctx, &area->sum[0], pe + 1, pe);
        shmem_ctx_quiet(ctx);
        shmem_ctx_destroy(ctx);
    }
    shmem_barrier_all();
    PE_CHECK_EQ(area->sum[0], pe_me % 2 ? 0 : (long)n_even * (pe_me / 2 + 1));
    if (even != SHMEM_TEAM_INVALID) shmem_team_destroy(even);
}

/* ---- order ---------------------------------------------------------------------------------- */

/* R142: data, fence, flag, all in a batch; and data with its signal. */
static void check_order(shmem_ctx_t ctx)
{
    int right = pe_right();
    char source[64];

    memset(area, 0, sizeof(*area));
    shmem_barrier_all();
    shmem_ctx_session_start(ctx, batch, NULL, 0);
    for (long round = 1; round <= pe_rounds(160); round++) {
        size_t n = 1 + (size_t)round % sizeof(source);

        for (int i = 0; i < 20; i++)
            shmem_ctx_long_p(ctx, &area->words[i], round, right);
        shmem_ctx_fence(ctx);
        shmem_ctx_long_p(ctx, &area->flag, round, right);
        shmem_long_wait_until(&area->flag, SHMEM_CMP_EQ, round);
        PE_CHECK_EACH(
            int, i, 20, area->words[i] == round,
            "word %d is %ld when the flag of round %ld is here: the fence did not order the puts",
            i, area->words[i], round);
        memset(source, (int)round, sizeof(source));
        shmem_ctx_putmem_signal_nbi(ctx, area->signalled, source, n, &area->signal,
                                    round % 2 ? 1 : (uint64_t)round,
                                    round % 2 ? SHMEM_SIGNAL_ADD : SHMEM_SIGNAL_SET, right);
        shmem_signal_wait_until(&area->signal, SHMEM_CMP_EQ, (uint64_t)round);
        PE_CHECK_SAME(area->signalled, n, (int)round & 0xff,
                      "data of putmem_signal_nbi in a session");
        shmem_barrier_all(); /* not of this context */
    }
    shmem_ctx_quiet(ctx);
    shmem_barrier_all();
    shmem_ctx_session_stop(ctx);
}

/* Atomics that fetch see what was added before them once that is complete. */
static void check_fetching(shmem_ctx_t ctx)
{
    long before = -1;

    memset(area, 0, sizeof(*area));
    shmem_barrier_all();
    shmem_ctx_session_start(ctx, batch, NULL, 0);
    for (int i = 0; i < 10; i++)
        shmem_ctx_long_atomic_add(ctx, &area->sum[0], 1, pe_right());
    shmem_ctx_fence(ctx);
    PE_CHECK_EQ(shmem_ctx_long_atomic_fetch_add(ctx, &area->sum[0], 1, pe_right()), 10);
    shmem_ctx_long_atomic_fetch_add_nbi(ctx, &before, &area->sum[0], 1, pe_right());
    shmem_ctx_quiet(ctx);
    PE_CHECK_EQ(before, 11);
    shmem_ctx_session_stop(ctx);
    shmem_barrier_all();
}

/* R149: collectives, with a session open on the default context. */
static void check_collectives(void)
{
    static long all, mine;

    mine = pe_me + 1;
    shmem_ctx_session_start(SHMEM_CTX_DEFAULT, batch, NULL, 0);
    for (int i = 0; i < 3; i++) {
        shmem_long_p(&area->words[i], i + 40 + pe_me, pe_right());
        shmem_barrier_all();
        PE_CHECK_EQ(area->words[i], i + 40 + pe_left());
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &all, &mine, 1);
        PE_CHECK_EQ(all, (long)pe_n * (pe_n + 1) / 2);
        shmem_sync_all();
    }
    shmem_ctx_session_stop(SHMEM_CTX_DEFAULT);
}

/* ---- progress -------------------------------------------------------------------------------- */

/*
 * R47, R48, R148: a store lies in a batch while its PE calls nothing, and waits for the answer to
 * it by plain loads. Nothing but the library's own thread can send it, and serve the answer.
 */
static void check_idle(shmem_ctx_t ctx)
{
    const char *thread = getenv("SHMEM_OFI_PROGRESS_THREAD");
    int partner = pe_me ^ 1;

    if (thread != NULL && strcmp(thread, "off") == 0) return;
    area->flag = area->reply = 0;
    shmem_barrier_all();
    shmem_ctx_session_start(ctx, batch, NULL, 0);
    for (long round = 1; round <= 20 && partner < pe_n; round++) {
        if (pe_me % 2 == 0) {
            shmem_ctx_long_p(ctx, &area->flag, round, partner);
            while (__atomic_load_n(&area->reply, __ATOMIC_ACQUIRE) != round)
                usleep(round % 2 ? 100 : 3000); /* its thread is awake, and asleep */
        } else {
            /* Waits of the library send what lies in batches. */
            shmem_long_wait_until(&area->flag, SHMEM_CMP_EQ, round);
            shmem_ctx_long_p(ctx, &area->reply, round, partner);
        }
    }
    shmem_ctx_session_stop(ctx);
    shmem_barrier_all();
}

/* Both ends wait in the library for what lies in the other's batch. */
static void check_waiting(shmem_ctx_t ctx)
{
    int right = pe_right();

    area->flag = 0;
    shmem_barrier_all();
    shmem_ctx_session_start(ctx, batch, NULL, 0);
    for (long round = 1; round <= 100; round++) {
        shmem_ctx_long_atomic_inc(ctx, &area->flag, right); /* values stored may change places */
        shmem_long_wait_until(&area->flag, SHMEM_CMP_GE, round);
    }
    shmem_ctx_session_stop(ctx);
    shmem_barrier_all();
}

static void check_context(shmem_ctx_t ctx)
{
    static const size_t expected[] = {SIZE_MAX, 0, 1, 7, 100, 100000};

    check_arguments(ctx);
    for (unsigned i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
        check_batch(ctx, expected[i], (enum ending)(i % N_ENDINGS));
    check_order(ctx);
    check_fetching(ctx);
    check_idle(ctx);
    check_waiting(ctx);
}

int main(void)
{
    shmem_ctx_t shared = SHMEM_CTX_INVALID, own = SHMEM_CTX_INVALID;

    pe_test_begin();
    alarm(2 * LIMIT_S); /* what waits for ever ends, and fails */
    area = pe_calloc(1, sizeof(*area));
    shared = pe_ctx(0);
    own = pe_ctx(SHMEM_CTX_PRIVATE);
    check_context(SHMEM_CTX_DEFAULT);
    check_context(shared);
    check_context(own);
    check_destroy();
    check_team();
    check_collectives();
    shmem_ctx_destroy(own);
    shmem_ctx_destroy(shared);
    return pe_test_end();
}
