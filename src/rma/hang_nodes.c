/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One table of waits for all nodes. Who has to tell on its node asks PE 0, which chooses one of
 * those that ask; that one asks a PE of each node for what its node shows. All travels in notices,
 * which wait for nobody and may be lost: whoever gets no answer in time tells of its own node.
 * Design: docs/design/hang.md.
 */
#include "rma.h"

#include <string.h>
#include <sys/mman.h>

/* In turns, which are a second long unless SHMEM_HANG_REPORT is short. */
#define ASK_TURNS 2    /* that PE 0 may take */
#define ANSWER_TURNS 3 /* from one answer of a node to the next */
#define FOLLOW_TURNS 6 /* until the one that was chosen has asked this node */
#define CHOICE_TURNS 5 /* within which those that ask hear of the same one */
#define OPEN_MOST 64   /* PEs that may answer at once: what a socket has room for */

struct node {
    int first, n_pes;
    int asked;     /* the PE, -1: not yet */
    int n_known;   /* PEs of which all is here */
    uint32_t turn; /* answers of an earlier one do not count */
    uint64_t asked_ns;
};

/* What a leader has of a PE. */
struct known {
    unsigned char n_rows, got;
    bool row[STP_WAIT_NOTES];
};

static struct {
    pthread_mutex_t lock; /* guards the rest; nothing else is taken under it */
    enum { IDLE, ASKS, FOLLOWS, LEADS, COMPLETE } state;
    uint64_t until_ns;
    uint64_t told_ns; /* hang_told as this PE has set it */
    int leader;       /* FOLLOWS: who tells */
    int chosen;       /* PE 0: by whom it was asked first, */
    uint64_t chosen_ns;
    char *memory; /* LEADS and COMPLETE: what these three are in */
    size_t nbytes;
    struct node *nodes;
    struct known *known; /* by PE */
    struct stp_row *rows;
    int next, n_open, n_done; /* nodes to ask, PEs that may be answering, nodes that have */
} all = {.lock = PTHREAD_MUTEX_INITIALIZER, .chosen = -1};

static uint64_t turns_ns(unsigned n)
{
    return n * stp_hang_turn_ns();
}

static void send(int pe, const struct stp_hang_notice *hang)
{
    struct stp_notice notice = {.kind = STP_NOTICE_HANG, .pe = stp_rt.pe, .hang = *hang};

    if (pe == stp_rt.pe)
        stp_hang_told(&notice);
    else
        stp_rt.fabric.tell_pe(&notice, pe);
}

/* ---- the one that tells ---------------------------------------------------------------- */

static bool collect_begin_locked(void)
{
    size_t n_pes = (size_t)stp_rt.n_pes, n_nodes = (size_t)stp_rt.n_nodes;
    size_t rows = n_pes * STP_WAIT_NOTES * sizeof(*all.rows), nodes = n_nodes * sizeof(*all.nodes);

    all.nbytes = rows + nodes + n_pes * sizeof(*all.known);
    all.memory = mmap(NULL, all.nbytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all.memory == MAP_FAILED) return false;
    all.rows = (void *)all.memory;
    all.nodes = (void *)(all.memory + rows);
    all.known = (void *)(all.memory + rows + nodes);
    all.next = all.n_open = all.n_done = 0;
    for (int pe = stp_rt.n_pes - 1; pe >= 0; pe--) {
        struct node *node = &all.nodes[stp_node_of(pe)];

        node->first = pe;
        node->n_pes++;
        node->asked = -1;
    }
    return true;
}

static void collect_end_locked(void)
{
    if (all.state == LEADS || all.state == COMPLETE) munmap(all.memory, all.nbytes);
    all.state = IDLE;
}

/* The PE of the node behind this one; -1: there is none. */
static int next_of_node(int node, int pe)
{
    while (++pe < stp_rt.n_pes)
        if (stp_node_of(pe) == node) return pe;
    return -1;
}

static void node_ask_locked(int k, int pe)
{
    struct node *node = &all.nodes[k];
    struct stp_hang_notice hang = {.what = STP_HANG_WANT, .turn = ++node->turn};

    for (int of = node->asked < 0 ? -1 : node->first; of >= 0; of = next_of_node(k, of))
        memset(&all.known[of], 0, sizeof(all.known[of]));
    node->n_known = 0;
    node->asked = pe;
    node->asked_ns = stp_now_ns();
    hang.node = k;
    stp_rt.fabric.tell_pe(
        &(struct stp_notice){.kind = STP_NOTICE_HANG, .pe = stp_rt.pe, .hang = hang}, pe);
}

/* As many nodes as may answer at once, one at least. */
static void nodes_ask_locked(void)
{
    while (all.next < stp_rt.n_nodes) {
        struct node *node = &all.nodes[all.next];

        if (all.next != stp_boot_node()) {
            if (all.n_open > 0 && all.n_open + node->n_pes > OPEN_MOST) return;
            all.n_open += node->n_pes;
            node_ask_locked(all.next, node->first);
        }
        all.next++;
    }
}

/* A row of a PE; the node that it is of has answered when all rows of all its PEs are here. */
static void row_take_locked(const struct stp_hang_notice *hang)
{
    struct known *known = &all.known[hang->row_pe];
    struct node *node = &all.nodes[hang->node];
    struct stp_row *row = &all.rows[(size_t)hang->row_pe * STP_WAIT_NOTES + (size_t)hang->row];

    if (known->row[hang->row]) return;
    known->row[hang->row] = true;
    known->n_rows = (unsigned char)hang->n_rows;
    *row = (struct stp_row){.pe = hang->row_pe,
                            .state = hang->row_state,
                            .waits = hang->row_waits,
                            .note = hang->note,
                            .seen = hang->seen,
                            .ago_ns = hang->ago_ns};
    row->note.text[sizeof(row->note.text) - 1] = '\0';
    row->seen.what[sizeof(row->seen.what) - 1] = '\0';
    if (++known->got < known->n_rows || ++node->n_known < node->n_pes) return;
    all.n_done++;
    if (hang->node != stp_boot_node()) all.n_open -= node->n_pes;
    all.until_ns = stp_now_ns() + turns_ns(ANSWER_TURNS);
    nodes_ask_locked();
    if (all.n_done == stp_rt.n_nodes) all.state = COMPLETE;
}

/* What has been asked for long is asked of another PE of the node: the first may be stopped. */
static void ask_again_locked(uint64_t now)
{
    for (int k = 0; k < all.next; k++) {
        struct node *node = &all.nodes[k];
        int pe = -1;

        if (k == stp_boot_node() || node->n_known == node->n_pes ||
            now - node->asked_ns < turns_ns(1) / 2)
            continue;
        pe = next_of_node(k, node->asked);
        node_ask_locked(k, pe >= 0 ? pe : node->first);
    }
}

/* ---- what a node shows ------------------------------------------------------------------- */

static void pe_answer(int to, struct stp_hang_notice *hang, int local)
{
    struct stp_row rows[STP_WAIT_NOTES];
    struct stp_table table = {.rows = rows};
    int pe = stp_local_pe(local);

    stp_table_add(&table, pe, stp_process_state(stp_boot_pe_info(pe)->pid),
                  stp_boot_wait_page(local));
    for (size_t i = 0; i < table.n; i++) {
        hang->row_pe = pe;
        hang->row = (int)i;
        hang->n_rows = (int)table.n;
        hang->row_state = rows[i].state;
        hang->row_waits = rows[i].waits;
        hang->note = rows[i].note;
        hang->seen = rows[i].seen;
        hang->ago_ns = rows[i].ago_ns;
        if (to == stp_rt.pe)
            row_take_locked(hang);
        else
            stp_rt.fabric.tell_pe(
                &(struct stp_notice){.kind = STP_NOTICE_HANG, .pe = stp_rt.pe, .hang = *hang}, to);
    }
}

static void node_answer(int to, uint32_t turn)
{
    struct stp_hang_notice hang = {
        .what = STP_HANG_ROW, .node = stp_boot_node(), .turn = turn, .note.before = -1};

    for (int local = 0; local < stp_boot_n_local(); local++)
        pe_answer(to, &hang, local);
}

/* ---- notices ----------------------------------------------------------------------------- */

/* Of PE 0: whoever asks in the next seconds hears of the same. */
static int choose_locked(int pe)
{
    uint64_t now = stp_now_ns();

    if (all.chosen < 0 || now - all.chosen_ns > turns_ns(CHOICE_TURNS)) {
        all.chosen = pe;
        all.chosen_ns = now;
    }
    return all.chosen;
}

static void lead_or_follow_locked(int leader)
{
    if (all.state != ASKS) return;
    all.leader = leader;
    all.state = FOLLOWS;
    all.until_ns = stp_now_ns() + turns_ns(FOLLOW_TURNS);
    if (leader != stp_rt.pe || !collect_begin_locked()) return;
    all.state = LEADS;
    all.until_ns = stp_now_ns() + turns_ns(ANSWER_TURNS);
    node_answer(stp_rt.pe, 0);
    if (all.state == LEADS) nodes_ask_locked();
}

static bool is_expected_locked(const struct stp_hang_notice *hang)
{
    return all.state == LEADS && hang->node >= 0 && hang->node < stp_rt.n_nodes &&
           hang->row_pe >= 0 && hang->row_pe < stp_rt.n_pes &&
           stp_node_of(hang->row_pe) == hang->node && hang->row >= 0 && hang->n_rows > hang->row &&
           hang->n_rows <= STP_WAIT_NOTES && all.nodes[hang->node].turn == hang->turn;
}

void stp_hang_told(const struct stp_notice *notice)
{
    const struct stp_hang_notice *hang = &notice->hang;
    struct stp_hang_notice answer = {.what = STP_HANG_LEAD};

    if (hang->what == STP_HANG_WANT) {
        if (!stp_hang_enter()) return;
        /* What waits here was told by that. */
        __atomic_store_n(stp_boot_hang_told(), stp_now_ns(), __ATOMIC_RELEASE);
        node_answer(notice->pe, hang->turn);
        stp_hang_leave();
        return;
    }
    pthread_mutex_lock(&all.lock);
    if (hang->what == STP_HANG_ASK && stp_rt.pe == 0)
        answer.leader = choose_locked(notice->pe);
    else if (hang->what == STP_HANG_LEAD)
        lead_or_follow_locked(hang->leader);
    else if (hang->what == STP_HANG_ROW && is_expected_locked(hang))
        row_take_locked(hang);
    pthread_mutex_unlock(&all.lock);
    if (hang->what == STP_HANG_ASK && stp_rt.pe == 0) send(notice->pe, &answer);
}

/* ---- the wait that has lasted --------------------------------------------------------------- */

bool stp_hang_nodes_ask(uint64_t told_ns)
{
    bool asks;

    pthread_mutex_lock(&all.lock);
    asks = all.state == IDLE;
    if (asks) {
        all.state = ASKS;
        all.told_ns = told_ns;
        all.until_ns = stp_now_ns() + turns_ns(ASK_TURNS);
    }
    pthread_mutex_unlock(&all.lock);
    if (asks) send(0, &(struct stp_hang_notice){.what = STP_HANG_ASK});
    return asks;
}

void stp_hang_nodes_drop(void)
{
    pthread_mutex_lock(&all.lock);
    collect_end_locked();
    pthread_mutex_unlock(&all.lock);
}

/* The rows that are here, ascending, without holes; and the PEs of which there is none. */
static size_t rows_pack(struct stp_list *unknown)
{
    size_t n = 0;

    for (int pe = 0; pe < stp_rt.n_pes; pe++) {
        const struct known *known = &all.known[pe];

        if (known->got == 0) stp_list_add(unknown, pe);
        for (size_t i = 0; i < STP_WAIT_NOTES; i++) {
            struct stp_row *row = &all.rows[n];

            if (!known->row[i]) continue;
            *row = all.rows[(size_t)pe * STP_WAIT_NOTES + i];
            /* Whose word is missing is told for PEs that are not here; others say it themselves. */
            if (row->note.lock == 0 && row->note.before >= 0 && all.known[row->note.before].got > 0)
                row->note.before = -1;
            n++;
        }
    }
    stp_list_close(unknown);
    return n;
}

static void nodes_tell(const struct stp_hang_time *time)
{
    struct stp_list unknown = {.first = -1};
    size_t n = rows_pack(&unknown);

    stp_hang_report_rows(time, all.rows, n, unknown.text);
}

bool stp_hang_nodes_step(const struct stp_hang_time *time)
{
    uint64_t now = stp_now_ns();
    bool late, follows, complete, done;

    pthread_mutex_lock(&all.lock);
    late = now > all.until_ns;
    follows = all.state == FOLLOWS;
    if (all.state == LEADS && !late) ask_again_locked(now);
    if (all.state == LEADS && late) all.state = COMPLETE;
    complete = all.state == COMPLETE;
    /* Of a node that was asked for its rows all is told. */
    done = follows && __atomic_load_n(stp_boot_hang_told(), __ATOMIC_ACQUIRE) > all.told_ns;
    pthread_mutex_unlock(&all.lock);
    if (complete) nodes_tell(time); /* nobody else touches what is complete */
    if (!complete && !done && !late) return false;
    if (!complete && !done) stp_hang_report(time, follows ? all.leader : 0);
    stp_hang_nodes_drop();
    return true;
}
