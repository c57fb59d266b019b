/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks what quiet and blocking gets promise beyond a pair of PEs (rules R48, R104, R105, R120,
 * R121, R128 and R221 of docs/reference/conformance.md): data that a third PE reads from the target
 * after the writer's quiet, plain stores of a PE to its own memory, a source that changes right
 * after a get, and results of nonblocking gets and atomics. The options are those of pe_stress.h.
 */
#include "pe_stress.h"
#include "pe_order.h"

enum {
    ROUNDS = 100,
    FEW_ROUNDS = 20,
    TURNS = 16,
    AREA = 300000,
    LEAD = 64,
    GETS = 200,
    GET_MAX = 600
};
enum scene { C_GETS_FROM_B, C_TELLS_B, OWN_STORES, OVERWRITE_AFTER_GET, NBI_RESULTS, N_SCENE };
enum get_way { BY_GET, BY_WIDE_GET, BY_GET_NBI, BY_IGET, BY_G, N_GET };

static const char *const scene_name[N_SCENE] = {"A puts to B, C gets from B",
                                                "A puts to B, C tells B", "A stores, B gets",
                                                "B gets, A overwrites", "results of nbi"};
static const char *const get_name[N_GET] = {"get", "wide get", "get_nbi", "iget", "g"};

static unsigned char *area; /* symmetric */
static unsigned char *own;  /* private */
static struct order_cells cells;
static uint64_t back; /* messages the other way, or one further */
static shmem_ctx_t ctxs[ORDER_CTXS];
static shmem_ctx_t ctx;

/* Drawn by all PEs alike for each turn. */
static size_t at, n;
static unsigned stamp;
static enum flag_way flag;
static enum get_way get_way;

static void draw_turn(unsigned turn)
{
    static const size_t sizes[] = {1, 8, 64, 1000, 4096, 16384, 65536, AREA - LEAD};

    at = stress_draw(LEAD);
    n = sizes[stress_draw(sizeof(sizes) / sizeof(sizes[0]))];
    flag = (enum flag_way)stress_draw(FLAG_STORE); /* a store is not on a context */
    ctx = ctxs[stress_draw(ORDER_CTXS)];
    get_way = (enum get_way)stress_draw(N_GET);
    if (get_way == BY_IGET || get_way == BY_G) at &= ~(size_t)7;
    if (get_way == BY_IGET) n = (n < 1024 ? n + 7 : 1024) & ~(size_t)7;
    if (get_way == BY_G) n = 8;
    stamp = turn * 3 + (unsigned)stress_round;
    stress_stage("turn %u of %lu: %zu bytes, flag by %s, %s", turn, stress_round, n,
                 order_flag_name[flag], get_name[get_way]);
}

static void fetch_bytes(void *dest, const unsigned char *source, int pe)
{
    uint64_t word;

    memset(dest, 0xee, n);
    switch (get_way) {
    case BY_GET:
        shmem_ctx_getmem(ctx, dest, source, n, pe);
        break;
    case BY_WIDE_GET: /* by another protocol than the put's, perhaps */
        shmem_ctx_getmem(ctx, dest, source, AREA - LEAD, pe);
        break;
    case BY_GET_NBI:
        for (size_t i = 0; i < n; i += 10000)
            shmem_ctx_getmem_nbi(ctx, (char *)dest + i, source + i, n - i < 10000 ? n - i : 10000,
                                 pe);
        shmem_ctx_quiet(ctx);
        break;
    case BY_IGET:
        shmem_ctx_iget64(ctx, dest, source, 2, 2, (n + 8) / 16, pe);
        if (n >= 16) shmem_ctx_iget64(ctx, (char *)dest + 8, source + 8, 2, 2, n / 16, pe);
        break;
    default:
        word = shmem_ctx_uint64_g(ctx, (const uint64_t *)source, pe);
        memcpy(dest, &word, 8);
        break;
    }
}

static void check(const void *bytes, enum scene scene)
{
    char what[160];

    snprintf(what, sizeof(what), "seed %lu round %lu: %s: flag by %s, %s", stress_seed,
             stress_round, scene_name[scene], order_flag_name[flag], get_name[get_way]);
    PE_CHECK_BYTES(bytes, n, stamp, what);
}

/* PE a's part: any way to write, quiet, then the flag at PE to. */
static void write_and_tell(unsigned turn, int b, int to)
{
    enum data_way way = stress_pick(2) ? DATA_PUT : DATA_PUT_NBI;

    pe_fill(own, n, stamp);
    if (n <= 64 && n % 8 == 0 && at % 8 == 0) way = stress_pick(2) ? DATA_P : DATA_SET;
    order_write(ctx, way, area + at, own, n, &cells, turn, b);
    shmem_ctx_quiet(ctx);
    order_raise(ctx, flag, &cells, turn, to);
    shmem_ctx_quiet(ctx);
}

/* Three PEs, or fewer in small jobs: c may be a, b may be c. */
static void third_party(enum scene scene, unsigned turn, int a)
{
    int b = (a + 1) % pe_n, c = (a + 2) % pe_n;

    if (pe_me == a) write_and_tell(turn, b, c);
    if (pe_me == c) {
        shmem_uint64_wait_until(&cells.flag, SHMEM_CMP_EQ, turn);
        if (scene == C_TELLS_B)
            shmem_uint64_atomic_set(&back, turn, b);
        else
            fetch_bytes(own, area + at, b);
        if (scene == C_GETS_FROM_B) check(own, scene);
        shmem_quiet();
    }
    if (pe_me == b && scene == C_TELLS_B) {
        unsigned looks = 0;

        while (__atomic_load_n(&back, __ATOMIC_ACQUIRE) != turn)
            stress_breathe(&looks);
        check(area + at, scene);
    }
}

/* Plain stores into one's own memory are there for a PE that was told after a quiet. */
static void own_stores(unsigned turn, int a)
{
    int b = (a + 1) % pe_n;

    if (pe_me == a) {
        pe_fill(area + at, n, stamp);
        ctx = SHMEM_CTX_DEFAULT; /* stores are ordered there */
        shmem_quiet();
        order_raise(ctx, flag, &cells, turn, b);
        shmem_quiet();
    }
    if (pe_me == b) {
        shmem_uint64_wait_until(&cells.flag, SHMEM_CMP_EQ, turn);
        fetch_bytes(own, area + at, a);
        check(own, OWN_STORES);
    }
}

/* A get has read when it returns: its source may change at once. */
static void overwrite_after_get(unsigned turn, int a)
{
    int b = (a + 1) % pe_n;

    if (pe_me == a) {
        pe_fill(area + at, n, stamp);
        shmem_quiet();
        shmem_uint64_atomic_set(&cells.flag, turn, b);
        shmem_quiet();
    }
    if (pe_me == b) {
        shmem_uint64_wait_until(&cells.flag, SHMEM_CMP_EQ, turn);
        fetch_bytes(own, area + at, a);
        shmem_uint64_atomic_set(&back, turn, a);
        check(own, OVERWRITE_AFTER_GET);
        shmem_quiet();
    }
    if (pe_me == a) {
        unsigned looks = 0;

        while (__atomic_load_n(&back, __ATOMIC_ACQUIRE) != turn)
            stress_breathe(&looks);
        memset(area + at, 0x55, n);
    }
}

/* Everybody reads everybody's words, all in flight at once; also what it just put itself. */
static void nbi_results(unsigned turn)
{
    static unsigned char got[GETS][GET_MAX];
    static uint64_t words[GETS];
    size_t sizes[GETS];

    pe_fill(area, GETS + GET_MAX, turn + (unsigned)pe_me);
    cells.counters[0] = turn * 100 + (unsigned)pe_me;
    shmem_barrier_all();
    memset(got, 0xee, sizeof(got));
    for (size_t i = 0; i < GETS; i++) {
        int pe = (int)(i % (size_t)pe_n);

        sizes[i] = 1 + stress_pick(GET_MAX);
        shmem_ctx_getmem_nbi(ctx, got[i], area, sizes[i], pe);
        shmem_ctx_uint64_atomic_fetch_nbi(ctx, &words[i], &cells.counters[0], pe);
    }
    shmem_ctx_quiet(ctx);
    for (size_t i = 0; i < GETS; i++) {
        unsigned pe = (unsigned)i % (unsigned)pe_n;

        PE_CHECK_BYTES(got[i], sizes[i], turn + pe, "get_nbi after quiet");
        if (sizes[i] < GET_MAX) PE_CHECK_EQ(got[i][sizes[i]], 0xee);
        PE_CHECK_EQ(words[i], turn * 100 + pe);
    }
    shmem_barrier_all();
}

static void play(enum scene scene)
{
    memset(&cells, 0, sizeof(cells));
    back = 0;
    shmem_barrier_all();
    for (unsigned turn = 1; turn <= TURNS; turn++) {
        int a = (int)(turn % (unsigned)pe_n);

        draw_turn(turn);
        if (scene == NBI_RESULTS)
            nbi_results(turn);
        else if (scene == OWN_STORES)
            own_stores(turn, a);
        else if (scene == OVERWRITE_AFTER_GET)
            overwrite_after_get(turn, a);
        else
            third_party(scene, turn, a);
        cells.flag = turn; /* for flags that count on it */
        back = turn;
        stress_ops++;
        shmem_barrier_all();
    }
}

int main(int argc, char **argv)
{
    stress_begin(argc, argv);
    area = pe_malloc(AREA);
    own = pe_private(AREA);
    order_ctxs_create(ctxs);
    while (stress_more(stress_all_shared() ? ROUNDS : FEW_ROUNDS))
        play((enum scene)(stress_round % N_SCENE));
    order_ctxs_destroy(ctxs);
    return stress_end("stress_visible");
}
