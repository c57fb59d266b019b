/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares the parts that the collectives share. These are a team's area in the internal space, the
 * cells in this area, and the functions that post words and wait for words. The leader of a node is
 * the first member of the team on that node. Design: docs/design/collectives.md.
 *
 * A cell is a team's mailbox for the flags and the small data of one collective. A team has a ring
 * of COLL_RING cells, and each collective takes the next cell of this ring. The team syncs before
 * it reuses a cell. No message of an earlier collective can therefore arrive in a reused cell. Most
 * flags hold the sequence number of the collective, and their values only grow.
 */
#ifndef STP_COLL_INTERNAL_H
#define STP_COLL_INTERNAL_H

#include "coll.h"
#include "algorithm_table.h"
#include "rma/rma.h"

#define COLL_RING 16
#define COLL_SMALL 384 /* maximum bytes of data that are sent inside a cell */
#define COLL_NET 1536  /* bytes in a cell for data from other nodes */
/* Maximum number of rounds of sync_flat(), enough for 2^8 local members. */
#define COLL_FLAT_ROUNDS 8
#define COLL_ROUNDS 28 /* maximum number of rounds between nodes, enough for 2^28 nodes */

/* Indices of a cell's flags. The flag COLL_CHILD + k shows that the data of round k has arrived. */
enum {
    /* Set when the result has arrived from another node. */
    COLL_RESULT,
    /* Set when the data of the owner of this cell is ready for other members of the node. */
    COLL_READY,
    /* Number of members of the node that have read the data of a large broadcast. */
    COLL_ACK,
    /* Set when the result is complete, so that the other members of the node may read it. */
    COLL_DONE,
    /* Number of blocks that PEs on other nodes have put to the owner of this cell. */
    COLL_RECEIVED,
    /* Value that COLL_RECEIVED must reach before the owner of this cell continues. */
    COLL_RECEIVED_DUE,
    /* Number of leaders that have reported their arrival to the owner of this cell. */
    COLL_ARRIVED,
    /* Value that COLL_ARRIVED must reach before the owner of this cell continues. */
    COLL_ARRIVED_DUE,
    COLL_CHILD,
    COLL_N_FLAGS = COLL_CHILD + COLL_ROUNDS
};

_Static_assert(COLL_N_FLAGS % 2 == 0, "elements of 16 bytes after the flags are aligned");

/* A word on a cache line of its own. One side writes the word, and the other side polls it. */
struct stp_coll_word {
    uint64_t value;
} STP_ALIGNED_LINE;

struct stp_coll_cell {
    uint64_t flags[COLL_N_FLAGS];
    unsigned char in[COLL_SMALL];  /* data that this PE contributes */
    unsigned char out[COLL_SMALL]; /* result of the collective */
    unsigned char net[COLL_NET];   /* data from other nodes, with a separate piece for each round */
    /* Number of members that have arrived. Used only in the cell of the first local member. */
    struct stp_coll_word arrived;
};

/*
 * A barrier of the members on one node. All of them use the barrier in the area of the first local
 * member.
 */
struct stp_coll_barrier {
    struct stp_coll_word arrived;
    struct stp_coll_word released;
};

/*
 * A doorbell with which a PE wakes sleeping members. All members of a node use the doorbell in the
 * area of the first local member.
 */
struct stp_coll_doorbell {
    uint32_t rings;
    uint32_t sleepers;
} STP_ALIGNED_LINE;

struct stp_team_sync_area {
    struct stp_coll_barrier team_sync; /* barrier for the syncs of the team */
    struct stp_coll_barrier node;      /* barrier for syncs of the local members only */
    /* Barrier for the end of the job. Used by the world team only. */
    struct stp_coll_barrier job_end;
    /* Word that releases this member from the team's last sync. */
    struct stp_coll_word last_release;
    struct stp_coll_doorbell doorbell;
    struct stp_coll_word flat[COLL_FLAT_ROUNDS];
    /*
     * Words of the syncs between nodes. The first index is the parity of the sync's number, and the
     * second index is the round.
     */
    uint64_t internode[2][COLL_ROUNDS + 4];
    /* Words of the sync between nodes at the end of the job. */
    uint64_t job_end_internode[COLL_ROUNDS + 4];
    /* Words of the syncs that run on device streams. */
    uint64_t streams[COLL_ROUNDS + 4];
    struct stp_coll_cell cells[COLL_RING];
};

/*
 * A team has two chunks of COLL_CHUNK bytes in the internal space. A chunk holds data that does not
 * fit a cell. Collectives use the two chunks alternately. Either all members take a chunk, or no
 * member does.
 *
 * The data in a chunk stays unchanged until the team takes the same chunk again. Before that, every
 * member has entered the collective that used the other chunk. Every member has therefore finished
 * the earlier collective, and has read the data in the first chunk. For this reason the owner of a
 * chunk need not wait for its readers.
 *
 * Only teams with low slot numbers have chunks. Active sets have none, because they give a slot
 * back without a sync. If the team has no chunks, stp_coll_alternate_chunk() returns NULL.
 */
#define COLL_CHUNK ((size_t)256 << 10)
bool stp_coll_has_chunk(const struct stp_team *team);
char *stp_coll_alternate_chunk(struct stp_team *team);

/*
 * Takes the next cell for a collective of the team. Sets *sequence to the number of the collective.
 * Syncs the team before it reuses the first cell of the ring.
 */
struct stp_coll_cell *stp_coll_take_cell(struct stp_team *team, uint64_t *sequence);

/* Syncs only the members on this node. */
void stp_coll_node_sync(struct stp_team *team);

/*
 * Counts the arrival of this member, once per cell. Used on a node with more members than cores.
 * Sets *first to the cell of the first local member. Returns true on the last member to arrive.
 * This member then does the work of all members, and sets COLL_DONE in *first. On every other
 * member, the function waits for COLL_DONE and returns false. Each member waits only once. The wait
 * does not depend on a particular PE, because any member can be the last.
 */
bool stp_coll_arrive_last_or_wait(struct stp_team *team, struct stp_coll_cell *cell,
                                  uint64_t sequence, struct stp_coll_cell **first);

/*
 * Fills team->plan. Returns 0 or -ENOMEM. In both cases the caller must later call
 * stp_coll_hierarchy_free().
 */
int stp_coll_hierarchy_make(struct stp_team *team);
void stp_coll_hierarchy_free(struct stp_team *team);

/* Returns the group (node) to which the member with this rank belongs. */
int stp_coll_group_of(const struct stp_team *team, int rank);

/*
 * Sets a word of the internal space on PE pe. A PE that reads the new value also sees all stores
 * that this PE made before.
 */
void stp_coll_post(uint64_t *word, uint64_t value, int pe);
/* Sets a word of the internal space on PE pe, which is on another node. */
void stp_coll_post_far(uint64_t *word, uint64_t value, int pe);

/*
 * Copies nbytes bytes from source to the symmetric address dest on PE pe. Then sets the word on PE
 * pe. The caller may change source after the return. If the fabric packs messages, small data and
 * the word are sent as one message (internode_send.c).
 */
void stp_coll_send(void *dest, const void *source, size_t nbytes, uint64_t *word, uint64_t value,
                   int pe);

/*
 * Sends like stp_coll_send(), but does not wait until large data has left source. The caller may
 * change source only after a later message shows that the data has arrived.
 */
void stp_coll_send_kept(void *dest, const void *source, size_t nbytes, uint64_t *word,
                        uint64_t value, int pe);

/* Arguments that a reduction passes to its algorithm (algorithm_table.h). */
struct stp_coll_reduction {
    struct stp_team *team;
    struct stp_coll_cell *cell;
    uint64_t sequence;
    enum stp_op op;
    enum stp_dtype dtype;
    size_t size; /* bytes of an element */
    /* Algorithm between nodes, or NULL if the team is on one node. */
    const struct stp_coll_algorithm *algorithm;
    const char *fn;
};

/*
 * Reduces the vectors of the members on this node into dest, in rank order. Called on the leader.
 * Each member has its vector at the address source. All vectors must be ready.
 */
void stp_coll_reduce_node(const struct stp_coll_reduction *r, void *dest, const void *source,
                          size_t nreduce);

/*
 * Reduces a small vector between the leaders by a tree. The order of operations is the same as in
 * recursive doubling.
 */
void stp_coll_leader_tree_reduce_small(const struct stp_coll_reduction *r, void *acc,
                                       size_t nreduce);

/*
 * Returns the maximum number of bytes for one call of reduce_cell(). The number is a multiple of
 * 16, and at most COLL_SMALL.
 */
size_t stp_coll_recdbl_cell_bytes(const struct stp_team *team);

/*
 * Returns whether the cells can gather nbytes bytes per member between nodes. The result is the
 * same on all members.
 */
bool stp_coll_gather_fits(const struct stp_team *team, size_t nbytes);

/*
 * Gathers a part of a block from every member. The buffer source holds this member's block of
 * nbytes bytes, at most COLL_SMALL. The part begins at part_offset in the block, and has part_bytes
 * bytes. The parts are written to the buffer dest, in rank order. The buffers source and dest may
 * be the same. No member returns before all members have entered the call.
 */
void stp_coll_gather_part(struct stp_team *team, void *dest, const void *source, size_t nbytes,
                          size_t part_offset, size_t part_bytes);

/*
 * Arguments of a gather, which copies the block of every member to all members. If the field
 * offsets is NULL, each block has nbytes bytes.
 */
struct stp_coll_gather {
    struct stp_team *team;
    /* Address of the result, or NULL if this member has no data and needs no result. */
    void *dest;
    const void *source;
    size_t nbytes;
    /*
     * Offsets of the blocks in dest (n_pes + 1 entries), or NULL if all blocks have the same size.
     */
    const size_t *offsets;
    const char *fn;
    bool device; /* whether any member's source or dest is device memory */
};

/*
 * Arguments of an alltoall. Each member sends nelems elements to each member. In dest, the distance
 * between neighbouring elements is dst elements. In source, the distance is sst elements. No member
 * returns before all members have entered the call.
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
 * Returns whether the chunks of the leaders have room for an alltoall with blocks of nbytes bytes
 * (leader_exchange.c). The result is the same on all members.
 */
bool stp_coll_leader_alltoall_supports(const struct stp_team *team, size_t nbytes);
/* Performs an alltoall on host memory through the chunks of the leaders. */
void stp_coll_leader_alltoall(const struct stp_coll_alltoall *a);

/*
 * Waits until a word that another node writes reaches the value. While the PE waits, it gives up
 * its core. This costs little, because the word takes at least microseconds to arrive. On a busy
 * host it saves much time, because other PEs can use the core. The values of these words only grow.
 */
void stp_coll_wait_far(const uint64_t *word, uint64_t value);

/*
 * Arguments that a broadcast passes to its algorithm (algorithm_table.h). In an active set, no PE
 * writes the dest of the root. The dest of any other member is written only after this member has
 * reported its arrival.
 */
struct stp_coll_bcast {
    struct stp_team *team;
    struct stp_coll_cell *cell;
    uint64_t sequence;
    int root_group;
    int root_pe;
    int leader; /* leader of this node; on the root's node this is the root */
    char *dest;
    const char *source;
    size_t nbytes;
    const char *fn;
};

/*
 * Returns the place of this PE's group in the tree. Places are counted from the root's group, which
 * has place 0.
 */
int stp_coll_bcast_group_from_root(const struct stp_coll_bcast *b);
/* Returns the world number of the leader at this place. The leader at place 0 is the root. */
int stp_coll_bcast_leader(const struct stp_coll_bcast *b, int place);

/*
 * Puts nbytes bytes, which may be 0, to the address dest on PE pe. Then adds 1 to a count in the
 * cell on PE pe. This count is COLL_RECEIVED or COLL_ARRIVED. The caller may change source only
 * after stp_coll_quiet().
 */
void stp_coll_put_and_count(struct stp_coll_cell *cell, int which_count, void *dest,
                            const void *source, size_t nbytes, int pe, const char *fn);

/*
 * Waits until the count has grown by n. No PE resets the count, because this PE remembers the value
 * that the count must reach.
 */
static inline void stp_coll_wait_count(struct stp_coll_cell *cell, int count, size_t n)
{
    cell->flags[count + 1] += n;
    stp_coll_wait_far(&cell->flags[count], cell->flags[count + 1]);
}

/*
 * Waits until a word that a PE of this node writes reaches the value. The wait spins, yields and
 * serves the fabric.
 */
void stp_coll_wait_slow(const uint64_t *word, uint64_t value);

static inline void stp_coll_wait(const uint64_t *word, uint64_t value)
{
    /*
     * Pairs with the release stores in stp_coll_post() and stp_ofi_cqdata_apply_to_word_locked().
     */
    if (__atomic_load_n(word, __ATOMIC_ACQUIRE) < value) stp_coll_wait_slow(word, value);
}

/*
 * Publishes that this thread waits for a word in a team's area. A hang report can then show this
 * wait.
 */
void stp_coll_show_wait(const uint64_t *word) STP_COLD;

/* Returns the team whose area is in the slot, or NULL if there is none. */
const struct stp_team *stp_coll_team_at(size_t slot);
/*
 * Converts an offset in the internal space. Sets *slot to the slot whose area contains this offset,
 * and *area_offset to the offset in this area. Returns false if no area contains the offset.
 */
bool stp_coll_slot_at(size_t offset, size_t *slot, size_t *area_offset);

/*
 * Waits until a word that a PE of this node writes reaches the value. A long wait sleeps until the
 * PE that writes the word rings the doorbell. Used if the node has more members than cores, or if
 * the fabric needs system calls.
 */
void stp_coll_wait_node_slow(struct stp_team *team, const uint64_t *word, uint64_t value);

static inline void stp_coll_wait_node(struct stp_team *team, const uint64_t *word, uint64_t value)
{
    if (team->plan.sleeps)
        stp_coll_wait_node_slow(team, word, value);
    else if (team->plan.n_groups > 1) /* the writer of the word may wait for another node */
        stp_coll_wait_far(word, value);
    else
        stp_coll_wait(word, value);
}

/* Wakes the sleeping members of this node. The caller has written the word for which they wait. */
void stp_coll_wake_slow(struct stp_team *team);

static inline void stp_coll_wake(struct stp_team *team)
{
    if (team->plan.sleeps) stp_coll_wake_slow(team);
}

/* Sets a word in the memory of this node. Other members of the team wait for this word. */
static inline void stp_coll_post_node(struct stp_team *team, uint64_t *word, uint64_t value)
{
    /* Pairs with the acquire load in coll_reached() or stp_coll_wait(). */
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
    stp_coll_wake(team);
}

/*
 * Ends the job if dest or source is not symmetric or too short on a member. Also ends the job if
 * members pass addresses in different spaces. Called only if SHMEM_CHECK is 1.
 */
void stp_coll_check_buffers_across_pes_slow(struct stp_team *team, const void *dest,
                                            const void *source, size_t dest_bytes,
                                            size_t source_bytes, const char *fn);

/*
 * Ends the job if a buffer reaches past the end of its space. Small buffers in the window are not
 * checked. This check does not depend on SHMEM_CHECK.
 */
static inline void stp_coll_check_ends(const void *dest, const void *source, size_t dest_bytes,
                                       size_t source_bytes, const char *fn)
{
    if (STP_LIKELY(dest_bytes <= STP_UNCHECKED_BYTES && source_bytes <= STP_UNCHECKED_BYTES &&
                   !stp_any_outside()))
        return;
    stp_check_end(dest, dest_bytes, fn, "dest");
    stp_check_end(source, source_bytes, fn, "source");
}

static inline void stp_coll_check(struct stp_team *team, const void *dest, const void *source,
                                  size_t dest_bytes, size_t source_bytes, const char *fn)
{
    if (STP_UNLIKELY(stp_rt.check))
        stp_coll_check_buffers_across_pes_slow(team, dest, source, dest_bytes, source_bytes, fn);
    stp_coll_check_ends(dest, source, dest_bytes, source_bytes, fn);
}

/*
 * Ends the job unless the nbytes bytes at addr are symmetric and this PE can load them from all
 * members of its node. Called for data that members read directly from each other's memory.
 */
void stp_coll_require_node_loadable(struct stp_team *team, const void *addr, size_t nbytes,
                                    const char *fn, const char *argument);

/*
 * Performs a reduction without checks of the arguments. The buffers may be private memory if the
 * vector fits a cell.
 */
void stp_coll_reduce_unchecked(struct stp_team *team, enum stp_op op, enum stp_dtype dtype,
                               void *dest, const void *source, size_t nreduce, const char *fn);

/*
 * Performs a broadcast if dest or source is device memory (device_coll.c). The caller has already
 * checked the arguments. The team has more than one member.
 */
int stp_coll_device_broadcast(struct stp_team *team, void *dest, const void *source, size_t nbytes,
                              int root, const char *fn);
/* Performs a reduction on device memory, with the same preconditions as the broadcast. */
int stp_coll_device_reduce(struct stp_team *team, enum stp_op op, enum stp_dtype dtype, void *dest,
                           const void *source, size_t nreduce, const char *fn);

/*
 * One member's share of a vector. This member reduces or scans the share for all members. No other
 * member reads the share, and the share is read before it is written. Therefore source and dest may
 * be the same. Each member decides alone whether a device or the host does the work, because the
 * result has the same bits in both cases.
 */
struct stp_coll_slice {
    struct stp_ctx *ctx; /* context that copies the data */
    struct stp_team *team;
    enum stp_op op;
    enum stp_reduce_span span;
    enum stp_dtype dtype;
    size_t size; /* bytes of an element */
    char *dest;
    const char *source;
    size_t nelems; /* number of elements, or 0 if the share is empty */
    const char *fn;
};

/* Returns this member's share of a reduction of nreduce elements. */
struct stp_coll_slice stp_coll_slice_of(struct stp_ctx *ctx, struct stp_team *team, enum stp_op op,
                                        enum stp_dtype dtype, void *dest, const void *source,
                                        size_t nreduce, const char *fn);

/*
 * Fills parts with the addresses of the share on all members. Returns the kind of memory whose
 * device can access all of these addresses. Returns NULL if there is no such kind.
 */
const struct stp_kind *stp_coll_slice_parts(const struct stp_coll_slice *share,
                                            struct stp_reduction *parts);

/*
 * Reduces or scans the share on a device. The caller syncs before and after the call. Returns
 * false, without writing anything, if no device can do the work.
 */
bool stp_coll_slice_try_on_device(const struct stp_coll_slice *share);

/*
 * Reduces the share on the host, and sends the results to all members. The caller must then do a
 * quiet on the context of the share. After this quiet, the results have arrived.
 */
void stp_coll_slice_on_host(const struct stp_coll_slice *share);

/* ---- active sets: agreement on a slot (active_set_slot_agree.c) ------------------------------ */

#define ACTIVE_N_WORDS 3 /* number of elements of pSync that are used */

/*
 * Gives the team of an active set a slot and the area in this slot. The slot is the same on all
 * members. Collective over the members, which communicate through pSync. On return pSync holds
 * SHMEM_SYNC_VALUE again, and this PE may post to the areas of all members. The members compare
 * their hashes, in order to detect a member that passed another set. Fatal if the hashes differ, if
 * pSync does not hold SHMEM_SYNC_VALUE on entry, or if no slot is left.
 */
void stp_active_set_agree_slot(struct stp_team *team, long *psync, uint64_t hash, const char *fn);

/* Returns a hash of x. Every bit of the hash depends on every bit of x. */
static inline uint64_t stp_active_set_mix(uint64_t x)
{
    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
    return x ^ (x >> 32);
}

/* Waits until everything that this PE has sent for collectives is complete. */
static inline void stp_coll_quiet(void)
{
    stp_quiet(&stp_ctx_coll);
}

#endif /* STP_COLL_INTERNAL_H */
