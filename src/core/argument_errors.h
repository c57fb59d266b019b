/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares checks of arguments that many routines have, and the functions that report errors in
 * them. The argument fn is the name of the public routine.
 */
#ifndef STP_ARGUMENT_ERRORS_H
#define STP_ARGUMENT_ERRORS_H

#include "base/base.h"

_Noreturn void stp_fatal_pe(const char *fn, int pe, int n_pes) STP_COLD;
_Noreturn void stp_fatal_ctx(const char *fn) STP_COLD;
_Noreturn void stp_fatal_cmp(const char *fn, int cmp) STP_COLD;
_Noreturn void stp_fatal_null(const char *fn, const char *argument) STP_COLD;
_Noreturn void stp_fatal_overflow(const char *fn, size_t nelems, size_t size) STP_COLD;

/*
 * Logs that an argument of a shmemx_ routine is wrong. The text has the form "ARGUMENT is
 * DESCRIPTION". The routine calls this function before it changes anything. Always returns 1, which
 * the routine then returns to its caller.
 */
int stp_reject(const char *fn, const char *argument, const char *description) STP_COLD;

/* Ends the job if the pointer is NULL. The routine reads or writes through this pointer. */
static inline void stp_check_given(const void *pointer, const char *fn, const char *argument)
{
    if (STP_UNLIKELY(pointer == NULL)) stp_fatal_null(fn, argument);
}

/* Returns nelems * size. Fatal if the product does not fit into size_t. */
static inline size_t stp_bytes(size_t nelems, size_t size, const char *fn)
{
    size_t nbytes;

    if (STP_UNLIKELY(__builtin_mul_overflow(nelems, size, &nbytes)))
        stp_fatal_overflow(fn, nelems, size);
    return nbytes;
}

/* Returns nelems * size * stride * n_pes. Fatal if the product does not fit into size_t. */
static inline size_t stp_bytes_spanned(size_t nelems, size_t size, size_t stride, int n_pes,
                                       const char *fn)
{
    size_t nbytes = stp_bytes(nelems, size, fn);

    if (STP_UNLIKELY(__builtin_mul_overflow(nbytes, stride, &nbytes) ||
                     __builtin_mul_overflow(nbytes, (size_t)n_pes, &nbytes)))
        stp_fatal_overflow(fn, nelems, size);
    return nbytes;
}

#endif /* STP_ARGUMENT_ERRORS_H */
