/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks more outstanding work than any queue holds: --count nonblocking puts, gets and atomics of
 * 8 bytes on each PE before one quiet; all PEs sending to PE 0, in which each PE must make
 * progress; and a ring of put_signals together with puts from all PEs to all PEs. Rules R49, R105,
 * R119, R121 and R221 of docs/reference/conformance.md. Other options are those of pe_stress.h.
 *
 * usage: flow [--count N] [--seconds N] [--seed N] [--stall N]
 */
#include "pe_stress.h"

enum { ROUNDS = 1, COUNT = 100000, FEW = 10000, ADD_WORDS = 1000, BLOCK = 3000, STORM = 24000 };
enum { UNFAIR = 50 }; /* times as much for one PE as for another is too much */

static size_t count; /* outstanding operations */
static uint64_t *words, *source, *adds;
static unsigned char *blocks; /* symmetric, one of each PE */
static uint64_t progress;     /* of this PE in the storm; read by PE 0 */
static uint64_t total, stormy, over;

/* Word i that PE `from` puts to its right neighbour. */
static uint64_t word_of(int from, size_t i)
{
    return ((uint64_t)from << 48 ^ stress_round << 40) + i * 0x9e3779b1u;
}

static void fill_source(void)
{
    for (size_t i = 0; i < count; i++)
        source[i] = word_of(pe_me, i);
    memset(words, 0, count * sizeof(*words));
    memset(adds, 0, ADD_WORDS * sizeof(*adds));
    total = 0;
}

static void check_words(const uint64_t *got, int from, const char *what)
{
    PE_CHECK_EACH(size_t, i, count, got[i] == word_of(from, i),
                  "%s: word %zu is 0x%lx, expected 0x%lx", what, i, got[i], word_of(from, i));
}

static void flood_puts(void)
{
    stress_stage("%zu put_nbi", count);
    for (size_t i = 0; i < count; i++)
        shmem_uint64_put_nbi(&words[i], &source[i], 1, pe_right());
    shmem_quiet();
    shmem_sync_all(); /* no quiet in it */
    check_words(words, pe_left(), "put_nbi");
    shmem_sync_all();
}

/* What the left neighbour put here is read back by it, word by word. */
static void flood_gets(void)
{
    stress_stage("%zu get_nbi", count);
    memset(source, 0, count * sizeof(*source));
    for (size_t i = 0; i < count; i++)
        shmem_uint64_get_nbi(&source[i], &words[i], 1, pe_right());
    shmem_quiet();
    check_words(source, pe_me, "get_nbi");
    shmem_sync_all();
}

/* Additions to many words of all PEs, and fetches of tickets whose sum is known. */
static void flood_atomics(void)
{
    uint64_t sum = 0, all, want = (uint64_t)count * (uint64_t)pe_n;

    stress_stage("%zu atomics", count);
    for (size_t i = 0; i < count; i++)
        shmem_uint64_atomic_add(&adds[i % ADD_WORDS], 1 + i % 3, (int)(i % (size_t)pe_n));
    shmem_quiet();
    stress_stage("%zu fetch_inc_nbi", count);
    for (size_t i = 0; i < count; i++)
        shmem_uint64_atomic_fetch_inc_nbi(&source[i], &total, 0);
    shmem_quiet();
    for (size_t i = 0; i < count; i++)
        sum += source[i];
    shmem_uint64_atomic_add(&over, sum, 0);
    shmem_barrier_all();
    all = shmem_uint64_g(&over, 0);
    PE_CHECK_EQ(shmem_uint64_g(&total, 0), want);
    PE_CHECK(all == want * (want - 1) / 2,
             "the results of fetch_inc_nbi add up to %lu, expected %lu", all,
             want * (want - 1) / 2);
    shmem_barrier_all();
}

static void check_adds(void)
{
    uint64_t got = 0, want = 0, mine = 0;
    static uint64_t grand;

    for (size_t i = 0; i < ADD_WORDS; i++)
        mine += adds[i];
    for (size_t i = 0; i < count; i++)
        want += 1 + i % 3;
    grand = 0;
    shmem_barrier_all();
    shmem_uint64_atomic_add(&grand, mine, 0);
    shmem_barrier_all();
    got = shmem_uint64_g(&grand, 0);
    PE_CHECK_EQ(got, want * (uint64_t)pe_n);
    shmem_barrier_all();
}

/* One step of the storm on PE 0. */
static void storm_step(uint64_t i)
{
    static char got[BLOCK];
    unsigned char *to = blocks + (size_t)pe_me * BLOCK;

    switch (i % 4) {
    case 0:
        shmem_putmem(to, got, 1 + i % BLOCK, 0);
        break;
    case 1:
        shmem_getmem(got, to, 1 + i % BLOCK, 0);
        break;
    case 2:
        shmem_putmem_signal(to, got, 1 + i % 100, &stormy, 1, SHMEM_SIGNAL_ADD, 0);
        break;
    default:
        shmem_uint64_atomic_fetch_add(&total, 1, 0);
        break;
    }
    __atomic_store_n(&progress, i + 1, __ATOMIC_RELEASE);
}

/* Does this PE reach that one through the fabric? */
static bool is_far(int pe)
{
    return shmem_ptr(&progress, pe) == NULL;
}

/* Signals of all PEs but 0 arrived, each once. */
static void check_signals(void)
{
    uint64_t signals = pe_me == 0 ? 0 : progress / 4 + (progress % 4 == 3);

    shmem_barrier_all();
    adds[0] = 0;
    shmem_barrier_all();
    shmem_uint64_atomic_add(&adds[0], signals, 0);
    shmem_barrier_all();
    if (pe_me == 0) PE_CHECK_EQ(stormy, adds[0]);
    shmem_barrier_all();
}

/*
 * Until the first PE has done its share; then how far are the others? PE 0 takes no part, and where
 * some come through the fabric, those on its node go on until the first of these is done.
 */
static void storm(void)
{
    uint64_t share = (uint64_t)pe_rounds(STORM) * (stress_all_shared() ? 50 : 1);
    bool counts = stress_all_shared() || is_far(0);
    unsigned looks = 0;

    progress = over = total = stormy = 0;
    stress_stage("storm on PE 0");
    shmem_barrier_all();
    for (uint64_t i = 0; pe_me != 0 && (i < share || !counts); i++) {
        storm_step(i);
        if (i % 64 == 0 && shmem_uint64_atomic_fetch(&over, 0)) break;
    }
    if (pe_me != 0) shmem_uint64_atomic_set(&over, 1, 0);
    while (pe_me == 0 && pe_n > 1 && !__atomic_load_n(&over, __ATOMIC_ACQUIRE))
        stress_breathe(&looks);
    check_signals();
}

/* PE 0 looks at how far each came, and compares those that come the same way. */
static void check_fairness(void)
{
    uint64_t least = UINT64_MAX, most = 0;

    for (int pe = 1; pe_me == 0 && pe < pe_n; pe++) {
        uint64_t p = shmem_uint64_g(&progress, pe);

        PE_CHECK(p > 0, "PE %d made no progress while all PEs sent to PE 0", pe);
        if (!stress_all_shared() && !is_far(pe)) continue;
        if (p < least) least = p;
        if (p > most) most = p;
    }
    if (pe_me == 0 && pe_n > 2) {
        fprintf(stderr, "storm: shares from %lu to %lu operations\n", least, most);
        PE_CHECK(most <= least * UNFAIR,
                 "unfair service by PE 0: one PE did %lu operations, another PE %lu", least, most);
    }
    shmem_barrier_all();
}

/* A ring of put_signals and blocks from all to all, in flight together. */
static void mix(void)
{
    static uint64_t turn;
    unsigned char *from = pe_private((size_t)pe_n * BLOCK);
    int rounds = pe_rounds(200);

    turn = 0;
    stress_stage("ring and all to all");
    shmem_barrier_all();
    for (int r = 1; r <= rounds; r++) {
        for (int pe = 0; pe < pe_n; pe++) {
            pe_fill(from + pe * BLOCK, BLOCK, (unsigned)(r * 16 + pe_me));
            shmem_putmem_nbi(blocks + pe_me * BLOCK, from + pe * BLOCK, BLOCK, pe);
        }
        shmem_putmem_signal_nbi(words, source, 100, &turn, 1, SHMEM_SIGNAL_ADD, pe_right());
        shmem_signal_wait_until(&turn, SHMEM_CMP_GE, (uint64_t)r);
        shmem_barrier_all();
        for (int pe = 0; pe < pe_n; pe++)
            PE_CHECK_BYTES(blocks + pe * BLOCK, BLOCK, (unsigned)(r * 16 + pe),
                           "block of a put from all PEs to all PEs");
        shmem_sync_all();
    }
    free(from);
}

/* --count N comes first; the rest belongs to all stress tests. */
static void options(int *argc, char ***argv)
{
    if (*argc < 3 || strcmp((*argv)[1], "--count") != 0) return;
    count = strtoull((*argv)[2], NULL, 0);
    (*argv)[2] = (*argv)[0];
    *argv += 2;
    *argc -= 2;
}

int main(int argc, char **argv)
{
    options(&argc, &argv);
    stress_begin(argc, argv);
    if (count == 0) count = stress_all_shared() ? COUNT : FEW;
    words = pe_calloc(count, sizeof(*words));
    adds = pe_calloc(ADD_WORDS, sizeof(*adds));
    blocks = pe_calloc((size_t)pe_n, BLOCK);
    source = pe_private(count * sizeof(*source));
    while (stress_more(ROUNDS)) {
        fill_source();
        over = 0;
        shmem_barrier_all();
        flood_puts();
        flood_gets();
        flood_atomics();
        check_adds();
        storm();
        check_fairness();
        mix();
        stress_ops += 4 * count;
    }
    return stress_end("flow");
}
