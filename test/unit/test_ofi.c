/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the fabric module without the library, with forked processes as PEs. The program covers
 * what programs under a launcher cannot show: refusals, signal handlers, peers that die, and floods
 * of operations. CTest runs each case as unit.ofi.CASE, and all cases on all providers (OFI_ALL=1)
 * as unit.ofi_all. Adapters are not tested: the providers are tcp, net and shm.
 */
#include "ofi_pes.h"

#include <errno.h>
#include <sched.h>

static const char *const providers[] = {"tcp", "shm", "net"};

enum { N_PROVIDERS = 3 };

/* The quick tests leave out what OFI_ALL=1 adds: longer floods, and each case on every provider. */
static bool runs_all(void)
{
    return getenv("OFI_ALL") != NULL;
}

/* Of the quick tests, each variant runs on tcp and on one of the other two providers. */
static bool is_left_out(int i)
{
    int provider = i % N_PROVIDERS, variant = i / N_PROVIDERS;

    return !runs_all() && provider != 0 && provider != 1 + variant % 2;
}

/* Rounds of a flood: quick is enough to run out of requests, and full repeats that. */
static int rounds(int quick, int full)
{
    return runs_all() ? full : quick;
}

/* ---- opening ------------------------------------------------------------ */

/* CTest runs each case as a test of its own. */
TEST_CASE(choice, setup, NULL)

TEST(unknown_provider_is_refused_by_name)
{
    setup();
    env.ofi_provider = "bogus";
    ck_assert_int_lt(load()(&core, &fabric), 0);
    ck_assert_ptr_nonnull(strstr(world->text, "SHMEM_OFI_PROVIDER bogus"));
    ck_assert_ptr_nonnull(
        strstr(world->text, "SHMEM_OFI_PROVIDER excludes the available providers: "));
}

TEST(shm_is_refused_between_nodes)
{
    setup();
    env.ofi_provider = "shm";
    core.n_pes = 2;
    ck_assert_int_lt(load()(&core, &fabric), 0);
    ck_assert_ptr_nonnull(strstr(world->text, "works within one host only"));
}

static int n_used, n_told;

static void count(void *arg, const struct stp_provider_status *offer)
{
    ck_assert_ptr_eq(arg, &n_used);
    ck_assert(*offer->provider != '\0' && *offer->domain != '\0' && *offer->reason != '\0');
    n_used += offer->code == STP_PROVIDER_USED;
    n_told++;
}

TEST(report_names_the_one_that_is_used)
{
    setup();
    core.report = count;
    core.report_arg = &n_used;
    ck_assert_int_eq(load()(&core, NULL), 0);
    ck_assert_int_eq(n_used, 1);
    ck_assert_int_gt(n_told, 1);
}

static void on_signal(int sig)
{
    (void)sig;
}

TEST(signal_handlers_survive)
{
    struct sigaction now;

    setup();
    signal(SIGTERM, on_signal);
    signal(SIGSEGV, SIG_DFL);
    env.ofi_provider = "tcp";
    ck_assert_int_eq(load()(&core, &fabric), 0);
    sigaction(SIGTERM, NULL, &now);
    ck_assert(now.sa_handler == on_signal);
    sigaction(SIGSEGV, NULL, &now);
    ck_assert(now.sa_handler == SIG_DFL);
    fabric.close();
}

TEST_LOOP(device_memory_is_not_reached, 0, 2 * N_PROVIDERS)
{
    static uint64_t words[64];
    struct stp_fabric_region mine;

    setup();
    env.ofi_provider = providers[_i % N_PROVIDERS];
    core.devices = _i / N_PROVIDERS;
    ck_assert_int_eq(load()(&core, &fabric), 0);
    world->text[0] = '\0'; /* libfabric 1.18 and newer: the warning that net means tcp */
    ck_assert_int_eq(fabric.region_add(REGION, words, sizeof(words), STP_MEMORY_CUDA, 0, &mine),
                     -EOPNOTSUPP);
    ck_assert_str_eq(world->text, ""); /* no error: the library has another way */
    ck_assert_int_eq(fabric.region_add(REGION, words, sizeof(words), STP_MEMORY_HOST, 0, &mine), 0);
    fabric.region_remove(REGION);
    fabric.close();
}

/* ---- what peers wrote is noticed -------------------------------------------- */

TEST_CASE(arrival, setup, NULL)

static atomic_bool noticed;
static bool in_session;

static void look(void)
{
    if (__atomic_load_n(&memory[0], __ATOMIC_ACQUIRE) == 77) atomic_store(&noticed, true);
}

/* PE 0 hears of a word that PE 1 wrote, without a call when it has a progress thread. */
static void notice(void)
{
    uint64_t word = 77;

    if (me == 1 && in_session) fabric.session(ctx, true, SIZE_MAX);
    if (me == 1) fabric.store(ctx, TARGET(0, REGION, 0), &word, sizeof(word));
    if (me == 1) fabric.quiet(ctx);
    while (me == 0 && !atomic_load(&noticed))
        if (!env.ofi_progress_thread) fabric.progress();
    go_down();
}

TEST_LOOP(served_is_called, 0, 3 * N_PROVIDERS)
{
    if (is_left_out(_i)) return;
    setup();
    core.on_progress = look;
    env.ofi_progress_thread = _i / N_PROVIDERS % 2 == 0;
    in_session = _i / N_PROVIDERS == 2;
    ck_run(providers[_i % N_PROVIDERS], notice);
}

/* What is collected behind an earlier store arrives though neither side calls again. */
static void store_and_leave(void)
{
    enum { N = 5 };
    int to = (me + 1) % PES;

    meet();
    for (uint64_t i = 0; i < N; i++)
        fabric.store(ctx, TARGET(to, REGION, (size_t)i * 8), &(uint64_t){i + 1}, sizeof(uint64_t));
    for (uint64_t i = 0; i < N; i++)
        while (__atomic_load_n(&memory[i], __ATOMIC_ACQUIRE) != i + 1)
            usleep(100);
    go_down();
}

TEST_LOOP(stores_arrive_by_themselves, 0, N_PROVIDERS)
{
    setup();
    ck_run(providers[_i], store_and_leave);
}

/* ---- floods ------------------------------------------------------------- */

TEST_CASE(floods, setup, NULL)

/* Updates and fetches from everybody at one word of PE 0: every one counts, once. */
static void flood_updates(void)
{
    int n = rounds(1000, 3000);
    uint64_t one = 1, old;

    for (int i = 0; i < n; i++)
        fabric.amo(ctx, TARGET(0, REGION, 0), STP_AMO_ADD, STP_U64, &one, NULL, i % 2 ? &old : NULL,
                   false);
    fabric.quiet(ctx);
    meet();
    expect(me != 0 || __atomic_load_n(&memory[0], __ATOMIC_ACQUIRE) == (uint64_t)(PES * n),
           "the word on PE 0 to count every addition exactly once");
    go_down();
}

/* Many more puts under way than there are requests; then all are there. */
static void flood_puts(void)
{
    enum { WORDS = 4096 };
    static uint64_t source[WORDS];
    int to = (me + 1) % PES, from = (me + PES - 1) % PES, n = rounds(10000, 30000);

    for (int i = 0; i < WORDS; i++)
        source[i] = (uint64_t)(me * WORDS + i);
    for (int i = 0; i < n; i++) {
        size_t at = (size_t)i % WORDS;

        fabric.put(ctx, TARGET(to, REGION, at * 8), &source[at], 8, true);
    }
    fabric.quiet(ctx);
    meet();
    for (int i = 0; i < WORDS; i++)
        expect(memory[i] == (uint64_t)(from * WORDS + i),
               "each word to hold the value that the previous PE put there");
    go_down();
}

/* Blocks of all sizes that one write takes several of, some too large: each in its place. */
static void flood_blocks(void)
{
    enum { AREA = NBYTES, STEP = 17 };
    static unsigned char source[AREA];
    int to = (me + 1) % PES, from = (me + PES - 1) % PES;
    size_t at = 0;

    for (size_t i = 0; i < AREA; i++)
        source[i] = (unsigned char)(i * 7 + i / 256 + (size_t)me * 31);
    for (size_t i = 0; i < (size_t)rounds(1200, 3000); i++) {
        size_t n = 250 + i * STEP % 17000;

        if (at + n > AREA) at = 0;
        fabric.put(ctx, TARGET(to, REGION, at), source + at, n, true);
        at += n;
        if (i % 500 == 499) fabric.quiet_pes(ctx, &to, 1);
    }
    fabric.put(ctx, TARGET(to, REGION, at), source + at, AREA - at, true);
    fabric.quiet(ctx);
    meet();
    for (size_t i = 0; i < AREA; i++)
        expect(((unsigned char *)memory)[i] == (unsigned char)(i * 7 + i / 256 + (size_t)from * 31),
               "each byte to hold the value that the previous PE put there");
    go_down();
}

/* Blocks that were still being collected at a fence are there when the flag behind it is. */
static void fence_behind_blocks(void)
{
    enum { BLOCKS = 6, WORDS = 200, FLAG = NBYTES / 8 - 1 };
    static uint64_t source[BLOCKS * WORDS];
    int to = (me + 1) % PES;
    uint64_t last = (uint64_t)rounds(30, 100);

    for (uint64_t round = 1; round <= last; round++) {
        size_t n = BLOCKS - round % 3;

        for (size_t i = 0; i < BLOCKS * WORDS; i++)
            source[i] = round;
        for (size_t k = 0; k < n; k++)
            fabric.put(ctx, TARGET(to, REGION, k * WORDS * 8), source + k * WORDS, WORDS * 8, true);
        fabric.fence(ctx);
        fabric.store(ctx, TARGET(to, REGION, FLAG * 8), &round, 8);
        while (__atomic_load_n(&memory[FLAG], __ATOMIC_ACQUIRE) != round)
            fabric.progress();
        for (size_t i = 0; i < n * WORDS; i++)
            expect(memory[i] == round, "the blocks of this round to arrive before the flag");
        fabric.quiet(ctx);
        meet();
    }
    go_down();
}

static atomic_bool stop;

static void *keep_putting(void *arg)
{
    static uint64_t source;

    (void)arg;
    while (!atomic_load(&stop))
        fabric.put(ctx, TARGET((me + 1) % PES, REGION, 64), &source, 8, true);
    return NULL;
}

/* quiet ends though another thread never stops issuing. */
static void quiet_beside_a_flood(void)
{
    pthread_t thread;
    uint64_t value = 5;

    pthread_create(&thread, NULL, keep_putting, NULL);
    for (int i = 0; i < 20; i++) {
        fabric.put(ctx, TARGET((me + 1) % PES, REGION, 128), &value, 8, false);
        fabric.quiet(ctx);
    }
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    go_down();
}

static void flood_updates_in_session(void)
{
    fabric.session(ctx, true, SIZE_MAX);
    flood_updates();
}

/* Batches of many contexts lie about, and share fewer requests than that. */
static void many_batches(void)
{
    enum { CTXS = 200 };
    static struct stp_fabric_ctx *ctxs[CTXS];
    int n = rounds(12, 50);
    uint64_t one = 1;

    for (int i = 0; i < CTXS; i++) {
        expect(fabric.ctx_create(false, &ctxs[i]) == 0, "ctx_create to return 0");
        fabric.session(ctxs[i], true, SIZE_MAX);
    }
    for (int i = 0; i < n * CTXS; i++)
        fabric.amo(ctxs[i % CTXS], TARGET(i / CTXS % PES, REGION, 0), STP_AMO_ADD, STP_U64, &one,
                   NULL, NULL, false);
    for (int i = 0; i < CTXS; i++) {
        fabric.quiet(ctxs[i]);
        fabric.ctx_destroy(ctxs[i]);
    }
    meet();
    expect(__atomic_load_n(&memory[0], __ATOMIC_ACQUIRE) ==
               (uint64_t)PES * CTXS * (uint64_t)(n / PES + (me < n % PES)),
           "the word on PE 0 to count every addition exactly once");
    go_down();
}

static void (*const floods[])(void) = {flood_updates, flood_puts, quiet_beside_a_flood,
                                       flood_updates_in_session, many_batches};

TEST_LOOP(flood, 0, STP_COUNT(floods) * N_PROVIDERS)
{
    if (is_left_out(_i)) return;
    setup();
    ck_run(providers[_i % N_PROVIDERS], floods[_i / N_PROVIDERS]);
}

/* Of blocks that are pieces of one write where providers gather. */
TEST_LOOP(flood_gathered, 0, 4)
{
    static void (*const gathered[])(void) = {flood_blocks, fence_behind_blocks};

    setup();
    ck_run(_i % 2 == 0 ? "tcp" : "net", gathered[_i / 2]);
}

/* ---- contexts on endpoints of their own -------------------------------------- */

TEST_CASE(endpoints, setup, NULL)

enum { CTXS = 6, ROUNDS = 50, BLOCK = 64 };

/* Contexts take turns; whoever sees a signal sees the data that it stands for. */
static void signal_on_each(void)
{
    struct stp_fabric_ctx *ctxs[CTXS];
    uint64_t block[BLOCK], *signals = memory + CTXS * BLOCK;
    int to = (me + 1) % PES, from = (me + PES - 1) % PES;

    for (int i = 0; i < CTXS; i++)
        expect(fabric.ctx_create(i > 0, &ctxs[i]) == 0, "ctx_create to return 0");
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < CTXS; i++) {
            size_t at = (size_t)i * sizeof(block);

            for (int k = 0; k < BLOCK; k++)
                block[k] = round * 1000 + (uint64_t)(me * 100 + i);
            fabric.put_signal(ctxs[i], TARGET(to, REGION, at), block, sizeof(block),
                              TARGET(to, REGION, (CTXS * BLOCK + (size_t)i) * 8), round,
                              STP_AMO_SET, i % 2 == 0);
            if (i % 2 == 0) fabric.quiet(ctxs[i]);
        }
        for (int i = 0; i < CTXS; i++) {
            while (__atomic_load_n(&signals[i], __ATOMIC_ACQUIRE) < round)
                fabric.progress();
            for (int k = 0; k < BLOCK; k++)
                expect(memory[i * BLOCK + k] == round * 1000 + (uint64_t)(from * 100 + i),
                       "the data of this round to arrive before its signal");
        }
        meet(); /* or a fast neighbour overwrites */
    }
    for (int i = 0; i < CTXS; i++) {
        fabric.quiet(ctxs[i]);
        fabric.ctx_destroy(ctxs[i]);
    }
    go_down();
}

/* With as many endpoints as the provider likes, none, and fewer than contexts. */
TEST_LOOP(endpoints, 0, 3 * N_PROVIDERS)
{
    static const int counts[] = {-1, 0, 2};

    if (is_left_out(_i)) return;
    setup();
    env.ofi_endpoints = counts[_i / N_PROVIDERS];
    ck_run(providers[_i % N_PROVIDERS], signal_on_each);
}

/* ---- strangers ---------------------------------------------------------------- */

TEST_CASE(peers, setup, NULL)

/* PE 1 is of another job: its atomics change nothing, and PE 0 says so and goes on. */
static void ask_as_stranger(void)
{
    uint64_t one = 1, old;

    if (me == 1)
        fabric.amo(ctx, TARGET(0, REGION, 0), STP_AMO_ADD, STP_U64, &one, NULL, NULL, true);
    while (me == 0 && strstr(world->text, "do not belong to this job") == NULL)
        fabric.progress();
    meet();
    if (me == 2)
        fabric.amo(ctx, TARGET(0, REGION, 0), STP_AMO_ADD, STP_U64, &one, NULL, &old, false);
    meet();
    expect(me != 0 || memory[0] == 1, "the word to be 1: the atomic of another job is ignored");
    if (me == 1) _exit(0); /* it has no answer to wait for */
}

TEST(messages_of_strangers_are_dropped)
{
    setup();
    stranger = 1;
    ck_run("net", ask_as_stranger);
}

/* ---- regions that go ---------------------------------------------------------- */

static size_t queued_bytes; /* of each put: they are collected, or become pieces of a write */

static void queue_puts(uint64_t *source)
{
    for (size_t i = 0; i < 3; i++)
        fabric.put(ctx, TARGET(1, REGION, i * queued_bytes), source, queued_bytes, true);
}

static void make_region_anew(void)
{
    fabric.region_remove(REGION);
    if (fabric.region_add(REGION, memory, NBYTES, STP_MEMORY_HOST, 0, &world->parts[me]) != 0 ||
        fabric.region_peers(REGION, fabric.peer_table ? world->parts : NULL) != 0)
        expect(false, "region_add and region_peers to return 0 for a new region");
}

/* Now and then the progress thread has sent what is queued before the region goes. */
static void use_after_removal(void)
{
    static uint64_t source[NBYTES / 8];

    if (me == 0 && queued_bytes <= 8) fabric.session(ctx, true, SIZE_MAX);
    for (int i = 0; me == 0 && i < 1000; i++) {
        queue_puts(source);
        make_region_anew();
        fabric.quiet(ctx);
    }
    meet();
}

TEST_LOOP(what_is_queued_for_a_region_that_went_is_fatal, 0, 2)
{
    int status;

    setup();
    queued_bytes = _i == 0 ? 8 : 4096;
    status = run("tcp", use_after_removal);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 9);
    ck_assert_msg(strstr(world->text, "shmem_test: an operation on PE 1 was still queued when "
                                      "space 7 was destroyed") != NULL,
                  "no message reports the queued operation; messages: %s", world->text);
}

static void drain_before_removal(void)
{
    static uint64_t source[NBYTES / 8];

    if (queued_bytes <= 8) fabric.session(ctx, true, SIZE_MAX);
    for (int i = 1; i < 30; i++) {
        for (size_t k = 0; k < queued_bytes / 8; k++)
            source[k] = (uint64_t)i;
        if (me == 0) {
            queue_puts(source);
            fabric.region_drain(REGION);
            make_region_anew();
        }
        meet();
        expect(me != 1 || memory[3 * queued_bytes / 8 - 1] == (uint64_t)i,
               "the puts before region_drain to have arrived");
        meet();
    }
    go_down();
}

TEST_LOOP(drained_regions_may_go, 0, 2 * N_PROVIDERS)
{
    setup();
    queued_bytes = _i < N_PROVIDERS ? 8 : 4096;
    ck_run(providers[_i % N_PROVIDERS], drain_before_removal);
}

/* ---- dead peers --------------------------------------------------------- */

static void act_on_dead(void (*act)(void))
{
    meet();
    if (me == 1) raise(SIGKILL);
    if (me == 0) {
        usleep(100000); /* gone, and its parent has noticed or not: both must do */
        act();
    }
}

static void get_until_fatal(void)
{
    uint64_t value;

    for (;;)
        fabric.get(ctx, TARGET(1, REGION, 0), &value, sizeof(value), false);
}

static void get_from_dead(void)
{
    act_on_dead(get_until_fatal);
}

static void batch_until_fatal(void)
{
    uint64_t value = 1;

    fabric.session(ctx, true, SIZE_MAX);
    for (;;) {
        fabric.put(ctx, TARGET(1, REGION, 0), &value, sizeof(value), false);
        fabric.amo(ctx, TARGET(1, REGION, 0), STP_AMO_ADD, STP_U64, &value, NULL, NULL, false);
        fabric.quiet_pes(ctx, (int[]){1}, 1);
    }
}

static void batch_to_dead(void)
{
    act_on_dead(batch_until_fatal);
}

/* PE 1 dies when PE 0 has finished: before, PE 0 would end by an error as soon as it notices. */
static void finish_with_dead(void)
{
    uint64_t one = 1;

    meet();
    if (me == 1) {
        while (atomic_load(&world->step) == 0)
            usleep(100);
        raise(SIGKILL);
    }
    if (me != 0) return;
    fabric.finish();
    atomic_store(&world->step, 1);
    usleep(100000); /* gone, or not yet: both must do */
    fabric.amo(ctx, TARGET(1, REGION, 0), STP_AMO_ADD, STP_U64, &one, NULL, NULL, false);
    fabric.quiet(ctx);
}

static void batch_with_dead(void)
{
    fabric.session(ctx, true, SIZE_MAX);
    finish_with_dead();
}

TEST_LOOP(dead_peer_is_named, 0, 4)
{
    int status;

    setup();
    deaths = true;
    status = run(_i % 2 == 0 ? "tcp" : "net", _i < 2 ? get_from_dead : batch_to_dead);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 9);
    ck_assert_msg(strstr(world->text, "pe 1") != NULL,
                  "no message names the dead PE 1; messages: %s", world->text);
}

TEST_LOOP(dead_peer_is_done_with_after_finish, 0, 4)
{
    setup();
    deaths = true;
    ck_run(_i % 2 == 0 ? "tcp" : "net", _i < 2 ? finish_with_dead : batch_with_dead);
}
