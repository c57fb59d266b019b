/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the fabric module with the rules of providers that need adapters (verbs, efa and cxi),
 * together and each rule alone. The program starts itself again with test/provider in front of
 * libfabric, which plays these providers on tcp and ends a PE that breaks a rule. The data must be
 * right for every kind of operation, memory and size, also when operations are held back, reordered
 * or refused. CTest runs some modes as unit.ofi_modes, all as unit.ofi_modes_all; arguments are
 * numbers of modes.
 */
#include "ofi_pes.h"

#include <errno.h>

enum { HALF = NBYTES / 2, WORD = HALF / 8 - 1, ROUNDS = 3, BIG = 300000 };

static const char *const modes[] = {
    "",
    "mr_local",
    "prov_key",
    "virt_addr",
    "virt_addr,prov_key,allocated",
    "endpoint",
    "mr_local,endpoint",
    "context",
    "context2",
    "small_inject=1",
    "max_msg=4096",
    "max_msg=1000,mr_local",
    "no_fetch",
    "no_atomics",
    "no_atomics,mr_local,no_order",
    "no_order",
    "reorder",
    "late",
    "late,no_order",
    "key32",
    "eagain=7",
    "eagain=2,mr_local,no_fetch",
    "manual",
    "manual,no_atomics",
    "cqsize=8",
    "no_fd",
    "name=cxi",
    "verbs",
    "efa",
    "cxi",
    "verbs,no_fetch,manual,eagain=5",
    "efa,no_atomics",
    "cxi,name=cxi,late",
    "base=net",
    "base=net,verbs",
    "base=net,efa",
    "no_atomics,eagain=3",
    "psm3",
    "psm3,auto",
};

static const size_t sizes[] = {1, 2, 7, 8, 63, 64, 65, 1001, 4095, 8192, 8193, 30001};

static long (*shim_count)(const char *what);
static int to, from;

/* ---- memory of every kind ---------------------------------------------------- */

static unsigned char in_data[HALF] = {1}, in_bss[HALF];

/* Where transfer number i has its local end; stack is on the caller's stack. */
static unsigned char *memory_of(int i, unsigned char *stack)
{
    static unsigned char *heap;

    if (heap == NULL) heap = malloc(HALF);
    switch (i % 5) {
    case 0:
        return stack;
    case 1:
        return heap;
    case 2:
        return in_data;
    case 3:
        return in_bss;
    default:
        return (unsigned char *)memory + HALF; /* in a region */
    }
}

static unsigned char byte_of(size_t i, int pe, unsigned salt)
{
    return (unsigned char)(i * 7 + salt * 13 + (unsigned)pe * 61 + (i >> 8));
}

static void fill(unsigned char *bytes, size_t n, int pe, unsigned salt)
{
    for (size_t i = 0; i < n; i++)
        bytes[i] = byte_of(i, pe, salt);
}

static void check(const void *bytes, size_t n, int pe, unsigned salt, const char *what)
{
    const unsigned char *at = bytes;
    char text[128];

    for (size_t i = 0; i < n; i++) {
        if (at[i] == byte_of(i, pe, salt)) continue;
        snprintf(text, sizeof(text),
                 "the right data of '%s', but byte %zu of %zu differs (salt %u)", what, i, n, salt);
        expect(false, text);
    }
}

/* ---- transfers ----------------------------------------------------------------- */

static void put_and_check(unsigned char *local, size_t n, unsigned salt)
{
    fill(local, n, me, salt);
    if (salt % 2) {
        fabric.put(ctx, TARGET(to, REGION, 0), local, n, true);
        fabric.quiet(ctx);
    } else {
        fabric.put(ctx, TARGET(to, REGION, 0), local, n, false);
        memset(local, 0xee, n); /* on return it is free */
        fabric.quiet(ctx);
    }
    meet();
    check(memory, n, from, salt, "put");
    meet();
}

static void get_and_check(unsigned char *local, size_t n, unsigned salt)
{
    fill((unsigned char *)memory, n, me, salt);
    memset(local, 0, n);
    meet();
    if (salt % 2) {
        fabric.get(ctx, TARGET(to, REGION, 0), local, n, true);
        fabric.quiet(ctx);
    } else {
        fabric.get(ctx, TARGET(to, REGION, 0), local, n, false);
    }
    check(local, n, to, salt, "get");
    meet();
}

static void transfers(void)
{
    unsigned char stack[HALF];
    unsigned salt = 1;

    for (int i = 0; i < 5; i++)
        for (unsigned k = 0; k < STP_COUNT(sizes); k += 1 + (unsigned)i % 2) {
            put_and_check(memory_of(i, stack), sizes[k], salt);
            get_and_check(memory_of(i, stack), sizes[k], salt++);
        }
}

/* Odd fragments at odd places, all under way at once. */
static void fragments(void)
{
    enum { N = 200, STEP = 101, FRAGMENT = 37 };
    unsigned char source[N * FRAGMENT];

    fill(source, sizeof(source), me, 9);
    memset(memory, 0, HALF);
    meet();
    for (size_t i = 0; i < N; i++)
        fabric.put(ctx, TARGET(to, REGION, i * STEP + 1), source + i * FRAGMENT, FRAGMENT, true);
    fabric.quiet(ctx);
    meet();
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < FRAGMENT; k++)
            expect(((unsigned char *)memory)[i * STEP + 1 + k] ==
                       byte_of(i * FRAGMENT + k, from, 9),
                   "each fragment to arrive at its address");
    meet();
}

/* ---- atomics --------------------------------------------------------------------- */

static void add_all(void)
{
    enum { N = 100 };
    uint64_t one = 1, old[N], last = 0;

    if (me == 0) memory[WORD] = 0;
    meet();
    for (int i = 0; i < N; i++) {
        fabric.amo(ctx, TARGET(0, REGION, WORD * 8), STP_AMO_ADD, STP_U64, &one, NULL,
                   i % 3 ? &old[i] : NULL, i % 3 == 2);
        if (i % 3 != 1) continue;
        expect(i == 1 || old[i] > last, "each fetched sum to be larger than the one before");
        last = old[i];
    }
    fabric.quiet(ctx);
    for (int i = 2; i < N; i += 3)
        expect(old[i] < (uint64_t)PES * N,
               "quiet to complete nonblocking fetches: the result is too large");
    meet();
    fabric.get(ctx, TARGET(0, REGION, WORD * 8), &last, 8, false);
    expect(last == (uint64_t)PES * N, "the word to count every addition exactly once");
    meet();
}

static uint64_t fetch(enum stp_fabric_amo op, enum stp_dtype dtype, uint64_t operand,
                      uint64_t compare)
{
    uint64_t old = 0;

    fabric.amo(ctx, TARGET(to, REGION, WORD * 8), op, dtype, &operand, &compare, &old, false);
    return old;
}

/* A word of each peer that nobody else writes: every operation in turn. */
static void each_operation(void)
{
    fetch(STP_AMO_SWAP, STP_U64, 12, 0);
    expect(fetch(STP_AMO_CSWAP, STP_U64, 5, 11) == 12,
           "compare-and-swap with a wrong value to return the old value 12");
    expect(fetch(STP_AMO_CSWAP, STP_U64, 6, 12) == 12,
           "compare-and-swap with the right value to return the old value 12");
    expect(fetch(STP_AMO_AND, STP_U64, 3, 0) == 6, "fetch-and to return 6");
    expect(fetch(STP_AMO_OR, STP_U64, 9, 0) == 2, "fetch-or to return 2");
    expect(fetch(STP_AMO_XOR, STP_U64, 1, 0) == 11, "fetch-xor to return 11");
    expect(fetch(STP_AMO_ADD, STP_U32, 0xffffffff, 0) == 10, "an addition on 4 bytes to return 10");
    expect(fetch(STP_AMO_FETCH, STP_U64, 0, 0) == 9,
           "9: an addition on 4 bytes must not carry into the next bytes");
    expect(fetch(STP_AMO_SWAP, STP_F64, 77, 0) == 9, "swap of a double to return the bits of 9");
    expect(fetch(STP_AMO_FETCH, STP_U64, 0, 0) == 77,
           "fetch to return 77, the bits that were swapped in");
    meet();
}

/* ---- order ---------------------------------------------------------------------- */

static bool is_answered(const uint64_t *old)
{
    return __atomic_load_n(old, __ATOMIC_ACQUIRE) != UINT64_MAX;
}

/*
 * Of atomics that the target's library does: those that are answered are the oldest. Answers come
 * while this looks: the older one is looked at last.
 */
static void answers(void)
{
    enum { N = 64 };
    uint64_t one = 1, old[N];

    memory[WORD] = 0;
    meet();
    for (int round = 0; round < 20; round++) {
        int n = 0;

        memset(old, 0xff, sizeof(old));
        for (int i = 0; i < N; i++)
            fabric.amo(ctx, TARGET(to, REGION, WORD * 8), STP_AMO_ADD, STP_U64, &one, NULL, &old[i],
                       true);
        while (n < N) {
            for (int i = n + 1; i < N; i++)
                expect(!is_answered(&old[i]) || is_answered(&old[n]),
                       "atomics to be acknowledged in the order in which they were issued");
            if (is_answered(&old[n])) n++;
            fabric.progress();
        }
        fabric.quiet(ctx);
        for (int i = 0; i < N; i++)
            expect(old[i] == (uint64_t)(round * N + i), "each atomic to return its own old value");
    }
    meet();
}

/* Who sees the flag sees what was put before the fence. */
static void fences(void)
{
    unsigned char source[sizeof(uint64_t) * 40];

    memory[WORD] = 0;
    meet();
    for (uint64_t i = 1; i <= 20; i++) {
        fill(source, sizeof(source), me, (unsigned)i);
        fabric.put(ctx, TARGET(to, REGION, 0), source, sizeof(source), false);
        fabric.fence(ctx);
        fabric.store(ctx, TARGET(to, REGION, WORD * 8), &i, 8);
        while (__atomic_load_n(&memory[WORD], __ATOMIC_ACQUIRE) != i)
            fabric.progress();
        check(memory, sizeof(source), from, (unsigned)i, "put, fence, store");
        fabric.quiet(ctx);
        meet();
    }
}

/* The same by signal: blocking and not, small and large, set and added to. */
static void signals(void)
{
    static unsigned char source[HALF];

    memory[WORD] = 0;
    meet();
    for (unsigned i = 1; i <= 24; i++) {
        size_t n = sizes[i % STP_COUNT(sizes)];
        bool adds = i % 3 == 0;

        fill(source, n, me, i);
        fabric.put_signal(ctx, TARGET(to, REGION, 0), source, n, TARGET(to, REGION, WORD * 8),
                          adds ? 1 : i, adds ? STP_AMO_ADD : STP_AMO_SET, i % 2);
        while (__atomic_load_n(&memory[WORD], __ATOMIC_ACQUIRE) != i)
            fabric.progress();
        check(memory, n, from, i, "data of a signal");
        fabric.quiet(ctx);
        meet();
    }
}

/*
 * A word that grows behind the data that it tells of: it becomes a value, of which not all bits
 * travel, or is added to. Nobody's quiet waits for it.
 */
static void words(void)
{
    static unsigned char source[HALF];
    uint64_t value = 0, seen;

    memory[WORD] = 0;
    meet();
    for (unsigned i = 1; i <= 24; i++) {
        size_t n = sizes[i % STP_COUNT(sizes)];
        bool adds = i % 3 == 0;
        uint64_t step = adds ? i * 1000 : i * 20011; /* past 19 bits, and past each power of two */

        value += step;
        fill(source, n, me, i);
        fabric.put_notify(ctx, TARGET(to, REGION, 0), source, n, TARGET(to, REGION, WORD * 8),
                          adds ? step : value, adds ? STP_AMO_ADD : STP_AMO_SET);
        while ((seen = __atomic_load_n(&memory[WORD], __ATOMIC_ACQUIRE)) != value) {
            expect(seen < value, "the word to grow with each flag");
            fabric.progress();
        }
        check(memory, n, from, i, "data that a word tells of");
        fabric.quiet(ctx);
        meet();
    }
}

/* The last of several stores with fences between them stays. */
static void stores(void)
{
    static const size_t widths[] = {1, 2, 4, 8};

    memory[WORD] = 0;
    meet();
    for (unsigned k = 0; k < STP_COUNT(widths); k++) {
        for (uint64_t i = 1; i <= 10; i++) {
            uint64_t value = i * 3;

            fabric.store(ctx, TARGET(to, REGION, WORD * 8), &value, widths[k]);
            fabric.fence(ctx);
        }
        fabric.quiet(ctx);
        meet();
        expect(memory[WORD] == 30, "the word to be 30, the value of the last store");
        meet();
    }
}

/* More than a request or a message holds, at once. */
static void large(void)
{
    static unsigned char *big, *back;

    big = malloc(BIG);
    back = malloc(BIG);
    expect(big != NULL && back != NULL, "malloc to succeed");
    for (size_t at = 0; at < BIG; at += HALF) {
        size_t n = BIG - at < HALF ? BIG - at : HALF;

        fill(big + at, n, me, (unsigned)(at / HALF));
        fabric.put(ctx, TARGET(to, REGION, 0), big + at, n, true);
        fabric.quiet(ctx);
        fabric.get(ctx, TARGET(to, REGION, 0), back + at, n, true);
        fabric.quiet(ctx);
    }
    expect(memcmp(big, back, BIG) == 0, "get to return the data that was put");
    free(big);
    free(back);
    meet();
}

/* ---- sessions, and the quiet of some PEs ---------------------------------------- */

/*
 * Returns how often this PE posts messages for small fragments to a stopped PE, which answers none.
 * The first fragment may be sent at once, and one message has room for the others. Posts that the
 * progress thread may have made because the fragments were old are not counted.
 */
static long posts_unanswered(void)
{
    enum { N = 16, STEP = 101, FRAGMENT = 37 };
    unsigned char source[N * FRAGMENT];
    const uint64_t nap_ns = 50000; /* shortest nap of the progress thread */
    uint64_t begin;
    long posts = 0;

    fill(source, sizeof(source), me, 9);
    memset(memory, 0, HALF);
    for (int turn = 0; turn < PES; turn++) {
        fabric.quiet(ctx);
        meet();
        if (turn != me) continue;
        stop_pe(to);
        begin = stp_now_ns();
        posts = shim_count("posts");
        for (size_t i = 0; i < N; i++)
            fabric.put(ctx, TARGET(to, REGION, i * STEP), source + i * FRAGMENT, FRAGMENT, true);
        posts = shim_count("posts") - posts - (long)((stp_now_ns() - begin) / nap_ns);
        kill(world->pids[to], SIGCONT);
    }
    fabric.quiet(ctx);
    meet();
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < FRAGMENT; k++)
            expect(((unsigned char *)memory)[i * STEP + k] == byte_of(i * FRAGMENT + k, from, 9),
                   "each fragment to arrive at its address");
    meet();
    return posts;
}

static bool says(const char *mode)
{
    return strstr(getenv("PROVSHIM"), mode) != NULL;
}

/* Does the provider have another name than that of the real one? */
static bool is_named(void)
{
    return says("name=") || says("psm3");
}

/* Small fragments travel together where messages hold a packed message and CPUs do the atomics. */
static void batched(void)
{
    bool packed = fabric.dialect >> 16 > 0;
    bool too_small = strstr(getenv("PROVSHIM"), "max_msg=1000,") != NULL;

    fabric.session(ctx, true, SIZE_MAX);
    if (packed) expect(posts_unanswered() < 8, "16 fragments in fewer than 8 messages");
    expect(packed != (too_small || is_named()),
           "packed messages exactly where the provider's limits allow them");
    fragments();
    add_all();
    each_operation();
    fences();
    signals();
    words();
    stores();
    transfers();
    fabric.session(ctx, false, SIZE_MAX);
}

/* On TCP the same while an earlier one is unanswered, without a session. */
static void gathered(void)
{
    bool gathers = fabric.dialect >> 16 > 0 && !is_named();

    if (gathers)
        expect(posts_unanswered() < 8, "16 fragments in fewer than 8 messages, without a session");
    fragments();
}

/* A flag and the answer to the last one share a message, once that is seen to happen. */
static void carried(void)
{
    enum { ROUNDS = 300 };
    int other = me ^ 1;
    bool steady = fabric.dialect >> 16 > 0 && !is_named() && !says("late") && !says("manual") &&
                  !says("eagain") && !says("order") && !says("cqsize");
    long posts;

    memory[WORD] = 0;
    meet();
    posts = shim_count("posts");
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        if (me < other) fabric.store(ctx, TARGET(other, REGION, WORD * 8), &i, 8);
        while (__atomic_load_n(&memory[WORD], __ATOMIC_ACQUIRE) != i)
            fabric.progress();
        if (me > other) fabric.store(ctx, TARGET(other, REGION, WORD * 8), &i, 8);
    }
    posts = shim_count("posts") - posts;
    fabric.quiet(ctx);
    /* A round is a message and a buffer for one; answers by themselves make it twice that. */
    expect(!steady || posts < 3 * ROUNDS,
           "fewer than 3 posts a round: flags carry acknowledgements");
    meet();
}

/* To all, complete for some: in a session and not. */
static void some_pes(void)
{
    int last_two[] = {PES - 1, PES - 2, PES - 1}, one = 0;
    uint64_t value, seen;

    for (uint64_t round = 1; round <= 20; round++) {
        fabric.session(ctx, round % 2, SIZE_MAX);
        for (int pe = 0; pe < PES; pe++) {
            value = round * 10 + (uint64_t)pe;
            fabric.put(ctx, TARGET(pe, REGION, (size_t)me * 16), &value, 8, false);
            fabric.amo(ctx, TARGET(pe, REGION, (size_t)me * 16 + 8), STP_AMO_SET, STP_U64, &value,
                       NULL, NULL, false);
        }
        fabric.quiet_pes(ctx, last_two, 3);
        fabric.quiet_pes(ctx, &one, 1);
        for (int pe = 0; pe < PES; pe += PES - 1)
            for (size_t k = 0; k < 2; k++) {
                fabric.get(ctx, TARGET(pe, REGION, (size_t)me * 16 + k * 8), &seen, 8, false);
                expect(seen == round * 10 + (uint64_t)pe,
                       "get to return the value that quiet_pes completed");
            }
    }
    fabric.session(ctx, false, SIZE_MAX);
    fabric.quiet(ctx);
    meet();
}

/* Something of the mode must have happened, or this tests nothing. */
static void expect_bite(const char *what)
{
    static const struct {
        const char *mode, *count;
    } bites[] = {{"mr_local", "buffers"}, {"verbs", "buffers"},    {"efa", "buffers"},
                 {"no_order", "held"},    {"verbs", "held"},       {"cxi", "held"},
                 {"eagain", "refused"},   {"context", "contexts"}, {"manual", "held"}};

    expect(shim_count("posts") > 100 && shim_count("opened") > 0,
           "the provider shim to see operations and endpoints");
    for (unsigned i = 0; i < STP_COUNT(bites); i++)
        if (strstr(what, bites[i].mode) != NULL && strstr(what, "name=") == NULL)
            expect(shim_count(bites[i].count) > 0, bites[i].count);
}

static void everything(void)
{
    *(void **)&shim_count = dlsym(RTLD_DEFAULT, "provshim_count");
    expect(shim_count != NULL, "lib/provider/libprovshim.so to be preloaded");
    to = (me + 1) % PES;
    from = (me + PES - 1) % PES;
    transfers();
    fragments();
    add_all();
    each_operation();
    fences();
    signals();
    stores();
    if (strstr(getenv("PROVSHIM"), "no_atomics") != NULL) answers();
    large();
    some_pes();
    gathered();
    carried();
    batched();
    expect_bite(getenv("PROVSHIM"));
    go_down();
    expect(shim_count("regions") == 0, "no registration to remain at the end");
}

TEST_CASE(modes, setup, NULL)

START_TEST(all_operations)
{
    const char *name = strstr(modes[_i], "name=");
    int status;

    setenv("PROVSHIM", modes[_i], 1);
    status = run(name != NULL                        ? "cxi"
                 : strstr(modes[_i], "psm3") != NULL ? "psm3"
                 : strstr(modes[_i], "net") != NULL  ? "net"
                                                     : "tcp",
                 everything);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) return; /* the shim printed the reason */
    ck_assert_msg(status == 0, "PROVSHIM=%s: a PE ended with wait status %#x; messages: %s",
                  modes[_i], (unsigned)status, world->text);
}

/* Arguments: the numbers of the modes to run; all without. */
int main(int argc, char **argv)
{
    need_provider(argv);
    for (int i = 1; i < argc; i++)
        unit_add(all_operations, 0, atoi(argv[i]), atoi(argv[i]) + 1);
    if (argc < 2) unit_add(all_operations, 0, 0, STP_COUNT(modes));
    return unit_run();
}
