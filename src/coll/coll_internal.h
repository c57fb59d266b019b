/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares the parts that the collectives share: a team's area in the internal space, its cells,
 * and the functions that post and wait. Design: docs/design/collectives.md.
 *
 * A collective takes the next cell of the team's ring. Cells are reused after COLL_RING
 * collectives, and a sync precedes each reuse, so no message of an old round can meet a new one.
 * Flags carry the collective's sequence number and only grow.
 */
#ifndef STP_COLL_INTERNAL_H
#define STP_COLL_INTERNAL_H

#include "coll.h"
#include "algorithm_table.h"
#include "rma/rma.h"

#define COLL_RING 16
#define COLL_SMALL 384     /* bytes of data that travel inside a cell */
#define COLL_NET 1536      /* bytes of a cell for data from other nodes */
#define COLL_FLAT_ROUNDS 8 /* rounds of a flat sync: up to 2^8 local members */
#define COLL_ROUNDS 28     /* rounds between nodes: up to 2^28 nodes */

/* Flags of a cell. COLL_CHILD + k shows that the data of round k has arrived. */
enum {
    COLL_RESULT, /* arrival of the result from another node */
    COLL_READY,
    COLL_ACK,
    COLL_DONE,     /* arrival of the result for the members of the leader's node */
    COLL_CAME,     /* count of blocks that other leaders ever put here */
    COLL_CAME_DUE, /* count of blocks that the owner has waited for */
    COLL_HERE,     /* count of leaders that reported their arrival */
    COLL_HERE_DUE, /* count of arrival reports that the owner has waited for */
    COLL_CHILD,
    COLL_N_FLAGS = COLL_CHILD + COLL_ROUNDS
};

_Static_assert(COLL_N_FLAGS % 2 == 0, "behind the flags, elements of 16 bytes are aligned");

/* A word alone on its cache line, which one side writes and the other polls. */
struct stp_coll_word {
    uint64_t value;
} STP_ALIGNED_LINE;

struct stp_coll_cell {
    uint64_t flags[COLL_N_FLAGS];
    unsigned char in[COLL_SMALL];  /* data that this PE contributes */
    unsigned char out[COLL_SMALL]; /* result of the collective */
    unsigned char net[COLL_NET];   /* data from other nodes, a piece for each round */
    /* Count of arrivals at the first local member, for stp_coll_arrive_last_or_wait(). */
    struct stp_coll_word arrived;
};

/* A barrier of the local members. Arrivals are counted in the first local member's area. */
struct stp_coll_barrier {
    struct stp_coll_word arrived;
    struct stp_coll_word released;
};

/* A doorbell on which members sleep. All members of a node use that of the first local member. */
struct stp_coll_doorbell {
    uint32_t rings;
    uint32_t sleepers;
} STP_ALIGNED_LINE;

struct stp_team_sync_area {
    struct stp_coll_barrier all;   /* barrier of the team's syncs */
    struct stp_coll_barrier node;  /* barrier of the local members alone */
    struct stp_coll_barrier close; /* barrier at the end of the job, in the world team only */
    struct stp_coll_word left;     /* release from the last sync, in each member's own memory */
    struct stp_coll_doorbell doorbell;
    struct stp_coll_word flat[COLL_FLAT_ROUNDS];
    uint64_t across[2][COLL_ROUNDS + 4];    /* dissemination between nodes, by parity and round */
    uint64_t close_across[COLL_ROUNDS + 4]; /* dissemination between nodes at the end of the job */
    uint64_t on_streams[COLL_ROUNDS + 4];   /* dissemination between all members, for streams */
    struct stp_coll_cell cells[COLL_RING];
};

/*
 * A team has two chunks of COLL_CHUNK bytes of the internal space for data that is too large for a
 * cell. Collectives take them in turn, and either all members take one or none does. A chunk stays
 * untouched until the members take the next but one. By then all members have come, so no PE waits
 * until a chunk was read. stp_coll_alternate_chunk() returns NULL if the team has none. Only teams
 * of the first slots have chunks, and active sets have none, because they give a slot back without
 * a sync.
 */
#define COLL_CHUNK ((size_t)256 << 10)
bool stp_coll_has_chunk(const struct stp_team *team);
char *stp_coll_alternate_chunk(struct stp_team *team);

/* Takes the cell for the next collective of the team and sets *sequence. May sync. */
struct stp_coll_cell *stp_coll_take_cell(struct stp_team *team, uint64_t *sequence);

/* Syncs only the members on this node. */
void stp_coll_node_sync(struct stp_team *team);

/*
 * Counts this member in, once for each cell, on a node with more members than cores. Returns true
 * on the last member, which then works for all and posts COLL_DONE of *first, the first local
 * member's cell. Returns false on the others, after COLL_DONE. So each member waits once, and for
 * no particular PE.
 */
bool stp_coll_arrive_last_or_wait(struct stp_team *team, struct stp_coll_cell *cell,
                                  uint64_t sequence, struct stp_coll_cell **first);

/* Fills team->plan. Returns 0 or -ENOMEM; stp_coll_hierarchy_free() is needed in both cases. */
int stp_coll_hierarchy_make(struct stp_team *team);
void stp_coll_hierarchy_free(struct stp_team *team);

/* Returns the group of a rank of the team. */
int stp_coll_group_of(const struct stp_team *team, int rank);

/* Sets a word of the internal space on pe. A PE that reads it sees everything stored before. */
void stp_coll_post(uint64_t *word, uint64_t value, int pe);
/* Sets a word of the internal space on a PE of another node. */
void stp_coll_post_far(uint64_t *word, uint64_t value, int pe);

/*
 * Copies to the symmetric address dest on pe, then sets the word there. source may be reused on
 * return. Small data leaves in one message with the word, if the fabric packs messages
 * (internode_send.c).
 */
void stp_coll_send(void *dest, const void *source, size_t nbytes, uint64_t *word, uint64_t value,
                   int pe);

/*
 * Sends like stp_coll_send(), without waiting for large data. source must not change until a PE has
 * waited for a message that follows from this one.
 */
void stp_coll_send_kept(void *dest, const void *source, size_t nbytes, uint64_t *word,
                        uint64_t value, int pe);

/* A reduction, as its algorithms get it (algorithm_table.h). */
struct stp_coll_reduction {
    struct stp_team *team;
    struct stp_coll_cell *cell;
    uint64_t sequence;
    enum stp_op op;
    enum stp_dtype dtype;
    size_t size;                          /* bytes of an element */
    const struct stp_coll_algorithm *how; /* algorithm between nodes; NULL on one node */
    const char *fn;
};

/*
 * Reduces, on a leader, the vectors at source of its node's members into dest, in rank order. The
 * vectors must be ready.
 */
void stp_coll_reduce_node(const struct stp_coll_reduction *r, void *dest, const void *source,
                          size_t nreduce);

/* Reduces, on the leaders, a vector that fits the cells by a tree, in the order of doubling. */
void stp_coll_leader_tree_reduce_small(const struct stp_coll_reduction *r, void *acc,
                                       size_t nreduce);

/* Returns the bytes that reduce_cell() takes at once, a multiple of 16 up to COLL_SMALL. */
size_t stp_coll_recdbl_cell_bytes(const struct stp_team *team);

/*
 * Returns whether the cells can gather nbytes of each member between nodes, alike on all members.
 */
bool stp_coll_gather_fits(const struct stp_team *team, size_t nbytes);

/*
 * Gathers nbytes (up to COLL_SMALL) at mine from every member. Writes take bytes of each block,
 * after its first skip bytes, to all in rank order. mine may be all. No member leaves before all
 * have come.
 */
void stp_coll_gather_part(struct stp_team *team, void *all, const void *mine, size_t nbytes,
                          size_t skip, size_t take);

/* A gather of every member's data to all members, of nbytes each unless at gives offsets. */
struct stp_coll_gather {
    struct stp_team *team;
    void *dest; /* NULL if this member has no data and wants none */
    const void *source;
    size_t nbytes;
    const size_t *at; /* n_pes + 1 offsets in dest; NULL if all have nbytes */
    const char *fn;
    bool device; /* whether any member's source or dest is device memory */
};

/*
 * An alltoall of nelems elements for each member, at strides dst and sst. No member leaves before
 * all members have come.
 */
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
 * Alltoall through the leaders' chunks (leader_exchange.c), not for device memory.
 * stp_coll_leader_alltoall_can() returns whether blocks of nbytes fit, the same on all members.
 */
bool stp_coll_leader_alltoall_can(const struct stp_team *team, size_t nbytes);
void stp_coll_leader_alltoall(const struct stp_coll_alltoall *a);

/*
 * Waits until a word that another node writes reaches the value. The wait takes microseconds at
 * best, so giving up the core meanwhile costs little, and gains much on a busy host. All words here
 * only grow.
 */
void stp_coll_wait_far(const uint64_t *word, uint64_t value);

/*
 * A broadcast, as its algorithms get it (algorithm_table.h). In an active set the root's dest is
 * not written, and another member's dest only after that member reported that it is here.
 */
struct stp_coll_bcast {
    struct stp_team *team;
    struct stp_coll_cell *cell;
    uint64_t sequence;
    int root_group;
    int root_pe;
    int leader; /* leader of this node; the root on its own node */
    char *dest;
    const char *source;
    size_t nbytes;
    const char *fn;
};

/*
 * The first function returns the place of this group, counted from the root's group. The second
 * returns the world number of the leader at a place, which is the root at place 0.
 */
int stp_coll_bcast_group_from_root(const struct stp_coll_bcast *b);
int stp_coll_bcast_leader(const struct stp_coll_bcast *b, int vg);

/*
 * Puts nbytes, or 0, to dest on pe, then adds one to the count COLL_CAME or COLL_HERE there. source
 * may be reused after stp_coll_quiet().
 */
void stp_coll_put_and_count(struct stp_coll_cell *cell, int which_count, void *dest,
                            const void *source, size_t nbytes, int pe, const char *fn);

/* Waits until the count grows by n. The PE that waits keeps the sum, so no PE clears the word. */
static inline void stp_coll_wait_count(struct stp_coll_cell *cell, int count, size_t n)
{
    cell->flags[count + 1] += n;
    stp_coll_wait_far(&cell->flags[count], cell->flags[count + 1]);
}

/* Waits for a word that a member of this node writes. Spins, yields and serves the fabric. */
void stp_coll_wait_slow(const uint64_t *word, uint64_t value);

static inline void stp_coll_wait(const uint64_t *word, uint64_t value)
{
    /*
     * Pairs with the release stores in stp_coll_post() and stp_ofi_cqdata_apply_to_word_locked().
     */
    if (__atomic_load_n(word, __ATOMIC_ACQUIRE) < value) stp_coll_wait_slow(word, value);
}

/* Publishes to the node that this thread waits for a word of an area. */
void stp_coll_show_wait(const uint64_t *word) STP_COLD;

/*
 * stp_coll_team_at() returns the team whose area is slot, or NULL. stp_coll_slot_at() finds the
 * slot at an offset of the internal space, and returns false if there is none.
 */
const struct stp_team *stp_coll_team_at(size_t slot);
bool stp_coll_slot_at(size_t offset, size_t *slot, size_t *at);

/*
 * Waits for a word that a member of this node writes. With more members than cores, or if the
 * members wait for other nodes, the wait sleeps in the end. The PE that writes such a word rings.
 */
void stp_coll_wait_node_slow(struct stp_team *team, const uint64_t *word, uint64_t value);

static inline void stp_coll_wait_node(struct stp_team *team, const uint64_t *word, uint64_t value)
{
    if (team->plan.sleeps)
        stp_coll_wait_node_slow(team, word, value);
    else if (team->plan.n_groups > 1) /* the word's writer may wait for another node */
        stp_coll_wait_far(word, value);
    else
        stp_coll_wait(word, value);
}

/* Wakes the sleeping members of this node, after the word that they wait for was written. */
void stp_coll_wake_slow(struct stp_team *team);

static inline void stp_coll_wake(struct stp_team *team)
{
    if (team->plan.sleeps) stp_coll_wake_slow(team);
}

/* Sets a word in this node's memory for which members of the team wait. */
static inline void stp_coll_post_node(struct stp_team *team, uint64_t *there, uint64_t value)
{
    /* Pairs with the acquire load in coll_reached() or stp_coll_wait(). */
    __atomic_store_n(there, value, __ATOMIC_RELEASE);
    stp_coll_wake(team);
}

/*
 * With SHMEM_CHECK=1, ends the job unless dest and source are symmetric on every member, each in
 * the same space on all, and large enough. stp_coll_check_ends() checks the size of objects outside
 * the window in any case, also for a team of one.
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
 * Ends the job unless nbytes at addr are symmetric and loadable by the members of this node.
 * Callers need this for data that is read in place.
 */
void stp_coll_require_node_loadable(struct stp_team *team, const void *addr, size_t nbytes,
                                    const char *fn, const char *argument);

/* Reduces without argument checks. dest and source may be private if they fit a cell. */
void stp_coll_reduce_unchecked(struct stp_team *team, enum stp_op op, enum stp_dtype dtype,
                               void *dest, const void *source, size_t nreduce, const char *fn);

/*
 * Perform collectives on device memory (device_coll.c). The caller has checked the arguments and
 * stp_on_device(dest, source), and the team has more than one member.
 */
int stp_coll_device_broadcast(struct stp_team *team, void *dest, const void *source, size_t nbytes,
                              int root, const char *fn);
int stp_coll_device_reduce(struct stp_team *team, enum stp_op op, enum stp_dtype dtype, void *dest,
                           const void *source, size_t nreduce, const char *fn);

/*
 * Elements at dest and source that one member reduces or scans for all members. No other member
 * reads this share, and it is read before it is written, so source may be dest. Each member decides
 * alone whether a device does its share, because the bits do not depend on that.
 */
struct stp_coll_slice {
    struct stp_ctx *ctx; /* context of the copies */
    struct stp_team *team;
    enum stp_op op;
    enum stp_reduce_span span;
    enum stp_dtype dtype;
    size_t size; /* bytes of an element */
    char *dest;
    const char *source;
    size_t nelems; /* number of elements, 0 if the share is empty */
    const char *fn;
};

/* Returns this member's share of a reduction of nreduce elements. */
struct stp_coll_slice stp_coll_slice_of(struct stp_ctx *ctx, struct stp_team *team, enum stp_op op,
                                        enum stp_dtype dtype, void *dest, const void *source,
                                        size_t nreduce, const char *fn);

/* Returns the kind whose device reaches all parts of the share, with their addresses, or NULL. */
const struct stp_kind *stp_coll_slice_parts(const struct stp_coll_slice *share,
                                            struct stp_reduction *parts);

/*
 * Performs the share on a device; the caller syncs before and after. Returns false, without writing
 * anything, if no device can perform it.
 */
bool stp_coll_slice_try_on_device(const struct stp_coll_slice *share);

/* Performs the share on the host. Its puts are complete after a quiet of the context. */
void stp_coll_slice_on_host(const struct stp_coll_slice *share);

/* ---- active sets: active_set.c asks active_set_slot_agree.c ---------------------------------- */

#define ACTIVE_N_WORDS 3 /* number of pSync elements in use */

/*
 * Gives the team of an active set its slot, the same on all members, and its area. Collective over
 * the members. Uses pSync and restores SHMEM_SYNC_VALUE in it. On return this PE may post to the
 * areas of all members. hash covers the arguments that all members pass alike, in order to find
 * members that pass others. Fatal if pSync holds another value before, or no slot is left.
 */
void stp_active_set_agree_slot(struct stp_team *team, long *psync, uint64_t hash, const char *fn);

/* Returns a hash of x, in which every bit depends on every bit of x. */
static inline uint64_t stp_active_set_mix(uint64_t x)
{
    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
    return x ^ (x >> 32);
}

/* Completes what this PE sent for collectives. */
static inline void stp_coll_quiet(void)
{
    stp_quiet(&stp_ctx_coll);
}

#endif /* STP_COLL_INTERNAL_H */
