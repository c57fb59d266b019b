/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded, for check_verify.sh: spoils operations of steppe-bench. From the FLIP_CALL-th put of
 * FLIP_BYTES bytes on, the last byte of such a put arrives wrong. With DROP=p, stores of
 * shmem_uint64_p with values from 2^32 on are lost after the first 20000. With DROP=put, only every
 * 32nd nbi put happens.
 */
#include <pshmem.h>
#include <stdlib.h>
#include <string.h>

static long number(const char *name)
{
    const char *text = getenv(name);

    return text != NULL ? atol(text) : -1;
}

static int drops(const char *what)
{
    const char *text = getenv("DROP");

    return text != NULL && strcmp(text, what) == 0;
}

void shmem_uint64_p(uint64_t *dest, uint64_t value, int pe)
{
    static long n_calls;

    /* The harness stores small numbers, by which PEs are told what to do. */
    if (drops("p") && value >> 32 != 0 && ++n_calls > 20000) return;
    pshmem_uint64_p(dest, value, pe);
}

void shmem_putmem_nbi(void *dest, const void *source, size_t nelems, int pe)
{
    static long n_calls;

    if (drops("put") && ++n_calls % 32 != 0) return;
    pshmem_putmem_nbi(dest, source, nelems, pe);
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
