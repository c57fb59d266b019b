/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This header declares the state of a space's creation. create_argument_check.c checks the
 * arguments on this PE, and create.c agrees on the creation with the other PEs.
 */
#ifndef STP_SPACE_CREATE_INTERNAL_H
#define STP_SPACE_CREATE_INTERNAL_H

#include "space_lifecycle.h"

#include "coll/coll.h"

#define CREATE_WHY 128

/* Creation of a space in progress. */
struct create {
    const char *fn;
    const struct stp_kind *kind; /* kind of memory, or NULL if unknown */
    int flags;                   /* value of attr->flags */
    struct stp_space_params params;
    struct stp_team *parent;
    bool wrong;           /* whether an argument is wrong, which was logged */
    bool access;          /* whether this PE has such memory */
    char why[CREATE_WHY]; /* reason if access is false */
    struct stp_space *space;
    struct stp_part_export share;
    struct stp_fabric_region region;
    size_t number, offset;               /* number and offset of the next attempt */
    size_t floor_number, floor_offset;   /* start of the search for both */
    struct stp_coll_index_search search; /* state of the search for both */
    bool everyone;                       /* whether all PEs of the parent are members */
    bool refused;                        /* whether this host lacks memory for all its members */
    bool outside;                        /* whether the space lies outside the window */
};

/* Numbers that stand for all arguments, including the name, so that a reduction compares them. */
enum {
    CONFIG_TYPE,
    CONFIG_SIZE,
    CONFIG_FLAGS,
    CONFIG_NAME,
    CONFIG_ATTR_FLAGS,
    CONFIG_OPEN,
    CONFIG_PAGES,
    CONFIG_MAX,
    CONFIG_FD, /* whether adopted memory has a descriptor */
    CONFIG_N
};

void stp_create_numbers(const shmem_space_config_t *config, const struct create *c,
                        int64_t numbers[CONFIG_N]);

/* Checks arguments and prepares the space. Returns 0, also without access, or -errno, logged. */
int stp_create_check_and_prepare(struct create *c, const shmem_space_config_t *config);

#endif /* STP_SPACE_CREATE_INTERNAL_H */
