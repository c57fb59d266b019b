/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares the collectives, and other functions that all members of a team call together. Design:
 * docs/design/collectives.md.
 */
#ifndef STP_COLL_H
#define STP_COLL_H

#include "core/argument_errors.h"
#include "core/team_and_space_handles.h"

/* ---- collectives (each returns 0) ---------------------------------- */

int stp_coll_sync(struct stp_team *team);
/*
 * Syncs the team for the last time. After the return, no PE accesses this PE's area of the team any
 * more.
 */
void stp_team_last_sync(struct stp_team *team);
/*
 * Lets all members meet at the end of the job. A team can call this function only once, because the
 * function uses words that are never reset. Each leader passes a word that is not 0, and sends this
 * word to some other leaders. Sets *least to the smallest word that this PE received. Returns the
 * world number of the leader that sent this word. Returns -1 if this PE received no word.
 */
int stp_coll_job_end_find_least(struct stp_team *team, uint64_t word, uint64_t *least);

/*
 * Returns the table of algorithms that PE 0 sends to the other PEs. Sets *nbytes to the size of the
 * table. Only PE 0 reads the file that SHMEM_COLL_TABLE names. On other PEs *nbytes is 0. Fatal if
 * the file is wrong.
 */
const void *stp_coll_table_read(size_t *nbytes);
/*
 * Installs the built-in table, and the user's table that PE 0 has sent. Called before any team
 * exists.
 */
void stp_coll_table_install(const void *bcast, size_t nbytes);

/*
 * Returns the name of an operation for the tool oshinfo. Returns NULL if there is no such
 * operation.
 */
const char *stp_coll_operation_name(int operation);
/* Writes the names of an operation's algorithms to the buffer names, and returns this buffer. */
const char *stp_coll_algorithm_names(int operation, char *names, size_t size);

/*
 * Computes how many team areas fit into the internal space, which is symmetric memory for the
 * library's own use. The area of a team holds its sync words and cells. Returns the size of the
 * internal space in bytes.
 */
size_t stp_coll_lay_out_internal(size_t window_capacity);
/*
 * Returns the number of bytes of the internal space, at most space_bytes, that must be accessible
 * if slots up to this slot are in use. mlockall() allocates all accessible memory.
 */
size_t stp_coll_accessible_bytes(size_t slot, size_t space_bytes);

/*
 * Fills the team's plan, which lists the members by node. Gives the team the area of this slot,
 * filled with zeros. Returns 0 or -ENOMEM.
 */
int stp_coll_attach(struct stp_team *team, size_t slot);
void stp_coll_detach(struct stp_team *team);
/*
 * Returns the lowest slot that is free on this PE and not below `start`, or SIZE_MAX if no such
 * slot is free.
 */
size_t stp_coll_find_slot(size_t start);
/* Takes a slot. Returns false if another thread has already taken the slot. */
bool stp_coll_take_slot(size_t slot);
/*
 * Reports that the use of a slot is decided. Either the caller keeps the slot, or the caller has
 * already released the slot. Called once for each slot that was taken.
 */
void stp_coll_slot_decided(void);
void stp_coll_release_slot(size_t slot);
/*
 * Returns whether a search that found no free slot is worth repeating. This is the case if a slot
 * was released after *seen was set, or may be released soon. Updates *seen.
 */
bool stp_coll_slots_freed_since(unsigned *seen);

/*
 * Replaces each of the n_values numbers by its maximum over all members. At most STP_AGREE_MAX
 * numbers are allowed. Needs no symmetric memory of the user.
 */
#define STP_AGREE_MAX 32
void stp_coll_agree(struct stp_team *team, int64_t *values, size_t n_values);

/* Returns whether the argument is true on any member. The result is the same on all members. */
static inline bool stp_coll_any(struct stp_team *team, bool is_true)
{
    int64_t any = is_true;

    stp_coll_agree(team, &any, 1);
    return any != 0;
}

/*
 * Returns the lowest rank whose n_values numbers differ from those of rank 0, or n_pes if there is
 * no such rank. Stores the numbers of these two ranks in the last two arguments, on all members.
 */
int stp_coll_find_differing(struct stp_team *team, const int64_t *my_values, size_t n_values,
                            int64_t *values_of_rank0, int64_t *differing_values);

#define STP_COLL_ARGUMENTS 3 /* number of arguments of a collective that are compared */

/* Argument that all members of a collective must pass with the same value. */
struct stp_coll_argument {
    const char *name;
    int64_t value;
};

/* Ends the job if members have called different routines, or have passed different arguments. */
void stp_coll_check_call_slow(struct stp_team *team, const char *fn,
                              const struct stp_coll_argument *arguments) STP_COLD;

/*
 * With SHMEM_CHECK=1, compares the calls of the members. The arguments after fn initialize up to 3
 * structs stp_coll_argument, or are {0}. Each collective begins with this macro, because members in
 * another collective wait for the comparison.
 */
#define STP_COLL_CHECK_CALL(team, fn, ...)                                                         \
    (STP_UNLIKELY(stp_rt.check)                                                                    \
         ? stp_coll_check_call_slow(                                                               \
               team, fn, (const struct stp_coll_argument[STP_COLL_ARGUMENTS]){__VA_ARGS__})        \
         : (void)0)

/* Compares the calls of a collective that has no such arguments, and returns the team. */
static inline struct stp_team *stp_coll_checked(struct stp_team *team, const char *fn)
{
    STP_COLL_CHECK_CALL(team, fn, {0});
    return team;
}

/*
 * Gathers nbytes bytes from each member into the buffer dest, in rank order. At most 384 bytes per
 * member are allowed. Needs no symmetric memory of the user.
 */
void stp_coll_gather(struct stp_team *team, void *dest, const void *source, size_t nbytes);

/*
 * Gathers nbytes bytes from each member on this node into the buffer dest. The order is that of
 * plan.local_pes.
 */
void stp_coll_gather_node(struct stp_team *team, void *dest, const void *source, size_t nbytes);

/*
 * Lets the members agree on the lowest index that is free on all of them. Returns this index, or
 * SIZE_MAX if a member has no more free index. The function find() returns the lowest index that is
 * free on its PE and not below its first argument. It returns SIZE_MAX if there is none.
 */
size_t stp_coll_agree_index(struct stp_team *team, size_t (*find)(size_t start, void *arg),
                            void *arg);

/*
 * State of a search that repeats stp_coll_agree_index(). Other threads may search for an index of
 * the same kind in other teams at the same time. Two teams may therefore agree on the same index.
 * If a team cannot take the index on every member, it gives the index back and continues with
 * higher indices. When no index is left, the team starts again at the lowest index.
 */
struct stp_coll_index_search {
    struct stp_team *team;
    /*
     * Returns whether an index was released after *seen was set, or may be released soon. Updates
     * *seen.
     */
    bool (*freed_since)(unsigned *seen);
    unsigned seen;
    int passes;
};

void stp_coll_index_search_begin(struct stp_coll_index_search *search, struct stp_team *team,
                                 bool (*freed_since)(unsigned *seen));

/*
 * Decides whether to search again from the lowest index, after no index was found. The result is
 * the same on all members. Returns true if the last search of any member began above the lowest
 * index. Also returns true if a member may have missed an index that another thread has released or
 * may soon release. Returns false after many tries.
 */
bool stp_coll_index_agree_retry(struct stp_coll_index_search *search, bool began_further_up);

/*
 * Returns the distance to the next index to try, after another thread took an index first. The
 * distance depends on the team, so that competing teams try different indices.
 */
size_t stp_coll_index_retry_distance(const struct stp_coll_index_search *search);

int stp_coll_broadcast(struct stp_team *team, void *dest, const void *source, size_t nbytes,
                       int root, const char *fn);
/* In the next four functions, an element has `size` bytes. */
int stp_coll_collect(struct stp_team *team, void *dest, const void *source, size_t nelems,
                     size_t size, const char *fn);
int stp_coll_fcollect(struct stp_team *team, void *dest, const void *source, size_t nelems,
                      size_t size, const char *fn);
int stp_coll_alltoall(struct stp_team *team, void *dest, const void *source, size_t nelems,
                      size_t size, const char *fn);
int stp_coll_alltoalls(struct stp_team *team, void *dest, const void *source, ptrdiff_t dst,
                       ptrdiff_t sst, size_t size, size_t nelems, const char *fn);
int stp_coll_reduce(struct stp_team *team, enum stp_op op, enum stp_dtype dtype, void *dest,
                    const void *source, size_t nreduce, const char *fn);

/*
 * Computes a sum scan. Each rank gets the sums over all ranks up to its own rank. If exclusive is
 * true, its own rank is left out, and rank 0 gets zeros.
 */
int stp_coll_scan(struct stp_team *team, enum stp_dtype dtype, void *dest, const void *source,
                  size_t nelems, bool exclusive, const char *fn);

/* ---- active sets (active_set.c) ------------------------------------------- */

/*
 * Returns the internal team for an active set and its pSync. The set has PE_size members. The first
 * member is PE PE_start, and the distance between two members is 2^logPE_stride. The first call
 * with these arguments is collective over the set. This call uses pSync, and restores its values
 * before it returns. Later calls only look up the team. Fatal if an argument is wrong or if this PE
 * is not a member. Any thread may call this function, but two threads must not use the same pSync
 * at the same time. Spec 1.6, 9.10.
 */
struct stp_team *stp_active_set(int PE_start, int logPE_stride, int PE_size, long *pSync,
                                const char *fn);

/*
 * Completes all messages that this PE has sent for active sets. Called before the barrier that
 * precedes stp_active_set_forget().
 */
void stp_active_sets_quiet(void);

/*
 * Forgets all active sets whose pSync begins in the nbytes bytes at base. Called when this memory
 * is released. All PEs that have this memory call the function after a barrier. Afterwards the next
 * call with a pSync in this memory is a first call again, on every PE.
 */
void stp_active_set_forget(const void *base, size_t nbytes);

#endif /* STP_COLL_H */
