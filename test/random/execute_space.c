/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random programs: executes operations on spaces, on memory of the program that becomes a space,
 * and on blocks in spaces, and checks what the calls return.
 */
#include "random.h"

#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096 };

shmem_space_t rnd_space_of(const struct rnd *r, int of)
{
    if (of == RND_OF_DEFAULT) return SHMEM_SPACE_DEFAULT;
    return of > 0 ? r->spaces[of - 1].handle : SHMEM_SPACE_INVALID;
}

/* ---- which there are --------------------------------------------------------------------- */

static bool has_device(shmem_device_type_t kind)
{
    for (int i = 0; i < shmemx_device_count(kind); i++) {
        shmemx_device_info_t info = SHMEMX_DEVICE_INFO_INITIALIZER;

        if (shmemx_device_describe(kind, i, &info) == 0 && info.usable) return true;
    }
    return false;
}

unsigned rnd_memories(void)
{
    static unsigned all, mine;
    unsigned bits = 1U << RND_HBM | 1U << RND_FAM;

    mine = ~bits;
    if (has_device(SHMEM_DEVICE_HBM)) mine |= 1U << RND_HBM;
    if (has_device(SHMEM_DEVICE_FAM)) mine |= 1U << RND_FAM;
    shmem_uint_and_reduce(SHMEM_TEAM_WORLD, &all, &mine, 1);
    if ((all & bits) != bits && shmem_my_pe() == 0)
        fprintf(stderr, "random: without%s%s, which some PE has not\n",
                all & 1U << RND_HBM ? "" : " hbm", all & 1U << RND_FAM ? "" : " fam");
    return all;
}

/* ---- the program's memory ------------------------------------------------------------------- */

/* Private pages, or those of a file, from another offset on each PE. */
static size_t take_memory(struct rnd *r, const struct rnd_op *op, size_t nbytes)
{
    struct rnd_space *space = &r->spaces[op->arg];
    size_t from = PAGE * (size_t)r->me;

    space->memory_bytes = nbytes;
    space->fd = -1;
    if (space->memory == RND_PRIVATE) {
        space->memory_at = aligned_alloc(PAGE, nbytes);
    } else {
        space->fd = memfd_create("random", MFD_CLOEXEC);
        if (space->fd < 0 || ftruncate(space->fd, (off_t)(from + nbytes)) != 0)
            rnd_fail(r, op, "the test cannot create a memfd of %zu bytes", from + nbytes);
        space->memory_at =
            mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, space->fd, (off_t)from);
        if (space->memory_at == MAP_FAILED) space->memory_at = NULL;
    }
    if (space->memory_at == NULL)
        rnd_fail(r, op, "the test cannot get %zu bytes of memory of its own", nbytes);
    return from;
}

static void leave_memory(struct rnd_space *space)
{
    if (space->memory == RND_PRIVATE) free(space->memory_at);
    if (space->memory == RND_DESCRIPTOR) {
        munmap(space->memory_at, space->memory_bytes);
        close(space->fd);
    }
}

/* At a page or not, which may be another place on each PE. */
static void do_register(struct rnd *r, const struct rnd_op *op)
{
    struct rnd_space *space = &r->spaces[op->arg];
    size_t at = op->value & 4 ? 64 * (size_t)(1 + r->me) : 0;
    size_t from = take_memory(r, op, (at + space->nbytes + PAGE - 1) / PAGE * PAGE);

    if (space->area >= 0) r->areas[space->area].base = space->memory_at + at;
    rnd_must(r, op,
             shmemx_buffer_register(SHMEM_TEAM_WORLD, space->memory_at + at, space->nbytes,
                                    space->area < 0 ? SHMEMX_ADOPT_HEAP : 0, space->fd,
                                    space->fd >= 0 ? from + at : 0, &space->handle));
}

/* ---- spaces ------------------------------------------------------------------------------- */

static void do_create(struct rnd *r, const struct rnd_op *op)
{
    static const shmem_device_type_t types[RND_N_MEMORIES] = {
        [RND_HOST] = SHMEM_DEVICE_CPU, [RND_PINNED] = SHMEM_DEVICE_CPU,
        [RND_GPU] = SHMEM_DEVICE_GPU,  [RND_HBM] = SHMEM_DEVICE_HBM,
        [RND_FAM] = SHMEM_DEVICE_FAM,
    };
    struct rnd_space *space = &r->spaces[op->arg];
    shmem_space_config_t config = {types[space->memory], op->n, SHMEM_SPACE_FLAG_DEFAULT};
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
    shmem_team_t *team = &r->teams[op->arg2].handle;

    attr.flags = space->memory == RND_PINNED ? SHMEMX_SPACE_PINNED : 0;
    attr.max_size = space->max_size;
    rnd_must(r, op,
             attr.flags != 0 || attr.max_size > 0
                 ? shmemx_space_create_attr(&config, &attr, &space->handle, team)
                 : shmem_space_create(&config, &space->handle, team));
    rnd_check_team(r, op, op->arg2);
}

/* What peers put there is there, and stays when it is no space any more. */
static void check_left(struct rnd *r, const struct rnd_op *op)
{
    int number = r->spaces[op->arg].area;
    const struct rnd_area *area = &r->areas[number < 0 ? 0 : number];

    if (number >= 0 && memcmp(area->base, area->model[r->me], area->nbytes) != 0)
        rnd_fail(r, op,
                 "after the space was destroyed, the program's memory differs from the model");
}

static void free_fillers(struct rnd_space *space)
{
    for (size_t i = 0; i < sizeof(space->fillers) / sizeof(space->fillers[0]); i++)
        shmem_space_free(space->handle, space->fillers[i]);
}

static void do_destroy(struct rnd *r, const struct rnd_op *op)
{
    struct rnd_space *space = &r->spaces[op->arg];

    free_fillers(space);
    rnd_must(r, op, shmem_space_destroy(space->handle));
    check_left(r, op);
    leave_memory(space);
}

void rnd_spaces_end(struct rnd *r)
{
    for (int i = 0; i < RND_AREAS; i++)
        if (r->areas[i].live && r->areas[i].where == RND_SPACE && !r->areas[i].whole)
            shmem_space_free(r->spaces[r->areas[i].space].handle, r->areas[i].base);
    for (int i = 0; i < RND_SPACES; i++) {
        if (!r->spaces[i].live) continue;
        free_fillers(&r->spaces[i]);
        shmem_space_destroy(r->spaces[i].handle);
        leave_memory(&r->spaces[i]);
    }
}

/* ---- blocks ------------------------------------------------------------------------------- */

/*
 * All but half of what the next block needs: it lies across the border of what the space has, when
 * that has grown. Heaps are equal, so PEs agree.
 */
static void take_filler(struct rnd *r, const struct rnd_op *op)
{
    struct rnd_space *space = &r->spaces[op->arg2];
    shmemx_space_info_t info = SHMEMX_SPACE_INFO_INITIALIZER;
    void **filler = &space->fillers[op->value - 1];

    rnd_must(r, op, shmemx_space_query(space->handle, &info));
    if (info.largest <= op->n / 2) return;
    *filler = shmem_space_malloc(space->handle, info.largest - op->n / 2);
    if (*filler == NULL)
        rnd_fail(r, op,
                 "shmem_space_malloc returned NULL, and the largest free block has %zu bytes",
                 info.largest);
}

static void do_malloc(struct rnd *r, const struct rnd_op *op)
{
    struct rnd_area *area = &r->areas[op->arg];
    shmem_space_t space = r->spaces[op->arg2].handle, got = SHMEM_SPACE_INVALID;

    if (op->value != 0) take_filler(r, op);
    switch (op->cond) {
    case 1:
        area->base = shmem_space_calloc(space, 1, op->n);
        break;
    case 2:
        area->base = shmemx_space_align(space, op->bsize, op->n);
        rnd_check_block(r, op, op->bsize);
        break;
    default:
        area->base = shmem_space_malloc(space, op->n);
    }
    rnd_check_block(r, op, op->cond == 2 && op->bsize < 16 ? op->bsize : 16);
    rnd_must(r, op, shmem_get_space(area->base, &got));
    if (got != space) rnd_fail(r, op, "shmem_get_space did not return the space of the block");
}

static void do_realloc(struct rnd *r, const struct rnd_op *op)
{
    struct rnd_area *area = &r->areas[op->arg];

    if (op->phase & 1)
        area->base = shmem_realloc(area->base, op->n);
    else
        area->base = shmemx_space_realloc(r->spaces[op->arg2].handle, area->base, op->n);
    rnd_check_block(r, op, 16);
}

void rnd_execute_space(struct rnd *r, const struct rnd_op *op)
{
    switch (op->kind) {
    case RND_SPACE_CREATE:
        if (r->spaces[op->arg].nbytes > 0)
            do_register(r, op);
        else
            do_create(r, op);
        break;
    case RND_SPACE_MALLOC:
        do_malloc(r, op);
        break;
    case RND_SPACE_REALLOC:
        do_realloc(r, op);
        break;
    case RND_SPACE_FREE:
        shmem_space_free(r->spaces[op->arg2].handle, r->areas[op->arg].base);
        break;
    case RND_SPACE_DESTROY:
        do_destroy(r, op);
        break;
    case RND_SPACE_FENCE:
        rnd_must(r, op, shmemx_ctx_space_fence(rnd_ctx(r, op->slot), rnd_space_of(r, op->arg)));
        break;
    default: /* RND_SPACE_QUIET */
        rnd_must(r, op, shmemx_ctx_space_quiet(rnd_ctx(r, op->slot), rnd_space_of(r, op->arg)));
    }
}
