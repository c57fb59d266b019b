/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One creation of a space on its way: what create_argument_check.c checks on this PE, and create.c
 * agrees on with the others.
 */
#ifndef STP_SPACE_CREATE_INTERNAL_H
#define STP_SPACE_CREATE_INTERNAL_H

#include "space_lifecycle.h"

#include "coll/coll.h"

#define CREATE_WHY 128

/* One creation on its way. */
struct create {
    const char *fn;
    const struct stp_kind *kind; /* NULL: unknown */
    int flags;                   /* attr->flags */
    struct stp_space_params params;
    struct stp_team *parent;
    bool wrong;           /* an argument is, which was said */
    bool access;          /* this PE has such memory */
    char why[CREATE_WHY]; /* or not, and why */
    struct stp_space *space;
    struct stp_part_export share;
    struct stp_fabric_region region;
    size_t number, offset;               /* of the next attempt */
    size_t floor_number, floor_offset;   /* from which they are looked for */
    struct stp_coll_index_search search; /* for both */
    bool everyone;                       /* all of the parent are members */
    bool refused;                        /* members of this host do not fit it together */
    bool outside;                        /* the space does not lie in the window */
};

/* A config as numbers that a reduction can compare; names and all. */
enum {
    CONFIG_TYPE,
    CONFIG_SIZE,
    CONFIG_FLAGS,
    CONFIG_NAME,
    CONFIG_ATTR_FLAGS,
    CONFIG_OPEN,
    CONFIG_PAGES,
    CONFIG_MAX,
    CONFIG_FD, /* of memory of the program: is there one? */
    CONFIG_N
};

void stp_create_numbers(const shmem_space_config_t *config, const struct create *c,
                        int64_t numbers[CONFIG_N]);

/* Is what this PE was asked for right, and can it be had here? 0 also without access. */
int stp_create_check_and_prepare(struct create *c, const shmem_space_config_t *config);

#endif /* STP_SPACE_CREATE_INTERNAL_H */
