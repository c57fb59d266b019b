/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This header declares the state and the functions that the files in spaces/cuda share. Only these
 * files and the unit tests include this header. Design: docs/design/cuda.md.
 */
#ifndef STP_CUDA_H
#define STP_CUDA_H

#include "cuda_api.h"
#include "spaces/cuda/pinned_host_and_kernel_gpu.h"
#include "spaces/space_registry.h"
#include "spaces/cuda/user_stream_enqueue.h"

#define CUDA_MAX_DEVICES STP_STREAM_DEVICES
#define CUDA_TEXT 192                     /* size of a buffer for an error text, in bytes */
#define CUDA_BASE_ALIGN ((size_t)2 << 20) /* alignment of device memory, one page of 2 MiB */

/*
 * A GPU that this PE sees. The element stp_cuda.devices[i] is the GPU with the driver's ordinal i.
 */
struct cuda_device {
    CUdevice handle;
    int ordinal;
    int numa; /* NUMA node of the device, or -1 if unknown */
    /*
     * True if data that network adapters write to this GPU needs a flush by the host, and if the
     * host can do this flush.
     */
    bool flushes;
    char name[96];
    char bus[16]; /* PCI address in the format of sysfs, for example "0000:17:00.0" */
    CUuuid uuid;
    size_t total;     /* size of the device memory, in bytes */
    size_t max_pitch; /* largest row pitch of a 2D copy, in bytes */
    char unusable_reason
        [CUDA_TEXT]; /* reason why the device cannot be used, or "" if it can be used */

    /*
     * stp_cuda.lock guards the fields ctx, refs and n_spaces. A thread that holds a reference to
     * the context may read ctx without the lock.
     */
    CUcontext ctx; /* primary context, or NULL while refs is 0 */
    /* Number of references to ctx that spaces, streams, pinned memory and loaded kernels hold. */
    int refs;
    int n_spaces; /* number of GPU spaces for which this PE has a part on the device */
    /*
     * True if an error has made the context unusable. Later calls for this device fail with -EIO.
     * Threads access this field with atomic operations.
     */
    bool lost;

    /*
     * State of device_amo.c, or NULL while no device handle exists. The callers of device_amo.c
     * hold a lock that guards this field.
     */
    struct cuda_atomics *atomics;
    struct cuda_reducer *reducer; /* state of device_reduce.c, or NULL before its first use */
};

/*
 * State of the CUDA driver in this process. The fields change only when the library starts or
 * stops, unless a field's comment says otherwise.
 */
struct stp_cuda {
    struct stp_cuda_api api;
    /* Handle of libcuda. The library is never closed, because libcuda does not support dlclose. */
    void *library;
    /*
     * True if the driver library was not found, either by this PE or by the leader of its node. If
     * this field is true, stp_cuda_start() does not search for the library.
     */
    bool not_found;
    bool usable;            /* true if the driver works and has a usable device */
    char reason[CUDA_TEXT]; /* reason why the driver or all devices cannot be used */
    int n_devices;
    int nearest; /* ordinal of the nearest device, which this PE uses by default */
    struct cuda_device devices[CUDA_MAX_DEVICES];
    /* Last lock in the lock order. A thread that holds this lock takes no other lock. */
    pthread_mutex_t lock;
};

extern struct stp_cuda stp_cuda;

/* Converts a pointer to the driver's type for addresses. */
static inline CUdeviceptr stp_cuda_address(const void *ptr)
{
    return (CUdeviceptr)(uintptr_t)ptr;
}

/* ---- driver_and_contexts.c: finding the driver and the devices ------------------------------- */

/* Implements the operation probe_driver() of struct stp_device_ops. */
bool stp_cuda_probe_library(void);
/* Implements the operation mark_driver_missing() of struct stp_device_ops. */
void stp_cuda_set_driver_not_found(int leader);
/* Implements the operation start() of struct stp_device_ops. */
void stp_cuda_start(void);
/* Implements the operation stop() of struct stp_kind. */
void stp_cuda_stop(void);

/*
 * Formats an error code, for example as "CUDA_ERROR_NO_DEVICE (100): no CUDA-capable ...". Writes
 * the result to the buffer "text" of len bytes, and returns this buffer.
 */
const char *stp_cuda_text(CUresult result, char *text, size_t len);

/*
 * Checks the result of a driver call. Returns 0 for CUDA_SUCCESS. Otherwise logs the name of the
 * call and the driver's error text, and returns -ENOMEM or -EIO. If the error makes the context
 * unusable, also marks the device as lost. Such an error is logged only once.
 */
int stp_cuda_check(struct cuda_device *device, CUresult result, const char *call);

/*
 * Logs a debug message if the result is an error. Used for driver calls whose failure does no harm.
 */
void stp_cuda_log_failure(CUresult result, const char *call);

/* Returns the value of a device attribute, or 0 if the driver does not know the attribute. */
int stp_cuda_attribute(const struct cuda_device *device, CUdevice_attribute attribute);

/* ---- driver_and_contexts.c: contexts --------------------------------------------------------- */

/*
 * Takes a reference to the device's primary context. Creates the context if this is the first
 * reference. Returns 0, or -errno after logging an error.
 */
int stp_cuda_context_ref(struct cuda_device *device);

/*
 * Releases a reference to the device's primary context. The last release lets the driver destroy
 * the context and all objects in it.
 */
void stp_cuda_context_unref(struct cuda_device *device);

/*
 * Makes the device's context current in this thread, in place of the program's own context. The
 * caller holds a reference to the context. Returns 0, or -errno after logging an error.
 */
int stp_cuda_enter(struct cuda_device *device);

/* Undoes one successful stp_cuda_enter(), so that the program's own context is current again. */
void stp_cuda_leave(void);

/* Takes a reference to the context and makes it current. Returns 0, or -errno after logging. */
int stp_cuda_retain_and_enter(struct cuda_device *device);

/*
 * Takes a reference to the context and makes it current, but never creates the context. Returns
 * false if no reference to the context exists yet, or if the context cannot be made current. After
 * false, the caller has nothing to undo.
 */
bool stp_cuda_retain_and_enter_if_up(struct cuda_device *device);

/* Undoes a successful stp_cuda_retain_and_enter() or stp_cuda_retain_and_enter_if_up(). */
void stp_cuda_leave_and_release(struct cuda_device *device);

/* ---- device_select.c -------------------------------------------------------------------- */

/* Returns the NUMA node of a device, as sysfs reports it, or -1 if the node is unknown. */
int stp_cuda_numa(const struct cuda_device *device);

/*
 * Returns the distance of a device from the CPUs in *own, or -1 if the distance is unknown. Uses
 * data from sysfs.
 */
int stp_cuda_distance(const struct cuda_device *device, const struct stp_numbers *own_cpus);

/* Returns the ordinal of the usable device that is nearest to the CPUs of this PE. */
int stp_cuda_nearest(void);

/*
 * Sets *device to the device for a space with these parameters. Returns 0, or -EINVAL if the
 * parameters are wrong. Returns -ENODEV if this PE has no usable device or if SHMEM_GPU_DEVICE is
 * wrong. Writes the device's name, or the reason for the failure, to the buffer "text".
 */
int stp_cuda_choose(const struct stp_space_params *params, struct cuda_device **device, char *text,
                    size_t len);

bool stp_cuda_describe(int i, char *text, size_t len);

/* ---- device_info.c ---------------------------------------------------------------------- */

/* Implements the operation devices() of struct stp_kind. */
int stp_cuda_count_devices(int i, struct stp_device *device);

/* ---- pointer_attr.c ---------------------------------------------------------------------- */

/* Location of an address, as stp_cuda_location() returns it. */
struct cuda_location {
    /* Device in whose context the address is valid, or NULL for host memory. */
    struct cuda_device *device;
    /*
     * True if the address is in a part of another PE of this node. Such a part is mapped only in
     * the context of the device above.
     */
    bool peer;
};

struct cuda_location stp_cuda_location(const void *ptr);
bool stp_cuda_is_device_ptr(const void *ptr);

/*
 * Implements allocation() of struct stp_device_ops. Accepts only memory that cuMemAlloc() has
 * allocated.
 */
bool stp_cuda_find_registrable(const void *ptr, struct stp_allocation *allocation);

/*
 * Records an address range of a GPU space, and the device in whose context the range is mapped.
 * stp_cuda_location() then finds the range without a call of the driver.
 */
void stp_cuda_range_add(const void *base, size_t nbytes, const struct cuda_device *device,
                        bool peer);

/* Removes the recorded range that begins at base. */
void stp_cuda_range_remove(const void *base);

void stp_cuda_find_brk_start(void);

/* ---- sync_memops.c ---------------------------------------------------------------------- */

/*
 * Turns the driver's attribute SYNC_MEMOPS on or off for the allocation that holds base. While the
 * attribute is on, each synchronous copy by the program is complete when its call returns. The
 * caller has made the device's context current.
 */
void stp_cuda_set_sync_memops(const void *base, unsigned value);

/*
 * Turns SYNC_MEMOPS on for an allocation of the program. The caller has made the device's context
 * current. Returns an id for stp_cuda_sync_memops_restore(), or 0 if nothing has to be restored
 * later.
 */
unsigned long long stp_cuda_sync_memops_set(const void *base);

/*
 * Undoes one call of stp_cuda_sync_memops_set() that returned this id. The caller has made the
 * device's context current.
 */
void stp_cuda_sync_memops_restore(const void *base, unsigned long long id);

/* ---- peer.c ---------------------------------------------------------------------- */

/*
 * The part of a GPU space that belongs to one PE of this node. The fields change only when the
 * space is created or destroyed.
 */
struct cuda_peer {
    CUuuid uuid; /* UUID of the device that holds the part */
    /*
     * Address of the part in this process, or NULL if the part is not mapped here. If the part is
     * not mapped, the PE that owns it makes the copies for this PE.
     */
    char *base;
    /*
     * Address at which the peer's whole allocation is mapped with an IPC handle. NULL if no IPC
     * handle was used.
     */
    char *mapping;
};

/* This PE's part of a GPU space. The field kind_data of struct stp_space points to it. */
struct cuda_part {
    struct cuda_device *device;
    /* Allocation that the library must free, or 0 if the memory belongs to the program. */
    CUdeviceptr allocated;
    /* Id for stp_cuda_sync_memops_restore(), or 0 if there is nothing to restore. */
    unsigned long long memops;
    int n_peers; /* number of PEs of this node, including this PE */
    /* Parts of the PEs of the node. The index in this array is the local index of the PE. */
    struct cuda_peer peers[];
};

/*
 * Fills in *share with the data that the other PEs of the node need in order to map this PE's part.
 * The caller has made the device's context current.
 */
void stp_cuda_peer_export(const struct stp_space *space, struct stp_part_export *share);
int stp_cuda_peer_attach(struct stp_space *space, int local, const struct stp_part_export *share);
void *stp_cuda_peer_reach(struct stp_space *space, int local);
void stp_cuda_peer_detach(struct stp_space *space);

/* ---- device_amo.c -------------------------------------------------------------------- */

/* Implements atomic() of struct stp_device_ops. The caller serializes the calls. */
int stp_cuda_word(struct stp_space *space, size_t offset, const struct stp_word_op *op,
                  uint64_t *old);

void stp_cuda_device_amo_stop(void); /* called at finalize */

/* ---- device_reduce.c -------------------------------------------------------------------- */

/* Implements the operation reduce() of struct stp_device_ops. */
int stp_cuda_reduce(struct stp_queue *queue, const struct stp_reduction *reduction);

/*
 * Loads the device's reduction kernel in advance. Without this call, the first reduction loads the
 * kernel.
 */
void stp_cuda_reduce_prepare(struct cuda_device *device);

/*
 * Unloads the device's reduction kernel. Called after the last space on the device was destroyed.
 */
void stp_cuda_reduce_unload(struct cuda_device *device);

/* ---- device_copy.c, queue.c -------------------------------------------------------- */

/* The CUDA stream that a queue uses for its copies on one device. */
struct cuda_stream {
    struct cuda_stream *next;
    struct cuda_device *device;
    CUstream handle;
    char *arena; /* pinned buffer for copies of small sources, or NULL until it is needed */
    /* Number of bytes of the arena that are in use. stp_cuda_stream_wait() sets this field to 0. */
    size_t used;
    bool dirty; /* true if copies of the stream may still be in progress */
};

struct stp_queue {
    /* Guards the streams, because several threads may use the same OpenSHMEM context. */
    pthread_mutex_t lock;
    struct cuda_stream *streams; /* list with at most one stream for each device */
    bool dirty;                  /* true if any stream of the list is dirty */
    struct stp_queue *next;
};

/*
 * Creates the stream and the arena on this device for every existing queue. Called when a space on
 * the device is created. A queue that is created later gets its streams and arenas immediately.
 */
void stp_cuda_streams_prepare(struct cuda_device *device);

/* Returns whether this PE has a part of any GPU space on the device. */
bool stp_cuda_has_spaces(const struct cuda_device *device);

int stp_cuda_queue_create(struct stp_queue **queue);
void stp_cuda_queue_destroy(struct stp_queue *queue);
int stp_cuda_queue_flush(struct stp_queue *queue);

/*
 * Locks the queue and makes the device's context current. Returns the queue's stream on this
 * device, and creates the stream if it does not exist. First waits for the queue's work on other
 * devices, so that the copies of the queue stay in order. On failure, logs an error, unlocks the
 * queue and returns NULL.
 */
struct cuda_stream *stp_cuda_queue_lock(struct stp_queue *queue, struct cuda_device *device);

/* Undoes a successful stp_cuda_queue_lock(). */
void stp_cuda_queue_unlock(struct stp_queue *queue);

/*
 * Reserves nbytes bytes in the stream's arena and returns their address. The caller then copies a
 * small source to this address. Returns NULL on failure. The caller has made the device's context
 * current.
 */
char *stp_cuda_stream_room(struct cuda_stream *stream, size_t nbytes);

/*
 * Waits for all work of the stream. The caller has made the device's context current. Returns 0, or
 * -errno after logging an error.
 */
int stp_cuda_stream_wait(struct cuda_stream *stream);

/*
 * Maximum size of a small source, in bytes. A small source in host memory is copied to the arena.
 * The caller then need not wait for the copy to the destination.
 */
#define CUDA_SMALL 4096

/*
 * Waits for the work of all queues on this device. If destroy is true, also destroys the queues'
 * streams on this device. The context can then end, because each of these streams holds a
 * reference to the context. Takes the locks of the queues.
 */
void stp_cuda_streams_drain(struct cuda_device *device, bool destroy);

/*
 * Enqueues a copy on a CUDA stream. Splits the copy into pieces if its host memory was registered
 * with the driver in several ranges.
 */
enum cuda_direction { CUDA_FROM_HOST, CUDA_TO_HOST, CUDA_ANY_WAY };
CUresult stp_cuda_issue(enum cuda_direction direction, CUdeviceptr dest, CUdeviceptr source,
                        size_t nbytes, CUstream stream);

int stp_cuda_copy(struct stp_queue *queue, void *dest, const void *source, size_t nbytes,
                  enum stp_copy_completion end);
int stp_cuda_copy_rows(struct stp_queue *queue, void *dest, const void *source,
                       const struct stp_strided_copy *rows, enum stp_copy_completion end);

/*
 * Implements set_word() of struct stp_device_ops. The argument device_ptr is an address in the
 * memory of a device. The queue's stream on this device stores the value in the word, after all
 * earlier copies of the stream.
 */
int stp_cuda_set_word(struct stp_queue *queue, const void *device_ptr, void *word, uint64_t value);

/* ---- pin.c ----------------------------------------------------------------------- */

void stp_cuda_pin(void *host, size_t nbytes);
void stp_cuda_unpin(void *host, size_t nbytes);
/* Registers the memory that stp_cuda_pin() could not register because no context existed. */
void stp_cuda_pin_refresh(void);
/* Unregisters the memory that was pinned in the device's context. */
void stp_cuda_pin_drop(struct cuda_device *device);
/*
 * Does the same as stp_cuda_pin_drop(), but only if the device has no spaces. Defined in
 * gpu_kind.c.
 */
void stp_cuda_pin_drop_if_no_spaces(struct cuda_device *device);
void stp_cuda_flush_remote(void);
int stp_cuda_dmabuf(void *base, size_t nbytes, size_t *offset);

#endif /* STP_CUDA_H */
