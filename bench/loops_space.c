/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Benches of spaces themselves: p() into one, finding the space of an address, a space's whole
 * life, blocks in it; and their raw sides on the host.
 */
#include "spaces.h"

#include "raw_cuda.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- p() into a space ----------------------------------------------------------------- */

int bench_own_open(struct bench_run *run, const struct bench *bench, char *why, size_t len)
{
    int status;

    (void)bench;
    if (run->n_few < 1) run->n_few = 1; /* the one that is written to */
    status = bench_spaces_prepare(run, run->n_many, run->n_few, why, len);
    if (status != 0) return status;
    bench_use_remote(run, &bench_spaces[0], bench_spaces[0].memory);
    if (run->cuda != NULL) run->driver_remote = run->cuda->buffer[1];
    return 0;
}

/* ---- which space is this address in? ------------------------------------------------- */

#define LOOKUPS 4096 /* addresses in a row: more than a branch predictor keeps in mind */

static struct {
    void *address[LOOKUPS];
    uintptr_t *base; /* of all spaces, rising: for the raw side */
    int n;
} lookup;

static uint64_t lookup_random(void)
{
    static uint64_t state = 88172645463325252u;

    state ^= state << 13; /* xorshift64 */
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static int lookup_compare(const void *a, const void *b)
{
    uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;

    return (x > y) - (x < y);
}

enum lookup_order { LOOKUP_RANDOM, LOOKUP_TURN, LOOKUP_SAME };

static int lookup_next(enum lookup_order order, int last)
{
    int n = bench_n_spaces;

    if (order == LOOKUP_SAME || n == 1) return n / 2;
    if (order == LOOKUP_TURN) return (last + 1) % n;
    return (last + 1 + (int)(lookup_random() % (uint64_t)(n - 1))) % n; /* any but the last */
}

static void lookup_fill(enum lookup_order order, size_t block)
{
    int at = 0;

    for (int i = 0; i < LOOKUPS; i++) {
        at = lookup_next(order, at);
        lookup.address[i] = bench_spaces[at].memory + lookup_random() % block;
    }
}

/* Every address is found in the space it was taken from: what is wrong is not timed. */
static bool lookup_is_right(void)
{
    for (int k = 0; k < bench_n_spaces; k++) {
        shmem_space_t found = SHMEM_SPACE_INVALID;

        if (shmem_get_space(bench_spaces[k].memory, &found) != 0) return false;
        if (found != bench_spaces[k].space) return false;
    }
    return true;
}

static int lookup_open(struct bench_run *run, enum lookup_order order, char *why, size_t len)
{
    int status;

    free(lookup.base); /* of the bench before */
    lookup.base = calloc((size_t)run->n_many, sizeof(*lookup.base));
    if (bench_worst(lookup.base == NULL) != 0) {
        snprintf(why, len, "no memory for %d addresses", run->n_many);
        return -ENOMEM;
    }
    status = bench_spaces_prepare(run, run->n_many, run->n_many, why, len);
    if (status != 0) return status;
    lookup.n = bench_n_spaces;
    for (int k = 0; k < lookup.n; k++)
        lookup.base[k] = (uintptr_t)bench_spaces[k].memory;
    qsort(lookup.base, (size_t)lookup.n, sizeof(*lookup.base), lookup_compare);
    lookup_fill(order, 4096);
    if (bench_worst(!lookup_is_right()) == 0) return 0;
    bench_say(run, "shmem_get_space finds another space than the one an address is from");
    shmem_global_exit(1);
    return -EIO;
}

int bench_lookup_random_open(struct bench_run *run, const struct bench *bench, char *why,
                             size_t len)
{
    (void)bench;
    return lookup_open(run, LOOKUP_RANDOM, why, len);
}

int bench_lookup_turn_open(struct bench_run *run, const struct bench *bench, char *why, size_t len)
{
    (void)bench;
    return lookup_open(run, LOOKUP_TURN, why, len);
}

int bench_lookup_same_open(struct bench_run *run, const struct bench *bench, char *why, size_t len)
{
    (void)bench;
    return lookup_open(run, LOOKUP_SAME, why, len);
}

void steppe_lookup(struct bench_run *run, uint64_t n_ops)
{
    shmem_space_t found;

    (void)run;
    for (uint64_t i = 0; i < n_ops; i++) {
        (void)shmem_get_space(lookup.address[i % LOOKUPS], &found);
        bench_touch();
    }
}

/* What a program without a library might do that knows the ranges. */
void raw_lookup(struct bench_run *run, uint64_t n_ops)
{
    volatile int found;

    (void)run;
    for (uint64_t i = 0; i < n_ops; i++) {
        uintptr_t address = (uintptr_t)lookup.address[i % LOOKUPS];
        int low = 0, high = lookup.n;

        while (low < high) {
            int mid = (low + high) / 2;

            if (lookup.base[mid] <= address)
                low = mid + 1;
            else
                high = mid;
        }
        found = low - 1;
    }
    (void)found;
}

/* ---- a space's life ---------------------------------------------------------------------- */

int bench_create_open(struct bench_run *run, const struct bench *bench, char *why, size_t len)
{
    struct bench_space first;
    int status = bench_kind_check(run, why, len);

    if (status != 0) return status;
    status = bench_space_make(run, bench->nbytes, 0, &first, why, len);
    if (status == 0) bench_space_drop(&first);
    return status;
}

void steppe_create(struct bench_run *run, uint64_t n_ops)
{
    struct bench_space made;
    shmem_space_config_t config = {
        .device_type = (shmem_device_type_t)run->kind,
        .size = run->nbytes,
        .flags = SHMEM_SPACE_FLAG_DEFAULT,
    };

    for (uint64_t i = 0; i < n_ops; i++) {
        if (shmem_space_create(&config, &made.space, &made.team) != 0) {
            bench_say(run, "shmem_space_create of %zu bytes: no longer possible", run->nbytes);
            shmem_global_exit(1);
        }
        shmem_team_destroy(made.team);
        shmem_space_destroy(made.space);
    }
}

/* Shared memory of the same size, mapped and never touched; each PE for itself. */
void raw_create(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        int fd = memfd_create("steppe-bench", MFD_CLOEXEC);
        void *memory;

        if (fd < 0 || ftruncate(fd, (off_t)run->nbytes) != 0) abort();
        memory = mmap(NULL, run->nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (memory == MAP_FAILED) abort();
        munmap(memory, run->nbytes);
        close(fd);
    }
}

/* ---- blocks in a space ---------------------------------------------------------------------- */

int bench_alloc_open(struct bench_run *run, const struct bench *bench, char *why, size_t len)
{
    (void)bench;
    return bench_spaces_prepare(run, 1, 1, why, len);
}

void steppe_alloc(struct bench_run *run, uint64_t n_ops)
{
    shmem_space_t space = bench_spaces[0].space;

    for (uint64_t i = 0; i < n_ops; i++)
        shmem_space_free(space, shmem_space_malloc(space, run->nbytes));
}

void node_alloc(struct bench_run *run, uint64_t n_ops)
{
    node_barrier(run, 2 * n_ops);
}

void fabric_alloc(struct bench_run *run, uint64_t n_ops)
{
    fabric_barrier(run, 2 * n_ops);
}
