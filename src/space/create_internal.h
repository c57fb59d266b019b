/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This header declares struct create, the state of the creation of a space. First
 * create_argument_check.c checks the arguments of this PE. Then the code in create.c makes all PEs
 * agree on one result.
 */
#ifndef STP_SPACE_CREATE_INTERNAL_H
#define STP_SPACE_CREATE_INTERNAL_H

#include "space_lifecycle.h"

#include "coll/coll.h"

#define CREATE_REASON_SIZE 128

/* State of the creation of a space. */
struct create {
    const char *fn;
    const struct stp_kind *kind; /* kind of memory, or NULL if config names no valid kind */
    int flags;                   /* value of attr->flags */
    struct stp_space_params params;
    struct stp_team *parent;
    bool invalid; /* whether an argument of this PE is invalid; the error was logged */
    bool access;  /* whether this PE has access to memory of the kind */
    char reason[CREATE_REASON_SIZE]; /* reason why access is false */
    struct stp_space *space;
    struct stp_part_export share;
    struct stp_fabric_region region;
    size_t number, offset;               /* space number and window offset of the next attempt */
    size_t floor_number, floor_offset;   /* lowest number and offset that the search may find */
    struct stp_coll_index_search search; /* state of the search for number and offset */
    bool all_are_members;                /* whether all PEs of the parent team are members */
    /* Whether this host does not have enough memory for the parts of the members on this host. */
    bool refused;
    bool outside_window; /* whether the space lies outside the window */
};

/*
 * Indices of the numbers that represent the arguments. A reduction compares these numbers between
 * the PEs. The name is represented by a hash.
 */
enum {
    CONFIG_TYPE,
    CONFIG_SIZE,
    CONFIG_FLAGS,
    CONFIG_NAME,
    CONFIG_ATTR_FLAGS,
    CONFIG_OPEN,
    CONFIG_PAGES,
    CONFIG_MAX,
    CONFIG_FD, /* 1 if an adopted buffer has a file descriptor, else 0 */
    CONFIG_N
};

void stp_create_numbers(const shmem_space_config_t *config, const struct create *c,
                        int64_t numbers[CONFIG_N]);

/*
 * Checks the arguments of this PE, prepares the space and sets c->access. Returns 0 even if this PE
 * has no access. Returns -errno after logging if an argument is wrong.
 */
int stp_create_check_and_prepare(struct create *c, const shmem_space_config_t *config);

#endif /* STP_SPACE_CREATE_INTERNAL_H */
