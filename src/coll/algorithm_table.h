/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares the table of algorithms for collectives between nodes. Also declares the parser of the
 * table's text, and the function that chooses an algorithm. Design: docs/design/collectives.md.
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

/*
 * Describes a call of a collective on host memory in a team with several nodes. The values are
 * equal on all members.
 */
struct stp_coll_call {
    enum stp_coll_operation operation;
    /*
     * Bytes of the whole vector for a broadcast or a reduction. Bytes of one member's block for the
     * other operations.
     */
    size_t bytes;
    size_t result_bytes; /* bytes of the result on one member */
    /*
     * Whether the blocks have different sizes. If so, the field bytes is the mean size of a block.
     */
    bool unequal;
};

struct stp_coll_bcast;
struct stp_coll_reduction;
struct stp_coll_gather;
struct stp_coll_alltoall;

/*
 * An algorithm for one operation between nodes. The file coll_internal.h declares the structures
 * that the functions below receive.
 */
struct stp_coll_algorithm {
    const char *name; /* name of the algorithm in the table */
    enum stp_coll_operation operation;
    /*
     * Returns whether the algorithm can do the call. The result is the same on all members. If this
     * pointer is NULL, the algorithm can do every call.
     */
    bool (*supports)(const struct stp_team *team, const struct stp_coll_call *call);
    /*
     * The functions below run the algorithm. An algorithm sets only the functions of its own
     * operation. When a function returns, dest is complete on the calling PE.
     *
     * Only leaders call broadcast(), and only for more than COLL_SMALL bytes. When the other
     * members of the node may read dest, broadcast() sets the flag COLL_READY of this PE's cell.
     * The caller may change the data at source only after stp_coll_quiet().
     */
    void (*broadcast)(const struct stp_coll_bcast *b);
    /*
     * If the vector has more than COLL_SMALL bytes, all members call reduce(). If reduce is NULL,
     * only the leaders call reduce_leaders() instead. In this case dest holds the result of the
     * leader's node on entry, and the final result on return.
     */
    void (*reduce)(const struct stp_coll_reduction *r, void *dest, const void *source,
                   size_t nreduce);
    void (*reduce_leaders)(const struct stp_coll_reduction *r, void *dest, size_t nreduce);
    /*
     * Only leaders call reduce_cell(). The vector has at most stp_coll_recdbl_cell_bytes() bytes.
     * The pointer is NULL if supports() refuses vectors of up to COLL_SMALL bytes.
     */
    void (*reduce_cell)(const struct stp_coll_reduction *r, void *acc, size_t nreduce);
    void (*gather)(const struct stp_coll_gather *g); /* runs collect and fcollect */
    void (*alltoall)(const struct stp_coll_alltoall *a);
};

/*
 * List of all algorithms. The entry NAME stands for the structure stp_coll_NAME. The file of the
 * algorithm defines this structure. A table that is sent to other nodes refers to an algorithm by
 * its row number in this list.
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

/* One line of the table. Each array of two numbers is a range that includes both ends. */
struct stp_coll_line {
    /* The operation, and the row number of its algorithm in STP_COLL_ALGORITHMS. */
    uint8_t operation, algorithm;
    uint16_t unused;
    uint32_t nodes[2], members[2];
    uint64_t bytes[2];
};

_Static_assert(sizeof(struct stp_coll_line) == 40,
               "no padding, because the bytes of the lines are sent to other nodes");

#define STP_COLL_TABLE_LINES ((int)((STP_BOOT_BCAST_MAX - 8) / sizeof(struct stp_coll_line)))

struct stp_coll_table {
    uint32_t n, unused;
    struct stp_coll_line lines[(STP_BOOT_BCAST_MAX - 8) / sizeof(struct stp_coll_line)];
};

_Static_assert(sizeof(struct stp_coll_table) <= STP_BOOT_BCAST_MAX,
               "PE 0 can broadcast the whole table");

/*
 * Parses a text and stores in the table the lines that apply to the provider. The argument provider
 * is a name such as "tcp;ofi_rxm", or NULL if the job has no provider. Modifies the text. Returns 0
 * on success. If a line is wrong, returns the number of this line, and writes an error message to
 * the buffer message, which has size bytes.
 */
int stp_coll_table_parse(struct stp_coll_table *table, char *text, const char *provider,
                         char *message, size_t size);

/*
 * Returns the algorithm of the first line that fits the call. A line fits only if its algorithm can
 * do the call. The lines of the user's file come before the built-in lines. The result is never
 * NULL, because some built-in line fits every call.
 */
const struct stp_coll_algorithm *stp_coll_choose(const struct stp_team *team,
                                                 const struct stp_coll_call *call);

#endif /* STP_ALGORITHM_TABLE_H */
