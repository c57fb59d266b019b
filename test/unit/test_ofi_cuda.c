/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests how the fabric module forbids endpoints to call CUDA
 * (transport/ofi/forbid_provider_cuda_calls.c). The test plays the endpoint and the version of
 * libfabric, because the option needs a newer libfabric than tests can rely on. CTest runs the
 * program as unit.ofi_cuda, without a provider.
 */
#include "base/base.h"

#include <errno.h>
#include <rdma/fi_endpoint.h>
#include <stdlib.h>

#if FI_MAJOR_VERSION == 1 && FI_MINOR_VERSION < 18
#define FI_OPT_CUDA_API_PERMITTED 10 /* as libfabric 1.18 has it, whatever the headers are */
#endif

#include "transport/ofi/forbid_provider_cuda_calls.c"
#include "unit.h"

static uint32_t version;
static int answer, n_asked;

/* ---- what the module stands on -------------------------------------------------- */

struct stp_ofi stp_ofi;

uint32_t fi_version(void)
{
    return version;
}

static int set_option(fid_t fid, int level, int name, const void *value, size_t len)
{
    ck_assert_ptr_nonnull(fid);
    ck_assert_int_eq(level, FI_OPT_ENDPOINT);
    ck_assert_int_eq(name, FI_OPT_CUDA_API_PERMITTED);
    ck_assert_uint_eq(len, sizeof(bool));
    ck_assert(!*(const bool *)value);
    n_asked++;
    return answer;
}

static int forbid(bool hmem, uint32_t runs)
{
    static struct fi_ops_ep ops = {.size = sizeof(ops), .setopt = set_option};
    static struct fid_ep ep = {.ops = &ops};

    stp_ofi.hmem = hmem;
    version = runs;
    n_asked = 0;
    return stp_ofi_forbid_cuda(&ep);
}

/* ---- the tests ------------------------------------------------------------------ */

TEST(refusals_are_told)
{
    static const int answers[] = {0, -FI_EOPNOTSUPP, -FI_EINVAL, -FI_ENOPROTOOPT};

    for (size_t i = 0; i < STP_COUNT(answers); i++) {
        answer = answers[i];
        ck_assert_int_eq(forbid(true, FI_VERSION(1, 18)), answer);
        ck_assert_int_eq(n_asked, 1);
        ck_assert_int_eq(forbid(true, FI_VERSION(2, 0)), answer);
        ck_assert_int_eq(n_asked, 1);
    }
}

TEST(who_is_not_asked)
{
    answer = -FI_EOPNOTSUPP;
    ck_assert_int_eq(forbid(false, FI_VERSION(1, 18)), 0); /* no device memory */
    ck_assert_int_eq(n_asked, 0);
    ck_assert_int_eq(forbid(true, FI_VERSION(1, 17)), 0); /* no such option */
    ck_assert_int_eq(n_asked, 0);
}
