/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests a provider before the job relies on it. This PE performs operations on its own memory
 * through the provider: a put, a get, atomics, and a put with a flag. If the progress of the
 * provider is not known, a second endpoint of this process then plays a PE that sleeps. The
 * endpoints of the test are closed afterwards, so that nothing of the test remains.
 * Design: docs/design/providers.md.
 */
#include "ofi_internal.h"

#include "provider_report.h"
#include "peer_liveness_and_fd_limits.h"

#include <errno.h>
#include <poll.h>
#include <rdma/fi_cm.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_NS 20000000000ull /* time limit of one operation, including its connection set-up */
#define SHORT_NS 500000000ull   /* time after which a wait checks for free descriptors */
#define REGION 0
#define ONE_ENDPOINT (&stp_ofi.main)
#define SLEEPER_LIMIT_NS 2000000000ull /* time limit of one operation on the sleeper */
#define ANSWER_NS 20000000ull          /* time in which the sleeper must answer an operation */
#define CROWDED_ANSWER_NS 250000000ull /* the same if PEs share cores */

int stp_ofi_probe_fds = -1;

/* The second endpoint, which plays a PE that sleeps. Its descriptor is stp_ofi.wait_fd. */
static struct {
    struct stp_ofi_endpoint *endpoint; /* NULL while operations are on this PE's own memory */
    struct fid_mr *mr;
    /*
     * How the PE that the endpoint plays makes progress: by a thread that polls the queue, by a
     * thread that sleeps on the descriptor, or without a thread, so that only the provider can
     * answer.
     */
    enum { POLLS, SLEEPS_ON_FD, NO_THREAD } state;
    bool armed; /* whether fi_trywait() has allowed a sleep since the last poll of the queue */
    int n_late; /* number of operations that the sleeper has not answered in time */
} sleeper;

static bool is_crowded(void)
{
    return stp_ofi.core->n_cores != 0 && stp_ofi.core->n_local > stp_ofi.core->n_cores;
}

/*
 * Does what the sleeper's progress thread would do now. A thread that sleeps on the descriptor
 * polls the queue after each event, and then calls fi_trywait() once. If the operation that was
 * started at the time begin is late, the sleeper polls, so that the operation ends.
 */
static void sleeper_step(uint64_t begin)
{
    struct pollfd fd = {.fd = stp_ofi.wait_fd, .events = POLLIN};
    struct fi_cq_data_entry entry;
    struct fid *queue;

    if (sleeper.endpoint == NULL) return;
    if (sleeper.state == NO_THREAD || (sleeper.armed && poll(&fd, 1, 0) <= 0)) {
        if (stp_now_ns() - begin <= (is_crowded() ? CROWDED_ANSWER_NS : ANSWER_NS)) return;
        sleeper.n_late++;
        sleeper.armed = false;
        sleeper.state = POLLS;
    }
    queue = &sleeper.endpoint->cq->fid;
    while (fi_cq_read(sleeper.endpoint->cq, &entry, 1) > 0)
        continue;
    sleeper.armed =
        sleeper.state == SLEEPS_ON_FD && fi_trywait(sleeper.endpoint->fabric, &queue, 1) == 0;
}

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
    uint64_t begin = stp_now_ns();
    uint64_t end = begin + (sleeper.endpoint != NULL ? SLEEPER_LIMIT_NS : LIMIT_NS);
    ssize_t rc;

    sleeper_step(begin); /* Let the sleeper fall asleep before the operation reaches it. */
    while ((rc = stp_ofi_post_once(req)) == -FI_EAGAIN && stp_now_ns() < end) {
        if (is_out_of_fds(begin)) return -EMFILE;
        sleeper_step(begin);
        stp_ofi_poll_cq_once(ONE_ENDPOINT);
    }
    if (rc != 0) return rc == -FI_EAGAIN ? -FI_ETIMEDOUT : (int)rc;
    /* Pairs with the subtraction in finish_locked(). */
    while (__atomic_load_n(pending, __ATOMIC_ACQUIRE) != 0) {
        if (stp_now_ns() > end) return -FI_ETIMEDOUT;
        if (is_out_of_fds(begin)) return -EMFILE;
        if (stp_ofi_poll_cq_once(ONE_ENDPOINT) > 0) continue; /* the sleeper has answered */
        sleeper_step(begin);
        stp_yield_or_sleep(0);
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

/* ---- a PE that sleeps ----------------------------------------------------------- */

/* Registers the region with the sleeper, so that operations on PE 0 reach the sleeper. */
static int sleeper_register(uint64_t *region, size_t nbytes)
{
    struct stp_ofi_endpoint *endpoint = sleeper.endpoint;
    struct stp_fabric_region part;
    int rc = fi_mr_reg(endpoint->domain, region, nbytes, FI_REMOTE_READ | FI_REMOTE_WRITE, 0,
                       stp_ofi.key_base + REGION, 0, &sleeper.mr, NULL);

    if (rc == 0 && stp_ofi.info->domain_attr->mr_mode & FI_MR_ENDPOINT) {
        rc = fi_mr_bind(sleeper.mr, &endpoint->ep->fid, 0);
        if (rc == 0) rc = fi_mr_enable(sleeper.mr);
    }
    if (rc != 0) return rc;
    part = stp_ofi_mr_describe(sleeper.mr, region);
    return stp_ofi_region_peers(REGION, &part);
}

/* Opens the sleeper and replaces the address of PE 0 by its address. */
static int sleeper_open(uint64_t *region, size_t nbytes)
{
    struct stp_ofi_endpoint *endpoint = aligned_alloc(STP_CACHE_LINE, sizeof(*endpoint));
    unsigned char addr[STP_FABRIC_ADDR_MAX] = {0};
    size_t len = sizeof(addr);
    const char *reason;
    fi_addr_t fi_addr;
    int rc;

    if (endpoint == NULL) return -ENOMEM;
    memset(endpoint, 0, sizeof(*endpoint));
    sleeper.endpoint = endpoint;
    rc = stp_ofi_domain_open(endpoint, &reason);
    if (rc == 0) rc = stp_ofi_endpoint_open(endpoint, stp_ofi.wait_fd >= 0, &reason);
    if (rc == 0) rc = stp_ofi_endpoint_connect(endpoint);
    if (rc == 0) rc = sleeper_register(region, nbytes);
    if (rc == 0) rc = fi_getname(&endpoint->ep->fid, addr, &len);
    if (rc == 0 && fi_av_insert(ONE_ENDPOINT->av, addr, 1, &fi_addr, 0, NULL) != 1)
        rc = -FI_EADDRNOTAVAIL;
    if (rc == 0) ONE_ENDPOINT->addrs[0] = ~fi_addr;
    return rc;
}

/* With psm3 of libfabric 2.6, closing an endpoint that is connected takes up to 2 s. */
static void sleeper_close(void)
{
    struct stp_ofi_endpoint *endpoint = sleeper.endpoint;

    if (endpoint == NULL) return;
    if (sleeper.mr != NULL) fi_close(&sleeper.mr->fid);
    stp_ofi_endpoint_close(endpoint);
    stp_ofi_domain_close(endpoint);
    free(endpoint);
    memset(&sleeper, 0, sizeof(sleeper));
}

/*
 * Returns whether a PE that sleeps answers a get, a put and a fetch-add. With FI_PROGRESS_AUTO, the
 * provider must execute them without any call. With manual progress, the descriptor of the
 * completion queue must wake the progress thread, unless an adapter executes the operation.
 */
static bool answers_asleep(struct stp_fabric_ctx *ctx, uint64_t *region, uint64_t *local,
                           size_t nbytes)
{
    bool automatic = stp_ofi.info->domain_attr->data_progress == FI_PROGRESS_AUTO;
    char *word = (char *)local;
    uint64_t old;
    int rc, asleep;

    /* Without a descriptor the progress thread polls, and needs no other thread that polls. */
    if (stp_ofi.wait_fd < 0 && (!automatic || stp_ofi.core->env->ofi_progress_thread)) return false;
    rc = sleeper_open(region, nbytes);
    /* The first operation connects the endpoints, for which the sleeper may have to poll. */
    if (rc == 0) rc = run_rma(STP_OFI_READ, 0, word, sizeof(*local), NULL);
    asleep = automatic ? NO_THREAD : SLEEPS_ON_FD;
    sleeper.state = asleep;
    if (rc == 0) rc = run_rma(STP_OFI_READ, 0, word, sizeof(*local), NULL);
    sleeper.state = asleep;
    if (rc == 0) rc = run_rma(STP_OFI_WRITE, 0, word, sizeof(*local), NULL);
    sleeper.state = asleep;
    if (rc == 0 && !stp_ofi.by_message) rc = run_amo(ctx, STP_AMO_ADD, 0, 1, 0, &old);
    return rc == 0 && sleeper.n_late < 2; /* a busy machine may delay one answer */
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
    stp_ofi.naps = rc == 0 && stp_ofi_provider_of(stp_ofi.info)->progress != FI_PROGRESS_MANUAL &&
                   !answers_asleep(ctx, memory, memory + n_words, n_words * sizeof(*memory));
    stp_ofi_ctx_free(ctx);
    stp_ofi_region_remove(REGION);
    sleeper_close();
    stp_ofi_close_endpoint_domain_fabric();
    free(memory);
    return rc;
}
