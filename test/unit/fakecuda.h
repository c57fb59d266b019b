/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For unit tests of the fake CUDA driver: open it, start it, run bodies in children.
 * FAKECUDA_LIBRARY in the environment names another build of it.
 */
#ifndef STP_TEST_FAKECUDA_H
#define STP_TEST_FAKECUDA_H

#include "test/fakecuda/more.h"

#include <check.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ck_cuda(call) ck_assert_int_eq((int)(call), CUDA_SUCCESS)
#define ck_refused(call, result) ck_assert_int_eq((int)(call), result)

static struct fake_cuda_api cu;
static struct {
#define MEMBER(symbol, arguments) CUresult(*symbol) arguments;
    FAKE_MORE_FUNCTIONS(MEMBER)
#undef MEMBER
} more;
static void *(*alias)(CUdeviceptr address);
static int (*contexts)(int device);
static long (*calls)(const char *symbol);
static long (*live)(const char *what);
static void (*set_twin)(const char *name, fakecuda_twin twin);

static inline void find(void *library, const char *symbol, void *function)
{
    void *address = dlsym(library, symbol);

    if (!address) ck_abort_msg("%s is missing", symbol);
    memcpy(function, &address, sizeof(address));
}

/* Open the library; what the environment says about devices is for the tests to say. */
static inline void load(void)
{
    static const char *const surroundings[] = {
        "CUDA_VISIBLE_DEVICES",
        "FAKECUDA_COUNTS",
        "FAKECUDA_DELAY_US",
        "FAKECUDA_DEVICES",
        "FAKECUDA_FAIL",
        "FAKECUDA_MEMORY",
        "FAKECUDA_PEER",
        "FAKECUDA_RANKS",
        "FAKECUDA_WAITERS",
        "FAKECUDA_HOST_SHIFT",
        "FAKECUDA_NATIVE_ATOMICS",
        "FAKECUDA_P2P_ATOMICS",
        "PMI_RANK",
    };
    const char *path = getenv("FAKECUDA_LIBRARY");
    void *library = dlopen(path ? path : FAKECUDA_LIBRARY, RTLD_NOW | RTLD_LOCAL);

    if (!library) ck_abort_msg("%s", dlerror());
    for (size_t i = 0; i < sizeof(surroundings) / sizeof(surroundings[0]); i++)
        unsetenv(surroundings[i]);
#define FIND(member, symbol, required, arguments) find(library, #symbol, &cu.member);
    STP_CUDA_FUNCTIONS(FIND)
#undef FIND
#define FIND(member, symbol, arguments) find(library, #symbol, &cu.member);
    FAKE_DRIVER_FUNCTIONS(FIND)
#undef FIND
#define FIND(symbol, arguments) find(library, #symbol, &more.symbol);
    FAKE_MORE_FUNCTIONS(FIND)
#undef FIND
    find(library, "fakecuda_kernel", &set_twin);
    find(library, "fakecuda_alias", &alias);
    find(library, "fakecuda_contexts", &contexts);
    find(library, "fakecuda_calls", &calls);
    find(library, "fakecuda_live", &live);
}

/* cuInit and the primary context of device 0, current. */
static inline CUcontext start(void)
{
    CUcontext ctx;

    ck_cuda(cu.init(0));
    ck_cuda(cu.primary_ctx_retain(&ctx, 0));
    ck_cuda(cu.ctx_push_current(ctx));
    return ctx;
}

static inline CUdeviceptr allocate(size_t nbytes)
{
    CUdeviceptr address;

    ck_cuda(cu.mem_alloc(&address, nbytes));
    return address;
}

static inline void *host(CUdeviceptr address)
{
    return (void *)(uintptr_t)address;
}

static inline CUdeviceptr device(const void *address)
{
    return (CUdeviceptr)(uintptr_t)address;
}

/* Run body in a child; its status, and what it printed to standard error. */
static inline int run(void (*body)(void), char *text, size_t size)
{
    int fds[2];
    int status;
    pid_t pid;
    size_t used = 0;
    ssize_t n;

    ck_assert_int_eq(pipe(fds), 0);
    pid = fork();
    if (pid == 0) {
        dup2(fds[1], STDERR_FILENO);
        signal(SIGSEGV, SIG_DFL);
        body();
        _exit(0);
    }
    close(fds[1]);
    while ((n = read(fds[0], text + used, size - 1 - used)) > 0)
        used += (size_t)n;
    text[used] = '\0';
    close(fds[0]);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return status;
}

static inline void expect_signal(void (*body)(void), int signo, const char *words)
{
    char text[2048];
    int status = run(body, text, sizeof(text));

    ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == signo, "status %x: %s", status, text);
    ck_assert_msg(strstr(text, words), "'%s' is not in: %s", words, text);
}

#endif /* STP_TEST_FAKECUDA_H */
