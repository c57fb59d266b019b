/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks that no atomic update is lost or done twice (rules R115, R116, R119-R122, R125, R126, R136
 * and R137 of docs/reference/conformance.md): all PEs add to, swap and flip the same words with
 * atomics of 32 and 64 bits, by CPU and by fabric at once if the job has both. Totals must be
 * exact, fetched numbers unique, and swapped tokens must exist once. The options are those of
 * pe_stress.h.
 */
#include "pe_stress.h"

enum { WORDS = 6, ROUNDS = 40, FEW_ROUNDS = 6, OPS = 6000, HOT = 40000, MAX_PES = 64, LOCKED = 24 };

/* Words that all PEs update, on each PE. */
struct cells {
    uint32_t add32[WORDS];
    uint64_t add64[WORDS];
    uint64_t signal[WORDS];
    uint32_t flip32[WORDS];
    uint64_t flip64[WORDS];
    uint64_t bits;
    uint64_t token[WORDS];
    uint64_t step;           /* raised by compare_swap only */
    uint64_t ticket;         /* drawn by fetch_inc_nbi */
    uint64_t lock, held;     /* a lock of compare_swap, what it guards */
    uint64_t alone[MAX_PES]; /* one writer each, next to each other */
};

/* What one PE has done to the words of each other, and the hand it holds at the end. */
struct ledger {
    struct cells sent[MAX_PES];
    uint64_t hand;
};

static struct cells global_cells, *heap_cells, *cells;
static struct ledger *mine, *all; /* all: symmetric, on PE 0, one a PE */
static unsigned char *claimed;    /* symmetric, on PE 0: tickets */
static uint64_t pending_tickets[64];
static int n_pending;
static uint32_t start32;
static uint64_t start64;

static void do_add32(uint32_t *at, uint32_t *sent, int pe)
{
    uint32_t with = (uint32_t)pe_random(&stress_own);
    static uint32_t fetched;

    switch (stress_pick(5)) {
    case 0:
        shmem_uint32_atomic_add(at, with, pe);
        break;
    case 1:
        shmem_int32_atomic_fetch_add((int32_t *)at, (int32_t)with, pe);
        break;
    case 2:
        shmem_uint32_atomic_fetch_add_nbi(&fetched, at, with, pe);
        break;
    case 3:
        shmem_uint_atomic_inc(at, pe);
        with = 1;
        break;
    default:
        shmem_int_atomic_fetch_inc((int *)at, pe);
        with = 1;
        break;
    }
    *sent += with;
}

static void do_add64(uint64_t *at, uint64_t *sent, int pe)
{
    uint64_t with = pe_random(&stress_own);
    static uint64_t fetched;

    switch (stress_pick(6)) {
    case 0:
        shmem_uint64_atomic_add(at, with, pe);
        break;
    case 1:
        shmem_long_atomic_fetch_add((long *)at, (long)with, pe);
        break;
    case 2:
        shmem_size_atomic_fetch_add_nbi(&fetched, at, with, pe);
        break;
    case 3:
        shmem_ptrdiff_atomic_inc((ptrdiff_t *)at, pe);
        with = 1;
        break;
    case 4:
        shmem_longlong_atomic_add((long long *)at, (long long)with, pe);
        break;
    default:
        shmem_ulonglong_atomic_fetch_inc((unsigned long long *)at, pe);
        with = 1;
        break;
    }
    *sent += with;
}

static void do_signal(uint64_t *at, uint64_t *sent, int pe)
{
    static char data[8], from[8];
    uint64_t with = pe_random(&stress_own);

    switch (stress_pick(3)) {
    case 0:
        shmem_signal_add(at, with, pe);
        break;
    case 1:
        shmem_putmem_signal(data, from, stress_pick(9), at, with, SHMEM_SIGNAL_ADD, pe);
        break;
    default:
        shmem_putmem_signal_nbi(data, from, stress_pick(9), at, with, SHMEM_SIGNAL_ADD, pe);
        break;
    }
    *sent += with;
}

static void do_flip(struct cells *at, struct cells *sent, size_t word, int pe)
{
    uint64_t with = pe_random(&stress_own);

    if (with & 1)
        shmem_uint64_atomic_xor(&at->flip64[word], with, pe);
    else
        shmem_int64_atomic_fetch_xor((int64_t *)&at->flip64[word], (int64_t)with, pe);
    sent->flip64[word] ^= with;
    with = (uint32_t)pe_random(&stress_own);
    if (with & 1)
        shmem_int32_atomic_xor((int32_t *)&at->flip32[word], (int32_t)with, pe);
    else
        shmem_uint32_atomic_fetch_xor(&at->flip32[word], (uint32_t)with, pe);
    sent->flip32[word] ^= (uint32_t)with;
}

/* Each PE owns one bit: sets and clears it, and finds it as it left it. */
static void do_bits(struct cells *at, struct cells *sent, int pe)
{
    uint64_t bit = 1ull << pe_me, old;

    if (sent->bits)
        old = shmem_uint64_atomic_fetch_and(&at->bits, ~bit, pe);
    else
        old = shmem_uint64_atomic_fetch_or(&at->bits, bit, pe);
    PE_CHECK((old & bit) == sent->bits,
             "seed %lu: the bit of PE %d in a word of PE %d is not as its owner left it: 0x%lx",
             stress_seed, pe_me, pe, old);
    sent->bits ^= bit;
}

static void do_step(struct cells *at, struct cells *sent, int pe)
{
    uint64_t seen = shmem_uint64_atomic_fetch(&at->step, pe), old;

    while ((old = shmem_uint64_atomic_compare_swap(&at->step, seen, seen + 1, pe)) != seen)
        seen = old;
    sent->step++;
}

static void claim_tickets(void)
{
    shmem_quiet();
    for (int i = 0; i < n_pending; i++)
        shmem_uint8_p(&claimed[pending_tickets[i]], 1, 0);
    n_pending = 0;
}

/* Tickets of PE 0, fetched without waiting; each number is given once. */
static void do_ticket(struct cells *at, struct cells *sent)
{
    if (n_pending == 64) claim_tickets();
    shmem_uint64_atomic_fetch_inc_nbi(&pending_tickets[n_pending++], &at->ticket, 0);
    sent->ticket++;
}

/* A counter of one's own among those of others: after quiet it is exact at once. */
static void do_alone(struct cells *at, struct cells *sent, int pe)
{
    uint64_t *word = &at->alone[pe_me];
    size_t n = 1 + stress_pick(20);

    for (size_t i = 0; i < n; i++)
        if (stress_pick(2))
            shmem_uint64_atomic_inc(word, pe);
        else
            shmem_uint64_atomic_add(word, 1, pe);
    sent->alone[pe_me] += n;
    shmem_quiet();
    PE_CHECK_EQ(shmem_uint64_atomic_fetch(word, pe), sent->alone[pe_me]);
    PE_CHECK_EQ(shmem_uint64_g(word, pe), sent->alone[pe_me]);
}

static void do_any(void)
{
    int pe = (int)stress_pick((size_t)pe_n);
    size_t word = stress_pick(WORDS);
    struct cells *sent = &mine->sent[pe];

    stress_ops++;
    switch (stress_pick(32)) {
    case 0:
    case 1:
        do_step(cells, sent, pe);
        break;
    case 2:
        do_alone(cells, sent, pe);
        break;
    case 3:
    case 4:
        do_bits(cells, sent, pe);
        break;
    case 5:
    case 6:
    case 7:
        mine->hand = shmem_uint64_atomic_swap(&cells->token[word], mine->hand, pe);
        break;
    case 8:
    case 9:
    case 10:
    case 11:
        do_ticket(cells, &mine->sent[0]);
        break;
    default:
        if (word % 3 == 0) do_flip(cells, sent, word, pe);
        if (word % 3 == 1) do_signal(&cells->signal[word], &sent->signal[word], pe);
        do_add32(&cells->add32[word], &sent->add32[word], pe);
        do_add64(&cells->add64[word], &sent->add64[word], pe);
        break;
    }
}

/* One kind of update by all PEs, on one word of one PE. */
static void do_hot(int times)
{
    int pe = (int)stress_draw((size_t)pe_n);
    size_t kind = stress_draw(7);
    struct cells *sent = &mine->sent[pe];

    if (kind >= 4) times /= stress_all_shared() ? 1 : 10; /* round trips */
    stress_stage("kind %zu on one word of PE %d", kind, pe);
    for (int i = 0; i < times; i++) {
        if (kind == 0)
            do_add32(&cells->add32[0], &sent->add32[0], pe);
        else if (kind == 1)
            do_add64(&cells->add64[0], &sent->add64[0], pe);
        else if (kind == 2)
            do_signal(&cells->signal[0], &sent->signal[0], pe);
        else if (kind == 3)
            do_flip(cells, sent, 0, pe);
        else if (kind == 4)
            do_bits(cells, sent, pe);
        else if (kind == 5)
            do_step(cells, sent, pe);
        else
            mine->hand = shmem_uint64_atomic_swap(&cells->token[0], mine->hand, pe);
        stress_ops++;
    }
}

/* A counter changed by get and put under a lock of compare_swap: also a test of quiet. */
static void do_locked(int times)
{
    static uint64_t one_more;

    for (int i = 0; i < times; i++) {
        unsigned looks = 0;

        while (shmem_uint64_atomic_compare_swap(&cells->lock, 0, 1 + (uint64_t)pe_me, 0) != 0)
            stress_breathe(&looks);
        shmem_uint64_get(&one_more, &cells->held, 1, 0);
        one_more++;
        if (i % 2)
            shmem_uint64_put_nbi(&cells->held, &one_more, 1, 0);
        else
            shmem_uint64_put(&cells->held, &one_more, 1, 0);
        shmem_quiet();
        PE_CHECK_EQ(shmem_uint64_atomic_swap(&cells->lock, 0, 0), 1 + pe_me);
    }
}

static void prepare(void)
{
    cells = stress_draw(2) ? heap_cells : &global_cells;
    start32 = (uint32_t)0 - (uint32_t)stress_draw(1000); /* sums cross the ends of their types */
    start64 = (1ull << 63) - stress_draw(1000);
    memset(mine, 0, sizeof(*mine));
    memset(cells, 0, sizeof(*cells));
    memset(claimed, 0, (size_t)OPS * (size_t)pe_n);
    for (int i = 0; i < WORDS; i++) {
        cells->add32[i] = start32;
        cells->add64[i] = cells->signal[i] = start64;
        cells->token[i] = 1 + (uint64_t)(pe_me * WORDS + i);
    }
    mine->hand = 1 + (uint64_t)(pe_n * WORDS + pe_me);
    stress_stage("%s words, then the lock", cells == heap_cells ? "heap" : "global");
    shmem_barrier_all();
}

/* What all PEs together did to PE pe's words must be what is there. */
static void check_sums(int pe, const struct cells *got)
{
    struct cells want = {0};

    for (int from = 0; from < pe_n; from++) {
        const struct cells *sent = &all[from].sent[pe];

        for (int i = 0; i < WORDS; i++) {
            want.add32[i] += sent->add32[i];
            want.add64[i] += sent->add64[i];
            want.signal[i] += sent->signal[i];
            want.flip32[i] ^= sent->flip32[i];
            want.flip64[i] ^= sent->flip64[i];
        }
        want.bits |= sent->bits;
        want.step += sent->step;
        want.ticket += sent->ticket;
        PE_CHECK_EQ(got->alone[from], sent->alone[from]);
    }
    for (int i = 0; i < WORDS; i++) {
        PE_CHECK_EQ(got->add32[i] - start32, want.add32[i]);
        PE_CHECK_EQ(got->add64[i] - start64, want.add64[i]);
        PE_CHECK_EQ(got->signal[i] - start64, want.signal[i]);
        PE_CHECK_EQ(got->flip32[i], want.flip32[i]);
        PE_CHECK_EQ(got->flip64[i], want.flip64[i]);
    }
    PE_CHECK_EQ(got->bits, want.bits);
    PE_CHECK_EQ(got->step, want.step);
    PE_CHECK_EQ(got->ticket, want.ticket);
}

/* Every token is somewhere, once. */
static void check_tokens(const struct cells *got)
{
    static bool found[MAX_PES * (WORDS + 1) + 1];
    int n = pe_n * (WORDS + 1);

    memset(found, 0, sizeof(found));
    for (int i = 0; i < n; i++) {
        uint64_t token =
            i < pe_n * WORDS ? got[i / WORDS].token[i % WORDS] : all[i - pe_n * WORDS].hand;

        if (PE_CHECK(token >= 1 && token <= (uint64_t)n,
                     "swap delivered token 0x%lx, which was never stored", token))
            PE_CHECK(!found[token], "token %lu exists twice after the swaps", token);
        else
            continue;
        found[token] = true;
    }
}

/* PE 0 looks at everything. */
static void check_all(int locked)
{
    static struct cells got[MAX_PES];

    for (int pe = 0; pe < pe_n; pe++) {
        shmem_getmem(&got[pe], cells, sizeof(got[pe]), pe);
        check_sums(pe, &got[pe]);
    }
    check_tokens(got);
    PE_CHECK_EACH(uint64_t, i, got[0].ticket, claimed[i],
                  "ticket %lu of %lu was returned to no PE by fetch_inc_nbi", i, got[0].ticket);
    PE_CHECK_EQ(got[0].held, locked * pe_n);
}

int main(int argc, char **argv)
{
    stress_begin(argc, argv);
    PE_REQUIRE(pe_n <= MAX_PES, "this test runs with at most %d PEs", MAX_PES);
    heap_cells = pe_malloc(sizeof(*heap_cells));
    all = pe_malloc((size_t)pe_n * sizeof(*all));
    claimed = pe_malloc((size_t)OPS * (size_t)pe_n);
    mine = pe_private(sizeof(*mine));
    while (stress_more(stress_all_shared() ? ROUNDS : FEW_ROUNDS)) {
        int locked = pe_rounds(LOCKED);

        prepare();
        for (int i = 0; i < pe_rounds(OPS); i++)
            do_any();
        claim_tickets();
        do_hot(pe_rounds(HOT) / (stress_all_shared() ? 1 : 4));
        do_hot(pe_rounds(HOT) / (stress_all_shared() ? 1 : 4));
        do_locked(locked);
        shmem_putmem(&all[pe_me], mine, sizeof(*mine), 0);
        shmem_barrier_all();
        if (pe_me == 0) check_all(locked);
        shmem_barrier_all();
    }
    return stress_end("stress_lost");
}
