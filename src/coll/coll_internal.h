/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shared vocabulary of the collectives: a team's area in the internal space, its cells,
 * and how to post and wait. Design: docs/design/collectives.md.
 *
 * A collective takes the next cell of the team's ring. Cells are reused after COLL_RING
 * collectives, and a sync stands before each reuse, so no message of an old round can meet
 * a new one. Flags carry the collective's sequence number and only grow.
 */
#ifndef STP_COLL_INTERNAL_H
#define STP_COLL_INTERNAL_H

#include "coll.h"
#include "algorithm_table.h"
#include "rma/rma.h"

#define COLL_RING 16
#define COLL_SMALL 384     /* bytes that travel inside a cell */
#define COLL_NET 1536      /* bytes of a cell that come from other nodes */
#define COLL_FLAT_ROUNDS 8 /* flat sync: up to 2^8 local members */
#define COLL_ROUNDS 28     /* trees and dissemination: up to 2^28 nodes */

/* Flags of a cell. COLL_CHILD + k: what comes in round k is here. */
enum {
    COLL_RESULT, /* from another node */
    COLL_READY,
    COLL_ACK,
    COLL_DONE,     /* the leader has what its node's members wait for */
    COLL_CAME,     /* counts: blocks that other leaders put here, ever; */
    COLL_CAME_DUE, /* how many its owner has waited for; */
    COLL_HERE,     /* leaders that told this one that they are here; */
    COLL_HERE_DUE, /* and how many of them it has waited for */
    COLL_CHILD,
    COLL_N_FLAGS = COLL_CHILD + COLL_ROUNDS
};

_Static_assert(COLL_N_FLAGS % 2 == 0, "behind the flags, elements of 16 bytes are aligned");

/* A word alone on its line: written by one side, polled by the other. */
struct stp_coll_word {
    uint64_t value;
} STP_ALIGNED_LINE;

struct stp_coll_cell {
    uint64_t flags[COLL_N_FLAGS];
    unsigned char in[COLL_SMALL];  /* what this PE contributes */
    unsigned char out[COLL_SMALL]; /* what the collective makes of it */
    unsigned char net[COLL_NET];   /* what other nodes send, a piece for each round */
    struct stp_coll_word
        arrived; /* in that of the first local member: stp_coll_arrive_last_or_wait() */
};

/* One barrier of the local members: arrivals are counted at the first member's area. */
struct stp_coll_barrier {
    struct stp_coll_word arrived;
    struct stp_coll_word released;
};

/* Where members with more PEs than cores sleep; that of the first local member serves all. */
struct stp_coll_doorbell {
    uint32_t rings;
    uint32_t sleepers;
} STP_ALIGNED_LINE;

struct stp_team_sync_area {
    struct stp_coll_barrier all;   /* team sync */
    struct stp_coll_barrier node;  /* sync of the local members alone */
    struct stp_coll_barrier close; /* of the local members, at the end of the job; world only */
    struct stp_coll_word left;     /* release from the last sync, in everyone's own memory */
    struct stp_coll_doorbell doorbell;
    struct stp_coll_word flat[COLL_FLAT_ROUNDS];
    uint64_t across[2][COLL_ROUNDS + 4];    /* dissemination between nodes, by parity and round */
    uint64_t close_across[COLL_ROUNDS + 4]; /* and that of close */
    uint64_t on_streams[COLL_ROUNDS + 4]; /* dissemination between all, of collectives on streams */
    struct stp_coll_cell cells[COLL_RING];
};

/*
 * What is too large for a cell: two chunks of COLL_CHUNK bytes of the internal space, which
 * collectives take in turn. All members take one, or none; it is left alone until they take the
 * next but one, for which all have come: nobody waits until what is there was read. NULL: none.
 * Teams of the first slots alone have them, and of those not the active sets', which give a slot
 * back without a sync.
 */
#define COLL_CHUNK ((size_t)256 << 10)
bool stp_coll_has_chunk(const struct stp_team *team);
char *stp_coll_alternate_chunk(struct stp_team *team);

/* Take the cell for the next collective of the team; sets *sequence. May sync. */
struct stp_coll_cell *stp_coll_take_cell(struct stp_team *team, uint64_t *sequence);

/* Sync of the members on this node alone. */
void stp_coll_node_sync(struct stp_team *team);

/*
 * Where the members of this node have fewer cores than they are: count in, once a cell. True for
 * who comes last; it does what is to be done for all and posts COLL_DONE of *first. For the others
 * false, once it has done so. So each waits once, and for nobody in particular. Returns the first
 * local member's cell in *first.
 */
bool stp_coll_arrive_last_or_wait(struct stp_team *team, struct stp_coll_cell *cell,
                                  uint64_t sequence, struct stp_coll_cell **first);

/* The members by node, in team->plan. 0, or -ENOMEM, after which it is freed too. */
int stp_coll_hierarchy_make(struct stp_team *team);
void stp_coll_hierarchy_free(struct stp_team *team);

/* Group of a rank of the team. */
int stp_coll_group_of(const struct stp_team *team, int rank);

/* Set a word of the internal space on pe; everything stored before is visible to who reads it. */
void stp_coll_post(uint64_t *word, uint64_t value, int pe);
void stp_coll_post_far(uint64_t *word, uint64_t value, int pe); /* of a PE on another node */

/*
 * Copy to the symmetric address dest on pe, then set the word there. source may be reused on
 * return. Small data leaves in one message with the word, where the fabric has such
 * (internode_send.c).
 */
void stp_coll_send(void *dest, const void *source, size_t nbytes, uint64_t *word, uint64_t value,
                   int pe);

/*
 * The same for any nbytes, from a source that stays as it is until somebody has waited for what
 * follows from it.
 */
void stp_coll_send_kept(void *dest, const void *source, size_t nbytes, uint64_t *word,
                        uint64_t value, int pe);

/* A reduction, as algorithms get it (algorithm_table.h). */
struct stp_coll_reduction {
    struct stp_team *team;
    struct stp_coll_cell *cell;
    uint64_t sequence;
    enum stp_op op;
    enum stp_dtype dtype;
    size_t size;                          /* of an element */
    const struct stp_coll_algorithm *how; /* between nodes; NULL: there is one node */
    const char *fn;
};

/*
 * For leaders: what the members of the node have at source, which is ready there, reduced to dest,
 * in the order of their ranks.
 */
void stp_coll_reduce_node(const struct stp_coll_reduction *r, void *dest, const void *source,
                          size_t nreduce);

/* Reduce by a tree, in the order of doubling, what fits the cells; leaders alone. */
void stp_coll_leader_tree_reduce_small(const struct stp_coll_reduction *r, void *acc,
                                       size_t nreduce);

/* Bytes that reduce_cell() can take at once, a multiple of 16; 0 < it <= COLL_SMALL. */
size_t stp_coll_recdbl_cell_bytes(const struct stp_team *team);

/* Between nodes: does a gather of nbytes a member fit the cells? The same on all members. */
bool stp_coll_gather_fits(const struct stp_team *team, size_t nbytes);

/*
 * Gathers nbytes (up to COLL_SMALL) at mine from every member and writes take of them, behind the
 * first skip, to all in rank order; mine may be all. Nobody leaves before all have come.
 */
void stp_coll_gather_part(struct stp_team *team, void *all, const void *mine, size_t nbytes,
                          size_t skip, size_t take);

/* What every member has, to all: nbytes each, or that of rank at at[rank]..at[rank + 1] - 1. */
struct stp_coll_gather {
    struct stp_team *team;
    void *dest; /* NULL: this member has nothing, and wants nothing */
    const void *source;
    size_t nbytes;
    const size_t *at; /* n_pes + 1 offsets in dest, NULL: all have nbytes */
    const char *fn;
    bool device; /* some member's data lies in device memory, or goes there */
};

/* nelems elements for each member, dst and sst apart. Nobody leaves before all have come. */
struct stp_coll_alltoall {
    struct stp_team *team;
    void *dest;
    const void *source;
    ptrdiff_t dst, sst;
    size_t size, nelems;
    const char *fn;
    bool device;
};

/*
 * In the leaders' chunks (leader_exchange.c). Can it be done so with blocks of nbytes? The same on
 * all members. No device memory.
 */
bool stp_coll_leader_alltoall_can(const struct stp_team *team, size_t nbytes);
void stp_coll_leader_alltoall(const struct stp_coll_alltoall *a);

/*
 * Wait until a word that another node writes reaches the value. It takes microseconds at best, so
 * that giving up the core meanwhile costs little, and on a busy host gains much. All words here
 * only grow.
 */
void stp_coll_wait_far(const uint64_t *word, uint64_t value);

/*
 * A broadcast, as algorithms get it (algorithm_table.h). In an active set the root's dest is not
 * written, and any other only after its owner said that it is here.
 */
struct stp_coll_bcast {
    struct stp_team *team;
    struct stp_coll_cell *cell;
    uint64_t sequence;
    int root_group;
    int root_pe;
    int leader; /* of my node, for this broadcast: the root, on its own */
    char *dest;
    const char *source;
    size_t nbytes;
    const char *fn;
};

/*
 * The place of my group, counted from the root's; and the world number of the leader of the group
 * at a place, which is the root at place 0.
 */
int stp_coll_bcast_group_from_root(const struct stp_coll_bcast *b);
int stp_coll_bcast_leader(const struct stp_coll_bcast *b, int vg);

/*
 * Add one to a count of pe's, COLL_CAME or COLL_HERE, behind nbytes at dest there, or 0. Source may
 * be reused after stp_coll_quiet().
 */
void stp_coll_put_and_count(struct stp_coll_cell *cell, int which_count, void *dest,
                            const void *source, size_t nbytes, int pe, const char *fn);

/* Wait for n more. Who waits keeps the sum, so that nobody has to clear the word. */
static inline void stp_coll_wait_count(struct stp_coll_cell *cell, int count, size_t n)
{
    cell->flags[count + 1] += n;
    stp_coll_wait_far(&cell->flags[count], cell->flags[count + 1]);
}

/* Wait for a word that a member of this node writes: spins, yields, serves the fabric. */
void stp_coll_wait_slow(const uint64_t *word, uint64_t value);

static inline void stp_coll_wait(const uint64_t *word, uint64_t value)
{
    /*
     * Pairs with the release stores in stp_coll_post() and stp_ofi_cqdata_apply_to_word_locked().
     */
    if (__atomic_load_n(word, __ATOMIC_ACQUIRE) < value) stp_coll_wait_slow(word, value);
}

/* Shows to the node that this thread waits for a word of an area. */
void stp_coll_show_wait(const uint64_t *word) STP_COLD;

/* The team whose area is slot, NULL: none; and the slot at an offset of the internal space. */
const struct stp_team *stp_coll_team_at(size_t slot);
bool stp_coll_slot_at(size_t offset, size_t *slot, size_t *at);

/*
 * The same for words that members of this node write: with more members than cores, or where they
 * wait for other nodes, the waiter goes to sleep in the end, and whoever writes such a word rings.
 */
void stp_coll_wait_node_slow(struct stp_team *team, const uint64_t *word, uint64_t value);

static inline void stp_coll_wait_node(struct stp_team *team, const uint64_t *word, uint64_t value)
{
    if (team->plan.sleeps)
        stp_coll_wait_node_slow(team, word, value);
    else if (team->plan.n_groups > 1) /* its writer may be waiting for another node */
        stp_coll_wait_far(word, value);
    else
        stp_coll_wait(word, value);
}

/* Wake the members of this node that sleep; after the word they wait for was written. */
void stp_coll_wake_slow(struct stp_team *team);

static inline void stp_coll_wake(struct stp_team *team)
{
    if (team->plan.sleeps) stp_coll_wake_slow(team);
}

/* Set a word of this node's memory that members of the team wait for. */
static inline void stp_coll_post_node(struct stp_team *team, uint64_t *there, uint64_t value)
{
    /* Pairs with the acquire load in coll_reached() or stp_coll_wait(). */
    __atomic_store_n(there, value, __ATOMIC_RELEASE);
    stp_coll_wake(team);
}

/*
 * SHMEM_CHECK=1: dest and source are symmetric on every member, each in the same space on all,
 * and large enough; fatal otherwise. Those outside the window are always large enough, of a team of
 * one, too (ends).
 */
void stp_coll_check_buffers_across_pes_slow(struct stp_team *team, const void *dest,
                                            const void *source, size_t dest_bytes,
                                            size_t source_bytes, const char *fn);

static inline void stp_coll_check_ends(const void *dest, const void *source, size_t nbytes,
                                       const char *fn)
{
    if (STP_LIKELY(!stp_any_outside())) return;
    stp_check_end(dest, nbytes, fn, "dest");
    stp_check_end(source, nbytes, fn, "source");
}

static inline void stp_coll_check(struct stp_team *team, const void *dest, const void *source,
                                  size_t dest_bytes, size_t source_bytes, const char *fn)
{
    if (STP_UNLIKELY(stp_rt.check))
        stp_coll_check_buffers_across_pes_slow(team, dest, source, dest_bytes, source_bytes, fn);
    if (STP_LIKELY(!stp_any_outside())) return;
    stp_check_end(dest, dest_bytes, fn, "dest");
    stp_check_end(source, source_bytes, fn, "source");
}

/*
 * nbytes at addr are symmetric, and members of this node can load them; fatal otherwise. For
 * data that is read where it lies.
 */
void stp_coll_require_node_loadable(struct stp_team *team, const void *addr, size_t nbytes,
                                    const char *fn, const char *argument);

/* stp_coll_reduce() without checks: dest and source may be private when they fit a cell. */
void stp_coll_reduce_unchecked(struct stp_team *team, enum stp_op op, enum stp_dtype dtype,
                               void *dest, const void *source, size_t nreduce, const char *fn);

/* When stp_on_device(dest, source): arguments checked, more than one member (device_coll.c). */
int stp_coll_device_broadcast(struct stp_team *team, void *dest, const void *source, size_t nbytes,
                              int root, const char *fn);
int stp_coll_device_reduce(struct stp_team *team, enum stp_op op, enum stp_dtype dtype, void *dest,
                           const void *source, size_t nreduce, const char *fn);

/*
 * Elements that one member reduces or scans for all: those at dest and source on each of them. A
 * share is read by its member alone, before it is written, so source may be dest. Each member
 * decides for its own who does it: bits do not depend on that.
 */
struct stp_coll_slice {
    struct stp_ctx *ctx; /* of the copies */
    struct stp_team *team;
    enum stp_op op;
    enum stp_reduce_span span;
    enum stp_dtype dtype;
    size_t size; /* of an element */
    char *dest;
    const char *source;
    size_t nelems; /* 0: there is nothing to do */
    const char *fn;
};

/* Mine of a reduction of nreduce elements. */
struct stp_coll_slice stp_coll_slice_of(struct stp_ctx *ctx, struct stp_team *team, enum stp_op op,
                                        enum stp_dtype dtype, void *dest, const void *source,
                                        size_t nreduce, const char *fn);

/* The kind whose device may find all parts of it, and where; NULL: none, or there is nothing. */
const struct stp_kind *stp_coll_slice_parts(const struct stp_coll_slice *share,
                                            struct stp_reduction *parts);

/* Done on return, between two syncs; false: a device cannot, and nothing was written. */
bool stp_coll_slice_try_on_device(const struct stp_coll_slice *share);

/* A reduction by way of the host; what was put is complete after a quiet of the context. */
void stp_coll_slice_on_host(const struct stp_coll_slice *share);

/* ---- active sets: active_set.c asks active_set_slot_agree.c ---------------------------------- */

#define ACTIVE_N_WORDS 3 /* elements of pSync in use */

/*
 * Give the team of an active set its slot and area, the same slot on all members; collective over
 * them. Uses pSync and leaves it as it was: SHMEM_SYNC_VALUE. On return this PE may post to the
 * areas of all members. hash: of what all members pass alike, for finding out who did not. Fatal
 * when pSync holds anything else before, or no slot is left.
 */
void stp_active_set_agree_slot(struct stp_team *team, long *psync, uint64_t hash, const char *fn);

/* Every bit of the result depends on every bit of x. */
static inline uint64_t stp_active_set_mix(uint64_t x)
{
    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
    return x ^ (x >> 32);
}

/* Complete what this PE sent for collectives. */
static inline void stp_coll_quiet(void)
{
    stp_quiet(&stp_ctx_coll);
}

#endif /* STP_COLL_INTERNAL_H */
