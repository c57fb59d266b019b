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
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Returns whether another process may copy from this process. A container or Yama can refuse it. */
static inline bool pe_copies_allowed(void)
{
    long word = 1, copy = 0;
    struct iovec local = {&copy, sizeof(copy)}, remote = {&word, sizeof(word)};
    int status = 1;
    pid_t pid = fork();

    if (pid == 0) _exit(process_vm_readv(getppid(), &local, 1, &remote, 1, 0) != sizeof(word));
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

/* From here on; all PEs. */
static inline void pe_refuse_copies(void)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct caps[2];

    shmem_barrier_all(); /* all PEs have opened the memory of this one, which is refused, too */
    if (syscall(SYS_capget, &header, caps) == 0) {
        caps[0].effective &= ~(1u << CAP_SYS_PTRACE);
        (void)syscall(SYS_capset, &header, caps);
    }
    PE_REQUIRE(prctl(PR_SET_DUMPABLE, 0) == 0,
               "prctl(PR_SET_DUMPABLE, 0) failed: other processes can still copy from this PE");
    shmem_barrier_all();
}

#endif
