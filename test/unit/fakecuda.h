/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For the unit test of the fake CUDA driver: opens the driver, creates one object of each kind, and
 * runs functions in child processes. The variable FAKECUDA_LIBRARY selects another build of the
 * driver.
 */
#ifndef STP_TEST_FAKECUDA_H
#define STP_TEST_FAKECUDA_H

#include "test/fakecuda/more.h"
#include "unit.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ck_cuda(call) ck_assert_int_eq((int)(call), CUDA_SUCCESS)
#define ck_refused(call, result) ck_assert_int_eq((int)(call), result)

static struct fake_cuda_api cu;
static void *(*alias)(CUdeviceptr address);
static int (*contexts)(int device);
static long (*calls)(const char *symbol);
static long (*live)(const char *what);
static void (*set_twin)(const char *name, fakecuda_twin twin);

/* What start() makes. */
static struct {
    CUcontext ctx;                       /* the primary context of device 0, current */
    CUstream stream;                     /* a stream that does not wait for the default stream */
    CUstream blocking;                   /* a stream that does */
    CUdeviceptr memory;                  /* 1 KiB of device memory */
    CUdeviceptr words;                   /* two pinned words that are 0, as devices find them */
    _Atomic(uint64_t) *host_words;       /* the same words, as the host finds them */
    CUmodule module;                     /* the module of small_ptx */
    CUfunction mine;                     /* its kernel, whose twin is note() */
    CUmemGenericAllocationHandle handle; /* the memory that map_two() mapped first */
} it;

static const char small_ptx[] = ".version 6.3\n.target sm_70\n.address_size 64\n"
                                ".visible .entry mine(\n\t.param .u64 mine_0,\n"
                                "\t.param .u32 mine_1\n)\n{\n\tret;\n}\n"
                                ".visible .entry bare()\n{\n\tret;\n}\n";
static uint64_t seen[2]; /* by the last note() */

static const CUmemAllocationProp prop = {
    .type = CU_MEM_ALLOCATION_TYPE_PINNED,
    .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
    .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0},
};

static inline void find(void *library, const char *symbol, void *function)
{
    void *address = dlsym(library, symbol);

    if (!address) ck_abort_msg("the fake driver has no function %s", symbol);
    memcpy(function, &address, sizeof(address));
}

/* Opens the library, and leaves in the environment no setting but the number of waiters. */
static inline void load(void)
{
    static const char *const surroundings[] = {
        "CUDA_VISIBLE_DEVICES", "FAKECUDA_DELAY_US",
        "FAKECUDA_DEVICES",     "FAKECUDA_FAIL",
        "FAKECUDA_MEMORY",      "FAKECUDA_RANKS",
        "FAKECUDA_HOST_SHIFT",  "FAKECUDA_NATIVE_ATOMICS",
        "FAKECUDA_P2P_ATOMICS", "PMI_RANK",
    };
    const char *path = getenv("FAKECUDA_LIBRARY");
    void *library = dlopen(path ? path : FAKECUDA_LIBRARY, RTLD_NOW | RTLD_LOCAL);

    if (!library) ck_abort_msg("the fake driver cannot be loaded: %s", dlerror());
    for (size_t i = 0; i < sizeof(surroundings) / sizeof(surroundings[0]); i++)
        unsetenv(surroundings[i]);
#define FIND(member, symbol, required, arguments) find(library, #symbol, &cu.member);
    STP_CUDA_FUNCTIONS(FIND)
#undef FIND
#define FIND(member, symbol, arguments) find(library, #symbol, &cu.member);
    FAKE_DRIVER_FUNCTIONS(FIND)
#undef FIND
    find(library, "fakecuda_kernel", &set_twin);
    find(library, "fakecuda_alias", &alias);
    find(library, "fakecuda_contexts", &contexts);
    find(library, "fakecuda_calls", &calls);
    find(library, "fakecuda_live", &live);
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

/* The twin of the kernel: reports the word that it finds, and writes 9 there. */
static inline CUresult note(const struct fakecuda_launch *launch, void *const *params)
{
    uint64_t *word = launch->memory(*(CUdeviceptr *)params[0], 8);

    if (!word) return CUDA_ERROR_ILLEGAL_ADDRESS;
    seen[0] = *word;
    seen[1] = *(uint32_t *)params[1] * launch->grid[0] * launch->block[0];
    *word = 9;
    return CUDA_SUCCESS;
}

static inline void start(void)
{
    void *words;

    ck_cuda(cu.init(0));
    ck_cuda(cu.primary_ctx_retain(&it.ctx, 0));
    ck_cuda(cu.ctx_push_current(it.ctx));
    ck_cuda(cu.stream_create(&it.stream, CU_STREAM_NON_BLOCKING));
    ck_cuda(cu.stream_create(&it.blocking, CU_STREAM_DEFAULT));
    it.memory = allocate(1024);
    ck_cuda(cu.mem_host_alloc(&words, 16, CU_MEMHOSTALLOC_PORTABLE));
    ck_cuda(cu.mem_host_get_device_pointer(&it.words, words, 0));
    it.host_words = memset(words, 0, 16);
    set_twin("mine", note);
    ck_cuda(cu.module_load(&it.module, small_ptx));
    ck_cuda(cu.module_get_function(&it.mine, it.module, "mine"));
}

/* Launches a kernel of one thread on the default stream, with an address and 1 as parameters. */
static inline void launch(CUfunction function, CUdeviceptr address)
{
    uint32_t one = 1;
    void *params[] = {&address, &one};

    ck_cuda(cu.launch_kernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
}

/*
 * Reserves addresses for three pieces of 2 MiB and maps the first two, of which the device may
 * write the first, and gets the access flags for the second; 0 gives it no access.
 */
static inline CUdeviceptr map_two(int flags)
{
    enum { PIECE = 2 << 20 };
    CUmemGenericAllocationHandle handles[2];
    CUdeviceptr at;

    ck_cuda(cu.mem_address_reserve(&at, 3 * PIECE, 0, 0, 0));
    ck_assert_uint_eq(at % PIECE, 0);
    for (unsigned int i = 0; i < 2; i++) {
        CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, i == 0 ? 3 : flags};

        ck_cuda(cu.mem_create(&handles[i], PIECE, &prop, 0));
        ck_cuda(cu.mem_map(at + i * PIECE, PIECE, 0, handles[i], 0));
        if (access.flags != 0) ck_cuda(cu.mem_set_access(at + i * PIECE, PIECE, &access, 1));
    }
    it.handle = handles[0];
    return at;
}

/*
 * Runs start() and body in a child. Returns the status of the child, and the text that it printed
 * to standard error.
 */
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
        start();
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

    ck_assert_msg(
        WIFSIGNALED(status) && WTERMSIG(status) == signo,
        "misuse must end the process by its signal, but the wait status is %x; output: %s", status,
        text);
    ck_assert_msg(strstr(text, words), "'%s' is not in the output: %s", words, text);
}

#endif /* STP_TEST_FAKECUDA_H */
