/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks a random mix of puts, gets, atomics, fences and quiets against a model (rules R45,
 * R103-R112, R119 and R218 of docs/reference/conformance.md). Each PE is the only writer of one
 * area in the heap and one in the globals of every PE, so it knows the contents of these areas. The
 * options are those of pe_stress.h.
 */
#include "pe_stress.h"

enum { AREA = 3000, MAX_PES = 16, STEPS = 10000, N_SEGMENTS = 2 };

static unsigned char global_area[MAX_PES * AREA] __attribute__((aligned(16)));
static unsigned char *area[N_SEGMENTS];                /* my view of the two segments */
static unsigned char model[N_SEGMENTS][MAX_PES][AREA]; /* my area on each PE */
static unsigned char scratch[8][AREA];                 /* sources of pending nbi puts */
static uint64_t rng;
static int pending[MAX_PES]; /* unfinished writes towards a PE */

struct place {
    int segment, pe;
    size_t at, n;
    unsigned char *mine; /* symmetric address of my area there */
    unsigned char *model;
};

/* A random range, `unit` bytes aligned and long in units. */
static struct place draw_place(size_t unit, size_t max)
{
    struct place p;

    p.segment = (int)pe_random_in(&rng, 0, N_SEGMENTS - 1);
    p.pe = (int)pe_random_in(&rng, 0, (size_t)pe_n - 1);
    p.n = pe_random_in(&rng, 0, max / unit) * unit;
    p.at = pe_random_in(&rng, 0, (AREA - p.n) / unit) * unit;
    if (p.at + p.n + unit > AREA) p.at -= p.at >= unit ? unit : 0;
    p.mine = area[p.segment] + (size_t)pe_me * AREA;
    p.model = model[p.segment][p.pe];
    return p;
}

/* Before writing or reading where earlier writes may be in flight. */
static void settle(const struct place *p, bool reading)
{
    if (!pending[p->pe]) return;
    if (reading || pe_random_in(&rng, 0, 3) == 0) {
        shmem_quiet();
        memset(pending, 0, sizeof(pending));
    } else {
        shmem_fence();
    }
}

static void random_bytes(unsigned char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        bytes[i] = (unsigned char)pe_random(&rng);
}

static void step_put(int slot)
{
    struct place p = draw_place(1, 400);
    unsigned char *from = scratch[slot];

    settle(&p, false);
    random_bytes(from, p.n);
    memcpy(p.model + p.at, from, p.n);
    switch (pe_random_in(&rng, 0, 2)) {
    case 0:
        shmem_putmem(p.mine + p.at, from, p.n, p.pe);
        break;
    case 1:
        shmem_putmem_nbi(p.mine + p.at, from, p.n, p.pe);
        break;
    default:
        for (size_t i = 0; i < p.n && i < 20; i++)
            shmem_uchar_p(&p.mine[p.at + i], from[i], p.pe);
        if (p.n > 20) shmem_put8(p.mine + p.at + 20, from + 20, p.n - 20, p.pe);
        break;
    }
    pending[p.pe] = 1;
}

static void step_iput(int slot)
{
    struct place p = draw_place(4, 400);
    size_t dst = pe_random_in(&rng, 1, 4), n = p.n / 4 / dst;
    unsigned char *from = scratch[slot];

    settle(&p, false);
    random_bytes(from, n * 8);
    for (size_t i = 0; i < n; i++)
        memcpy(p.model + p.at + i * dst * 4, from + i * 8, 4);
    shmem_iput32(p.mine + p.at, from, (ptrdiff_t)dst, 2, n, p.pe);
    pending[p.pe] = 1;
}

static void check_got(const struct place *p, const unsigned char *got, const char *how)
{
    PE_CHECK_EACH(
        size_t, i, p->n, got[i] == p->model[p->at + i],
        "seed %lu: %s from pe %d, segment %d (0 heap, 1 globals), at %zu+%zu: byte 0x%02x, "
        "expected 0x%02x",
        stress_seed, how, p->pe, p->segment, p->at, i, got[i], p->model[p->at + i]);
}

static void step_get(void)
{
    struct place p = draw_place(1, 600);
    unsigned char got[AREA];

    settle(&p, true);
    if (pe_random_in(&rng, 0, 1)) {
        shmem_getmem(got, p.mine + p.at, p.n, p.pe);
        check_got(&p, got, "get");
    } else {
        shmem_getmem_nbi(got, p.mine + p.at, p.n, p.pe);
        shmem_quiet();
        memset(pending, 0, sizeof(pending));
        check_got(&p, got, "get_nbi");
    }
}

static void step_amo(void)
{
    struct place p = draw_place(8, 8);
    uint64_t *target = (uint64_t *)(p.mine + p.at), old, want, operand = pe_random(&rng);

    if (p.at + 8 > AREA) return;
    settle(&p, true);
    memcpy(&want, p.model + p.at, 8);
    old = want;
    switch (pe_random_in(&rng, 0, 6)) {
    case 0:
        old = shmem_uint64_atomic_fetch_add(target, operand, p.pe);
        want += operand;
        break;
    case 1:
        old = shmem_uint64_atomic_swap(target, operand, p.pe);
        want = operand;
        break;
    case 2:
        old = shmem_uint64_atomic_compare_swap(target, want, operand, p.pe);
        want = operand;
        break;
    case 3:
        old = shmem_uint64_atomic_fetch_xor(target, operand, p.pe);
        want ^= operand;
        break;
    case 4:
        shmem_uint64_atomic_add(target, operand, p.pe);
        want += operand;
        break;
    case 5:
        shmem_uint64_atomic_set(target, operand, p.pe);
        want = operand;
        break;
    default:
        old = shmem_uint64_atomic_fetch(target, p.pe);
        break;
    }
    PE_CHECK(
        memcmp(&old, p.model + p.at, 8) == 0,
        "seed %lu: an atomic on pe %d at %zu returned 0x%lx, which is not the old value in the "
        "model",
        stress_seed, p.pe, p.at, old);
    memcpy(p.model + p.at, &want, 8);
    pending[p.pe] = 1;
}

/* At the end: everything I wrote anywhere, by get; then what lies here must be whole, too. */
static void check_all(void)
{
    static unsigned char got[AREA];

    for (int s = 0; s < N_SEGMENTS; s++)
        for (int pe = 0; pe < pe_n; pe++) {
            struct place p = {.segment = s, .pe = pe, .at = 0, .n = AREA, .model = model[s][pe]};

            shmem_getmem(got, area[s] + (size_t)pe_me * AREA, AREA, pe);
            check_got(&p, got, "final get");
        }
}

static void one_round(void)
{
    rng = stress_own;
    for (int i = 0; i < pe_rounds(STEPS); i++) {
        if (i % 8 == 0) { /* all eight sources free again */
            shmem_quiet();
            memset(pending, 0, sizeof(pending));
        }
        switch (pe_random_in(&rng, 0, 9)) {
        case 0:
        case 1:
        case 2:
        case 3:
            step_put(i % 8);
            break;
        case 4:
            step_iput(i % 8);
            break;
        case 5:
        case 6:
            step_get();
            break;
        default:
            step_amo();
            break;
        }
        stress_ops++;
        if (i % 250 == 249) {
            shmem_barrier_all();
            memset(pending, 0, sizeof(pending));
            stress_stage("step %d", i);
        }
    }
    shmem_barrier_all();
    check_all();
}

int main(int argc, char **argv)
{
    stress_begin(argc, argv);
    PE_REQUIRE(pe_n <= MAX_PES, "this test runs with at most %d PEs", MAX_PES);
    area[0] = pe_calloc((size_t)pe_n, AREA);
    area[1] = global_area;
    while (stress_more(1))
        one_round();
    return stress_end("stress_mix");
}
