/* SPDX-License-Identifier: BSD-3-Clause */
/* Defines the structure with the job's state, and the check that the library is initialized. */
#include "job_state.h"

struct stp_runtime stp_rt = {.lock = PTHREAD_MUTEX_INITIALIZER};

void stp_check_not_forked(const char *fn)
{
    if (STP_UNLIKELY(stp_rt.forked))
        stp_fatal(fn, "called in a forked child of the PE: only the process that called shmem_init "
                      "may communicate, synchronize, allocate or free");
}

void stp_check_live(const char *fn)
{
    stp_check_not_forked(fn);
    if (STP_UNLIKELY(stp_references() == 0))
        stp_fatal(fn, "called before shmem_init or after shmem_finalize");
}
