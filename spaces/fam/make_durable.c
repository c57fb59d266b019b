/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This file makes data in FAM spaces durable. All flushes of such data are in this file. A test can
 * therefore intercept the flushes and preserve only the flushed bytes, so that a missing flush
 * becomes visible. Design: docs/design/fam.md.
 */
#include "fam.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef __x86_64__
#include <emmintrin.h>
#endif

/*
 * Writes the cache lines of the range back to memory, which is the persistent medium. The
 * instructions write the lines back from the caches of all CPUs.
 */
static void flush_lines(uintptr_t start, uintptr_t end)
{
#ifdef __x86_64__
    const uintptr_t line = 64;

    /* Every x86-64 CPU has clflush. The CPU executes clflush after all earlier stores. */
    for (uintptr_t addr = start & ~(line - 1); addr < end; addr += line)
        _mm_clflush((const void *)addr);
    _mm_mfence();
#elif defined(__aarch64__)
    const uintptr_t line = 16; /* smallest possible line size, so that no line is skipped */

    for (uintptr_t addr = start & ~(line - 1); addr < end; addr += line)
        __asm__ volatile("dc cvac, %0" : : "r"(addr) : "memory");
    __asm__ volatile("dsb sy" : : : "memory");
#else
    (void)start;
    (void)end;
    /*
     * On other types of CPU, only make earlier stores take effect before the caller continues. This
     * fence pairs with no other operation.
     */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

int stp_fam_flush(const void *addr, size_t nbytes, bool dax)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)addr;

    if (nbytes == 0) return 0;
    /* Order the flush after the stores of other threads that this thread has seen. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (dax) {
        flush_lines(start, start + nbytes);
        return 0;
    }
    nbytes += start % page;
    return msync((void *)(start - start % page), nbytes, MS_SYNC) == 0 ? 0 : -errno;
}
