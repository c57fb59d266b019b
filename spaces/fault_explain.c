/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes explanations of faults (SIGSEGV and SIGBUS). For a fault in symmetric memory, the text
 * names the PE, the space and the offset. For any other fault in a routine of the library, the text
 * says that the program has passed a wrong pointer. The signal handler is in src/diag/crash.c.
 */
#include "spaces/space_registry.h"

#include <stdio.h>
#include <string.h>

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

/* Explains an access to a peer's globals. The argument offset is the offset in the data segment. */
static void guard_explain_globals(const char *access, size_t offset, const char *owner,
                                  const char *cause, char *text, size_t len)
{
    const struct stp_data_segment_part *part = NULL;

    for (unsigned i = 0;
         i < stp_data_segment.n_parts && stp_data_segment.parts[i].file_offset <= offset; i++)
        part = &stp_data_segment.parts[i];
    if (part == NULL || offset - part->file_offset < part->nbytes)
        snprintf(text, len, "%s: the address is in the globals and statics of %s: %s", access,
                 owner, cause);
    else
        snprintf(text, len,
                 "%s: the address is %zu bytes past the end of the globals and statics of %s; on "
                 "this PE, the globals and statics are at %p..%p",
                 access, offset - part->file_offset - part->nbytes, owner, (void *)part->base,
                 (void *)(part->base + part->nbytes));
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
    const char *cause = signo == SIGBUS ? "the system has no memory for this page"
                                        : "the page is not mapped in this process";
    char owner[48] = "this PE", destroyed[96], access[96];

    snprintf(access, sizeof(access), "%s%saccess to %p", routine != NULL ? routine : "",
             routine != NULL ? ": " : "", addr);
    if (local >= 0) snprintf(owner, sizeof(owner), "the PE with index %d on this node", local);
    if (local >= 0 && offset >= stp_window_bytes_for_spaces()) {
        guard_explain_globals(access, offset - stp_window_bytes_for_spaces(), owner, cause, text,
                              len);
        return;
    }
    if (space != NULL && offset < space->offset + stp_space_nbytes(space))
        snprintf(text, len, "%s: the address is at offset %zu of space %u (%s) of %s: %s", access,
                 offset - space->offset, space->number, name, owner, cause);
    else if (space != NULL && offset - space->offset < space->max_bytes)
        snprintf(text, len,
                 "%s: the address is at offset %zu of space %u (%s) of %s, past the end of the "
                 "space: it has %zu bytes now and may grow to %zu",
                 access, offset - space->offset, space->number, name, owner,
                 stp_space_nbytes(space), space->max_bytes);
    else if (stp_space_lookup_destroyed(stp_window_at(offset), destroyed, sizeof(destroyed)))
        snprintf(text, len, "%s: the address was in %s, in the memory of %s", access, destroyed,
                 owner);
    else if (space != NULL)
        snprintf(text, len,
                 "%s: no space of %s contains this address; the nearest space below it, %u (%s, "
                 "%zu bytes), ends %zu bytes before it",
                 access, owner, space->number, name, stp_space_nbytes(space),
                 offset - space->offset - stp_space_nbytes(space));
    else
        snprintf(text, len,
                 "%s: the address is at offset %zu of the symmetric memory of %s, but in no space",
                 access, offset, owner);
}

static void guard_explain_argument(const void *addr, const char *routine, char *text, size_t len)
{
    snprintf(text, len,
             "%s: this process cannot access %p: an argument of the call is a wrong pointer",
             routine, addr);
}

/*
 * Explains an access to memory that a space outside the window reserves for its growth. The address
 * can be in this PE's part or in the mapped part of a peer. Returns false if no space reserves the
 * address.
 */
static bool guard_explain_growth_room(const void *addr, const char *routine, char *text, size_t len)
{
    char owner[48] = "this PE";
    size_t offset;
    int local;

    for (unsigned n = STP_SPACE_FIRST_USER; n < STP_SPACE_NUMBERS; n++) {
        const struct stp_space *space = stp_space_at(n);

        if (space == NULL || !stp_own_file_holds(space, addr, &local, &offset)) continue;
        if (offset < stp_space_nbytes(space)) continue;
        if (local >= 0) snprintf(owner, sizeof(owner), "the PE with index %d on this node", local);
        snprintf(text, len,
                 "%s%saccess to %p: the address is at offset %zu of space %u (%s) of %s, past "
                 "the end of the space: it has %zu bytes now and may grow to %zu",
                 routine != NULL ? routine : "", routine != NULL ? ": " : "", addr, offset,
                 space->number, space->kind->name, owner, stp_space_nbytes(space),
                 space->max_bytes);
        return true;
    }
    return false;
}

/*
 * Explains an access to a live or destroyed space outside the window. Returns false if the address
 * is in no such space.
 */
static bool guard_explain_outside_window(const siginfo_t *info, const char *routine, char *text,
                                         size_t len)
{
    size_t offset;
    const struct stp_space *space = stp_space_lookup(info->si_addr, &offset);
    const char *cause = info->si_signo == SIGBUS ? "the system has no memory for this page"
                                                 : "the page is not mapped in this process";
    const char *name = routine != NULL ? routine : "", *colon = routine != NULL ? ": " : "";
    char destroyed[96];

    if (space != NULL && space->kind != NULL)
        snprintf(text, len,
                 "%s%saccess to %p: the address is at offset %zu of space %u (%s) of this PE: %s",
                 name, colon, info->si_addr, offset, space->number, space->kind->name, cause);
    else if (stp_space_lookup_destroyed(info->si_addr, destroyed, sizeof(destroyed)))
        snprintf(text, len, "%s%saccess to %p: the address was in %s", name, colon, info->si_addr,
                 destroyed);
    else
        return guard_explain_growth_room(info->si_addr, routine, text, len);
    return true;
}

bool stp_fault_explain(const siginfo_t *info, const char *routine, char *text, size_t len)
{
    size_t offset;
    int local;

    if (stp_window_locate(info->si_addr, &offset, &local))
        guard_explain(info->si_addr, offset, local, info->si_signo, routine, text, len);
    else if (guard_explain_outside_window(info, routine, text, len))
        return true;
    else if (routine != NULL)
        guard_explain_argument(info->si_addr, routine, text, len);
    else
        return false;
    return true;
}
