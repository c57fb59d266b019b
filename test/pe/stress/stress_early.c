/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks that a PE that sees a flag, or the signal of a put_signal, sees all data that were written
 * before a fence or quiet (rules R103-R105, R110, R119, R129-R133, R201, R202 and R218-R221 of
 * docs/reference/conformance.md): all ways to write data and to raise a flag, contexts with all
 * options, many sizes and alignments, waits inside the library and plain loads. Sources of blocking
 * routines are overwritten on return. The options are those of pe_stress.h.
 */
#include "pe_stress.h"
#include "pe_order.h"

enum {
    SLOTS = 6,
    TURNS = 8,
    ROUNDS = 100,
    FEW_ROUNDS = 12,
    SMALL = 20000,
    LARGE = 1 << 20,
    LEAD = 64
};
enum wait { BY_LOADS, BY_WAIT, BY_SIGNAL_WAIT, BY_TEST, BY_FETCH, N_WAIT };

static const char *const wait_name[N_WAIT] = {"loads", "wait_until", "signal_wait_until", "test",
                                              "atomic_fetch"};

/* What one slot does in one turn; drawn alike by the sender and the receiver. */
struct plan {
    enum data_way data;
    enum flag_way flag;
    enum wait wait;
    bool fence; /* else quiet */
    bool own;   /* put_signal: its own signal says that its data is there */
    int ctx;
    size_t at, n; /* data: offset, bytes */
    unsigned stamp;
};

static struct slot {
    struct order_cells cells; /* flag, counters; written by the sender */
    uint64_t ack;             /* turns that the receiver has seen; on the sender's side */
} slots[SLOTS];

static unsigned char *inbox[SLOTS];  /* symmetric */
static unsigned char *outbox[SLOTS]; /* private */
static shmem_ctx_t ctxs[ORDER_CTXS];
static bool busy[SLOTS]; /* nonblocking operations read this outbox until the next quiet */
static uint64_t counted[2][SLOTS]; /* additions to counters: sent, received */
static int to, from;
static bool lurking; /* those who can, wait for their data before they send any */

static size_t capacity(int slot)
{
    return slot == 0 ? LARGE : SMALL;
}

static size_t draw_size(uint64_t *state, int slot)
{
    static const size_t edges[] = {1,  2,  3,   4,   7,    8,    9,    16,   63,
                                   64, 65, 255, 256, 1000, 4096, 8192, 16384};
    size_t n = edges[pe_random_in(state, 0, sizeof(edges) / sizeof(edges[0]) - 1)];

    if (pe_random_in(state, 0, 3) == 0) n = pe_random_in(state, 1, capacity(slot) - LEAD);
    if (slot == 0 && pe_random_in(state, 0, 3) == 0) n = LARGE - LEAD;
    return n;
}

/* The plan of PE `sender` for a slot and turn: a function of the round's seed alone. */
static struct plan plan_of(int sender, int slot, unsigned turn)
{
    uint64_t state = stress_state(stress_seed ^ stress_round << 20,
                                  (uint64_t)sender << 16 | (uint64_t)turn << 8 | (uint64_t)slot);
    struct plan plan;

    plan.data = (enum data_way)pe_random_in(&state, 0, N_DATA - 1);
    plan.flag = (enum flag_way)pe_random_in(&state, 0, N_FLAG - 1);
    plan.wait = (enum wait)pe_random_in(&state, 0, N_WAIT - 1);
    plan.fence = pe_random_in(&state, 0, 3) != 0;
    plan.own = plan.data == DATA_PUT_SIGNAL || plan.data == DATA_PUT_SIGNAL_NBI;
    plan.own &= pe_random_in(&state, 0, 3) != 0;
    plan.ctx = (int)pe_random_in(&state, 0, ORDER_CTXS - 1);
    plan.at = pe_random_in(&state, 0, LEAD - 1);
    plan.n = draw_size(&state, slot);
    plan.stamp =
        turn * SLOTS + (unsigned)slot + (unsigned)sender * 100 + (unsigned)stress_round * 5;
    order_fit(plan.data, &plan.at, &plan.n);
    /* Stores are ordered by contexts without NOSTORE only. */
    if (plan.data == DATA_STORE || plan.flag == FLAG_STORE) plan.ctx = 0;
    return plan;
}

static void wait_for_ack(int slot, unsigned turn)
{
    stress_stage("slot %d turn %u: ack of PE %d", slot, turn, to);
    shmem_uint64_wait_until(&slots[slot].ack, SHMEM_CMP_GE, turn - 1);
}

static void send_slot(int slot, unsigned turn)
{
    struct plan plan = plan_of(pe_me, slot, turn);
    shmem_ctx_t ctx = ctxs[plan.ctx];

    wait_for_ack(slot, turn);
    if (busy[slot])
        for (int i = 0; i < ORDER_CTXS; i++)
            shmem_ctx_quiet(ctxs[i]);
    pe_fill(outbox[slot], plan.n, plan.stamp);
    stress_stage("slot %d turn %u: %s of %zu bytes, %s, %s to PE %d", slot, turn,
                 order_data_name[plan.data], plan.n, plan.fence ? "fence" : "quiet",
                 order_flag_name[plan.flag], to);
    order_write(ctx, plan.data, inbox[slot] + plan.at, outbox[slot], plan.n, &slots[slot].cells,
                turn, to);
    if (order_counts(plan.data)) counted[0][slot]++;
    if (order_blocks(plan.data)) memset(outbox[slot], 0xdd, plan.n); /* R103: free on return */
    busy[slot] = !order_blocks(plan.data) || plan.flag == FLAG_PUT_NBI;
    if (plan.fence)
        shmem_ctx_fence(ctx);
    else
        shmem_ctx_quiet(ctx);
    order_raise(ctx, plan.flag, &slots[slot].cells, turn, to);
    stress_ops++;
}

static void wait_for_flag(enum wait wait, uint64_t *flag, uint64_t turn)
{
    unsigned looks = 0;

    switch (wait) {
    case BY_LOADS: /* outside the library on both sides */
        while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != turn)
            stress_breathe(&looks);
        break;
    case BY_WAIT:
        shmem_uint64_wait_until(flag, SHMEM_CMP_EQ, turn);
        break;
    case BY_SIGNAL_WAIT:
        PE_CHECK_EQ(shmem_signal_wait_until(flag, SHMEM_CMP_EQ, turn), turn);
        break;
    case BY_TEST:
        while (!shmem_uint64_test(flag, SHMEM_CMP_EQ, turn))
            stress_breathe(&looks);
        break;
    default:
        while (shmem_uint64_atomic_fetch(flag, pe_me) != turn)
            stress_breathe(&looks);
        break;
    }
}

/* The flag of a slot, or its own signal, was seen: look at the data, then let the sender go on. */
static void check_slot(int slot, unsigned turn, const struct plan *plan, const char *how)
{
    struct slot *s = &slots[slot];
    char what[200];

    snprintf(what, sizeof(what), "seed %lu round %lu: %s, %s, %s on ctx %d by PE %d, seen by %s",
             stress_seed, stress_round, order_data_name[plan->data],
             plan->own     ? "its signal"
             : plan->fence ? "fence"
                           : "quiet",
             order_flag_name[plan->flag], plan->ctx, from, how);
    if (order_counts(plan->data)) counted[1][slot]++;
    order_check(plan->data, inbox[slot] + plan->at, plan->n, plan->stamp, &s->cells, turn,
                counted[1][slot], what);
    stress_stage("slot %d turn %u: flag after own signal of PE %d", slot, turn, from);
    if (plan->own) shmem_uint64_wait_until(&s->cells.flag, SHMEM_CMP_EQ, turn);
    shmem_uint64_atomic_set(&s->ack, turn, from);
}

static void receive_slot(int slot, unsigned turn)
{
    struct plan plan = plan_of(from, slot, turn);
    struct order_cells *cells = &slots[slot].cells;

    stress_stage("slot %d turn %u: %s, %s of PE %d, %s", slot, turn, order_data_name[plan.data],
                 order_flag_name[plan.flag], from, wait_name[plan.wait]);
    wait_for_flag(plan.wait, plan.own ? &cells->signal : &cells->flag, turn);
    check_slot(slot, turn, &plan, wait_name[plan.wait]);
}

/* All slots as they come, by loads. */
static void receive_any(unsigned turn)
{
    bool seen[SLOTS] = {false};
    unsigned looks = 0;

    stress_stage("turn %u: any of PE %d, by loads", turn, from);
    for (int left = SLOTS, i = 0; left > 0; i = (i + 1) % SLOTS) {
        struct plan plan = plan_of(from, i, turn);
        uint64_t *flag = plan.own ? &slots[i].cells.signal : &slots[i].cells.flag;

        if (i == 0) stress_breathe(&looks);
        if (seen[i] || __atomic_load_n(flag, __ATOMIC_ACQUIRE) != turn) continue;
        check_slot(i, turn, &plan, "a load");
        seen[i] = true;
        left--;
    }
}

/* A new distance: all cells and counts from the start. */
static void prepare(void)
{
    int distance = (int)stress_draw((size_t)pe_n);

    lurking = stress_draw(3) != 0;
    to = (pe_me + distance) % pe_n;
    from = (pe_me + pe_n - distance) % pe_n;
    memset(slots, 0, sizeof(slots));
    memset(counted, 0, sizeof(counted));
    shmem_barrier_all();
}

static void send_all(unsigned turn)
{
    for (int slot = 0; slot < SLOTS; slot++)
        send_slot(slot, turn);
    if (stress_pick(2)) shmem_quiet(); /* else it arrives all the same */
}

static void receive_all(unsigned turn)
{
    int first = (int)stress_pick(SLOTS);

    if (stress_pick(2)) {
        receive_any(turn);
        return;
    }
    for (int i = 0; i < SLOTS; i++)
        receive_slot((first + i) % SLOTS, turn);
}

/* Of the PEs in a ring at least the lowest sends before it waits. */
static void play_turn(unsigned turn)
{
    if (lurking && from < pe_me) {
        receive_all(turn);
        send_all(turn);
    } else {
        send_all(turn);
        receive_all(turn);
    }
}

int main(int argc, char **argv)
{
    stress_begin(argc, argv);
    for (int i = 0; i < SLOTS; i++) {
        inbox[i] = pe_malloc(capacity(i) + LEAD);
        outbox[i] = pe_private(capacity(i) + LEAD);
    }
    order_ctxs_create(ctxs);
    while (stress_more(stress_all_shared() ? ROUNDS : FEW_ROUNDS)) {
        prepare();
        for (unsigned turn = 1; turn <= TURNS; turn++)
            play_turn(turn);
        shmem_barrier_all();
        for (int i = 0; i < ORDER_CTXS; i++)
            shmem_ctx_quiet(ctxs[i]);
    }
    order_ctxs_destroy(ctxs);
    return stress_end("stress_early");
}
