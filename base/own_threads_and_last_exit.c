/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starts the library's own threads, and counts the threads of the program. In the library's
 * threads, all signals except faults are blocked. The library's threads do not keep a process
 * running. If the main thread has ended by pthread_exit() and all other threads of the program have
 * ended, a thread of the library ends the process.
 * Design: docs/design/base.md.
 */
#include "base/base.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Stack size of the library's threads. It is many times the size that libfabric, drivers and
 * messages need, but small enough for programs that lock all their memory.
 */
#define THREAD_STACK ((size_t)1 << 20)

#define THREADS_MAX 8
#define TID_STARTING (-1)

struct own_thread {
    int tid; /* thread ID, TID_STARTING before the ID is known, or 0 if this element is free */
    void *(*main)(void *);
    const char *name;
};

static struct {
    struct own_thread slots[THREADS_MAX];
    pthread_mutex_t lock; /* guards mask and has_mask */
    bool has_mask;
    sigset_t mask; /* signal mask of the program when the library started its first thread */
    bool exiting;
} threads = {.lock = PTHREAD_MUTEX_INITIALIZER};

/*
 * Calls pthread_create() with a stack of THREAD_STACK bytes. The default stack size may be too
 * small, because the program can change it (pthread_setattr_default_np, ulimit -s). Returns 0 or a
 * positive error number.
 */
static int create_thread(pthread_t *thread, void *(*main)(void *arg), void *arg)
{
    pthread_attr_t attr;
    int rc = pthread_attr_init(&attr);

    if (rc != 0) return rc;
    rc = pthread_attr_setstacksize(&attr, THREAD_STACK);
    if (rc == 0) rc = pthread_create(thread, &attr, main, arg);
    pthread_attr_destroy(&attr);
    return rc;
}

static struct own_thread *slot_take(void)
{
    for (size_t i = 0; i < THREADS_MAX; i++) {
        int expected = 0;

        /*
         * Pairs with the stores of 0 in thread_main() and stp_thread_start(), which free elements.
         */
        if (__atomic_compare_exchange_n(&threads.slots[i].tid, &expected, TID_STARTING, false,
                                        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
            return &threads.slots[i];
    }
    return NULL;
}

static void *thread_main(void *arg)
{
    struct own_thread *slot = arg;

    /* Pairs with the load in is_own_thread(). */
    __atomic_store_n(&slot->tid, (int)syscall(SYS_gettid), __ATOMIC_SEQ_CST);
    pthread_setname_np(pthread_self(), slot->name);
    slot->main(NULL);
    __atomic_store_n(&slot->tid, 0, __ATOMIC_SEQ_CST);
    return NULL;
}

/*
 * Saves the signal mask of this thread in *old_mask, and then blocks all signals except faults. The
 * signal of a fault must reach the thread that causes the fault.
 */
static void block_signals(sigset_t *old_mask)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
    sigset_t set;

    sigfillset(&set);
    for (size_t i = 0; i < STP_COUNT(faults); i++)
        sigdelset(&set, faults[i]);
    pthread_sigmask(SIG_SETMASK, &set, old_mask);
}

int stp_thread_start(pthread_t *thread, const char *name, void *(*main)(void *))
{
    struct own_thread *slot = slot_take();
    sigset_t old_mask;
    int rc;

    if (slot == NULL) return -EAGAIN;
    slot->main = main;
    slot->name = name;
    block_signals(&old_mask);
    rc = create_thread(thread, thread_main, slot);
    pthread_sigmask(SIG_SETMASK, &old_mask, NULL);
    if (rc != 0) __atomic_store_n(&slot->tid, 0, __ATOMIC_SEQ_CST);
    pthread_mutex_lock(&threads.lock);
    if (!threads.has_mask) threads.mask = old_mask;
    threads.has_mask = true;
    pthread_mutex_unlock(&threads.lock);
    return -rc;
}

/* ---- threads of the program --------------------------------------------------- */

static bool is_own_thread(int tid)
{
    for (size_t i = 0; i < THREADS_MAX; i++)
        /* Pairs with the stores in thread_main() and the compare-and-swap in slot_take(). */
        if (__atomic_load_n(&threads.slots[i].tid, __ATOMIC_SEQ_CST) == tid) return true;
    return false;
}

/*
 * Returns true if the main thread has ended by pthread_exit(). Its state is then that of a zombie.
 */
static bool main_ended(void)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)getpid());
    return stp_stat_state(path) == 'Z';
}

int stp_thread_count_program(void)
{
    DIR *dir = opendir("/proc/self/task");
    struct dirent *entry;
    int n = 0, pid = (int)getpid();

    if (dir == NULL) return -1;
    while ((entry = readdir(dir)) != NULL) {
        int tid = atoi(entry->d_name); /* 0 for "." and ".." */

        if (tid > 0 && !is_own_thread(tid) && (tid != pid || !main_ended())) n++;
    }
    closedir(dir);
    return n;
}

/*
 * Main function of the thread that ends the process with exit(0), as the C library does when the
 * last thread of a program ends.
 */
static void *exit_main(void *arg)
{
    (void)arg;
    pthread_sigmask(SIG_SETMASK, &threads.mask, NULL);
    exit(EXIT_SUCCESS);
}

void stp_process_exit_if_program_over(void)
{
    pthread_t thread;

    if (!main_ended() || stp_thread_count_program() != 0) return;
    /* Pairs with the same exchange in other threads. Only one of them starts exit_main(). */
    if (__atomic_exchange_n(&threads.exiting, true, __ATOMIC_SEQ_CST)) return;
    if (pthread_create(&thread, NULL, exit_main, NULL) == 0)
        pthread_detach(thread);
    else
        __atomic_store_n(&threads.exiting, false, __ATOMIC_SEQ_CST); /* the next call tries again */
}
