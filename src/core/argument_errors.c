/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports errors in arguments that many routines have, such as contexts and PE numbers. */
#include "argument_errors.h"

#include "job_state.h"

_Noreturn void stp_fatal_ctx(const char *fn)
{
    stp_check_live(fn);
    stp_fatal(fn, "ctx is SHMEM_CTX_INVALID: pass SHMEM_CTX_DEFAULT or a context that was "
                  "created successfully");
}

_Noreturn void stp_fatal_cmp(const char *fn, int cmp)
{
    stp_fatal(fn, "cmp is %d: pass SHMEM_CMP_EQ, _NE, _GT, _GE, _LT or _LE", cmp);
}

_Noreturn void stp_fatal_pe(const char *fn, int pe, int n_pes)
{
    stp_check_live(fn);
    if (n_pes <= 0) stp_fatal(fn, "ctx is not a live context: was it or its team destroyed?");
    stp_fatal(fn, "pe is %d: valid PE numbers in this context are 0..%d", pe, n_pes - 1);
}

_Noreturn void stp_fatal_null(const char *fn, const char *argument)
{
    stp_fatal(fn, "%s is a null pointer", argument);
}

_Noreturn void stp_fatal_overflow(const char *fn, size_t nelems, size_t size)
{
    stp_fatal(fn,
              "%zu elements of %zu bytes do not fit into the address space: was a negative number "
              "converted to size_t, or is a stride too large?",
              nelems, size);
}

int stp_reject(const char *fn, const char *argument, const char *description)
{
    stp_error("%s: %s is %s", stp_public_name(fn), argument, description);
    return 1;
}
