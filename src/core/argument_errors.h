/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks of arguments that many routines share, and what they say. fn is the public routine's name.
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
 * For wrong arguments of shmemx_ routines, before anything is changed. stp_reject() logs that the
 * argument is what it is not to be, and returns 1 for the routine to return. stp_struct_known()
 * logs, and returns false, when the size at the beginning of a structure does not lie in
 * min_bytes..max_bytes: its initializer has not set it.
 */
int stp_reject(const char *fn, const char *argument, const char *what) STP_COLD;
bool stp_struct_known(size_t nbytes, size_t min_bytes, size_t max_bytes, const char *argument,
                      const char *initializer, const char *fn);

/* The largest size of a structure that the library fills in; those of later headers are longer. */
#define STP_STRUCT_MAX 4096

/* An argument that is looked at or written to. */
static inline void stp_check_given(const void *pointer, const char *fn, const char *argument)
{
    if (STP_UNLIKELY(pointer == NULL)) stp_fatal_null(fn, argument);
}

/* nelems * size, fatal when it does not fit. */
static inline size_t stp_bytes(size_t nelems, size_t size, const char *fn)
{
    size_t nbytes;

    if (STP_UNLIKELY(__builtin_mul_overflow(nelems, size, &nbytes)))
        stp_fatal_overflow(fn, nelems, size);
    return nbytes;
}

#endif /* STP_ARGUMENT_ERRORS_H */
