/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This header declares operations in the order of the program's streams. A stream itself performs
 * copies in memory that its device reaches, and writes to and waits for words. The stream thread
 * performs the rest. A function in the stream hands over such work, and the stream waits for the
 * end of the work. Design: docs/design/streams.md.
 */
#ifndef STP_STREAM_ENGINE_H
#define STP_STREAM_ENGINE_H

#include "coll/coll.h"
#include "rma/rma.h"
#include "spaces/cuda/user_stream_enqueue.h"

/* ---- what the typed bodies call; stream: as users name it ------------------------ */

void stp_stream_put(void *dest, const void *source, size_t nbytes, int pe, bool nbi, void *stream,
                    const char *fn);
void stp_stream_get(void *dest, const void *source, size_t nbytes, int pe, bool nbi, void *stream,
                    const char *fn);
int stp_stream_reduce(shmem_team_t team_handle, enum stp_op op, enum stp_dtype dtype, void *dest,
                      const void *source, size_t nreduce, void *stream, const char *fn);

/* ---- the thread (stream_engine.c) ------------------------------------------------------- */

/*
 * Counts a space that was created (by 1) or is about to be destroyed (-1). The first space that a
 * device reaches starts the thread and allocates the words. The destruction of the last such space
 * ends the thread and frees the words, unless the program used a stream.
 */
void stp_stream_on_space_change(const struct stp_space *space, int by);

/* Completes all works on streams and ends the thread, at finalize. */
void stp_stream_stop(void);
/* Ends all waits of streams, in a process that is about to end. */
void stp_stream_release_all_waits(void);

/* Words shared with a stream, in a cache line that devices reach. */
struct stream_words {
    uint64_t done;   /* number of the last work done, written by the thread */
    uint64_t passed; /* number of waits completed, written by the stream */
} STP_ALIGNED_LINE;

/* A stream's wait for a host word of the program, which no work of the thread ends. */
struct stream_wait {
    uint64_t number; /* number of the wait in the stream, or 0 for an unused record */
    uint64_t *word, wanted;
};
#define STREAM_WAITS 8 /* number of host waits that are remembered for a stream */

/* State of a stream on which operations were called. */
struct stream_slot {
    pthread_mutex_t lock;     /* held over a call's enqueues; taken before streams.lock */
    struct stp_stream stream; /* stream with this slot, guarded by streams.lock */
    bool used;                /* whether the slot has a stream, guarded by streams.lock */
    int n_calls;              /* calls that hold or await lock, guarded by streams.lock */
    struct stream_words *words;
    uint64_t n_works; /* number of works so far for which the stream waits */
    uint64_t n_waits; /* number of waits so far; above passed while the stream may wait */
    uint64_t n_nbi;   /* nonblocking works since the last quiet; read by other threads */
    struct stream_wait host_waits[STREAM_WAITS]; /* last waits, by number modulo STREAM_WAITS */
};

/* Operation that the thread performs in steps. */
struct stream_work {
    struct stream_work *next;
    bool (*step)(struct stream_work *work); /* true when done; waits for no peer's program */
    struct stream_slot *slot;
    uint64_t number; /* number among works for which the stream waits, or 0 */
    const char *fn;
    /* Arguments, of which each step function uses some. */
    void *dest;
    const void *source;
    size_t nbytes;
    int pe;
    uint64_t *sig_addr;
    uint64_t signal;
    int sig_op, cmp;
    bool nbi;
    struct stp_team *team;
    uint64_t turn; /* place in the order of the team's collectives on streams */
    int root;
    enum stp_op op;
    enum stp_dtype dtype;
    size_t nelems;
    /* Progress of the step function. */
    int phase, round;
    bool sent;
};

/*
 * Begin and end a call on a stream. The first returns the stream's slot, locked, and makes the
 * stream's context current. Fatal if the stream is invalid, captured, or in a context other than a
 * device's primary one. device is as for stp_stream_find().
 */
struct stream_slot *stp_stream_lock_slot(void *stream, int device, const char *fn);
void stp_stream_unlock_slot(struct stream_slot *slot);

/* Enqueues the handover of a copy of work to the thread and, if stream_waits, a wait for it. */
void stp_stream_enqueue_work(struct stream_slot *slot, const struct stream_work *work,
                             bool stream_waits);

/*
 * Enqueues a wait for a word. word is the device's address of the word; host is the CPU's, or NULL.
 * The caller may block until other streams have passed their waits.
 */
void stp_stream_wait_word(struct stream_slot *slot, void *word, uint64_t *host, uint64_t value,
                          bool equal, const char *fn);

/* ---- where things are (stream_rma.c) ------------------------------------------------------ */

/* Returns the ordinal of the device in whose memory the symmetric address lies, or -1. */
int stp_stream_device_of(const void *addr);

/* Returns the device of dest, or of source, or -1. A null stream is the device's default one. */
int stp_stream_choose(const void *dest, const void *source);

/* Returns the address at which the stream's device reaches pe's copy of addr, or NULL. */
void *stp_stream_there(const struct stp_stream *stream, const void *addr, int pe, bool *on_device);

#endif /* STP_STREAM_ENGINE_H */
