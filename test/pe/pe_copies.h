/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes this process undumpable and drops CAP_SYS_PTRACE, so that no other process can copy to or
 * from its memory, as in containers. A thread of the PE that owns the memory must then copy.
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
    PE_REQUIRE(prctl(PR_SET_DUMPABLE, 0) == 0,
               "prctl(PR_SET_DUMPABLE, 0) failed: other processes can still copy from this PE");
    shmem_barrier_all();
}

#endif
