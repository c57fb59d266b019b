/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This header declares the functions by which src/gpu enqueues operations on CUDA streams of the
 * program. They are in spaces/cuda/stream_enqueue.c. Design: docs/design/streams.md.
 */
#ifndef STP_USER_STREAM_ENQUEUE_H
#define STP_USER_STREAM_ENQUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A CUDA stream of the program. It belongs to the primary context of a device. */
struct stp_stream {
    void *handle;
    int device; /* ordinal of the device */
};

#define STP_STREAM_WHY 256
#define STP_STREAM_DEVICES 64 /* maximum number of devices of a PE */

/*
 * Finds the device of a stream and fills in *stream. Holds a reference to the device's context
 * until stp_streams_release_cuda_contexts() is called. The handles 0, 1 and 2 denote default
 * streams of the given device, or of this PE's default device if device is -1. Returns 0 on
 * success. Returns -ENODEV or -EINVAL after writing an error text to reason. Returns another
 * -errno after logging an error.
 */
int stp_stream_find(void *handle, int device, struct stp_stream *stream, char *reason);

/*
 * Makes the stream's context current in this thread, and checks that the stream is not being
 * captured into a graph. Must be called before the functions below. Returns 0, -EINVAL after
 * writing an error text to reason, or -EIO after logging an error.
 */
int stp_stream_context_push(const struct stp_stream *stream, char *reason);
/*
 * Undoes stp_stream_context_push(). Called by the same thread after its calls of the functions
 * below.
 */
void stp_stream_context_pop(void);

/*
 * Enqueues a copy on the stream. The stream must be able to access dest and source without blocking
 * the host. Returns 0, or -errno after logging an error.
 */
int stp_stream_copy(const struct stp_stream *stream, void *dest, const void *source, size_t nbytes);
/*
 * Enqueues a store of the value to a word that the device can access. Returns 0, or -errno after
 * logging an error.
 */
int stp_stream_write(const struct stp_stream *stream, void *word, uint64_t value);
/*
 * Makes the stream wait for a value of the word. If equal is true, the wait ends when the word is
 * equal to the value. If equal is false, the wait ends when word - value < 2^63 in unsigned
 * arithmetic. The word is then equal to the value, or after the value in cyclic order. Returns 0,
 * or -errno after logging an error.
 */
int stp_stream_wait(const struct stp_stream *stream, void *word, uint64_t value, bool equal);
/*
 * Enqueues a call of a host function. The function must neither wait nor call the CUDA driver.
 * Returns 0, or -errno after logging an error.
 */
int stp_stream_call(const struct stp_stream *stream, void (*function)(void *arg), void *arg);

/* Returns whether stp_stream_reduction() can perform this reduction on the stream's device. */
struct stp_reduction;
bool stp_stream_reduces(const struct stp_stream *stream, const struct stp_reduction *reduction);
/* Enqueues the reduction kernel on the stream. Returns 0, or -errno after logging an error. */
int stp_stream_reduction(const struct stp_stream *stream, const struct stp_reduction *reduction);

/*
 * Returns whether a stream can copy from or to ptr without blocking the host. Queries the driver at
 * most once.
 */
bool stp_stream_reaches(const void *ptr);

/*
 * Allocates zeroed host memory that the host and devices access at the same address. Takes a
 * reference to the device's context. On failure, writes an error text to reason and returns
 * NULL.
 */
void *stp_stream_words(int device, size_t nbytes, char *reason);
/* Frees memory from stp_stream_words() and releases its reference to the context. */
void stp_stream_words_free(int device, void *words);

/* Releases the references to contexts that stp_stream_find() has taken. */
void stp_streams_release_cuda_contexts(void);

#endif /* STP_USER_STREAM_ENQUEUE_H */
