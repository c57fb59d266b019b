/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests registrations of private device memory in the fabric module (transport/ofi/local_mr.c),
 * with registrations that the test plays: which operations find a registration, and that no
 * registration is closed while an operation holds it. CTest runs the program as unit.ofi_buffers,
 * without a provider.
 */
#include "transport/ofi/provider_table.c"

#include "transport/ofi/region_mr.c"
#include "transport/ofi/local_mr.c"
#include "unit.h"

enum { N_FRAGMENTS = 3, FRAGMENT = 1000, NBYTES = N_FRAGMENTS * FRAGMENT, REGION = 7 };

static char memory[2 * NBYTES];
static int n_closed;

struct stp_ofi stp_ofi;

const char *fi_strerror(int error)
{
    return strerror(error);
}

uint32_t fi_version(void)
{
    return FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION);
}

static int close_counted(struct fid *fid)
{
    (void)fid;
    n_closed++;
    return 0;
}

static struct fi_ops mr_ops = {.size = sizeof(mr_ops), .close = close_counted};
static struct fid_mr registration = {.fid.ops = &mr_ops, .mem_desc = &registration};

static int regattr(struct fid *fid, const struct fi_mr_attr *attr, uint64_t flags,
                   struct fid_mr **mr)
{
    (void)fid;
    (void)flags;
    ck_assert_int_eq(attr->iface, FI_HMEM_CUDA);
    *mr = &registration;
    return 0;
}

static void come_up(void)
{
    static struct fi_ops_mr ops = {.size = sizeof(ops), .regattr = regattr};
    static struct fid_domain domain = {.mr = &ops};
    static char name[] = "tcp";
    static struct fi_fabric_attr fabric_attr = {.prov_name = name};
    static struct fi_domain_attr domain_attr;
    static struct fi_info info = {.fabric_attr = &fabric_attr, .domain_attr = &domain_attr};
    static struct stp_core core;

    stp_ofi.core = &core;
    stp_ofi.info = &info;
    stp_ofi.main.domain = &domain;
    stp_ofi.hmem = true;
    stp_ofi.max_msg = FRAGMENT;
    n_closed = 0;
}

static struct stp_ofi_fragments cut(const char *local)
{
    struct stp_target target = {.number = REGION};

    return stp_ofi_cut(STP_OFI_WRITE, &target, local, NBYTES);
}

TEST(closed_when_nobody_holds_it)
{
    struct stp_ofi_fragments first, second;

    come_up();
    ck_assert_int_eq(stp_ofi_buffer_add(2, memory, NBYTES, 0), 0);
    stp_ofi_set_current_local_mr(2);
    first = cut(memory);
    second = cut(memory);
    stp_ofi_set_current_local_mr(-1);
    ck_assert_uint_eq(first.n, N_FRAGMENTS);
    ck_assert_ptr_eq(first.desc, &registration);
    for (unsigned i = 0; i < 2 * N_FRAGMENTS; i++) {
        ck_assert_msg(!stp_ofi_buffer_remove(2) && n_closed == 0,
                      "the registration was closed after %u fragments, while others hold it", i);
        stp_ofi_local_mr_unref(i % 2 ? first.mr_ref : second.mr_ref);
    }
    ck_assert(stp_ofi_buffer_remove(2));
    ck_assert_int_eq(n_closed, 1);
    ck_assert_uint_eq(stp_ofi.n_listed, 0);
}

/* Only for who uses it, and behind regions, one of which may lie in it. */
TEST(found_by_who_uses_it)
{
    struct fid_mr inner = {.fid.ops = &mr_ops};

    come_up();
    ck_assert_int_eq(stp_ofi_buffer_add(0, memory, NBYTES, 0), 0);
    ck_assert(!stp_ofi_on_device(memory));
    stp_ofi_set_current_local_mr(0);
    ck_assert(stp_ofi_on_device(memory));
    ck_assert(stp_ofi_on_device(memory + NBYTES - 1));
    ck_assert(!stp_ofi_on_device(memory + NBYTES));
    stp_ofi.regions[REGION] =
        (struct stp_ofi_region){.mr = &inner, .base = memory + 10, .nbytes = 10, .device = true};
    stp_ofi_local_mr_index_add(REGION);
    ck_assert_ptr_eq(stp_ofi_local_mr_region(memory + 15), &stp_ofi.regions[REGION]);
    ck_assert(stp_ofi_on_device(memory + 30));
    stp_ofi_local_mr_index_remove(REGION);
    stp_ofi_set_current_local_mr(-1);
    stp_ofi_user_buffers_close();
    ck_assert_int_eq(n_closed, 1);
    stp_ofi_user_buffers_close();
    ck_assert_int_eq(n_closed, 1);
}
