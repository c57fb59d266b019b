/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Internal header of the fake CUDA driver, a test double on host memory. Programs that load
 * libcuda.so.1 get it instead of the real driver. A test that passes with it says nothing about a
 * GPU. See README.md.
 */
#ifndef STP_FAKECUDA_FAKE_H
#define STP_FAKECUDA_FAKE_H

#include "more.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#define FAKE_EXPORT __attribute__((visibility("default")))
#define FAKE_MAX_DEVICES 16
#define FAKE_ALIGN 512 /* of every device allocation, as the real driver gives */

/* Each definition is checked against the list of the API. */
#define FAKE_DECLARE(member, symbol, required, arguments) FAKE_EXPORT CUresult symbol arguments;
STP_CUDA_FUNCTIONS(FAKE_DECLARE)
#undef FAKE_DECLARE
#define FAKE_DECLARE(member, symbol, arguments) FAKE_EXPORT CUresult symbol arguments;
FAKE_DRIVER_FUNCTIONS(FAKE_DECLARE)
#undef FAKE_DECLARE

enum fake_call {
#define FAKE_NUMBER(member, symbol, required, arguments) FAKE_##symbol,
    STP_CUDA_FUNCTIONS(FAKE_NUMBER)
#undef FAKE_NUMBER
#define FAKE_NUMBER(member, symbol, arguments) FAKE_##symbol,
        FAKE_DRIVER_FUNCTIONS(FAKE_NUMBER)
#undef FAKE_NUMBER
            FAKE_N_CALLS
};

enum fake_kind {
    FAKE_DEVICE,     /* cuMemAlloc */
    FAKE_IPC,        /* another process's, opened */
    FAKE_MANAGED,    /* cuMemAllocManaged */
    FAKE_HOST,       /* cuMemHostAlloc */
    FAKE_REGISTERED, /* cuMemHostRegister */
    FAKE_MAPPED,     /* cuMemMap */
    FAKE_N_KINDS
};

/* Memory that the driver knows. */
struct fake_block {
    struct fake_block *next;
    enum fake_kind kind;
    CUdeviceptr base; /* what the user has */
    size_t nbytes;    /* as asked for */
    char *alias;      /* the same bytes, for the driver alone; base itself where hosts may touch */
    CUcontext ctx;
    int device;                /* ordinal of the memory */
    unsigned long long number; /* no two have the same */
    unsigned int sync_memops;
    int n_pending;                          /* queued or running operations on it */
    struct fake_file *file;                 /* of FAKE_DEVICE and FAKE_IPC, else NULL */
    int opens;                              /* of FAKE_IPC: how often opened by ctx */
    struct fake_physical *physical;         /* of FAKE_MAPPED, which has no ctx */
    unsigned char access[FAKE_MAX_DEVICES]; /* of FAKE_MAPPED: CU_MEM_ACCESS_ of each device */
};

/* One end of a copy. */
struct fake_place {
    char *at;
    size_t pitch;
    struct fake_block *block; /* NULL: host memory unknown to the driver */
    CUdeviceptr end;          /* behind the block where mapped memory goes on */
};

/*
 * Work on a stream that is no copy; stands first in a structure with what it is about. ready: NULL,
 * or whether it may end its waiting; run: does it, without the lock, NULL for nothing, and returns
 * a fault of the device or CUDA_SUCCESS; end: NULL, or called afterwards, done or not, before the
 * structure is freed; pin: NULL, or counts the work in the blocks it touches.
 */
struct fake_work {
    bool (*ready_locked)(struct fake_work *work);
    CUresult (*run)(struct fake_work *work);
    void (*end_locked)(struct fake_work *work);
    void (*pin_locked)(struct fake_work *work, int by);
};

/* Work on a stream: height rows of width bytes, copied from source or, without one, set to byte. */
struct fake_op {
    struct fake_op *next;
    struct fake_place dest;
    struct fake_place source; /* at NULL: a memset */
    size_t width;
    size_t height;
    unsigned char byte;
    CUresult fault;         /* instead of being done, ends the context with this */
    uint64_t ticket;        /* order of submission */
    uint64_t not_before;    /* nanoseconds */
    void *staged;           /* freed afterwards */
    struct fake_work *work; /* instead of a copy */
};

/* Never freed, so that the use of a destroyed one is seen. Likewise contexts. */
struct CUstream_st {
    unsigned int magic;
    CUcontext ctx;
    bool blocking; /* ordered with the legacy default stream */
    bool closed;
    pthread_t thread; /* while it is running */
    bool running;     /* has its thread */
    struct fake_op *head;
    struct fake_op **tail;
    uint64_t n_submitted;
    uint64_t n_done;
    bool captured;
    CUstream next; /* in its context */
};

struct CUctx_st {
    unsigned int magic;
    int device;
    bool primary;
    bool alive;
    int refs;                  /* of a primary one */
    CUresult lost;             /* once a fault ended it: the answer to everything */
    struct CUstream_st legacy; /* the stream NULL, first of streams */
    CUcontext next;
};

/* Guarded by lock, except what cuInit alone writes. */
struct fake {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* some stream's head or end */
    pid_t pid;              /* that called cuInit, 0 before */
    int rank;               /* PMI_RANK */
    int n_devices;
    int physical[FAKE_MAX_DEVICES]; /* number on the machine, by ordinal */
    size_t memory;                  /* bytes of each device */
    size_t used[FAKE_MAX_DEVICES];
    bool p2p_atomics;       /* those on other devices are atomic to theirs */
    bool native_atomics;    /* atomics of devices on host memory are atomic to CPUs */
    bool reuses;            /* FAKECUDA_REUSE */
    CUdeviceptr host_shift; /* devices find registered host memory so much further on */
    long delay_us;          /* of asynchronous work; -1: random */
    CUcontext primary[FAKE_MAX_DEVICES];
    CUcontext contexts;
    struct fake_block *blocks;
    uint64_t ticket;
    long n_lost; /* things that ended with their context instead of being released */
};

extern struct fake fake;

/* ---- inject.c: entering and leaving a call, refusals on order ------------- */

/*
 * Begin a call: counts it, refuses it when the process was forked after cuInit, before cuInit, or
 * as FAKECUDA_FAIL says. On CUDA_SUCCESS the lock is held until fake_end().
 */
CUresult fake_begin(enum fake_call call);

/* The same for calls that need a current context, which is alive. */
CUresult fake_begin_ctx(enum fake_call call, CUcontext *ctx);

/* The same for work on a stream: an injected fault of the device comes back in *fault. */
CUresult fake_begin_async(enum fake_call call, CUcontext *ctx, CUresult *fault);

CUresult fake_end(CUresult result);

/* Around a function of the program that the driver runs: it may not call the driver. */
void fake_host_function(bool runs);

/* What a thread of ours does, for messages. */
void fake_running(const char *what);

/* Misuse: says so, with the running call, and aborts. */
__attribute__((noreturn, format(printf, 1, 2))) void fake_die(const char *fmt, ...);

const char *fake_env(const char *name); /* NULL when unset or empty */
uint64_t fake_random_locked(void);
uint64_t fake_now_ns(void);

/* ---- devices.c -------------------------------------------------------------- */

void fake_devices_configure(void);  /* once, from the environment */
int fake_device_find(int physical); /* its ordinal, -1 when not visible */
bool fake_device_valid(CUdevice device);

/* ---- context.c -------------------------------------------------------------- */

CUcontext fake_ctx_current(void); /* of this thread: alive, destroyed, or NULL */
int fake_ctx_depth(void);         /* of this thread's stack */
long fake_ctx_count_locked(void);

/* ---- memory.c --------------------------------------------------------------- */

/* The live block that holds address, or NULL. */
struct fake_block *fake_block_find_locked(CUdeviceptr address);

/*
 * The same of an address that devices use: host memory may have another one there, and then
 * *address becomes that of the host.
 */
struct fake_block *fake_block_of_device_locked(CUdeviceptr *address);

/* Dies when address lies in device memory that was freed or closed. */
void fake_block_check_stale_locked(CUdeviceptr address);

/* A block in the books of ctx, at base; the caller fills in the rest. */
struct fake_block *fake_block_add_locked(enum fake_kind kind, CUdeviceptr base, size_t nbytes,
                                         CUcontext ctx);

/* The mapped block that begins where this one ends, when a range goes on to end; or NULL. */
struct fake_block *fake_block_next_locked(const struct fake_block *block, CUdeviceptr end);

/* Take a block out of the books and give its memory back. Dies when work on it is pending. */
void fake_block_drop_locked(struct fake_block *block);

/* Dies when the current context's device was not given this access to memory that is mapped. */
void fake_block_check_access_locked(const struct fake_block *block, bool writes);

void fake_blocks_drop_of_locked(CUcontext ctx); /* those left count as lost */
long fake_block_count_locked(enum fake_kind kind);

/* ---- file.c: device memory, shared between processes ----------------------- */

struct fake_file;

/* What another process needs to open a file. */
struct fake_file_key {
    pid_t pid;
    int fd;
    uint64_t id;
    uint64_t nbytes;
};

struct fake_file *fake_file_create_locked(size_t nbytes);                 /* NULL: no memory */
struct fake_file *fake_file_open_locked(const struct fake_file_key *key); /* NULL: gone */
void fake_file_close_locked(struct fake_file *file);
void fake_file_leave(struct fake_file *file); /* no longer an importer; the rest stays */
struct fake_file_key fake_file_key(const struct fake_file *file);
CUdeviceptr fake_file_base(const struct fake_file *file); /* what hosts may not touch */
char *fake_file_alias(const struct fake_file *file);
uint64_t fake_file_id(const struct fake_file *file);
int fake_file_importer(const struct fake_file *file); /* a process that has it open, 0: none */
int fake_file_export(const struct fake_file *file, CUdeviceptr start, size_t nbytes); /* or -1 */
bool fake_file_range_has(CUdeviceptr address); /* where this process's device memory lies */

/* A range there that nobody may touch, at a multiple of alignment. NULL: none. */
void *fake_range_reserve_locked(size_t nbytes, size_t alignment);

/* ---- stream.c --------------------------------------------------------------- */

/* Without signals. False: it cannot be started. The caller joins or detaches it. */
bool fake_thread_start(pthread_t *thread, void *(*body)(void *), void *arg);

void fake_stream_init(CUstream stream, CUcontext ctx, bool blocking);

/* The stream of a handle, which belongs to ctx unless ctx is NULL. Dies for a destroyed one. */
CUresult fake_stream_of_locked(CUstream handle, CUcontext ctx, CUstream *stream);

/* Queue op, which is copied; its blocks stay pending until it is done. */
CUresult fake_stream_submit_locked(CUstream stream, const struct fake_op *op);

/* Queue work that is not a copy. It is freed when it is done, or at once if it is not queued. */
CUresult fake_work_submit_locked(CUstream stream, struct fake_work *work, CUresult fault);

/* Wait for what is queued so far: on one stream, on the blocking ones, on all of a context. */
void fake_stream_drain_locked(CUstream stream);
void fake_stream_drain_blocking_locked(CUcontext ctx);
void fake_stream_drain_all_locked(CUcontext ctx);
void fake_stream_drain_block_locked(const struct fake_block *block);

void fake_streams_close_of_locked(CUcontext ctx); /* those left count as lost */
long fake_stream_count_locked(void);

/* ---- copy.c ----------------------------------------------------------------- */

void fake_op_pin_locked(const struct fake_op *op, int by); /* count it in its blocks */
void fake_op_execute(const struct fake_op *op);

/* ---- kernel.c, twins.c, twins_handle.c -------------------------------------- */

long fake_module_count_locked(void);
fakecuda_twin fake_twin_builtin(const char *name); /* of the kernels in test/gpu, else NULL */
fakecuda_twin fake_twin_handle(const char *name);  /* of those in handle.cu */
fakecuda_twin fake_twin_reduce(const char *name);  /* of device_reduce.cu of the library */

/* ---- virtual.c -------------------------------------------------------------- */

void fake_physical_unmap_locked(struct fake_block *block); /* gives back the memory of a mapping */
long fake_physical_count_locked(void);
long fake_reservation_count_locked(void);

/* ---- for tests, found with dlsym() ------------------------------------------ */

/* The driver's own address of device memory: for a stand-in of a network card. NULL: none. */
FAKE_EXPORT void *fakecuda_alias(CUdeviceptr address);

/* May a device change the word by an atomic that is one to everybody else? For twins. */
FAKE_EXPORT bool fakecuda_atomic(const struct fakecuda_launch *launch, CUdeviceptr address);

/* Primary contexts of a device that are alive in this process. */
FAKE_EXPORT int fakecuda_contexts(int device);

/* How often a function was called by its symbol, refusals included; -1: there is no such symbol. */
FAKE_EXPORT long fakecuda_calls(const char *symbol);

/*
 * How many are alive: "alloc", "ipc", "managed", "host", "registered", "mapped", "stream", "ctx",
 * "module", "reservation", "physical" (handles and their memory); "stack":
 * contexts on the stack of the calling thread; "lost": those that ended with their context without
 * having been released. -1: no such thing.
 */
FAKE_EXPORT long fakecuda_live(const char *what);

/* Let twin do what kernels of this name do, in every module; NULL: no longer. */
FAKE_EXPORT void fakecuda_kernel(const char *name, fakecuda_twin twin);

#endif /* STP_FAKECUDA_FAKE_H */
