/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests a provider before the job relies on it. This PE performs operations on its own memory
 * through the provider: a put, a get, atomics, and a put with a flag. The endpoint of the test is
 * closed afterwards, so that nothing of the test remains. Design: docs/design/providers.md.
 */
#include "ofi_internal.h"

#include "provider_report.h"
#include "peer_liveness_and_fd_limits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_NS 20000000000ull /* time limit of one operation, including its connection set-up */
#define SHORT_NS 500000000ull   /* time after which a wait checks for free descriptors */
#define REGION 0
#define ONE_ENDPOINT (&stp_ofi.main)

int stp_ofi_probe_fds = -1;

/*
 * Returns whether an operation hangs because no descriptor is free. The provider then retries
 * accept() forever. The argument begin is the time at which the operation started.
 */
static bool is_out_of_fds(uint64_t begin)
{
    return stp_now_ns() - begin > SHORT_NS && stp_ofi_fds_exhausted();
}

/* Posts the request and waits until *pending is 0. Returns 0, -FI_ETIMEDOUT, or another -errno. */
static int run(struct stp_ofi_req *req, unsigned *pending)
{
    uint64_t begin = stp_now_ns(), end = begin + LIMIT_NS;
    ssize_t rc;

    while ((rc = stp_ofi_post_once(req)) == -FI_EAGAIN && stp_now_ns() < end) {
        if (is_out_of_fds(begin)) return -EMFILE;
        stp_ofi_poll_cq_once(ONE_ENDPOINT);
    }
    if (rc != 0) return rc == -FI_EAGAIN ? -FI_ETIMEDOUT : (int)rc;
    /* Pairs with the subtraction in finish_locked(). */
    while (__atomic_load_n(pending, __ATOMIC_ACQUIRE) != 0) {
        if (stp_now_ns() > end) return -FI_ETIMEDOUT;
        if (is_out_of_fds(begin)) return -EMFILE;
        if (stp_ofi_poll_cq_once(ONE_ENDPOINT) == 0) stp_yield_or_sleep(0);
    }
    return -stp_ofi.failure;
}

/* Performs a put or get in fragments. A put carries *word as remote CQ data unless word is NULL. */
static int run_rma(enum stp_ofi_kind kind, size_t offset, char *local, size_t nbytes,
                   const uint64_t *word)
{
    struct stp_target target = {.fn = "probe", .number = REGION, .offset = offset};
    struct stp_ofi_fragments fragments = stp_ofi_cut(kind, &target, local, nbytes);
    int rc = 0;

    for (size_t done = 0; done < nbytes && rc == 0; done += fragments.size) {
        size_t n = nbytes - done < fragments.size ? nbytes - done : fragments.size;
        struct stp_ofi_req *req = stp_ofi_req_prepare_one_fragment(ONE_ENDPOINT, kind, &target,
                                                                   &fragments, local + done, n);
        unsigned pending = 1;

        req->has_word = word != NULL;
        if (word != NULL) req->word = *word;
        stp_ofi_count_on(req, &pending);
        rc = run(req, &pending);
        target.offset += n;
    }
    return rc;
}

static int run_amo(struct stp_fabric_ctx *ctx, enum stp_fabric_amo op, size_t offset,
                   uint64_t operand, uint64_t compare, uint64_t *result)
{
    struct stp_target target = {.fn = "probe", .number = REGION, .offset = offset};
    struct stp_ofi_req *req =
        stp_ofi_atomic_prepare(ctx, &target, op, STP_U64, &operand, &compare, result);
    unsigned pending = 1;

    stp_ofi_count_on(req, &pending);
    return run(req, &pending);
}

static uint64_t word(size_t i)
{
    return 0x9e3779b97f4a7c15u * (i + 1);
}

/* Tests a put and a get of n 8-byte words at the start of the region. */
static int try_data(const uint64_t *region, uint64_t *local, size_t n, const char **reason)
{
    size_t nbytes = n * sizeof(*local);
    int rc;

    for (size_t i = 0; i < n; i++)
        local[i] = word(i + n);
    *reason = "failed a put to itself";
    if ((rc = run_rma(STP_OFI_WRITE, 0, (char *)local, nbytes, NULL)) != 0) return rc;
    *reason = "completed a put to itself before the data had arrived";
    if (memcmp(region, local, nbytes) != 0) return -EIO;
    memset(local, 0, nbytes);
    *reason = "failed a get from itself";
    if ((rc = run_rma(STP_OFI_READ, 0, (char *)local, nbytes, NULL)) != 0) return rc;
    *reason = "returned wrong data for a get from itself";
    return memcmp(region, local, nbytes) == 0 ? 0 : -EIO;
}

/* Tests a put that carries a flag update, which the target's library applies. */
static int try_word(uint64_t *region, size_t index, uint64_t *local, const char **reason)
{
    volatile uint64_t *word = &region[index];
    struct stp_target target = {.number = REGION, .offset = index * sizeof(*region)};
    uint64_t begin = stp_now_ns(), data;
    int rc;

    if (!stp_ofi.has_cqdata) return 0;
    *word = 3;
    *reason = "failed a put with remote CQ data to itself";
    if (!stp_ofi_cqdata_pack(&target, 4, STP_AMO_ADD, &data)) return -EIO;
    if ((rc = run_rma(STP_OFI_WRITE, 0, (char *)local, sizeof(*local), &data)) != 0) return rc;
    *reason = "lost the remote CQ data of a put to itself";
    while (*word != 7) {
        if (stp_now_ns() - begin > LIMIT_NS) return -FI_ETIMEDOUT;
        if (stp_ofi_poll_cq_once(ONE_ENDPOINT) == 0) stp_yield_or_sleep(0);
    }
    return 0;
}

/* Tests the most important atomics on the word region[at]. */
static int try_atomics(struct stp_fabric_ctx *ctx, uint64_t *region, size_t index,
                       const char **reason)
{
    size_t offset = index * sizeof(*region);
    volatile uint64_t *flag = &region[index];
    uint64_t old = 0;
    int rc;

    *reason = "failed an atomic to itself";
    if ((rc = run_amo(ctx, STP_AMO_SET, offset, 5, 0, NULL)) != 0) return rc;
    *reason = "completed an atomic set to itself before the value had arrived";
    if (*flag != 5) return -EIO;
    *reason = "failed a fetching atomic to itself";
    if ((rc = run_amo(ctx, STP_AMO_ADD, offset, 2, 0, &old)) != 0) return rc;
    if ((rc = run_amo(ctx, STP_AMO_CSWAP, offset, 9, 7, &old)) != 0) return rc;
    *reason = "computed a wrong result for an atomic to itself";
    return old == 7 && *flag == 9 ? 0 : -EIO;
}

/*
 * Registers the memory of the test, and tests puts, gets, a put with a flag, and atomics. The puts
 * and gets are first small, and then larger than a bounce buffer.
 */
static int try_all(struct stp_fabric_ctx *ctx, uint64_t *region, uint64_t *local, size_t n_words,
                   const char **reason)
{
    struct stp_fabric_region my_region;
    int rc;

    *reason = "cannot register memory";
    rc = stp_ofi_region_add(REGION, region, n_words * sizeof(*region), STP_MEMORY_HOST, 0,
                            &my_region);
    if (rc == 0) rc = stp_ofi_region_peers(REGION, &my_region);
    if (rc == 0) rc = try_data(region, local, 1, reason);
    if (rc == 0) rc = try_data(region, local, n_words - 1, reason);
    if (rc == 0) rc = try_word(region, n_words - 1, local, reason);
    return rc != 0 ? rc : try_atomics(ctx, region, n_words - 1, reason);
}

static int connect_self(const char **reason)
{
    /* Static, because the module keeps a pointer to this array after the function returns. */
    static unsigned char my_addr[STP_FABRIC_ADDR_MAX];
    size_t len;
    int rc = stp_ofi_make_published_address(my_addr, &len);

    *reason = "does not report its address";
    if (rc == 0) rc = stp_ofi_connect(my_addr);
    return rc;
}

int stp_ofi_provider_self_test(const char **reason)
{
    size_t n_words = stp_ofi.bounce_size / sizeof(uint64_t) + 512;
    uint64_t *memory = calloc(2 * n_words, sizeof(*memory));
    struct stp_fabric_ctx *ctx = NULL;
    int rc = memory != NULL ? 0 : -ENOMEM;

    *reason = "there is not enough memory for its test";
    /*
     * Mark the job as ending, so that a failed operation stores its error in stp_ofi.failure and
     * does not end the job. Set self to -1, so that operations of this PE on itself use the
     * provider instead of the CPU.
     */
    stp_ofi_set_job_ending();
    stp_ofi.self = -1;
    stp_ofi.failure = 0;
    if (rc == 0) rc = connect_self(reason);
    if (rc == 0) rc = stp_ofi_ctx_create(false, &ctx);
    if (rc == 0) rc = try_all(ctx, memory, memory + n_words, n_words, reason);
    stp_ofi_probe_fds = stp_ofi.core->report != NULL ? stp_count_fds() : -1;
    stp_ofi_ctx_free(ctx);
    stp_ofi_region_remove(REGION);
    stp_ofi_close_endpoint_domain_fabric();
    free(memory);
    return rc;
}
