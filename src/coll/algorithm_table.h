/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares the table by which collectives between nodes choose their algorithms, the parser of its
 * text, and the choice. Design: docs/design/collectives.md.
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

/* A collective on host memory in a team of several nodes. The values are equal on all members. */
struct stp_coll_call {
    enum stp_coll_operation what;
    size_t bytes; /* bytes of the vector, or of a member's block */
    size_t all;   /* bytes of the result */
    bool unequal; /* whether blocks differ in size; bytes is their mean then */
};

struct stp_coll_bcast;
struct stp_coll_reduction;
struct stp_coll_gather;
struct stp_coll_alltoall;

/* An algorithm of one operation between nodes. coll_internal.h declares the arguments. */
struct stp_coll_algorithm {
    const char *name; /* name in the table */
    enum stp_coll_operation what;
    /* Returns whether the algorithm can do the call, alike on all members. NULL means always. */
    bool (*can)(const struct stp_team *team, const struct stp_coll_call *call);
    /*
     * Functions of the algorithm, of which only those of its operation are set. On return dest is
     * complete on the calling PE. Only leaders call broadcast, with more than COLL_SMALL bytes. It
     * posts COLL_READY when dest may be read, and source may be written after stp_coll_quiet().
     */
    void (*broadcast)(const struct stp_coll_bcast *b);
    /*
     * Above COLL_SMALL all members call reduce. If reduce is NULL, only the leaders call
     * reduce_leaders; their dest holds the node's result before the call and the final result after
     * it.
     */
    void (*reduce)(const struct stp_coll_reduction *r, void *dest, const void *source,
                   size_t nreduce);
    void (*reduce_leaders)(const struct stp_coll_reduction *r, void *dest, size_t nreduce);
    /*
     * Only leaders call reduce_cell, up to stp_coll_recdbl_cell_bytes(). The pointer is NULL if
     * can() refuses vectors of up to COLL_SMALL bytes.
     */
    void (*reduce_cell)(const struct stp_coll_reduction *r, void *acc, size_t nreduce);
    void (*gather)(const struct stp_coll_gather *g); /* function of collect and fcollect */
    void (*alltoall)(const struct stp_coll_alltoall *a);
};

/*
 * List of the algorithms. Each is a struct stp_coll_algorithm in its own file, named stp_coll_NAME.
 * A job with its own table sends row numbers of this list to other nodes.
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

/* A line of the table. Each range includes its two ends. */
struct stp_coll_line {
    uint8_t what, how; /* operation, and row in the list of algorithms */
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
 * Parses the lines of a text that concern the provider ("tcp;ofi_rxm", or NULL without one).
 * Returns 0, or the number of the first wrong line, with the reason in why. Writes into the text.
 */
int stp_coll_table_parse(struct stp_coll_table *table, char *text, const char *provider, char *why,
                         size_t size);

/*
 * Returns the algorithm of the first line that fits the call and can do it. The job's lines come
 * before the built-in lines, and some built-in line always can.
 */
const struct stp_coll_algorithm *stp_coll_choose(const struct stp_team *team,
                                                 const struct stp_coll_call *call);

#endif /* STP_ALGORITHM_TABLE_H */
