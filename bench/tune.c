/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * steppe-bench tune: the algorithms of collectives between nodes, measured on the job that it runs
 * in, and the table for SHMEM_COLL_TABLE that they make. The library is started anew for each
 * algorithm, with a table that forces it; so nothing but the public interface is needed.
 * Design: docs/design/bench.md.
 */
#include "harness.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define VARIABLE "SHMEM_COLL_TABLE"
#define MOST_SIZES 16
#define MOST_PARTS 12 /* teams of the first nodes */
#define MOST_ALGORITHMS 3
#define SAMPLES 11
#define CELL 384                  /* bytes that travel in a cell, */
#define CELLS 1536                /* and those of all members */
#define CHUNK ((size_t)256 << 10) /* bytes of a leader's staging memory */
#define GAIN 0.93                 /* share of the time as built in below which a line is worth it */

enum { BROADCAST, REDUCE, COLLECT, FCOLLECT, ALLTOALL, N_OPERATIONS };

static const struct operation {
    const char *name;
    const char *algorithms[MOST_ALGORITHMS];
    size_t most; /* bytes to which algorithms differ; of all members where those are of each */
} operations[N_OPERATIONS] = {
    [BROADCAST] = {"broadcast", {"tree", "scatter"}, SIZE_MAX},
    [REDUCE] = {"reduce", {"tree", "doubling", "shares"}, SIZE_MAX},
    [COLLECT] = {"collect", {"gather", "direct"}, CHUNK},
    [FCOLLECT] = {"fcollect", {"gather", "heads", "direct"}, CHUNK},
    [ALLTOALL] = {"alltoall", {"gather", "heads", "direct"}, CHUNK / 2},
};

struct tune {
    struct bench_run run; /* for messages */
    const char *output;
    size_t max;
    int rounds;
    size_t sizes[MOST_SIZES];
    int n_sizes;
    int members[MOST_PARTS], nodes[MOST_PARTS]; /* of each part of the world, */
    int most_local[MOST_PARTS];                 /* and of its fullest node */
    int n_parts;
    char provider[64];
    /* Seconds of the best round; algorithm 0 is what is built in. */
    double best[N_OPERATIONS][MOST_PARTS][MOST_SIZES][MOST_ALGORITHMS + 1];
    double now[N_OPERATIONS][MOST_PARTS][MOST_SIZES][MOST_ALGORITHMS + 1]; /* of this round */
    /* Rounds in which an algorithm was clearly quicker than what is built in. */
    int wins[N_OPERATIONS][MOST_PARTS][MOST_SIZES][MOST_ALGORITHMS + 1];
};

static struct tune tune;

/* ---- runs of the library ----------------------------------------------------------- */

/* A file without a name that holds the lines which force algorithm number k; -1: none was made. */
static int forced_table(int k)
{
    char line[64];
    int fd = memfd_create("table", 0);

    for (int what = 0; what < N_OPERATIONS && fd >= 0; what++) {
        const char *how = operations[what].algorithms[k - 1];
        int n = how != NULL
                    ? snprintf(line, sizeof(line), "%s * * * * %s\n", operations[what].name, how)
                    : 0;

        if (write(fd, line, (size_t)n) != n) {
            close(fd);
            return -1;
        }
    }
    return fd;
}

/* Of all PEs, though PE 0's counts: each may be it. Its own file is what it sets. */
static void start(int k)
{
    int fd = k > 0 ? forced_table(k) : -1;
    char path[64];

    unsetenv(VARIABLE);
    if (k > 0 && fd < 0) {
        fprintf(stderr, "steppe-bench: tune: no file for a table: %s\n", strerror(errno));
        exit(1);
    }
    if (k > 0) {
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        setenv(VARIABLE, path, 1);
    }
    shmem_init();
    if (fd >= 0) close(fd);
    tune.run.me = shmem_my_pe();
    tune.run.n_pes = shmem_n_pes();
}

/* ---- the job ------------------------------------------------------------------------- */

/* The first PEs of the world that are on 2, 3, 4, 6, 8, 12, ... nodes, and all of them. */
static void find_parts(void)
{
    int n_pes = tune.run.n_pes, n_nodes = 0, next = 2, n_local = 0, most_local = 0;
    int *node = shmem_malloc((size_t)n_pes * sizeof(*node)); /* first PE of each one's node */
    int *mine = shmem_malloc(sizeof(*mine));

    if (node == NULL || mine == NULL) bench_die(&tune.run, "tune: no memory for %d PEs", n_pes);
    *mine = shmem_team_translate_pe(SHMEM_TEAM_SHARED, 0, SHMEM_TEAM_WORLD);
    shmem_int_fcollect(SHMEM_TEAM_WORLD, node, mine, 1);
    tune.n_parts = 0;
    for (int pe = 0; pe < n_pes && tune.n_parts < MOST_PARTS; pe++) {
        bool last = pe == n_pes - 1;

        n_nodes += node[pe] == pe;
        n_local = node[pe] == pe ? 1 : n_local + 1; /* of this node, where PEs lie node by node */
        if (n_local > most_local) most_local = n_local;
        if (n_nodes < 2 || (!last && (node[pe + 1] != pe + 1 || n_nodes < next))) continue;
        tune.members[tune.n_parts] = pe + 1;
        tune.most_local[tune.n_parts] = most_local;
        tune.nodes[tune.n_parts++] = n_nodes;
        next = (n_nodes & (n_nodes - 1)) == 0 ? n_nodes / 2 * 3 : n_nodes / 3 * 4;
        if (next <= n_nodes) next = n_nodes + 1;
    }
    shmem_free(mine);
    shmem_free(node);
}

static void find_sizes(void)
{
    tune.n_sizes = 0;
    for (size_t nbytes = 8; nbytes <= tune.max && tune.n_sizes < MOST_SIZES; nbytes *= 4)
        tune.sizes[tune.n_sizes++] = nbytes;
}

/* ---- measuring ----------------------------------------------------------------------- */

static void call(int what, shmem_team_t team, char *dest, char *source, size_t nbytes)
{
    switch (what) {
    case BROADCAST:
        shmem_broadcastmem(team, dest, source, nbytes, 0);
        break;
    case REDUCE:
        shmem_double_sum_reduce(team, (double *)dest, (double *)source, nbytes / sizeof(double));
        break;
    case COLLECT: /* where the data comes along, and where it does not */
        shmem_collectmem(team, dest, source, 8);
        shmem_collectmem(team, dest, source, 1024);
        break;
    case FCOLLECT:
        shmem_fcollectmem(team, dest, source, nbytes);
        break;
    default:
        shmem_alltoallmem(team, dest, source, nbytes);
    }
}

static int compare_times(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Median of samples, each as long as the member that it took longest; the same on all. */
static double measure(int what, shmem_team_t team, char *dest, char *source, size_t nbytes)
{
    static double took[SAMPLES], longest[SAMPLES]; /* symmetric */

    for (int i = -2; i < SAMPLES; i++) {
        uint64_t begun;

        shmem_team_sync(team);
        begun = bench_now_ns();
        call(what, team, dest, source, nbytes);
        if (i >= 0) took[i] = (double)(bench_now_ns() - begun) * 1e-9;
    }
    shmem_double_max_reduce(team, longest, took, SAMPLES);
    qsort(longest, SAMPLES, sizeof(longest[0]), compare_times);
    return longest[SAMPLES / 2];
}

static bool has_size(int what, int part, size_t nbytes)
{
    if (what == COLLECT) return nbytes == tune.sizes[0]; /* one line for any */
    if (what >= FCOLLECT) nbytes *= (size_t)tune.members[part];
    return nbytes <= operations[what].most;
}

/* A vector for each round and one more lie in a chunk. */
static bool doubling_fits(size_t nbytes, size_t nodes)
{
    size_t n_places = 1;

    for (size_t n = 1; n < nodes; n <<= 1)
        n_places++;
    return nbytes <= CHUNK / n_places;
}

static bool heads_fit(int what, int part, size_t nbytes)
{
    size_t all = nbytes * (size_t)tune.members[part], n = (size_t)tune.most_local[part];

    return n > 1 && (what == ALLTOALL ? all * n <= CHUNK / 2 : all <= CHUNK);
}

/* Is that algorithm used for so many bytes when a table asks for it? See collectives.md. */
static bool can(const char *how, int what, int part, size_t nbytes)
{
    size_t members = (size_t)tune.members[part];
    size_t block = what == ALLTOALL ? nbytes * members : nbytes;

    if (strcmp(how, "doubling") == 0)
        return nbytes <= CELL || doubling_fits(nbytes, (size_t)tune.nodes[part]);
    if (strcmp(how, "heads") == 0) return heads_fit(what, part, nbytes);
    if (strcmp(how, "shares") == 0 || strcmp(how, "scatter") == 0) return nbytes > CELL;
    if (strcmp(how, "gather") == 0 && what != COLLECT)
        return block <= CELL && block * members <= CELLS;
    return true;
}

static bool is_measured(int what, int k, int part, size_t nbytes)
{
    const char *how = k > 0 ? operations[what].algorithms[k - 1] : "";

    return how != NULL && has_size(what, part, nbytes) && can(how, what, part, nbytes);
}

static void measure_part(int part, shmem_team_t team, char *dest, char *source, int k)
{
    for (int what = 0; what < N_OPERATIONS; what++) {
        for (int i = 0; i < tune.n_sizes; i++) {
            double *now = &tune.now[what][part][i][k], seconds;

            if (!is_measured(what, k, part, tune.sizes[i])) continue;
            seconds = measure(what, team, dest, source, tune.sizes[i]);
            if (*now == 0 || seconds < *now) *now = seconds;
        }
    }
}

/* One start of the library, with algorithm number k of each operation. */
static void measure_all(int k)
{
    size_t blocks = (size_t)tune.run.n_pes * 1024, most = blocks > CHUNK ? blocks : CHUNK;
    char *dest = shmem_malloc(tune.max > most ? tune.max : most);
    char *source = shmem_calloc(tune.max > most ? tune.max : most, 1);

    if (dest == NULL || source == NULL)
        bench_die(&tune.run, "tune: no memory: want a smaller --max, or a larger "
                             "SHMEM_SYMMETRIC_SIZE");
    for (int part = 0; part < tune.n_parts; part++) {
        shmem_team_t team;

        shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, tune.members[part], NULL, 0, &team);
        if (team == SHMEM_TEAM_INVALID && tune.run.me < tune.members[part])
            bench_die(&tune.run, "tune: no team of %d PEs", tune.members[part]);
        if (team != SHMEM_TEAM_INVALID) measure_part(part, team, dest, source, k);
        if (team != SHMEM_TEAM_INVALID) shmem_team_destroy(team);
        shmem_barrier_all();
    }
    shmem_free(source);
    shmem_free(dest);
}

/* What a round has found. */
static void count_round(int what, int part, int size)
{
    double *now = tune.now[what][part][size], *best = tune.best[what][part][size];

    for (int k = 0; k <= MOST_ALGORITHMS; k++) {
        if (now[k] == 0) continue; /* not measured */
        if (best[k] == 0 || now[k] < best[k]) best[k] = now[k];
        tune.wins[what][part][size][k] += now[k] < GAIN * now[0];
    }
    memset(now, 0, sizeof(tune.now[what][part][size]));
}

/*
 * The library is there. What is built in comes first and last, and its better time counts: a
 * machine that changes in between, or a start that met a stranger, is no reason for a line.
 */
static void run_round(int round)
{
    for (int k = 0; k <= MOST_ALGORITHMS + 1; k++) {
        if (round > 0 || k > 0) {
            shmem_finalize();
            start(k % (MOST_ALGORITHMS + 1));
        }
        measure_all(k % (MOST_ALGORITHMS + 1));
    }
    for (int what = 0; what < N_OPERATIONS; what++)
        for (int part = 0; part < tune.n_parts; part++)
            for (int size = 0; size < tune.n_sizes; size++)
                count_round(what, part, size);
}

/* ---- the table ------------------------------------------------------------------------ */

/*
 * Number of the quickest algorithm; 0 where nothing is clearly quicker than what is built in, in
 * each round: what disturbs a machine meets one start of the library, and is no reason for a line.
 */
static int quickest(int what, int part, int size)
{
    const double *best = tune.best[what][part][size];
    int found = 0;

    for (int k = 1; k <= MOST_ALGORITHMS; k++)
        if (tune.wins[what][part][size][k] == tune.rounds && best[k] < GAIN * best[0] &&
            (found == 0 || best[k] < best[found]))
            found = k;
    return found;
}

/* Sizes from one to before another, of an operation on so many nodes. */
static void write_line(FILE *file, int what, int part, int from, int end, int how)
{
    const double *best = tune.best[what][part][from];
    char nodes[32] = "", bytes[64] = "*", provider[sizeof(tune.provider)];

    snprintf(provider, sizeof(provider), "%s", tune.provider);
    provider[strcspn(provider, ";")] = '\0';
    if (part + 1 < tune.n_parts)
        snprintf(nodes, sizeof(nodes), "%d-%d", tune.nodes[part], tune.nodes[part + 1] - 1);
    else
        snprintf(nodes, sizeof(nodes), "%d-", tune.nodes[part]);
    if (what != COLLECT) {
        int n = snprintf(bytes, sizeof(bytes), "%zu-", from > 0 ? tune.sizes[from] : 0);

        if (end < tune.n_sizes)
            snprintf(bytes + n, sizeof(bytes) - (size_t)n, "%zu", tune.sizes[end] - 1);
    }
    fprintf(file, "%-9s  %-8s  %-7s  *  %-17s  %-8s  # %.1f us, built in: %.1f\n",
            operations[what].name, provider[0] != '\0' ? provider : "*", nodes, bytes,
            operations[what].algorithms[how - 1], best[how] * 1e6, best[0] * 1e6);
}

static void write_part(FILE *file, int what, int part)
{
    int end;

    for (int from = 0; from < tune.n_sizes && has_size(what, part, tune.sizes[from]); from = end) {
        int how = quickest(what, part, from);

        for (end = from + 1; end < tune.n_sizes && has_size(what, part, tune.sizes[end]); end++)
            if (quickest(what, part, end) != how) break;
        if (how > 0) write_line(file, what, part, from, end, how);
    }
}

static int write_table(void)
{
    FILE *file = tune.output != NULL ? fopen(tune.output, "w") : stdout;

    if (file == NULL) {
        bench_say(&tune.run, "--output %s: %s", tune.output, strerror(errno));
        return -EIO;
    }
    fprintf(
        file,
        "# Algorithms of collectives between nodes, for " VARIABLE ", by steppe-bench tune:\n"
        "# %d PEs on %d nodes, %s, best of %d rounds, medians of %d. What is not named here is\n"
        "# as built in: no other algorithm was quicker by more than %.0f %%.\n"
        "# operation  provider  nodes  members  bytes  algorithm\n",
        tune.run.n_pes, tune.nodes[tune.n_parts - 1],
        tune.provider[0] != '\0' ? tune.provider : "no fabric", tune.rounds, SAMPLES,
        100 * (1 - GAIN));
    for (int what = 0; what < N_OPERATIONS; what++)
        for (int part = 0; part < tune.n_parts; part++)
            write_part(file, what, part);
    if (ferror(file) != 0 || fflush(file) != 0 || (file != stdout && fclose(file) != 0)) {
        bench_say(&tune.run, "writing the table failed");
        return -EIO;
    }
    return 0;
}

/* ---- the command ----------------------------------------------------------------------- */

static int usage(FILE *out)
{
    if (tune.run.me == 0)
        fputs("usage: oshrun -n N steppe-bench tune [-o FILE] [--max BYTES] [--rounds N]\n"
              "Measure the algorithms of collectives between nodes on this job, and write a table\n"
              "for SHMEM_COLL_TABLE: lines where another one than that built in is quicker.\n"
              "  -o, --output FILE   write there instead of standard output\n"
              "      --max BYTES     the largest vector, 8 to 1g, such as 64k (4m)\n"
              "      --rounds N      starts of the library with each algorithm, 1 to 99 (5)\n",
              out);
    return out == stdout ? 0 : 2;
}

static bool parse_count(const char *text, const char *units, size_t least, size_t most,
                        size_t *value)
{
    char *end;
    const char *unit;

    errno = 0;
    *value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || errno != 0 || *value > most) return false;
    if (*end != '\0') {
        unit = strchr(units, *end);
        if (unit == NULL || end[1] != '\0') return false;
        *value <<= 10 * ((unit - units) % 3 + 1);
    }
    return *value >= least && *value <= most;
}

/* 0, or the exit status plus 1. */
static int parse(int argc, char **argv)
{
    static const struct option options[] = {{"help", no_argument, NULL, 'h'},
                                            {"output", required_argument, NULL, 'o'},
                                            {"max", required_argument, NULL, 'm'},
                                            {"rounds", required_argument, NULL, 'r'},
                                            {NULL, 0, NULL, 0}};
    size_t value;
    int option;

    opterr = tune.run.me == 0;
    tune.max = (size_t)4 << 20;
    tune.rounds = 5;
    while ((option = getopt_long(argc, argv, "ho:", options, NULL)) != -1) {
        if (option == 'h') return usage(stdout) + 1;
        if (option == 'o') {
            tune.output = optarg;
        } else if (option == 'm' && parse_count(optarg, "kmgKMG", 8, (size_t)1 << 30, &value)) {
            tune.max = value;
        } else if (option == 'r' && parse_count(optarg, "", 1, 99, &value)) {
            tune.rounds = (int)value;
        } else {
            return usage(stderr) + 1;
        }
    }
    return optind < argc ? usage(stderr) + 1 : 0;
}

int bench_tune(int argc, char **argv)
{
    struct bench_machine machine = {0};
    int status;

    start(0);
    status = parse(argc, argv);
    if (status != 0) {
        shmem_finalize();
        return status - 1;
    }
    find_parts();
    find_sizes();
    bench_describe(&tune.run, &machine);
    snprintf(tune.provider, sizeof(tune.provider), "%s", machine.provider);
    if (tune.n_parts == 0) {
        bench_say(&tune.run, "tune: all PEs are on one node, where nothing is chosen: start it on "
                             "several hosts, or with SHMEM_NODE=off");
        shmem_finalize();
        return 2;
    }
    for (int round = 0; round < tune.rounds; round++)
        run_round(round);
    status = tune.run.me == 0 ? write_table() : 0;
    status = bench_worst(status != 0);
    shmem_finalize();
    return status == 0 ? 0 : 1;
}
