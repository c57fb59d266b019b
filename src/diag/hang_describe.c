/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes texts that describe the objects for which threads wait. Design: docs/design/hang.md. */
#include "hang.h"

#include "rma/rma.h"
#include "backtrace_and_symbol_names.h"

#include <stdio.h>
#include <string.h>

static const char *address_text(const void *addr, char *text, size_t len)
{
    size_t offset;
    const struct stp_space *space = stp_space_lookup(addr, &offset);

    if (space != NULL && space->number == STP_SPACE_DATA && stp_symbol_global(addr, text, len))
        return text;
    if (space == NULL)
        snprintf(text, len, "%p", addr);
    else if (space->number == STP_SPACE_HEAP)
        snprintf(text, len, "heap+%#zx", offset);
    else if (space->number == STP_SPACE_DATA)
        snprintf(text, len, "globals+%#zx", offset);
    else
        snprintf(text, len, "space %u+%#zx", space->number, offset);
    return text;
}

static void number_text(const struct stp_wait_subject *vars, uint64_t value, char *text, size_t len)
{
    unsigned unused = 64 - 8 * (unsigned)vars->size;

    if (vars->is_signed)
        snprintf(text, len, "%lld", (long long)((int64_t)(value << unused) >> unused));
    else
        snprintf(text, len, "%llu", (unsigned long long)(value << unused >> unused));
}

static void element_text(const struct stp_wait_subject *vars, char *text, size_t len)
{
    uint64_t current = 0;

    if (stp_win.devices)
        stp_load_slow(&current, (const char *)vars->addr + vars->i * vars->size, vars->size);
    else if (vars->size == sizeof(current))
        current = __atomic_load_n((const uint64_t *)vars->addr + vars->i, __ATOMIC_RELAXED);
    else if (vars->size == sizeof(uint32_t))
        current = __atomic_load_n((const uint32_t *)vars->addr + vars->i, __ATOMIC_RELAXED);
    else
        current = __atomic_load_n((const uint16_t *)vars->addr + vars->i, __ATOMIC_RELAXED);
    number_text(vars, current, text, len);
}

static void describe_vars(const struct stp_wait_subject *vars, struct stp_wait_state *note)
{
    static const char *const signs[] = {"", "<", "==", "<=", ">", "!=", ">=", ""};
    char location[88], current[24], value[24], index[24] = "";
    bool any_element = vars->i == SIZE_MAX;

    address_text((const char *)vars->addr + (any_element ? 0 : vars->i * vars->size), location,
                 sizeof(location));
    number_text(vars, vars->value, value, sizeof(value));
    if (any_element) {
        snprintf(note->text, sizeof(note->text),
                 "%s, until one of %zu variables from %s on is %s %s", stp_public_name(vars->fn),
                 vars->nelems, location, signs[vars->comparisons & 7], value);
    } else {
        element_text(vars, current, sizeof(current));
        if (vars->nelems > 1) snprintf(index, sizeof(index), " (element %zu)", vars->i);
        snprintf(note->text, sizeof(note->text), "%s, until %s%s (now %s) is %s %s",
                 stp_public_name(vars->fn), location, index, current, signs[vars->comparisons & 7],
                 value);
    }
}

static void describe_lock(const struct stp_wait_subject *lock, struct stp_wait_state *note)
{
    char location[96];

    address_text(lock->addr, location, sizeof(location));
    /*
     * Identify the lock by the hash of its text. The address of a lock in a global variable cannot
     * identify it, because the address differs between PEs.
     */
    if (lock->pe >= 0) note->lock = stp_hash(STP_HASH_EMPTY, location, strlen(location)) | 1;
    snprintf(note->text, sizeof(note->text), "%s, lock %s%s", stp_public_name(lock->fn), location,
             lock->pe >= 0 ? "" : ", until the next PE has joined its queue");
}

static void describe_fabric(struct stp_wait_state *note)
{
    const char *routine = stp_symbol_routine();

    snprintf(note->text, sizeof(note->text), "%s, for replies from other PEs",
             routine != NULL ? routine : "a routine");
}

void stp_hang_publish_wait(const struct stp_wait_subject *subject)
{
    struct stp_wait_state note = {.awaited_pe = subject->pe};

    switch (subject->kind) {
    case STP_WAIT_VARS:
        describe_vars(subject, &note);
        break;
    case STP_WAIT_LOCK:
        describe_lock(subject, &note);
        break;
    case STP_WAIT_COLL:
        stp_hang_note_coll(subject->addr, &note);
        break;
    case STP_WAIT_FABRIC:
        describe_fabric(&note);
        break;
    }
    stp_wait_state_publish(&note, stp_hang_report);
}

void stp_hang_publish_fabric_wait_if_due(unsigned n_calls, int pe)
{
    const struct stp_wait wait = {.turns = n_calls * STP_WAIT_TURNS};

    if (n_calls == 0)
        stp_wait_end_slow();
    else if (stp_wait_check_clock(&wait))
        stp_wait_publish_subject(&(struct stp_wait_subject){.kind = STP_WAIT_FABRIC, .pe = pe});
}
