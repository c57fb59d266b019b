/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table by which collectives between nodes choose their algorithms, its text, and the choice.
 * Design: docs/design/collectives.md.
 */
#ifndef STP_ALGORITHM_TABLE_H
#define STP_ALGORITHM_TABLE_H

#include "boot/boot.h"
#include "coll.h"

enum stp_coll_operation {
    STP_COLL_BROADCAST,
    STP_COLL_REDUCE,
    STP_COLL_COLLECT,
    STP_COLL_FCOLLECT,
    STP_COLL_ALLTOALL,
    STP_COLL_N_OPERATIONS
};

/* A collective of host memory in a team of several nodes; the same on all members. */
struct stp_coll_call {
    enum stp_coll_operation what;
    size_t bytes; /* of a vector, or of a member's block: what the table has a column for */
    size_t all;   /* of the result */
    bool unequal; /* members have blocks of different sizes: bytes is their mean */
};

struct stp_coll_bcast;
struct stp_coll_reduction;
struct stp_coll_gather;
struct stp_coll_alltoall;

/* An algorithm of one operation between nodes. The arguments are in coll_internal.h. */
struct stp_coll_algorithm {
    const char *name; /* in the table */
    enum stp_coll_operation what;
    /* Can it do this? The same on all members. NULL: always. */
    bool (*can)(const struct stp_team *team, const struct stp_coll_call *call);
    /*
     * What it does: one of these, by its operation. On return dest is complete where it was called.
     * Of a broadcast the leaders call it, with more than COLL_SMALL; it posts COLL_READY when dest
     * may be read, and its source may be written after stp_coll_quiet().
     */
    void (*broadcast)(const struct stp_coll_bcast *b);
    /*
     * More than COLL_SMALL: all members call reduce; or, where that is NULL, leaders alone
     * reduce_leaders, on a dest that has what their nodes have and gets what all have.
     */
    void (*reduce)(const struct stp_coll_reduction *r, void *dest, const void *source,
                   size_t nreduce);
    void (*reduce_leaders)(const struct stp_coll_reduction *r, void *dest, size_t nreduce);
    /* Leaders alone, up to stp_coll_recdbl_cell_bytes(); NULL: can() refuses up to COLL_SMALL. */
    void (*reduce_cell)(const struct stp_coll_reduction *r, void *acc, size_t nreduce);
    void (*gather)(const struct stp_coll_gather *g); /* of collect and fcollect */
    void (*alltoall)(const struct stp_coll_alltoall *a);
};

/*
 * The table of algorithms: stp_coll_NAME, a struct stp_coll_algorithm, stands in the algorithm's
 * file. Where the job has a table of its own, rows are told to other nodes by their number.
 */
#define STP_COLL_ALGORITHMS(ROW)                                                                   \
    ROW(bcast_tree)                                                                                \
    ROW(bcast_sag)                                                                                 \
    ROW(reduce_tree)                                                                               \
    ROW(reduce_recdbl)                                                                             \
    ROW(reduce_rsag)                                                                               \
    ROW(collect_bruck)                                                                             \
    ROW(collect_direct)                                                                            \
    ROW(fcollect_bruck)                                                                            \
    ROW(fcollect_leader)                                                                           \
    ROW(fcollect_direct)                                                                           \
    ROW(alltoall_bruck)                                                                            \
    ROW(alltoall_leader)                                                                           \
    ROW(alltoall_direct)

#define STP_COLL_DECLARE(name) extern const struct stp_coll_algorithm stp_coll_##name;
STP_COLL_ALGORITHMS(STP_COLL_DECLARE)

/* Ranges hold both their ends. */
struct stp_coll_line {
    uint8_t what, how; /* an operation; a row of the table of algorithms */
    uint16_t unused;
    uint32_t nodes[2], members[2];
    uint64_t bytes[2];
};

_Static_assert(sizeof(struct stp_coll_line) == 40, "no gaps: lines go to other nodes as they lie");

#define STP_COLL_TABLE_LINES ((int)((STP_BOOT_BCAST_MAX - 8) / sizeof(struct stp_coll_line)))

struct stp_coll_table {
    uint32_t n, unused;
    struct stp_coll_line lines[(STP_BOOT_BCAST_MAX - 8) / sizeof(struct stp_coll_line)];
};

_Static_assert(sizeof(struct stp_coll_table) <= STP_BOOT_BCAST_MAX, "PE 0 can tell all of it");

/*
 * The lines of a text that concern the provider ("tcp;ofi_rxm"; NULL: none). Returns 0, or the
 * number of the first line that is wrong, with the reason in why. Writes into the text.
 */
int stp_coll_table_parse(struct stp_coll_table *table, char *text, const char *provider, char *why,
                         size_t size);

/*
 * The algorithm of the first line that fits the call and can do it; the job's lines come before
 * those that are built in, of which one always can.
 */
const struct stp_coll_algorithm *stp_coll_choose(const struct stp_team *team,
                                                 const struct stp_coll_call *call);

#endif /* STP_ALGORITHM_TABLE_H */
