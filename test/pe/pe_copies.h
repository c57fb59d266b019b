/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where processes may not look into each other, as in containers: no other one copies to and from
 * this one, so that threads of the owner do it.
 */
#ifndef STEPPE_TEST_PE_COPIES_H
#define STEPPE_TEST_PE_COPIES_H

#include "pe_test.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* From here on; all PEs. */
static inline void pe_refuse_copies(void)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct caps[2];

    if (syscall(SYS_capget, &header, caps) == 0) {
        caps[0].effective &= ~(1u << CAP_SYS_PTRACE);
        (void)syscall(SYS_capset, &header, caps);
    }
    PE_REQUIRE(prctl(PR_SET_DUMPABLE, 0) == 0, "still dumpable");
    shmem_barrier_all();
}

#endif
