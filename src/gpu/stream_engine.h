/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations in the order of streams of the program. What a stream can do by itself (copies to
 * memory that its device reaches, words that it writes and waits for) is put into it; the rest is
 * work for a thread of its own, which a function in the stream hands over and for whose end the
 * stream waits. Design: docs/design/streams.md.
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
 * A space has been made (by 1): what the first operation on a stream takes is made now, where a
 * device reaches its memory. Or it is about to be destroyed (-1): with the last space on its device
 * that is destroyed too, if there was no operation.
 */
void stp_stream_on_space_change(const struct stp_space *space, int by);

/* Finalize: wait for all that was called, then the thread ends. In a process that dies: let go. */
void stp_stream_stop(void);
void stp_stream_release_all_waits(void);

/* What a stream waits for, and what it says; a line of memory that devices reach. */
struct stream_words {
    uint64_t done;   /* work of the thread, by number; the thread writes it */
    uint64_t passed; /* waits that the stream has behind it; the stream writes it */
} STP_ALIGNED_LINE;

/* A wait of a stream for a host word of the program's, which no work of the thread ends. */
struct stream_wait {
    uint64_t number; /* of the stream's waits; 0: this says nothing */
    uint64_t *word, wanted;
};
#define STREAM_WAITS 8 /* that are remembered of a stream */

/* A stream that operations were called on. */
struct stream_slot {
    pthread_mutex_t lock;     /* before streams.lock; what one call puts there stays together */
    struct stp_stream stream; /* this and the next two: under streams.lock */
    bool used;
    int n_calls; /* that have it, or wait for the lock */
    struct stream_words *words;
    uint64_t n_works; /* handed to the thread, for which the stream waits */
    uint64_t n_waits; /* of the stream, ever; more than passed: it may be waiting */
    uint64_t n_nbi;   /* handed over, for which nothing waits yet; read by others */
    struct stream_wait host_waits[STREAM_WAITS]; /* the last ones, by number */
};

/* One thing that the thread does, step by step. */
struct stream_work {
    struct stream_work *next;
    bool (*step)(struct stream_work *work); /* never waits for a peer's program; true: done */
    struct stream_slot *slot;
    uint64_t number; /* of those that its stream waits for; 0: it does not */
    const char *fn;
    /* arguments, as each step needs them */
    void *dest;
    const void *source;
    size_t nbytes;
    int pe;
    uint64_t *sig_addr;
    uint64_t signal;
    int sig_op, cmp;
    bool nbi;
    struct stp_team *team;
    uint64_t turn; /* among the collectives of the team */
    int root;
    enum stp_op op;
    enum stp_dtype dtype;
    size_t nelems;
    /* how far it is */
    int phase, round;
    bool sent;
};

/*
 * Begin a call: the stream's slot, locked, its context current. Fatal when it is none, of another
 * context, or captured. device: as of stp_stream_find(). And the end.
 */
struct stream_slot *stp_stream_lock_slot(void *stream, int device, const char *fn);
void stp_stream_unlock_slot(struct stream_slot *slot);

/* A copy of work goes to the thread when the stream gets there; wait: where the stream stays. */
void stp_stream_enqueue_work(struct stream_slot *slot, const struct stream_work *work,
                             bool stream_waits);

/*
 * The stream waits for a word that its device reaches; host: the same for this PE's CPU, or NULL.
 * May wait for other streams to be through with their waits.
 */
void stp_stream_wait_word(struct stream_slot *slot, void *word, uint64_t *host, uint64_t value,
                          bool equal, const char *fn);

/* ---- where things are (stream_rma.c) ------------------------------------------------------ */

/* The ordinal of a device that the symmetric address is on, else -1. */
int stp_stream_device_of(const void *addr);

/* The device of one of two ends, whose default stream is meant; -1: neither is on one. */
int stp_stream_choose(const void *dest, const void *source);

/* A symmetric address of pe as the device of the stream names it; NULL: it does not. */
void *stp_stream_there(const struct stp_stream *stream, const void *addr, int pe, bool *on_device);

#endif /* STP_STREAM_ENGINE_H */
