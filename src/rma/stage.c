/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements the origin's side of staging. Staging performs transfers to and from memory that only
 * its owner PE can access, and atomics on such memory. The origin is the PE that starts the
 * operation. It sends requests to the proxy thread of the owner. A transfer is cut into fragments,
 * with one request per fragment. Several requests are outstanding at once. Design:
 * docs/design/kinds.md.
 */
#include "stage_request_boxes.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STAGE_WINDOW 6 /* maximum number of outstanding fragments of a transfer */
#define STAGE_FN "staged transfer"

static struct {
    size_t chunk; /* bytes of each request slot and of each reply slot */
    /* Guards the fields "used" and "sequences", and the allocation of the table "served". */
    pthread_mutex_t lock;
    unsigned used; /* bit i is 1 while reply slot i is in use */
    /*
     * Number of times that each reply slot was taken. Each request stores this number as its
     * sequence number, so that the origin can distinguish its reply from earlier replies.
     */
    uint64_t sequences[STAGE_REPLIES];
    /*
     * Number of requests that each PE of another node has served. An entry can be out of date, and
     * its number is then too low.
     */
    uint64_t *served;
} stage = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- the mailbox -------------------------------------------------------------------- */

size_t stp_stage_internal_bytes(size_t window_capacity)
{
    size_t chunk = STP_BOUNCE_BYTES;

    while (chunk > 4096 && chunk * (STAGE_SLOTS + STAGE_REPLIES) > window_capacity / 16)
        chunk /= 2;
    stage.chunk = chunk;
    memset(stage.sequences, 0, sizeof(stage.sequences));
    return 4096 * ((sizeof(struct stage_mailbox) + 4095) / 4096) +
           chunk * (STAGE_SLOTS + STAGE_REPLIES);
}

struct stage_mailbox *stp_stage_mailbox(void)
{
    return (struct stage_mailbox *)stp_space_at(STP_SPACE_INTERNAL)->base;
}

size_t stp_stage_slot_bytes(void)
{
    return stage.chunk;
}

char *stp_stage_slot_memory(unsigned slot)
{
    size_t head = 4096 * ((sizeof(struct stage_mailbox) + 4095) / 4096);

    return (char *)stp_stage_mailbox() + head + slot * stage.chunk;
}

char *stp_stage_reply_memory(unsigned reply)
{
    return stp_stage_slot_memory(STAGE_SLOTS + reply);
}

void stp_stage_ring(struct stage_mailbox *box)
{
    /*
     * Pairs with the fence in proxy_sleep(). Either the proxy thread then sees the new value of
     * ready, or this thread sees that sleeping is 1 and wakes the proxy thread.
     */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (__atomic_load_n(&box->sleeping, __ATOMIC_RELAXED) == 0) return;
    /*
     * Pairs with the load of rings in proxy_sleep(). The proxy thread does not fall asleep if rings
     * has changed since that load.
     */
    __atomic_fetch_add(&box->rings, 1, __ATOMIC_SEQ_CST);
    stp_wake(&box->rings, 1);
}

/* ---- replies ---------------------------------------------------------------------------- */

/*
 * One outstanding request. The request is complete when the word "completed" of its reply slot is
 * at least as large as the field sequence.
 */
struct flight {
    unsigned reply;
    uint64_t sequence, ticket;
    char *buffer; /* bounce buffer if the fabric carries the request, else NULL */
    struct stp_fragment fragment;
};

/*
 * Takes a reply slot for a request. If mapped is false, also takes a bounce buffer, because the
 * fabric must carry the request. Returns false, without taking anything, if a slot or buffer is
 * missing.
 */
static bool flight_try(struct flight *flight, bool mapped)
{
    bool taken = false;

    flight->buffer = NULL;
    if (!mapped && (flight->buffer = stp_bounce_try()) == NULL) return false;
    pthread_mutex_lock(&stage.lock);
    if (stage.used != (1u << STAGE_REPLIES) - 1) {
        flight->reply = (unsigned)__builtin_ctz(~stage.used);
        stage.used |= 1u << flight->reply;
        flight->sequence = ++stage.sequences[flight->reply];
        taken = true;
    }
    pthread_mutex_unlock(&stage.lock);
    if (!taken && flight->buffer != NULL) stp_bounce_give(flight->buffer);
    return taken;
}

/*
 * Returns the address of PE pe's entry in stage.served. Only the entries of PEs that get requests
 * are touched, so that the other pages of the table use no memory.
 */
static uint64_t *stage_served_of(int pe)
{
    /* Pairs with the release store below, which another thread may have performed. */
    uint64_t *served = __atomic_load_n(&stage.served, __ATOMIC_ACQUIRE);

    if (STP_LIKELY(served != NULL)) return &served[pe];
    pthread_mutex_lock(&stage.lock);
    if (stage.served == NULL) {
        served = calloc((size_t)stp_rt.n_pes, sizeof(*served));
        if (served == NULL)
            stp_fatal(STAGE_FN,
                      "out of memory: cannot allocate the request counters of a job of size %d",
                      stp_rt.n_pes);
        /* Pairs with the acquire load at the start of this function. */
        __atomic_store_n(&stage.served, served, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&stage.lock);
    return &stage.served[pe];
}

/*
 * Records that PE pe has served n requests. Another thread may store a lower number at the same
 * time. A number that is too low does no harm. It only means that the number will be read from PE
 * pe again.
 */
static void stage_note_served(int pe, uint64_t n)
{
    uint64_t *served = stage_served_of(pe);

    /* Pairs with the release store below, which another thread may have performed. */
    if (__atomic_load_n(served, __ATOMIC_ACQUIRE) < n)
        /* Pairs with the acquire load in stage_served(). */
        __atomic_store_n(served, n, __ATOMIC_RELEASE);
}

static void flight_wait(const struct flight *flight, int pe)
{
    const uint64_t *completed = &stp_stage_mailbox()->replies[flight->reply].completed;
    struct stp_wait wait = {0};

    /* Pairs with the release stores in proxy_reply() and proxy_amo() of another PE. */
    while (__atomic_load_n(completed, __ATOMIC_ACQUIRE) < flight->sequence)
        stp_wait_idle_once(&wait);
    if (flight->buffer != NULL) stage_note_served(pe, flight->ticket);
}

static void flight_end(const struct flight *flight)
{
    if (flight->buffer != NULL) stp_bounce_give(flight->buffer);
    pthread_mutex_lock(&stage.lock);
    stage.used &= ~(1u << flight->reply);
    pthread_mutex_unlock(&stage.lock);
}

/* ---- posting --------------------------------------------------------------------------- */

/*
 * Returns the number of requests that PE pe has served. If the mailbox of PE pe is mapped, reads
 * the number there. Otherwise, if the entry in stage.served already shows that the slot of this
 * ticket is free, returns the entry, which may be too low. If not, gets the current number from PE
 * pe.
 */
static uint64_t stage_served(uint64_t ticket, int pe)
{
    struct stage_mailbox *box = stp_stage_mailbox();
    const uint64_t *peer_served = stp_ptr(&box->served, pe);
    uint64_t served;

    /* Pairs with the release store of served in proxy_main() of another PE. */
    if (peer_served != NULL) return __atomic_load_n(peer_served, __ATOMIC_ACQUIRE);
    /* Pairs with the release store in stage_note_served(). */
    served = __atomic_load_n(stage_served_of(pe), __ATOMIC_ACQUIRE);
    if (ticket - served < STAGE_SLOTS) return served;
    stp_get_slow(&stp_ctx_stage, &served, &box->served, sizeof(served), pe, STAGE_FN);
    stage_note_served(pe, served);
    return served;
}

/* Takes a ticket for a request to PE pe, and waits until the slot of this ticket is free. */
static uint64_t stage_take_ticket(int pe)
{
    struct stage_mailbox *box = stp_stage_mailbox();
    uint64_t one = 1, ticket;
    uint64_t *peer_tickets = stp_ptr_inline(&box->tickets, pe, STP_USE_ATOMIC);
    struct stp_wait wait = {0};

    if (peer_tickets != NULL)
        ticket = __atomic_fetch_add(peer_tickets, 1, __ATOMIC_RELAXED);
    else
        stp_amo_slow(&stp_ctx_stage, STP_AMO_ADD, STP_U64, &box->tickets, &one, NULL, &ticket,
                     false, pe, STAGE_FN);
    while (ticket - stage_served(ticket, pe) >= STAGE_SLOTS)
        stp_wait_idle_once(&wait);
    return ticket;
}

/*
 * Returns the memory into which this PE writes a request and its data. If the owner's mailbox is
 * mapped, this memory is the request slot in the mailbox. Otherwise it is the bounce buffer from
 * which the fabric will send the request.
 */
static char *stage_request_memory(const struct flight *flight, uint64_t ticket, int pe)
{
    return flight->buffer != NULL
               ? flight->buffer
               : stp_ptr(stp_stage_slot_memory((unsigned)(ticket % STAGE_SLOTS)), pe);
}

static void stage_send(const struct flight *flight, uint64_t ticket, size_t nbytes, int pe)
{
    struct stage_mailbox *box = stp_stage_mailbox();
    unsigned slot = (unsigned)(ticket % STAGE_SLOTS);

    if (flight->buffer == NULL) {
        struct stage_mailbox *peer_box = stp_ptr(box, pe);
        /* Pairs with the acquire load in proxy_has_work(). */
        __atomic_store_n(&peer_box->slots[slot].ready, ticket + 1, __ATOMIC_RELEASE);
        stp_stage_ring(peer_box);
        return;
    }
    /* The put can be nonblocking, because the buffer does not change before the reply arrives. */
    stp_put_signal(&stp_ctx_stage, stp_stage_slot_memory(slot), flight->buffer, nbytes,
                   &box->slots[slot].ready, ticket + 1, SHMEM_SIGNAL_SET, true, pe, STAGE_FN);
}

/* ---- transfers --------------------------------------------------------------------------- */

struct transfer {
    struct stp_ctx *ctx;
    const struct stp_target *target;
    const struct stp_strided_copy *rows;
    const struct stp_kind *kind; /* memory kind of the local buffer, or NULL for host memory */
    char *local;
    enum stage_op op;
};

/* Copies rows between the program's buffer and packed rows in host memory. */
static void transfer_copy(const struct transfer *t, char *dest, const char *source,
                          const struct stp_strided_copy *rows)
{
    if (t->kind != NULL)
        stp_copy_rows(t->ctx, t->kind, dest, source, rows, STP_COPY_REMOTE, t->target->fn);
    else
        stp_copy_host(dest, source, rows);
}

static void transfer_post(const struct transfer *t, struct flight *flight)
{
    const struct stp_fragment *fragment = &flight->fragment;
    bool put = t->op == STAGE_PUT;
    uint64_t ticket = flight->ticket = stage_take_ticket(t->target->pe);
    char *memory = stage_request_memory(flight, ticket, t->target->pe);
    struct stp_strided_copy pack = {fragment->width, fragment->n, fragment->width,
                                    t->rows->source_pitch};
    struct stage_request request = {
        .op = t->op,
        .number = t->target->number,
        .pe = stp_rt.pe,
        .reply = flight->reply,
        .sequence = flight->sequence,
        .offset = t->target->offset + (put ? fragment->dest_offset : fragment->source_offset),
        .width = fragment->width,
        .n = fragment->n,
        .pitch = put ? t->rows->dest_pitch : t->rows->source_pitch,
    };

    memcpy(memory, &request, sizeof(request));
    if (put) transfer_copy(t, memory + STAGE_HEAD, t->local + fragment->source_offset, &pack);
    stage_send(flight, ticket, STAGE_HEAD + (put ? fragment->width * fragment->n : 0),
               t->target->pe);
}

static void transfer_finish(const struct transfer *t, const struct flight *flight)
{
    const struct stp_fragment *fragment = &flight->fragment;
    struct stp_strided_copy unpack = {fragment->width, fragment->n, t->rows->dest_pitch,
                                      fragment->width};

    flight_wait(flight, t->target->pe);
    if (t->op == STAGE_GET)
        transfer_copy(t, t->local + fragment->dest_offset, stp_stage_reply_memory(flight->reply),
                      &unpack);
    flight_end(flight);
}

static void transfer_run(const struct transfer *t)
{
    bool mapped = stp_ptr(stp_stage_mailbox(), t->target->pe) != NULL;
    struct stp_fragments fragments = {.rows = *t->rows, .max_bytes = stage.chunk - STAGE_HEAD};
    struct flight flights[STAGE_WINDOW];
    unsigned first = 0, n_outstanding = 0;
    struct stp_wait wait = {0};
    struct stp_fragment fragment;
    bool has_fragment = stp_fragment_next(&fragments, &fragment);

    while (has_fragment || n_outstanding > 0) {
        struct flight *next = &flights[(first + n_outstanding) % STAGE_WINDOW];
        if (has_fragment && n_outstanding < STAGE_WINDOW && flight_try(next, mapped)) {
            next->fragment = fragment;
            transfer_post(t, next);
            n_outstanding++;
            has_fragment = stp_fragment_next(&fragments, &fragment);
        } else if (n_outstanding > 0) {
            transfer_finish(t, &flights[first]);
            first = (first + 1) % STAGE_WINDOW;
            n_outstanding--;
        } else {
            stp_wait_idle_once(&wait); /* other threads use all reply slots or buffers */
        }
    }
}

void stp_stage_put(struct stp_ctx *ctx, const struct stp_target *dest, const void *source,
                   const struct stp_strided_copy *rows)
{
    struct transfer t = {ctx,      dest, rows, stp_device_of(source), (char *)(uintptr_t)source,
                         STAGE_PUT};

    transfer_run(&t);
}

void stp_stage_get(struct stp_ctx *ctx, const struct stp_target *source, void *dest,
                   const struct stp_strided_copy *rows)
{
    struct transfer t = {ctx, source, rows, stp_device_of(dest), dest, STAGE_GET};

    transfer_run(&t);
}

/* ---- atomics ------------------------------------------------------------------------------ */

void stp_stage_amo_by_owner(const struct stp_target *dest, enum stp_fabric_amo op,
                            enum stp_dtype dtype, const void *operand, const void *compare,
                            void *result)
{
    struct stage_request request = {.op = STAGE_AMO,
                                    .number = dest->number,
                                    .pe = stp_rt.pe,
                                    .offset = dest->offset,
                                    .amo = op,
                                    .dtype = dtype};
    size_t nbytes = stp_dtype_size(dtype);
    struct stp_wait wait = {0};
    struct flight flight;
    uint64_t ticket;
    int pe = dest->pe;

    if (pe == stp_rt.pe) {
        stp_stage_amo_local(&stp_ctx_stage, dest->space, dest->offset, op, dtype, operand, compare,
                            result, dest->fn);
        return;
    }
    if (operand != NULL) memcpy(&request.operand, operand, nbytes);
    if (compare != NULL) memcpy(&request.compare, compare, nbytes);
    while (!flight_try(&flight, stp_ptr(stp_stage_mailbox(), pe) != NULL))
        stp_wait_idle_once(&wait);
    request.reply = flight.reply;
    request.sequence = flight.sequence;
    ticket = flight.ticket = stage_take_ticket(pe);
    memcpy(stage_request_memory(&flight, ticket, pe), &request, sizeof(request));
    stage_send(&flight, ticket, STAGE_HEAD, pe);
    flight_wait(&flight, pe);
    if (result != NULL) memcpy(result, &stp_stage_mailbox()->replies[flight.reply].value, nbytes);
    flight_end(&flight);
}

void stp_stage_fini(void)
{
    free(stage.served);
    stage.served = NULL;
}
