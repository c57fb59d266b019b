/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This file creates spaces. Every PE checks its own arguments (create_argument_check.c), and then
 * all PEs agree on one result. The PEs also compare their arguments, because a program may pass
 * different arguments by mistake. A wrong argument on one PE is an error on all PEs. A PE that has
 * no memory of the kind is not an error. Such a PE does not become a member. Design:
 * docs/design/spaces.md.
 */
#include "create_internal.h"

#include "core/versioned_struct.h"
#include "rma/rma.h"
#include "team/team_lifecycle.h"
#include "spaces/cuda/pinned_host_and_kernel_gpu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- agreement -------------------------------------------------------------------------- */

/* Returns the name that argument i has in the routine that the program called. */
static const char *create_argument(const struct create *c, int i)
{
    static const char *const create[CONFIG_N] = {
        [CONFIG_TYPE] = "config->device_type", [CONFIG_SIZE] = "config->size",
        [CONFIG_FLAGS] = "config->flags",      [CONFIG_NAME] = "attr->name",
        [CONFIG_ATTR_FLAGS] = "attr->flags",   [CONFIG_OPEN] = "attr->open",
        [CONFIG_PAGES] = "attr->page_size",    [CONFIG_MAX] = "attr->max_size",
    };
    static const char *const adopt[CONFIG_N] = {
        [CONFIG_TYPE] = "the device type of addr",
        [CONFIG_SIZE] = "nbytes",
        [CONFIG_FLAGS] = "flags",
        [CONFIG_FD] = "fd",
    };

    return c->params.adopt != NULL ? adopt[i] : create[i];
}

/*
 * Finds the first PE whose arguments differ from those of rank 0. That PE and rank 0 log each
 * argument that differs.
 */
static void create_name_differing(const struct create *c, const int64_t my_numbers[CONFIG_N])
{
    struct stp_team *parent = c->parent;
    int64_t rank0[CONFIG_N], differing[CONFIG_N];
    int rank = stp_coll_find_differing(parent, my_numbers, CONFIG_N, rank0, differing);
    int pe = stp_team_pe(parent, rank);

    if (parent->rank != 0 && parent->rank != rank) return;
    for (int i = 0; i < CONFIG_N; i++) {
        if (rank0[i] == differing[i]) continue;
        /*
         * The numbers of the name and the descriptor are a hash and a flag. Log the arguments
         * instead.
         */
        if (i == CONFIG_NAME || i == CONFIG_FD)
            stp_error("%s: %s differs between PE %d and PE %d: this PE passed %s", c->fn,
                      create_argument(c, i), stp_team_pe(parent, 0), pe,
                      i == CONFIG_NAME     ? (c->params.name != NULL ? c->params.name : "NULL")
                      : my_numbers[i] != 0 ? "a file descriptor"
                                           : "-1");
        else
            stp_error("%s: %s is %lld on PE %d and %lld on PE %d: all members must pass the same "
                      "value",
                      c->fn, create_argument(c, i), (long long)rank0[i], stp_team_pe(parent, 0),
                      (long long)differing[i], pe);
    }
}

static size_t create_find_number(size_t start, void *arg)
{
    const struct create *c = arg;

    return stp_space_number_find(start > c->floor_number ? start : c->floor_number);
}

static size_t create_find_offset(size_t start, void *arg)
{
    const struct create *c = arg;

    if (c->outside_window || c->space == NULL) return 0;
    if (start < c->floor_offset) start = c->floor_offset;
    return stp_window_find(c->space->max_bytes, STP_RANGE_ALIGN, start);
}

static int64_t create_offer(size_t index)
{
    return index > INT64_MAX ? INT64_MAX : (int64_t)index;
}

/*
 * Sets range[0] to the value and range[1] to its negative. After a reduction by maximum over all
 * PEs, range[0] is the largest value and -range[1] is the smallest value.
 */
static void create_range(int64_t range[2], int64_t value)
{
    range[0] = value;
    range[1] = -value;
}

/* Returns whether the values of all PEs are the same, after the reduction of range. */
static bool create_same(const int64_t range[2])
{
    return range[0] == -range[1];
}

/*
 * Handles a search that found no number or no offset. If no number is free, logs an error and
 * returns 1. If the window is full, sets c->outside_window, so that the space gets addresses
 * outside the window, and returns 0.
 */
static int create_no_room(struct create *c)
{
    if (c->number == SIZE_MAX) {
        stp_error("%s: at most %d spaces can exist at the same time: destroy a space first", c->fn,
                  STP_SPACE_NUMBERS - STP_SPACE_FIRST_USER);
        return 1;
    }
    c->outside_window = true;
    return 0;
}

/*
 * Finds a number and an offset that are free on all PEs. The search begins at the lower bounds
 * c->floor_number and c->floor_offset. If nothing is free there, the search begins again at 0.
 * Returns 0, or 1 after logging.
 */
static int create_find_free(struct create *c)
{
    for (;;) {
        c->number = stp_coll_agree_index(c->parent, create_find_number, c);
        c->offset = stp_coll_agree_index(c->parent, create_find_offset, c);
        if (c->number != SIZE_MAX && c->offset != SIZE_MAX) return 0;
        if (!stp_coll_index_agree_retry(&c->search, c->floor_number > 0 || c->floor_offset > 0))
            return create_no_room(c);
        c->floor_number = c->floor_offset = 0;
    }
}

/*
 * Uses the number and the offset that all PEs have proposed, if all PEs proposed the same values.
 * Otherwise searches for a number and an offset that are free on all PEs. Returns 0, or 1 after
 * logging.
 */
static int create_agree_free(struct create *c, const int64_t number[2], const int64_t offset[2])
{
    if (!create_same(number) || !create_same(offset) || number[0] == INT64_MAX ||
        offset[0] == INT64_MAX)
        return create_find_free(c);
    c->number = (size_t)number[0];
    c->offset = (size_t)offset[0];
    return 0;
}

static int create_no_access(const struct create *c)
{
    if (c->parent->rank == 0)
        stp_error("%s: no PE has %s memory; the reason on PE %d: %s", c->fn, c->kind->name,
                  stp_rt.pe, c->reason);
    return 1;
}

/*
 * Returns a number for the creation of a named space. Rank 0 derives the number from the time and
 * from its process ID, so that each creation in any job has a different number. The other PEs
 * return INT64_MIN. The maximum over all PEs is then the number of rank 0. If the space has no
 * name, all PEs return INT64_MIN.
 */
static int64_t create_token(const struct create *c)
{
    struct timespec now;
    int64_t words[3];

    if (c->parent->rank != 0 || c->params.name == NULL) return INT64_MIN;
    clock_gettime(CLOCK_REALTIME, &now);
    words[0] = now.tv_sec;
    words[1] = now.tv_nsec;
    words[2] = getpid();
    return (int64_t)(stp_hash(STP_HASH_EMPTY, words, sizeof(words)) & INT64_MAX);
}

/*
 * Makes the PEs agree on the creation. Returns 1 after logging if arguments are wrong or differ
 * between PEs, if no PE has access to the memory, or if no space number is free. Otherwise returns
 * 0. The result is the same on all PEs.
 */
static int create_agree(struct create *c, const shmem_space_config_t *config)
{
    enum {
        FAILED = 2 * CONFIG_N,
        ACCESS,
        NUMBER = ACCESS + 2,
        OFFSET = NUMBER + 2,
        TOKEN = OFFSET + 2,
        N
    };
    int64_t my_numbers[CONFIG_N], facts[N];

    stp_coll_index_search_begin(&c->search, c->parent, stp_space_room_freed_since);
    stp_create_numbers(config, c, my_numbers); /* must precede the check, which rounds sizes */
    facts[FAILED] = stp_create_check_and_prepare(c, config) != 0;
    for (int i = 0; i < CONFIG_N; i++)
        create_range(&facts[2 * i], my_numbers[i]);
    create_range(&facts[ACCESS], c->access);
    create_range(&facts[NUMBER], create_offer(create_find_number(0, c)));
    create_range(&facts[OFFSET], create_offer(create_find_offset(0, c)));
    facts[TOKEN] = create_token(c);
    stp_coll_agree(c->parent, facts, N);
    c->params.token = (uint64_t)facts[TOKEN];
    for (int i = 0; i < CONFIG_N; i++) {
        if (create_same(&facts[2 * i])) continue;
        create_name_differing(c, my_numbers);
        return 1;
    }
    if (facts[FAILED] != 0) return 1;
    if (facts[ACCESS] == 0) return create_no_access(c);
    c->all_are_members = create_same(&facts[ACCESS]);
    return create_agree_free(c, &facts[NUMBER], &facts[OFFSET]);
}

/* ---- members ------------------------------------------------------------------------------ */

/*
 * Determines the members of the space: the PEs of the parent team that have access to the memory.
 * If these are all PEs of a strided team, no table of members is needed.
 */
static void create_members(const struct create *c, struct stp_team_members *members)
{
    const struct stp_team *parent = c->parent;
    char my_access = c->access;
    char *has_access;

    *members = (struct stp_team_members){.rank = -1};
    if (c->all_are_members && parent->table == NULL) {
        *members = (struct stp_team_members){parent->n_pes, parent->rank, parent->start,
                                             parent->stride, NULL};
        return;
    }
    has_access = malloc((size_t)parent->n_pes);
    members->table = malloc((size_t)parent->n_pes * sizeof(*members->table));
    if (has_access == NULL || members->table == NULL)
        stp_fatal(c->fn, "out of memory: cannot allocate a list of PEs for a team of size %d",
                  parent->n_pes);
    stp_coll_gather(c->parent, has_access, &my_access, sizeof(my_access));
    for (int rank = 0; rank < parent->n_pes; rank++) {
        if (!has_access[rank]) continue;
        if (rank == parent->rank) members->rank = members->n_pes;
        members->table[members->n_pes++] = stp_team_pe(parent, rank);
    }
    free(has_access);
    if (members->rank >= 0) return;
    free(members->table);
    members->table = NULL;
}

static int create_team(const struct create *c, struct stp_space *space, struct stp_team **team)
{
    struct stp_team_members members;
    int rc;

    create_members(c, &members);
    rc = stp_team_create(c->parent, &members, 0, space, team);
    if (rc != 0) free(members.table);
    return rc;
}

/*
 * Creates the user's team, and a private team for malloc, free and destroy. The private team is
 * needed because the program may destroy the user's team first. Returns 0 or 1.
 */
static int create_teams(struct create *c)
{
    struct stp_team *team, *user_team;

    if (create_team(c, NULL, &team) != 0) return 1;
    user_team = NULL; /* an adopted buffer gets no user team */
    if (c->params.adopt == NULL && create_team(c, c->access ? c->space : NULL, &user_team) != 0) {
        if (team != NULL) stp_team_destroy(team);
        return 1;
    }
    c->space->team = team;
    c->space->user_team = user_team;
    return 0;
}

static void create_drop_teams(struct create *c)
{
    if (c->space->user_team != NULL) stp_team_destroy(c->space->user_team);
    if (c->space->team != NULL) stp_team_destroy(c->space->team);
}

/* ---- memory --------------------------------------------------------------------------------- */

enum { OPEN_DONE, OPEN_LOST_RACE, OPEN_FAILED };

/*
 * Creates this PE's part of the space. Sets c->share, which peers need in order to attach the part.
 * Returns an OPEN_ constant.
 */
static int create_open(struct create *c)
{
    int rc;

    c->space->number = (unsigned)c->number;
    c->space->offset = c->outside_window ? SIZE_MAX : c->offset;
    rc = stp_space_open(c->space, &c->params, true, &c->share, &c->region);
    if (rc == 0 && c->params.pinned) {
        rc = stp_pinned_register_space(c->space, &c->params);
        if (rc != 0) stp_space_shut(c->space);
    }
    return rc == 0 ? OPEN_DONE : rc == -EEXIST ? OPEN_LOST_RACE : OPEN_FAILED;
}

/*
 * Waits until each member on this node has created its part or has failed. Then attaches the parts
 * that exist. The argument `opened` is false if this PE has not created its own part. In this case
 * this PE attaches no part. Returns 0, or -errno.
 */
static int create_attach(struct create *c, bool opened)
{
    struct stp_team *team = c->space->team;
    const struct stp_team_hierarchy *plan = &team->plan;
    struct stp_part_export *shares = malloc((size_t)plan->n_local * sizeof(*shares));
    int rc = 0;

    if (shares == NULL)
        stp_fatal(c->fn,
                  "out of memory: cannot allocate a table of the PEs of this node (entries: %d)",
                  plan->n_local);
    if (!opened) c->share.pe = -1;
    stp_coll_gather_node(team, shares, &c->share, sizeof(c->share));
    for (int i = 0; i < plan->n_local && opened && rc == 0; i++)
        if (shares[i].pe >= 0)
            rc = c->kind->attach(c->space, stp_local_of(shares[i].pe), &shares[i]);
    free(shares);
    return rc;
}

/* Result of an attempt, which is equal on all PEs of the parent. */
struct create_verdict {
    int outcome;
    size_t base_align;
    bool ident, registered, found;
};

static struct create_verdict create_judge(struct create *c, int outcome)
{
    enum { OUTCOME, BASE, ALIGN = BASE + 2, UNREGISTERED, FRESH, ROOTS, N = ROOTS + 2 };
    int64_t facts[N] = {INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN,
                        INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN};

    if (c->access) {
        uintptr_t base = (uintptr_t)c->space->base;
        facts[OUTCOME] = outcome;
        create_range(&facts[BASE], (int64_t)base);
        facts[ALIGN] = -(int64_t)(base & -base);
        facts[UNREGISTERED] = !c->space->registered;
        facts[FRESH] = !c->space->found;
        create_range(&facts[ROOTS], (int64_t)(c->space->roots & INT64_MAX));
    }
    stp_coll_agree(c->parent, facts, N);
    if (facts[OUTCOME] == OPEN_DONE && !create_same(&facts[ROOTS])) {
        stp_error(
            "%s: the PEs found different parts or named blocks of this space: another job "
            "changed names of blocks at the same time, or a job was killed while it changed a "
            "space whose path is local to each node (in this case remove the older file)",
            c->fn);
        facts[OUTCOME] = OPEN_FAILED;
    }
    return (struct create_verdict){(int)facts[OUTCOME], (size_t)-facts[ALIGN],
                                   create_same(&facts[BASE]), facts[UNREGISTERED] == 0,
                                   facts[FRESH] == 0};
}

/*
 * Pins this PE's mappings of the other members' parts. Every member has pinned its own part. The
 * result is the same on all PEs of the parent.
 */
static int create_pin(struct create *c)
{
    char reason[2 * CREATE_REASON_SIZE];
    bool failed = c->access &&
                  stp_space_pin_peers(c->space, 0, c->space->nbytes, reason, sizeof(reason)) != 0;

    if (failed) stp_error("%s: cannot pin host memory for GPUs: %s", c->fn, reason);
    if (!stp_coll_any(c->parent, failed)) return OPEN_DONE;
    if (c->access) {
        stp_pinned_unregister_peers(c->space);
        stp_coll_sync(c->space->team);
    }
    return OPEN_FAILED;
}

/*
 * Makes one attempt to create the space with the agreed number and offset. Another thread may have
 * taken the number or the offset first, for a space with other members. Then all PEs undo the
 * attempt and return OPEN_LOST_RACE. The caller searches for other values.
 */
static int create_build(struct create *c, struct create_verdict *verdict)
{
    int outcome = OPEN_DONE;
    bool opened;

    stp_space_n_attempts_inc();
    if (c->access) outcome = c->refused ? OPEN_FAILED : create_open(c);
    opened = c->access && outcome == OPEN_DONE;
    if (c->access && create_attach(c, opened) != 0) outcome = OPEN_FAILED;
    *verdict = create_judge(c, outcome);
    if (verdict->outcome == OPEN_DONE && c->params.pinned) verdict->outcome = create_pin(c);
    if (c->access && verdict->outcome != OPEN_DONE && !c->space->host) {
        if (opened) stp_kind_detach(c->space); /* closes peers' parts before the owners free them */
        stp_coll_sync(c->space->team);
    }
    if (opened && verdict->outcome != OPEN_DONE) stp_space_shut(c->space);
    stp_space_n_attempts_dec();
    return verdict->outcome;
}

static void create_exchange_regions(struct create *c)
{
    struct stp_fabric_region *by_pe;

    if (!c->space->on_fabric) return;
    by_pe = stp_space_gather_regions_if_used(c->space, &c->region, c->fn);
    if (stp_rt.fabric.region_peers(c->space->number, by_pe) != 0)
        stp_fatal(c->fn, "out of memory: cannot store the memory keys of a job of size %d",
                  stp_rt.n_pes);
    free(by_pe);
}

/* Sets the properties that depend on all members, and starts the threads that the space needs. */
static void create_finish(struct create *c, const struct create_verdict *verdict)
{
    struct stp_space *space = c->space;
    const struct stp_team *team = space->team;

    space->base_align = verdict->base_align;
    /* The file of the space can be missing on some nodes if its path is local to each node. */
    if (space->found && !verdict->found)
        stp_warn("%s: PE %d found its part of \"%s\", but the part of another PE did not exist "
                 "and was created: is the path local to each node?",
                 c->fn, stp_rt.pe, c->params.name);
    space->found = verdict->found;
    space->on_fabric = stp_rt.has_fabric && verdict->registered;
    space->caps = stp_space_caps(space, verdict->ident, team->n_pes == stp_rt.n_pes);
    create_exchange_regions(c);
    stp_space_notify_change(space, 1);
    if (space->host) return;
    /*
     * With remote_flush set, fences wait for all writes of the fabric, and waits flush these
     * writes. Otherwise a later operation of the proxy thread may overtake a write of the fabric.
     */
    if (space->on_fabric || space->kind->device == NULL)
        __atomic_store_n(&stp_rt.remote_flush, true, __ATOMIC_RELAXED);
    if (team->n_pes > 1) stp_stage_server_start();
    if (space->kind->device != NULL) stp_bounce_preallocate();
}

/*
 * Searches for a higher number and offset after another thread has taken the agreed values. The
 * step depends on the team, so that competing threads try different values. Returns 0, or 1 after
 * logging.
 */
static int create_find_next(struct create *c)
{
    size_t step = stp_coll_index_retry_distance(&c->search);

    c->floor_number = c->number + step;
    if (!c->outside_window) c->floor_offset = c->offset + step * STP_RANGE_ALIGN;
    return create_find_free(c);
}

static int create_run(struct create *c, const shmem_space_config_t *config)
{
    struct create_verdict verdict;
    int outcome = create_agree(c, config);

    if (outcome != 0) return 1;
    if (create_teams(c) != 0) return 1;
    c->refused =
        c->access && stp_space_check_host_fit(c->space, c->space->team, &c->params, c->fn) != 0;
    while ((outcome = create_build(c, &verdict)) == OPEN_LOST_RACE)
        if (create_find_next(c) != 0) break;
    if (outcome != OPEN_DONE) {
        create_drop_teams(c);
        return 1;
    }
    if (c->access) create_finish(c, &verdict);
    /* No member may use the space before the proxy threads of all members serve it. */
    stp_coll_sync(c->parent);
    return 0;
}

static int create_do(struct create *c, const shmem_space_config_t *config, struct stp_space **space,
                     struct stp_team **team)
{
    int rc;

    stp_log_routine = c->fn; /* the memory kinds put this name in their messages */
    rc = create_run(c, config);
    stp_log_routine = NULL;
    if (rc == 0 && c->access) {
        *space = c->space;
        *team = c->space->user_team;
    } else if (c->space != NULL) {
        stp_space_struct_free(c->space);
    }
    return rc;
}

/* Sets c->parent, whose members create the space. Logs and returns false if the team is invalid. */
static bool create_set_parent(struct create *c, shmem_team_t team, const char *argument)
{
    if (stp_team_is_invalid(team)) {
        stp_error("%s: %s is " STP_INVALID_TEAM ": pass a team of which this PE is a member", c->fn,
                  argument);
        return false;
    }
    c->parent = stp_coll_checked(stp_team_check(team, c->fn), c->fn);
    c->params.pe = c->parent->rank; /* parts are numbered by ranks of the parent */
    c->params.n_pes = c->parent->n_pes;
    return true;
}

/*
 * Copies the attributes from user_attr to *c. Sets *parent to the team whose members create the
 * space. If the structure is invalid, the creation fails. This PE must still take part in the
 * creation, because the other members wait for this PE. In this case *parent is set only if the
 * structure names a live team or SHMEM_TEAM_INVALID. Otherwise *parent stays unchanged.
 */
static void create_read_attr(struct create *c, const shmemx_space_attr_t *user_attr, const char *fn,
                             shmem_team_t *parent)
{
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;

    if (!stp_struct_read(&attr, sizeof(attr), user_attr, STP_SPACE_ATTR_MIN, "attr", "SPACE_ATTR",
                         fn)) {
        bool has_parent =
            user_attr->struct_size == 0 || user_attr->struct_size >= STP_SPACE_ATTR_MIN;

        c->invalid = true;
        if (has_parent && (stp_team_is_invalid(user_attr->parent) ||
                           stp_team_is_live(stp_team_of(user_attr->parent))))
            *parent =
                user_attr->parent; /* INVALID: this PE is not a member, so no PE waits for it */
        return;
    }
    *parent = attr.parent;
    c->flags = attr.flags;
    c->params.keep = (attr.flags & SHMEMX_SPACE_KEEP) != 0;
    c->params.pinned = (attr.flags & SHMEMX_SPACE_PINNED) != 0;
    c->params.reshape = (attr.flags & SHMEMX_SPACE_RESHAPE) != 0;
    c->params.device = attr.device;
    c->params.name = attr.name;
    c->params.buffer = attr.buffer;
    c->params.open = (enum stp_open)attr.open;
    c->params.numa = (enum stp_numa)attr.numa_policy;
    c->params.numa_node = attr.numa_node;
    c->params.page_bytes = attr.page_size;
    c->params.max_bytes = attr.max_size;
}

int stp_space_make(const shmem_space_config_t *config, const shmemx_space_attr_t *attr,
                   bool invalid, struct stp_space **space, struct stp_team **team, const char *fn)
{
    struct create c = {
        .fn = stp_public_name(fn), .invalid = invalid, .params = {.device = -1, .numa_node = -1}};
    shmem_team_t parent = SHMEM_TEAM_WORLD;

    *space = NULL;
    *team = NULL;
    if (attr != NULL) create_read_attr(&c, attr, fn, &parent);
    return create_set_parent(&c, parent, "attr->parent") ? create_do(&c, config, space, team) : 1;
}

int stp_space_adopt(shmem_team_t team, void *buffer, size_t nbytes, const struct stp_adopt *adopt,
                    bool invalid, struct stp_space **space, const char *fn)
{
    shmem_space_config_t config = {stp_device_of(buffer) != NULL ? SHMEM_DEVICE_GPU
                                                                 : SHMEM_DEVICE_CPU,
                                   nbytes, SHMEM_SPACE_FLAG_DEFAULT};
    struct create c = {.fn = stp_public_name(fn),
                       .invalid = invalid,
                       .params = {.device = -1, .numa_node = -1, .buffer = buffer, .adopt = adopt}};
    struct stp_team *user_team;

    return create_set_parent(&c, team, "team") ? create_do(&c, &config, space, &user_team) : 1;
}

/* ---- the public routines ------------------------------------------------------------------- */

static int create_public(const shmem_space_config_t *config, const shmemx_space_attr_t *attr,
                         shmem_space_t *space, shmem_team_t *team, const char *fn)
{
    struct stp_space *new_space;
    struct stp_team *new_team;
    bool invalid = space == NULL || team == NULL;

    stp_check_live(fn);
    if (invalid) (void)stp_reject(fn, space == NULL ? "space" : "team", "a null pointer");
    if (space != NULL) *space = SHMEM_SPACE_INVALID;
    if (team != NULL) *team = SHMEM_TEAM_INVALID;
    if (stp_space_make(config, attr, invalid, &new_space, &new_team, fn) != 0) return 1;
    if (new_space == NULL) return 0;
    stp_space_allow_use_without_handle(new_space);
    *space = stp_space_handle(new_space);
    *team = stp_team_handle(new_team);
    if (stp_env.spaces_table && stp_rt.pe == 0) pshmemx_space_print(2);
    return 0;
}

int pshmem_space_create(const shmem_space_config_t *config, shmem_space_t *space,
                        shmem_team_t *team)
{
    stp_check_given(space, __func__, "space");
    stp_check_given(team, __func__, "team");
    return create_public(config, NULL, space, team, __func__);
}
STP_PROFILED(shmem_space_create);

int pshmemx_space_create_attr(const shmem_space_config_t *config, const shmemx_space_attr_t *attr,
                              shmem_space_t *space, shmem_team_t *team)
{
    return create_public(config, attr, space, team, __func__);
}
STP_PROFILED(shmemx_space_create_attr);
