/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Defines point-to-point synchronization for every type, on single elements and on arrays. Also
 * defines the old routines from before OpenSHMEM 1.4. The order of the includes matters, because a
 * template uses helpers that earlier templates define.
 */
#include "api/api.h"

#define TEMPLATE "api/wait_one.tmpl.h"
#include "api/gen/types_wait.h"
#undef TEMPLATE

#define TEMPLATE "api/wait_many.tmpl.h"
#include "api/gen/types_wait_many.h"
#undef STP_API_PREFIX
#define STP_API_PREFIX shmemx_
#include "api/gen/types_wait_more.h"
#undef STP_API_PREFIX
#define STP_API_PREFIX shmem_
#undef TEMPLATE

#define TEMPLATE "api/wait_old.tmpl.h"
#include "api/gen/types_old_wait.h"
#undef TEMPLATE

void pshmem_wait_until(long *ivar, int cmp, long cmp_value)
{
    api_long_wait_until(ivar, cmp, cmp_value, __func__);
}
STP_PROFILED(shmem_wait_until);

void pshmem_wait(long *ivar, long cmp_value)
{
    api_long_wait_until(ivar, SHMEM_CMP_NE, cmp_value, __func__);
}
STP_PROFILED(shmem_wait);
