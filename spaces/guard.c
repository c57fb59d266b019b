/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Explains faults in symmetric memory: which PE's part, which space, which offset. Faults
 * elsewhere go on to the handler that was installed before, so debuggers and language
 * run-times see what they always saw.
 */
#include "spaces/spaces.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const int guard_signals[] = {SIGSEGV, SIGBUS};
static struct sigaction guard_before[STP_COUNT(guard_signals)];
static bool guard_installed;

/* The space whose range holds a window offset, or the one below the hole. */
static const struct stp_space *guard_space_below(size_t offset)
{
    const struct stp_space *best = NULL;

    for (unsigned n = 0; n < STP_SPACE_NUMBERS; n++) {
        const struct stp_space *space = stp_space_at(n);
        if (space == NULL || n == STP_SPACE_DATA || space->offset > offset) continue; /* also SIZE_MAX */
        if (best == NULL || space->offset > best->offset) best = space;
    }
    return best;
}

/* snprintf is not async-signal-safe by the letter; glibc's is for integers, and we are dying. */
static void guard_explain(const void *addr, size_t offset, int local, int signo)
{
    const struct stp_space *space = guard_space_below(offset);
    const char *what = signo == SIGBUS ? "no memory left behind it" : "not mapped here";
    char whose[48] = "this PE";

    if (local >= 0) snprintf(whose, sizeof whose, "PE %d of this node", local);
    if (space != NULL && offset < space->offset + space->nbytes)
        stp_error("access to %p: offset %zu of space %u (%s) of %s: %s", addr,
                  offset - space->offset, space->number, space->kind->name, whose, what);
    else if (space != NULL)
        stp_error("access to %p: no space of %s is there; the one below, %u (%s, %zu bytes), ends "
                  "%zu bytes before",
                  addr, whose, space->number, space->kind->name, space->nbytes,
                  offset - space->offset - space->nbytes);
    else
        stp_error("access to %p: offset %zu of the window of %s belongs to no space", addr,
                  offset, whose);
}

static bool guard_is_ours(const void *addr, size_t *offset, int *local)
{
    size_t nbytes = (size_t)1 << stp_win.shift;
    size_t at = (uintptr_t)addr - stp_win.base;

    if (stp_win.view == NULL) return false;
    if (at < nbytes) {
        *offset = at;
        *local = -1;
        return true;
    }
    at = (size_t)((const char *)addr - stp_win.view);
    if (at >= nbytes * (size_t)stp_win.n_placed) return false;
    *local = (int)(at >> stp_win.shift);
    *offset = at & (nbytes - 1);
    return true;
}

static void guard_handler(int signo, siginfo_t *info, void *context)
{
    size_t i = signo == guard_signals[0] ? 0 : 1;
    struct sigaction *before = &guard_before[i];
    size_t offset;
    int local;

    if (info->si_code > 0 && guard_is_ours(info->si_addr, &offset, &local))
        guard_explain(info->si_addr, offset, local, signo);
    if (before->sa_flags & SA_SIGINFO) {
        before->sa_sigaction(signo, info, context);
    } else if (before->sa_handler != SIG_DFL && before->sa_handler != SIG_IGN) {
        before->sa_handler(signo);
    } else {
        /* Back to the default: the faulting instruction runs again and ends the process. */
        sigaction(signo, before, NULL);
        if (info->si_code <= 0) raise(signo);
    }
}

void stp_guard_install(void)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};

    if (guard_installed) return;
    action.sa_sigaction = guard_handler;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < STP_COUNT(guard_signals); i++)
        sigaction(guard_signals[i], &action, &guard_before[i]);
    guard_installed = true;
}

/* Take the handler out again, unless somebody put another one over it. */
void stp_guard_remove(void)
{
    for (size_t i = 0; i < STP_COUNT(guard_signals) && guard_installed; i++) {
        struct sigaction now;
        sigaction(guard_signals[i], NULL, &now);
        if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == guard_handler)
            sigaction(guard_signals[i], &guard_before[i], NULL);
    }
    guard_installed = false;
}
