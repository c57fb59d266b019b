/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target: messages that arrive at the fabric module. The code that handles messages and
 * requests is the real one; libfabric and the rest of the module are replaced here. Input: the
 * requests of this PE, then messages, each with a byte of choices and its length. A message may
 * change regions of this PE, change results up to their requested size, or end the job, and nothing
 * else.
 */
#include "fuzz.h"

#include "transport/ofi/am.h"
#include "transport/ofi/lost_op_by_order.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

enum { OURS = 1, FAILED = 2, A_PE = 4 }; /* choices of a message: token, completion, sender */
enum { N_PES = 4, N_ASKED = 4, N_BOXES = 128, GUARD = 32, LARGE = 4096, SMALL = 24 };

#define TOKEN UINT64_C(0x5a5aa5a50ff0f00f)
#define GUARD_BYTE 0xa5

struct stp_ofi stp_ofi;

static jmp_buf job_end;
static struct inbox_buffer {
    void *work, *bytes;
    size_t nbytes;
} boxes[N_BOXES]; /* that the provider has, in the order it got them */
static unsigned n_boxes;
static unsigned char large[GUARD + LARGE + GUARD] STP_ALIGNED_LINE;
static unsigned char small[GUARD + SMALL + GUARD] STP_ALIGNED_LINE;
static struct {
    unsigned char bytes[8 + GUARD];
    size_t size;
} asked[N_ASKED];

/* ---- the library ----------------------------------------------------------- */

static void log_text(int level, const char *fmt, ...)
{
    char line[2048];
    va_list args;

    (void)level;
    va_start(args, fmt);
    FUZZ_CHECK(vsnprintf(line, sizeof(line), fmt, args) > 0);
    va_end(args);
}

static __attribute__((noreturn)) void end_job(const char *routine, const char *fmt, ...)
{
    char line[2048];
    va_list args;

    (void)routine;
    va_start(args, fmt);
    FUZZ_CHECK(vsnprintf(line, sizeof(line), fmt, args) > 0);
    va_end(args);
    longjmp(job_end, 1);
}

static const struct stp_env env; /* no progress thread: what is owed is answered at once */
static const struct stp_core core = {
    .pe = 1, .n_pes = N_PES, .job_token = TOKEN, .env = &env, .log = log_text, .fatal = end_job};

/* ---- the provider ---------------------------------------------------------- */

static ssize_t take_buffer(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t from,
                           void *context)
{
    (void)ep, (void)desc, (void)from;
    FUZZ_CHECK(n_boxes < N_BOXES);
    boxes[n_boxes++] = (struct inbox_buffer){context, buf, len};
    return 0;
}

static ssize_t inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t to)
{
    (void)ep, (void)buf;
    FUZZ_CHECK(len == sizeof(struct stp_ofi_am_header) && to < N_PES);
    return 0;
}

static struct fi_ops_msg message_ops = {.recv = take_buffer, .inject = inject};
static struct fid_ep endpoint = {.msg = &message_ops};

const char *fi_strerror(int error)
{
    (void)error;
    return "";
}

/* ---- the rest of the module ------------------------------------------------ */

int stp_ofi_reg_internal_if_needed(void *base, size_t nbytes, struct fid_mr **mr)
{
    (void)base, (void)nbytes;
    *mr = NULL;
    return 0;
}

fi_addr_t stp_ofi_addr_slow(struct stp_ofi_endpoint *endpoint, int pe)
{
    (void)endpoint;
    FUZZ_CHECK(pe >= 0 && pe < N_PES);
    return (fi_addr_t)pe;
}

void stp_ofi_message_part_done_locked(struct stp_ofi_req *req)
{
    stp_ofi_req_give(req->pool, req, req);
}

void stp_ofi_post_or_defer_locked(struct stp_ofi_endpoint *endpoint, struct stp_ofi_req *req)
{
    (void)endpoint;
    stp_ofi_req_give(req->pool, req, req);
}

int stp_ofi_poll_cq_once(struct stp_ofi_endpoint *endpoint)
{
    (void)endpoint;
    return 0;
}

void stp_ofi_wait_step(struct stp_ofi_wait *wait)
{
    (void)wait;
    abort(); /* there are more requests than one input takes */
}

/* ---- one input ------------------------------------------------------------- */

static void have_region(unsigned number, unsigned char *memory, size_t nbytes, bool device)
{
    static struct fid_mr mr;

    stp_ofi.regions[number] = (struct stp_ofi_region){
        .mr = &mr, .base = (char *)memory, .nbytes = nbytes, .device = device};
}

/* Once: what later inputs find as it was. */
static void open_module(void)
{
    static fi_addr_t addrs[N_PES];

    stp_ofi.core = &core;
    stp_ofi.by_message = true;
    stp_ofi.packed_size = 1024;
    stp_ofi.inject_size = sizeof(struct stp_ofi_am_header);
    stp_ofi.main.ep = &endpoint;
    stp_ofi.main.addrs = addrs;
    pthread_mutex_init(&stp_ofi.main.drain, NULL);
    have_region(0, large + GUARD, LARGE, false);
    have_region(5, small + GUARD, SMALL, false);
    have_region(6, NULL, LARGE, true); /* not for the CPU */
}

static void ask(unsigned i, int pe, size_t size)
{
    struct stp_target target = {.fn = "fuzz", .pe = pe};
    uint64_t one = 1;
    struct stp_ofi_req *req;

    memset(asked[i].bytes, GUARD_BYTE, sizeof(asked[i].bytes));
    asked[i].size = size;
    req = stp_ofi_amo_message_prepare(&target, STP_AMO_ADD, size, &one, NULL, asked[i].bytes);
    FUZZ_CHECK(stp_ofi_am_try_send(req) == 0);
}

static void check_guard(const unsigned char *from, const unsigned char *to)
{
    for (; from < to; from++)
        FUZZ_CHECK(*from == GUARD_BYTE);
}

static void check_all(void)
{
    check_guard(large, large + GUARD);
    check_guard(large + GUARD + LARGE, large + sizeof(large));
    check_guard(small, small + GUARD);
    check_guard(small + GUARD + SMALL, small + sizeof(small));
    for (int i = 0; i < N_ASKED; i++)
        check_guard(asked[i].bytes + asked[i].size, asked[i].bytes + sizeof(asked[i].bytes));
}

/* A message that is not of this job changes nothing. */
static void deliver(const struct inbox_buffer *box, bool failed)
{
    static unsigned char large_was[sizeof(large)], small_was[sizeof(small)];
    const struct stp_ofi_am_header *header = box->bytes;
    bool strange = failed || header->token != TOKEN || header->pe < 0 || header->pe >= N_PES;

    memcpy(large_was, large, sizeof(large));
    memcpy(small_was, small, sizeof(small));
    stp_ofi_inbox_locked(box->work, failed);
    FUZZ_CHECK(!strange || memcmp(large, large_was, sizeof(large)) == 0);
    FUZZ_CHECK(!strange || memcmp(small, small_was, sizeof(small)) == 0);
}

/* The provider puts a message into the oldest buffer and says so. */
static void arrive(const uint8_t **data, size_t *nbytes)
{
    struct inbox_buffer box = boxes[0];
    uint8_t choices;
    uint16_t len;
    struct stp_ofi_am_header *header = box.bytes;

    fuzz_take(data, nbytes, &choices, sizeof(choices));
    fuzz_take(data, nbytes, &len, sizeof(len));
    if (len > box.nbytes) len = (uint16_t)box.nbytes;
    if (len > *nbytes) len = (uint16_t)*nbytes;
    fuzz_take(data, nbytes, box.bytes, len);
    if (choices & OURS && len >= sizeof(header->token)) header->token = TOKEN;
    if (choices & A_PE && len >= sizeof(*header)) header->pe &= N_PES - 1;
    memmove(boxes, boxes + 1, --n_boxes * sizeof(*boxes));
    deliver(&box, choices & FAILED);
}

static void run(const uint8_t *data, size_t nbytes)
{
    uint8_t params[N_ASKED];

    fuzz_take(&data, &nbytes, params, sizeof(params));
    for (unsigned i = 0; i < N_ASKED; i++)
        ask(i, params[i] >> 2 & (N_PES - 1), (size_t)1 << (params[i] & 3));
    while (nbytes > 0) {
        arrive(&data, &nbytes);
        check_all();
        if (stp_ofi_inbox_lacks()) stp_ofi_inbox_refill_locked();
    }
    stp_ofi_ping_for_lost_messages();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    if (stp_ofi.core == NULL) open_module();
    memset(large, GUARD_BYTE, sizeof(large));
    memset(small, GUARD_BYTE, sizeof(small));
    n_boxes = 0;
    stp_ofi_pools_init(&stp_ofi.main);
    FUZZ_CHECK(stp_ofi_inbox_open() == 0);
    if (setjmp(job_end) == 0) run(data, nbytes);
    check_all();
    stp_ofi_inbox_close();
    stp_ofi_pools_fini(&stp_ofi.main);
    return 0;
}
