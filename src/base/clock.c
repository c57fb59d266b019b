/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The clock, and the two numbers behind every wait: how long to spin and what to do
 * afterwards. Design: docs/design/base.md.
 */
#include "base/base.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define YIELDS_A_HOOK 1024 /* some milliseconds at least */

int stp_wait_spin = 100; /* until init has compared PEs with cores */

int stp_wait_sleep_ms = 1000;

void (*stp_wait_hook)(void);

void stp_wait_look(void)
{
    /* Pairs with the release store in stp_watch_start(). */
    void (*hook)(void) = __atomic_load_n(&stp_wait_hook, __ATOMIC_ACQUIRE);

    if (hook != NULL) hook();
}

bool stp_sleep_on(const uint32_t *word, uint32_t seen)
{
    const struct timespec limit = {.tv_sec = stp_wait_sleep_ms / 1000,
                                   .tv_nsec = stp_wait_sleep_ms % 1000 * 1000000L};

    return syscall(SYS_futex, word, FUTEX_WAIT, seen, &limit, NULL, 0) == 0;
}

void stp_wake(const uint32_t *word, int n)
{
    syscall(SYS_futex, word, FUTEX_WAKE, n, NULL, NULL, 0);
}

void stp_wait_sleep(const uint32_t *word, uint32_t seen)
{
    if (!stp_sleep_on(word, seen)) stp_wait_look();
}

void stp_wait_yield(void)
{
    static __thread unsigned yields;

    if ((++yields & (YIELDS_A_HOOK - 1)) == 0) stp_wait_look();
    /*
     * Not the pause instruction: it keeps the core, and where PEs outnumber cores the one that
     * must act next may be waiting for exactly this core. Not a sleep: nobody would wake us.
     */
    sched_yield();
}
