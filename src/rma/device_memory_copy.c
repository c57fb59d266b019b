/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies data to and from device memory. The CPU must not touch device memory, so the operations of
 * its memory kind (struct stp_kind) perform all copies. This file also owns the copy queues of
 * contexts, cuts strided copies into fragments, and loads single words. Design:
 * docs/design/kinds.md.
 */
#include "rma.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- queues -------------------------------------------------------------------------- */

static int copy_kind_id(const struct stp_kind *kind)
{
    int id = 0;

    while (stp_kinds[id] != kind)
        id++;
    return id;
}

static struct stp_queue *copy_queue_make(struct stp_ctx *ctx, int id, const char *fn)
{
    pthread_mutex_lock(&stp_rt.lock); /* several threads may create the queue at once */
    if (ctx->queues[id] == NULL) {
        struct stp_queue *queue;
        if (stp_kinds[id]->device->queue_create(&queue) != 0)
            stp_fatal(fn, "cannot prepare to copy %s memory (the message above gives the reason)",
                      stp_kinds[id]->name);
        /* Pairs with the acquire loads in copy_queue() and stp_copy_flush(). */
        __atomic_store_n(&ctx->queues[id], queue, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&stp_rt.lock);
    return ctx->queues[id];
}

static struct stp_queue *copy_queue(struct stp_ctx *ctx, const struct stp_kind *kind,
                                    const char *fn)
{
    int id = copy_kind_id(kind);
    /* Pairs with the release store in copy_queue_make(). */
    struct stp_queue *queue = __atomic_load_n(&ctx->queues[id], __ATOMIC_ACQUIRE);

    if (STP_UNLIKELY(!__atomic_load_n(&ctx->copies, __ATOMIC_RELAXED)))
        __atomic_store_n(&ctx->copies, true, __ATOMIC_RELAXED);
    return STP_LIKELY(queue != NULL) ? queue : copy_queue_make(ctx, id, fn);
}

/*
 * Creates the copy queues of the context before the first copy. The creation of a queue asks the
 * driver for a stream and for pinned memory. These calls of the driver may wait for running GPU
 * kernels. At the first copy, a GPU kernel may be running that waits for this very copy. If a space
 * is created later on another device, its creation adds a stream for this device to the queues.
 */
void stp_copy_open(struct stp_ctx *ctx, const char *fn)
{
    if (!stp_win.devices) return;
    for (int id = 0; id < stp_n_kinds; id++)
        if (stp_kinds[id]->device != NULL) (void)copy_queue_make(ctx, id, fn);
}

void stp_copy_flush(struct stp_ctx *ctx)
{
    stp_check_not_forked("fence or quiet");
    for (int id = 0; id < stp_n_kinds; id++) {
        /* Pairs with the release store in copy_queue_make(). */
        struct stp_queue *queue = __atomic_load_n(&ctx->queues[id], __ATOMIC_ACQUIRE);
        if (queue != NULL && stp_kinds[id]->device->flush(queue) != 0)
            stp_fatal("shmem_quiet", "copies of %s memory failed", stp_kinds[id]->name);
    }
}

void stp_copy_close(struct stp_ctx *ctx)
{
    for (int id = 0; id < stp_n_kinds; id++) {
        if (ctx->queues[id] != NULL) stp_kinds[id]->device->queue_destroy(ctx->queues[id]);
        ctx->queues[id] = NULL;
    }
}

/* ---- copies --------------------------------------------------------------------------- */

void stp_copy_rows(struct stp_ctx *ctx, const struct stp_kind *kind, void *dest, const void *source,
                   const struct stp_strided_copy *rows, enum stp_copy_completion completion,
                   const char *fn)
{
    struct stp_queue *queue;
    int rc;

    if (kind->device == NULL) {
        stp_copy_host(dest, source, rows);
        return;
    }
    queue = copy_queue(ctx, kind, fn);
    if (rows->n == 1)
        rc = kind->device->copy(queue, dest, source, rows->width, completion);
    else
        rc = kind->device->copy_rows(queue, dest, source, rows, completion);
    if (rc != 0)
        stp_fatal(fn, "cannot copy %zu rows of %zu bytes from %p to %p (%s memory)", rows->n,
                  rows->width, source, dest, kind->name);
}

void stp_copy(struct stp_ctx *ctx, const struct stp_kind *kind, void *dest, const void *source,
              size_t nbytes, enum stp_copy_completion completion, const char *fn)
{
    struct stp_strided_copy rows = {.width = nbytes, .n = 1};

    stp_copy_rows(ctx, kind, dest, source, &rows, completion, fn);
}

void stp_copy_signal(struct stp_ctx *ctx, const struct stp_kind *kind, void *dest,
                     const void *source, size_t nbytes, enum stp_copy_completion completion,
                     void *word, uint64_t signal, const char *fn)
{
    struct stp_queue *queue = copy_queue(ctx, kind, fn);

    stp_copy(ctx, kind, dest, source, nbytes, completion, fn);
    if (kind->device->set_word(queue, dest, word, signal) != 0)
        stp_fatal(fn, "cannot set the signal at %p after a copy (%s memory)", word, kind->name);
}

bool stp_copy_reduce(struct stp_ctx *ctx, const struct stp_kind *kind,
                     const struct stp_reduction *reduction, const char *fn)
{
    int rc;

    if (kind->device == NULL) return false;
    rc = kind->device->reduce(copy_queue(ctx, kind, fn), reduction);
    if (rc != 0 && rc != -ENOTSUP)
        stp_fatal(fn,
                  "cannot reduce %zu elements of %s memory (the message above gives the reason)",
                  reduction->nelems, kind->name);
    return rc == 0;
}

void stp_copy_zero(struct stp_space *space, size_t offset, size_t nbytes, const char *fn)
{
    const struct stp_kind *kind = space->kind;

    if (kind->device == NULL)
        memset(space->base + offset, 0, nbytes);
    else if (kind->device->zero(copy_queue(&stp_ctx_stage, kind, fn), space, offset, nbytes) != 0)
        stp_fatal(fn, "cannot set %zu bytes of space %u (%s) to zero", nbytes, space->number,
                  kind->name);
}

void stp_copy_any(void *dest, const void *source, size_t nbytes, const char *fn)
{
    const struct stp_kind *kind;

    stp_kind_begin();
    kind = stp_device_of(dest);
    if (kind == NULL) kind = stp_device_of(source);
    if (nbytes == 0 || dest == source) return;
    if (kind == NULL)
        memmove(dest, source, nbytes);
    else
        stp_copy(&stp_ctx_stage, kind, dest, source, nbytes, STP_COPY_REMOTE, fn);
}

/* ---- fragments ---------------------------------------------------------------------------- */

/*
 * If a row is larger than max_bytes, cuts the row into several fragments. Otherwise puts as many
 * rows as fit into one fragment.
 */
bool stp_fragment_next(struct stp_fragments *fragments, struct stp_fragment *fragment)
{
    const struct stp_strided_copy *rows = &fragments->rows;
    size_t remaining = rows->width - fragments->column;

    if (fragments->row >= rows->n) return false;
    fragment->dest_offset = fragments->row * rows->dest_pitch + fragments->column;
    fragment->source_offset = fragments->row * rows->source_pitch + fragments->column;
    if (rows->width > fragments->max_bytes) {
        fragment->n = 1;
        fragment->width = remaining < fragments->max_bytes ? remaining : fragments->max_bytes;
        fragments->column += fragment->width;
        if (fragments->column < rows->width) return true;
        fragments->column = 0;
        fragments->row++;
        return true;
    }
    fragment->width = rows->width;
    fragment->n = fragments->max_bytes / rows->width;
    if (fragment->n > rows->n - fragments->row) fragment->n = rows->n - fragments->row;
    fragments->row += fragment->n;
    return true;
}

/* ---- words ------------------------------------------------------------------------------ */

static void copy_load_host(void *value, const void *word, size_t nbytes)
{
    /*
     * Pairs with the fence that another PE executes in shmem_fence() or shmem_quiet() before it
     * stores the word.
     */
    switch (nbytes) {
    case 1:
        *(uint8_t *)value = __atomic_load_n((const uint8_t *)word, __ATOMIC_ACQUIRE);
        break;
    case 2:
        *(uint16_t *)value = __atomic_load_n((const uint16_t *)word, __ATOMIC_ACQUIRE);
        break;
    case 4:
        *(uint32_t *)value = __atomic_load_n((const uint32_t *)word, __ATOMIC_ACQUIRE);
        break;
    default:
        *(uint64_t *)value = __atomic_load_n((const uint64_t *)word, __ATOMIC_ACQUIRE);
    }
}

void stp_load_slow(void *value, const void *word, size_t nbytes)
{
    const struct stp_kind *kind = stp_device_kind_of(word);

    if (kind == NULL)
        copy_load_host(value, word, nbytes);
    else
        stp_copy(&stp_ctx_stage, kind, value, word, nbytes, STP_COPY_REMOTE, "shmem_wait_until");
}
