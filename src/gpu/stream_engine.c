/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This file records the streams on which operations were called. It also runs the thread for
 * operations that a stream cannot perform itself. Such an operation is called a work. A host
 * function in the stream puts the work on a list and wakes the thread. The thread performs all
 * works in steps. At the end of a work, it writes a word for which the stream waits. Design:
 * docs/design/streams.md.
 */
#include "stream_engine.h"

#include "spaces/cuda/pinned_host_and_kernel_gpu.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STREAM_MAX 256         /* maximum number of slots; slots of idle streams are reused */
#define STREAM_IDLE_PASSES 200 /* number of passes over all works without progress before a nap */
#define STREAM_NAP_NS 20000 /* length of a nap, about equal to the interval of a stream's polls */
#define STREAM_NAPS_PER_CHECK 1024 /* number of naps between two checks that peers are alive */
#define STREAM_FAR ((uint64_t)1 << 62)

static struct {
    pthread_mutex_t lock; /* guards the start of the thread, the slots and their waits */
    bool running;
    bool was_used; /* whether the program has used a stream; the thread then runs until finalize */
    bool stop_requested;
    int device;                       /* device in whose CUDA context the words were allocated */
    int n_spaces[STP_STREAM_DEVICES]; /* number of spaces that each device can access */
    struct stream_words *words;
    struct stream_slot slots[STREAM_MAX];
    pthread_t thread;
    struct stream_work *pushed; /* works that the thread has not taken yet, latest first */
    uint32_t doorbell;
    uint32_t sleeping;
    uint64_t n_called, n_done; /* numbers of works requested and done; lock guards n_called */
} streams = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- the thread ------------------------------------------------------------------------- */

/*
 * Hands a work to the stream thread. The CUDA driver calls this host function when the stream
 * reaches the function. The function must neither wait nor call the driver.
 */
static void stream_push(void *arg)
{
    struct stream_work *work = arg;

    work->next = __atomic_load_n(&streams.pushed, __ATOMIC_RELAXED);
    /* Pairs with the exchange in stream_take(), and with the load of `pushed` in stream_sleep(). */
    while (!__atomic_compare_exchange_n(&streams.pushed, &work->next, work, true, __ATOMIC_SEQ_CST,
                                        __ATOMIC_RELAXED)) {
    }
    /*
     * Pairs with stream_sleep(), which stores `sleeping` and then loads `pushed`. Either the stream
     * thread sees the new work, or this function sees that the thread sleeps.
     */
    if (__atomic_load_n(&streams.sleeping, __ATOMIC_SEQ_CST) == 0) return;
    /*
     * Pairs with the load of `doorbell` in stream_sleep(). If `doorbell` has changed since that
     * load, the futex wait in stream_sleep() returns at once.
     */
    __atomic_fetch_add(&streams.doorbell, 1, __ATOMIC_SEQ_CST);
    stp_wake(&streams.doorbell, 1);
}

/* Moves the pushed works to the end of the list, in the order in which they were pushed. */
static void stream_take(struct stream_work **list)
{
    /* Pairs with the compare-and-swap in stream_push(). */
    struct stream_work *work = __atomic_exchange_n(&streams.pushed, NULL, __ATOMIC_ACQUIRE);
    struct stream_work *in_order = NULL;

    while (work != NULL) {
        struct stream_work *next = work->next;

        work->next = in_order;
        in_order = work;
        work = next;
    }
    while (*list != NULL)
        list = &(*list)->next;
    *list = in_order;
}

static void stream_finish(struct stream_work *work)
{
    /*
     * Pairs with the wait of the stream for this number. When the stream sees the number, it also
     * sees the results of the work.
     */
    if (work->number != 0)
        __atomic_store_n(&work->slot->words->last_done_work, work->number, __ATOMIC_RELEASE);
    free(work);
    /* Pairs with the acquire load in stp_stream_stop(). */
    __atomic_fetch_add(&streams.n_done, 1, __ATOMIC_RELEASE);
}

/* Performs one step of each work in the list. Returns true if a work has ended. */
static bool stream_steps(struct stream_work **list)
{
    bool work_ended = false;

    while (*list != NULL) {
        struct stream_work *work = *list;

        if (!work->step(work)) {
            list = &work->next;
            continue;
        }
        *list = work->next;
        stream_finish(work);
        work_ended = true;
    }
    return work_ended;
}

/* Returns whether the stream may be waiting for a word of the program or for the stream thread. */
static bool slot_is_waiting(const struct stream_slot *slot)
{
    /* Pairs with the write to n_ended_waits that the stream performs after each wait. */
    return __atomic_load_n(&slot->words->n_ended_waits, __ATOMIC_ACQUIRE) <
           __atomic_load_n(&slot->n_waits, __ATOMIC_RELAXED);
}

/*
 * Checks that the peers are alive if a stream may be waiting. A stream may wait for a dead PE, and
 * the program may wait for this stream in the CUDA driver.
 */
static void stream_check_peers(void)
{
    bool is_waiting = false;

    for (int i = 0; i < STREAM_MAX && !is_waiting; i++)
        is_waiting = slot_is_waiting(&streams.slots[i]);
    if (is_waiting) stp_wait_run_hook();
}

static void stream_sleep(void)
{
    /* Pairs with the additions to `doorbell` in stream_push() and stream_end(). */
    uint32_t old_doorbell = __atomic_load_n(&streams.doorbell, __ATOMIC_SEQ_CST);

    /*
     * Pairs with stream_push(), which pushes a work and then loads `sleeping`. Either this thread
     * sees the new work, or stream_push() sees that this thread sleeps.
     */
    __atomic_store_n(&streams.sleeping, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&streams.pushed, __ATOMIC_SEQ_CST) == NULL &&
        !__atomic_load_n(&streams.stop_requested, __ATOMIC_SEQ_CST))
        (void)stp_sleep_on(&streams.doorbell, old_doorbell);
    __atomic_store_n(&streams.sleeping, 0, __ATOMIC_SEQ_CST);
    stp_process_exit_if_program_over();
    stream_check_peers();
}

static void stream_idle_once(int n_idle)
{
    static const struct timespec nap = {0, STREAM_NAP_NS};

    if (stp_rt.has_fabric) stp_rt.fabric.progress();
    if (n_idle % STREAM_NAPS_PER_CHECK == STREAM_IDLE_PASSES) stp_wait_run_hook();
    if (n_idle < STREAM_IDLE_PASSES)
        stp_yield_and_watch_peers(0);
    else
        nanosleep(&nap, NULL);
}

static void *stream_main(void *arg)
{
    struct stream_work *list = NULL;
    int n_idle = 0;

    (void)arg;
    while (!__atomic_load_n(&streams.stop_requested, __ATOMIC_RELAXED)) {
        stream_take(&list);
        if (list == NULL)
            stream_sleep();
        else if (stream_steps(&list))
            n_idle = 0;
        else
            stream_idle_once(n_idle++);
    }
    return NULL;
}

/* ---- start and end ------------------------------------------------------------------------ */

/*
 * Starts the stream thread if it does not run. The caller holds streams.lock. Returns 0, or -errno
 * with the reason in `reason`. Does not log, because a failure is an error only for a call that
 * needs the thread.
 */
static int stream_start_locked(int device, char *reason)
{
    int rc = -EIO;

    if (streams.running) return 0;
    streams.words = stp_stream_words(device, STREAM_MAX * sizeof(*streams.words), reason);
    if (streams.words == NULL) return -ENOMEM;
    streams.device = device;
    snprintf(reason, STP_STREAM_WHY, "cannot create the context for operations on streams");
    if (stp_ctx_open_for_stream_thread() != 0) goto err_words;
    /*
     * Allocate the bounce buffers now. A later allocation would register memory with the driver,
     * which may wait for streams. These streams may wait for the stream thread.
     */
    stp_bounce_give(stp_bounce_wait_take());
    streams.stop_requested = false;
    streams.n_called = streams.n_done = 0;
    for (int i = 0; i < STREAM_MAX; i++)
        streams.slots[i].words = &streams.words[i];
    rc = stp_thread_start(&streams.thread, "steppe-stream", stream_main);
    snprintf(reason, STP_STREAM_WHY, "cannot start the thread for operations on streams: %s",
             strerror(-rc));
    if (rc != 0) goto err_context;
    for (int i = 0; i < STREAM_MAX; i++)
        pthread_mutex_init(&streams.slots[i].lock, NULL);
    /* Pairs with the acquire loads in stp_stream_stop() and stp_stream_release_all_waits(). */
    __atomic_store_n(&streams.running, true, __ATOMIC_RELEASE);
    return 0;

err_context:
    stp_ctx_close(&stp_ctx_stream);
err_words:
    stp_stream_words_free(streams.device, streams.words);
    return rc;
}

/* Ends the thread and frees the words. All works must be done, and no stream may poll a word. */
static void stream_end(void)
{
    /*
     * Pairs with the load of stop_requested in stream_sleep(). If that load returns the old value,
     * stream_sleep() has loaded `doorbell` before the addition below. In this case the addition and
     * the wake end its futex wait.
     */
    __atomic_store_n(&streams.stop_requested, true, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&streams.doorbell, 1, __ATOMIC_SEQ_CST);
    stp_wake(&streams.doorbell, 1);
    pthread_join(streams.thread, NULL);
    for (int i = 0; i < STREAM_MAX; i++) {
        struct stream_slot *slot = &streams.slots[i];

        pthread_mutex_destroy(&slot->lock);
        *slot = (struct stream_slot){.in_use = false};
    }
    stp_ctx_close(&stp_ctx_stream);
    stp_stream_words_free(streams.device, streams.words);
    streams.was_used = false;
    __atomic_store_n(&streams.running, false, __ATOMIC_RELEASE);
}

void stp_stream_stop(void)
{
    struct stp_wait wait = {0};

    memset(streams.n_spaces, 0, sizeof(streams.n_spaces));
    /* Pairs with the release stores in stream_start_locked() and stream_end(). */
    if (!__atomic_load_n(&streams.running, __ATOMIC_ACQUIRE)) return;
    /* Pairs with the addition in stream_finish(). */
    while (__atomic_load_n(&streams.n_done, __ATOMIC_ACQUIRE) != streams.n_called)
        stp_wait_idle_once(&wait);
    /* Wait until each stream has ended its last wait and has reported this in n_ended_waits. */
    for (int i = 0; i < STREAM_MAX; i++) {
        while (slot_is_waiting(&streams.slots[i]))
            stp_wait_idle_once(&wait);
    }
    stream_end();
    stp_streams_release_cuda_contexts();
}

/*
 * Ends the stream's waits for host words of the program, by storing the awaited value in each word.
 * Skips waits that are over, because the program may have freed their words.
 */
static void slot_release_waits(const struct stream_slot *slot)
{
    /* Pairs with the write to n_ended_waits that the stream performs after each wait. */
    uint64_t n_ended = __atomic_load_n(&slot->words->n_ended_waits, __ATOMIC_ACQUIRE);

    for (int i = 0; i < STREAM_WAITS; i++) {
        const struct stream_wait *wait = &slot->host_waits[i];
        /* Pairs with the release store in slot_record_wait(). */
        uint64_t number = __atomic_load_n(&wait->number, __ATOMIC_ACQUIRE);
        uint64_t *host = __atomic_load_n(&wait->word, __ATOMIC_RELAXED);
        uint64_t value = __atomic_load_n(&wait->value, __ATOMIC_RELAXED);

        /* Pairs with the wait of the stream for this word. */
        if (number > n_ended) __atomic_store_n(host, value, __ATOMIC_RELEASE);
    }
}

/* Takes no lock, because another thread may hold it forever. */
void stp_stream_release_all_waits(void)
{
    /* Pairs with the release stores in stream_start_locked() and stream_end(). */
    if (!__atomic_load_n(&streams.running, __ATOMIC_ACQUIRE)) return;
    for (int i = 0; i < STREAM_MAX; i++) {
        struct stream_slot *slot = &streams.slots[i];

        if (!slot->in_use) continue;
        /* Pairs with the waits of the stream for last_done_work. */
        __atomic_store_n(&slot->words->last_done_work, slot->n_works + STREAM_FAR,
                         __ATOMIC_RELEASE);
        slot_release_waits(slot);
    }
}

/* ---- state before the first call ------------------------------------------------------------ */

static int stream_device_of(const struct stp_space *space)
{
    if (!space->host) return space->device;
    return space->pinned != NULL ? stp_pinned_device_ordinal(space) : -1;
}

/*
 * Starts the stream thread in advance if a device can access a space. If the start fails, it is
 * tried again when the next space is created, or when a call needs the thread.
 */
static void stream_prepare_locked(void)
{
    char reason[STP_STREAM_WHY];

    for (int device = 0; device < STP_STREAM_DEVICES && !streams.running; device++)
        if (streams.n_spaces[device] > 0 && stream_start_locked(device, reason) != 0)
            stp_debug("gpu %d is not ready for operations on streams: %s", device, reason);
}

void stp_stream_on_space_change(const struct stp_space *space, int change)
{
    int device = stream_device_of(space);

    if (device < 0) return;
    pthread_mutex_lock(&streams.lock);
    streams.n_spaces[device] += change;
    if (streams.running && !streams.was_used && streams.n_spaces[streams.device] == 0) stream_end();
    stream_prepare_locked();
    pthread_mutex_unlock(&streams.lock);
}

/* ---- calls ---------------------------------------------------------------------------------- */

_Noreturn static void stream_fatal(void *handle, const char *fn, const char *reason)
{
    stp_fatal(fn, "stream %p: %s", handle, reason);
}

static bool slot_is_idle_locked(const struct stream_slot *slot)
{
    return slot->n_calls == 0 && !slot_is_waiting(slot) &&
           __atomic_load_n(&slot->n_nbi, __ATOMIC_RELAXED) == 0;
}

static bool slot_belongs_to(const struct stream_slot *slot, const struct stp_stream *stream)
{
    return slot->in_use && slot->stream.handle == stream->handle &&
           slot->stream.device == stream->device;
}

/*
 * Returns the slot of the stream. If the stream has no slot, first assigns an unused slot or the
 * slot of an idle stream to this stream. Fatal if all slots are in use.
 */
static struct stream_slot *slot_find_locked(const struct stp_stream *stream, const char *fn)
{
    struct stream_slot *free_slot = NULL;

    for (int i = 0; i < STREAM_MAX; i++) {
        struct stream_slot *slot = &streams.slots[i];

        if (slot_belongs_to(slot, stream)) return slot;
        if (free_slot == NULL || (free_slot->in_use && !slot->in_use)) {
            if (!slot->in_use || slot_is_idle_locked(slot)) free_slot = slot;
        }
    }
    if (free_slot == NULL)
        stp_fatal(
            fn,
            "%d streams have unfinished operations, and this is the maximum: synchronize one of "
            "these streams first",
            STREAM_MAX);
    free_slot->in_use = true;
    free_slot->stream = *stream;
    return free_slot;
}

struct stream_slot *stp_stream_lock_slot(void *handle, int device, const char *fn)
{
    char reason[STP_STREAM_WHY];
    struct stp_stream stream;
    struct stream_slot *slot;

    stp_check_live(fn);
    if (stp_stream_find(handle, device, &stream, reason) != 0) stream_fatal(handle, fn, reason);
    pthread_mutex_lock(&streams.lock);
    if (stream_start_locked(stream.device, reason) != 0) stp_fatal(fn, "%s", reason);
    streams.was_used = true;
    slot = slot_find_locked(&stream, fn);
    slot->n_calls++;
    pthread_mutex_unlock(&streams.lock);
    pthread_mutex_lock(&slot->lock);
    if (stp_stream_context_push(&stream, reason) != 0) stream_fatal(handle, fn, reason);
    return slot;
}

void stp_stream_unlock_slot(struct stream_slot *slot)
{
    stp_stream_context_pop();
    pthread_mutex_unlock(&slot->lock);
    pthread_mutex_lock(&streams.lock);
    slot->n_calls--;
    pthread_mutex_unlock(&streams.lock);
}

static void stream_require(int rc, const char *fn)
{
    if (rc != 0)
        stp_fatal(fn,
                  "cannot enqueue an operation on the stream (the message above gives the reason)");
}

/*
 * Returns false if too many other streams are waiting. Otherwise counts a new wait of this stream
 * and returns true. The number of waiting streams is limited, because a device has few hardware
 * queues. A stream that waits may block other streams in its queue, even the stream that must end
 * the wait.
 */
static bool slot_try_begin_wait(struct stream_slot *slot)
{
    int n = 0;
    bool allowed;

    pthread_mutex_lock(&streams.lock);
    for (int i = 0; i < STREAM_MAX; i++) {
        const struct stream_slot *other_slot = &streams.slots[i];

        n += other_slot != slot && slot_is_waiting(other_slot);
    }
    allowed = n < stp_env.stream_waits;
    if (allowed) __atomic_store_n(&slot->n_waits, slot->n_waits + 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&streams.lock);
    return allowed;
}

static void slot_wait(struct stream_slot *slot, void *word, uint64_t value, bool equal,
                      const char *fn)
{
    stream_require(stp_stream_wait(&slot->stream, word, value, equal), fn);
    stream_require(stp_stream_write(&slot->stream, &slot->words->n_ended_waits, slot->n_waits), fn);
}

static void slot_begin_wait(struct stream_slot *slot)
{
    struct stp_wait wait = {0};

    while (!slot_try_begin_wait(slot))
        stp_wait_idle_once(&wait);
    stp_wait_end(&wait);
}

void stp_stream_enqueue_work(struct stream_slot *slot, const struct stream_work *work,
                             bool stream_waits)
{
    struct stream_work *copy = malloc(sizeof(*copy));

    if (copy == NULL)
        stp_fatal(work->fn, "out of memory: cannot enqueue an operation on the stream");
    *copy = *work;
    copy->slot = slot;
    copy->number = stream_waits ? ++slot->n_works : 0;
    if (stream_waits) slot_begin_wait(slot);
    pthread_mutex_lock(&streams.lock);
    streams.n_called++;
    pthread_mutex_unlock(&streams.lock);
    stream_require(stp_stream_call(&slot->stream, stream_push, copy), work->fn);
    if (stream_waits)
        slot_wait(slot, &slot->words->last_done_work, slot->n_works, false, work->fn);
    else
        __atomic_store_n(&slot->n_nbi, slot->n_nbi + 1, __ATOMIC_RELAXED);
}

/*
 * Records the latest wait of the stream, which is a wait for a host word of the program. If the
 * process ends by an error, slot_release_waits() uses this record to end the wait.
 */
static void slot_record_wait(struct stream_slot *slot, uint64_t *word, uint64_t value)
{
    struct stream_wait *wait = &slot->host_waits[slot->n_waits % STREAM_WAITS];

    __atomic_store_n(&wait->number, 0, __ATOMIC_RELAXED);
    /*
     * Pairs with the acquire load in slot_release_waits(). The fence ensures that `number` becomes
     * 0 before `word` and `value` change.
     */
    __atomic_thread_fence(__ATOMIC_RELEASE);
    __atomic_store_n(&wait->word, word, __ATOMIC_RELAXED);
    __atomic_store_n(&wait->value, value, __ATOMIC_RELAXED);
    /* Pairs with the acquire load in slot_release_waits(). */
    __atomic_store_n(&wait->number, slot->n_waits, __ATOMIC_RELEASE);
}

void stp_stream_wait_word(struct stream_slot *slot, void *word, uint64_t *host, uint64_t value,
                          bool equal, const char *fn)
{
    slot_begin_wait(slot);
    if (host != NULL) slot_record_wait(slot, host, value);
    slot_wait(slot, word, value, equal, fn);
}
