/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements sessions, which are hints about future operations on a context. In a batch session the
 * fabric may collect small operations and send them together. Operations by load and store ignore
 * the hints. Hints do not affect the completion of operations. Design: docs/design/messages.md.
 */
#include "rma.h"

/* Session options that the library uses. All other bits are ignored. */
#define SESSION_OPTIONS SHMEM_CTX_SESSION_BATCH

/*
 * Adds the caller's options to the session of ctx, and copies from config the fields that
 * config_mask selects. If no session is open, opens a session with default values first.
 */
static void session_merge_locked(struct stp_ctx *ctx, long options,
                                 const shmem_ctx_session_config_t *config, long config_mask)
{
    if (!ctx->in_session) {
        ctx->session = 0;
        ctx->session_ops = SIZE_MAX;
    }
    ctx->in_session = true;
    ctx->session |= options & SESSION_OPTIONS;
    if (config_mask & SHMEM_CTX_SESSION_TOTAL_OPS) ctx->session_ops = config->total_ops;
}

void pshmem_ctx_session_start(shmem_ctx_t ctx, long options,
                              const shmem_ctx_session_config_t *config, long config_mask)
{
    struct stp_ctx *c;
    size_t total_ops;
    bool batch;

    if (ctx == SHMEM_CTX_INVALID) return;
    c = stp_ctx_check_live(ctx, __func__);
    if (config == NULL && (config_mask & SHMEM_CTX_SESSION_TOTAL_OPS))
        stp_fatal(__func__,
                  "config is NULL, but config_mask %ld selects config->total_ops: pass a "
                  "configuration, or a mask of 0",
                  config_mask);
    pthread_mutex_lock(&stp_rt.lock);
    session_merge_locked(c, options, config, config_mask);
    batch = (c->session & SHMEM_CTX_SESSION_BATCH) != 0;
    total_ops = c->session_ops;
    pthread_mutex_unlock(&stp_rt.lock);
    if (c->fabric != NULL) stp_rt.fabric.session(c->fabric, batch, total_ops);
}
STP_PROFILED(shmem_ctx_session_start);

void pshmem_ctx_session_stop(shmem_ctx_t ctx)
{
    struct stp_ctx *c;
    bool stopped;

    if (ctx == SHMEM_CTX_INVALID) return;
    c = stp_ctx_check_live(ctx, __func__);
    pthread_mutex_lock(&stp_rt.lock);
    stopped = c->in_session;
    c->in_session = false;
    pthread_mutex_unlock(&stp_rt.lock);
    if (stopped && c->fabric != NULL) stp_rt.fabric.session(c->fabric, false, SIZE_MAX);
}
STP_PROFILED(shmem_ctx_session_stop);
