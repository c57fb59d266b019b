/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For unit tests of the fabric module without the library: forked processes are the PEs of the
 * module and exchange their addresses through shared memory.
 */
#ifndef STP_TEST_OFI_PES_H
#define STP_TEST_OFI_PES_H

#include "transport/transport.h"
#include "unit.h"

#include <dirent.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PES = 4, REGION = 7, NBYTES = 1 << 16, TEXT = 4096 };

/* Memory of all processes of one test. */
struct world {
    atomic_int arrived;
    atomic_int step; /* of a test's own */
    pid_t pids[PES];
    unsigned char addrs[PES][STP_FABRIC_ADDR_MAX];
    struct stp_fabric_region parts[PES];
    atomic_bool broken; /* a PE did not find what it expects: all end */
    char text[TEXT];    /* what was logged or fatal */
};

/* What an operation of these tests goes to; good in the block that names it. */
#define TARGET(world_pe, region, at)                                                               \
    (&(const struct stp_target){                                                                   \
        .fn = "shmem_test", .pe = (world_pe), .number = (region), .offset = (at)})

static struct world *world;
static struct stp_fabric fabric;
static struct stp_fabric_ctx *ctx;
static struct stp_env env = {
    .spin = -1, .ofi_endpoints = -1, .ofi_bounce_size = 8192, .ofi_progress_thread = true};
static int device_step = 1; /* with core.devices, only every so many PEs have some */
static bool deaths;         /* PEs other than PE 0 may die */
static int stranger = -1;   /* the PE with another job's key */
static uint64_t *memory;
static int me;

static inline void add_text(const char *fmt, va_list args)
{
    size_t used = strlen(world->text);

    vsnprintf(world->text + used, TEXT - used, fmt, args);
}

static inline void log_text(int level, const char *fmt, ...)
{
    va_list args;

    if (level > STP_LOG_WARN) return;
    va_start(args, fmt);
    add_text(fmt, args);
    va_end(args);
}

static inline __attribute__((noreturn)) void fatal_text(const char *routine, const char *fmt, ...)
{
    va_list args;

    strncat(world->text, routine, 64);
    strcat(world->text, ": ");
    va_start(args, fmt);
    add_text(fmt, args);
    va_end(args);
    _exit(9);
}

static inline void ignore_notice(const struct stp_notice *notice)
{
    (void)notice;
}

static struct stp_core core = {
    .abi = STP_FABRIC_ABI,
    .env = &env,
    .n_pes = 1,
    .n_local = 1,
    .job_key = 0x123456789abcdef,
    .job_token = 0xfedcba987654321,
    .log = log_text,
    .fatal = fatal_text,
    .on_notice = ignore_notice,
    .thread_start = stp_thread_start,
    .thread_exit_check = stp_process_exit_if_program_over,
};

enum { PATH_ROOM = 4096 };

/* The path of a file of this build, name: from its root on. The program is in bin/. */
static inline void find_built(char path[PATH_ROOM], const char *name)
{
    ssize_t n = readlink("/proc/self/exe", path, PATH_ROOM - 64);

    if (n <= 0) abort();
    path[n] = '\0';
    *strrchr(path, '/') = '\0';
    strcpy(strrchr(path, '/') + 1, name);
}

static inline void prepend(const char *name, const char *built)
{
    char value[2 * PATH_ROOM];
    const char *old = getenv(name);

    find_built(value, built);
    if (old != NULL && *old != '\0') {
        strcat(value, ":");
        strncat(value, old, PATH_ROOM);
    }
    setenv(name, value, 1);
}

/* Starts the program again with test/provider before libfabric. */
static inline void need_provider(char **argv)
{
    if (getenv("OFI_PES_AGAIN") != NULL) return;
    setenv("OFI_PES_AGAIN", "1", 1);
    prepend("LD_PRELOAD", "lib/provider/libprovshim.so");
    execv("/proc/self/exe", argv);
    perror("exec");
    exit(2);
}

static inline stp_ofi_open_fn load(void)
{
    char path[PATH_ROOM];
    void *handle;

    find_built(path, "lib/steppe/ofi.so");
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) ck_abort_msg("the fabric module cannot be loaded: %s", dlerror());
    return (stp_ofi_open_fn)(uintptr_t)dlsym(handle, "stp_ofi_open");
}

static inline void setup(void)
{
    world = mmap(NULL, sizeof(*world), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert(world != MAP_FAILED);
}

/* Wait for all, while the fabric is served by its thread, if it has one. */
static inline void meet(void)
{
    int round = atomic_fetch_add(&world->arrived, 1) / PES + 1;

    while (atomic_load(&world->arrived) < round * PES) {
        if (atomic_load(&world->broken)) _exit(9);
        if (env.ofi_progress_thread)
            usleep(100);
        else
            fabric.progress();
    }
}

static inline void come_up(int pe)
{
    static unsigned char addrs[PES * STP_FABRIC_ADDR_MAX];

    me = core.pe = pe;
    world->pids[me] = getpid();
    core.n_pes = core.n_local = PES;
    if (pe == stranger) core.job_token ^= 1;
    core.devices = core.devices && pe % device_step == 0;
    memory = mmap(NULL, NBYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || load()(&core, &fabric) != 0) _exit(1);
    memcpy(world->addrs[me], fabric.addr, fabric.addr_len);
    if (fabric.region_add(REGION, memory, NBYTES, STP_MEMORY_HOST, 0, &world->parts[me]) != 0)
        _exit(1);
    meet();
    for (int i = 0; i < PES; i++)
        memcpy(addrs + (size_t)i * fabric.addr_len, world->addrs[i], fabric.addr_len);
    if (fabric.connect(addrs) != 0 || fabric.ctx_create(false, &ctx) != 0 ||
        fabric.region_peers(REGION, fabric.peer_table ? world->parts : NULL) != 0)
        _exit(1);
    meet();
}

static inline void go_down(void)
{
    fabric.quiet(ctx);
    fabric.ctx_destroy(ctx);
    meet();
    fabric.finish(); /* from here on others may be gone */
    meet();
    fabric.close();
}

static inline void expect(bool ok, const char *what)
{
    if (ok) return;
    atomic_store(&world->broken, true);
    fatal_text("test", "pe %d expected %s\n", me, what);
}

/* Is every thread of this PE stopped? */
static inline bool is_stopped(int pe)
{
    char path[64], state = 'R';
    DIR *tasks;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)world->pids[pe]);
    tasks = opendir(path);
    expect(tasks != NULL, "/proc/PID/task of another PE to be readable");
    for (struct dirent *task; (task = readdir(tasks)) != NULL;) {
        char stat[sizeof(path) + sizeof(task->d_name) + 8];
        FILE *file;

        if (task->d_name[0] == '.') continue;
        snprintf(stat, sizeof(stat), "%s/%s/stat", path, task->d_name);
        file = fopen(stat, "r");
        if (file == NULL) continue; /* it has ended */
        if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1) state = 'R';
        fclose(file);
        if (state != 'T') break;
    }
    closedir(tasks);
    return state == 'T';
}

/* Stop a PE: it does nothing more until it gets a SIGCONT. */
static inline void stop_pe(int pe)
{
    kill(world->pids[pe], SIGSTOP);
    while (!is_stopped(pe)) {
        if (atomic_load(&world->broken)) _exit(9); /* it may have ended */
        usleep(100);
    }
}

/*
 * Run body as each PE with a provider. Returns the wait status of PE 0, or another's that failed.
 */
static inline int run(const char *provider, void (*body)(void))
{
    pid_t pids[PES];
    int status, first = 0;

    env.ofi_provider = provider;
    for (int pe = 0; pe < PES; pe++) {
        pids[pe] = fork();
        ck_assert(pids[pe] >= 0);
        if (pids[pe] > 0) continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        come_up(pe);
        body();
        _exit(0);
    }
    for (int i = 0; i < PES; i++) {
        pid_t pid = wait(&status);

        ck_assert(pid > 0);
        if (status != 0) atomic_store(&world->broken, true); /* whoever meets it waits in vain */
        if (pid == pids[0] || (first == 0 && !deaths)) first = status;
    }
    return first;
}

#define ck_run(provider, body)                                                                     \
    ck_assert_msg(run(provider, body) == 0, "a PE failed; messages: %s", world->text)

#endif /* STP_TEST_OFI_PES_H */
