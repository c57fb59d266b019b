/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This header declares the mechanism by which src/gpu enqueues operations on streams of the program
 * (spaces/cuda/stream_enqueue.c). Design: docs/design/streams.md.
 */
#ifndef STP_USER_STREAM_ENQUEUE_H
#define STP_USER_STREAM_ENQUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Stream of the program, and the ordinal of the device whose primary context it belongs to. */
struct stp_stream {
    void *handle;
    int device;
};

#define STP_STREAM_WHY 256
#define STP_STREAM_DEVICES 64 /* most devices of a PE */

/*
 * Finds the device of a stream. The default streams 0, 1 and 2 belong to device, or, if that is -1,
 * to the device that this PE would choose. The context is held until
 * stp_streams_release_cuda_contexts(). Returns 0, -ENODEV or -EINVAL with the reason in why, or
 * another -errno, logged.
 */
int stp_stream_find(void *handle, int device, struct stp_stream *stream, char *why);

/*
 * Push and pop enclose the calls below in one thread. push makes the context current and checks
 * that the stream is not being captured. Returns 0, -EINVAL with the reason in why, or -EIO,
 * logged.
 */
int stp_stream_context_push(const struct stp_stream *stream, char *why);
void stp_stream_context_pop(void);

/*
 * Enqueue on the stream a copy between places that stp_stream_reaches() accepts, a store to a word
 * that the device reaches, a wait until the word equals the value or, without equal, is at least
 * the value (with a difference below 2^63), or a call of a function, which may neither wait nor use
 * the driver. Return 0, or -errno, logged.
 */
int stp_stream_copy(const struct stp_stream *stream, void *dest, const void *source, size_t nbytes);
int stp_stream_write(const struct stp_stream *stream, void *word, uint64_t value);
int stp_stream_wait(const struct stp_stream *stream, void *word, uint64_t value, bool equal);
int stp_stream_call(const struct stp_stream *stream, void (*function)(void *arg), void *arg);

/*
 * stp_stream_reduces() returns whether the stream's device reaches all parts and has a kernel for
 * them. Then stp_stream_reduction() enqueues the reduction. Returns 0, or -errno, logged.
 */
struct stp_reduction;
bool stp_stream_reduces(const struct stp_stream *stream, const struct stp_reduction *reduction);
int stp_stream_reduction(const struct stp_stream *stream, const struct stp_reduction *reduction);

/* Returns whether a stream can copy from or to ptr without blocking. Takes at most one query. */
bool stp_stream_reaches(const void *ptr);

/*
 * Allocates zeroed host memory that devices reach by the same address, and frees it. The device's
 * context is held meanwhile. Returns NULL, with the reason in why, on failure.
 */
void *stp_stream_words(int device, size_t nbytes, char *why);
void stp_stream_words_free(int device, void *words);

/* Releases the contexts that stp_stream_find() holds. */
void stp_streams_release_cuda_contexts(void);

#endif /* STP_USER_STREAM_ENQUEUE_H */
