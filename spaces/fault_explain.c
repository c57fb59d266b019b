/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes explanations of faults (SIGSEGV and SIGBUS). For a fault in symmetric memory, the text
 * names the PE, the space and the offset. For any other fault in a routine of the library, the text
 * says that the program has passed a wrong pointer. The signal handler is in src/diag/crash.c.
 */
#include "spaces/space_registry.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

static char guard_here; /* variable whose address identifies this library in dladdr() */

/* Returns the last space that begins at or below the given offset in the window, or NULL. */
static const struct stp_space *guard_space_below(size_t offset)
{
    const struct stp_space *best = NULL;

    for (unsigned n = 0; n < STP_SPACE_NUMBERS; n++) {
        const struct stp_space *space = stp_space_at(n);
        if (space == NULL || n == STP_SPACE_DATA || space->offset > offset)
            continue; /* the offset of a space outside the window is SIZE_MAX */
        if (best == NULL || space->offset > best->offset) best = space;
    }
    return best;
}

/* Explains an access to a peer's globals. The argument at is the offset in the data segment. */
static void guard_explain_globals(const char *access, size_t at, const char *whose,
                                  const char *what, char *text, size_t len)
{
    const struct stp_data_segment_part *below = NULL;

    for (unsigned i = 0; i < stp_data_segment.n_parts && stp_data_segment.parts[i].at <= at; i++)
        below = &stp_data_segment.parts[i];
    if (below == NULL || at - below->at < below->nbytes)
        snprintf(text, len, "%s: globals or statics of %s: %s", access, whose, what);
    else
        snprintf(text, len,
                 "%s: %zu bytes past the end of globals and statics of %s, which are at "
                 "%p..%p on this PE",
                 access, at - below->at - below->nbytes, whose, (void *)below->base,
                 (void *)(below->base + below->nbytes));
}

/*
 * Returns the program counter at the fault and sets *stack to the stack pointer. Both are NULL on
 * architectures other than x86-64 and AArch64.
 */
static const void *guard_code(const ucontext_t *at, const void *const **stack)
{
#if defined(__x86_64__)
    *stack = (const void *const *)at->uc_mcontext.gregs[REG_RSP];
    return (const void *)at->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    *stack = (const void *const *)at->uc_mcontext.sp;
    return (const void *)at->uc_mcontext.pc;
#else
    (void)at;
    *stack = NULL;
    return NULL;
#endif
}

/*
 * Returns whether the program counter code is in this library. Sets *routine to the name of the
 * public routine that contains code, or to NULL if there is none.
 */
static bool guard_in_library(const void *code, const char **routine)
{
    Dl_info there, here;

    if (dladdr(code, &there) == 0 || dladdr(&guard_here, &here) == 0) return false;
    *routine = there.dli_sname;
    return there.dli_fbase == here.dli_fbase;
}

/* Number of words on the stack that are searched for a return address in a public routine. */
#define GUARD_WORDS 64

/*
 * Returns the name of the public routine in which the fault happened, or NULL if the fault happened
 * outside the library. The function reads stack frames of other functions. AddressSanitizer would
 * report this as an error.
 */
__attribute__((no_sanitize("address"))) static const char *guard_routine(const ucontext_t *at)
{
    const void *const *stack;
    const void *code = guard_code(at, &stack);
    const char *routine;

    if (code == NULL) return NULL;
    /*
     * If the library called memcpy() and the fault is in memcpy(), the return address is on top of
     * the stack.
     */
    if (!guard_in_library(code, &routine) && !guard_in_library(stack[0], &routine)) return NULL;
    for (int i = 0; routine == NULL && i < GUARD_WORDS; i++)
        if (!guard_in_library(stack[i], &routine)) routine = NULL;
    if (routine == NULL) return "a routine of the library";
    return routine + (strncmp(routine, "pshmem", 6) == 0 ? 1 : 0);
}

/*
 * Explains a fault in the window or the view. routine is the public routine in which the fault
 * happened, or NULL. POSIX does not allow snprintf() in a signal handler. The snprintf() of glibc
 * is safe for integers, pointers and strings, and this process is about to end.
 */
static void guard_explain(const void *addr, size_t offset, int local, int signo,
                          const char *routine, char *text, size_t len)
{
    const struct stp_space *space = guard_space_below(offset);
    /* kind is NULL if another thread is reusing the structure of a destroyed space. */
    const struct stp_kind *kind = space != NULL ? space->kind : NULL;
    const char *name = kind != NULL ? kind->name : "gone";
    const char *what = signo == SIGBUS ? "the system has no memory for this page"
                                       : "the page is not mapped in this process";
    char whose[48] = "this PE", gone[96], access[96];

    snprintf(access, sizeof(access), "%s%saccess to %p", routine != NULL ? routine : "",
             routine != NULL ? ": " : "", addr);
    if (local >= 0) snprintf(whose, sizeof(whose), "PE %d of this node", local);
    if (local >= 0 && offset >= stp_window_bytes_for_spaces()) {
        guard_explain_globals(access, offset - stp_window_bytes_for_spaces(), whose, what, text,
                              len);
        return;
    }
    if (space != NULL && offset < space->offset + stp_space_nbytes(space))
        snprintf(text, len, "%s: offset %zu of space %u (%s) of %s: %s", access,
                 offset - space->offset, space->number, name, whose, what);
    else if (space != NULL && offset - space->offset < space->max_bytes)
        snprintf(text, len,
                 "%s: offset %zu of space %u (%s) of %s, which has %zu bytes now and may grow to "
                 "%zu",
                 access, offset - space->offset, space->number, name, whose,
                 stp_space_nbytes(space), space->max_bytes);
    else if (stp_space_lookup_destroyed(stp_window_at(offset), gone, sizeof(gone)))
        snprintf(text, len, "%s: it was in %s, in the memory of %s", access, gone, whose);
    else if (space != NULL)
        snprintf(text, len,
                 "%s: no space of %s contains this address; the nearest space below it, %u (%s, "
                 "%zu bytes), ends %zu bytes before it",
                 access, whose, space->number, name, stp_space_nbytes(space),
                 offset - space->offset - stp_space_nbytes(space));
    else
        snprintf(text, len,
                 "%s: the address is at offset %zu of the symmetric memory of %s, but in no space",
                 access, offset, whose);
}

static void guard_explain_argument(const void *addr, const char *routine, char *text, size_t len)
{
    snprintf(text, len,
             "%s: access to %p, which this process cannot access: an argument of the call is a "
             "wrong pointer",
             routine, addr);
}

/*
 * Explains an access to memory that a space outside the window reserves for its growth. The address
 * can be in this PE's part or in the mapped part of a peer. Returns false if no space reserves the
 * address.
 */
static bool guard_explain_kept(const void *addr, const char *routine, char *text, size_t len)
{
    char whose[48] = "this PE";
    size_t offset;
    int local;

    for (unsigned n = STP_SPACE_FIRST_USER; n < STP_SPACE_NUMBERS; n++) {
        const struct stp_space *space = stp_space_at(n);

        if (space == NULL || !stp_own_file_holds(space, addr, &local, &offset)) continue;
        if (offset < stp_space_nbytes(space)) continue;
        if (local >= 0) snprintf(whose, sizeof(whose), "PE %d of this node", local);
        snprintf(text, len,
                 "%s%saccess to %p: offset %zu of space %u (%s) of %s, which has %zu bytes now and "
                 "may grow to %zu",
                 routine != NULL ? routine : "", routine != NULL ? ": " : "", addr, offset,
                 space->number, space->kind->name, whose, stp_space_nbytes(space),
                 space->max_bytes);
        return true;
    }
    return false;
}

/*
 * Explains an access to a live or destroyed space outside the window. Returns false if the address
 * is in no such space.
 */
static bool guard_explain_own(const siginfo_t *info, const char *routine, char *text, size_t len)
{
    size_t offset;
    const struct stp_space *space = stp_space_lookup(info->si_addr, &offset);
    const char *what = info->si_signo == SIGBUS ? "the system has no memory for this page"
                                                : "the page is not mapped in this process";
    const char *in = routine != NULL ? routine : "", *colon = routine != NULL ? ": " : "";
    char gone[96];

    if (space != NULL && space->kind != NULL)
        snprintf(text, len, "%s%saccess to %p: offset %zu of space %u (%s) of this PE: %s", in,
                 colon, info->si_addr, offset, space->number, space->kind->name, what);
    else if (stp_space_lookup_destroyed(info->si_addr, gone, sizeof(gone)))
        snprintf(text, len, "%s%saccess to %p: it was in %s", in, colon, info->si_addr, gone);
    else
        return guard_explain_kept(info->si_addr, routine, text, len);
    return true;
}

bool stp_fault_explain(const siginfo_t *info, const void *context, char *text, size_t len)
{
    const char *routine = guard_routine(context);
    size_t offset;
    int local;

    if (stp_window_locate(info->si_addr, &offset, &local))
        guard_explain(info->si_addr, offset, local, info->si_signo, routine, text, len);
    else if (guard_explain_own(info, routine, text, len))
        return true;
    else if (routine != NULL)
        guard_explain_argument(info->si_addr, routine, text, len);
    else
        return false;
    return true;
}
