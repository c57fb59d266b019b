/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What steppe-bench needs before it measures: memory, cores, the paths between the PEs, and a
 * description of the machine for the heading.
 */
#include "bench.h"
#include "raw_cuda.h"

#include <errno.h>
#include <shmem.h>
#include <shmemx.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define NAME_LEN 64

int bench_worst(int status)
{
    int *word = shmem_malloc(2 * sizeof(*word));
    int worst;

    if (word == NULL) {
        fprintf(stderr, "steppe-bench: the symmetric heap has not even %zu bytes free\n",
                2 * sizeof(*word));
        shmem_global_exit(1);
    }
    word[0] = status;
    shmem_int_max_reduce(SHMEM_TEAM_WORLD, &word[1], &word[0], 1);
    worst = word[1];
    shmem_free(word);
    return worst;
}

/* ---- cores ----------------------------------------------------------------- */

/* My number among the PEs of this host, and how many they are. */
static int local_number(const struct bench_run *run, int *n_local)
{
    char *names = shmem_calloc((size_t)run->n_pes + 1, NAME_LEN);
    char *mine;
    int local = 0;

    *n_local = run->n_pes;
    if (names == NULL) return run->me; /* the same on all PEs */
    *n_local = 0;
    mine = names + (size_t)run->n_pes * NAME_LEN;
    gethostname(mine, NAME_LEN - 1);
    shmem_fcollectmem(SHMEM_TEAM_WORLD, names, mine, NAME_LEN);
    for (int pe = 0; pe < run->n_pes; pe++)
        if (strcmp(names + (size_t)pe * NAME_LEN, mine) == 0) {
            if (pe < run->me) local++;
            (*n_local)++;
        }
    shmem_free(names);
    return local;
}

/* Bind this thread to the nth of the cores it may use. */
static int bind_to(const cpu_set_t *allowed, int nth)
{
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        cpu_set_t one;

        if (!CPU_ISSET(cpu, allowed) || nth-- > 0) continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        return sched_setaffinity(0, sizeof(one), &one) == 0 ? 0 : -errno;
    }
    return -EINVAL;
}

/* Each step is collective: a PE that fails goes through all of them and says so last. */
static int set_cores(struct bench_run *run, const struct bench_options *options,
                     struct bench_machine *machine)
{
    cpu_set_t allowed;
    int local = local_number(run, &machine->n_local);
    int status = sched_getaffinity(0, sizeof(allowed), &allowed) == 0 ? 0 : -errno;

    machine->cores = status == 0 ? CPU_COUNT(&allowed) : 1;
    run->crowded = bench_worst(machine->n_local > machine->cores) != 0;
    run->polls = run->crowded ? BENCH_POLLS_CROWDED : BENCH_POLLS;
    machine->bound =
        options->bind == BENCH_BIND_ON || (options->bind == BENCH_BIND_AUTO && !run->crowded);
    if (machine->bound && status == 0) status = bind_to(&allowed, local % machine->cores);
    return bench_worst(machine->bound && status != 0);
}

/* ---- paths ----------------------------------------------------------------- */

static void find_paths(struct bench_run *run)
{
    bool in_pair = run->n_pes > 1 && (run->me == 0 || run->me == run->pair_peer);
    int n_reached = 0;
    bool some_unreached, some_reached;

    for (int pe = 0; pe < run->n_pes; pe++) {
        run->shared_of[pe] = shmem_ptr(run->shared, pe);
        if (pe != run->me && run->shared_of[pe] != NULL) n_reached++;
    }
    if (in_pair) {
        run->remote_there = shmem_ptr(run->remote, run->peer);
        run->shared_there = run->shared_of[run->peer];
    }
    some_unreached = bench_worst(n_reached < run->n_pes - 1) != 0;
    some_reached = bench_worst(n_reached > 0) != 0;
    run->all_path = !some_unreached ? BENCH_NODE : some_reached ? BENCH_MIXED : BENCH_FABRIC;
    run->pair_path = bench_worst(in_pair && run->remote_there == NULL) ? BENCH_FABRIC : BENCH_NODE;
}

/* ---- PEs that make no call ---------------------------------------------------- */

bool bench_serves_idle(void)
{
    static const char *const off[] = {"0", "off", "no", "false", "n", "f"};
    const char *value = getenv("SHMEM_OFI_PROGRESS_THREAD");

    for (size_t i = 0; value != NULL && i < sizeof(off) / sizeof(off[0]); i++)
        if (strcasecmp(value, off[i]) == 0) return false;
    return true;
}

int bench_passive_open(struct bench_run *run, const struct bench *bench, char *why, size_t len)
{
    (void)bench;
    if (run->pair_path != BENCH_FABRIC || bench_serves_idle()) return 0;
    snprintf(why, len, "nobody serves a PE that makes no call: SHMEM_OFI_PROGRESS_THREAD is off");
    return -ENOTSUP;
}

/* The first word between PE 0 and its peer, which computes: it has to get a connection first. */
static void first_contact(const struct bench_run *run, struct bench_machine *machine)
{
    static uint64_t word, done; /* symmetric */
    struct timespec until_it_computes = {.tv_nsec = 20000000};
    uint64_t start;

    if (run->n_pes == 1 || (run->me != 0 && run->me != run->pair_peer) || !bench_serves_idle() ||
        shmem_ptr(&word, run->peer) != NULL)
        return;
    if (run->me != 0) {
        bench_compute(&done, 1);
        return;
    }
    nanosleep(&until_it_computes, NULL);
    start = bench_now_ns();
    (void)shmem_uint64_g(&word, run->peer);
    machine->first_us = (double)(bench_now_ns() - start) / 1e3;
    shmem_uint64_p(&done, 1, run->peer);
    shmem_quiet();
}

/* ---- memory ---------------------------------------------------------------- */

static int get_memory(struct bench_run *run)
{
    size_t nbytes = (run->max_nbytes + 4095) & ~(size_t)4095;

    run->shared = shmem_align(4096, sizeof(*run->shared));
    run->remote = shmem_align(4096, nbytes);
    run->local = aligned_alloc(4096, nbytes);
    run->shared_of = calloc((size_t)run->n_pes, sizeof(*run->shared_of));
    if (run->shared == NULL || run->remote == NULL) return ENOBUFS;
    if (run->local == NULL || run->shared_of == NULL) return ENOMEM;
    /* Every page is touched by its owner before anything is timed. */
    memset(run->shared, 0, sizeof(*run->shared));
    memset(run->remote, 1, nbytes);
    memset(run->local, 2, nbytes);
    shmem_barrier_all();
    return 0;
}

static void say_memory(const struct bench_run *run, int status)
{
    if (status == ENOBUFS)
        bench_say(run,
                  "the symmetric heap has no room for %zu bytes: "
                  "raise SHMEM_SYMMETRIC_SIZE or lower --sizes",
                  run->max_nbytes + sizeof(struct bench_shared));
    else
        bench_say(run, "no memory for a private buffer of %zu bytes: lower --sizes",
                  run->max_nbytes);
}

/* ---- the machine ----------------------------------------------------------- */

static void read_cpu(char *cpu, size_t len)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[256];

    snprintf(cpu, len, "unknown");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        char *text = strchr(line, ':');

        if (strncmp(line, "model name", 10) != 0 || text == NULL) continue;
        text += 1 + strspn(text + 1, " \t");
        text[strcspn(text, "\n")] = '\0';
        snprintf(cpu, len, "%.120s", text);
        break;
    }
    if (file != NULL) fclose(file);
}

static void describe(struct bench_machine *machine)
{
    struct utsname uts;
    char name[SHMEM_MAX_NAME_LEN];

    shmem_info_get_name(name);
    snprintf(machine->library, sizeof(machine->library), "%.200s", name);
    if (uname(&uts) == 0)
        snprintf(machine->kernel, sizeof(machine->kernel), "%s %s %s", uts.sysname, uts.release,
                 uts.machine);
    read_cpu(machine->cpu, sizeof(machine->cpu));
    machine->clock_ns = bench_clock_cost_ns();
}

/*
 * Which provider and domain the library uses: columns of its table of spaces. They stay empty
 * where the table names no fabric.
 */
static void describe_provider(struct bench_machine *machine)
{
    FILE *table = tmpfile();
    char line[512], provider[64], domain[64];

    if (table == NULL) return;
    if (shmemx_space_print(fileno(table)) == 0) rewind(table);
    while (fgets(line, sizeof(line), table) != NULL)
        if (sscanf(line, "%*s default %*s %*s %*s %*s %63s %63s", provider, domain) == 2 &&
            strcmp(domain, "-") != 0) {
            snprintf(machine->provider, sizeof(machine->provider), "%s", provider);
            snprintf(machine->domain, sizeof(machine->domain), "%s", domain);
        }
    fclose(table);
}

/* ---- raw ------------------------------------------------------------------- */

/* Load raw libfabric where some PEs have no other path. A summary does without when it must. */
static int set_raw(struct bench_run *run, const struct bench_options *options,
                   struct bench_machine *machine)
{
    int status;

    if (!options->raw || (run->pair_path == BENCH_NODE && run->all_path == BENCH_NODE)) return 0;
    status = bench_raw_load(run, options, machine);
    if (status == 0 || options->summary) return 0;
    bench_say(run, "--raw: %s", machine->raw_note);
    return status;
}

int bench_setup(struct bench_run *run, const struct bench_options *options,
                struct bench_machine *machine)
{
    int status;

    run->raw_flush = options->raw_flush;
    first_contact(run, machine);
    status = set_cores(run, options, machine);
    if (status != 0) {
        bench_say(run, "a PE could not be bound to a core: use --bind=off");
        return -EINVAL;
    }
    status = bench_worst(get_memory(run));
    if (status != 0) {
        say_memory(run, status);
        return -ENOMEM;
    }
    find_paths(run);
    run->host_local = run->local;
    run->heap_remote = run->remote;
    run->heap_remote_there = run->remote_there;
    describe(machine);
    describe_provider(machine);
    return set_raw(run, options, machine);
}

void bench_teardown(struct bench_run *run)
{
    shmem_barrier_all();
    bench_raw_unload(run);
    raw_cuda_close();
    free(run->local);
    free(run->shared_of);
    if (run->remote != NULL) shmem_free(run->remote);
    if (run->shared != NULL) shmem_free(run->shared);
}
