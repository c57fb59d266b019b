/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random programs: options, strands, the loop over phases and seeds, and a watchdog. Each program
 * is executed, and after at most four phases the memory of each PE is compared with a model.
 *
 * usage: pe_random [OPTION VALUE]...
 *   --seed N     the first seed; --seeds K: number of seeds; --seconds S: new seeds for S seconds
 *   --steps M    phases of each program; --threads T: strands that run at the same time
 *   --stall S    seconds that a phase may take
 *   --trace P    print what PE P does; --tell 1: print each seed before its program
 *   --gpu 1      streams, and spaces of GPU memory and pinned host memory, in strand 0 only
 *   --spaces 1   spaces of all kinds, and contexts of one space
 * Exit status 0; 2 after a failure; 77 without the thread level or a GPU.
 */
#include "random.h"

#include <pthread.h>
#include <shmemx_device.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

enum { STACK_BYTES = 96 * 1024, LOG_OPS = 20000 };

static struct {
    uint64_t seed;
    long seeds, steps, seconds, threads, stall, trace, tell, gpu, spaces;
} options = {.seed = 1, .seeds = 1, .steps = 40, .threads = 1, .stall = 80, .trace = -1};

static unsigned char globals[RND_STRANDS][RND_GLOBAL_BYTES] __attribute__((aligned(64)));
static struct rnd *strands[RND_STRANDS];
static shmem_ctx_t shared_ctx;
static unsigned memories; /* kinds that all PEs have */

static void usage(const char *program)
{
    fprintf(stderr,
            "usage: %s [--seed N] [--seeds K] [--steps M] [--seconds S] [--threads T] [--stall S]\n"
            "       [--trace P] [--tell 1] [--gpu 1] [--spaces 1]\n",
            program);
    exit(2);
}

static void read_options(int argc, char **argv)
{
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;

        if (value == NULL)
            usage(argv[0]);
        else if (strcmp(argv[i], "--seed") == 0)
            options.seed = strtoull(value, NULL, 0);
        else if (strcmp(argv[i], "--seeds") == 0)
            options.seeds = atol(value);
        else if (strcmp(argv[i], "--steps") == 0)
            options.steps = atol(value);
        else if (strcmp(argv[i], "--seconds") == 0)
            options.seconds = atol(value);
        else if (strcmp(argv[i], "--threads") == 0)
            options.threads = atol(value);
        else if (strcmp(argv[i], "--stall") == 0)
            options.stall = atol(value);
        else if (strcmp(argv[i], "--trace") == 0)
            options.trace = atol(value);
        else if (strcmp(argv[i], "--tell") == 0)
            options.tell = atol(value);
        else if (strcmp(argv[i], "--gpu") == 0)
            options.gpu = atol(value);
        else if (strcmp(argv[i], "--spaces") == 0)
            options.spaces = atol(value);
        else
            usage(argv[0]);
    }
    if (options.threads < 1 || options.threads > RND_STRANDS) usage(argv[0]);
}

/* The line that runs a program again, but for its seed. */
static void note_command(const char *program)
{
    static const char *const variables[] = {
        "SHMEM_NODE",     "SHMEM_OFI_PROVIDER", "SHMEM_CHECK",      "SHMEM_GPU_IPC",
        "SHMEM_FAM_PATH", "HWLOC_XMLFILE",      "HWLOC_THISSYSTEM", "LD_LIBRARY_PATH"};
    size_t used = 0;

    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
        if (getenv(variables[i]) != NULL)
            used += (size_t)snprintf(rnd_command + used, sizeof(rnd_command) - used, "%s=%.80s ",
                                     variables[i], getenv(variables[i]));
    snprintf(rnd_command + used, sizeof(rnd_command) - used,
             "oshrun -n %d %.150s --steps %ld --threads %ld --gpu %ld --spaces %ld", shmem_n_pes(),
             program, options.steps, options.threads, options.gpu, options.spaces);
}

/* SIGALRM: say what each strand is doing, then end the job; by signal if the library cannot. */
static void hung(int sig)
{
    char text[500] = "generating or comparing";

    (void)sig;
    for (int i = 0; i < options.threads; i++) {
        const struct rnd *r = strands[i];

        if (r == NULL) continue;
        if (r->now != NULL) rnd_op_text(r, r->now, text, sizeof(text));
        fprintf(stderr, "pe %d: FAIL: no progress in %ld s: seed %lu, strand %d: %s\n", r->me,
                options.stall, r->seed, i, text);
        fprintf(stderr, "pe %d: to repeat: %s --seed %lu\n", r->me, rnd_command, r->seed);
    }
    signal(SIGALRM, SIG_DFL);
    alarm(3);
    shmem_global_exit(2);
}

/* ---- one strand --------------------------------------------------------------------- */

static void trace(const struct rnd *r, const struct rnd_op *op)
{
    char text[500];

    if (op->pe >= 0 ? op->pe != r->me : (op->set >> r->me & 1) == 0) return;
    rnd_op_text(r, op, text, sizeof(text));
    fprintf(stderr, "pe %d: strand %d: %s\n", r->me, r->strand, text);
}

static void execute_from(struct rnd *r, size_t first)
{
    for (size_t i = first; i < r->n_log; i++) {
        if (r->me == options.trace) trace(r, &r->log[i]);
        rnd_execute(r, &r->log[i]);
    }
    r->now = NULL;
}

static void trim_log(struct rnd *r)
{
    size_t half = r->n_log / 2;

    if (r->n_log < LOG_OPS) return;
    memmove(r->log, r->log + half, (r->n_log - half) * sizeof(*r->log));
    r->n_log -= half;
}

static void end_contexts(struct rnd *r)
{
    for (int i = 1; i < RND_SLOTS; i++)
        if (r->slots[r->me][i].live && !r->slots[r->me][i].fixed) shmem_ctx_destroy(r->ctx[i]);
}

static void run_phases(struct rnd *r)
{
    unsigned since = 0;

    for (long step = 0; step < options.steps; step++) {
        size_t after;

        if (options.stall > 0) alarm((unsigned)options.stall);
        rnd_generate(r);
        rnd_generate_end(r, true);
        execute_from(r, r->phase_start);
        if (++since < 4 && step + 1 < options.steps && rnd_one_in(&r->rng, 2)) continue;
        rnd_compare(r);
        since = 0;
        trim_log(r);
        after = r->n_log;
        rnd_generate_end(r, false); /* nobody goes on to write before all have looked */
        execute_from(r, after);
    }
    end_contexts(r);
}

static void *strand_main(void *arg)
{
    struct rnd *r = arg;
    unsigned char stack[STACK_BYTES] __attribute__((aligned(64)));

    rnd_memory_move_stack(r, stack);
    run_phases(r);
    return NULL;
}

/* ---- all strands of a program ----------------------------------------------------------- */

static struct rnd *strand_new(int number, uint64_t seed)
{
    static unsigned char stack[STACK_BYTES]; /* until the strand has a stack of its own */
    struct rnd *r = calloc(1, sizeof(*r));
    struct rnd_team *all = &r->teams[0];

    r->me = shmem_my_pe();
    r->n_pes = shmem_n_pes();
    r->strand = number;
    r->seed = seed;
    r->rng = rnd_mix(seed + UINT64_C(0x1234567) * (uint64_t)(number + 1));
    *all = (struct rnd_team){.live = true, .fixed = true, .space = -1, .n = r->n_pes};
    all->handle = SHMEM_TEAM_WORLD;
    for (int pe = 0; pe < r->n_pes; pe++) {
        all->members[pe] = pe;
        all->set |= rnd_bit(pe);
        r->slots[pe][0] = (struct rnd_slot){.live = true, .fixed = true};
        if (options.threads > 1) r->slots[pe][1] = r->slots[pe][0];
        for (int i = RND_SLOTS; i < RND_ALL_SLOTS; i++)
            r->slots[pe][i] = (struct rnd_slot){.live = true, .fixed = true};
    }
    r->gpu = options.gpu != 0 && number == 0;
    r->all = options.spaces != 0;
    r->n_areas = r->all ? RND_AREAS : RND_FEW_AREAS;
    r->n_spaces = r->all ? RND_SPACES : RND_FEW_SPACES;
    for (int i = 0; i < RND_N_MEMORIES; i++)
        r->has[i] = (memories >> i & 1) != 0 && (r->gpu || (i != RND_GPU && i != RND_PINNED));
    r->ctx[1] = shared_ctx;
    if (number > 0 &&
        shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, r->n_pes, NULL, 0, &all->handle) != 0)
        shmem_global_exit(2);
    rnd_memory_init(r, globals[number], stack, STACK_BYTES);
    r->sync = rnd_sync_init(r);
    return r;
}

static void strand_end(struct rnd *r)
{
    for (int i = 1; i < RND_TEAMS; i++)
        if (r->teams[i].live && rnd_is_member(&r->teams[i], r->me))
            shmem_team_destroy(r->teams[i].handle);
    rnd_spaces_end(r);
    if (r->strand > 0) shmem_team_destroy(r->teams[0].handle);
    rnd_memory_next(r);
    rnd_memory_fini(r);
    rnd_sync_fini(r->sync);
    free(r->log);
    free(r);
}

static uint64_t run_program(uint64_t seed)
{
    pthread_t threads[RND_STRANDS];
    shmemx_device_options_t kernels = SHMEMX_DEVICE_OPTIONS_INITIALIZER;
    shmemx_device_handle_t handle;
    bool shared = options.gpu && seed % 2 == 1;
    uint64_t done = 0;

    kernels.kind = SHMEM_DEVICE_GPU;
    if (shared && shmemx_device_handle_create(SHMEM_TEAM_WORLD, &kernels, &handle) != 0)
        shmem_global_exit(2);
    if (options.threads > 1 && shmem_ctx_create(0, &shared_ctx) != 0) shmem_global_exit(2);
    for (int i = 0; i < options.threads; i++)
        strands[i] = strand_new(i, seed);
    shmem_barrier_all();
    for (int i = 1; i < options.threads; i++)
        if (pthread_create(&threads[i], NULL, strand_main, strands[i]) != 0) shmem_global_exit(2);
    strand_main(strands[0]);
    for (int i = 1; i < options.threads; i++)
        pthread_join(threads[i], NULL);
    shmem_barrier_all();
    if (options.threads > 1) shmem_ctx_destroy(shared_ctx);
    for (int i = 0; i < options.threads; i++) {
        struct rnd *r = strands[i];

        done += r->n_done;
        strands[i] = NULL;
        strand_end(r);
    }
    if (shared && shmemx_device_handle_destroy(&handle) != 0) shmem_global_exit(2);
    return done;
}

/* ---- main ---------------------------------------------------------------------------------- */

static bool start(void)
{
    int provided = SHMEM_THREAD_MULTIPLE;

    if (options.threads > 1)
        shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    else
        shmem_init();
    if (shmem_n_pes() > RND_MAX_PES) {
        fprintf(stderr, "random: the program supports at most %d PEs\n", RND_MAX_PES);
        shmem_global_exit(2);
    }
    return provided >= SHMEM_THREAD_MULTIPLE;
}

/* Another one? PE 0 looks at the clock; the same answer everywhere. */
static bool another(uint64_t done, const struct timespec *begun)
{
    static int go, ask;
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    ask = options.seconds > 0 ? now.tv_sec - begun->tv_sec < options.seconds
                              : done < (uint64_t)options.seeds;
    shmem_int_broadcast(SHMEM_TEAM_WORLD, &go, &ask, 1, 0);
    return go != 0;
}

int main(int argc, char **argv)
{
    struct timespec begun;
    uint64_t n = 0, ops = 0;

    read_options(argc, argv);
    if (!start() || (options.gpu && !rnd_gpu_init())) {
        shmem_finalize();
        return 77;
    }
    signal(SIGALRM, hung);
    note_command(argv[0]);
    rnd_types_init();
    if (options.spaces) memories = rnd_memories();
    clock_gettime(CLOCK_MONOTONIC, &begun);
    while (another(n, &begun)) {
        if (options.tell && shmem_my_pe() == 0)
            fprintf(stderr, "random: seed %lu\n", options.seed + n);
        ops += run_program(options.seed + n++);
    }
    alarm(0);
    if (options.gpu) rnd_gpu_fini();
    if (shmem_my_pe() == 0)
        fprintf(stderr, "random: %d PEs, %lu programs from seed %lu, %lu operations of PE 0: ok\n",
                shmem_n_pes(), n, options.seed, ops);
    shmem_finalize();
    return 0;
}
