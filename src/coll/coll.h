/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares the collectives and other functions in which all members of a team meet. Design:
 * docs/design/collectives.md.
 */
#ifndef STP_COLL_H
#define STP_COLL_H

#include "core/argument_errors.h"
#include "core/team_and_space_handles.h"

/* ---- collectives; they return 0 ------------------------------------ */

int stp_coll_sync(struct stp_team *team);
/* Syncs the team for the last time. On return no PE reads or writes this PE's area any more. */
void stp_team_last_sync(struct stp_team *team);
/*
 * Meets all members once in the life of a team, by words that no other collective touches. A leader
 * sends word, which is not 0, to some other nodes. Returns the leader whose word is the smallest of
 * those that came here, with that word in *least, or -1 if none came.
 */
int stp_coll_job_end_find_least(struct stp_team *team, uint64_t word, uint64_t *least);

/*
 * PE 0 alone reads SHMEM_COLL_TABLE and sends it to the other PEs. stp_coll_table_read() returns
 * the data to send, of *nbytes bytes, and is fatal if the file is wrong. stp_coll_table_install()
 * sets the job's table from the data, before there are teams.
 */
const void *stp_coll_table_read(size_t *nbytes);
void stp_coll_table_install(const void *bcast, size_t nbytes);

/* Returns, for oshinfo, an operation's name (NULL if there is none), or its algorithms' names. */
const char *stp_coll_operation_name(int what);
const char *stp_coll_algorithm_names(int what, char *names, size_t size);

/* Computes how many teams' areas fit. Returns the size of the internal space in bytes. */
size_t stp_coll_lay_out_internal(size_t window_capacity);

/* Gives a team its plan, and its zeroed area in the slot. Returns 0 or -ENOMEM. */
int stp_coll_attach(struct stp_team *team, size_t slot);
void stp_coll_detach(struct stp_team *team);
/* Returns the lowest slot that is free on this PE and not below from, or SIZE_MAX. */
size_t stp_coll_find_slot(size_t from);
/* Takes a slot. Returns false if another thread took it first. */
bool stp_coll_take_slot(size_t slot);
/* The caller calls this once for each slot taken, when it has kept the slot or given it back. */
void stp_coll_slot_decided(void);
void stp_coll_release_slot(size_t slot);
/*
 * Returns whether a search that began at *seen may have missed a slot that is free now or may be
 * free soon. Updates *seen.
 */
bool stp_coll_slots_freed_since(unsigned *seen);

/* Reduces up to STP_AGREE_MAX numbers by maximum, in place. Needs no user memory. */
#define STP_AGREE_MAX 32
void stp_coll_agree(struct stp_team *team, int64_t *values, size_t n_values);

/* Gathers nbytes (up to 384) of each member to all, in rank order. Needs no user memory. */
void stp_coll_gather(struct stp_team *team, void *all, const void *mine, size_t nbytes);

/* Gathers nbytes of each member on this node, in the order of the members' places in the plan. */
void stp_coll_gather_node(struct stp_team *team, void *all, const void *mine, size_t nbytes);

/*
 * Returns the lowest index that find() offers on every member, or SIZE_MAX if some member runs out.
 * find() returns the lowest index that is free on its PE and not below from, or SIZE_MAX.
 */
size_t stp_coll_agree_index(struct stp_team *team, size_t (*find)(size_t from, void *arg),
                            void *arg);

/*
 * A search by stp_coll_agree_index() while other threads may search for the same kind of index in
 * other teams. Two teams may agree on the same index. A team that does not get it on every member
 * gives it back and continues after it, and starts at the lowest again when no index is left.
 */
struct stp_coll_index_search {
    struct stp_team *team;
    /* Returns whether an index may be free now, or soon, that was not free at *seen. */
    bool (*moved)(unsigned *seen);
    unsigned seen;
    int passes;
};

void stp_coll_index_search_begin(struct stp_coll_index_search *search, struct stp_team *team,
                                 bool (*moved)(unsigned *seen));

/*
 * Decides, after no index was found, whether to search again from the lowest. Returns true, on all
 * members alike, if the search began further up, or missed an index that a thread of any member
 * gave back or may give back. That thread lost a race, perhaps against this search.
 */
bool stp_coll_index_agree_retry(struct stp_coll_index_search *search, bool began_further_up);

/* Returns how far after a lost index to continue, so that two competing threads part ways. */
size_t stp_coll_index_retry_distance(const struct stp_coll_index_search *search);

int stp_coll_broadcast(struct stp_team *team, void *dest, const void *source, size_t nbytes,
                       int root, const char *fn);
int stp_coll_collect(struct stp_team *team, void *dest, const void *source, size_t nbytes,
                     const char *fn);
int stp_coll_fcollect(struct stp_team *team, void *dest, const void *source, size_t nbytes,
                      const char *fn);
int stp_coll_alltoall(struct stp_team *team, void *dest, const void *source, size_t nbytes,
                      const char *fn);
int stp_coll_alltoalls(struct stp_team *team, void *dest, const void *source, ptrdiff_t dst,
                       ptrdiff_t sst, size_t size, size_t nelems, const char *fn);
int stp_coll_reduce(struct stp_team *team, enum stp_op op, enum stp_dtype dtype, void *dest,
                    const void *source, size_t nreduce, const char *fn);

/* Sums the elements of the ranks up to this one, or before it if exclusive (zeros on rank 0). */
int stp_coll_scan(struct stp_team *team, enum stp_dtype dtype, void *dest, const void *source,
                  size_t nelems, bool exclusive, const char *fn);

/* ---- active sets (active_set.c) ------------------------------------------- */

/*
 * Returns the team for this pSync of the PEs PE_start + i * 2^logPE_stride, i < PE_size. The first
 * call with these arguments is collective over the set and uses pSync, which is restored on return;
 * later calls find the team. Fatal if an argument is wrong, or this PE is not a member. Any thread
 * may call, but two threads may not use the same pSync at once. Spec 1.6, 9.10.
 */
struct stp_team *stp_active_set(int PE_start, int logPE_stride, int PE_size, long *pSync,
                                const char *fn);

/* Completes the sends for active sets. Called before the barrier of stp_active_set_forget(). */
void stp_active_sets_quiet(void);

/*
 * Forgets the sets whose pSync begins in nbytes at base, memory that goes away. All PEs that have
 * that memory call this after a barrier, so that the next call with a pSync there is a first call
 * on every PE.
 */
void stp_active_set_forget(const void *base, size_t nbytes);

#endif /* STP_COLL_H */
