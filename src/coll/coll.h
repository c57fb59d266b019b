/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The collectives, and what else meets all members of a team.
 * Design: docs/design/collectives.md.
 */
#ifndef STP_COLL_H
#define STP_COLL_H

#include "core/argument_errors.h"
#include "core/team_and_space_handles.h"

/* ---- collectives; they return 0 ------------------------------------ */

int stp_coll_sync(struct stp_team *team);
/* The last sync of a team: on return nobody reads or writes this PE's area any more. */
void stp_team_last_sync(struct stp_team *team);
/*
 * Meet all members once in the life of a team, by words that no other collective touches. word: not
 * 0, told to some other nodes. Returns the PE whose word is the smallest of those that came from
 * others, with *least, or -1.
 */
int stp_coll_job_end_find_least(struct stp_team *team, uint64_t word, uint64_t *least);

/*
 * SHMEM_COLL_TABLE, which PE 0 alone reads and tells all others: returns what it tells, *nbytes of
 * it. Fatal when the file is wrong. And the job's, as it was told, before there are teams.
 */
const void *stp_coll_table_read(size_t *nbytes);
void stp_coll_table_install(const void *bcast, size_t nbytes);

/* For oshinfo: an operation of the table, NULL: no such; and the names of its algorithms. */
const char *stp_coll_operation_name(int what);
const char *stp_coll_algorithm_names(int what, char *names, size_t size);

/* Bytes of the internal space, and how many teams' areas fit. */
size_t stp_coll_lay_out_internal(size_t window_capacity);

/* Give a team its plan and its area (slot of the internal space, zeroed). 0 or -ENOMEM. */
int stp_coll_attach(struct stp_team *team, size_t slot);
void stp_coll_detach(struct stp_team *team);
size_t stp_coll_find_slot(size_t from); /* lowest free here, SIZE_MAX when none is */
bool stp_coll_take_slot(size_t slot);   /* false when another thread was quicker */
void stp_coll_slot_decided(void); /* once for each taken, when it is sure: kept, or given back */
void stp_coll_release_slot(size_t slot);
/* May a search since *seen, which is moved on, have missed a slot that is free now or soon? */
bool stp_coll_slots_freed_since(unsigned *seen);

/* All-reduce of up to STP_AGREE_MAX numbers by maximum, in place; needs no user memory. */
#define STP_AGREE_MAX 32
void stp_coll_agree(struct stp_team *team, int64_t *values, size_t n_values);

/* Every member's nbytes (up to 384) to every member, in rank order; needs no user memory. */
void stp_coll_gather(struct stp_team *team, void *all, const void *mine, size_t nbytes);

/* The same among the members on this node alone, in order of their places in the plan. */
void stp_coll_gather_node(struct stp_team *team, void *all, const void *mine, size_t nbytes);

/*
 * The lowest index that find(from, arg) offers on every member; SIZE_MAX when some member runs out.
 * find: lowest index >= from that is free here, SIZE_MAX when there is none.
 */
size_t stp_coll_agree_index(struct stp_team *team, size_t (*find)(size_t from, void *arg),
                            void *arg);

/*
 * A search by stp_coll_agree_index() for what other threads may be searching for in other teams.
 * Two may agree on the same index; who does not get it on every member gives it back and goes on
 * behind it, and where none is left, from the lowest again.
 */
struct stp_coll_index_search {
    struct stp_team *team;
    bool (*moved)(unsigned *seen); /* may one be free now or soon that was not since *seen? */
    unsigned seen;
    int passes;
};

void stp_coll_index_search_begin(struct stp_coll_index_search *search, struct stp_team *team,
                                 bool (*moved)(unsigned *seen));

/*
 * None was found. Search again from the lowest? Yes when this search began further up, or what a
 * thread of any member gave back, or may give back, was missed: it lost a race, perhaps to one that
 * lost it here. The same on all members.
 */
bool stp_coll_index_agree_retry(struct stp_coll_index_search *search, bool began_further_up);

/* How far behind an index that was lost to go on: two such threads part ways. */
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

/* Sums over the ranks up to mine; exclusive: before mine, zeros on rank 0. */
int stp_coll_scan(struct stp_team *team, enum stp_dtype dtype, void *dest, const void *source,
                  size_t nelems, bool exclusive, const char *fn);

/* ---- active sets (active_set.c) ------------------------------------------- */

/*
 * The team of PEs PE_start + i * 2^logPE_stride, i < PE_size, that goes with this pSync. The first
 * call with them is collective over the set and uses pSync, which is restored on return; later
 * ones look it up. Fatal when an argument is wrong, or this PE is no member. Any thread; two may
 * not use the same pSync at once. Spec 1.6, 9.10.
 */
struct stp_team *stp_active_set(int PE_start, int logPE_stride, int PE_size, long *pSync,
                                const char *fn);

/* Before a barrier that precedes forgetting: what was sent for active sets has arrived. */
void stp_active_sets_quiet(void);

/*
 * Let go of the sets whose pSync begins in nbytes at base, memory that goes away. Behind a barrier
 * of all PEs that have that memory, and on all of them: the next call with a pSync there is a
 * first one everywhere.
 */
void stp_active_set_forget(const void *base, size_t nbytes);

#endif /* STP_COLL_H */
