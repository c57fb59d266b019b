/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Small operations that are compiled into the program. If the program defines SHMEMX_INLINE (oshcc
 * --inline), shmem.h includes this file. The following operations on the default context are then a
 * few instructions if the target is a PE of this node: p, g, put and get of a small size that the
 * compiler knows, atomics, and fence.
 *
 * The operations call the library before shmem_init, after shmem_finalize, with SHMEM_CHECK=1, for
 * globals, for device memory, and if the operation uses the fabric. If a program takes the address
 * of a routine, it gets the address of the library's function. Tools that intercept calls of the
 * library do not see inlined operations.
 */
#ifndef SHMEMX_INLINE_H
#define SHMEMX_INLINE_H

#ifndef SHMEMX_INLINE
#define SHMEMX_INLINE
#endif
#include "shmem.h"

#ifdef __cplusplus
extern "C" {
/* The functions below are also compiled as C, so they use the casts and the null pointer of C. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wzero-as-null-pointer-constant"
#endif

#pragma GCC visibility push(default)

/*
 * Describes the mapped memory of the PEs of this node. Only the functions below use the structure.
 * A later layout will have another name. If the library does not support this layout any more, all
 * fields are zero.
 */
struct shmemx_view_v1 {
    uintptr_t base; /* address of this PE's symmetric memory */
    size_t top;     /* objects at offsets below this limit are mapped */
    size_t amo_top; /* CPUs perform the atomics at offsets below this limit */
    char *view;     /* address of the part of PE first_pe */
    size_t stride;  /* distance between parts */
    int first_pe;   /* number of the first PE of this node */
    int n_local;    /* number of mapped parts, or 0 if operations must call the library */
    int n_plain;    /* n_local, or 0 if buffers of the program may be device memory */
    int ordered;    /* nonzero if a CPU fence orders all operations (no fabric, no devices) */
};

extern const struct shmemx_view_v1 *const shmemx_view_v1;

#define SHMEMX_IMPL_INLINE                                                                         \
    extern __inline__ __attribute__((__gnu_inline__, __always_inline__, __artificial__))

/*
 * Declares the library's function by another name, because the inline function has the original
 * name.
 */
#define SHMEMX_IMPL_CALL(returns, name, parameters)                                                \
    extern returns shmemx_impl_##name parameters __asm__(#name);

#define SHMEMX_IMPL_LARGEST 64 /* bytes of the largest put or get that is inlined */

/*
 * Returns the address at which the object at addr of PE pe is mapped. Returns 0 if the caller must
 * call the library.
 */
SHMEMX_IMPL_INLINE char *shmemx_impl_there(const void *addr, int pe, int n_pes, size_t top)
{
    size_t offset = (uintptr_t)addr - shmemx_view_v1->base;
    unsigned local = (unsigned)pe - (unsigned)shmemx_view_v1->first_pe;

    if (__builtin_expect(offset < top && local < (unsigned)n_pes, 1))
        return shmemx_view_v1->view + (size_t)local * shmemx_view_v1->stride + offset;
    return 0;
}

#define SHMEMX_IMPL_TOP(field) __atomic_load_n(&shmemx_view_v1->field, __ATOMIC_RELAXED)
#define SHMEMX_IMPL_ACCESS(addr, pe)                                                               \
    shmemx_impl_there(addr, pe, shmemx_view_v1->n_local, SHMEMX_IMPL_TOP(top))
#define SHMEMX_IMPL_COPY(addr, pe)                                                                 \
    shmemx_impl_there(addr, pe, shmemx_view_v1->n_plain, SHMEMX_IMPL_TOP(top))
#define SHMEMX_IMPL_ATOMIC(addr, pe)                                                               \
    shmemx_impl_there(addr, pe, shmemx_view_v1->n_local, SHMEMX_IMPL_TOP(amo_top))

/* ---- memory access [9.6] ------------------------------------------------------- */

#define SHMEMX_IMPL_KNOWN(nelems, size)                                                            \
    (__builtin_constant_p(nelems) && (nelems) <= SHMEMX_IMPL_LARGEST / (size))

/* Define put, get and their nbi forms for elements of size bytes. */
#define SHMEMX_IMPL_PUT(name, type, size)                                                          \
    SHMEMX_IMPL_CALL(void, name, (type * dest, const type *source, size_t nelems, int pe))         \
    SHMEMX_IMPL_INLINE void name(type *dest, const type *source, size_t nelems, int pe)            \
    {                                                                                              \
        char *there = SHMEMX_IMPL_KNOWN(nelems, size) ? SHMEMX_IMPL_COPY(dest, pe) : 0;            \
                                                                                                   \
        if (SHMEMX_IMPL_KNOWN(nelems, size) && there != 0)                                         \
            __builtin_memcpy(there, source, nelems *(size));                                       \
        else                                                                                       \
            shmemx_impl_##name(dest, source, nelems, pe);                                          \
    }

#define SHMEMX_IMPL_GET(name, type, size)                                                          \
    SHMEMX_IMPL_CALL(void, name, (type * dest, const type *source, size_t nelems, int pe))         \
    SHMEMX_IMPL_INLINE void name(type *dest, const type *source, size_t nelems, int pe)            \
    {                                                                                              \
        char *there = SHMEMX_IMPL_KNOWN(nelems, size) ? SHMEMX_IMPL_COPY(source, pe) : 0;          \
                                                                                                   \
        if (SHMEMX_IMPL_KNOWN(nelems, size) && there != 0)                                         \
            __builtin_memcpy(dest, there, nelems *(size));                                         \
        else                                                                                       \
            shmemx_impl_##name(dest, source, nelems, pe);                                          \
    }

/*
 * Defines p, g, put and get of a type. p and g are one access each, which the compiler may not
 * split, drop or repeat.
 */
#define SHMEMX_IMPL_RMA(NAME, type)                                                                \
    SHMEMX_IMPL_CALL(void, shmem_##NAME##_p, (type * dest, type value, int pe))                    \
    SHMEMX_IMPL_INLINE void shmem_##NAME##_p(type *dest, type value, int pe)                       \
    {                                                                                              \
        char *there = SHMEMX_IMPL_ACCESS(dest, pe);                                                \
                                                                                                   \
        if (__builtin_expect(there != 0, 1))                                                       \
            *(volatile type *)(void *)there = value;                                               \
        else                                                                                       \
            shmemx_impl_shmem_##NAME##_p(dest, value, pe);                                         \
    }                                                                                              \
    SHMEMX_IMPL_CALL(type, shmem_##NAME##_g, (const type *source, int pe))                         \
    SHMEMX_IMPL_INLINE type shmem_##NAME##_g(const type *source, int pe)                           \
    {                                                                                              \
        const char *there = SHMEMX_IMPL_ACCESS(source, pe);                                        \
                                                                                                   \
        if (__builtin_expect(there != 0, 1)) return *(const volatile type *)(const void *)there;   \
        return shmemx_impl_shmem_##NAME##_g(source, pe);                                           \
    }                                                                                              \
    SHMEMX_IMPL_PUT(shmem_##NAME##_put, type, sizeof(type))                                        \
    SHMEMX_IMPL_PUT(shmem_##NAME##_put_nbi, type, sizeof(type))                                    \
    SHMEMX_IMPL_GET(shmem_##NAME##_get, type, sizeof(type))                                        \
    SHMEMX_IMPL_GET(shmem_##NAME##_get_nbi, type, sizeof(type))

SHMEMX_IMPL_RMA(float, float)
SHMEMX_IMPL_RMA(double, double)
SHMEMX_IMPL_RMA(longdouble, long double)
SHMEMX_IMPL_RMA(char, char)
SHMEMX_IMPL_RMA(schar, signed char)
SHMEMX_IMPL_RMA(short, short)
SHMEMX_IMPL_RMA(int, int)
SHMEMX_IMPL_RMA(long, long)
SHMEMX_IMPL_RMA(longlong, long long)
SHMEMX_IMPL_RMA(uchar, unsigned char)
SHMEMX_IMPL_RMA(ushort, unsigned short)
SHMEMX_IMPL_RMA(uint, unsigned int)
SHMEMX_IMPL_RMA(ulong, unsigned long)
SHMEMX_IMPL_RMA(ulonglong, unsigned long long)
SHMEMX_IMPL_RMA(int8, int8_t)
SHMEMX_IMPL_RMA(int16, int16_t)
SHMEMX_IMPL_RMA(int32, int32_t)
SHMEMX_IMPL_RMA(int64, int64_t)
SHMEMX_IMPL_RMA(uint8, uint8_t)
SHMEMX_IMPL_RMA(uint16, uint16_t)
SHMEMX_IMPL_RMA(uint32, uint32_t)
SHMEMX_IMPL_RMA(uint64, uint64_t)
SHMEMX_IMPL_RMA(size, size_t)
SHMEMX_IMPL_RMA(ptrdiff, ptrdiff_t)

#define SHMEMX_IMPL_SIZED(bits)                                                                    \
    SHMEMX_IMPL_PUT(shmem_put##bits, void, bits / 8)                                               \
    SHMEMX_IMPL_PUT(shmem_put##bits##_nbi, void, bits / 8)                                         \
    SHMEMX_IMPL_GET(shmem_get##bits, void, bits / 8)                                               \
    SHMEMX_IMPL_GET(shmem_get##bits##_nbi, void, bits / 8)

SHMEMX_IMPL_SIZED(8)
SHMEMX_IMPL_SIZED(16)
SHMEMX_IMPL_SIZED(32)
SHMEMX_IMPL_SIZED(64)
SHMEMX_IMPL_SIZED(128)
SHMEMX_IMPL_PUT(shmem_putmem, void, 1)
SHMEMX_IMPL_PUT(shmem_putmem_nbi, void, 1)
SHMEMX_IMPL_GET(shmem_getmem, void, 1)
SHMEMX_IMPL_GET(shmem_getmem_nbi, void, 1)

/* ---- atomics [9.7] --------------------------------------------------------------- */

/*
 * Defines an atomic that returns the old value. there_is is the statement with which this CPU
 * performs the atomic.
 */
#define SHMEMX_IMPL_FETCH(name, type, parameters, arguments, there_is)                             \
    SHMEMX_IMPL_CALL(type, name, parameters)                                                       \
    SHMEMX_IMPL_INLINE type name parameters                                                        \
    {                                                                                              \
        type *there = (type *)(void *)SHMEMX_IMPL_ATOMIC(dest, pe);                                \
        type old;                                                                                  \
                                                                                                   \
        if (__builtin_expect(there == 0, 0)) return shmemx_impl_##name arguments;                  \
        there_is;                                                                                  \
        return old;                                                                                \
    }

/* Defines an atomic that does not fetch. */
#define SHMEMX_IMPL_POST(name, type, parameters, arguments, there_is)                              \
    SHMEMX_IMPL_CALL(void, name, parameters)                                                       \
    SHMEMX_IMPL_INLINE void name parameters                                                        \
    {                                                                                              \
        type *there = (type *)(void *)SHMEMX_IMPL_ATOMIC(dest, pe);                                \
                                                                                                   \
        if (__builtin_expect(there == 0, 0))                                                       \
            shmemx_impl_##name arguments;                                                          \
        else                                                                                       \
            there_is;                                                                              \
    }

#define SHMEMX_IMPL_AMO_EXT(NAME, type)                                                            \
    SHMEMX_IMPL_FETCH(shmem_##NAME##_atomic_fetch, type, (const type *dest, int pe), (dest, pe),   \
                      __atomic_load(there, &old, __ATOMIC_ACQUIRE))                                \
    SHMEMX_IMPL_FETCH(shmem_##NAME##_atomic_swap, type, (type * dest, type value, int pe),         \
                      (dest, value, pe), __atomic_exchange(there, &value, &old, __ATOMIC_ACQUIRE)) \
    SHMEMX_IMPL_POST(shmem_##NAME##_atomic_set, type, (type * dest, type value, int pe),           \
                     (dest, value, pe), __atomic_store(there, &value, __ATOMIC_RELAXED))

#define SHMEMX_IMPL_UPDATE(NAME, type, op)                                                         \
    SHMEMX_IMPL_FETCH(shmem_##NAME##_atomic_fetch_##op, type, (type * dest, type value, int pe),   \
                      (dest, value, pe),                                                           \
                      old = __atomic_fetch_##op(there, value, __ATOMIC_ACQUIRE))                   \
    SHMEMX_IMPL_POST(shmem_##NAME##_atomic_##op, type, (type * dest, type value, int pe),          \
                     (dest, value, pe), __atomic_fetch_##op(there, value, __ATOMIC_RELAXED))

#define SHMEMX_IMPL_AMO(NAME, type)                                                                \
    SHMEMX_IMPL_AMO_EXT(NAME, type)                                                                \
    SHMEMX_IMPL_UPDATE(NAME, type, add)                                                            \
    SHMEMX_IMPL_FETCH(shmem_##NAME##_atomic_fetch_inc, type, (type * dest, int pe), (dest, pe),    \
                      old = __atomic_fetch_add(there, 1, __ATOMIC_ACQUIRE))                        \
    SHMEMX_IMPL_POST(shmem_##NAME##_atomic_inc, type, (type * dest, int pe), (dest, pe),           \
                     __atomic_fetch_add(there, 1, __ATOMIC_RELAXED))                               \
    SHMEMX_IMPL_FETCH(                                                                             \
        shmem_##NAME##_atomic_compare_swap, type, (type * dest, type cond, type value, int pe),    \
        (dest, cond, value, pe), old = cond;                                                       \
        __atomic_compare_exchange_n(there, &old, value, 0, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))

#define SHMEMX_IMPL_AMO_BIT(NAME, type)                                                            \
    SHMEMX_IMPL_UPDATE(NAME, type, and)                                                            \
    SHMEMX_IMPL_UPDATE(NAME, type, or)                                                             \
    SHMEMX_IMPL_UPDATE(NAME, type, xor)

SHMEMX_IMPL_AMO_EXT(float, float)
SHMEMX_IMPL_AMO_EXT(double, double)
SHMEMX_IMPL_AMO(int, int)
SHMEMX_IMPL_AMO(long, long)
SHMEMX_IMPL_AMO(longlong, long long)
SHMEMX_IMPL_AMO(uint, unsigned int)
SHMEMX_IMPL_AMO(ulong, unsigned long)
SHMEMX_IMPL_AMO(ulonglong, unsigned long long)
SHMEMX_IMPL_AMO(int32, int32_t)
SHMEMX_IMPL_AMO(int64, int64_t)
SHMEMX_IMPL_AMO(uint32, uint32_t)
SHMEMX_IMPL_AMO(uint64, uint64_t)
SHMEMX_IMPL_AMO(size, size_t)
SHMEMX_IMPL_AMO(ptrdiff, ptrdiff_t)
SHMEMX_IMPL_AMO_BIT(uint, unsigned int)
SHMEMX_IMPL_AMO_BIT(ulong, unsigned long)
SHMEMX_IMPL_AMO_BIT(ulonglong, unsigned long long)
SHMEMX_IMPL_AMO_BIT(int32, int32_t)
SHMEMX_IMPL_AMO_BIT(int64, int64_t)
SHMEMX_IMPL_AMO_BIT(uint32, uint32_t)
SHMEMX_IMPL_AMO_BIT(uint64, uint64_t)

/* ---- order [9.12] ---------------------------------------------------------------- */

SHMEMX_IMPL_CALL(void, shmem_fence, (void))
SHMEMX_IMPL_INLINE void shmem_fence(void)
{
    if (__builtin_expect(shmemx_view_v1->ordered != 0, 1))
        __atomic_thread_fence(__ATOMIC_ACQ_REL);
    else
        shmemx_impl_shmem_fence();
}

#pragma GCC visibility pop

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* SHMEMX_INLINE_H */
