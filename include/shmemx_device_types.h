/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The typed routines of shmemx_device.h, which includes this header. Devices have no long double.
 */
#ifndef SHMEMX_DEVICE_TYPES_H
#define SHMEMX_DEVICE_TYPES_H

#include <shmemx_device.h>

/* ---- waiting, 9.11 --------------------------------------------------------------------- */

/* Defines test and wait_until for a type of OpenSHMEM 1.6, table 9.8. Words have BITS bits. */
#define SHMEMX_DEV_WAIT_TYPE(NAME, TYPE, BITS)                                                     \
    SHMEMX_DEV int shmemx_dev_##NAME##_test(const shmemx_device_handle_t *handle, TYPE *ivar,      \
                                            int cmp, TYPE cmp_value)                               \
    {                                                                                              \
        TYPE seen = (TYPE)stp_dev_load##BITS(ivar);                                                \
        stp_dev_check_cmp(handle, cmp);                                                            \
        return SHMEMX_DEV_HOLDS(seen, cmp, cmp_value);                                             \
    }                                                                                              \
    SHMEMX_DEV void shmemx_dev_##NAME##_wait_until(const shmemx_device_handle_t *handle,           \
                                                   TYPE *ivar, int cmp, TYPE cmp_value)            \
    {                                                                                              \
        while (!shmemx_dev_##NAME##_test(handle, ivar, cmp, cmp_value))                            \
            stp_dev_pause();                                                                       \
    }
SHMEMX_DEV_WAIT_TYPE(int, int, 32)
SHMEMX_DEV_WAIT_TYPE(uint, unsigned int, 32)
SHMEMX_DEV_WAIT_TYPE(int32, int32_t, 32)
SHMEMX_DEV_WAIT_TYPE(uint32, uint32_t, 32)
SHMEMX_DEV_WAIT_TYPE(long, long, 64)
SHMEMX_DEV_WAIT_TYPE(ulong, unsigned long, 64)
SHMEMX_DEV_WAIT_TYPE(longlong, long long, 64)
SHMEMX_DEV_WAIT_TYPE(ulonglong, unsigned long long, 64)
SHMEMX_DEV_WAIT_TYPE(int64, int64_t, 64)
SHMEMX_DEV_WAIT_TYPE(uint64, uint64_t, 64)
SHMEMX_DEV_WAIT_TYPE(size, size_t, 64)
SHMEMX_DEV_WAIT_TYPE(ptrdiff, ptrdiff_t, 64)

/* ---- remote memory access, 9.6 ---------------------------------------------------------- */

/*
 * Returns the size of nelems elements in bytes. On overflow returns INT64_MAX, which is more than
 * any space has. The access then goes through the ring, and the host reports the error.
 */
#define SHMEMX_DEV_BYTES(nelems, TYPE)                                                             \
    ((nelems) > INT64_MAX / sizeof(TYPE) ? INT64_MAX : (nelems) * sizeof(TYPE))

#define SHMEMX_DEV_RMA_TYPE(NAME, TYPE)                                                            \
    SHMEMX_DEV void shmemx_dev_##NAME##_p(const shmemx_device_handle_t *handle, TYPE *dest,        \
                                          TYPE value, int pe)                                      \
    {                                                                                              \
        struct stp_dev_request request =                                                           \
            stp_dev_make_request(SHMEMX_DEV_STORE, pe, sizeof(TYPE), 0);                           \
        char *there;                                                                               \
                                                                                                   \
        request.space = stp_dev_find(handle, dest, &request.offset);                               \
        there = stp_dev_reach(handle, request.space, request.offset, sizeof(TYPE), pe,             \
                              SHMEMX_DEV_BY_COPY);                                                 \
        if (there != 0) {                                                                          \
            *(volatile TYPE *)SHMEMX_DEV_AT(there, sizeof(TYPE)) = value;                          \
            return;                                                                                \
        }                                                                                          \
        __builtin_memcpy(&request.value, &value, sizeof(TYPE));                                    \
        (void)stp_dev_ask(handle, &request);                                                       \
    }                                                                                              \
    SHMEMX_DEV TYPE shmemx_dev_##NAME##_g(const shmemx_device_handle_t *handle,                    \
                                          const TYPE *source, int pe)                              \
    {                                                                                              \
        struct stp_dev_request request =                                                           \
            stp_dev_make_request(SHMEMX_DEV_LOAD, pe, sizeof(TYPE), 1);                            \
        const char *there;                                                                         \
        uint64_t result;                                                                           \
        TYPE value;                                                                                \
                                                                                                   \
        request.space = stp_dev_find(handle, source, &request.offset);                             \
        there = stp_dev_reach(handle, request.space, request.offset, sizeof(TYPE), pe,             \
                              SHMEMX_DEV_BY_COPY);                                                 \
        if (there != 0) return *(const volatile TYPE *)SHMEMX_DEV_AT(there, sizeof(TYPE));         \
        result = stp_dev_ask(handle, &request);                                                    \
        __builtin_memcpy(&value, &result, sizeof(TYPE));                                           \
        return value;                                                                              \
    }                                                                                              \
    SHMEMX_DEV_RMA_GROUP(NAME, TYPE, , 0)                                                          \
    SHMEMX_DEV_RMA_GROUP(NAME, TYPE, _warp, 1)                                                     \
    SHMEMX_DEV_RMA_GROUP(NAME, TYPE, _block, 2)
#define SHMEMX_DEV_RMA_GROUP(NAME, TYPE, SUFFIX, GROUP)                                            \
    SHMEMX_DEV void shmemx_dev_##NAME##_put##SUFFIX(const shmemx_device_handle_t *handle,          \
                                                    TYPE *dest, const TYPE *source, size_t nelems, \
                                                    int pe)                                        \
    {                                                                                              \
        stp_dev_put_group(handle, dest, source, SHMEMX_DEV_BYTES(nelems, TYPE), pe, 0, GROUP);     \
    }                                                                                              \
    SHMEMX_DEV void shmemx_dev_##NAME##_get##SUFFIX(const shmemx_device_handle_t *handle,          \
                                                    TYPE *dest, const TYPE *source, size_t nelems, \
                                                    int pe)                                        \
    {                                                                                              \
        stp_dev_get_group(handle, dest, source, SHMEMX_DEV_BYTES(nelems, TYPE), pe, 0, GROUP);     \
    }                                                                                              \
    SHMEMX_DEV void shmemx_dev_##NAME##_put_nbi##SUFFIX(const shmemx_device_handle_t *handle,      \
                                                        TYPE *dest, const TYPE *source,            \
                                                        size_t nelems, int pe)                     \
    {                                                                                              \
        stp_dev_put_group(handle, dest, source, SHMEMX_DEV_BYTES(nelems, TYPE), pe, 1, GROUP);     \
    }                                                                                              \
    SHMEMX_DEV void shmemx_dev_##NAME##_get_nbi##SUFFIX(const shmemx_device_handle_t *handle,      \
                                                        TYPE *dest, const TYPE *source,            \
                                                        size_t nelems, int pe)                     \
    {                                                                                              \
        stp_dev_get_group(handle, dest, source, SHMEMX_DEV_BYTES(nelems, TYPE), pe, 1, GROUP);     \
    }
SHMEMX_DEV_RMA_TYPE(float, float)
SHMEMX_DEV_RMA_TYPE(double, double)
SHMEMX_DEV_RMA_TYPE(char, char)
SHMEMX_DEV_RMA_TYPE(schar, signed char)
SHMEMX_DEV_RMA_TYPE(short, short)
SHMEMX_DEV_RMA_TYPE(int, int)
SHMEMX_DEV_RMA_TYPE(long, long)
SHMEMX_DEV_RMA_TYPE(longlong, long long)
SHMEMX_DEV_RMA_TYPE(uchar, unsigned char)
SHMEMX_DEV_RMA_TYPE(ushort, unsigned short)
SHMEMX_DEV_RMA_TYPE(uint, unsigned int)
SHMEMX_DEV_RMA_TYPE(ulong, unsigned long)
SHMEMX_DEV_RMA_TYPE(ulonglong, unsigned long long)
SHMEMX_DEV_RMA_TYPE(int8, int8_t)
SHMEMX_DEV_RMA_TYPE(int16, int16_t)
SHMEMX_DEV_RMA_TYPE(int32, int32_t)
SHMEMX_DEV_RMA_TYPE(int64, int64_t)
SHMEMX_DEV_RMA_TYPE(uint8, uint8_t)
SHMEMX_DEV_RMA_TYPE(uint16, uint16_t)
SHMEMX_DEV_RMA_TYPE(uint32, uint32_t)
SHMEMX_DEV_RMA_TYPE(uint64, uint64_t)
SHMEMX_DEV_RMA_TYPE(size, size_t)
SHMEMX_DEV_RMA_TYPE(ptrdiff, ptrdiff_t)

/* ---- atomics, 9.7 ----------------------------------------------------------------------- */

/* Defines the atomics of a type. Its words are handled as integers of BITS bits. */
#define SHMEMX_DEV_AMO_EXTENDED(NAME, TYPE, BITS)                                                  \
    SHMEMX_DEV TYPE stp_dev_##NAME##_as(uint64_t word)                                             \
    {                                                                                              \
        uint##BITS##_t bits = (uint##BITS##_t)word;                                                \
        TYPE value;                                                                                \
        __builtin_memcpy(&value, &bits, sizeof(value));                                            \
        return value;                                                                              \
    }                                                                                              \
    SHMEMX_DEV uint64_t stp_dev_##NAME##_bits(TYPE value)                                          \
    {                                                                                              \
        uint##BITS##_t bits;                                                                       \
        __builtin_memcpy(&bits, &value, sizeof(bits));                                             \
        return bits;                                                                               \
    }                                                                                              \
    SHMEMX_DEV TYPE shmemx_dev_##NAME##_atomic_fetch(const shmemx_device_handle_t *handle,         \
                                                     const TYPE *source, int pe)                   \
    {                                                                                              \
        return stp_dev_##NAME##_as(                                                                \
            stp_dev_amo(handle, source, sizeof(TYPE), SHMEMX_DEV_AMO_FETCH, 0, 0, 1, pe));         \
    }                                                                                              \
    SHMEMX_DEV void shmemx_dev_##NAME##_atomic_set(const shmemx_device_handle_t *handle,           \
                                                   TYPE *dest, TYPE value, int pe)                 \
    {                                                                                              \
        (void)stp_dev_amo(handle, dest, sizeof(TYPE), SHMEMX_DEV_AMO_SET,                          \
                          stp_dev_##NAME##_bits(value), 0, 0, pe);                                 \
    }                                                                                              \
    SHMEMX_DEV TYPE shmemx_dev_##NAME##_atomic_swap(const shmemx_device_handle_t *handle,          \
                                                    TYPE *dest, TYPE value, int pe)                \
    {                                                                                              \
        return stp_dev_##NAME##_as(stp_dev_amo(handle, dest, sizeof(TYPE), SHMEMX_DEV_AMO_SWAP,    \
                                               stp_dev_##NAME##_bits(value), 0, 1, pe));           \
    }
#define SHMEMX_DEV_AMO_STANDARD(NAME, TYPE, BITS)                                                  \
    SHMEMX_DEV_AMO_EXTENDED(NAME, TYPE, BITS)                                                      \
    SHMEMX_DEV TYPE shmemx_dev_##NAME##_atomic_compare_swap(                                       \
        const shmemx_device_handle_t *handle, TYPE *dest, TYPE cond, TYPE value, int pe)           \
    {                                                                                              \
        return (TYPE)stp_dev_amo(handle, dest, sizeof(TYPE), SHMEMX_DEV_AMO_CSWAP,                 \
                                 stp_dev_##NAME##_bits(value), stp_dev_##NAME##_bits(cond), 1,     \
                                 pe);                                                              \
    }                                                                                              \
    SHMEMX_DEV TYPE shmemx_dev_##NAME##_atomic_fetch_add(const shmemx_device_handle_t *handle,     \
                                                         TYPE *dest, TYPE value, int pe)           \
    {                                                                                              \
        return (TYPE)stp_dev_amo(handle, dest, sizeof(TYPE), SHMEMX_DEV_AMO_ADD,                   \
                                 stp_dev_##NAME##_bits(value), 0, 1, pe);                          \
    }                                                                                              \
    SHMEMX_DEV void shmemx_dev_##NAME##_atomic_add(const shmemx_device_handle_t *handle,           \
                                                   TYPE *dest, TYPE value, int pe)                 \
    {                                                                                              \
        (void)stp_dev_amo(handle, dest, sizeof(TYPE), SHMEMX_DEV_AMO_ADD,                          \
                          stp_dev_##NAME##_bits(value), 0, 0, pe);                                 \
    }                                                                                              \
    SHMEMX_DEV TYPE shmemx_dev_##NAME##_atomic_fetch_inc(const shmemx_device_handle_t *handle,     \
                                                         TYPE *dest, int pe)                       \
    {                                                                                              \
        return shmemx_dev_##NAME##_atomic_fetch_add(handle, dest, 1, pe);                          \
    }                                                                                              \
    SHMEMX_DEV void shmemx_dev_##NAME##_atomic_inc(const shmemx_device_handle_t *handle,           \
                                                   TYPE *dest, int pe)                             \
    {                                                                                              \
        shmemx_dev_##NAME##_atomic_add(handle, dest, 1, pe);                                       \
    }
#define SHMEMX_DEV_AMO_BITS(NAME, TYPE, OP, VARIANT)                                               \
    SHMEMX_DEV TYPE shmemx_dev_##NAME##_atomic_fetch_##OP(const shmemx_device_handle_t *handle,    \
                                                          TYPE *dest, TYPE value, int pe)          \
    {                                                                                              \
        return (TYPE)stp_dev_amo(handle, dest, sizeof(TYPE), VARIANT,                              \
                                 stp_dev_##NAME##_bits(value), 0, 1, pe);                          \
    }                                                                                              \
    SHMEMX_DEV void shmemx_dev_##NAME##_atomic_##OP(const shmemx_device_handle_t *handle,          \
                                                    TYPE *dest, TYPE value, int pe)                \
    {                                                                                              \
        (void)stp_dev_amo(handle, dest, sizeof(TYPE), VARIANT, stp_dev_##NAME##_bits(value), 0, 0, \
                          pe);                                                                     \
    }
#define SHMEMX_DEV_AMO_BITWISE(NAME, TYPE)                                                         \
    SHMEMX_DEV_AMO_BITS(NAME, TYPE, and, SHMEMX_DEV_AMO_AND)                                       \
    SHMEMX_DEV_AMO_BITS(NAME, TYPE, or, SHMEMX_DEV_AMO_OR)                                         \
    SHMEMX_DEV_AMO_BITS(NAME, TYPE, xor, SHMEMX_DEV_AMO_XOR)
SHMEMX_DEV_AMO_EXTENDED(float, float, 32)
SHMEMX_DEV_AMO_EXTENDED(double, double, 64)
SHMEMX_DEV_AMO_STANDARD(int, int, 32)
SHMEMX_DEV_AMO_STANDARD(uint, unsigned int, 32)
SHMEMX_DEV_AMO_STANDARD(int32, int32_t, 32)
SHMEMX_DEV_AMO_STANDARD(uint32, uint32_t, 32)
SHMEMX_DEV_AMO_STANDARD(long, long, 64)
SHMEMX_DEV_AMO_STANDARD(ulong, unsigned long, 64)
SHMEMX_DEV_AMO_STANDARD(longlong, long long, 64)
SHMEMX_DEV_AMO_STANDARD(ulonglong, unsigned long long, 64)
SHMEMX_DEV_AMO_STANDARD(int64, int64_t, 64)
SHMEMX_DEV_AMO_STANDARD(uint64, uint64_t, 64)
SHMEMX_DEV_AMO_STANDARD(size, size_t, 64)
SHMEMX_DEV_AMO_STANDARD(ptrdiff, ptrdiff_t, 64)
SHMEMX_DEV_AMO_BITWISE(uint, unsigned int)
SHMEMX_DEV_AMO_BITWISE(ulong, unsigned long)
SHMEMX_DEV_AMO_BITWISE(ulonglong, unsigned long long)
SHMEMX_DEV_AMO_BITWISE(int32, int32_t)
SHMEMX_DEV_AMO_BITWISE(int64, int64_t)
SHMEMX_DEV_AMO_BITWISE(uint32, uint32_t)
SHMEMX_DEV_AMO_BITWISE(uint64, uint64_t)

#endif /* SHMEMX_DEVICE_TYPES_H */
