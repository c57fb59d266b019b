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
static void guard_explain_globals(size_t offset, const char *owner, const char *cause, char *text,
                                  size_t len)
{
    const struct stp_data_segment_part *part = NULL;

    for (unsigned i = 0;
         i < stp_data_segment.n_parts && stp_data_segment.parts[i].file_offset <= offset; i++)
        part = &stp_data_segment.parts[i];
    if (part == NULL || offset - part->file_offset < part->nbytes)
        snprintf(text, len, "the address is in the globals and statics of %s: %s", owner, cause);
    else
        snprintf(text, len,
                 "the address is %zu bytes past the end of the globals and statics of %s; on this "
                 "PE, the globals and statics are at %p..%p",
                 offset - part->file_offset - part->nbytes, owner, (void *)part->base,
                 (void *)(part->base + part->nbytes));
}

/* Explains an access to the memory of a space, or to memory into which the space may grow. */
static void guard_explain_space(const struct stp_space *space, size_t offset, const char *owner,
                                const char *cause, char *text, size_t len)
{
    /* kind is NULL if another thread is reusing the structure of a destroyed space. */
    const struct stp_kind *kind = space->kind;
    size_t nbytes = stp_space_nbytes(space);
    int used = snprintf(text, len, "the address is at offset %zu of space %u (%s) of %s", offset,
                        space->number, kind != NULL ? kind->name : "gone", owner);

    if (used < 0 || (size_t)used >= len) return;
    if (offset < nbytes)
        snprintf(text + used, len - (size_t)used, ": %s", cause);
    else
        snprintf(text + used, len - (size_t)used,
                 ", past the end of the space: it has %zu bytes now and may grow to %zu", nbytes,
                 space->max_bytes);
}

/* Explains a fault in the window or the view, where spaces are. */
static void guard_explain_window(size_t offset, const char *owner, const char *cause, char *text,
                                 size_t len)
{
    const struct stp_space *space = guard_space_below(offset);
    const struct stp_kind *kind = space != NULL ? space->kind : NULL;
    size_t distance = space != NULL ? offset - space->offset : SIZE_MAX;
    char destroyed[96];

    if (space != NULL && (distance < stp_space_nbytes(space) || distance < space->max_bytes))
        guard_explain_space(space, distance, owner, cause, text, len);
    else if (stp_space_lookup_destroyed(stp_window_at(offset), destroyed, sizeof(destroyed)))
        snprintf(text, len, "the address was in %s, in the memory of %s", destroyed, owner);
    else if (space != NULL)
        snprintf(text, len,
                 "no space of %s contains this address; the nearest space below it, %u (%s, %zu "
                 "bytes), ends %zu bytes before it",
                 owner, space->number, kind != NULL ? kind->name : "gone", stp_space_nbytes(space),
                 distance - stp_space_nbytes(space));
    else
        snprintf(text, len,
                 "the address is at offset %zu of the symmetric memory of %s, but in no space",
                 offset, owner);
}

static void guard_owner(int local, char *owner, size_t len)
{
    snprintf(owner, len, local >= 0 ? "the PE with index %d on this node" : "this PE", local);
}

/*
 * Explains an access to a live or destroyed space outside the window, or to memory that such a
 * space reserves for its growth. The reserved address can be in this PE's part or in the mapped
 * part of a peer. Returns false if the address is in no such memory.
 */
static bool guard_explain_outside_window(const void *addr, const char *cause, char *text,
                                         size_t len)
{
    size_t offset;
    const struct stp_space *space = stp_space_lookup(addr, &offset);
    char owner[48] = "this PE", destroyed[96];
    int local;
    bool found = space != NULL && space->kind != NULL;

    if (!found && stp_space_lookup_destroyed(addr, destroyed, sizeof(destroyed))) {
        snprintf(text, len, "the address was in %s", destroyed);
        return true;
    }
    for (unsigned n = STP_SPACE_FIRST_USER; n < STP_SPACE_NUMBERS && !found; n++) {
        space = stp_space_at(n);
        found = space != NULL && stp_own_file_holds(space, addr, &local, &offset) &&
                offset >= stp_space_nbytes(space);
        if (found) guard_owner(local, owner, sizeof(owner));
    }
    if (found) guard_explain_space(space, offset, owner, cause, text, len);
    return found;
}

/*
 * POSIX does not allow snprintf() in a signal handler. The snprintf() of glibc is safe for
 * integers, pointers and strings, and this process is about to end.
 */
bool stp_fault_explain(const siginfo_t *info, const char *routine, char *text, size_t len)
{
    const char *cause = info->si_signo == SIGBUS ? "the system has no memory for this page"
                                                 : "the page is not mapped in this process";
    size_t offset, spaces_bytes = stp_window_bytes_for_spaces();
    size_t used = (size_t)snprintf(text, len, "%s%saccess to %p: ", routine != NULL ? routine : "",
                                   routine != NULL ? ": " : "", info->si_addr);
    char owner[48];
    int local;

    if (stp_window_locate(info->si_addr, &offset, &local)) {
        guard_owner(local, owner, sizeof(owner));
        if (local >= 0 && offset >= spaces_bytes)
            guard_explain_globals(offset - spaces_bytes, owner, cause, text + used, len - used);
        else
            guard_explain_window(offset, owner, cause, text + used, len - used);
        return true;
    }
    if (guard_explain_outside_window(info->si_addr, cause, text + used, len - used)) return true;
    if (routine != NULL)
        snprintf(text, len,
                 "%s: this process cannot access %p: an argument of the call is a wrong pointer",
                 routine, info->si_addr);
    return routine != NULL;
}
