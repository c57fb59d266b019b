/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Defines handles and rings for shmemx_device.h, and hides the differences between a GPU and
 * threads of the host. Programs include shmemx_device.h, not this header.
 */
#ifndef SHMEMX_DEVICE_MACHINE_H
#define SHMEMX_DEVICE_MACHINE_H

#include <stddef.h>
#include <stdint.h>

/* ---- contents of a handle -------------------------------------------------------------- */

#define SHMEMX_DEVICE_VERSION 1

/* A space in the handle's table, as the device accesses it. */
struct stp_dev_space {
    uint64_t base;   /* address of this PE's part */
    uint64_t nbytes; /* size of a part, including memory that growth may add */
    /*
     * Address of an array. An entry is the address of a team PE's part, or 0 if kernels must use
     * the ring.
     */
    uint64_t parts;
    uint64_t atomic; /* address of an array with the SHMEMX_DEV_BY_... allowed on each part */
};

/*
 * Accesses that kernels may make to a PE's part. Each value includes the values before. COPY: loads
 * and stores. STORE: stores of words, which are atomic with atomics of other PEs. ATOMIC: atomics
 * of the kernel itself.
 */
enum { SHMEMX_DEV_BY_COPY, SHMEMX_DEV_BY_STORE, SHMEMX_DEV_BY_ATOMIC };

/* Operations of a request, with the fields of struct stp_dev_request that they use. */
enum {
    SHMEMX_DEV_NOTHING,
    SHMEMX_DEV_PUT,   /* copy nbytes from the address in local */
    SHMEMX_DEV_STORE, /* store nbytes (up to 8) of value */
    SHMEMX_DEV_GET,   /* copy nbytes to the address in local */
    SHMEMX_DEV_LOAD,  /* load nbytes (up to 8) into the result */
    /*
     * Copy nbytes from the address in local, then update the signal by value. variant is the
     * sig_op.
     */
    SHMEMX_DEV_PUT_SIGNAL,
    /*
     * Perform the atomic in variant on 4 or 8 bytes, with value and compare. The result is the old
     * value.
     */
    SHMEMX_DEV_ATOMIC,
    SHMEMX_DEV_QUIET,
    SHMEMX_DEV_BAD_COMPARISON, /* end the job, because variant is not a comparison */
    SHMEMX_DEV_N_OPS
};

/* Values of variant for an atomic. */
enum {
    SHMEMX_DEV_AMO_FETCH = 1,
    SHMEMX_DEV_AMO_SET,
    SHMEMX_DEV_AMO_SWAP,
    SHMEMX_DEV_AMO_CSWAP,
    SHMEMX_DEV_AMO_ADD,
    SHMEMX_DEV_AMO_AND,
    SHMEMX_DEV_AMO_OR,
    SHMEMX_DEV_AMO_XOR,
    SHMEMX_DEV_N_AMOS
};

/* The values of SHMEM_CMP_... and of SHMEM_SIGNAL_SET and SHMEM_SIGNAL_ADD in shmem.h. */
enum {
    SHMEMX_DEV_CMP_EQ = 1,
    SHMEMX_DEV_CMP_NE,
    SHMEMX_DEV_CMP_LT,
    SHMEMX_DEV_CMP_LE,
    SHMEMX_DEV_CMP_GT,
    SHMEMX_DEV_CMP_GE
};
enum { SHMEMX_DEV_SIGNAL_SET = 1, SHMEMX_DEV_SIGNAL_ADD };

/*
 * A request of a kernel to the host. space and signal_space are indices of the handle's table of
 * spaces. UINT32_MAX means that no space of the table has the object. The offset is then the
 * address of the object.
 */
struct stp_dev_request {
    uint32_t op, variant, space, signal_space;
    int32_t pe;
    uint32_t waits; /* nonzero if the kernel waits for the result and then frees the slot */
    uint64_t offset, signal_offset, local, nbytes, value, compare;
};

/*
 * A slot of a ring. Requests of a ring have numbers from 0, and request t uses slot t modulo
 * n_slots. The kernel may write the request when turn is t. The host serves the request when ready
 * is t + 1. The result is available when done is t + 1.
 */
struct stp_dev_slot {
    uint64_t turn, ready, done, result;
    struct stp_dev_request request;
    uint64_t pad[3];
};

struct stp_dev_ring {
    /* Number of requests that kernels have begun. The last ones may still wait for a slot. */
    uint64_t tickets;
    uint64_t pad[7];    /* the host writes the fields below */
    uint64_t completed; /* requests with lower numbers were completed by a quiet */
    uint64_t host_pad[7];
};

/* Symmetric memory of the barrier: one word for each step, and the number of barriers so far. */
enum { SHMEMX_DEV_STEPS = 32 };
struct stp_dev_sync {
    uint64_t words[SHMEMX_DEV_STEPS];
    uint64_t epoch;
};

/* The structure of the type shmemx_device_handle_t of shmemx.h. Programs do not use its fields. */
struct shmemx_device_handle {
    uint32_t version; /* SHMEMX_DEVICE_VERSION */
    uint32_t nbytes;  /* size of this structure */
    int32_t my_pe, n_pes;
    uint32_t n_spaces, n_rings, n_slots; /* n_slots: slots of a ring */
    struct stp_dev_space *spaces;
    struct stp_dev_ring *rings;
    struct stp_dev_slot *slots;
    struct stp_dev_sync *sync;
    void *owner; /* record of the handle on the host */
};

#ifndef SHMEMX_DEVICE_HANDLE_T
#define SHMEMX_DEVICE_HANDLE_T
typedef struct shmemx_device_handle shmemx_device_handle_t;
#endif

/* ---- the machine ------------------------------------------------------------------------ */

#if defined(__CUDACC__) || defined(__CUDA__)
#define SHMEMX_DEV_ON_GPU 1
#else
#define SHMEMX_DEV_ON_GPU 0
#endif

#if SHMEMX_DEV_ON_GPU

#define SHMEMX_DEV static inline __attribute__((device, unused))
#define SHMEMX_DEV_COLD static __attribute__((device, unused, noinline))
#define SHMEMX_DEV_AT(address, nbytes) (address)
#define SHMEMX_DEV_ATOMIC_AT(address) (void)0

#define SHMEMX_DEV_WORDS(bits)                                                                     \
    SHMEMX_DEV uint##bits##_t stp_dev_load##bits(const void *word)                                 \
    {                                                                                              \
        uint##bits##_t value;                                                                      \
        asm volatile("ld.acquire.sys.u" #bits " %0, [%1];"                                         \
                     : SHMEMX_DEV_OUT##bits(value)                                                 \
                     : "l"(word)                                                                   \
                     : "memory");                                                                  \
        return value;                                                                              \
    }                                                                                              \
    SHMEMX_DEV void stp_dev_store##bits(void *word, uint##bits##_t value)                          \
    {                                                                                              \
        asm volatile("st.release.sys.u" #bits " [%0], %1;"                                         \
                     :                                                                             \
                     : "l"(word), SHMEMX_DEV_IN##bits(value)                                       \
                     : "memory");                                                                  \
    }                                                                                              \
    SHMEMX_DEV_FETCH(bits, add, "add.u")                                                           \
    SHMEMX_DEV_FETCH(bits, exch, "exch.b")                                                         \
    SHMEMX_DEV_FETCH(bits, and, "and.b")                                                           \
    SHMEMX_DEV_FETCH(bits, or, "or.b")                                                             \
    SHMEMX_DEV_FETCH(bits, xor, "xor.b")                                                           \
    SHMEMX_DEV uint##bits##_t stp_dev_cas##bits(void *word, uint##bits##_t compare,                \
                                                uint##bits##_t value)                              \
    {                                                                                              \
        uint##bits##_t old;                                                                        \
        asm volatile("atom.relaxed.sys.cas.b" #bits " %0, [%1], %2, %3;"                           \
                     : SHMEMX_DEV_OUT##bits(old)                                                   \
                     : "l"(word), SHMEMX_DEV_IN##bits(compare), SHMEMX_DEV_IN##bits(value)         \
                     : "memory");                                                                  \
        return old;                                                                                \
    }
#define SHMEMX_DEV_FETCH(bits, name, ptx)                                                          \
    SHMEMX_DEV uint##bits##_t stp_dev_##name##bits(void *word, uint##bits##_t value)               \
    {                                                                                              \
        uint##bits##_t old;                                                                        \
        asm volatile("atom.relaxed.sys." ptx #bits " %0, [%1], %2;"                                \
                     : SHMEMX_DEV_OUT##bits(old)                                                   \
                     : "l"(word), SHMEMX_DEV_IN##bits(value)                                       \
                     : "memory");                                                                  \
        return old;                                                                                \
    }
#define SHMEMX_DEV_IN32(value) "r"(value)
#define SHMEMX_DEV_IN64(value) "l"(value)
#define SHMEMX_DEV_OUT32(value) "=r"(value)
#define SHMEMX_DEV_OUT64(value) "=l"(value)
SHMEMX_DEV_WORDS(32)
SHMEMX_DEV_WORDS(64)

SHMEMX_DEV void stp_dev_fence_system(void)
{
    asm volatile("fence.sc.sys;" : : : "memory");
}

SHMEMX_DEV void stp_dev_pause(void)
{
    asm volatile("nanosleep.u32 100;" : : : "memory");
}

#define SHMEMX_DEV_REGISTER(name, ptx)                                                             \
    SHMEMX_DEV uint32_t stp_dev_##name(void)                                                       \
    {                                                                                              \
        uint32_t value;                                                                            \
        asm volatile("mov.u32 %0, %%" ptx ";" : "=r"(value));                                      \
        return value;                                                                              \
    }
SHMEMX_DEV_REGISTER(tid_x, "tid.x")
SHMEMX_DEV_REGISTER(tid_y, "tid.y")
SHMEMX_DEV_REGISTER(tid_z, "tid.z")
SHMEMX_DEV_REGISTER(ntid_x, "ntid.x")
SHMEMX_DEV_REGISTER(ntid_y, "ntid.y")
SHMEMX_DEV_REGISTER(ntid_z, "ntid.z")
SHMEMX_DEV_REGISTER(ctaid_x, "ctaid.x")
SHMEMX_DEV_REGISTER(ctaid_y, "ctaid.y")
SHMEMX_DEV_REGISTER(ctaid_z, "ctaid.z")
SHMEMX_DEV_REGISTER(nctaid_x, "nctaid.x")
SHMEMX_DEV_REGISTER(nctaid_y, "nctaid.y")
SHMEMX_DEV_REGISTER(laneid, "laneid")

SHMEMX_DEV uint32_t stp_dev_block_number(void)
{
    return (stp_dev_ctaid_z() * stp_dev_nctaid_y() + stp_dev_ctaid_y()) * stp_dev_nctaid_x() +
           stp_dev_ctaid_x();
}

/*
 * Returns this thread's number in its group. The group is the thread itself (0), its warp of 32
 * threads (1) or its block (2).
 */
SHMEMX_DEV uint32_t stp_dev_lane(int group)
{
    if (group == 0) return 0;
    if (group == 1) return stp_dev_laneid();
    return (stp_dev_tid_z() * stp_dev_ntid_y() + stp_dev_tid_y()) * stp_dev_ntid_x() +
           stp_dev_tid_x();
}

/* Returns the number of threads in this thread's group. */
SHMEMX_DEV uint32_t stp_dev_lanes(int group)
{
    if (group == 0) return 1;
    if (group == 1) return 32;
    return stp_dev_ntid_x() * stp_dev_ntid_y() * stp_dev_ntid_z();
}

SHMEMX_DEV void stp_dev_meet(int group)
{
    if (group == 1) asm volatile("bar.warp.sync 0xffffffff;" : : : "memory");
    if (group == 2) asm volatile("bar.sync 0;" : : : "memory");
}

#else /* C: threads of the host */

#include <pthread.h>
#include <sched.h>

#define SHMEMX_DEV static inline __attribute__((unused))
#define SHMEMX_DEV_COLD static __attribute__((unused, noinline))

/*
 * A stand-in for a device, for tests, may define these two macros before it includes this header.
 * SHMEMX_DEV_AT gives the host address of nbytes at an address of the device. SHMEMX_DEV_ATOMIC_AT
 * is called before an atomic changes a word.
 */
#ifndef SHMEMX_DEV_AT
#define SHMEMX_DEV_AT(address, nbytes) (address)
#endif
#ifndef SHMEMX_DEV_ATOMIC_AT
#define SHMEMX_DEV_ATOMIC_AT(address) (void)0
#endif
#define SHMEMX_DEV_WORD(word, bits) ((uint##bits##_t *)SHMEMX_DEV_AT(word, bits / 8))

#define SHMEMX_DEV_WORDS(bits)                                                                     \
    SHMEMX_DEV uint##bits##_t stp_dev_load##bits(const void *word)                                 \
    {                                                                                              \
        return __atomic_load_n((const uint##bits##_t *)SHMEMX_DEV_AT(word, bits / 8),              \
                               __ATOMIC_ACQUIRE);                                                  \
    }                                                                                              \
    SHMEMX_DEV void stp_dev_store##bits(void *word, uint##bits##_t value)                          \
    {                                                                                              \
        __atomic_store_n(SHMEMX_DEV_WORD(word, bits), value, __ATOMIC_RELEASE);                    \
    }                                                                                              \
    SHMEMX_DEV_FETCH(bits, add, __atomic_fetch_add)                                                \
    SHMEMX_DEV_FETCH(bits, exch, __atomic_exchange_n)                                              \
    SHMEMX_DEV_FETCH(bits, and, __atomic_fetch_and)                                                \
    SHMEMX_DEV_FETCH(bits, or, __atomic_fetch_or)                                                  \
    SHMEMX_DEV_FETCH(bits, xor, __atomic_fetch_xor)                                                \
    SHMEMX_DEV uint##bits##_t stp_dev_cas##bits(void *word, uint##bits##_t compare,                \
                                                uint##bits##_t value)                              \
    {                                                                                              \
        __atomic_compare_exchange_n(SHMEMX_DEV_WORD(word, bits), &compare, value, 0,               \
                                    __ATOMIC_RELAXED, __ATOMIC_RELAXED);                           \
        return compare;                                                                            \
    }
#define SHMEMX_DEV_FETCH(bits, name, function)                                                     \
    SHMEMX_DEV uint##bits##_t stp_dev_##name##bits(void *word, uint##bits##_t value)               \
    {                                                                                              \
        return function(SHMEMX_DEV_WORD(word, bits), value, __ATOMIC_RELAXED);                     \
    }
SHMEMX_DEV_WORDS(32)
SHMEMX_DEV_WORDS(64)

SHMEMX_DEV void stp_dev_fence_system(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

SHMEMX_DEV void stp_dev_pause(void)
{
    sched_yield();
}

SHMEMX_DEV uint32_t stp_dev_block_number(void)
{
    return (uint32_t)((uintptr_t)pthread_self() >> 12);
}

SHMEMX_DEV uint32_t stp_dev_lane(int group)
{
    (void)group;
    return 0;
}

SHMEMX_DEV uint32_t stp_dev_lanes(int group)
{
    (void)group;
    return 1;
}

SHMEMX_DEV void stp_dev_meet(int group)
{
    (void)group;
}

#endif

#endif /* SHMEMX_DEVICE_MACHINE_H */
