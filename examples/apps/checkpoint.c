/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stencil that is killed at any moment goes on where it was, with another number of PEs.
 *
 * The rows of a plate are spread over the PEs and computed in the symmetric heap. Now and then each
 * PE writes its rows to its part of a named space of fabric-attached memory: to the one of two
 * slots that the name "now" does not stand for. When all slots are durable, the name is moved,
 * which happens on all PEs or on none. A job that finds the name reads the rows from whatever parts
 * they are in. If it has more PEs than the space has parts, SHMEMX_SPACE_RESHAPE gives it new ones:
 * the old are read, the first checkpoint goes to the new, and a commit lets the old ones go.
 *
 *     export SHMEM_FAM_PATH=/mnt/pmem          (a directory, a file or a DAX device)
 *     oshcc checkpoint.c -o checkpoint
 *     oshrun -n 4 ./checkpoint 20000           (kill it, and go on with)
 *     oshrun -n 7 ./checkpoint 20000
 */
#include <shmem.h>
#include <shmemx.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME "checkpoint"
#define ROWS 96
#define COLS 64
#define EVERY 25 /* steps from checkpoint to checkpoint */

/* Any number of PEs may go on, one for instance: so each part has room for all rows. */
struct slot {
    int64_t step;
    int64_t n_pes; /* whose parts have the rows, in their order */
    double rows[ROWS][COLS];
};

struct plate {
    long first, n;        /* this PE's rows */
    double (*now)[COLS];  /* symmetric: a row, ours from 1 on, and a row */
    double (*next)[COLS]; /* the same */
    long step;
    shmem_space_t space;
    shmem_team_t team;
    struct slot *slots; /* two, in the space */
};

static uint64_t sum, total; /* globals, so that the reduction may use them */
static int me, n_pes;

/* Ends the job: the others would wait for this PE. */
static void need(int ok, const char *what)
{
    if (ok) return;
    fprintf(stderr, "checkpoint: PE %d: %s\n", me, what);
    shmem_global_exit(1);
}

/* The first row of the rank-th of n PEs. */
static long first_of(long rank, long n)
{
    return rank * ROWS / n;
}

/* ---- the stencil ------------------------------------------------------------------------ */

static void begin(struct plate *plate)
{
    plate->step = 0;
    for (long r = 0; r < plate->n; r++)
        for (long c = 0; c < COLS; c++)
            plate->now[r + 1][c] = (double)((plate->first + r) * 7 % 11 * (c % 5));
}

/* Rows at the edges go to the neighbours; then each cell becomes the mean of four. */
static void advance(struct plate *plate)
{
    double(*a)[COLS] = plate->now, (*b)[COLS] = plate->next;

    if (me > 0) {
        long theirs = first_of(me, n_pes) - first_of(me - 1, n_pes);
        shmem_putmem(a[theirs + 1], a[1], sizeof(*a), me - 1);
    }
    if (me < n_pes - 1) shmem_putmem(a[0], a[plate->n], sizeof(*a), me + 1);
    shmem_barrier_all();
    for (long r = 1; r <= plate->n; r++) {
        long row = plate->first + r - 1;
        for (long c = 0; c < COLS; c++) {
            int edge = row == 0 || row == ROWS - 1 || c == 0 || c == COLS - 1;
            b[r][c] =
                edge ? a[r][c] : 0.25 * (a[r - 1][c] + a[r + 1][c] + a[r][c - 1] + a[r][c + 1]);
        }
    }
    plate->now = b;
    plate->next = a;
    plate->step++;
    shmem_barrier_all();
}

/* The same for every number of PEs: sums of whole numbers know no order. */
static uint64_t checksum(const struct plate *plate)
{
    sum = 0;
    for (long r = 0; r < plate->n; r++)
        for (long c = 0; c < COLS; c++) {
            uint64_t bits;
            memcpy(&bits, &plate->now[r + 1][c], sizeof(bits));
            sum += bits * (uint64_t)(2 * ((plate->first + r) * COLS + c) + 1);
        }
    shmem_barrier_all();
    need(shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, &total, &sum, 1) == 0, "no checksum");
    return total;
}

/* ---- checkpoints ------------------------------------------------------------------------- */

/* The space, as it was left or new. keep: it stays when the job has ended. */
static void open_space(struct plate *plate, int keep)
{
    shmem_space_config_t config = {
        .device_type = SHMEM_DEVICE_FAM,
        .size = 2 * sizeof(struct slot) + 4096,
    };
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;

    attr.name = NAME;
    attr.flags = SHMEMX_SPACE_RESHAPE | (keep ? SHMEMX_SPACE_KEEP : 0);
    need(shmemx_space_create_attr(&config, &attr, &plate->space, &plate->team) == 0,
         "no space for checkpoints: is SHMEM_FAM_PATH set?");
    need(shmem_team_is_valid(plate->team) && shmem_team_n_pes(plate->team) == n_pes,
         "not all PEs have SHMEM_FAM_PATH");
}

/* The slot that the last checkpoint is in, NULL when there was none. */
static struct slot *last_slot(const struct plate *plate)
{
    void *slot;
    size_t nbytes;

    return shmemx_space_root_get(plate->space, "now", &slot, &nbytes) == 0 ? slot : NULL;
}

static void save(struct plate *plate)
{
    struct slot *slot = &plate->slots[last_slot(plate) == &plate->slots[0]];

    slot->step = plate->step;
    slot->n_pes = n_pes;
    memcpy(slot->rows, plate->now[1], (size_t)plate->n * sizeof(*plate->now));
    need(shmemx_space_persist(plate->space, slot, sizeof(*slot)) == 0, "rows are not durable");
    shmem_barrier_all(); /* those of all PEs are */
    need(shmemx_space_root_set(plate->space, "now", slot, sizeof(*slot)) == 0,
         "the checkpoint has no name");
}

/* Part index of the space, as far as the slot that is at this place in each of them. */
static const struct slot *slot_of(const struct plate *plate, int index, size_t offset)
{
    const void *base;

    need(shmemx_space_part(plate->space, index, &base) == 0, "a part cannot be read");
    return (const void *)((const char *)base + offset);
}

/* This PE's rows, from the parts of the PEs that had them. */
static void load(struct plate *plate, size_t offset)
{
    const struct slot *slot = slot_of(plate, 0, offset);
    long n_then = (long)slot->n_pes;

    plate->step = (long)slot->step;
    for (long then = 0; then < n_then; then++) {
        long from = first_of(then, n_then), end = first_of(then + 1, n_then);
        slot = slot_of(plate, (int)then, offset);
        need(slot->step == plate->step, "parts are of different steps");
        for (long row = from; row < end; row++)
            if (row >= plate->first && row < plate->first + plate->n)
                memcpy(plate->now[row - plate->first + 1], slot->rows[row - from],
                       sizeof(*plate->now));
    }
}

/* Where they are in every part: as the first job allocated them. */
static void find_slots(struct plate *plate)
{
    const size_t nbytes = 2 * sizeof(*plate->slots);
    void *slots;
    size_t found;

    if (shmemx_space_root_get(plate->space, "slots", &slots, &found) != 0) {
        slots = shmem_space_malloc(plate->space, nbytes);
        need(slots != NULL, "no room in the space");
        need(shmemx_space_root_set(plate->space, "slots", slots, nbytes) == 0,
             "the slots have no name");
    }
    plate->slots = slots;
}

/* Go on, or begin. */
static void restore(struct plate *plate)
{
    shmemx_space_info_t info = SHMEMX_SPACE_INFO_INITIALIZER;
    struct slot *last = last_slot(plate);

    need(shmemx_space_query(plate->space, &info) == 0, "no facts");
    find_slots(plate);
    if (last == NULL)
        begin(plate);
    else
        load(plate, (size_t)((char *)last - (char *)info.base));
    if (me == 0) {
        printf("checkpoint: %d PEs begin at step %ld, the space has %d parts\n", n_pes, plate->step,
               info.n_parts);
        fflush(stdout); /* before anybody kills it */
    }
    shmem_barrier_all(); /* all have read what they need */
    if (info.n_parts == n_pes) return;
    save(plate);
    need(shmemx_space_reshape_commit(plate->space) == 0, "the old parts stay");
}

static void close_space(struct plate *plate)
{
    shmem_team_destroy(plate->team);
    need(shmem_space_destroy(plate->space) == 0, "the space stays");
}

int main(int argc, char **argv)
{
    struct plate plate = {0};
    long steps = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
    size_t bytes = (ROWS + 2) * sizeof(*plate.now);

    shmem_init();
    me = shmem_my_pe();
    n_pes = shmem_n_pes();
    need(n_pes <= ROWS, "more PEs than rows");
    plate.first = first_of(me, n_pes);
    plate.n = first_of(me + 1, n_pes) - plate.first;
    plate.now = shmem_calloc(1, bytes);
    plate.next = shmem_calloc(1, bytes);
    need(plate.now != NULL && plate.next != NULL, "no memory");
    open_space(&plate, 1);
    restore(&plate);
    while (plate.step < steps) {
        advance(&plate);
        if (plate.step % EVERY == 0) save(&plate);
    }
    total = checksum(&plate);
    if (me == 0) printf("checkpoint: step %ld: %016" PRIx64 "\n", plate.step, total);
    fflush(stdout);
    close_space(&plate);
    open_space(&plate, 0); /* the result is there: nobody needs to go on */
    close_space(&plate);
    shmem_finalize();
    return 0;
}
