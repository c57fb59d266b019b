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

enum stp_coll_algorithm {
    STP_COLL_TREE,
    STP_COLL_SCATTER,
    STP_COLL_DOUBLING,
    STP_COLL_SHARES,
    STP_COLL_GATHER,
    STP_COLL_HEADS,
    STP_COLL_DIRECT,
    STP_COLL_N_ALGORITHMS
};

#define STP_COLL_CAN(algorithm) (1u << (algorithm)) /* for stp_coll_call.can */

/* Ranges hold both their ends. */
struct stp_coll_line {
    uint8_t what, how;
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

/* What a table is asked; the same on all members. bytes: of a vector, or of a member's block. */
struct stp_coll_call {
    enum stp_coll_operation what;
    uint32_t nodes, members;
    uint64_t bytes;
    unsigned can; /* algorithms that can do it, as bits; those that always can are among them */
};

/*
 * The lines of a text that concern the provider ("tcp;ofi_rxm"; NULL: none). Returns 0, or the
 * number of the first line that is wrong, with the reason in why. Writes into the text.
 */
int stp_coll_table_parse(struct stp_coll_table *table, char *text, const char *provider, char *why,
                         size_t size);

/* The first line that fits and can; those of the table come before what is built in. */
enum stp_coll_algorithm stp_coll_table_find(const struct stp_coll_table *table,
                                            const struct stp_coll_call *call);

/* The same by the job's table, for a team of several nodes. */
enum stp_coll_algorithm stp_coll_choose(const struct stp_team *team, enum stp_coll_operation what,
                                        size_t nbytes, unsigned can);

#endif /* STP_ALGORITHM_TABLE_H */
