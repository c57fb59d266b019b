/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The program bench_limits measures the shortest possible times of collectives within a host. It
 * forks processes that share memory. The processes copy with memcpy(), add with a plain loop, and
 * synchronize by flags. They use no communication library, so the times are a lower bound for the
 * times of `steppe-bench collective`.
 *     usage: bench_limits [PROCESSES [MAX_BYTES]]
 * Compile this file with -O3 -march=native, so that the additions use the CPU's vector
 * instructions.
 */
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_PROCESSES 1024
#define ROUNDS 10 /* number of rounds of a barrier: log2 of MAX_PROCESSES */
#define POLLS 200
/* Largest vector, in bytes, for which each process computes all sums itself. */
#define ALONE_BYTES 384
/*
 * Number of bytes of each vector that a process adds at a time. They fit into the first-level
 * cache.
 */
#define BLOCK_BYTES 16384
#define MAX_BYTES (1 << 26) /* maximum size of a message in bytes */
#define TRIALS 5
#define TRIAL_SECONDS 0.02

struct flag {
    uint64_t value;
} __attribute__((aligned(128)));

static struct {
    int n, me;
    /* Size in bytes of the source of each process. The dest of each process has the same size. */
    size_t capacity;
    char *source, *dest;
    struct flag (*flags)[ROUNDS]; /* flags of each process */
    double *seconds;              /* seconds per call, measured by each process */
    uint64_t meetings;
} job;

static char *source_of(int process)
{
    return job.source + (size_t)process * job.capacity;
}

static char *dest_of(int process)
{
    return job.dest + (size_t)process * job.capacity;
}

/* Waits until all processes have called meet(). The function is a dissemination barrier. */
static void meet(void)
{
    job.meetings++;
    for (int round = 0, step = 1; step < job.n; round++, step *= 2) {
        struct flag *my_flag = &job.flags[job.me][round];
        struct flag *next = &job.flags[(job.me + step) % job.n][round];

        __atomic_store_n(&next->value, job.meetings, __ATOMIC_RELEASE);
        for (int i = 1; __atomic_load_n(&my_flag->value, __ATOMIC_ACQUIRE) < job.meetings; i++)
            if (i % POLLS == 0) sched_yield();
    }
}

/* ---- the collectives ------------------------------------------------------------------- */

typedef void collective(size_t nbytes);

static void barrier(size_t nbytes)
{
    (void)nbytes;
    meet();
}

/*
 * Adds the vectors of all processes, element by element, and stores the sum in `result`. The
 * function adds only nbytes bytes of each vector, beginning at `offset`.
 */
static void add_all(double *result, size_t offset, size_t nbytes)
{
    memcpy(result, source_of(0) + offset, nbytes);
    for (int process = 1; process < job.n; process++) {
        const double *vector = (const double *)(source_of(process) + offset);

        for (size_t i = 0; i < nbytes / sizeof(double); i++)
            result[i] += vector[i];
    }
}

/*
 * Adds the vectors of all processes. For short vectors, each process computes the whole sum itself.
 * Otherwise each process computes one part of the sum, and copies this part to all processes.
 */
static void sum(size_t nbytes)
{
    static double block[BLOCK_BYTES / sizeof(double)];
    size_t slice = (nbytes / (size_t)job.n + 63) / 64 * 64, start = slice * (size_t)job.me;
    size_t end = start + slice < nbytes ? start + slice : nbytes;

    meet();
    if (nbytes <= ALONE_BYTES) {
        add_all((double *)dest_of(job.me), 0, nbytes);
        return;
    }
    for (size_t length; start < end; start += length) {
        length = end - start < BLOCK_BYTES ? end - start : BLOCK_BYTES;
        add_all(block, start, length);
        for (int process = 0; process < job.n; process++)
            memcpy(dest_of(process) + start, block, length);
    }
    meet();
}

static void broadcast(size_t nbytes)
{
    meet();
    memcpy(dest_of(job.me), source_of(0), nbytes);
}

/*
 * Copies a block of nbytes to each process, beginning with this process. The block for process i is
 * at offset i * step of the source.
 */
static void push(size_t nbytes, size_t step)
{
    for (int i = 0; i < job.n; i++) {
        int process = (job.me + i) % job.n;

        memcpy(dest_of(process) + (size_t)job.me * nbytes,
               source_of(job.me) + (size_t)process * step, nbytes);
    }
    meet();
}

static void alltoall(size_t nbytes)
{
    push(nbytes, nbytes);
}

static void fcollect(size_t nbytes)
{
    push(nbytes, 0);
}

static const struct row {
    const char *name;
    collective *call;
    bool blocks; /* whether the result has a block from each process */
} rows[] = {
    {"barrier", barrier, false},  {"reduce", sum, false},       {"broadcast", broadcast, false},
    {"alltoall", alltoall, true}, {"fcollect", fcollect, true},
};

/* ---- verification of results ------------------------------------------------------------- */

/* Returns the double at index i in the source of a process. */
static double source_value(int process, size_t i)
{
    return process * 1e6 + (double)i;
}

static double expected(const struct row *row, size_t nbytes, size_t i)
{
    size_t n = nbytes / sizeof(double);
    double total = 0;

    if (row->call == broadcast) return source_value(0, i);
    if (row->call == fcollect) return source_value((int)(i / n), i % n);
    if (row->call == alltoall) return source_value((int)(i / n), (size_t)job.me * n + i % n);
    for (int process = 0; process < job.n; process++)
        total += source_value(process, i);
    return total;
}

static void check(const struct row *row, size_t nbytes)
{
    size_t n = nbytes / sizeof(double) * (row->blocks ? (size_t)job.n : 1);
    const double *dest = (const double *)dest_of(job.me);

    memset(dest_of(job.me), 0xff, job.capacity);
    meet();
    row->call(nbytes);
    for (size_t i = 0; row->call != barrier && i < n; i++)
        if (dest[i] != expected(row, nbytes, i)) {
            fprintf(stderr,
                    "bench_limits: %s of %zu bytes: process %d has the wrong value %g in element "
                    "%zu\n",
                    row->name, nbytes, job.me, dest[i], i);
            exit(1);
        }
    meet();
}

/* ---- measuring ------------------------------------------------------------------------------ */

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Returns the seconds per call of the slowest process. All processes return the same value. */
static double time_calls(const struct row *row, size_t nbytes, long n_calls)
{
    double start, slowest = 0;

    meet();
    start = now();
    for (long i = 0; i < n_calls; i++)
        row->call(nbytes);
    job.seconds[job.me] = (now() - start) / (double)n_calls;
    meet();
    for (int process = 0; process < job.n; process++)
        if (job.seconds[process] > slowest) slowest = job.seconds[process];
    meet();
    return slowest;
}

/*
 * Runs several trials and prints the shortest time, because disturbances only make trials longer.
 */
static void measure(const struct row *row, size_t nbytes)
{
    double best;
    long n_calls;

    check(row, nbytes);
    best = time_calls(row, nbytes, 3);
    n_calls = 1 + (long)(TRIAL_SECONDS / best);
    for (int i = 0; i < TRIALS; i++) {
        double seconds = time_calls(row, nbytes, n_calls);

        if (seconds < best) best = seconds;
    }
    if (job.me == 0) printf("%-10s %9zu %12.3f\n", row->name, nbytes, 1e6 * best);
}

static void measure_all(size_t max)
{
    double *source = (double *)source_of(job.me);

    for (size_t i = 0; i < job.capacity / sizeof(double); i++)
        source[i] = source_value(job.me, i);
    if (job.me == 0) printf("%-10s %9s %12s\n", "bench", "bytes", "us");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (size_t nbytes = 8; nbytes <= max; nbytes *= 8) {
            measure(&rows[i], nbytes);
            if (rows[i].call == barrier) break;
        }
}

/* ---- the processes --------------------------------------------------------------------------- */

static void *shared(size_t nbytes)
{
    void *memory = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (memory != MAP_FAILED) return memory;
    perror("bench_limits: mmap");
    exit(1);
}

static int run_processes(size_t max)
{
    int status;

    job.capacity = (max * (size_t)job.n + 4095) / 4096 * 4096 + 4096;
    job.source = shared(job.capacity * (size_t)job.n);
    job.dest = shared(job.capacity * (size_t)job.n);
    job.flags = shared((size_t)job.n * sizeof(*job.flags));
    job.seconds = shared((size_t)job.n * sizeof(*job.seconds));
    for (job.me = 0; job.me < job.n; job.me++) {
        pid_t child = fork();

        if (child < 0) perror("bench_limits: fork");
        if (child < 0) return 1;
        if (child > 0) continue;
        /*
         * Ask the kernel to kill this process when the parent exits. The parent exits early if one
         * of the processes fails.
         */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        measure_all(max);
        exit(0);
    }
    while (wait(&status) > 0)
        if (status != 0) return 1;
    return 0;
}

int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 2, max = argc > 2 ? atol(argv[2]) : 1 << 20;

    if (argc <= 3 && n >= 1 && n <= MAX_PROCESSES && max >= 8 && max <= MAX_BYTES) {
        job.n = (int)n;
        return run_processes((size_t)max);
    }
    fprintf(stderr,
            "usage: bench_limits [PROCESSES [MAX_BYTES]] with 1 to %d processes and 8 to %d "
            "bytes\n",
            MAX_PROCESSES, MAX_BYTES);
    return 2;
}
