/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded: puts of FLIP_BYTES bytes that spoil their last one, from the FLIP_CALL-th on.
 */
#include <pshmem.h>
#include <stdlib.h>

static long number(const char *name)
{
    const char *text = getenv(name);

    return text != NULL ? atol(text) : -1;
}

void shmem_putmem(void *dest, const void *source, size_t nelems, int pe)
{
    static long n_calls;
    const char *from = source;

    pshmem_putmem(dest, source, nelems, pe);
    if ((long)nelems != number("FLIP_BYTES") || ++n_calls < number("FLIP_CALL")) return;
    pshmem_quiet();
    pshmem_char_p((char *)dest + nelems - 1, (char)(from[nelems - 1] ^ 1), pe);
}
