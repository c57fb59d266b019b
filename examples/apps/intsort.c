/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sorts 64-bit keys that are spread over all PEs: afterwards PE 0 holds the smallest in order,
 * PE 1 the next, and so on.
 *
 *   histogram   each PE counts its keys by their leading bits; a reduction adds the counts; from
 *               the sums every PE works out which range of bins, its bucket, goes to which PE,
 *               so that buckets are about equal even when the keys are not evenly spread;
 *   exchange    all-to-all of the counts, then of the places that follow from them, then each PE
 *               puts its keys straight to where they belong, in a space sized for the purpose;
 *   sort        radix sort of each bucket, by itself.
 *
 * Verifies order within and between PEs, bucket limits, and that no key was lost or changed.
 *
 *     oshcc intsort.c -o intsort && oshrun -n 4 ./intsort -n 1000000
 */
#include <shmem.h>

#include <errno.h>
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BIN_BITS 12
#define N_BINS (1 << BIN_BITS)
#define DIGIT_BITS 8
#define N_DIGITS (1 << DIGIT_BITS)

enum phase { HISTOGRAM, EXCHANGE, SORT, N_PHASES };

struct sort {
    size_t n_keys; /* generated on each PE */
    uint64_t seed;
    int skew;
    int me, n_pes;
    uint64_t *keys;   /* private: this PE's input, then scratch; as long as the longer of both */
    uint64_t *sorted; /* in the space: what arrived here, then the result */
    uint64_t *other;  /* private: input ordered by bucket; then scratch of the radix sort */
    size_t n_mine;    /* keys that belong to this PE in the end */
    size_t n_most;    /* the largest n_mine of all */
    shmem_space_t space;
    shmem_team_t team;
    double seconds[N_PHASES];
};

/* Statics are symmetric: sources and destinations of the collectives. */
static uint64_t bins[N_BINS], all_bins[N_BINS];
static int bin_owner[N_BINS];
static int mine_bad, any_bad;

/* ---- small things -------------------------------------------------------- */

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Nonzero on all PEs when it is on any. */
static int agree(int failed)
{
    mine_bad = failed != 0;
    shmem_int_max_reduce(SHMEM_TEAM_WORLD, &any_bad, &mine_bad, 1);
    return any_bad;
}

/* The finaliser of splitmix64: a bijection that leaves no pattern. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static int bin_of(uint64_t key)
{
    return (int)(key >> (64 - BIN_BITS));
}

static int owner_of(uint64_t key)
{
    return bin_owner[bin_of(key)];
}

static void *allocate(size_t n, size_t size)
{
    void *block = calloc(n + 1, size);

    if (block == NULL)
        fprintf(stderr, "intsort: PE %d: no memory for %zu keys\n", shmem_my_pe(), n);
    return block;
}

/*
 * Keys depend on their place among all keys alone, so the result does not depend on the number of
 * PEs. Skewed: the product of two numbers between 0 and 1, small ones far more frequent.
 */
static void generate(struct sort *sort)
{
    uint64_t first = (uint64_t)sort->me * sort->n_keys;

    for (size_t i = 0; i < sort->n_keys; i++) {
        uint64_t key = mix((first + i + 1) * UINT64_C(0x9e3779b97f4a7c15) + sort->seed);

        if (sort->skew) key = (uint64_t)((unsigned __int128)key * mix(~key) >> 64);
        sort->keys[i] = key;
    }
}

/* Sums over all keys of all PEs that no loss, doubling or change of a key leaves as they are. */
static void checksum(const uint64_t *keys, size_t n, uint64_t sums[3])
{
    static uint64_t mine[3], all[3];

    mine[0] = n;
    mine[1] = mine[2] = 0;
    for (size_t i = 0; i < n; i++) {
        mine[1] += keys[i];
        mine[2] += mix(keys[i] ^ UINT64_C(0x5851f42d4c957f2d));
    }
    shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, all, mine, 3);
    memcpy(sums, all, sizeof(all));
}

/* ---- histogram ----------------------------------------------------------- */

/* Deal out the bins in order: a bin goes to the PE in whose share of all keys its middle lies. */
static void assign_bins(struct sort *sort)
{
    uint64_t total = (uint64_t)sort->n_keys * (uint64_t)sort->n_pes;
    uint64_t *load = calloc((size_t)sort->n_pes, sizeof(*load));
    uint64_t before = 0;

    if (load == NULL) return; /* n_most stays 0, which the caller reports */
    for (int bin = 0; bin < N_BINS; bin++) {
        uint64_t middle = before + all_bins[bin] / 2;
        int owner = (int)((unsigned __int128)middle * (unsigned)sort->n_pes / total);

        if (owner >= sort->n_pes) owner = sort->n_pes - 1;
        bin_owner[bin] = owner;
        load[owner] += all_bins[bin];
        before += all_bins[bin];
    }
    for (int pe = 0; pe < sort->n_pes; pe++)
        if (load[pe] > sort->n_most) sort->n_most = load[pe];
    sort->n_mine = load[sort->me];
    free(load);
}

static int histogram(struct sort *sort)
{
    for (size_t i = 0; i < sort->n_keys; i++)
        bins[bin_of(sort->keys[i])]++;
    shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, all_bins, bins, N_BINS);
    assign_bins(sort);
    if (sort->n_most > 0) return 0;
    fprintf(stderr, "intsort: PE %d: no memory\n", sort->me);
    return -1;
}

/* ---- exchange ------------------------------------------------------------ */

/* Room for the largest bucket, on every PE. Collective; the same result on all PEs. */
static int make_room(struct sort *sort)
{
    shmem_space_config_t config = {.device_type = SHMEM_DEVICE_CPU};

    config.size = sort->n_most * sizeof(*sort->sorted) + 4096;
    if (shmem_space_create(&config, &sort->space, &sort->team) == 0)
        sort->sorted = shmem_space_malloc(sort->space, sort->n_most * sizeof(*sort->sorted));
    if (sort->sorted != NULL) return 0;
    if (sort->me == 0) fprintf(stderr, "intsort: no space of %zu bytes on each PE\n", config.size);
    return -1;
}

static void free_room(struct sort *sort)
{
    if (sort->space == SHMEM_SPACE_INVALID) return;
    shmem_space_free(sort->space, sort->sorted);
    shmem_team_destroy(sort->team);
    shmem_space_destroy(sort->space);
}

/* Turn counts into the places where the pieces begin. Returns their sum. */
static uint64_t places(const uint64_t *counts, uint64_t *starts, int n)
{
    uint64_t sum = 0;

    for (int i = 0; i < n; i++) {
        starts[i] = sum;
        sum += counts[i];
    }
    return sum;
}

/* Copy the input to sort->other, ordered by bucket; ends holds the starts, and then the ends. */
static void order_by_bucket(struct sort *sort, uint64_t *ends)
{
    for (size_t i = 0; i < sort->n_keys; i++)
        sort->other[ends[owner_of(sort->keys[i])]++] = sort->keys[i];
}

/*
 * counts: four symmetric rows of n_pes. Row 0: keys from here to each PE; row 1: from each PE to
 * here; row 2: where each PE's keys begin here; row 3: where ours begin at each PE.
 */
static int exchange_with(struct sort *sort, uint64_t *counts)
{
    size_t n = (size_t)sort->n_pes;
    uint64_t *to = counts, *from = counts + n, *mine = counts + 2 * n, *there = counts + 3 * n;
    uint64_t *ends = allocate(n, sizeof(*ends));
    int differ;

    if (agree(ends == NULL)) {
        free(ends);
        return -1;
    }
    for (size_t i = 0; i < sort->n_keys; i++)
        to[owner_of(sort->keys[i])]++;
    places(to, ends, sort->n_pes);
    order_by_bucket(sort, ends);

    shmem_uint64_alltoall(SHMEM_TEAM_WORLD, from, to, 1);
    differ = places(from, mine, sort->n_pes) != sort->n_mine;
    shmem_uint64_alltoall(SHMEM_TEAM_WORLD, there, mine, 1);
    if (agree(differ)) {
        if (sort->me == 0) fprintf(stderr, "intsort: counts differ from the histogram\n");
        free(ends);
        return -1;
    }
    for (int i = 0; i < sort->n_pes; i++) { /* not all at the same PE at once */
        int pe = (sort->me + i) % sort->n_pes;

        shmem_uint64_put_nbi(sort->sorted + there[pe], sort->other + (ends[pe] - to[pe]), to[pe],
                             pe);
    }
    shmem_quiet();
    shmem_team_sync(sort->team);
    free(ends);
    return 0;
}

static int exchange(struct sort *sort)
{
    uint64_t *counts = shmem_calloc(4 * (size_t)sort->n_pes, sizeof(*counts));
    int rc;

    if (counts == NULL) {
        if (sort->me == 0)
            fprintf(stderr, "intsort: no room on the heap: raise SHMEM_SYMMETRIC_SIZE\n");
        return -1;
    }
    rc = exchange_with(sort, counts);
    shmem_free(counts);
    return rc;
}

/* ---- sort ---------------------------------------------------------------- */

/* One stable pass over the digit at shift. Returns 0 when all keys have the same digit there. */
static int radix_pass(const uint64_t *from, uint64_t *to, size_t n, int shift)
{
    uint64_t counts[N_DIGITS] = {0}, starts[N_DIGITS];

    for (size_t i = 0; i < n; i++)
        counts[from[i] >> shift & (N_DIGITS - 1)]++;
    if (counts[from[0] >> shift & (N_DIGITS - 1)] == n) return 0;
    places(counts, starts, N_DIGITS);
    for (size_t i = 0; i < n; i++)
        to[starts[from[i] >> shift & (N_DIGITS - 1)]++] = from[i];
    return 1;
}

static int sort_bucket(struct sort *sort)
{
    uint64_t *from = sort->sorted, *to = sort->keys, *swap;

    for (int shift = 0; shift < 64 && sort->n_mine > 0; shift += DIGIT_BITS)
        if (radix_pass(from, to, sort->n_mine, shift)) {
            swap = from;
            from = to;
            to = swap;
        }
    if (from != sort->sorted) memcpy(sort->sorted, from, sort->n_mine * sizeof(*from));
    return 0;
}

/* ---- verification -------------------------------------------------------- */

static int wrong(struct sort *sort, const char *what)
{
    fprintf(stderr, "intsort: PE %d: wrong: %s\n", sort->me, what);
    return 1;
}

/* Order between PEs: ends holds {count, first, last} of each; empty ones are passed over. */
static int verify_ends(struct sort *sort)
{
    static uint64_t mine[3];
    uint64_t *ends = shmem_calloc(3 * (size_t)sort->n_pes, sizeof(*ends));
    uint64_t last = 0;
    int failed = 0;

    if (ends == NULL) return wrong(sort, "no room on the heap to verify");
    mine[0] = sort->n_mine;
    mine[1] = sort->n_mine > 0 ? sort->sorted[0] : 0;
    mine[2] = sort->n_mine > 0 ? sort->sorted[sort->n_mine - 1] : 0;
    shmem_uint64_fcollect(SHMEM_TEAM_WORLD, ends, mine, 3);
    for (int pe = 0; pe < sort->n_pes; pe++) {
        if (ends[3 * pe] == 0) continue;
        if (ends[3 * pe + 1] < last) failed = 1;
        last = ends[3 * pe + 2];
    }
    shmem_free(ends);
    return failed ? wrong(sort, "keys are not in order between PEs") : 0;
}

static int verify(struct sort *sort, const uint64_t before[3])
{
    uint64_t after[3];
    int failed = 0, outside = 0, disorder = 0;

    for (size_t i = 0; i < sort->n_mine; i++) {
        if (owner_of(sort->sorted[i]) != sort->me) outside = 1;
        if (i > 0 && sort->sorted[i] < sort->sorted[i - 1]) disorder = 1;
    }
    if (outside) failed |= wrong(sort, "a key is outside the bucket of this PE");
    if (disorder) failed |= wrong(sort, "keys are not in order");
    failed |= verify_ends(sort);
    checksum(sort->sorted, sort->n_mine, after);
    if (after[0] != before[0]) failed |= wrong(sort, "the number of keys changed");
    if (after[1] != before[1] || after[2] != before[2])
        failed |= wrong(sort, "the checksum of the keys changed");
    return failed;
}

/* ---- the whole ----------------------------------------------------------- */

/* Run one phase on all PEs together and note the time of the slowest. */
static int timed(struct sort *sort, enum phase phase, int (*run)(struct sort *sort))
{
    static double mine, most;
    double start;
    int failed;

    shmem_barrier_all();
    start = now();
    failed = run(sort);
    mine = now() - start;
    shmem_double_max_reduce(SHMEM_TEAM_WORLD, &most, &mine, 1);
    sort->seconds[phase] = most;
    return agree(failed);
}

static void report(const struct sort *sort)
{
    static const char *const names[] = {"histogram", "exchange", "sort"};
    double total = 0, n = (double)sort->n_keys * sort->n_pes;

    printf("intsort: %d PEs, %zu %s keys of 64 bits on each, largest bucket %zu\n", sort->n_pes,
           sort->n_keys, sort->skew ? "skewed" : "uniform", sort->n_most);
    printf("  %-10s %10s %10s\n", "phase", "seconds", "Mkeys/s");
    for (int i = 0; i < N_PHASES; i++) {
        printf("  %-10s %10.4f %10.2f\n", names[i], sort->seconds[i], n / sort->seconds[i] / 1e6);
        total += sort->seconds[i];
    }
    printf("  %-10s %10.4f %10.2f\n", "all", total, n / total / 1e6);
    printf("intsort: order, bucket limits, number and checksum of %.0f keys: all right\n", n);
}

/* Grow the scratch to the size of the bucket, which may be larger than the input. */
static int grow(struct sort *sort)
{
    uint64_t *keys;

    free(sort->other);
    sort->other = NULL;
    if (sort->n_mine <= sort->n_keys) return 0;
    keys = allocate(sort->n_mine, sizeof(*keys));
    if (keys == NULL) return -1;
    free(sort->keys);
    sort->keys = keys;
    return 0;
}

static int run(struct sort *sort)
{
    uint64_t before[3];

    sort->keys = allocate(sort->n_keys, sizeof(*sort->keys));
    sort->other = allocate(sort->n_keys, sizeof(*sort->other));
    if (agree(sort->keys == NULL || sort->other == NULL)) return 1;
    generate(sort);
    checksum(sort->keys, sort->n_keys, before);
    if (timed(sort, HISTOGRAM, histogram) || make_room(sort) != 0) return 1;
    if (timed(sort, EXCHANGE, exchange) || agree(grow(sort))) return 1;
    if (timed(sort, SORT, sort_bucket) || agree(verify(sort, before))) return 1;
    if (sort->me == 0) report(sort);
    return 0;
}

static const char usage[] = "usage: intsort [-n keys on each PE] [-s seed] [-k]\n"
                            "  -n N   1 to 2^32, default 1000000\n"
                            "  -s N   another seed gives other keys (default 1)\n"
                            "  -k     skewed keys: small ones far more frequent\n";

/* A whole number from least to most; *failed becomes -1 when text is none. */
static uint64_t number(const char *text, uint64_t least, uint64_t most, int *failed)
{
    unsigned long long value;
    char *end;

    errno = 0;
    value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value < least ||
        value > most)
        *failed = -1;
    return value;
}

static int parse(int argc, char **argv, struct sort *sort)
{
    int option, failed = 0;

    opterr = 0;
    while ((option = getopt(argc, argv, "n:s:k")) != -1) {
        switch (option) {
        case 'n':
            sort->n_keys = number(optarg, 1, UINT64_C(1) << 32, &failed);
            break;
        case 's':
            sort->seed = number(optarg, 0, UINT64_MAX, &failed);
            break;
        case 'k':
            sort->skew = 1;
            break;
        default:
            failed = -1;
            break;
        }
    }
    return optind == argc ? failed : -1;
}

int main(int argc, char **argv)
{
    struct sort sort = {.n_keys = 1000000, .seed = 1, .space = SHMEM_SPACE_INVALID};
    int rc = 2;

    shmem_init();
    sort.me = shmem_my_pe();
    sort.n_pes = shmem_n_pes();
    if (parse(argc, argv, &sort) == 0) {
        rc = run(&sort);
        free_room(&sort);
        free(sort.keys);
        free(sort.other);
    } else if (sort.me == 0) {
        fputs(usage, stderr);
    }
    shmem_finalize();
    return rc;
}
