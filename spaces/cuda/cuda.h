/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This header declares the state and the functions that the files of the GPU kind share. Only they
 * and the unit tests include it. Design: docs/design/cuda.md.
 */
#ifndef STP_CUDA_H
#define STP_CUDA_H

#include "cuda_api.h"
#include "spaces/cuda/pinned_host_and_kernel_gpu.h"
#include "spaces/space_registry.h"
#include "spaces/cuda/user_stream_enqueue.h"

#define CUDA_MAX_DEVICES STP_STREAM_DEVICES
#define CUDA_TEXT 192                     /* size of a text with a reason, in bytes */
#define CUDA_BASE_ALIGN ((size_t)2 << 20) /* alignment of device memory: a large page */

/* One GPU that this PE sees. Its index in stp_cuda.devices is the driver's ordinal. */
struct cuda_device {
    CUdevice handle;
    int ordinal;
    int numa;     /* NUMA node of the device, or -1 if unknown */
    bool flushes; /* true if the host must, and can, flush the writes of adapters */
    char name[96];
    char bus[16]; /* PCI address in the format of sysfs: 0000:17:00.0 */
    CUuuid uuid;
    size_t total;            /* size of the device memory, in bytes */
    size_t max_pitch;        /* largest row pitch of a 2D copy, in bytes */
    char why_not[CUDA_TEXT]; /* reason why the device cannot be used, or "" if it can */

    /* stp_cuda.lock guards ctx, refs and n_spaces. Holders of a reference may read ctx freely. */
    CUcontext ctx; /* primary context, or NULL while refs is 0 */
    int refs;      /* number of references: of spaces, streams, pins and loaded kernels */
    int n_spaces;
    bool lost; /* true after a fatal error, when all calls fail; accessed atomically */

    struct cuda_atomics *atomics; /* state of device_amo.c, or NULL without device handles */
    struct cuda_reducer *reducer; /* state of device_reduce.c, or NULL before its first use */
};

/* State of the driver. Only the probe, start and stop write fields that have no other rule. */
struct stp_cuda {
    struct stp_cuda_api api;
    void *library;       /* handle of libcuda, never closed because libcuda survives no dlclose */
    bool missing;        /* true if a probe before start found no driver */
    bool up;             /* true if the driver works and has a usable device */
    char why[CUDA_TEXT]; /* reason why up is false */
    int n_devices;
    int near; /* ordinal of the nearest device, which this PE uses by default */
    struct cuda_device devices[CUDA_MAX_DEVICES];
    pthread_mutex_t lock; /* last in the lock order: no other lock is taken while it is held */
};

extern struct stp_cuda stp_cuda;

/* Returns an address in the driver's type. */
static inline CUdeviceptr stp_cuda_address(const void *ptr)
{
    return (CUdeviceptr)(uintptr_t)ptr;
}

/* ---- driver_and_contexts.c: finding the driver and the devices ------------------------------- */

/* These implement look, missing and start of struct stp_device_ops, and stop of struct stp_kind. */
bool stp_cuda_probe_library(void);
void stp_cuda_set_driver_not_found(int leader);
void stp_cuda_start(void);
void stp_cuda_stop(void);

/* Writes an error to text as "CUDA_ERROR_NO_DEVICE (100): no CUDA-capable ...". Returns text. */
const char *stp_cuda_text(CUresult result, char *text, size_t len);

/*
 * Returns 0 if result is CUDA_SUCCESS. Otherwise logs the driver's text about the call and returns
 * -ENOMEM or -EIO. An error that ends the context is logged only once, and the device is then lost.
 */
int stp_cuda_check(struct cuda_device *device, CUresult result, const char *call);

/* Logs a debug line if result is an error, for calls whose failure has no consequences. */
void stp_cuda_tell(CUresult result, const char *call);

/* Returns an attribute of a device, or 0 if the driver does not know the attribute. */
int stp_cuda_attribute(const struct cuda_device *device, CUdevice_attribute attribute);

/* ---- driver_and_contexts.c: contexts --------------------------------------------------------- */

/* Take or drop a reference to the primary context. ref returns 0, or -errno, logged. */
int stp_cuda_context_ref(struct cuda_device *device);
void stp_cuda_context_unref(struct cuda_device *device);

/*
 * Make the device's context current in this thread, above the program's own context, and undo this.
 * The caller holds a reference. enter returns 0, or -errno, logged; leave follows success only.
 */
int stp_cuda_enter(struct cuda_device *device);
void stp_cuda_leave(void);

/*
 * Take a reference and enter the context, and undo both. The last reference ends the context with
 * all its objects. if_up returns false, with nothing to undo, if no reference is held already.
 */
int stp_cuda_retain_and_enter(struct cuda_device *device);
bool stp_cuda_retain_and_enter_if_up(struct cuda_device *device);
void stp_cuda_leave_and_release(struct cuda_device *device);

/* ---- device_select.c -------------------------------------------------------------------- */

/*
 * Return the NUMA node of a device and its distance from the CPUs in own, each from sysfs and -1 if
 * unknown, and the ordinal of the device nearest to this PE's CPUs.
 */
int stp_cuda_numa(const struct cuda_device *device);
int stp_cuda_distance(const struct cuda_device *device, const struct stp_numbers *own);
int stp_cuda_nearest(void);

/*
 * Chooses the device for the parameters. Returns 0, -ENODEV if this PE has none, or -EINVAL if the
 * parameters are wrong. Writes the device's name, or the reason, to text.
 */
int stp_cuda_choose(const struct stp_space_params *params, struct cuda_device **device, char *text,
                    size_t len);

bool stp_cuda_describe(int i, char *text, size_t len);

/* ---- device_info.c ---------------------------------------------------------------------- */

/* Implements devices of struct stp_kind. */
int stp_cuda_count_devices(int i, struct stp_device *device);

/* ---- pointer_attr.c ---------------------------------------------------------------------- */

/* Result of stp_cuda_location(). */
struct cuda_location {
    struct cuda_device *device; /* device whose context reaches the address, or NULL for the host */
    bool peer;                  /* true for memory of a peer, open in that context only */
};

struct cuda_location stp_cuda_location(const void *ptr);
bool stp_cuda_is_device_ptr(const void *ptr);

/* Implements allocation of struct stp_device_ops, for memory from cuMemAlloc only. */
bool stp_cuda_find_registrable(const void *ptr, struct stp_allocation *allocation);

/* Record or remove a range of a space, so that the driver need not be queried about it. */
void stp_cuda_range_add(const void *base, size_t nbytes, const struct cuda_device *device,
                        bool peer);
void stp_cuda_range_remove(const void *base);

void stp_cuda_find_brk_start(void);

/* ---- sync_memops.c ---------------------------------------------------------------------- */

/*
 * stp_cuda_set_sync_memops() turns SYNC_MEMOPS of an allocation on or off; with it, synchronous
 * copies are complete on return. stp_cuda_sync_memops_set() turns it on for memory of the program
 * and returns the id for restore, or 0 if nothing has to be restored. The context is current.
 */
void stp_cuda_set_sync_memops(const void *base, unsigned on);
unsigned long long stp_cuda_sync_memops_set(const void *base);
void stp_cuda_sync_memops_restore(const void *base, unsigned long long id);

/* ---- peer.c ---------------------------------------------------------------------- */

/* Part of a PE of this node. Written when the space is created and when it is destroyed. */
struct cuda_peer {
    CUuuid uuid;   /* UUID of the device that holds the part */
    char *there;   /* address of the part in this process, or NULL if its owner copies */
    char *mapping; /* start of the allocation that an IPC handle opened, or NULL */
};

/* This PE's part of a GPU space, in space->own. */
struct cuda_part {
    struct cuda_device *device;
    CUdeviceptr allocated; /* allocation to free, or 0 for memory of the program */
    /* Id for stp_cuda_sync_memops_restore(), or 0 if there is nothing to restore. */
    unsigned long long memops;
    int n_peers;
    struct cuda_peer peers[]; /* PEs of the node, by local index */
};

/* Fills in the export with which peers of the node open this part. The context is current. */
void stp_cuda_peer_export(const struct stp_space *space, struct stp_part_export *share);
int stp_cuda_peer_attach(struct stp_space *space, int local, const struct stp_part_export *share);
void *stp_cuda_peer_reach(struct stp_space *space, int local);
void stp_cuda_peer_detach(struct stp_space *space);

/* ---- device_amo.c -------------------------------------------------------------------- */

/* Implements atomic of struct stp_device_ops. Calls to device_amo.c exclude each other. */
int stp_cuda_word(struct stp_space *space, size_t offset, const struct stp_word_op *op,
                  uint64_t *old);

void stp_cuda_device_amo_stop(void); /* called at finalize */

/* ---- device_reduce.c -------------------------------------------------------------------- */

/* Implements reduce of struct stp_device_ops. */
int stp_cuda_reduce(struct stp_queue *queue, const struct stp_reduction *reduction);

/*
 * prepare loads the reduction kernel, which otherwise the first reduction does. unload removes the
 * kernel when the device has no spaces any more.
 */
void stp_cuda_reduce_prepare(struct cuda_device *device);
void stp_cuda_reduce_unload(struct cuda_device *device);

/* ---- device_copy.c, queue.c -------------------------------------------------------- */

/* Stream of a queue on one device. */
struct cuda_stream {
    struct cuda_stream *next;
    struct cuda_device *device;
    CUstream handle;
    char *arena; /* pinned copies of small sources, or NULL until needed */
    size_t used; /* bytes of the arena in use, reset by a wait for the stream */
    bool dirty;  /* true if work may be in progress */
};

struct stp_queue {
    pthread_mutex_t lock;        /* guard of streams, because threads may share a context */
    struct cuda_stream *streams; /* streams, at most one per device, made at first use or before */
    bool dirty;                  /* true if any stream is dirty */
    struct stp_queue *next;
};

/*
 * Gives every queue its stream and arena on a device that has a space. A queue that is created
 * later gets them when it is created.
 */
void stp_cuda_streams_prepare(struct cuda_device *device);

/* Returns whether this PE has GPU spaces on the device. */
bool stp_cuda_has_spaces(const struct cuda_device *device);

int stp_cuda_queue_create(struct stp_queue **queue);
void stp_cuda_queue_destroy(struct stp_queue *queue);
int stp_cuda_queue_flush(struct stp_queue *queue);

/*
 * Returns the queue's stream on a device, creating it if necessary. Waits first for the queue's
 * work on other devices, so that the queue stays in order. The queue stays locked and the context
 * current until stp_cuda_queue_unlock(). Returns NULL, logged, with neither held.
 */
struct cuda_stream *stp_cuda_queue_lock(struct stp_queue *queue, struct cuda_device *device);
void stp_cuda_queue_unlock(struct stp_queue *queue);

/* Returns pinned room for nbytes of a source, or NULL. The context is current. */
char *stp_cuda_stream_room(struct cuda_stream *stream, size_t nbytes);

/* Waits for all work of the stream; the context is current. Returns 0, or -errno, logged. */
int stp_cuda_stream_wait(struct cuda_stream *stream);

#define CUDA_SMALL 4096 /* largest source that is copied aside instead of waited for, in bytes */

/*
 * Waits for the streams of all queues on a device and, with end, destroys them, because their
 * references keep the context alive. Takes the queues' locks.
 */
void stp_cuda_streams_drain(struct cuda_device *device, bool end);

/* Enqueues a copy, in pieces if its host memory belongs to several registrations. */
enum cuda_direction { CUDA_FROM_HOST, CUDA_TO_HOST, CUDA_ANY_WAY };
CUresult stp_cuda_issue(enum cuda_direction direction, CUdeviceptr dest, CUdeviceptr source,
                        size_t nbytes, CUstream stream);

int stp_cuda_copy(struct stp_queue *queue, void *dest, const void *source, size_t nbytes,
                  enum stp_copy_completion end);
int stp_cuda_copy_rows(struct stp_queue *queue, void *dest, const void *source,
                       const struct stp_strided_copy *rows, enum stp_copy_completion end);

/* Sets a word after the copies to near, in the stream of the device that holds near. */
int stp_cuda_set_word(struct stp_queue *queue, const void *near, void *word, uint64_t value);

/* ---- pin.c ----------------------------------------------------------------------- */

void stp_cuda_pin(void *host, size_t nbytes);
void stp_cuda_unpin(void *host, size_t nbytes);
void stp_cuda_pin_refresh(void);                    /* registers pins that lack a context */
void stp_cuda_pin_drop(struct cuda_device *device); /* unregisters the pins of a device */
/* Unregisters the pins of a device, unless it has spaces (gpu_kind.c). */
void stp_cuda_pin_drop_if_no_spaces(struct cuda_device *device);
void stp_cuda_flush_remote(void);
int stp_cuda_dmabuf(void *base, size_t nbytes, size_t *offset);

#endif /* STP_CUDA_H */
