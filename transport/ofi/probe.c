/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether a provider does what it promises: a put, a get, an atomic and a flag behind data, from
 * this PE to itself through the provider, before the job relies on it. The endpoint used for it
 * is closed again, so that nothing of the trial is left.
 * Design: docs/design/fabric.md.
 */
#include "ofi.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LIMIT_NS 2000000000ull /* for one operation: providers connect first */
#define WORDS 512
#define REGION 0
#define ONE_LANE (&stp_ofi.main)

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Post and wait until *pending is zero. 0, -FI_ETIMEDOUT, or what the provider says. */
static int run(struct stp_ofi_req *req, atomic_uint *pending)
{
    uint64_t end = now_ns() + LIMIT_NS;
    ssize_t rc;

    while ((rc = stp_ofi_post_once(req)) == -FI_EAGAIN && now_ns() < end)
        stp_ofi_drain(ONE_LANE);
    if (rc != 0) return rc == -FI_EAGAIN ? -FI_ETIMEDOUT : (int)rc;
    while (atomic_load_explicit(pending, memory_order_acquire) != 0) {
        if (now_ns() > end) return -FI_ETIMEDOUT;
        if (stp_ofi_drain(ONE_LANE) == 0) sched_yield();
    }
    return -stp_ofi.failure;
}

static int run_rma(enum stp_ofi_kind kind, size_t offset, void *local, size_t nbytes)
{
    struct stp_ofi_pieces pieces = stp_ofi_cut(kind, local, nbytes);
    atomic_uint pending = 1;
    struct stp_ofi_req *req = stp_ofi_req_take(&ONE_LANE->pools[STP_OFI_PLAIN], kind, 0);

    stp_ofi_aim(req, REGION, offset);
    req->local = local;
    req->nbytes = nbytes;
    req->desc = pieces.desc;
    req->lease = pieces.lease;
    req->pending = &pending;
    return run(req, &pending);
}

static int run_amo(struct stp_fabric_ctx *ctx, enum stp_fabric_amo op, size_t offset,
                   uint64_t operand, uint64_t compare, uint64_t *result)
{
    struct stp_ofi_req *req =
        stp_ofi_atomic(ctx, 0, REGION, offset, op, STP_U64, &operand, &compare, result);
    atomic_uint pending = 1;

    req->pending = &pending;
    return run(req, &pending);
}

static uint64_t word(size_t i)
{
    return 0x9e3779b97f4a7c15u * (i + 1);
}

/* Data there and back: words [0, n) of the region; local must not be taken for it. */
static int try_data(uint64_t *region, uint64_t *local, const char **why)
{
    size_t n = WORDS / 2, nbytes = n * sizeof(*local);
    int rc;

    for (size_t i = 0; i < n; i++)
        local[i] = word(i);
    *why = "failed a put to itself";
    if ((rc = run_rma(STP_OFI_WRITE, 0, local, nbytes)) != 0) return rc;
    *why = "completed a put to itself that had not arrived";
    if (memcmp(region, local, nbytes) != 0) return -EIO;
    memset(local, 0, nbytes);
    *why = "failed a get from itself";
    if ((rc = run_rma(STP_OFI_READ, 0, local, nbytes)) != 0) return rc;
    *why = "got wrong bytes from itself";
    return memcmp(region, local, nbytes) == 0 ? 0 : -EIO;
}

/* The operations that the standard needs most, on the last word. */
static int try_atomics(struct stp_fabric_ctx *ctx, uint64_t *region, const char **why)
{
    size_t offset = (WORDS - 1) * sizeof(*region);
    volatile uint64_t *flag = &region[WORDS - 1];
    uint64_t old = 0;
    int rc;

    *why = "failed an atomic to itself";
    if ((rc = run_amo(ctx, STP_AMO_SET, offset, 5, 0, NULL)) != 0) return rc;
    *why = "completed a flag to itself that had not arrived";
    if (*flag != 5) return -EIO;
    *why = "failed a fetching atomic to itself";
    if ((rc = run_amo(ctx, STP_AMO_ADD, offset, 2, 0, &old)) != 0) return rc;
    if ((rc = run_amo(ctx, STP_AMO_CSWAP, offset, 9, 7, &old)) != 0) return rc;
    *why = "computed an atomic to itself wrongly";
    return old == 7 && *flag == 9 ? 0 : -EIO;
}

static int try_all(struct stp_fabric_ctx *ctx, uint64_t *region, uint64_t *local, const char **why)
{
    struct stp_fabric_region mine;
    size_t nbytes = WORDS * sizeof(*region);
    int rc;

    *why = "cannot register memory";
    rc = stp_ofi_region_add(REGION, region, nbytes, STP_MEMORY_HOST, 0, &mine);
    if (rc == 0) rc = stp_ofi_region_peers(REGION, &mine);
    if (rc != 0) return rc;
    rc = try_data(region, local, why);
    return rc != 0 ? rc : try_atomics(ctx, region, why);
}

static int connect_self(const char **why)
{
    unsigned char own[STP_FABRIC_ADDR_MAX];
    size_t len;
    int rc = stp_ofi_endpoint_name(own, &len);

    *why = "has no address";
    if (rc == 0) rc = stp_ofi_connect(own);
    return rc;
}

int stp_ofi_probe(const char **why)
{
    uint64_t *memory = calloc(2 * WORDS, sizeof(*memory));
    struct stp_fabric_ctx *ctx = NULL;
    int rc = memory != NULL ? 0 : -ENOMEM;

    *why = "no memory";
    /* Failures come back here instead of ending the job; and no short cut to itself. */
    stp_ofi_finish();
    stp_ofi.self = -1;
    stp_ofi.failure = 0;
    if (rc == 0) rc = connect_self(why);
    if (rc == 0) rc = stp_ofi_ctx_create(false, &ctx);
    if (rc == 0) rc = try_all(ctx, memory, memory + WORDS, why);
    stp_ofi_ctx_destroy(ctx);
    stp_ofi_region_remove(REGION);
    stp_ofi_endpoint_close();
    free(memory);
    return rc;
}
