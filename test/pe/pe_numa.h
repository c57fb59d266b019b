/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Asks the kernel for the NUMA policy of memory and for the node of a page. Also installs a
 * seccomp filter with which mbind fails with EPERM, as in container runtimes.
 */
#ifndef STEPPE_TEST_PE_NUMA_H
#define STEPPE_TEST_PE_NUMA_H

#include "pe_test.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/mempolicy.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* That of the process; -1, told, where the kernel sets and tells none. */
static inline int pe_numa_policy(void)
{
    int mode = 0;

    if (syscall(SYS_get_mempolicy, &mode, NULL, 0, NULL, 0) == 0 &&
        (syscall(SYS_mbind, NULL, 0, MPOL_DEFAULT, NULL, 0, 0) == 0 || errno == EINVAL))
        return mode;
    fprintf(stderr, "the kernel sets and tells no NUMA policies\n");
    return -1;
}

static inline int pe_numa_policy_of(void *addr)
{
    int mode = -1;

    PE_CHECK_EQ(syscall(SYS_get_mempolicy, &mode, NULL, 0, addr, MPOL_F_ADDR), 0);
    return mode;
}

static inline int pe_numa_node_of(void *addr)
{
    void *page = (void *)((uintptr_t)addr & ~(uintptr_t)4095);
    int node = -1;

    PE_CHECK_EQ(syscall(SYS_move_pages, 0, 1, &page, NULL, &node, 0), 0);
    return node;
}

/* As container runtimes do. From here on. */
static inline bool pe_numa_forbid_mbind(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mbind, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

#endif /* STEPPE_TEST_PE_NUMA_H */
