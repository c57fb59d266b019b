/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that speaks libfabric and does not belong to the job. It connects to the PEs of the job
 * and tries puts, gets, atomics and messages with keys, addresses and tokens that it guesses.
 *
 * usage: fault_stray tcp|net SECONDS ADDRESS:PORT...     IPv4; tcp stands for tcp;ofi_rxm
 * Prints one line with the results. Exit status 3: a read or an atomic succeeded, which is a
 * security hole. A write or a message counts as done when it has left, so that only the job can
 * report its effect. Exit status 1: the program was not let in, or could not try.
 */
#include <arpa/inet.h>
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "now.h"

#define MAX_TARGETS 256
#define TURN_S 0.15 /* with one endpoint: a target that closes it is met again with another */
#define SLOTS 64    /* operations under way */
#define BYTES 8192

enum kind { WRITE, READ, ATOMIC, FETCH, SEND, LETTER, KINDS };

static const char *const names[KINDS] = {"writes",  "reads", "atomics",
                                         "fetches", "sends", "letters"};

struct slot {
    struct fi_context2 context; /* first */
    enum kind kind;
    bool busy;
};

static struct {
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_cq *cq;
    struct fid_ep *ep;
    struct fid_mr *mr;
    fi_addr_t target;
} fi;

static struct slot slots[SLOTS];
static char buffer[BYTES];
static unsigned long done[KINDS], failed[KINDS], posted[KINDS];

static uint64_t chance(void)
{
    return (uint64_t)random() << 42 ^ (uint64_t)random() << 21 ^ (uint64_t)random();
}

/* ---- guesses ---------------------------------------------------------------- */

static uint64_t key(void)
{
    switch (chance() % 4) {
    case 0:
        return chance() % 64; /* as simple programs number them */
    case 1:
        return chance() | chance() << 63; /* any */
    case 2:
        return (chance() >> 1 & ~4095ull) | chance() % 8; /* right below, wrong above */
    default:
        return UINT64_MAX - chance() % 4;
    }
}

static uint64_t address(void)
{
    switch (chance() % 3) {
    case 0:
        return 0;
    case 1:
        return chance() % (1 << 24) & ~7ull;
    default:
        return chance();
    }
}

static size_t length(void)
{
    return chance() % 2 ? 8 : 1 + chance() % (BYTES - 1);
}

/* What begins like a message between PEs, with a token that is none. */
static size_t letter(void)
{
    uint64_t words[6] = {chance(),
                         chance() % 4096 & ~7ull,
                         chance(),
                         0,
                         (chance() % 4) << 32 | chance() % 64,
                         chance() % 8 | (chance() % 5) << 16 | (chance() % 12) << 24 | 8ull << 32};

    if (chance() % 4 == 0) words[0] = 0;
    memcpy(buffer, words, sizeof(words));
    return sizeof(words);
}

/* ---- an endpoint ------------------------------------------------------------- */

static int find(const char *provider)
{
    struct fi_info *hints = fi_allocinfo();
    /* Since libfabric 1.18, jobs on tcp and net use the native provider tcp, without ofi_rxm. */
    bool native = FI_VERSION_GE(fi_version(), FI_VERSION(1, 18));
    bool rxm = !native && strcmp(provider, "tcp") == 0;
    int rc;

    if (hints == NULL) return -FI_ENOMEM;
    hints->caps = FI_RMA | FI_MSG | (rxm ? FI_ATOMIC : 0);
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->addr_format = FI_SOCKADDR_IN;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_ALLOCATED | FI_MR_ENDPOINT;
    hints->fabric_attr->prov_name = strdup(rxm ? "tcp;ofi_rxm" : native ? "tcp" : provider);
    rc = fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &fi.info);
    fi_freeinfo(hints);
    return rc;
}

static void leave(void)
{
    if (fi.mr != NULL) fi_close(&fi.mr->fid);
    if (fi.ep != NULL) fi_close(&fi.ep->fid);
    if (fi.cq != NULL) fi_close(&fi.cq->fid);
    if (fi.av != NULL) fi_close(&fi.av->fid);
    if (fi.domain != NULL) fi_close(&fi.domain->fid);
    if (fi.fabric != NULL) fi_close(&fi.fabric->fid);
    fi.mr = NULL;
    fi.ep = NULL;
    fi.cq = NULL;
    fi.av = NULL;
    fi.domain = NULL;
    fi.fabric = NULL;
}

static int enter(const struct sockaddr_in *where)
{
    struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_CONTEXT, .size = 256};
    struct fi_av_attr av = {.type = FI_AV_TABLE};
    int rc = fi_fabric(fi.info->fabric_attr, &fi.fabric, NULL);

    memset(slots, 0, sizeof(slots));
    if (rc == 0) rc = fi_domain(fi.fabric, fi.info, &fi.domain, NULL);
    if (rc == 0) rc = fi_av_open(fi.domain, &av, &fi.av, NULL);
    if (rc == 0) rc = fi_cq_open(fi.domain, &cq, &fi.cq, NULL);
    if (rc == 0) rc = fi_endpoint(fi.domain, fi.info, &fi.ep, NULL);
    if (rc == 0) rc = fi_ep_bind(fi.ep, &fi.av->fid, 0);
    if (rc == 0) rc = fi_ep_bind(fi.ep, &fi.cq->fid, FI_TRANSMIT | FI_RECV);
    if (rc == 0) rc = fi_enable(fi.ep);
    if (rc == 0)
        rc = fi_mr_reg(fi.domain, buffer, sizeof(buffer), FI_SEND | FI_RECV | FI_READ | FI_WRITE, 0,
                       1, 0, &fi.mr, NULL);
    if (rc == 0) rc = fi_av_insert(fi.av, where, 1, &fi.target, 0, NULL) == 1 ? 0 : -FI_EINVAL;
    return rc;
}

static ssize_t post(struct slot *slot)
{
    static uint64_t result;
    void *desc = fi_mr_desc(fi.mr);

    switch (slot->kind) {
    case WRITE:
        return fi_write(fi.ep, buffer, length(), desc, fi.target, address(), key(), slot);
    case READ:
        return fi_read(fi.ep, buffer, length(), desc, fi.target, address(), key(), slot);
    case ATOMIC:
        return fi_atomic(fi.ep, buffer, 1, desc, fi.target, address(), key(), FI_UINT64,
                         FI_ATOMIC_WRITE, slot);
    case FETCH:
        return fi_fetch_atomic(fi.ep, buffer, 1, desc, &result, desc, fi.target, address(), key(),
                               FI_UINT64, FI_SUM, slot);
    case SEND:
        return fi_send(fi.ep, buffer, length(), desc, fi.target, slot);
    default:
        return fi_send(fi.ep, buffer, letter(), desc, fi.target, slot);
    }
}

static void collect(void)
{
    struct fi_cq_err_entry error = {0};
    struct fi_cq_entry entry;
    struct slot *slot;
    ssize_t n;

    while ((n = fi_cq_read(fi.cq, &entry, 1)) != -FI_EAGAIN) {
        if (n == -FI_EAVAIL && fi_cq_readerr(fi.cq, &error, 0) < 0) return;
        if (n != 1 && n != -FI_EAVAIL) return;
        slot = n == 1 ? entry.op_context : error.op_context;
        if (slot == NULL) continue;
        n == 1 ? done[slot->kind]++ : failed[slot->kind]++;
        slot->busy = false;
    }
}

static void bother(const struct sockaddr_in *where)
{
    double end = now() + TURN_S;
    int n_kinds = fi.info->caps & FI_ATOMIC ? KINDS : KINDS - 2;

    while (now() < end && enter(where) == 0) {
        for (int i = 0; now() < end; i = (i + 1) % SLOTS) {
            int kind = (int)(chance() % (unsigned)n_kinds);

            collect();
            if (slots[i].busy) continue;
            slots[i].kind = n_kinds != KINDS && kind >= ATOMIC ? kind + 2 : kind;
            slots[i].busy = post(&slots[i]) == 0;
            posted[slots[i].kind] += slots[i].busy;
        }
    }
    leave();
}

int main(int argc, char **argv)
{
    struct sockaddr_in targets[MAX_TARGETS] = {0};
    double end;
    int n = 0;

    for (int i = 3; i < argc && n < MAX_TARGETS; i++) {
        char host[64];
        int port;

        if (sscanf(argv[i], "%63[^:]:%d", host, &port) != 2) return 1;
        targets[n].sin_family = AF_INET;
        targets[n].sin_port = htons((uint16_t)port);
        if (inet_pton(AF_INET, host, &targets[n++].sin_addr) != 1) return 1;
    }
    srandom(20260102);
    if (n == 0 || find(argv[1]) != 0) {
        printf("stray: no target, or libfabric has no such provider here\n");
        return 1;
    }
    end = now() + atof(argv[2]);
    for (int i = 0; now() < end; i = (i + 1) % n)
        bother(&targets[i]);
    printf("stray:");
    for (int i = 0; i < KINDS; i++)
        printf(" %lu %s (%lu done, %lu refused)", posted[i], names[i], done[i], failed[i]);
    printf("\n");
    if (posted[READ] + failed[READ] == 0) return 1;
    return done[READ] + done[ATOMIC] + done[FETCH] > 0 ? 3 : 0;
}
