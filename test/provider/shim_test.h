/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For tests of the provider shim: a process that communicates with itself through libfabric,
 * follows the rules of the provider that PROVSHIM selects, and captures what it prints to stderr.
 */
#ifndef STP_PROVSHIM_TEST_H
#define STP_PROVSHIM_TEST_H

#include "test/unit/unit.h"

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define LOCAL (FI_READ | FI_WRITE | FI_SEND | FI_RECV)
#define REMOTE (FI_REMOTE_READ | FI_REMOTE_WRITE)
#define ALL_MODES                                                                                  \
    (FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT)

enum { WORDS = 64, KEY = 77, TEXT = 4096 };

static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_cq *cq;
static struct fid_av *av;
static struct fid_ep *ep;
static struct fid_mr *target_mr, *local_mr;
static fi_addr_t self;
static uint64_t target[WORDS], local[WORDS]; /* of peers; of this side */
static struct fi_context2 contexts[WORDS];

/* ---- opening ---------------------------------------------------------------------- */

static inline int ask(int mr_mode, uint64_t mode, uint64_t order)
{
    struct fi_info *hints = fi_allocinfo();
    int rc;

    hints->caps = FI_RMA | FI_ATOMIC | FI_MSG;
    hints->mode = mode;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode = mr_mode;
    hints->tx_attr->msg_order = order;
    rc = fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info);
    fi_freeinfo(hints);
    return rc;
}

static inline void need(bool ok, const char *what)
{
    if (ok) return;
    fprintf(stderr, "expected %s\n", what);
    exit(3);
}

/* A region that works, whatever the provider wants for it. */
static inline struct fid_mr *region(void *base, size_t nbytes, uint64_t access, uint64_t key)
{
    struct fid_mr *mr;

    need(fi_mr_reg(domain, base, nbytes, access, 0, key, 0, &mr, NULL) == 0,
         "fi_mr_reg to succeed");
    if (!(info->domain_attr->mr_mode & FI_MR_ENDPOINT)) return mr;
    need(fi_mr_bind(mr, &ep->fid, 0) == 0, "fi_mr_bind to succeed");
    need(fi_mr_enable(mr) == 0, "fi_mr_enable to succeed");
    return mr;
}

/* One to sleep on, where the provider has such. */
static inline void open_cq(void)
{
    struct fi_cq_attr attr = {.format = FI_CQ_FORMAT_DATA, .wait_obj = FI_WAIT_FD};

    if (fi_cq_open(domain, &attr, &cq, NULL) == 0) return;
    attr.wait_obj = FI_WAIT_NONE;
    need(fi_cq_open(domain, &attr, &cq, NULL) == 0, "fi_cq_open to succeed");
}

static inline void open_as(const char *modes)
{
    struct fi_av_attr av_attr = {.type = FI_AV_TABLE};
    char name[256];
    size_t len = sizeof(name);

    for (int sig = 1; sig < NSIG; sig++)
        signal(sig, SIG_DFL); /* libraries below libfabric have made exits of them */
    setenv("PROVSHIM", modes, 1);
    need(ask(ALL_MODES, FI_CONTEXT | FI_CONTEXT2, 0) == 0, "fi_getinfo to list the provider");
    need(fi_fabric(info->fabric_attr, &fabric, NULL) == 0, "fi_fabric to succeed");
    need(fi_domain(fabric, info, &domain, NULL) == 0, "fi_domain to succeed");
    open_cq();
    need(fi_av_open(domain, &av_attr, &av, NULL) == 0, "fi_av_open to succeed");
    need(fi_endpoint(domain, info, &ep, NULL) == 0, "fi_endpoint to succeed");
    need(fi_ep_bind(ep, &av->fid, 0) == 0, "fi_ep_bind to succeed");
    need(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV) == 0,
         "fi_ep_bind of the queue to succeed");
    need(fi_enable(ep) == 0, "fi_enable to succeed");
    need(fi_getname(&ep->fid, name, &len) == 0, "fi_getname to succeed");
    need(fi_av_insert(av, name, 1, &self, 0, NULL) == 1, "fi_av_insert to insert one address");
    target_mr = region(target, sizeof(target), REMOTE, KEY);
    local_mr = region(local, sizeof(local), LOCAL, KEY + 1);
}

static inline void close_all(void)
{
    need(fi_close(&target_mr->fid) == 0, "fi_close of the region for peers to succeed");
    need(fi_close(&ep->fid) == 0, "fi_close of the endpoint to succeed");
    need(fi_close(&local_mr->fid) == 0,
         "fi_close of the local region to succeed after its endpoint");
    fi_close(&av->fid);
    fi_close(&cq->fid);
    fi_close(&domain->fid);
    fi_close(&fabric->fid);
    fi_freeinfo(info);
}

/* ---- operations --------------------------------------------------------------------- */

/* Where peers find word i. */
static inline uint64_t at(int i)
{
    bool virtual = info->domain_attr->mr_mode & FI_MR_VIRT_ADDR;

    return (virtual ? (uintptr_t)target : 0) + 8 * (uint64_t)i;
}

static inline ssize_t write_word_and_data(int to, int from, void *desc, uint64_t flags,
                                          uint64_t data)
{
    struct iovec iov = {&local[from], 8};
    struct fi_rma_iov rma = {at(to), 8, fi_mr_key(target_mr)};
    struct fi_msg_rma msg = {.msg_iov = &iov,
                             .desc = &desc,
                             .iov_count = 1,
                             .addr = self,
                             .rma_iov = &rma,
                             .rma_iov_count = 1,
                             .context = &contexts[from],
                             .data = data};

    return fi_writemsg(ep, &msg, flags | FI_COMPLETION);
}

static inline ssize_t write_word(int to, int from, void *desc, uint64_t flags)
{
    return write_word_and_data(to, from, desc, flags, 0);
}

static inline ssize_t add_to_word(int i, void *desc, void *result_desc)
{
    return fi_fetch_atomic(ep, &local[0], 1, desc, &local[1], result_desc, self, at(i),
                           fi_mr_key(target_mr), FI_UINT64, FI_SUM, &contexts[0]);
}

static inline void *desc_of(struct fid_mr *mr)
{
    return fi_mr_desc(mr);
}

/* The next completion. */
static inline void *completion(void)
{
    struct fi_cq_data_entry entry;
    ssize_t rc;

    while ((rc = fi_cq_read(cq, &entry, 1)) == -FI_EAGAIN)
        ;
    need(rc == 1, "a completion without an error");
    return entry.op_context;
}

/* Until it is taken. */
static inline void write_surely(int to, int from, uint64_t flags)
{
    struct fi_cq_data_entry entry;
    ssize_t rc;

    while ((rc = write_word(to, from, desc_of(local_mr), flags)) == -FI_EAGAIN)
        need(fi_cq_read(cq, &entry, 0) <= 0,
             "fi_cq_read to return no completion while the write is refused");
    need(rc == 0, "fi_writemsg to return 0");
}

static inline long shim_count(const char *what)
{
    long (*count)(const char *) =
        (long (*)(const char *))(uintptr_t)dlsym(RTLD_DEFAULT, "provshim_count");

    return count(what);
}

/* The first operation connects, for which some providers refuse others. */
static inline void start_as(const char *modes)
{
    open_as(modes);
    write_surely(WORDS - 1, WORDS - 1, FI_DELIVERY_COMPLETE);
    completion();
}

/* ---- running ---------------------------------------------------------------------- */

/* In a process of its own, whose words are kept. Returns its wait status. */
static inline int run(char text[TEXT], const char *modes, void (*body)(void))
{
    int fd = memfd_create("words", MFD_CLOEXEC), status;
    ssize_t n;
    pid_t pid = fork();

    ck_assert(fd >= 0 && pid >= 0);
    if (pid == 0) {
        dup2(fd, STDERR_FILENO);
        alarm(20);
        start_as(modes);
        body();
        exit(0);
    }
    waitpid(pid, &status, 0);
    n = pread(fd, text, TEXT - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    close(fd);
    return status;
}

/* Start again with the shim in front. */
static inline int run_again(char **argv)
{
    setenv("PROVSHIM_AGAIN", "1", 1);
    setenv("FI_OFI_RXM_BUFFER_SIZE", "1024", 0); /* 16 KiB would take 70 MB and their time */
    setenv("LD_PRELOAD", PROVSHIM_LIBRARY, 1);
    execv("/proc/self/exe", argv);
    perror("exec");
    return 2;
}

int main(int argc, char **argv)
{
    (void)argc;
    return getenv("PROVSHIM_AGAIN") == NULL ? run_again(argv) : unit_run();
}

#endif /* STP_PROVSHIM_TEST_H */
