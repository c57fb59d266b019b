/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Staging, the owner's side: a thread that serves requests for this PE's device memory in the
 * order of their tickets. It runs only in PEs that have a device space with others, and sleeps
 * while there is nothing to do. Design: docs/design/stage.md.
 */
#include "stage.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define AGENT_FN "agent"
#define AGENT_LOOKS 50 /* with a yield between, before it goes to sleep */

static struct {
    pthread_mutex_t lock; /* start and stop */
    pthread_t thread;
    atomic_bool running;
    atomic_bool stop;
    atomic_bool left; /* the thread has seen stop */
} agent = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- serving -------------------------------------------------------------------------- */

static struct stp_space *agent_space(const struct stage_request *request)
{
    struct stp_space *space = stp_space_at(request->number);

    if (space == NULL || space->host)
        stp_fatal(AGENT_FN, "PE %d asks for memory of space %u, which is no device space here",
                  request->pe, request->number);
    return space;
}

/* Tell the origin that it is done, with nbytes for its lane when there are any. */
static void agent_answer(const struct stage_request *request, const char *data, size_t nbytes)
{
    struct stage_lane *lane = &stp_stage_box()->lanes[request->lane];
    struct stage_lane *there = stp_ptr(lane, request->pe);

    if (there != NULL)
        __atomic_store_n(&there->done, request->turn, __ATOMIC_RELEASE);
    else
        stp_put_signal(&stp_ctx_agent, stp_stage_lane_memory(request->lane), data, nbytes,
                       &lane->done, request->turn, SHMEM_SIGNAL_SET, false, request->pe, AGENT_FN);
}

static void agent_put(const struct stage_request *request, const char *data)
{
    struct stp_space *space = agent_space(request);
    struct stp_rows rows = {request->width, request->n, request->pitch, request->width};

    stp_copy_rows(&stp_ctx_agent, space->kind, space->base + request->offset, data, &rows,
                  STP_COPY_DONE, AGENT_FN);
    agent_answer(request, NULL, 0);
}

/* On the node straight into the origin's lane, else by way of the request's own slot. */
static void agent_get(const struct stage_request *request, char *data)
{
    struct stp_space *space = agent_space(request);
    struct stp_rows rows = {request->width, request->n, request->width, request->pitch};
    char *landing = stp_ptr(stp_stage_lane_memory(request->lane), request->pe);

    stp_copy_rows(&stp_ctx_agent, space->kind, landing != NULL ? landing : data,
                  space->base + request->offset, &rows, STP_COPY_DONE, AGENT_FN);
    agent_answer(request, data, request->width * request->n);
}

static void agent_amo(const struct stage_request *request)
{
    struct stage_lane *lane = &stp_stage_box()->lanes[request->lane];
    struct stage_lane *there = stp_ptr(lane, request->pe);
    enum stp_fabric_amo op = (enum stp_fabric_amo)request->amo;
    uint64_t value = 0;

    stp_stage_amo_here(&stp_ctx_agent, agent_space(request), request->offset, op,
                       (enum stp_dtype)request->dtype,
                       op == STP_AMO_FETCH ? NULL : &request->operand,
                       op == STP_AMO_CSWAP ? &request->compare : NULL, &value, AGENT_FN);
    if (there != NULL) {
        there->value = value;
        __atomic_store_n(&there->done, request->turn, __ATOMIC_RELEASE);
        return;
    }
    stp_put_signal(&stp_ctx_agent, &lane->value, &value, sizeof value, &lane->done, request->turn,
                   SHMEM_SIGNAL_SET, false, request->pe, AGENT_FN);
}

static void agent_serve(unsigned slot)
{
    char *memory = stp_stage_slot_memory(slot);
    struct stage_request request;

    memcpy(&request, memory, sizeof request);
    switch (request.op) {
    case STAGE_PUT:
        agent_put(&request, memory + STAGE_HEAD);
        break;
    case STAGE_GET:
        agent_get(&request, memory + STAGE_HEAD);
        break;
    case STAGE_AMO:
        agent_amo(&request);
        break;
    default:
        stp_fatal(AGENT_FN, "PE %d sent a request of unknown kind %u", request.pe, request.op);
    }
}

/* ---- the thread ------------------------------------------------------------------------ */

static bool agent_has_work(struct stage_box *box)
{
    uint64_t next = __atomic_load_n(&box->served, __ATOMIC_RELAXED);

    /* Pairs with the release of whoever filled the slot. */
    return __atomic_load_n(&box->slots[next % STAGE_SLOTS].ready, __ATOMIC_ACQUIRE) == next + 1;
}

static void agent_sleep(struct stage_box *box)
{
    uint32_t seen = __atomic_load_n(&box->rings, __ATOMIC_SEQ_CST);

    /* Pairs with the fence of stp_stage_ring(). */
    __atomic_store_n(&box->sleeping, 1, __ATOMIC_SEQ_CST);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (!agent_has_work(box) && !atomic_load(&agent.stop))
        (void)stp_sleep_on(&box->rings, seen);
    __atomic_store_n(&box->sleeping, 0, __ATOMIC_SEQ_CST);
    stp_thread_look();
}

static void *agent_main(void *arg)
{
    struct stage_box *box = stp_stage_box();
    int idle = 0;

    (void)arg;
    while (!atomic_load_explicit(&agent.stop, memory_order_relaxed)) {
        if (agent_has_work(box)) {
            uint64_t next = box->served;
            agent_serve((unsigned)(next % STAGE_SLOTS));
            __atomic_store_n(&box->served, next + 1, __ATOMIC_RELEASE);
            idle = 0;
        } else if (idle++ < AGENT_LOOKS) {
            stp_wait_yield();
        } else {
            agent_sleep(box);
        }
    }
    atomic_store(&agent.left, true);
    return NULL;
}

void stp_agent_served(void)
{
    struct stage_box *box;

    if (!atomic_load_explicit(&agent.running, memory_order_acquire)) return;
    box = stp_stage_box();
    if (agent_has_work(box)) stp_stage_ring(box);
}

/* What the agent copies from and to: quick for devices while it serves. */
static void agent_pin(bool on)
{
    size_t nbytes = stp_stage_chunk() * (STAGE_SLOTS + STAGE_LANES);
    char *memory = stp_stage_slot_memory(0);

    for (int id = 0; id < STP_N_KINDS; id++) {
        if (on)
            stp_kinds[id]->pin(memory, nbytes);
        else
            stp_kinds[id]->unpin(memory, nbytes);
    }
}

void stp_agent_start(void)
{
    int rc = 0;

    pthread_mutex_lock(&agent.lock);
    if (!atomic_load(&agent.running)) {
        atomic_store(&agent.stop, false);
        atomic_store(&agent.left, false);
        rc = stp_thread_start(&agent.thread, "steppe-agent", agent_main);
        if (rc == 0) {
            agent_pin(true);
            atomic_store(&agent.running, true);
        }
    }
    pthread_mutex_unlock(&agent.lock);
    if (rc != 0) stp_fatal(AGENT_FN, "no thread to serve device memory: %s", strerror(-rc));
}

void stp_agent_stop(void)
{
    struct stage_box *box;

    if (!atomic_load(&agent.running)) return;
    box = stp_stage_box();
    atomic_store(&agent.stop, true);
    stp_stage_ring(box);
    pthread_join(agent.thread, NULL);
    agent_pin(false);
    atomic_store(&agent.running, false);
}

#define AGENT_HALT_MS 100

bool stp_agent_halt(void)
{
    if (!atomic_load(&agent.running)) return true;
    atomic_store(&agent.stop, true);
    stp_stage_ring(stp_stage_box());
    for (int ms = 0; ms < AGENT_HALT_MS && !atomic_load(&agent.left); ms++)
        usleep(1000);
    return atomic_load(&agent.left); /* else it waits for a peer that may be gone */
}
