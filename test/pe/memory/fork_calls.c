/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks that a forked child that calls a routine of the library ends with status 1 and a line that
 * names the routine. Checks also that the child changes no memory of a PE, and that the child can
 * read the heap and the globals, and can call queries and shmem_global_exit.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "pe_test.h"

enum { VALUE = 100, DONE = 3 };

static long *heap, *block;
static long global = VALUE, lock_word, psync[SHMEM_SYNC_SIZE], used_psync[SHMEM_SYNC_SIZE], value;
static uint64_t *flag;
static shmem_ctx_t ctx;
static shmem_team_t team;
static int right;

#define CASES                                                                                      \
    CASE(shmem_barrier_all())                                                                      \
    CASE(shmem_sync_all())                                                                         \
    CASE(shmem_team_sync(team))                                                                    \
    CASE(shmem_barrier(0, 0, pe_n, used_psync))                                                    \
    CASE(shmem_sync(0, 0, pe_n, psync))                                                            \
    CASE(shmem_finalize())                                                                         \
    CASE(shmem_init())                                                                             \
    CASE(shmem_long_p(heap, 1, right))                                                             \
    CASE(shmem_long_p(&global, 1, right))                                                          \
    CASE(shmem_long_p(heap, 1, pe_me))                                                             \
    CASE(value = shmem_long_g(heap, right))                                                        \
    CASE(shmem_long_put(heap, &value, 1, right))                                                   \
    CASE(shmem_putmem_nbi(heap, &value, 4, right))                                                 \
    CASE(shmem_getmem(&value, heap, 8, right))                                                     \
    CASE(shmem_getmem_nbi(&value, &global, 8, right))                                              \
    CASE(shmem_long_iput(heap, heap, 1, 1, 1, right))                                              \
    CASE(shmem_long_iget(heap, heap, 1, 1, 1, right))                                              \
    CASE(shmem_ctx_long_p(ctx, heap, 1, right))                                                    \
    CASE(shmem_long_atomic_add(heap, 1, right))                                                    \
    CASE(value = shmem_long_atomic_fetch_inc(heap, right))                                         \
    CASE(value = shmem_ctx_long_atomic_fetch(ctx, heap, right))                                    \
    CASE(shmem_long_put_signal(heap, &value, 1, flag, 1, SHMEM_SIGNAL_SET, right))                 \
    CASE(shmem_signal_set(flag, 1, right))                                                         \
    CASE(value = (long)shmem_signal_fetch(flag))                                                   \
    CASE(value = (long)shmem_signal_wait_until(flag, SHMEM_CMP_EQ, 0))                             \
    CASE(shmem_long_wait_until(heap, SHMEM_CMP_EQ, VALUE))                                         \
    CASE(shmem_long_wait_until_all(heap, 1, NULL, SHMEM_CMP_EQ, VALUE))                            \
    CASE(value = shmem_long_test(&global, SHMEM_CMP_EQ, VALUE))                                    \
    CASE(shmem_ctx_quiet(ctx))                                                                     \
    CASE(shmem_ctx_fence(ctx))                                                                     \
    CASE(shmem_quiet())                                                                            \
    CASE(shmem_fence())                                                                            \
    CASE(shmem_pe_quiet(&right, 1))                                                                \
    CASE(shmem_set_lock(&lock_word))                                                               \
    CASE(value = shmem_test_lock(&lock_word))                                                      \
    CASE(shmem_long_broadcast(team, heap, heap, 1, 0))                                             \
    CASE(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, heap, heap, 1))                                   \
    CASE(shmem_long_sum_to_all(heap, heap, 1, 0, 0, pe_n, heap, psync))                            \
    CASE(block = shmem_malloc(8))                                                                  \
    CASE(block = shmem_calloc(1, 8))                                                               \
    CASE(block = shmem_align(64, 8))                                                               \
    CASE(block = shmem_realloc(heap, 800))                                                         \
    CASE(shmem_free(heap))                                                                         \
    CASE(shmem_ctx_create(0, &ctx))                                                                \
    CASE(shmem_ctx_destroy(ctx))                                                                   \
    CASE(shmem_ctx_session_start(ctx, 0, NULL, 0))                                                 \
    CASE(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1, NULL, 0, &team))                      \
    CASE(shmem_team_destroy(team))

#define CASE(call) {#call, __LINE__},
static const struct {
    const char *text;
    int line;
} cases[] = {CASES};
#undef CASE

static void call(size_t i)
{
    size_t next = 0;

#define CASE(call)                                                                                 \
    if (i == next++) {                                                                             \
        call;                                                                                      \
        return;                                                                                    \
    }
    CASES
#undef CASE
}

/* Sets *routine to the name of the routine that the call names. */
static void name_of(const char *text, char routine[64])
{
    const char *start = strstr(text, "shmem_");
    size_t len = strcspn(start, "(");

    memcpy(routine, start, len);
    routine[len] = '\0';
    if (strcmp(routine, "shmem_init") == 0) strcpy(routine, "shmem_init_thread");
    if (strstr(routine, "quiet") != NULL || strstr(routine, "fence") != NULL)
        strcpy(routine, "fence or quiet");
}

/* Forks a child that calls, with its standard error in a pipe. Returns what the child printed. */
static void check_call(size_t i)
{
    char text[4096] = "", routine[64];
    int fds[2], status = -1;
    ssize_t n;
    size_t len = 0;
    pid_t pid;

    PE_REQUIRE(pipe(fds) == 0, "pipe() failed");
    pid = fork();
    PE_REQUIRE(pid >= 0, "fork() failed");
    if (pid == 0) {
        dup2(fds[1], STDERR_FILENO);
        close(fds[0]);
        alarm(20);
        call(i);
        _exit(DONE);
    }
    close(fds[1]);
    while ((n = read(fds[0], text + len, sizeof(text) - 1 - len)) > 0)
        len += (size_t)n;
    close(fds[0]);
    PE_CHECK_EQ(waitpid(pid, &status, 0), pid);
    PE_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1,
             "a child that called %s ended with wait status 0x%x, expected exit status 1",
             cases[i].text, (unsigned)status);
    name_of(cases[i].text, routine);
    PE_CHECK(strstr(text, routine) != NULL && strstr(text, "forked child of the PE") != NULL,
             "the line of the child that called %s is \"%s\"", cases[i].text, text);
}

/* Returns the number of the first wrong step, or 0. */
static int use_what_is_allowed(void)
{
    int up = -1, major, minor;

    if (heap[0] != VALUE + pe_me || global != VALUE) return 1;
    if (shmem_my_pe() != pe_me || shmem_n_pes() != pe_n) return 2;
    if (shmem_ptr(heap, pe_me) != heap || !shmem_addr_accessible(heap, right)) return 3;
    shmem_query_initialized(&up);
    if (up != 0) return 4;
    shmem_info_get_version(&major, &minor);
    heap[1] = VALUE; /* the child shares the heap with its PE, as before */
    return 0;
}

static void check_allowed(bool global_exit)
{
    int status = -1;
    pid_t pid = fork();

    PE_REQUIRE(pid >= 0, "fork() failed");
    if (pid == 0) {
        int step = use_what_is_allowed();

        if (global_exit) shmem_global_exit(step);
        exit(step); /* the exit handlers of the PE do nothing in its child */
    }
    PE_CHECK_EQ(waitpid(pid, &status, 0), pid);
    PE_CHECK(status == 0, "the child ended with wait status 0x%x, expected 0", (unsigned)status);
}

int main(void)
{
    pe_test_begin();
    right = (pe_me + 1) % pe_n;
    heap = pe_calloc(2, sizeof(*heap));
    flag = pe_calloc(1, sizeof(*flag));
    heap[0] = VALUE + pe_me;
    ctx = pe_ctx(0);
    team = pe_split(SHMEM_TEAM_WORLD, 0, 1, pe_n);
    shmem_barrier(0, 0, pe_n, used_psync); /* so that the library has a record of this set */
    if (pe_me == 0)
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
            check_call(i);
    check_allowed(false);
    check_allowed(true);
    shmem_barrier_all(); /* every child has ended */
    PE_CHECK_EQ(heap[0], VALUE + pe_me);
    PE_CHECK_EQ(global, VALUE);
    PE_CHECK_EQ(*flag, 0);
    PE_CHECK_EQ(shmem_long_g(&heap[1], right), VALUE);
    shmem_team_sync(team);
    shmem_ctx_destroy(ctx);
    return pe_test_end();
}
