/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares the collectives, and other functions that all members of a team call together. Design:
 * docs/design/collectives.md.
 */
#ifndef STP_COLL_H
#define STP_COLL_H

#include "core/argument_errors.h"
#include "core/team_and_space_handles.h"

/* ---- collectives; they return 0 ------------------------------------ */

int stp_coll_sync(struct stp_team *team);
/* Syncs the team for the last time. On return no PE accesses this PE's area any more. */
void stp_team_last_sync(struct stp_team *team);
/*
 * Lets all members meet at the end of the job. A team can call this function only once, because it
 * uses words of its own that are never reset. Each leader passes a word that is not 0, and sends it
 * to some other leaders. Returns the leader whose word is the smallest that this PE received, and
 * stores that word in *least. Returns -1 if this PE received no word.
 */
int stp_coll_job_end_find_least(struct stp_team *team, uint64_t word, uint64_t *least);

/*
 * Returns the table of algorithms that PE 0 sends to the other PEs. The table has *nbytes bytes.
 * Only PE 0 reads the file SHMEM_COLL_TABLE, and *nbytes is 0 on other PEs. Fatal if the file is
 * wrong.
 */
const void *stp_coll_table_read(size_t *nbytes);
/* Installs the table that PE 0 has sent. Called before any team exists. */
void stp_coll_table_install(const void *bcast, size_t nbytes);

/* Returns for oshinfo the name of an operation, or NULL if there is no such operation. */
const char *stp_coll_operation_name(int what);
/* Writes the names of an operation's algorithms to the buffer names, and returns this buffer. */
const char *stp_coll_algorithm_names(int what, char *names, size_t size);

/* Computes how many areas of teams fit the internal space. Returns the bytes of this space. */
size_t stp_coll_lay_out_internal(size_t window_capacity);

/* Fills the team's plan, and gives the team the zeroed area of this slot. Returns 0 or -ENOMEM. */
int stp_coll_attach(struct stp_team *team, size_t slot);
void stp_coll_detach(struct stp_team *team);
/* Returns the lowest slot, from the given slot on, that is free on this PE, or SIZE_MAX if none. */
size_t stp_coll_find_slot(size_t from);
/* Takes a slot. Returns false if another thread took it first. */
bool stp_coll_take_slot(size_t slot);
/* Called once per slot taken, when the caller has decided to keep the slot or has given it back. */
void stp_coll_slot_decided(void);
void stp_coll_release_slot(size_t slot);
/*
 * Returns whether a slot was released after *seen was set, or may be released soon. Updates *seen.
 * A search that found no slot is then worth repeating.
 */
bool stp_coll_slots_freed_since(unsigned *seen);

/*
 * Replaces each of n_values numbers by its maximum over all members. There are at most
 * STP_AGREE_MAX numbers. Needs no symmetric memory of the user.
 */
#define STP_AGREE_MAX 32
void stp_coll_agree(struct stp_team *team, int64_t *values, size_t n_values);

/*
 * Gathers nbytes, at most 384, from each member into the buffer all, in rank order. Needs no
 * symmetric memory of the user.
 */
void stp_coll_gather(struct stp_team *team, void *all, const void *mine, size_t nbytes);

/*
 * Gathers nbytes from each member on this node into the buffer all, in the order of plan.local_pes.
 */
void stp_coll_gather_node(struct stp_team *team, void *all, const void *mine, size_t nbytes);

/*
 * Returns the lowest index that is free on all members, or SIZE_MAX if a member has no more free
 * index. The function find() returns the lowest index that is free on its PE and not below its
 * first argument, or SIZE_MAX.
 */
size_t stp_coll_agree_index(struct stp_team *team, size_t (*find)(size_t from, void *arg),
                            void *arg);

/*
 * State of a search that repeats stp_coll_agree_index(). Meanwhile other threads may search for the
 * same kind of index in other teams, so two teams may agree on the same index. A team that cannot
 * take the index on every member gives it back and continues with higher indices. When no index is
 * left, the team starts again at the lowest index.
 */
struct stp_coll_index_search {
    struct stp_team *team;
    /* Returns whether an index was released after *seen was set, or may be released soon. */
    bool (*moved)(unsigned *seen);
    unsigned seen;
    int passes;
};

void stp_coll_index_search_begin(struct stp_coll_index_search *search, struct stp_team *team,
                                 bool (*moved)(unsigned *seen));

/*
 * Decides whether to search again from the lowest index, after no index was found. The result is
 * the same on all members. Returns true if the search of any member began further up, or may have
 * missed an index. Such an index is one that another thread gave back, or may give back, because it
 * lost a race.
 */
bool stp_coll_index_agree_retry(struct stp_coll_index_search *search, bool began_further_up);

/* Returns how many indices to skip after a lost index, so that competing threads part ways. */
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

/* Sums the elements of the ranks up to this one, or before this one if exclusive (0 on rank 0). */
int stp_coll_scan(struct stp_team *team, enum stp_dtype dtype, void *dest, const void *source,
                  size_t nelems, bool exclusive, const char *fn);

/* ---- active sets (active_set.c) ------------------------------------------- */

/*
 * Returns the internal team for an active set and its pSync. The set consists of the PEs PE_start +
 * i * 2^logPE_stride for i < PE_size. The first call with these arguments is collective over the
 * set. It uses pSync and restores pSync before it returns. Later calls only look up the team. Fatal
 * if an argument is wrong or if this PE is not a member. Any thread may call this function, but two
 * threads must not use the same pSync at the same time. Spec 1.6, 9.10.
 */
struct stp_team *stp_active_set(int PE_start, int logPE_stride, int PE_size, long *pSync,
                                const char *fn);

/* Completes all sends for active sets, before the barrier that precedes the function below. */
void stp_active_sets_quiet(void);

/*
 * Forgets all active sets whose pSync begins in the nbytes bytes at base, because this memory is
 * released. All PEs that have this memory call the function after a barrier. The next call with a
 * pSync there is then a first call on every PE.
 */
void stp_active_set_forget(const void *base, size_t nbytes);

#endif /* STP_COLL_H */
