/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks of arguments that many routines share, and their messages. fn is the public routine's
 * name.
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
 * Logs, before anything is changed, that an argument of a shmemx_ routine is wrong, in the form
 * "argument is what". Returns 1, for the routine to return.
 */
int stp_reject(const char *fn, const char *argument, const char *what) STP_COLD;

/* Ends the job if a pointer that the routine reads or writes through is NULL. */
static inline void stp_check_given(const void *pointer, const char *fn, const char *argument)
{
    if (STP_UNLIKELY(pointer == NULL)) stp_fatal_null(fn, argument);
}

/* Returns nelems * size. Fatal if the product does not fit. */
static inline size_t stp_bytes(size_t nelems, size_t size, const char *fn)
{
    size_t nbytes;

    if (STP_UNLIKELY(__builtin_mul_overflow(nelems, size, &nbytes)))
        stp_fatal_overflow(fn, nelems, size);
    return nbytes;
}

#endif /* STP_ARGUMENT_ERRORS_H */
