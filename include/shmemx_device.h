/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations that kernels begin themselves, without the host: shmemx_dev_*. The header needs no
 * headers of CUDA. It compiles with nvcc, with clang -x cuda (also with -nocudainc -nocudalib), and
 * as C. In C, threads of the host act as the blocks of a grid. A block, and a warp, then consists
 * of one thread.
 *
 * The host creates a handle by shmemx_device_handle_create() of shmemx.h, and passes it to kernels
 * by value. Kernels pass the address of the handle to these routines. PE numbers are those of the
 * handle's team. Kernels name a symmetric object by the address that shmemx_space_device_ptr()
 * returns for this PE. If it returns NULL, they use the address that the host uses.
 *
 * A routine loads and stores the memory of a PE directly if the handle reaches this memory.
 * Otherwise the routine puts a request into a ring. A host thread of this PE serves the ring. A
 * full ring makes the kernel wait.
 *
 * Order: a put consists of weak stores. fence and quiet are fences of system scope. They also wait
 * until the requests in the ring of the calling block are complete. A signal is a release of system
 * scope after its data. wait_until and test are acquires. Nothing else orders operations.
 *
 * Variants: all threads of a warp call the routines with _warp, and all threads of a block call
 * those with _block. They pass the same arguments and share the work. Atomics and waits use words
 * of 4 or 8 bytes.
 *
 * An address in no space, a PE number out of range or an unknown comparison ends the job with a
 * message of the host. The routines have not run on a GPU yet.
 */
#ifndef SHMEMX_DEVICE_H
#define SHMEMX_DEVICE_H

/* The functions below are also compiled as C, so they use the casts and the null pointer of C. */
#if defined(__cplusplus) && !defined(__CUDACC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wzero-as-null-pointer-constant"
#endif

#include <shmemx_device_machine.h>

/* ---- rings ------------------------------------------------------------------------------ */

SHMEMX_DEV struct stp_dev_request stp_dev_make_request(uint32_t op, int pe, uint64_t nbytes,
                                                       int waits)
{
    struct stp_dev_request request = {op, 0, 0, 0, pe, (uint32_t)waits, 0, 0, 0, nbytes, 0, 0};

    return request;
}

/*
 * Adds a request to this block's ring. If request->waits is set, waits for the result and returns
 * it. Otherwise returns 0 at once.
 */
SHMEMX_DEV_COLD uint64_t stp_dev_ask(const shmemx_device_handle_t *handle,
                                     const struct stp_dev_request *request)
{
    uint32_t number = stp_dev_block_number() % handle->n_rings;
    uint64_t ticket = stp_dev_add64(&handle->rings[number].tickets, 1), result;
    struct stp_dev_slot *slot =
        &handle->slots[(uint64_t)number * handle->n_slots + ticket % handle->n_slots];
    struct stp_dev_slot *there = SHMEMX_DEV_AT(slot, sizeof(*slot));

    while (stp_dev_load64(&slot->turn) != ticket)
        stp_dev_pause();
    there->request = *request;
    stp_dev_store64(&slot->ready, ticket + 1);
    if (!request->waits) return 0;
    while (stp_dev_load64(&slot->done) != ticket + 1)
        stp_dev_pause();
    result = there->result;
    stp_dev_store64(&slot->turn, ticket + handle->n_slots);
    return result;
}

/* ---- location of an object --------------------------------------------------------------- */

/*
 * Returns the index, in the handle's table, of the space that contains addr, and sets *offset to
 * the offset in the space. If no space of the table contains addr, returns UINT32_MAX and sets
 * *offset to addr.
 */
SHMEMX_DEV uint32_t stp_dev_find(const shmemx_device_handle_t *handle, const void *addr,
                                 uint64_t *offset)
{
    const struct stp_dev_space *spaces =
        SHMEMX_DEV_AT(handle->spaces, handle->n_spaces * sizeof(*spaces));

    for (uint32_t i = 0; i < handle->n_spaces; i++) {
        *offset = (uint64_t)(uintptr_t)addr - spaces[i].base;
        if (*offset < spaces[i].nbytes) return i;
    }
    *offset = (uint64_t)(uintptr_t)addr;
    return UINT32_MAX;
}

/* Returns entry i of a table of the handle. */
SHMEMX_DEV uint64_t stp_dev_entry(uint64_t table, int i)
{
    const uint64_t *entry = (const uint64_t *)(uintptr_t)table + i;

    return *SHMEMX_DEV_AT(entry, sizeof(*entry));
}

/*
 * Returns the address of nbytes in the part of PE pe, or 0 if the access has to go through the
 * ring. way is the kind of the access (SHMEMX_DEV_BY_...).
 */
SHMEMX_DEV char *stp_dev_reach(const shmemx_device_handle_t *handle, uint32_t space,
                               uint64_t offset, uint64_t nbytes, int pe, int way)
{
    const struct stp_dev_space *found = handle->spaces;
    uint64_t part;

    if (space == UINT32_MAX || (uint32_t)pe >= (uint32_t)handle->n_pes) return 0;
    found = SHMEMX_DEV_AT(found + space, sizeof(*found));
    if (nbytes > found->nbytes - offset) return 0;
    if (stp_dev_entry(found->atomic, pe) < (uint64_t)way) return 0;
    part = stp_dev_entry(found->parts, pe);
    return part == 0 ? 0 : (char *)(uintptr_t)(part + offset);
}

/* Returns this PE's number in the handle's team. */
SHMEMX_DEV int shmemx_dev_my_pe(const shmemx_device_handle_t *handle)
{
    return handle->my_pe;
}

/* Returns the number of PEs of the handle's team. */
SHMEMX_DEV int shmemx_dev_n_pes(const shmemx_device_handle_t *handle)
{
    return handle->n_pes;
}

/* Returns the address at which the caller loads and stores pe's copy of the object, or NULL. */
SHMEMX_DEV void *shmemx_dev_ptr(const shmemx_device_handle_t *handle, const void *addr, int pe)
{
    uint64_t offset;
    uint32_t space = stp_dev_find(handle, addr, &offset);

    return stp_dev_reach(handle, space, offset, 1, pe, SHMEMX_DEV_BY_COPY);
}

/* ---- order ------------------------------------------------------------------------------ */

/*
 * Completes the operations that this thread began, and those in the ring of its block. OpenSHMEM
 * 1.6, 9.12.2.
 */
SHMEMX_DEV void shmemx_dev_quiet(const shmemx_device_handle_t *handle)
{
    const struct stp_dev_ring *ring = &handle->rings[stp_dev_block_number() % handle->n_rings];
    struct stp_dev_request request = stp_dev_make_request(SHMEMX_DEV_QUIET, 0, 0, 1);

    stp_dev_fence_system();
    if (stp_dev_load64(&ring->completed) == stp_dev_load64(&ring->tickets)) return;
    (void)stp_dev_ask(handle, &request);
}

/*
 * Orders the operations that this thread began and those in the ring of its block. Waits for the
 * ring, because later loads and stores can overtake requests in the ring. OpenSHMEM 1.6, 9.12.1.
 */
SHMEMX_DEV void shmemx_dev_fence(const shmemx_device_handle_t *handle)
{
    shmemx_dev_quiet(handle);
}

/* ---- copies ------------------------------------------------------------------------------ */

/* Types of words that a thread copies by one load and one store. Words may alias any object. */
typedef uint32_t __attribute__((may_alias)) stp_dev_word4;
typedef uint64_t __attribute__((may_alias)) stp_dev_word8;
#if defined(__clang__) && !defined(__NVCC__)
typedef uint64_t __attribute__((may_alias, vector_size(16))) stp_dev_word16;
#else /* nvcc has no vectors on devices; it copies this structure with one instruction */
typedef struct {
    uint64_t low, high;
} __attribute__((may_alias, aligned(16))) stp_dev_word16;
#endif

/*
 * Copies whole words of a type. The first word begins at the offset in the variable "at", in both
 * source and dest. Lane i of a group copies words i, i + lanes, and so on. At the end, "at" is the
 * offset after the last word. The first loop does four loads before their four stores, because the
 * compiler may not move a load before a store.
 */
#define SHMEMX_DEV_COPY_WORDS(type)                                                                \
    do {                                                                                           \
        type *to = (type *)((char *)dest + at);                                                    \
        const type *from = (const type *)((const char *)source + at);                              \
        uint64_t n = (nbytes - at) / sizeof(type), i = lane;                                       \
        for (; i + 3 * (uint64_t)lanes < n; i += 4 * (uint64_t)lanes) {                            \
            type a = from[i], b = from[i + lanes];                                                 \
            type c = from[i + 2 * (uint64_t)lanes], d = from[i + 3 * (uint64_t)lanes];             \
            to[i] = a;                                                                             \
            to[i + lanes] = b;                                                                     \
            to[i + 2 * (uint64_t)lanes] = c;                                                       \
            to[i + 3 * (uint64_t)lanes] = d;                                                       \
        }                                                                                          \
        for (; i < n; i += lanes)                                                                  \
            to[i] = from[i];                                                                       \
        at += n * sizeof(type);                                                                    \
    } while (0)

/*
 * Copies the share of one lane. Uses words of 16, 8 or 4 bytes if both addresses are multiples of
 * this size, and copies the remaining bytes one by one.
 */
SHMEMX_DEV_COLD void stp_dev_copy_share(void *dest, const void *source, uint64_t nbytes,
                                        uint32_t lane, uint32_t lanes)
{
    uintptr_t bits = (uintptr_t)dest | (uintptr_t)source;
    uint64_t at = 0;

    if (bits % 16 == 0) SHMEMX_DEV_COPY_WORDS(stp_dev_word16);
    if (bits % 8 == 0) SHMEMX_DEV_COPY_WORDS(stp_dev_word8);
    if (bits % 4 == 0) SHMEMX_DEV_COPY_WORDS(stp_dev_word4);
    SHMEMX_DEV_COPY_WORDS(char);
}

/*
 * Copies this thread's share. A thread of the host copies all bytes, because it is alone in its
 * group.
 */
SHMEMX_DEV void stp_dev_copy(void *dest, const void *source, uint64_t nbytes, int group)
{
    if (SHMEMX_DEV_ON_GPU) {
        stp_dev_copy_share(dest, source, nbytes, stp_dev_lane(group), stp_dev_lanes(group));
    } else if (nbytes > 0) {
        __builtin_memcpy(SHMEMX_DEV_AT(dest, nbytes), SHMEMX_DEV_AT(source, nbytes), nbytes);
    }
}

SHMEMX_DEV void stp_dev_put_group(const shmemx_device_handle_t *handle, void *dest,
                                  const void *source, uint64_t nbytes, int pe, int nbi, int group)
{
    struct stp_dev_request request = stp_dev_make_request(SHMEMX_DEV_PUT, pe, nbytes, !nbi);
    char *there;

    request.space = stp_dev_find(handle, dest, &request.offset);
    there = stp_dev_reach(handle, request.space, request.offset, nbytes, pe, SHMEMX_DEV_BY_COPY);
    stp_dev_meet(group); /* wait for the stores to source by other threads of the group */
    if (there != 0) {
        stp_dev_copy(there, source, nbytes, group);
    } else if (stp_dev_lane(group) == 0) {
        request.local = (uint64_t)(uintptr_t)source;
        (void)stp_dev_ask(handle, &request);
    }
    stp_dev_meet(group);
}

SHMEMX_DEV void stp_dev_get_group(const shmemx_device_handle_t *handle, void *dest,
                                  const void *source, uint64_t nbytes, int pe, int nbi, int group)
{
    struct stp_dev_request request = stp_dev_make_request(SHMEMX_DEV_GET, pe, nbytes, !nbi);
    const char *there;

    request.space = stp_dev_find(handle, source, &request.offset);
    there = stp_dev_reach(handle, request.space, request.offset, nbytes, pe, SHMEMX_DEV_BY_COPY);
    stp_dev_meet(group);
    if (there != 0) {
        stp_dev_copy(dest, there, nbytes, group);
    } else if (stp_dev_lane(group) == 0) {
        request.local = (uint64_t)(uintptr_t)dest;
        (void)stp_dev_ask(handle, &request);
    }
    stp_dev_meet(group);
}

/* ---- atomics ------------------------------------------------------------------------------ */

SHMEMX_DEV uint64_t stp_dev_amo_here(char *word, uint32_t nbytes, uint32_t variant, uint64_t value,
                                     uint64_t compare)
{
    SHMEMX_DEV_ATOMIC_AT(word);
#define SHMEMX_DEV_AMO_HERE(bits)                                                                  \
    switch (variant) {                                                                             \
    case SHMEMX_DEV_AMO_FETCH:                                                                     \
        return stp_dev_or##bits(word, 0);                                                          \
    case SHMEMX_DEV_AMO_SET:                                                                       \
    case SHMEMX_DEV_AMO_SWAP:                                                                      \
        return stp_dev_exch##bits(word, (uint##bits##_t)value);                                    \
    case SHMEMX_DEV_AMO_CSWAP:                                                                     \
        return stp_dev_cas##bits(word, (uint##bits##_t)compare, (uint##bits##_t)value);            \
    case SHMEMX_DEV_AMO_ADD:                                                                       \
        return stp_dev_add##bits(word, (uint##bits##_t)value);                                     \
    case SHMEMX_DEV_AMO_AND:                                                                       \
        return stp_dev_and##bits(word, (uint##bits##_t)value);                                     \
    case SHMEMX_DEV_AMO_OR:                                                                        \
        return stp_dev_or##bits(word, (uint##bits##_t)value);                                      \
    default:                                                                                       \
        return stp_dev_xor##bits(word, (uint##bits##_t)value);                                     \
    }
    if (nbytes == 4) {
        SHMEMX_DEV_AMO_HERE(32)
    }
    SHMEMX_DEV_AMO_HERE(64)
#undef SHMEMX_DEV_AMO_HERE
}

SHMEMX_DEV uint64_t stp_dev_amo(const shmemx_device_handle_t *handle, const void *dest,
                                uint32_t nbytes, uint32_t variant, uint64_t value, uint64_t compare,
                                int fetches, int pe)
{
    struct stp_dev_request request = stp_dev_make_request(SHMEMX_DEV_ATOMIC, pe, nbytes, fetches);
    char *there;

    request.space = stp_dev_find(handle, dest, &request.offset);
    there = stp_dev_reach(handle, request.space, request.offset, nbytes, pe, SHMEMX_DEV_BY_ATOMIC);
    if (there != 0) return stp_dev_amo_here(there, nbytes, variant, value, compare);
    request.variant = variant;
    request.value = value;
    request.compare = compare;
    return stp_dev_ask(handle, &request);
}

/* ---- signals, 9.8 ---------------------------------------------------------------------- */

/* Sets the signal of PE pe, or adds to it, after all earlier stores of this thread's block. */
SHMEMX_DEV void shmemx_dev_signal_op(const shmemx_device_handle_t *handle, uint64_t *sig_addr,
                                     uint64_t signal, int sig_op, int pe)
{
    struct stp_dev_request request = stp_dev_make_request(SHMEMX_DEV_PUT_SIGNAL, pe, 0, 0);
    char *there;

    request.space = stp_dev_find(handle, sig_addr, &request.offset);
    there =
        stp_dev_reach(handle, request.space, request.offset, sizeof(*sig_addr), pe,
                      sig_op == SHMEMX_DEV_SIGNAL_SET ? SHMEMX_DEV_BY_STORE : SHMEMX_DEV_BY_ATOMIC);
    if (there != 0 && sig_op == SHMEMX_DEV_SIGNAL_SET) {
        stp_dev_store64(there, signal);
        return;
    }
    stp_dev_fence_system();
    if (there != 0 && sig_op == SHMEMX_DEV_SIGNAL_ADD) {
        SHMEMX_DEV_ATOMIC_AT(there);
        (void)stp_dev_add64(there, signal);
        return;
    }
    request.variant = (uint32_t)sig_op;
    request.signal_space = request.space;
    request.signal_offset = request.offset;
    request.value = signal;
    (void)stp_dev_ask(handle, &request);
}

SHMEMX_DEV void stp_dev_put_signal_group(const shmemx_device_handle_t *handle, void *dest,
                                         const void *source, uint64_t nbytes, uint64_t *sig_addr,
                                         uint64_t signal, int sig_op, int pe, int nbi, int group)
{
    struct stp_dev_request request = stp_dev_make_request(SHMEMX_DEV_PUT_SIGNAL, pe, nbytes, !nbi);
    char *there;

    request.space = stp_dev_find(handle, dest, &request.offset);
    there = stp_dev_reach(handle, request.space, request.offset, nbytes, pe, SHMEMX_DEV_BY_COPY);
    stp_dev_meet(group);
    if (there != 0) {
        stp_dev_copy(there, source, nbytes, group);
        stp_dev_meet(group);
        if (stp_dev_lane(group) == 0) shmemx_dev_signal_op(handle, sig_addr, signal, sig_op, pe);
    } else if (stp_dev_lane(group) == 0) {
        request.variant = (uint32_t)sig_op;
        request.local = (uint64_t)(uintptr_t)source;
        request.value = signal;
        request.signal_space = stp_dev_find(handle, sig_addr, &request.signal_offset);
        (void)stp_dev_ask(handle, &request);
    }
    stp_dev_meet(group);
}

/* Returns the value of this PE's signal, as shmem_signal_fetch() does. */
SHMEMX_DEV uint64_t shmemx_dev_signal_fetch(const uint64_t *sig_addr)
{
    return stp_dev_load64(sig_addr);
}

/* ---- waiting, 9.11 --------------------------------------------------------------------- */

/*
 * True if the comparison cmp holds between a and b, in the signed or unsigned type of the caller.
 */
#define SHMEMX_DEV_HOLDS(a, cmp, b)                                                                \
    ((cmp) == SHMEMX_DEV_CMP_EQ   ? (a) == (b)                                                     \
     : (cmp) == SHMEMX_DEV_CMP_NE ? (a) != (b)                                                     \
     : (cmp) == SHMEMX_DEV_CMP_GT ? (a) > (b)                                                      \
     : (cmp) == SHMEMX_DEV_CMP_GE ? (a) >= (b)                                                     \
     : (cmp) == SHMEMX_DEV_CMP_LT ? (a) < (b)                                                      \
                                  : (a) <= (b))

SHMEMX_DEV void stp_dev_check_cmp(const shmemx_device_handle_t *handle, int cmp)
{
    struct stp_dev_request request = stp_dev_make_request(SHMEMX_DEV_BAD_COMPARISON, 0, 0, 1);

    if (cmp >= SHMEMX_DEV_CMP_EQ && cmp <= SHMEMX_DEV_CMP_GE) return;
    request.variant = (uint32_t)cmp;
    (void)stp_dev_ask(handle, &request);
}

/* Waits until this PE's signal satisfies the comparison. Returns the value that satisfied it. */
SHMEMX_DEV uint64_t shmemx_dev_signal_wait_until(const shmemx_device_handle_t *handle,
                                                 uint64_t *sig_addr, int cmp, uint64_t cmp_value)
{
    uint64_t seen;

    stp_dev_check_cmp(handle, cmp);
    for (;;) {
        seen = stp_dev_load64(sig_addr);
        if (SHMEMX_DEV_HOLDS(seen, cmp, cmp_value)) return seen;
        stp_dev_pause();
    }
}

/* ---- barrier ------------------------------------------------------------------------------ */

/*
 * Performs a quiet of this block and a barrier of the handle's team. Only one thread, warp or block
 * of a PE may call it at a time. Operations of other blocks are not completed.
 */
SHMEMX_DEV void stp_dev_barrier_group(const shmemx_device_handle_t *handle, int group)
{
    struct stp_dev_sync *sync = handle->sync;
    uint64_t *count = SHMEMX_DEV_AT(&sync->epoch, sizeof(sync->epoch)), epoch;

    stp_dev_meet(group);
    if (stp_dev_lane(group) == 0) {
        shmemx_dev_quiet(handle);
        epoch = ++*count;
        for (int step = 0, away = 1; away < handle->n_pes; step++, away *= 2) {
            shmemx_dev_signal_op(handle, &sync->words[step], epoch, SHMEMX_DEV_SIGNAL_SET,
                                 (handle->my_pe + away) % handle->n_pes);
            while (stp_dev_load64(&sync->words[step]) < epoch)
                stp_dev_pause();
        }
        stp_dev_fence_system();
    }
    stp_dev_meet(group);
}

/* ---- the variants ------------------------------------------------------------------------ */

#define SHMEMX_DEV_GROUP(SUFFIX, GROUP)                                                            \
    SHMEMX_DEV void shmemx_dev_putmem##SUFFIX(const shmemx_device_handle_t *handle, void *dest,    \
                                              const void *source, size_t nbytes, int pe)           \
    {                                                                                              \
        stp_dev_put_group(handle, dest, source, nbytes, pe, 0, GROUP);                             \
    }                                                                                              \
    SHMEMX_DEV void shmemx_dev_putmem_nbi##SUFFIX(const shmemx_device_handle_t *handle,            \
                                                  void *dest, const void *source, size_t nbytes,   \
                                                  int pe)                                          \
    {                                                                                              \
        stp_dev_put_group(handle, dest, source, nbytes, pe, 1, GROUP);                             \
    }                                                                                              \
    SHMEMX_DEV void shmemx_dev_getmem##SUFFIX(const shmemx_device_handle_t *handle, void *dest,    \
                                              const void *source, size_t nbytes, int pe)           \
    {                                                                                              \
        stp_dev_get_group(handle, dest, source, nbytes, pe, 0, GROUP);                             \
    }                                                                                              \
    SHMEMX_DEV void shmemx_dev_getmem_nbi##SUFFIX(const shmemx_device_handle_t *handle,            \
                                                  void *dest, const void *source, size_t nbytes,   \
                                                  int pe)                                          \
    {                                                                                              \
        stp_dev_get_group(handle, dest, source, nbytes, pe, 1, GROUP);                             \
    }                                                                                              \
    SHMEMX_DEV void shmemx_dev_putmem_signal##SUFFIX(                                              \
        const shmemx_device_handle_t *handle, void *dest, const void *source, size_t nbytes,       \
        uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)                                   \
    {                                                                                              \
        stp_dev_put_signal_group(handle, dest, source, nbytes, sig_addr, signal, sig_op, pe, 0,    \
                                 GROUP);                                                           \
    }                                                                                              \
    SHMEMX_DEV void shmemx_dev_putmem_signal_nbi##SUFFIX(                                          \
        const shmemx_device_handle_t *handle, void *dest, const void *source, size_t nbytes,       \
        uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)                                   \
    {                                                                                              \
        stp_dev_put_signal_group(handle, dest, source, nbytes, sig_addr, signal, sig_op, pe, 1,    \
                                 GROUP);                                                           \
    }                                                                                              \
    SHMEMX_DEV void shmemx_dev_barrier##SUFFIX(const shmemx_device_handle_t *handle)               \
    {                                                                                              \
        stp_dev_barrier_group(handle, GROUP);                                                      \
    }
SHMEMX_DEV_GROUP(, 0)
SHMEMX_DEV_GROUP(_warp, 1)
SHMEMX_DEV_GROUP(_block, 2)

#include <shmemx_device_types.h>

#if defined(__cplusplus) && !defined(__CUDACC__)
#pragma GCC diagnostic pop
#endif

#endif /* SHMEMX_DEVICE_H */
