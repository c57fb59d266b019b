/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This header declares operations that run in the order of the program's CUDA streams. A stream
 * itself performs copies between memory that its device can access. It can also write words and
 * wait for words. The stream thread performs all other operations. A host function in the stream
 * hands such an operation (a work) to the thread. The stream then waits for the end of the work.
 * Design: docs/design/streams.md.
 */
#ifndef STP_STREAM_ENGINE_H
#define STP_STREAM_ENGINE_H

#include "coll/coll.h"
#include "rma/rma.h"
#include "spaces/cuda/user_stream_enqueue.h"

/* ---- calls of the typed routines, which pass the stream of the user -------------- */

void stp_stream_put(void *dest, const void *source, size_t nbytes, int pe, bool nbi, void *stream,
                    const char *fn);
void stp_stream_get(void *dest, const void *source, size_t nbytes, int pe, bool nbi, void *stream,
                    const char *fn);
int stp_stream_reduce(shmem_team_t team_handle, enum stp_op op, enum stp_dtype dtype, void *dest,
                      const void *source, size_t nreduce, void *stream, const char *fn);

/* ---- the thread (stream_engine.c) ------------------------------------------------------- */

/*
 * Called after a space was created (`change` is 1) and before a space is destroyed (`change` is
 * -1). Counts the spaces that each device can access. The first such space starts the stream thread
 * and allocates the words (struct stream_words). When the last such space of the thread's device is
 * destroyed, the thread ends and the words are freed. The thread does not end if the program has
 * used a stream.
 */
void stp_stream_on_space_change(const struct stp_space *space, int change);

/* Completes all works and ends the stream thread. Called by finalize. */
void stp_stream_stop(void);
/* Ends all waits of streams. Called when this process is about to end. */
void stp_stream_release_all_waits(void);

/* Words that the stream thread shares with a stream. Devices can access this cache line. */
struct stream_words {
    uint64_t last_done_work; /* number of the last work that is done; written by the thread */
    uint64_t n_ended_waits;  /* number of waits that are over; written by the stream */
} STP_ALIGNED_LINE;

/* A stream's wait for a host word of the program. PEs change this word, not the stream thread. */
struct stream_wait {
    uint64_t number;       /* number of the wait in its stream; 0 if the record is unused */
    uint64_t *word, value; /* address of the word, and value that ends the wait */
};
#define STREAM_WAITS 8 /* number of records of waits for host words, for each stream */

/* State of a stream on which operations were called. */
struct stream_slot {
    pthread_mutex_t lock;     /* held while a call enqueues operations; taken before streams.lock */
    struct stp_stream stream; /* stream that has this slot; guarded by streams.lock */
    bool in_use;              /* whether a stream has this slot; guarded by streams.lock */
    int n_calls;              /* number of calls that hold or await lock; guarded by streams.lock */
    struct stream_words *words;
    uint64_t n_works; /* number of works so far for which the stream waits */
    /*
     * Number of waits so far. If this number is above words->n_ended_waits, the stream may be
     * waiting.
     */
    uint64_t n_waits;
    uint64_t n_nbi; /* number of nonblocking works since the last quiet; read by other threads */
    /* Latest waits for host words. The record of wait n is at index n % STREAM_WAITS. */
    struct stream_wait host_waits[STREAM_WAITS];
};

/* Operation that the stream thread performs in steps. */
struct stream_work {
    struct stream_work *next;
    /* Performs a step. Returns true if the work is done. Must not wait for a peer's program. */
    bool (*step)(struct stream_work *work);
    struct stream_slot *slot;
    /*
     * Number of the work among the works for which the stream waits, counted from 1. The number is
     * 0 if the stream does not wait for this work.
     */
    uint64_t number;
    const char *fn;
    /* Arguments of the operation. Each step function uses only some of them. */
    void *dest;
    const void *source;
    size_t nbytes;
    int pe;
    uint64_t *sig_addr;
    uint64_t signal;
    int sig_op;
    unsigned outcomes; /* mask from stp_cmp_outcomes() */
    bool nbi;
    struct stp_team *team;
    uint64_t position; /* position in the order of the team's collectives on streams */
    int root;
    enum stp_op op;
    enum stp_dtype dtype;
    size_t nelems;
    /* State that the step function keeps between two calls. */
    int phase, round;
    bool word_stored;
};

/*
 * Begins a call on a stream. Locks the slot of the stream and returns the slot. Makes the CUDA
 * context of the stream current. Fatal if the stream is invalid or is being captured, or if its
 * context is not the primary context of a device. The argument `device` has the same meaning as in
 * stp_stream_find().
 */
struct stream_slot *stp_stream_lock_slot(void *stream, int device, const char *fn);
/* Ends a call that stp_stream_lock_slot() has begun. */
void stp_stream_unlock_slot(struct stream_slot *slot);

/*
 * Enqueues a host function that hands a copy of work to the stream thread. If stream_waits is true,
 * also enqueues a wait for the end of the work.
 */
void stp_stream_enqueue_work(struct stream_slot *slot, const struct stream_work *work,
                             bool stream_waits);

/*
 * Enqueues a wait for a word. If `equal` is true, the stream waits until the word is equal to
 * `value`. Otherwise the stream waits until the word is at least `value`. `word` is the device's
 * address of the word. `host` is the CPU's address of the word, or NULL if the word is in device
 * memory. This call blocks while too many other streams are waiting.
 */
void stp_stream_wait_word(struct stream_slot *slot, void *word, uint64_t *host, uint64_t value,
                          bool equal, const char *fn);

/* ---- addresses (stream_rma.c) ------------------------------------------------------------- */

/* Returns the ordinal of the device whose memory contains a symmetric address, or -1. */
int stp_stream_device_of(const void *addr);

/*
 * Returns the ordinal of the device whose memory contains dest. If dest is not in device memory,
 * returns the ordinal of the device that contains source, or -1 if there is none. The caller uses
 * the default stream of this device if the program has passed a NULL stream.
 */
int stp_stream_choose(const void *dest, const void *source);

/*
 * Returns the address by which the stream's device accesses pe's copy of addr. Returns NULL if the
 * device cannot access the copy. Sets *on_device to whether the copy is in device memory.
 */
void *stp_stream_device_addr(const struct stp_stream *stream, const void *addr, int pe,
                             bool *on_device);

#endif /* STP_STREAM_ENGINE_H */
