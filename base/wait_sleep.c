/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Defines the settings of all waits (the number of polls and the longest sleep), and the functions
 * that sleep, wake other threads, or call the hooks for long waits. Design: docs/design/base.md.
 */
#include "base/base.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int stp_wait_spin = 100; /* value until init calls stp_wait_choose() */

int stp_wait_sleep_ms = 1000;

const struct stp_wait_hooks *stp_wait_hook;

void stp_wait_run_hook(void)
{
    /* Pairs with the release store in runtime_start(). */
    const struct stp_wait_hooks *hooks = __atomic_load_n(&stp_wait_hook, __ATOMIC_ACQUIRE);

    if (hooks != NULL) hooks->check_peers();
}

bool stp_sleep_on(const uint32_t *word, uint32_t expected)
{
    const struct timespec limit = {.tv_sec = stp_wait_sleep_ms / 1000,
                                   .tv_nsec = stp_wait_sleep_ms % 1000 * 1000000L};

    return syscall(SYS_futex, word, FUTEX_WAIT, expected, &limit, NULL, 0) == 0;
}

void stp_wake(const uint32_t *word, int n)
{
    syscall(SYS_futex, word, FUTEX_WAKE, n, NULL, NULL, 0);
}

void stp_wait_sleep(const uint32_t *word, uint32_t expected)
{
    if (!stp_sleep_on(word, expected)) stp_wait_run_hook();
}

void stp_yield_and_watch_peers(unsigned turns)
{
    if (stp_yield_or_sleep(turns)) stp_wait_run_hook();
}
