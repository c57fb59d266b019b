/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dies of a signal in the way that the argument names, on the last PE, while the other PEs wait in
 * a barrier. run_crash.sh checks the output and the status; this program checks nothing.
 *
 * usage: crash WAY
 */
#include <pthread.h>
#include <shmem.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define VISIBLE __attribute__((noinline, visibility("default"))) /* names for the loader */

static volatile int zero;
static long *block;

VISIBLE void crash_here(volatile int *at)
{
    *at = 1;
}

VISIBLE void crash_outer(volatile int *at)
{
    crash_here(at);
    zero = 0; /* no jump instead of the call */
}

VISIBLE void crash_deep(int depth)
{
    volatile char room[4096];

    memset((char *)room, depth, sizeof(room));
    if (depth < 1 << 30) crash_deep(depth + 1);
    zero = room[0];
}

static void *in_thread(void *arg)
{
    crash_outer(arg);
    return NULL;
}

/* A thread beside whose stack a page is gone: above it, or below its guard. */
static void crash_beside_stack(bool above)
{
    enum { PAGE = 4096, STACK = 14 * PAGE };
    char *all =
        mmap(NULL, 3 * PAGE + STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *guard = all + PAGE, *stack = guard + PAGE;
    pthread_attr_t attr;
    pthread_t thread;

    if (all == MAP_FAILED || mprotect(guard, PAGE, PROT_NONE) != 0) return;
    munmap(all, PAGE);
    munmap(stack + STACK, PAGE);
    pthread_attr_init(&attr);
    pthread_attr_setstack(&attr, stack, STACK);
    if (pthread_create(&thread, &attr, in_thread, above ? stack + STACK : all) == 0)
        pthread_join(thread, NULL);
}

static void say(int signo)
{
    static const char text[] = "the program's handler\n";

    (void)signo;
    _exit(write(2, text, sizeof(text) - 1) > 0 ? 42 : 43);
}

static int die(const char *how)
{
    pthread_t thread;
    void (*volatile nowhere)(void) = NULL;
    char *page;

    if (strcmp(how, "store") == 0) crash_outer((volatile int *)0x10);
    if (strcmp(how, "thread") == 0 && pthread_create(&thread, NULL, in_thread, (void *)0x10) == 0)
        pthread_join(thread, NULL);
    if (strcmp(how, "readonly") == 0) {
        page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        crash_outer((volatile int *)page);
    }
    if (strcmp(how, "symmetric") == 0)
        crash_outer(shmem_ptr(block, 0) != NULL ? (int *)((char *)shmem_ptr(block, 0) - 65536 * 3)
                                                : NULL);
    if (strcmp(how, "put") == 0) shmem_putmem(block, (void *)0x1000, 64, 0);
    if (strcmp(how, "iput") == 0) shmem_long_iput(block, (long *)0x1000, 1, 1, 4, 0);
    if (strcmp(how, "call") == 0) nowhere();
    if (strcmp(how, "stack") == 0) crash_deep(0);
    if (strcmp(how, "above") == 0) crash_beside_stack(true);
    if (strcmp(how, "below") == 0) crash_beside_stack(false);
    if (strcmp(how, "divide") == 0) return 100 / zero;
    if (strcmp(how, "abort") == 0) abort();
    if (strcmp(how, "raise") == 0) raise(SIGSEGV);
    if (strcmp(how, "later") == 0) {
        signal(SIGSEGV, say);
        crash_outer((volatile int *)0x10);
    }
    if (strcmp(how, "earlier") == 0) crash_outer((volatile int *)0x10);
    return 3;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";

    if (strcmp(how, "earlier") == 0) signal(SIGSEGV, say);
    shmem_init();
    block = shmem_malloc(4096);
    if (shmem_my_pe() == shmem_n_pes() - 1) exit(die(how));
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
