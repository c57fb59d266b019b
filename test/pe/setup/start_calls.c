/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts calls of mprotect, sched_yield and dlopen of the GPU driver during init and finalize:
 * none of them may depend on the number of PEs. Run with 16 PEs. Does not measure time.
 */
#include <dlfcn.h>
#include <sched.h>
#include <shmem.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Fewer than PEs. On two cores four: own window and the first PE's part, of the internal space and
 * of the heap; where each PE has a core it opens the parts of log2(16) others.
 */
#define MPROTECTS 14
/* Four in each of some nine waits, after which a PE sleeps. */
#define YIELDS 64

/* The first PE looks for the driver of GPUs, which is not there, for all of its node. */
#define LOOKS 2

#define SHARED __attribute__((visibility("default"))) /* for the library to find */

static long n_mprotects, n_yields, n_drivers;
static int failed;

/* The executable's own come before those of the C library. */
SHARED int mprotect(void *addr, size_t len, int prot)
{
    __atomic_fetch_add(&n_mprotects, 1, __ATOMIC_RELAXED);
    return (int)syscall(SYS_mprotect, addr, len, prot);
}

SHARED int sched_yield(void)
{
    __atomic_fetch_add(&n_yields, 1, __ATOMIC_RELAXED);
    return (int)syscall(SYS_sched_yield);
}

SHARED void *dlopen(const char *name, int flags)
{
    static void *(*real)(const char *name, int flags);

    if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "dlopen");
    if (name != NULL && strncmp(name, "libcuda.", 8) == 0) n_drivers++;
    return real(name, flags);
}

static void check(const char *what, long *n, long most, int me)
{
    long got = __atomic_exchange_n(n, 0, __ATOMIC_RELAXED);

    if (got <= most) return;
    fprintf(stderr, "PE %d: %ld calls of %s, expected at most %ld\n", me, got, what, most);
    failed = 2;
}

int main(void)
{
    static long cell;
    int me, n;

    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    if (n_mprotects == 0) {
        fprintf(
            stderr,
            "PE %d: no call of mprotect was counted during init, so the limits are not checked\n",
            me);
        failed = 2;
    }
    check("mprotect in init", &n_mprotects, MPROTECTS, me);
    if (n > sysconf(_SC_NPROCESSORS_ONLN)) /* else nobody sleeps */
        check("sched_yield in init", &n_yields, YIELDS, me);
    check("dlopen of a driver", &n_drivers, me == 0 ? LOOKS : 0, me);
    shmem_long_p(&cell, me, (me + 1) % n); /* a global: no part is opened for it */
    shmem_barrier_all();
    if (cell != (me + n - 1) % n) failed = 2;
    n_yields = 0;
    shmem_finalize();
    check("mprotect up to the end", &n_mprotects, MPROTECTS, me);
    if (n > sysconf(_SC_NPROCESSORS_ONLN)) check("sched_yield in finalize", &n_yields, YIELDS, me);
    return failed;
}
