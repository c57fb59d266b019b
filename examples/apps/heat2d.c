/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Heat that spreads over a square plate, whose cells live in a memory space of the kind you name.
 *
 * The members of the space form a grid: shmem_team_split_2d() makes a team of each row and each
 * column, with a context each. Every PE keeps its block of cells in the space. A step sends the
 * edges to the neighbours by put with signal (rows straight from the space, columns packed by the
 * host; data in the space, signals in host memory), gets the block to the host, computes there,
 * and puts it back. There is no GPU kernel here: the program shows where data lies and travels,
 * not how to compute fast. The checksum is the same for every number of PEs and kind of memory.
 *
 *     oshcc heat2d.c -o heat2d && oshrun -n 6 ./heat2d --kind cpu --size 240 --steps 100
 */
#include <shmem.h>
#include <shmemx.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum side { UP, DOWN, LEFT, RIGHT, N_SIDES };

struct heat {
    shmem_device_type_t kind; /* the command line */
    long size, steps;
    shmem_space_t space;
    shmem_team_t team, row, column; /* ranks in row are x, in column y */
    shmem_ctx_t along_row, along_column;
    int x, y, nx, ny;  /* this PE's place in the grid of PEs */
    long x0, y0, w, h; /* its block: first cell, width, height */
    long pitch, edge;  /* doubles from row to row, in an edge: equal on all PEs */
    double *cells;     /* in the space: the block */
    double *halo;      /* in the space: what neighbours send, [step % 2][side][edge] */
    double *now;       /* on the host: the block with a border of one cell */
    double *block, *strip;
};

/* Symmetric, in host memory: which step the halo of a side is of; and words for reductions. */
static uint64_t arrived[N_SIDES];
static double change, change_row, change_all;
static uint64_t sum, sum_row, sum_all;

/* Ends the job: the others would wait for this PE. */
static void need(int ok, const char *what)
{
    if (ok) return;
    fprintf(stderr, "heat2d: PE %d: %s\n", shmem_my_pe(), what);
    shmem_global_exit(1);
}

/* The divisor of n next to its root: the grid of PEs is as square as can be. */
static int columns_of(int n)
{
    int best = 1;

    for (int i = 1; i <= n / i; i++)
        if (n % i == 0) best = i;
    return n / best;
}

static void make_grid(struct heat *heat)
{
    shmem_space_t of_row, of_column;
    int n = shmem_team_n_pes(heat->team);

    heat->nx = columns_of(n);
    heat->ny = n / heat->nx;
    need(shmem_team_split_2d(heat->team, heat->nx, NULL, 0, &heat->row, NULL, 0, &heat->column) ==
             0,
         "the team cannot be split");
    need(shmem_team_get_space(heat->row, &of_row) == 0 && of_row == heat->space &&
             shmem_team_get_space(heat->column, &of_column) == 0 && of_column == heat->space,
         "a team of the grid is not of its space");
    need(shmem_team_create_ctx(heat->row, 0, &heat->along_row) == 0 &&
             shmem_team_create_ctx(heat->column, 0, &heat->along_column) == 0,
         "no context for a team of the grid");
    heat->x = shmem_team_my_pe(heat->row);
    heat->y = shmem_team_my_pe(heat->column);
    heat->x0 = heat->size * heat->x / heat->nx;
    heat->y0 = heat->size * heat->y / heat->ny;
    heat->w = heat->size * (heat->x + 1) / heat->nx - heat->x0;
    heat->h = heat->size * (heat->y + 1) / heat->ny - heat->y0;
}

/* Cells of the plate that lie on a PE at most, in one direction. */
static long share(long size, int n)
{
    return (size + n - 1) / n;
}

static void make_blocks(struct heat *heat)
{
    size_t border = (size_t)(heat->w + 2) * (size_t)(heat->h + 2);
    long height = share(heat->size, heat->ny);

    heat->pitch = share(heat->size, heat->nx);
    heat->edge = heat->pitch > height ? heat->pitch : height;
    heat->cells = shmem_space_malloc(heat->space, (size_t)(heat->pitch * height) * sizeof(double));
    heat->halo = shmem_space_malloc(heat->space, 2 * N_SIDES * (size_t)heat->edge * sizeof(double));
    heat->now = calloc(border, sizeof(double));
    heat->block = calloc((size_t)(heat->pitch * height), sizeof(double));
    heat->strip = calloc((size_t)heat->edge, sizeof(double));
    need(heat->cells != NULL && heat->halo != NULL, "no room in the space");
    need(heat->now != NULL && heat->block != NULL && heat->strip != NULL, "no memory");
    for (long i = 0; i < heat->w + 2 && heat->y == 0; i++)
        heat->now[i] = 100.0; /* the upper rim of the plate is hot, for ever */
}

/* ---- one step ------------------------------------------------------------------------------ */

static int has_neighbour(const struct heat *heat, enum side side)
{
    const int has[] = {heat->y > 0, heat->y<heat->ny - 1, heat->x> 0, heat->x < heat->nx - 1};

    return has[side];
}

static double *halo_of(const struct heat *heat, uint64_t step, enum side side)
{
    return heat->halo + ((step % 2) * N_SIDES + (uint64_t)side) * (uint64_t)heat->edge;
}

/* What is my upper edge arrives as the lower halo of the PE above, and so on. */
static void send_row(struct heat *heat, uint64_t step, enum side side, enum side there)
{
    if (!has_neighbour(heat, side)) return;
    shmem_ctx_double_put_signal(heat->along_column, halo_of(heat, step, there),
                                heat->cells + (side == UP ? 0 : (heat->h - 1) * heat->pitch),
                                (size_t)heat->w, &arrived[there], step, SHMEM_SIGNAL_SET,
                                side == UP ? heat->y - 1 : heat->y + 1);
}

static void send_column(struct heat *heat, uint64_t step, enum side side, enum side there)
{
    long at = side == LEFT ? 0 : heat->w - 1;

    if (!has_neighbour(heat, side)) return;
    for (long i = 0; i < heat->h; i++)
        heat->strip[i] = heat->block[i * heat->pitch + at];
    shmem_ctx_double_put_signal(heat->along_row, halo_of(heat, step, there), heat->strip,
                                (size_t)heat->h, &arrived[there], step, SHMEM_SIGNAL_SET,
                                side == LEFT ? heat->x - 1 : heat->x + 1);
}

/* The block and its halo from the space to the host. */
static void fetch(struct heat *heat, uint64_t step)
{
    const long width = heat->w + 2;
    double *now = heat->now;

    for (long i = 0; i < heat->h; i++)
        memcpy(now + (i + 1) * width + 1, heat->block + i * heat->pitch,
               (size_t)heat->w * sizeof(double));
    for (int side = 0; side < N_SIDES; side++) {
        long n = side < LEFT ? heat->w : heat->h;
        if (!has_neighbour(heat, side)) continue;
        shmem_signal_wait_until(&arrived[side], SHMEM_CMP_GE, step);
        shmem_double_get(heat->strip, halo_of(heat, step, side), (size_t)n, shmem_my_pe());
        for (long i = 0; i < n; i++) {
            if (side == UP)
                now[i + 1] = heat->strip[i];
            else if (side == DOWN)
                now[(heat->h + 1) * width + i + 1] = heat->strip[i];
            else
                now[(i + 1) * width + (side == LEFT ? 0 : heat->w + 1)] = heat->strip[i];
        }
    }
}

static void compute(struct heat *heat)
{
    const long width = heat->w + 2;

    change = 0;
    for (long y = 1; y <= heat->h; y++) {
        const double *at = heat->now + y * width;
        for (long x = 1; x <= heat->w; x++) {
            double more = 0.2 * (at[x - width] + at[x + width] + at[x - 1] + at[x + 1] - 4 * at[x]);
            heat->block[(y - 1) * heat->pitch + x - 1] = at[x] + more;
            if (more < 0) more = -more;
            if (more > change) change = more;
        }
    }
}

/* A neighbour is one step ahead at most, so that two halos of each side are enough. */
static void step_once(struct heat *heat, uint64_t step)
{
    size_t n = (size_t)(heat->pitch * heat->h);

    shmem_double_get(heat->block, heat->cells, n, shmem_my_pe());
    send_row(heat, step, UP, DOWN);
    send_row(heat, step, DOWN, UP);
    send_column(heat, step, LEFT, RIGHT);
    send_column(heat, step, RIGHT, LEFT);
    fetch(heat, step);
    compute(heat);
    shmem_double_put(heat->cells, heat->block, n, shmem_my_pe());
    shmem_quiet();
}

/* The bits of every cell mixed with its place: a sum that knows no order. */
static uint64_t checksum(const struct heat *heat)
{
    uint64_t total = 0, bits;

    for (long y = 0; y < heat->h; y++)
        for (long x = 0; x < heat->w; x++) {
            memcpy(&bits, &heat->block[y * heat->pitch + x], sizeof(bits));
            bits += (uint64_t)((heat->y0 + y) * heat->size + heat->x0 + x) * 0x9e3779b97f4a7c15u;
            bits = (bits ^ bits >> 29) * 0xbf58476d1ce4e5b9u;
            total += bits ^ bits >> 32;
        }
    return total;
}

static void run(struct heat *heat)
{
    struct timespec from, to;
    shmemx_space_info_t info = SHMEMX_SPACE_INFO_INITIALIZER;
    double seconds;

    make_grid(heat);
    make_blocks(heat);
    shmem_double_put(heat->cells, heat->block, (size_t)(heat->pitch * heat->h), shmem_my_pe());
    shmem_quiet();
    shmem_team_sync(heat->team); /* nobody sends before all have their blocks */
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (long step = 1; step <= heat->steps; step++)
        step_once(heat, (uint64_t)step);
    clock_gettime(CLOCK_MONOTONIC, &to);
    seconds = (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);

    /* over the rows, then over a column of what the rows found: all PEs know the answer */
    sum = checksum(heat);
    shmem_double_max_reduce(heat->row, &change_row, &change, 1);
    shmem_double_max_reduce(heat->column, &change_all, &change_row, 1);
    shmem_uint64_sum_reduce(heat->row, &sum_row, &sum, 1);
    shmem_uint64_sum_reduce(heat->column, &sum_all, &sum_row, 1);
    if (shmem_team_my_pe(heat->team) != 0) return;
    need(shmemx_space_query(heat->space, &info) == 0, "the space has no answers");
    printf("heat2d: %ld x %ld cells on %d x %d PEs in %s memory, %ld steps in %.3f s\n", heat->size,
           heat->size, heat->nx, heat->ny, info.kind, heat->steps, seconds);
    printf("heat2d: last change %.6e, checksum %016" PRIx64 "\n", change_all, sum_all);
}

static void end(struct heat *heat)
{
    free(heat->now);
    free(heat->block);
    free(heat->strip);
    shmem_space_free(heat->space, heat->halo);
    shmem_space_free(heat->space, heat->cells);
    shmem_ctx_destroy(heat->along_row); /* contexts, then teams, then the space */
    shmem_ctx_destroy(heat->along_column);
    shmem_team_destroy(heat->row);
    shmem_team_destroy(heat->column);
    shmem_team_destroy(heat->team);
    need(shmem_space_destroy(heat->space) == 0, "the space cannot be destroyed");
}

/* Which PEs are members turns out here, so there is room for the whole plate on each. */
static int run_in_space(struct heat *heat)
{
    size_t bytes = (size_t)(heat->size * (heat->size + 2 * N_SIDES)) * sizeof(double);
    shmem_space_config_t config = {heat->kind, bytes + 4096, SHMEM_SPACE_FLAG_DEFAULT};

    if (shmem_space_create(&config, &heat->space, &heat->team) != 0) return 1;
    if (!shmem_team_is_valid(heat->team)) return 0; /* this PE has no such memory */
    need(heat->size >= columns_of(shmem_team_n_pes(heat->team)),
         "--size is less than there are PEs in a row");
    run(heat);
    end(heat);
    return 0;
}

static const char usage[] = "usage: heat2d [--kind cpu|gpu|hbm|fam] [--size N] [--steps N]\n"
                            "  --kind    memory of the cells, default cpu\n"
                            "  --size    cells along an edge, 1 to 8192, default 240\n"
                            "  --steps   1 to 10^6, default 100\n";

static int set_number(const char *text, long most, long *value)
{
    char *end;

    *value = strtol(text, &end, 10);
    return end != text && *end == '\0' && *value >= 1 && *value <= most;
}

static int set_kind(const char *text, shmem_device_type_t *kind)
{
    static const char *const names[] = {"cpu", "gpu", "hbm", "fam"}; /* as SHMEM_DEVICE_... */

    for (*kind = SHMEM_DEVICE_CPU; *kind <= SHMEM_DEVICE_FAM; (*kind)++)
        if (strcmp(names[*kind], text) == 0) return 1;
    return 0;
}

/* 0: run; 2: a mistake, told; -1: help is wanted. */
static int parse(int argc, char **argv, struct heat *heat)
{
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";

        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return -1;
        if (strcmp(argv[i], "--kind") == 0 && set_kind(value, &heat->kind)) continue;
        if (strcmp(argv[i], "--size") == 0 && set_number(value, 8192, &heat->size)) continue;
        if (strcmp(argv[i], "--steps") == 0 && set_number(value, 1000000, &heat->steps)) continue;
        if (shmem_my_pe() == 0)
            fprintf(stderr, "heat2d: not an option with its value: %s %s\n", argv[i], value);
        return 2;
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct heat heat = {.kind = SHMEM_DEVICE_CPU, .size = 240, .steps = 100};
    int rc;

    shmem_init();
    rc = parse(argc, argv, &heat);
    if (rc == 0)
        rc = run_in_space(&heat);
    else if (shmem_my_pe() == 0)
        fputs(usage, rc < 0 ? stdout : stderr);
    shmem_finalize();
    return rc < 0 ? 0 : rc;
}
