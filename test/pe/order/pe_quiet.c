/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks shmem_pe_quiet (OpenSHMEM 1.6, section 9.12; rules R95, R221 and R224-R226 of
 * docs/reference/conformance.md): all kinds of operations to the given PEs are complete and
 * visible, and operations to other PEs are not waited for. The second check needs each PE on its
 * own node and a provider other than shm: the last PE is stopped, and PE 0 completes operations to
 * another PE.
 */
#include "pe_data.h"

#include <dirent.h>
#include <signal.h>
#include <stdint.h>
#include <unistd.h>

enum { WORDS = 64, BIG = 40000, LIMIT_S = 25, PUT_SIGNAL = 5 };

/* Written by one PE at a time. */
static struct {
    long words[WORDS], big[BIG], cell, counter, old;
    uint64_t signal, word;
} * area;
static long *go;

/* ---- what is complete ------------------------------------------------------------- */

static void write_all(shmem_ctx_t ctx, const long *source, long value, int pe, long *old)
{
    shmem_ctx_long_put_nbi(ctx, area->words, source, WORDS, pe);
    shmem_ctx_long_put_nbi(ctx, area->big, source, BIG, pe);
    shmem_ctx_long_p(ctx, &area->cell, value, pe);
    shmem_ctx_long_atomic_add(ctx, &area->counter, value, pe);
    shmem_ctx_long_atomic_fetch_add_nbi(ctx, old, &area->old, value, pe);
    shmem_ctx_signal_set(ctx, &area->word, (uint64_t)value, pe);
}

static void check_all(const long *source, long value, int pe, const long *old)
{
    static long got[BIG];
    uint64_t word;

    shmem_long_get(got, area->words, WORDS, pe);
    PE_CHECK(memcmp(got, source, sizeof(long) * WORDS) == 0,
             "after pe_quiet, the small put to pe %d, value %ld, is not complete", pe, value);
    shmem_long_get(got, area->big, BIG, pe);
    PE_CHECK(memcmp(got, source, sizeof(long) * BIG) == 0,
             "after pe_quiet, the large put to pe %d, value %ld, is not complete", pe, value);
    PE_CHECK_EQ(shmem_long_g(&area->cell, pe), value);
    PE_CHECK_EQ(shmem_long_atomic_fetch(&area->counter, pe), value);
    PE_CHECK_EQ(shmem_long_atomic_fetch(&area->old, pe), value);
    PE_CHECK_EQ(*old, 0); /* R225: what a nonblocking atomic fetched */
    shmem_uint64_get(&word, &area->word, 1, pe);
    PE_CHECK_EQ(word, value);
}

/* R221, R224-R226: every kind of operation to every PE, one list or another, then look. */
static void check_complete(shmem_ctx_t ctx, const char *what)
{
    static long source[BIG];
    long *old = pe_private((size_t)pe_n * sizeof(*old));
    int *list = pe_private(2 * (size_t)pe_n * sizeof(*list));

    for (int from = 0; from < pe_n; from++) { /* one PE writes, to all */
        memset(area, 0, sizeof(*area));
        shmem_barrier_all();
        for (int i = 0; i < BIG && from == pe_me; i++)
            source[i] = i * 10 + from;
        for (int pe = 0; pe < pe_n && from == pe_me; pe++) {
            old[pe] = -1;
            write_all(ctx, source, 100 + from, pe, &old[pe]);
            list[pe] = list[2 * pe_n - 1 - pe] = pe; /* up and down again: all twice */
        }
        if (from == pe_me) {
            int half = (pe_n + 1) / 2;

            shmem_ctx_pe_quiet(ctx, list + half, (size_t)(pe_n - half));
            for (int pe = half; pe < pe_n; pe++)
                check_all(source, 100 + from, pe, &old[pe]);
            shmem_ctx_pe_quiet(ctx, list, 2 * (size_t)pe_n);
            for (int pe = 0; pe < pe_n; pe++)
                check_all(source, 100 + from, pe, &old[pe]);
            PE_CHECK(pe_failures == 0, "checks failed on the %s", what);
        }
        shmem_barrier_all();
    }
    free(list);
    free(old);
}

/* R225: gets too; a signal behind its data. */
static void check_gets_and_signals(shmem_ctx_t ctx)
{
    static long source[WORDS], got[WORDS];
    int right = pe_right();

    for (int i = 0; i < WORDS; i++)
        source[i] = pe_me * 1000 + i;
    area->signal = 0;
    memcpy(area->big, source, sizeof(source));
    shmem_barrier_all();
    shmem_ctx_long_put_signal_nbi(ctx, area->words, source, WORDS, &area->signal, PUT_SIGNAL,
                                  SHMEM_SIGNAL_ADD, right);
    shmem_ctx_long_get_nbi(ctx, got, area->big, WORDS, right);
    shmem_ctx_pe_quiet(ctx, &right, 1);
    PE_CHECK_EACH(int, i, WORDS, got[i] == right * 1000 + i,
                  "after pe_quiet, get_nbi is not complete: word %d is %ld", i, got[i]);
    shmem_long_get(got, area->words, WORDS, right);
    PE_CHECK(memcmp(got, source, sizeof(got)) == 0,
             "after pe_quiet, the data of put_signal_nbi are not complete");
    PE_CHECK_EQ(shmem_uint64_g(&area->signal, right), PUT_SIGNAL);
    shmem_barrier_all();
}

/* R95, R224: nobody, and no context. */
static void check_nothing(void)
{
    int nowhere = pe_n + 5;

    shmem_pe_quiet(NULL, 0);
    shmem_pe_quiet((const int *)(uintptr_t)8, 0); /* ignored */
    shmem_ctx_pe_quiet(SHMEM_CTX_DEFAULT, NULL, 0);
    shmem_ctx_pe_quiet(SHMEM_CTX_INVALID, &nowhere, 1);
    shmem_ctx_pe_quiet(SHMEM_CTX_INVALID, NULL, 0);
}

/* R224: on the context of a team its numbers count: this one holds every other PE, backwards. */
static void check_team(void)
{
    shmem_team_t even, odd;
    shmem_ctx_t ctx = SHMEM_CTX_INVALID;
    int n_even = (pe_n + 1) / 2;

    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, n_even, NULL, 0, &even);
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 1, 2, pe_n - n_even, NULL, 0, &odd);
    area->cell = 0;
    shmem_barrier_all();
    if (even != SHMEM_TEAM_INVALID) {
        int me = shmem_team_my_pe(even), right = (me + 1) % n_even;

        PE_REQUIRE(shmem_team_create_ctx(even, 0, &ctx) == 0,
                   "shmem_team_create_ctx on the team of even PEs failed");
        shmem_ctx_long_p(ctx, &area->cell, 7 + me, right);
        shmem_ctx_pe_quiet(ctx, &right, 1);
        PE_CHECK_EQ(shmem_long_g(&area->cell, 2 * right), 7 + me);
        shmem_ctx_destroy(ctx);
    }
    shmem_barrier_all();
    if (even != SHMEM_TEAM_INVALID) shmem_team_destroy(even);
    if (odd != SHMEM_TEAM_INVALID) shmem_team_destroy(odd);
}

/* ---- what is not waited for ------------------------------------------------------------ */

/*
 * Under shm a stopped process keeps others from posting to anybody: locks that it held, and
 * commands that it does not take.
 */
static bool blocks_all(void)
{
    const char *provider = getenv("SHMEM_OFI_PROVIDER");

    return provider != NULL && strcmp(provider, "shm") == 0;
}

static volatile pid_t victim;
static volatile sig_atomic_t late;

/* pe_quiet waits for the stopped one. Let it go on, so that this ends. */
static void too_late(int sig)
{
    (void)sig;
    late = 1;
    kill(victim, SIGCONT);
}

static bool is_stopped(const char *dir, const char *task)
{
    char path[320], line[512];
    size_t n;
    FILE *file;
    const char *at;

    snprintf(path, sizeof(path), "%s/%s/stat", dir, task);
    file = fopen(path, "r");
    if (file == NULL) return true; /* gone meanwhile */
    n = fread(line, 1, sizeof(line) - 1, file);
    fclose(file);
    line[n] = '\0';
    at = strrchr(line, ')'); /* the state stands behind the name */
    return at != NULL && at[1] == ' ' && (at[2] == 'T' || at[2] == 't');
}

/* Have all its threads stopped? */
static bool all_stopped(pid_t pid)
{
    char path[64];
    struct dirent *entry;
    bool stopped = true;
    DIR *dir;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    dir = opendir(path);
    if (dir == NULL) return false;
    while ((entry = readdir(dir)) != NULL)
        if (entry->d_name[0] != '.') stopped &= is_stopped(path, entry->d_name);
    closedir(dir);
    return stopped;
}

/* PE 0: put to the last PE, which is stopped, and to another, and complete the other. */
static void beside_stopped(shmem_ctx_t ctx, pid_t pid, const char *what)
{
    static long source[WORDS];
    int last = pe_n - 1, other[2] = {pe_n > 2 ? 1 : 0, pe_n > 2 ? 1 : 0};
    long old = -1;

    for (int i = 0; i < WORDS; i++)
        source[i] = 5000 + i;
    victim = pid;
    while (!all_stopped(pid))
        usleep(1000);
    late = 0;
    alarm(LIMIT_S);
    for (int round = 0; round < 2; round++) {
        shmem_ctx_long_put_nbi(ctx, area->words, source, 8, last);
        shmem_ctx_long_put_nbi(ctx, area->words, source, WORDS, other[0]);
        shmem_ctx_long_p(ctx, &area->cell, 77 + round, other[0]);
        shmem_ctx_long_p(ctx, &area->words[8 + round], 77 + round, last);
        shmem_ctx_long_atomic_fetch_add_nbi(ctx, &old, &area->old, 1, other[0]);
        shmem_ctx_pe_quiet(ctx, other, 2);
        PE_CHECK_EQ(old, round);
        PE_CHECK_EQ(shmem_long_g(&area->cell, other[0]), 77 + round);
        PE_CHECK_EQ(shmem_long_g(&area->words[WORDS - 1], other[0]), source[WORDS - 1]);
    }
    alarm(0);
    PE_REQUIRE(!late, "%s: pe_quiet of pe %d waited for the stopped pe %d", what, other[0], last);
    kill(pid, SIGCONT);
    shmem_ctx_pe_quiet(ctx, &last, 1);
    PE_CHECK_EQ(shmem_long_g(&area->words[8], last), 77);
    PE_CHECK_EQ(shmem_long_g(&area->words[9], last), 78);
    PE_CHECK_EQ(shmem_long_g(&area->words[7], last), source[7]);
}

static void check_stopped(shmem_ctx_t ctx, const char *what)
{
    static long pid, n_ready;
    long nothing = 0;

    memset(area, 0, sizeof(*area));
    *go = n_ready = 0;
    if (pe_me == pe_n - 1) shmem_long_p(&pid, (long)getpid(), 0);
    shmem_barrier_all();
    if (pe_me == 0) {
        /* Nobody needs the last PE any more; first contact takes both sides. */
        shmem_long_wait_until(&n_ready, SHMEM_CMP_EQ, pe_n - 1);
        shmem_ctx_long_put(ctx, &area->cell, &nothing, 1, pe_n - 1);
        shmem_ctx_long_p(ctx, go, 1, pe_n - 1);
        shmem_ctx_quiet(ctx); /* the last PE owes no answer now */
        PE_REQUIRE(kill((pid_t)pid, SIGSTOP) == 0, "kill(SIGSTOP) of pe %d failed", pe_n - 1);
        beside_stopped(ctx, (pid_t)pid, what);
        for (int pe = 1; pe < pe_n; pe++)
            shmem_long_p(go, 2, pe);
    } else {
        shmem_long_atomic_inc(&n_ready, 0);
        shmem_quiet();
        shmem_long_wait_until(go, SHMEM_CMP_EQ, 2);
    }
    shmem_barrier_all();
}

/* Where memory is shared nothing waits for anybody. */
static bool all_by_fabric(void)
{
    static int mine, most;

    mine = shmem_team_n_pes(SHMEM_TEAM_SHARED);
    shmem_int_max_reduce(SHMEM_TEAM_WORLD, &most, &mine, 1);
    return most == 1 && pe_n > 1;
}

int main(void)
{
    shmem_ctx_t ctx = SHMEM_CTX_INVALID, own = SHMEM_CTX_INVALID;

    pe_test_begin();
    signal(SIGALRM, too_late);
    area = pe_calloc(1, sizeof(*area));
    go = pe_calloc(1, sizeof(*go));
    ctx = pe_ctx(0);
    own = pe_ctx(SHMEM_CTX_PRIVATE);
    check_nothing();
    check_complete(SHMEM_CTX_DEFAULT, "default context");
    check_complete(own, "private context");
    check_gets_and_signals(SHMEM_CTX_DEFAULT);
    check_gets_and_signals(own);
    check_team();
    shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH, NULL, 0);
    check_complete(ctx, "context in a session");
    check_gets_and_signals(ctx);
    if (all_by_fabric() && !blocks_all()) {
        check_stopped(SHMEM_CTX_DEFAULT, "default context");
        check_stopped(own, "private context");
        check_stopped(ctx, "context in a session");
    }
    shmem_ctx_destroy(ctx);
    shmem_ctx_destroy(own);
    return pe_test_end();
}
