/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Streams of the program, as operations in their order use them: what src/gpu puts there.
 * Mechanism only (spaces/cuda/stream_enqueue.c). Design: docs/design/streams.md.
 */
#ifndef STP_USER_STREAM_ENQUEUE_H
#define STP_USER_STREAM_ENQUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A stream as users name it, and the ordinal of the device whose primary context it is in. */
struct stp_stream {
    void *handle;
    int device;
};

#define STP_STREAM_WHY 256
#define STP_STREAM_DEVICES 64 /* of a PE, at most */

/*
 * Know a stream. device: whose default streams 0, 1 and 2 are; -1: the one this PE would choose.
 * The context is held until stp_streams_release_cuda_contexts(). 0; -ENODEV, -EINVAL, with the
 * reason in why.
 */
int stp_stream_find(void *handle, int device, struct stp_stream *stream, char *why);

/*
 * Around the calls below, on one thread: the context is current, and the stream is not being
 * captured. 0; -EINVAL with the reason, -EIO, logged.
 */
int stp_stream_context_push(const struct stp_stream *stream, char *why);
void stp_stream_context_pop(void);

/*
 * At the end of the stream: copy between places that stp_stream_reaches() names, set a word that
 * the device reaches, wait until it is equal to the value or at least it (the difference being less
 * than 2^63), call a function, which may neither wait nor use the driver. 0 or -errno, logged.
 */
int stp_stream_copy(const struct stp_stream *stream, void *dest, const void *source, size_t nbytes);
int stp_stream_write(const struct stp_stream *stream, void *word, uint64_t value);
int stp_stream_wait(const struct stp_stream *stream, void *word, uint64_t value, bool equal);
int stp_stream_call(const struct stp_stream *stream, void (*function)(void *arg), void *arg);

/*
 * Reduce at the end of the stream, where its device reaches all parts and has a kernel for them;
 * to be asked before. 0 or -errno, logged.
 */
struct stp_reduction;
bool stp_stream_reduces(const struct stp_stream *stream, const struct stp_reduction *reduction);
int stp_stream_reduction(const struct stp_stream *stream, const struct stp_reduction *reduction);

/* May a copy of a stream have it as an end, without making its caller wait? One query at most. */
bool stp_stream_reaches(const void *ptr);

/*
 * Host memory that devices reach by the same address, zeros, while which the context is held. NULL:
 * none, with the reason. And its end.
 */
void *stp_stream_words(int device, size_t nbytes, char *why);
void stp_stream_words_free(int device, void *words);

/* Let go of the contexts. */
void stp_streams_release_cuda_contexts(void);

#endif /* STP_USER_STREAM_ENQUEUE_H */
