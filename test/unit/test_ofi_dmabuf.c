/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests how the fabric module registers device memory by a file descriptor
 * (transport/ofi/region.c): which provider gets a descriptor, its contents, what follows a refusal,
 * and that no descriptor stays open. The test plays the provider and the version of libfabric.
 * CTest runs the program as unit.ofi_dmabuf.
 */
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The structure as libfabric 1.20 and later have it, whatever the headers are. */
#define fi_mr_attr fi_mr_attr_of_headers
#define fi_mr_regattr fi_mr_regattr_of_headers
#include <rdma/fi_domain.h>
#undef fi_mr_attr
#undef fi_mr_regattr
#ifndef FI_MR_DMABUF
#define FI_MR_DMABUF (1ull << 40)
struct fi_mr_dmabuf {
    int fd;
    uint64_t offset;
    size_t len;
    void *base_addr;
};
#endif

struct fi_mr_attr {
    union {
        const struct iovec *mr_iov;
        const struct fi_mr_dmabuf *dmabuf;
    };
    size_t iov_count;
    uint64_t access, requested_key;
    enum fi_hmem_iface iface;
    union {
        uint64_t reserved;
        int cuda;
    } device;
};

static int fi_mr_regattr(struct fid_domain *domain, const struct fi_mr_attr *attr, uint64_t flags,
                         struct fid_mr **mr);

#include "transport/ofi/provider_table.c"

#include "transport/ofi/region_mr.c" /* what region.c stands on */
#include "transport/ofi/region.c"
#include "unit.h"

enum { NUMBER = 5, NBYTES = 70000, OFFSET = 512 };

static char memory[NBYTES];
static uint32_t version;
static bool has_descriptor, takes_descriptor;
static int given = -1; /* the descriptor */
static int n_asked, n_by_descriptor, n_by_address;
static struct fid_mr registration;

/* ---- what the module stands on -------------------------------------------------- */

struct stp_ofi stp_ofi;

uint32_t fi_version(void)
{
    return version;
}

void stp_ofi_local_mr_index_add(unsigned number)
{
    ck_assert_uint_eq(number, NUMBER);
}

void stp_ofi_local_mr_index_remove(unsigned number)
{
    ck_assert_uint_eq(number, NUMBER);
}

const char *stp_ofi_strerror(int error)
{
    return strerror(error);
}

static void say_nothing(int level, const char *fmt, ...)
{
    (void)level;
    (void)fmt;
}

static int descriptor_of(void *base, size_t nbytes, size_t *offset)
{
    ck_assert_ptr_eq(base, memory);
    ck_assert_uint_eq(nbytes, NBYTES);
    n_asked++;
    *offset = OFFSET;
    given = has_descriptor ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
    return given;
}

static int fi_mr_regattr(struct fid_domain *domain, const struct fi_mr_attr *attr, uint64_t flags,
                         struct fid_mr **mr)
{
    ck_assert_ptr_eq(domain, stp_ofi.main.domain);
    ck_assert_uint_eq(attr->iov_count, 1);
    ck_assert_int_eq(attr->iface, FI_HMEM_CUDA);
    ck_assert_int_eq(attr->device.cuda, 3);
    if (flags & FI_MR_DMABUF) {
        n_by_descriptor++;
        ck_assert_int_eq(attr->dmabuf->fd, given);
        ck_assert_int_ge(fcntl(given, F_GETFD), 0);
        ck_assert_uint_eq(attr->dmabuf->len, NBYTES);
        ck_assert_ptr_eq((char *)attr->dmabuf->base_addr + attr->dmabuf->offset, memory);
        if (!takes_descriptor) return -FI_ENOSYS;
    } else {
        n_by_address++;
        ck_assert_ptr_eq(attr->mr_iov->iov_base, memory);
        ck_assert_uint_eq(attr->mr_iov->iov_len, NBYTES);
    }
    *mr = &registration;
    return 0;
}

static int close_nothing(struct fid *fid)
{
    (void)fid;
    return 0;
}

/* ---- the tests ------------------------------------------------------------------ */

static void add_region(const char *provider, uint32_t runs)
{
    static struct fi_ops ops = {.size = sizeof(ops), .close = close_nothing};
    static struct fi_fabric_attr fabric_attr;
    static struct fi_domain_attr domain_attr;
    static struct fi_info info = {.fabric_attr = &fabric_attr, .domain_attr = &domain_attr};
    static struct stp_core core = {.dmabuf = descriptor_of, .log = say_nothing};
    struct stp_fabric_region mine;

    n_asked = n_by_descriptor = n_by_address = 0;
    given = -1;
    version = runs;
    fabric_attr.prov_name = (char *)(uintptr_t)provider;
    registration.fid.ops = &ops;
    stp_ofi.hmem = true;
    stp_ofi.info = &info;
    stp_ofi.core = &core;
    ck_assert_int_eq(stp_ofi_region_add(NUMBER, memory, NBYTES, STP_MEMORY_CUDA, 3, &mine), 0);
    stp_ofi_region_remove(NUMBER);
    ck_assert(given < 0 || (fcntl(given, F_GETFD) < 0 && errno == EBADF));
}

TEST(by_descriptor_and_by_address)
{
    for (int i = 0; i < 4; i++) {
        has_descriptor = i & 1;
        takes_descriptor = i & 2;
        add_region("verbs;ofi_rxm", FI_VERSION(1, 20));
        ck_assert_int_eq(n_asked, 1);
        ck_assert_int_eq(n_by_descriptor, has_descriptor);
        ck_assert_int_eq(n_by_address, !has_descriptor || !takes_descriptor);
    }
}

/* Others have no eye for the flag, and would register what lies at the structure's first word. */
TEST(only_who_knows_descriptors)
{
    static const struct {
        const char *provider;
        uint32_t version;
        bool knows;
    } cases[] = {
        {"verbs", FI_VERSION(1, 20), true},       {"verbs", FI_VERSION(1, 19), false},
        {"efa", FI_VERSION(2, 0), true},          {"efa", FI_VERSION(1, 17), false},
        {"cxi", FI_VERSION(2, 4), false},         {"cxi", FI_VERSION(2, 5), true},
        {"opx", FI_VERSION(2, 5), false},         {"opx", FI_VERSION(2, 6), true},
        {"tcp;ofi_rxm", FI_VERSION(2, 6), false}, {"tcp", FI_VERSION(2, 6), false},
        {"shm", FI_VERSION(2, 6), false},         {"psm3", FI_VERSION(2, 6), false},
        {"verbs2", FI_VERSION(2, 6), false},
    };

    has_descriptor = takes_descriptor = true;
    for (size_t i = 0; i < STP_COUNT(cases); i++) {
        add_region(cases[i].provider, cases[i].version);
        ck_assert_msg(n_by_descriptor == cases[i].knows && n_asked == cases[i].knows &&
                          n_by_address == !cases[i].knows,
                      "%s of libfabric %u.%u: wrong choice of descriptor or address",
                      cases[i].provider, FI_MAJOR(cases[i].version), FI_MINOR(cases[i].version));
    }
}
