/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of the GPU kind share: the driver as it was found, the devices, who holds their
 * contexts. Nothing outside spaces/cuda*.c includes this. Design: docs/design/cuda.md.
 */
#ifndef STP_CUDA_H
#define STP_CUDA_H

#include "cuda_api.h"
#include "spaces/cuda/pinned_host_and_kernel_gpu.h"
#include "spaces/space_registry.h"
#include "spaces/cuda/user_stream_enqueue.h"

#define CUDA_MAX_DEVICES STP_STREAM_DEVICES
#define CUDA_TEXT 192                     /* room for a reason */
#define CUDA_BASE_ALIGN ((size_t)2 << 20) /* of memory that is allocated here: a page of devices */

/* One GPU that this PE sees. Its index in stp_cuda.devices is the driver's ordinal. */
struct cuda_device {
    CUdevice handle;
    int ordinal;
    int numa;     /* node it hangs on, -1: unknown */
    bool flushes; /* what adapters wrote must and can be flushed from the host */
    char name[96];
    char bus[16]; /* as sysfs spells it: 0000:17:00.0 */
    CUuuid uuid;
    size_t total;            /* bytes of memory */
    size_t max_pitch;        /* of rows that one call copies */
    char why_not[CUDA_TEXT]; /* it cannot be used; "": it can */

    /* Under stp_cuda.lock, but whoever holds a reference may read ctx. */
    CUcontext ctx; /* the primary one, NULL while nobody here needs it */
    int refs;      /* spaces, streams of queues, pinned memory */
    int n_spaces;
    bool lost; /* the driver gave it up; everything fails from then on */

    struct cuda_atomics *atomics; /* while kernels change words of its memory, see device_amo.c */
    struct cuda_reducer *reducer; /* from the first part of a peer on, see device_reduce.c */
};

/* Written by start and stop only, but what a device says otherwise. */
struct stp_cuda {
    struct stp_cuda_api api;
    void *library;       /* stays open: libcuda survives no dlclose */
    bool missing;        /* who looked before this start found none: why says so */
    bool up;             /* the driver answers and has devices that can be used */
    char why[CUDA_TEXT]; /* or why not */
    int n_devices;
    int near; /* the device that locality chose for this PE */
    struct cuda_device devices[CUDA_MAX_DEVICES];
    pthread_mutex_t lock; /* taken last: nothing else is taken while it is held */
};

extern struct stp_cuda stp_cuda;

/* An address as the driver takes it. */
static inline CUdeviceptr stp_cuda_address(const void *ptr)
{
    return (CUdeviceptr)(uintptr_t)ptr;
}

/* ---- driver_and_contexts.c: finding the driver and the devices ------------------------------- */

bool stp_cuda_probe_library(void); /* the rows of the kind's table, see there */
void stp_cuda_set_driver_not_found(int leader);
void stp_cuda_start(void);
void stp_cuda_stop(void);

/* What the driver calls an error: "CUDA_ERROR_NO_DEVICE (100): no CUDA-capable ...". */
const char *stp_cuda_text(CUresult result, char *text, size_t len);

/*
 * 0 when result is CUDA_SUCCESS; else logs the driver's words about the call and returns -ENOMEM
 * or -EIO. An error that ends the context is logged once: the device is lost then.
 */
int stp_cuda_check(struct cuda_device *device, CUresult result, const char *call);

/* The same where nothing can be done about it and nobody waits for it: a line for debugging. */
void stp_cuda_tell(CUresult result, const char *call);

/* Returns an attribute of a device, 0 when the driver does not know it. */
int stp_cuda_attribute(const struct cuda_device *device, CUdevice_attribute attribute);

/* ---- driver_and_contexts.c: contexts --------------------------------------------------------- */

/* Hold the device's primary context. 0 or -errno, logged. Undo. */
int stp_cuda_context_ref(struct cuda_device *device);
void stp_cuda_context_unref(struct cuda_device *device);

/*
 * Make it the current context of this thread, on top of whatever the program has there; needs a
 * reference. 0 or -errno, logged; leave after success alone.
 */
int stp_cuda_enter(struct cuda_device *device);
void stp_cuda_leave(void);

/*
 * Both for a time: what is made in a context is gone with its last reference. visit_if_up: when
 * somebody here holds the context already; false, and nothing to end, when nobody does.
 */
int stp_cuda_retain_and_enter(struct cuda_device *device);
bool stp_cuda_retain_and_enter_if_up(struct cuda_device *device);
void stp_cuda_leave_and_release(struct cuda_device *device);

/* ---- device_select.c -------------------------------------------------------------------- */

/*
 * By sysfs: a device's NUMA node, its distance from CPUs, -1: unknown, and the device nearest to
 * those of this PE.
 */
int stp_cuda_numa(const struct cuda_device *device);
int stp_cuda_distance(const struct cuda_device *device, const struct stp_numbers *own);
int stp_cuda_nearest(void);

/*
 * The device for the parameters. 0; -ENODEV: this PE has none; -EINVAL: the parameters are wrong.
 * The text tells which one, or why none.
 */
int stp_cuda_choose(const struct stp_space_params *params, struct cuda_device **device, char *text,
                    size_t len);

bool stp_cuda_describe(int i, char *text, size_t len);

/* ---- device_info.c ---------------------------------------------------------------------- */

int stp_cuda_count_devices(int i, struct stp_device *device); /* the row of the kind's table */

/* ---- pointer_attr.c ---------------------------------------------------------------------- */

/* What an address is. */
struct cuda_location {
    struct cuda_device *device; /* whose context reaches it, NULL: host memory */
    bool peer;                  /* opened memory of another PE: reached by that context alone */
};

struct cuda_location stp_cuda_location(const void *ptr);
bool stp_cuda_is_device_ptr(const void *ptr);

/* As allocation of the kind: of cuMemAlloc alone, which adapters may have whole. */
bool stp_cuda_find_registrable(const void *ptr, struct stp_allocation *allocation);

/* Remember and forget memory of a space, so that the driver need not be asked. */
void stp_cuda_range_add(const void *base, size_t nbytes, const struct cuda_device *device,
                        bool peer);
void stp_cuda_range_remove(const void *base);

void stp_cuda_find_brk_start(void);

/* ---- sync_memops.c ---------------------------------------------------------------------- */

/*
 * Makes copies to and from memory of a space synchronous, where they say that they are, or, with on
 * 0, no longer; the context is current. sync_memops_set: of memory of the program's; the value that
 * it returns is for sync_memops_restore, 0: there is nothing to restore.
 */
void stp_cuda_set_sync_memops(const void *base, unsigned on);
unsigned long long stp_cuda_sync_memops_set(const void *base);
void stp_cuda_sync_memops_restore(const void *base, unsigned long long id);

/* ---- peer.c ---------------------------------------------------------------------- */

/* The part of a member of this node; written when the space is made and when it ends. */
struct cuda_peer {
    CUuuid uuid;   /* the device of the part */
    char *there;   /* the address of the part in this process; NULL: its owner copies */
    char *mapping; /* the allocation that was opened by an IPC handle; NULL: none */
};

/* space->own */
struct cuda_part {
    struct cuda_device *device;
    CUdeviceptr allocated; /* the allocation to free; 0: memory of the program */
    unsigned long long
        memops; /* of memory of the program: what goes back to sync_memops.c; 0: nothing */
    int n_peers;
    struct cuda_peer peers[]; /* by local index */
};

/* Fill in what the node needs to open this PE's part; the context is current. */
void stp_cuda_peer_export(const struct stp_space *space, struct stp_part_export *share);
int stp_cuda_peer_attach(struct stp_space *space, int local, const struct stp_part_export *share);
void *stp_cuda_peer_reach(struct stp_space *space, int local);
void stp_cuda_peer_detach(struct stp_space *space);

/* ---- device_amo.c -------------------------------------------------------------------- */

/* The row of the kind's table. All here: one caller at a time. */
int stp_cuda_word(struct stp_space *space, size_t offset, const struct stp_word_op *op,
                  uint64_t *old);

void stp_cuda_device_amo_stop(void); /* at finalize */

/* ---- device_reduce.c -------------------------------------------------------------------- */

/* The row of the kind's table. */
int stp_cuda_reduce(struct stp_queue *queue, const struct stp_reduction *reduction);

/*
 * Make what reductions on a device take; a reduction does that else. End: when the device has no
 * spaces any more.
 */
void stp_cuda_reduce_prepare(struct cuda_device *device);
void stp_cuda_reduce_unload(struct cuda_device *device);

/* ---- device_copy.c, queue.c -------------------------------------------------------- */

/* A queue's work on one device. */
struct cuda_stream {
    struct cuda_stream *next;
    struct cuda_device *device;
    CUstream handle;
    char *arena; /* pinned: sources that had to be copied aside; NULL until needed */
    size_t used; /* bytes of it, free again once the stream was waited for */
    bool dirty;  /* something may be under way */
};

struct stp_queue {
    pthread_mutex_t lock;        /* contexts may be shared by threads */
    struct cuda_stream *streams; /* one a device, made at first use or before */
    bool dirty;                  /* any stream is */
    struct stp_queue *next;
};

/*
 * Gives all queues what they need on a device that has a space; a queue that is made later gets it
 * when it is made.
 */
void stp_cuda_streams_prepare(struct cuda_device *device);

/* GPU spaces. */
bool stp_cuda_has_spaces(const struct cuda_device *device);

int stp_cuda_queue_create(struct stp_queue **queue);
void stp_cuda_queue_destroy(struct stp_queue *queue);
int stp_cuda_queue_flush(struct stp_queue *queue);

/*
 * The stream of a device, made if need be; work on other devices is done before, so that the queue
 * stays in order. The queue is locked and the context current until it is closed. NULL: neither,
 * logged.
 */
struct cuda_stream *stp_cuda_queue_lock(struct stp_queue *queue, struct cuda_device *device);
void stp_cuda_queue_unlock(struct stp_queue *queue);

/* Room for nbytes of a source, NULL when there is no pinned memory. The context is current. */
char *stp_cuda_stream_room(struct cuda_stream *stream, size_t nbytes);

/* Wait for all that is under way; the context is current. 0 or -errno, logged. */
int stp_cuda_stream_wait(struct cuda_stream *stream);

#define CUDA_SMALL 4096 /* up to so many bytes a source is copied aside instead of waited for */

/*
 * Wait for the streams of all queues on a device, and end them if asked to: their references keep
 * its context. Takes the queues' locks.
 */
void stp_cuda_streams_drain(struct cuda_device *device, bool end);

/* A copy at the end of a stream, in pieces where host memory is of several registrations. */
enum cuda_direction { CUDA_FROM_HOST, CUDA_TO_HOST, CUDA_ANY_WAY };
CUresult stp_cuda_issue(enum cuda_direction direction, CUdeviceptr dest, CUdeviceptr source,
                        size_t nbytes, CUstream stream);

int stp_cuda_copy(struct stp_queue *queue, void *dest, const void *source, size_t nbytes,
                  enum stp_copy_completion end);
int stp_cuda_copy_rows(struct stp_queue *queue, void *dest, const void *source,
                       const struct stp_strided_copy *rows, enum stp_copy_completion end);

/* The stream of the device that near is on, which copied to it, sets the word. */
int stp_cuda_set_word(struct stp_queue *queue, const void *near, void *word, uint64_t value);

/* ---- pin.c ----------------------------------------------------------------------- */

void stp_cuda_pin(void *host, size_t nbytes);
void stp_cuda_unpin(void *host, size_t nbytes);
void stp_cuda_pin_refresh(void); /* a context came up: register what waits for one */
void stp_cuda_pin_drop(struct cuda_device *device); /* its context shall go */
void stp_cuda_pin_drop_if_no_spaces(
    struct cuda_device *device); /* unless it has spaces (gpu_kind.c) */
void stp_cuda_flush_remote(void);
int stp_cuda_dmabuf(void *base, size_t nbytes, size_t *offset);

#endif /* STP_CUDA_H */
