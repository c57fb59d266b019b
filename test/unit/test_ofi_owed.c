/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests acknowledgements that the fabric module delays (transport/ofi/am_ack_delay.c). A context
 * accepts delays only after allow_delayed_ack(), its quiet requests the delayed acknowledgements,
 * and messages that are still collected for a PE count as done when this PE is gone. Forked
 * processes play the PEs. CTest runs the program as unit.ofi_owed.
 */
#include "ofi_pes.h"

#include "transport/ofi/ofi_internal.h"

#include <malloc.h>

static const char *const providers[] = {"tcp", "shm", "net"};

enum { CTXS = 4, FEW_POLLS = 40, MOMENT_US = 20000 };

/* ---- whose context is patient ------------------------------------------------- */

/* Memory of a context may have been something else's. */
static void look_at_new_contexts(void)
{
    struct stp_fabric_ctx *ctxs[CTXS];

    mallopt(M_PERTURB, 0x55);
    for (int i = 0; i < CTXS; i++) {
        expect(fabric.ctx_create(i % 2 == 0, &ctxs[i]) == 0, "ctx_create to return 0");
        expect(!ctxs[i]->allow_delayed_ack, "a new context not to allow delayed acknowledgements");
    }
    fabric.allow_delayed_ack(ctxs[0]);
    expect(ctxs[0]->allow_delayed_ack && !ctxs[1]->allow_delayed_ack,
           "only context 0 to allow delayed acknowledgements");
    for (int i = 0; i < CTXS; i++)
        fabric.ctx_destroy(ctxs[i]);
    go_down();
}

TEST_CASE(owed, setup, NULL)

TEST(new_contexts_are_not_patient)
{
    ck_run("tcp", look_at_new_contexts);
}

/* ---- who waits for answers that are held back ----------------------------------- */

static atomic_bool held;

/* The progress thread of PE 1 is away meanwhile. */
static void hold(void)
{
    while (me == 1 && atomic_load(&held))
        usleep(1000);
}

static void poll_until(const atomic_int *what, int value, int n_polls)
{
    for (int i = 0; i < n_polls && atomic_load(what) != value; i++) {
        fabric.progress();
        usleep(MOMENT_US);
    }
}

/*
 * PE 0 waits for a message to PE 1 that PE 1 need not have answered: not within so few looks at its
 * queue, nor would PE 0 find out within that time that its wait stands still.
 */
static void wait_for_held(void)
{
    uint64_t word = 7;

    if (me == 0) {
        fabric.allow_delayed_ack(ctx);
        fabric.session(ctx, true, SIZE_MAX);
        fabric.store(ctx, TARGET(1, REGION, 0), &word, sizeof(word));
        fabric.session(ctx, false, SIZE_MAX);
    }
    while (me == 1 && __atomic_load_n(&memory[0], __ATOMIC_ACQUIRE) != word)
        fabric.progress();
    meet();
    if (me == 0) {
        fabric.quiet(ctx);
        atomic_store(&world->step, 1);
    } else if (me == 1) {
        poll_until(&world->step, 1, FEW_POLLS);
        expect(atomic_load(&world->step) == 1,
               "the quiet of pe 0 to get the acknowledgement that it requested");
    }
    atomic_store(&held, false);
    go_down();
}

TEST_LOOP(quiet_asks_for_answers, 0, STP_COUNT(providers))
{
    core.thread_exit_check = hold;
    atomic_store(&held, true);
    ck_run(providers[_i], wait_for_held);
}

/* ---- messages that lie about when their PE goes -------------------------------- */

static atomic_bool stop;

/* Slowly, so that one lies about nearly always. */
static void *keep_collecting(void *arg)
{
    struct stp_fabric_ctx *own = arg;
    uint64_t one = 1;

    fabric.session(own, true, SIZE_MAX);
    while (!atomic_load(&stop)) {
        fabric.amo(own, TARGET(1, REGION, 0), STP_AMO_ADD, STP_U64, &one, NULL, NULL, false);
        usleep(20);
    }
    fabric.quiet(own);
    return NULL;
}

/* PE 0 ends while a thread of it still collects for a PE that has gone. */
static void collect_for_dead(void)
{
    struct stp_fabric_ctx *own;
    pthread_t thread;
    uint64_t one = 1;

    /* Before PE 1 dies, because a PE that sees this before its own end ends the job. */
    if (me == 0) fabric.finish();
    meet();
    if (me == 1) raise(SIGKILL);
    if (me != 0) return;
    usleep(100000);
    expect(fabric.ctx_create(false, &own) == 0, "ctx_create to return 0");
    pthread_create(&thread, NULL, keep_collecting, own);
    for (int i = 0; i < 10; i++) {
        fabric.amo(ctx, TARGET(1, REGION, 0), STP_AMO_ADD, STP_U64, &one, NULL, NULL, false);
        fabric.quiet(ctx);
    }
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
}

TEST_LOOP(what_lies_about_for_dead_peers, 0, 2)
{
    core.thread_multiple = true;
    deaths = true;
    ck_run(_i == 0 ? "tcp" : "net", collect_for_dead);
}
