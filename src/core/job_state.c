/* SPDX-License-Identifier: BSD-3-Clause */
/* Defines the structure with the job's state, and the check that the library is initialized. */
#include "job_state.h"

struct stp_runtime stp_rt = {.lock = PTHREAD_MUTEX_INITIALIZER};

void stp_check_live(const char *fn)
{
    if (STP_UNLIKELY(stp_references() == 0))
        stp_fatal(fn, "called before shmem_init or after shmem_finalize");
}
