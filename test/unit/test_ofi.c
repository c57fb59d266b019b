/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fabric module alone, without the library: processes forked here are its PEs and exchange
 * addresses through shared memory. Covers what programs under the launcher cannot show: refusals,
 * signal handlers, peers that die, floods that once broke a provider.
 */
#include "transport/transport.h"

#include <check.h>
#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
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
    unsigned char addrs[PES][STP_FABRIC_ADDR_MAX];
    struct stp_fabric_region parts[PES];
    char text[TEXT]; /* what was logged or fatal */
};

static struct world *world;
static struct stp_fabric fabric;
static struct stp_fabric_ctx *ctx;
static struct stp_env env = {.spin = -1, .ofi_bounce_size = 8192, .ofi_progress_thread = true};
static uint64_t *memory;
static int me;

static void add_text(const char *fmt, va_list args)
{
    size_t used = strlen(world->text);

    vsnprintf(world->text + used, TEXT - used, fmt, args);
}

static void log_text(int level, const char *fmt, ...)
{
    va_list args;

    if (level > STP_LOG_WARN) return;
    va_start(args, fmt);
    add_text(fmt, args);
    va_end(args);
}

static __attribute__((noreturn)) void fatal_text(const char *routine, const char *fmt, ...)
{
    va_list args;

    (void)routine;
    va_start(args, fmt);
    add_text(fmt, args);
    va_end(args);
    _exit(9);
}

static struct stp_core core = {
    .abi = STP_FABRIC_ABI,
    .env = &env,
    .n_pes = 1,
    .n_local = 1,
    .job_key = 0x123456789abcdef,
    .log = log_text,
    .fatal = fatal_text,
};

/* The module of this build: bin/test_ofi and lib/steppe/ofi.so. */
static stp_ofi_open_fn load(void)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 32);
    void *handle;

    ck_assert(n > 0);
    path[n] = '\0';
    *strrchr(path, '/') = '\0';
    strcpy(strrchr(path, '/'), "/lib/steppe/ofi.so");
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) ck_abort_msg("%s", dlerror());
    return (stp_ofi_open_fn)(uintptr_t)dlsym(handle, "stp_ofi_open");
}

static void setup(void)
{
    world = mmap(NULL, sizeof(*world), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert(world != MAP_FAILED);
}

/* Wait for all; the fabric is served by its thread. */
static void meet(void)
{
    int round = atomic_fetch_add(&world->arrived, 1) / PES + 1;

    while (atomic_load(&world->arrived) < round * PES)
        usleep(100);
}

static void come_up(int pe)
{
    unsigned char addrs[PES * STP_FABRIC_ADDR_MAX];

    me = core.pe = pe;
    core.n_pes = core.n_local = PES;
    if (load()(&core, &fabric) != 0) _exit(1);
    memory = mmap(NULL, NBYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(world->addrs[me], fabric.addr, fabric.addr_len);
    if (fabric.region_add(REGION, memory, NBYTES, &world->parts[me]) != 0) _exit(1);
    meet();
    for (int i = 0; i < PES; i++)
        memcpy(addrs + (size_t)i * fabric.addr_len, world->addrs[i], fabric.addr_len);
    if (fabric.connect(addrs) != 0 || fabric.ctx_create(&ctx) != 0 ||
        fabric.region_peers(REGION, fabric.peer_table ? world->parts : NULL) != 0)
        _exit(1);
    meet();
}

static void go_down(void)
{
    fabric.quiet(ctx);
    fabric.ctx_destroy(ctx);
    meet();
    fabric.close();
}

/* Run body as each PE with a provider. Returns the wait status of PE 0. */
static int run(const char *provider, void (*body)(void))
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
    for (int pe = 0; pe < PES; pe++) {
        ck_assert(waitpid(pids[pe], &status, 0) == pids[pe]);
        if (pe == 0) first = status;
    }
    return first;
}

static const char *const providers[] = {"tcp", "shm"};

static void expect(bool ok, const char *what)
{
    if (!ok) fatal_text(NULL, "expected %s", what);
}

/* ---- opening ------------------------------------------------------------ */

START_TEST(unknown_provider_is_refused_by_name)
{
    setup();
    env.ofi_provider = "bogus";
    ck_assert_int_lt(load()(&core, &fabric), 0);
    ck_assert_ptr_nonnull(strstr(world->text, "SHMEM_OFI_PROVIDER bogus"));
    ck_assert_ptr_nonnull(strstr(world->text, "there is tcp"));
}
END_TEST

START_TEST(shm_is_refused_between_nodes)
{
    setup();
    env.ofi_provider = "shm";
    core.n_pes = 2;
    ck_assert_int_lt(load()(&core, &fabric), 0);
    ck_assert_ptr_nonnull(strstr(world->text, "does not leave the node"));
}
END_TEST

static int n_used, n_told;

static void count(void *arg, const char *provider, const char *domain, bool used,
                  const char *reason)
{
    ck_assert_ptr_eq(arg, &n_used);
    ck_assert(*provider != '\0' && *domain != '\0' && *reason != '\0');
    n_used += used;
    n_told++;
}

START_TEST(report_names_the_one_that_is_used)
{
    setup();
    core.report = count;
    core.report_arg = &n_used;
    ck_assert_int_eq(load()(&core, NULL), 0);
    ck_assert_int_eq(n_used, 1);
    ck_assert_int_gt(n_told, 1);
}
END_TEST

static void on_signal(int sig)
{
    (void)sig;
}

START_TEST(signal_handlers_survive)
{
    struct sigaction now;

    setup();
    signal(SIGTERM, on_signal);
    signal(SIGSEGV, SIG_DFL);
    env.ofi_provider = "tcp";
    ck_assert_int_eq(load()(&core, &fabric), 0);
    sigaction(SIGTERM, NULL, &now);
    ck_assert(now.sa_handler == on_signal);
    sigaction(SIGSEGV, NULL, &now);
    ck_assert(now.sa_handler == SIG_DFL);
    fabric.close();
}
END_TEST

/* ---- floods ------------------------------------------------------------- */

/* Updates and fetches from everybody at one word of PE 0: every one counts, once. */
static void flood_updates(void)
{
    enum { N = 3000 };
    uint64_t one = 1, old;

    for (int i = 0; i < N; i++)
        fabric.amo(ctx, 0, REGION, 0, STP_AMO_ADD, STP_U64, &one, NULL, i % 2 ? &old : NULL, false);
    fabric.quiet(ctx);
    meet();
    expect(me != 0 || __atomic_load_n(&memory[0], __ATOMIC_ACQUIRE) == PES * N, "all updates");
    go_down();
}

/* Many more puts under way than there are requests; then all are there. */
static void flood_puts(void)
{
    enum { N = 30000, WORDS = 4096 };
    static uint64_t source[WORDS];
    int to = (me + 1) % PES, from = (me + PES - 1) % PES;

    for (int i = 0; i < WORDS; i++)
        source[i] = (uint64_t)(me * WORDS + i);
    for (int i = 0; i < N; i++) {
        size_t at = (size_t)i % WORDS;

        fabric.put_nbi(ctx, to, REGION, at * 8, &source[at], 8);
    }
    fabric.quiet(ctx);
    meet();
    for (int i = 0; i < WORDS; i++)
        expect(memory[i] == (uint64_t)(from * WORDS + i), "all puts");
    go_down();
}

static atomic_bool stop;

static void *keep_putting(void *arg)
{
    static uint64_t source;

    (void)arg;
    while (!atomic_load(&stop))
        fabric.put_nbi(ctx, (me + 1) % PES, REGION, 64, &source, 8);
    return NULL;
}

/* quiet ends though another thread never stops issuing. */
static void quiet_beside_a_flood(void)
{
    pthread_t thread;
    uint64_t value = 5;

    pthread_create(&thread, NULL, keep_putting, NULL);
    for (int i = 0; i < 20; i++) {
        fabric.put(ctx, (me + 1) % PES, REGION, 128, &value, 8);
        fabric.quiet(ctx);
    }
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    go_down();
}

static void (*const floods[])(void) = {flood_updates, flood_puts, quiet_beside_a_flood};

START_TEST(flood)
{
    setup();
    ck_assert_msg(run(providers[_i % 2], floods[_i / 2]) == 0, "%s", world->text);
}
END_TEST

/* ---- dead peers --------------------------------------------------------- */

static void act_on_dead(void (*act)(void))
{
    meet();
    if (me == 1) raise(SIGKILL);
    if (me == 0) {
        usleep(100000); /* gone, and its parent has noticed or not: both must do */
        act();
    }
}

static void get_until_fatal(void)
{
    uint64_t value;

    for (;;)
        fabric.get(ctx, 1, REGION, 0, &value, sizeof(value));
}

static void get_from_dead(void)
{
    act_on_dead(get_until_fatal);
}

static void update_once(void)
{
    uint64_t one = 1;

    fabric.finish();
    fabric.amo(ctx, 1, REGION, 0, STP_AMO_ADD, STP_U64, &one, NULL, NULL, false);
    fabric.quiet(ctx);
}

static void finish_with_dead(void)
{
    act_on_dead(update_once);
}

START_TEST(dead_peer_is_named)
{
    int status;

    setup();
    status = run("tcp", get_from_dead);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 9);
    ck_assert_msg(strstr(world->text, "pe 1") != NULL, "%s", world->text);
}
END_TEST

START_TEST(dead_peer_is_done_with_after_finish)
{
    setup();
    ck_assert_msg(run("tcp", finish_with_dead) == 0, "%s", world->text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ofi");
    TCase *tests = tcase_create("ofi");
    SRunner *runner = srunner_create(suite);
    int n_failed;

    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, unknown_provider_is_refused_by_name);
    tcase_add_test(tests, shm_is_refused_between_nodes);
    tcase_add_test(tests, report_names_the_one_that_is_used);
    tcase_add_test(tests, signal_handlers_survive);
    tcase_add_loop_test(tests, flood, 0, 6);
    tcase_add_test(tests, dead_peer_is_named);
    tcase_add_test(tests, dead_peer_is_done_with_after_finish);
    suite_add_tcase(suite, tests);
    srunner_run_all(runner, CK_NORMAL);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? 0 : 2;
}
