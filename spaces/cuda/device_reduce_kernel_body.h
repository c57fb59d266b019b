/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This header has the code of the kernel in device_reduce.cu. The host version of this kernel in
 * test/fakecuda uses the same code. Both include shmemx_device_machine.h before this header. A file
 * that does not include shmemx_device_machine.h gets only the definition of the kernel's arguments.
 * The kernel combines elements in the same order as the host's loops in
 * base/reduce_all_ops_of_type.tmpl.h. The results of kernel and host are therefore equal in every
 * bit.
 */
#ifndef STP_DEVICE_REDUCE_KERNEL_BODY_H
#define STP_DEVICE_REDUCE_KERNEL_BODY_H

/*
 * Maximum number of members in a reduction. A kernel may have 4 KiB of parameters. The job has two
 * addresses for each member, so the addresses of 64 members take 1 KiB.
 */
#define STP_REDUCE_MOST 64

/* Copies of enum stp_op and enum stp_dtype. Kernels cannot include the header of these types. */
enum {
    STP_REDUCE_AND,
    STP_REDUCE_OR,
    STP_REDUCE_XOR,
    STP_REDUCE_MAX,
    STP_REDUCE_MIN,
    STP_REDUCE_SUM,
    STP_REDUCE_PROD
};
enum {
    STP_REDUCE_I8,
    STP_REDUCE_U8,
    STP_REDUCE_I16,
    STP_REDUCE_U16,
    STP_REDUCE_I32,
    STP_REDUCE_U32,
    STP_REDUCE_I64,
    STP_REDUCE_U64,
    STP_REDUCE_F32,
    STP_REDUCE_F64
};

/* Copy of enum stp_reduce_span. */
enum { STP_REDUCE_ALL, STP_REDUCE_UPTO, STP_REDUCE_BEFORE };

/*
 * Arguments of the kernel. The arrays sources and dests have an address for each member, in rank
 * order. dests[i] may be equal to sources[i].
 */
struct stp_reduce_job {
    uint64_t nelems;
    uint32_t op, type;
    uint32_t n; /* number of members */
    uint32_t span;
    const void *sources[STP_REDUCE_MOST];
    void *dests[STP_REDUCE_MOST];
};

#ifdef SHMEMX_DEV

#define STP_REDUCE_BITS(TYPE)                                                                      \
    case STP_REDUCE_AND:                                                                           \
        return (TYPE)(x & y);                                                                      \
    case STP_REDUCE_OR:                                                                            \
        return (TYPE)(x | y);                                                                      \
    case STP_REDUCE_XOR:                                                                           \
        return (TYPE)(x ^ y);
#define STP_REDUCE_NO_BITS(TYPE)

/*
 * A thread processes one element index at a time. In a reduction, the thread reads the element at
 * this index from all members before it writes any result. In a scan, the thread reads the element
 * of each member before it writes the result of this member. The source and the destination of a
 * member may therefore be the same array.
 */
#define STP_REDUCE_TYPE(SUFFIX, TYPE, CALC, BITS)                                                  \
    SHMEMX_DEV TYPE stp_reduce_two_##SUFFIX(uint32_t op, TYPE x, TYPE y)                           \
    {                                                                                              \
        switch (op) {                                                                              \
            BITS(TYPE)                                                                             \
        case STP_REDUCE_MAX:                                                                       \
            return y > x ? y : x;                                                                  \
        case STP_REDUCE_MIN:                                                                       \
            return y < x ? y : x;                                                                  \
        case STP_REDUCE_SUM:                                                                       \
            return (TYPE)((CALC)x + (CALC)y);                                                      \
        default:                                                                                   \
            return (TYPE)((CALC)x * (CALC)y);                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    SHMEMX_DEV void stp_reduce_all_##SUFFIX(const struct stp_reduce_job *job, uint64_t i)          \
    {                                                                                              \
        TYPE sum = ((const TYPE *)job->sources[0])[i];                                             \
                                                                                                   \
        for (uint32_t k = 1; k < job->n; k++)                                                      \
            sum = stp_reduce_two_##SUFFIX(job->op, sum, ((const TYPE *)job->sources[k])[i]);       \
        for (uint32_t k = 0; k < job->n; k++)                                                      \
            ((TYPE *)job->dests[k])[i] = sum;                                                      \
    }                                                                                              \
                                                                                                   \
    SHMEMX_DEV void stp_reduce_scan_##SUFFIX(const struct stp_reduce_job *job, uint64_t i)         \
    {                                                                                              \
        TYPE sum = ((const TYPE *)job->sources[0])[i], before = 0;                                 \
                                                                                                   \
        for (uint32_t k = 0; k < job->n; k++) {                                                    \
            if (k > 0) {                                                                           \
                before = sum;                                                                      \
                sum = stp_reduce_two_##SUFFIX(job->op, sum, ((const TYPE *)job->sources[k])[i]);   \
            }                                                                                      \
            ((TYPE *)job->dests[k])[i] = job->span == STP_REDUCE_UPTO ? sum : before;              \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    SHMEMX_DEV void stp_reduce_##SUFFIX(const struct stp_reduce_job *job, uint64_t first,          \
                                        uint64_t step)                                             \
    {                                                                                              \
        for (uint64_t i = first; i < job->nelems; i += step) {                                     \
            if (job->span == STP_REDUCE_ALL)                                                       \
                stp_reduce_all_##SUFFIX(job, i);                                                   \
            else                                                                                   \
                stp_reduce_scan_##SUFFIX(job, i);                                                  \
        }                                                                                          \
    }

STP_REDUCE_TYPE(i8, int8_t, uint32_t, STP_REDUCE_BITS)
STP_REDUCE_TYPE(u8, uint8_t, uint32_t, STP_REDUCE_BITS)
STP_REDUCE_TYPE(i16, int16_t, uint32_t, STP_REDUCE_BITS)
STP_REDUCE_TYPE(u16, uint16_t, uint32_t, STP_REDUCE_BITS)
STP_REDUCE_TYPE(i32, int32_t, uint32_t, STP_REDUCE_BITS)
STP_REDUCE_TYPE(u32, uint32_t, uint32_t, STP_REDUCE_BITS)
STP_REDUCE_TYPE(i64, int64_t, uint64_t, STP_REDUCE_BITS)
STP_REDUCE_TYPE(u64, uint64_t, uint64_t, STP_REDUCE_BITS)
STP_REDUCE_TYPE(f32, float, float, STP_REDUCE_NO_BITS)
STP_REDUCE_TYPE(f64, double, double, STP_REDUCE_NO_BITS)

/* Processes the elements of one thread, at the indices first, first + step, first + 2 * step ... */
SHMEMX_DEV void stp_reduce_elements(const struct stp_reduce_job *job, uint64_t first, uint64_t step)
{
    switch (job->type) {
    case STP_REDUCE_I8:
        stp_reduce_i8(job, first, step);
        break;
    case STP_REDUCE_U8:
        stp_reduce_u8(job, first, step);
        break;
    case STP_REDUCE_I16:
        stp_reduce_i16(job, first, step);
        break;
    case STP_REDUCE_U16:
        stp_reduce_u16(job, first, step);
        break;
    case STP_REDUCE_I32:
        stp_reduce_i32(job, first, step);
        break;
    case STP_REDUCE_U32:
        stp_reduce_u32(job, first, step);
        break;
    case STP_REDUCE_I64:
        stp_reduce_i64(job, first, step);
        break;
    case STP_REDUCE_U64:
        stp_reduce_u64(job, first, step);
        break;
    case STP_REDUCE_F32:
        stp_reduce_f32(job, first, step);
        break;
    default:
        stp_reduce_f64(job, first, step);
    }
}

#endif /* SHMEMX_DEV */

#endif /* STP_DEVICE_REDUCE_KERNEL_BODY_H */
