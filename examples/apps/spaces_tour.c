/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A tour of all kinds of memory that this machine has: a space of each, and data moved between
 * every two of them, by put and by get, to the next PE and back.
 *
 * Each PE puts from its own part of a space (or from private host memory) to the next PE's part
 * of a space, and gets from there. What arrived is checked by another get, never by touching the
 * memory: GPU memory is not for the host. PE 0 prints what each space can do, and the slowest
 * PE's speed for each pair. Runs with any number of PEs and whatever kinds there are.
 *
 *     oshcc spaces_tour.c -o spaces_tour && oshrun -n 4 ./spaces_tour --bytes 1048576
 */
#include <shmem.h>
#include <shmemx.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define N_PLACES 6

/* Where data can be: private memory of the host, the heap, or a space of one kind. */
struct place {
    const char *name;
    shmem_device_type_t type;
    shmem_space_t space; /* INVALID: this PE has no such memory */
    shmem_team_t team;
    unsigned char *source, *dest; /* two blocks there; NULL where this PE is no member */
    int exists;                   /* on some PE */
    char why_not[200];
};

static struct place places[N_PLACES] = {
    {.name = "private"},
    {.name = "heap", .space = SHMEM_SPACE_DEFAULT, .team = SHMEM_TEAM_WORLD},
    {.name = "cpu", .type = SHMEM_DEVICE_CPU},
    {.name = "gpu", .type = SHMEM_DEVICE_GPU},
    {.name = "hbm", .type = SHMEM_DEVICE_HBM},
    {.name = "fam", .type = SHMEM_DEVICE_FAM},
};

static size_t nbytes = 256 * 1024;
static long repeats = 8;
static int n_errors, n_errors_all; /* globals, so that the reduction may use them */
static double speed, slowest;      /* MB/s of this PE, of the slowest */
static unsigned char *pattern, *check;

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/*
 * Collective. The library explains on standard error why there is no such space; we want that
 * in our table, so descriptor 2 leads to a file meanwhile.
 */
static int create(struct place *place)
{
    shmem_space_config_t config = {place->type, 4 * nbytes + 65536, SHMEM_SPACE_FLAG_DEFAULT};
    FILE *file = tmpfile();
    int saved = dup(2), failed;
    ssize_t len = 0;

    if (file != NULL && saved >= 0) dup2(fileno(file), 2);
    failed = shmem_space_create(&config, &place->space, &place->team);
    if (saved >= 0) dup2(saved, 2);
    close(saved);
    if (file == NULL) return failed;
    len = pread(fileno(file), place->why_not, sizeof(place->why_not) - 1, 0);
    place->why_not[len > 0 ? len : 0] = '\0';
    place->why_not[strcspn(place->why_not, "\n")] = '\0';
    fclose(file);
    return failed;
}

/* Ends the job: the others would wait for this PE. */
static void *have(void *block, const char *where)
{
    if (block != NULL) return block;
    fprintf(stderr, "spaces_tour: PE %d: no room for %zu bytes in %s memory\n", shmem_my_pe(),
            nbytes, where);
    shmem_global_exit(1);
    return NULL;
}

static void open_places(void)
{
    for (int i = 0; i < N_PLACES; i++) {
        struct place *place = &places[i];

        place->exists = i < 2 || create(place) == 0;
        if (i > 0 && !shmem_team_is_valid(place->team)) continue;
        place->source = i == 0 ? malloc(nbytes) : shmem_space_malloc(place->space, nbytes);
        place->dest = i == 0 ? malloc(nbytes) : shmem_space_malloc(place->space, nbytes);
        have(place->source, place->name);
        have(place->dest, place->name);
    }
}

static void close_places(void)
{
    free(places[0].source);
    free(places[0].dest);
    for (int i = 1; i < N_PLACES; i++) {
        struct place *place = &places[i];

        if (place->source == NULL) continue;
        shmem_space_free(place->space, place->source);
        shmem_space_free(place->space, place->dest);
        if (i == 1) continue; /* the heap stays */
        shmem_team_destroy(place->team);
        if (shmem_space_destroy(place->space) != 0) n_errors++;
    }
}

/* The next member of the space after this PE, as a number in the world. */
static int next_pe(const struct place *place)
{
    int rank = shmem_team_my_pe(place->team), n = shmem_team_n_pes(place->team);

    return shmem_team_translate_pe(place->team, (rank + 1) % n, SHMEM_TEAM_WORLD);
}

static void make_pattern(int seed)
{
    for (size_t i = 0; i < nbytes; i++)
        pattern[i] = (unsigned char)(i * 7 + (size_t)seed * 31 + (size_t)shmem_my_pe());
}

static void verify(const char *verb, const struct place *from, const struct place *to)
{
    if (memcmp(check, pattern, nbytes) == 0) return;
    n_errors++;
    fprintf(stderr, "spaces_tour: PE %d: %s from %s to %s: wrong data\n", shmem_my_pe(), verb,
            from->name, to->name);
}

/* Memory of this PE, of any kind; private memory is the host's own. */
static void write_own(const struct place *place, unsigned char *block)
{
    if (place == places)
        memcpy(block, pattern, nbytes);
    else
        shmem_putmem(block, pattern, nbytes, shmem_my_pe());
    shmem_quiet();
}

static void read_own(const struct place *place, const unsigned char *block)
{
    if (place == places)
        memcpy(check, block, nbytes);
    else
        shmem_getmem(check, block, nbytes, shmem_my_pe());
}

/* Own memory of kind `from` to the next PE's memory of kind `to`. */
static void put_pair(struct place *from, struct place *to, int seed)
{
    int pe = next_pe(to);
    double start;

    make_pattern(seed);
    write_own(from, from->source);
    shmem_putmem(to->dest, from->source, nbytes, pe); /* the first one may have to open things */
    shmem_quiet();
    start = now();
    for (long i = 0; i < repeats; i++)
        shmem_putmem(to->dest, from->source, nbytes, pe);
    shmem_quiet();
    speed = (double)repeats * (double)nbytes / (now() - start) / 1e6;
    shmem_getmem(check, to->dest, nbytes, pe);
    verify("put", from, to);
}

/* The next PE's memory of kind `from`, where a put has been, to own memory of kind `to`. */
static void get_pair(struct place *from, struct place *to, int seed)
{
    int pe = next_pe(from);
    double start;

    make_pattern(seed);
    shmem_putmem(from->dest, pattern, nbytes, pe);
    shmem_quiet();
    shmem_getmem(to->source, from->dest, nbytes, pe);
    start = now();
    for (long i = 0; i < repeats; i++)
        shmem_getmem(to->source, from->dest, nbytes, pe);
    speed = (double)repeats * (double)nbytes / (now() - start) / 1e6;
    read_own(to, to->source);
    verify("get", from, to);
}

/* ---- the tables ------------------------------------------------------------------------------ */

static void print_places(void)
{
    printf("spaces_tour: %d PEs, blocks of %zu bytes\n", shmem_n_pes(), nbytes);
    for (int i = 2; i < N_PLACES; i++) {
        const struct place *place = &places[i];
        shmemx_space_info_t info = SHMEMX_SPACE_INFO_INITIALIZER;

        if (!place->exists)
            printf("  %-8s none\n           %s\n", place->name, place->why_not);
        else if (shmemx_space_query(place->space, &info) == 0)
            printf("  %-8s %d members, capabilities 0x%llx, to the next PE by %s\n           %s\n",
                   place->name, info.n_pes, (unsigned long long)info.caps,
                   shmemx_space_path_name(shmemx_space_path(place->space, next_pe(place))),
                   info.where);
        else
            printf("  %-8s not on PE 0\n", place->name);
    }
}

/* Puts go to symmetric memory, gets come from there: private memory is one end of neither. */
static void print_table(const char *verb, int is_get)
{
    int me = shmem_my_pe(), seed = is_get ? 100 : 1;

    if (me == 0) printf("%s, MB/s of the slowest PE\n  %-10s", verb, "from \\ to");
    for (int to = 0; to < N_PLACES && me == 0; to++)
        if (places[to].exists && (is_get || to > 0)) printf("%10s", places[to].name);
    if (me == 0) printf("\n");
    for (int from = 0; from < N_PLACES; from++) {
        if (!places[from].exists || (is_get && from == 0)) continue;
        if (me == 0) printf("  %-10s", places[from].name);
        for (int to = 0; to < N_PLACES; to++, seed++) {
            if (!places[to].exists || (!is_get && to == 0)) continue;
            speed = 1e30; /* where this PE has not both kinds */
            shmem_barrier_all();
            if (places[from].source != NULL && places[to].source != NULL)
                (is_get ? get_pair : put_pair)(&places[from], &places[to], seed);
            shmem_double_min_reduce(SHMEM_TEAM_WORLD, &slowest, &speed, 1);
            if (me == 0 && slowest < 1e30) printf("%10.0f", slowest);
            if (me == 0 && slowest >= 1e30) printf("%10s", "-");
        }
        if (me == 0) printf("\n");
    }
}

static const char usage[] = "usage: spaces_tour [--bytes N] [--repeats N] [--help]\n"
                            "  --bytes N     of each block, 1 to 2^30, default 262144\n"
                            "  --repeats N   of each put and get, 1 to 10^6, default 8\n";

static int set_number(const char *text, long most, long *value)
{
    char *end;

    *value = strtol(text, &end, 10);
    return end != text && *end == '\0' && *value >= 1 && *value <= most;
}

/* 0: run; 2: a mistake, told; -1: help is wanted. */
static int parse(int argc, char **argv)
{
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        long n;

        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return -1;
        if (strcmp(argv[i], "--bytes") == 0 && set_number(value, 1L << 30, &n)) {
            nbytes = (size_t)n;
        } else if (strcmp(argv[i], "--repeats") == 0 && set_number(value, 1000000, &n)) {
            repeats = n;
        } else {
            if (shmem_my_pe() == 0)
                fprintf(stderr, "spaces_tour: not an option with its value: %s %s\n", argv[i],
                        value);
            return 2;
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    int rc;

    shmem_init();
    rc = parse(argc, argv);
    if (rc != 0) {
        if (shmem_my_pe() == 0) fputs(usage, rc < 0 ? stdout : stderr);
    } else {
        pattern = have(malloc(nbytes), "private");
        check = have(malloc(nbytes), "private");
        open_places();
        if (shmem_my_pe() == 0) print_places();
        print_table("put", 0);
        print_table("get", 1);
        close_places();
        free(pattern);
        free(check);
        shmem_int_sum_reduce(SHMEM_TEAM_WORLD, &n_errors_all, &n_errors, 1);
        if (shmem_my_pe() == 0 && n_errors_all == 0) printf("spaces_tour: all right\n");
        rc = n_errors_all != 0;
    }
    shmem_finalize();
    return rc < 0 ? 0 : rc;
}
