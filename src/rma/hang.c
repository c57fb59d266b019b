/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long waits last, what they wait for, in words, and who of the node says so.
 * Design: docs/design/hang.md.
 */
#include "rma.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SECOND_NS UINT64_C(1000000000)

static struct {
    bool on;
    int looking;       /* threads that are at the pages of the node */
    uint64_t limit_ns; /* of waiting, until it is told; 0: it is shown alone */
    uint64_t show_ns;  /* until it is shown */
    uint64_t most_ns;  /* that a turn may last; beyond, the process was stopped */
} hang;

/* The wait that this thread is in, if it has lasted. */
static __thread struct {
    uint64_t seen_ns, waited_ns, shown_ns, first_shown_ns;
    int note; /* of this PE's page, plus 1; 0: none */
    bool told;
} mine;

static struct stp_wait_page *hang_page(void)
{
    return stp_boot_wait_page(stp_local_of(stp_rt.pe));
}

/* Opens the pages of the node for this thread, until leave(); false when they are not there. */
static bool enter(void)
{
    /*
     * Pairs with stp_hang_stop(), which clears on and then reads looking: one side sees the
     * other.
     */
    __atomic_fetch_add(&hang.looking, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&hang.on, __ATOMIC_SEQ_CST)) return true;
    __atomic_fetch_sub(&hang.looking, 1, __ATOMIC_SEQ_CST);
    return false;
}

static void leave(void)
{
    /* Pairs with the load of looking in stp_hang_stop(). */
    __atomic_fetch_sub(&hang.looking, 1, __ATOMIC_SEQ_CST);
}

void stp_hang_end(void)
{
    int note = mine.note;

    memset(&mine, 0, sizeof(mine));
    if (note == 0 || !enter()) return;
    /* Pairs with the exchange in note_take() and the acquire load in note_read(). */
    __atomic_store_n(&hang_page()->notes[note - 1].taken, 0, __ATOMIC_RELEASE);
    leave();
}

/* Is this wait to be told, by whomever? */
static bool is_due(void)
{
    return hang.limit_ns != 0 && !mine.told && mine.waited_ns >= hang.limit_ns;
}

bool stp_hang_look(const struct stp_wait *wait)
{
    uint64_t now, passed;

    if (!__atomic_load_n(&hang.on, __ATOMIC_RELAXED)) return false;
    now = stp_now_ns();
    if (wait->turns < 2 * STP_HANG_TURNS) { /* its first look */
        stp_hang_end();
        mine.seen_ns = now;
        return false;
    }
    passed = now - mine.seen_ns;
    mine.waited_ns += passed < hang.most_ns ? passed : hang.most_ns;
    mine.seen_ns = now;
    return mine.waited_ns >= hang.show_ns && (now - mine.shown_ns >= hang.show_ns || is_due());
}

bool stp_hang_slept(struct stp_wait *wait)
{
    wait->turns += STP_HANG_TURNS;
    return stp_hang_look(wait);
}

/* ---- the page ----------------------------------------------------------------------- */

static bool note_take(struct stp_wait_page *page)
{
    for (int i = 0; mine.note == 0 && i < STP_WAIT_NOTES; i++)
        /*
         * Pairs with the release store in stp_hang_end(), by the thread that had the note
         * before.
         */
        if (__atomic_exchange_n(&page->notes[i].taken, 1, __ATOMIC_ACQ_REL) == 0) mine.note = i + 1;
    return mine.note != 0;
}

/* Processes that read it compare the version before and after. */
static void note_write(struct stp_wait_page *page, const struct stp_wait_note *note)
{
    uint32_t *version = &page->notes[mine.note - 1].version;
    uint32_t before = *version;

    __atomic_store_n(version, before + 1, __ATOMIC_RELAXED);
    /* Pairs with the acquire fence in note_read(): the version is odd before the note changes. */
    __atomic_thread_fence(__ATOMIC_RELEASE);
    page->notes[mine.note - 1].note = *note;
    /* Pairs with the acquire load of version in note_read(). */
    __atomic_store_n(version, before + 2, __ATOMIC_RELEASE);
}

/* ---- the report ------------------------------------------------------------------------ */

/* Returns true for the first PE of the node that asks after this wait was shown. */
static bool claim(uint64_t now)
{
    uint64_t *told = stp_boot_hang_told();
    /* Pairs with the compare-and-swap below, by another PE of the node: one of them prints. */
    uint64_t last = __atomic_load_n(told, __ATOMIC_ACQUIRE);

    if (last > mine.first_shown_ns) return false;
    return __atomic_compare_exchange_n(told, &last, now, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

void stp_hang_show(struct stp_wait_note *note)
{
    int error = errno;
    uint64_t now = stp_now_ns();

    if (!enter()) return;
    note->waited_ns = mine.waited_ns;
    if (note_take(hang_page())) note_write(hang_page(), note);
    if (mine.first_shown_ns == 0) mine.first_shown_ns = now;
    mine.shown_ns = now;
    if (is_due()) {
        mine.told = true;
        if (claim(now)) stp_hang_report(mine.waited_ns);
    }
    leave();
    errno = error;
}

bool stp_hang_is_new(void)
{
    return mine.first_shown_ns == 0;
}

void stp_hang_start(void)
{
    uint64_t part;

    hang.limit_ns = stp_env.hang_report > 0 ? (uint64_t)stp_env.hang_report * SECOND_NS : 0;
    part = hang.limit_ns != 0 ? hang.limit_ns / 8 : SECOND_NS;
    hang.show_ns = part < SECOND_NS ? part : SECOND_NS;
    hang.most_ns = part + part / 2;
    if (hang.limit_ns != 0) stp_wait_sleep_ms = (int)(hang.show_ns / 1000000);
    /* Pairs with the load in enter(). */
    __atomic_store_n(&hang.on, true, __ATOMIC_SEQ_CST);
}

void stp_hang_stop(void)
{
    /* Pairs with enter(), which counts itself in looking and then reads on. */
    __atomic_store_n(&hang.on, false, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&hang.looking, __ATOMIC_SEQ_CST) != 0)
        stp_wait_yield();
}

/* ---- words --------------------------------------------------------------------------- */

const char *stp_hang_where(const void *addr, char *text, size_t len)
{
    size_t at;
    const struct stp_space *space = stp_registry_find(addr, &at);

    if (space != NULL && space->number == STP_SPACE_DATA && stp_symbol_global(addr, text, len))
        return text;
    if (space == NULL)
        snprintf(text, len, "%p", addr);
    else if (space->number == STP_SPACE_HEAP)
        snprintf(text, len, "heap+%#zx", at);
    else if (space->number == STP_SPACE_DATA)
        snprintf(text, len, "globals+%#zx", at);
    else
        snprintf(text, len, "space %u+%#zx", space->number, at);
    return text;
}

static void number_text(const struct stp_hang_vars *vars, uint64_t value, char *text, size_t len)
{
    unsigned unused = 64 - 8 * (unsigned)vars->size;

    if (vars->is_signed)
        snprintf(text, len, "%lld", (long long)((int64_t)(value << unused) >> unused));
    else
        snprintf(text, len, "%llu", (unsigned long long)(value << unused >> unused));
}

static void element_text(const struct stp_hang_vars *vars, char *text, size_t len)
{
    uint64_t now = 0;

    if (stp_win.devices)
        stp_load_slow(&now, (const char *)vars->vars + vars->i * vars->size, vars->size);
    else if (vars->size == sizeof(now))
        now = __atomic_load_n((const uint64_t *)vars->vars + vars->i, __ATOMIC_RELAXED);
    else if (vars->size == sizeof(uint32_t))
        now = __atomic_load_n((const uint32_t *)vars->vars + vars->i, __ATOMIC_RELAXED);
    else
        now = __atomic_load_n((const uint16_t *)vars->vars + vars->i, __ATOMIC_RELAXED);
    number_text(vars, now, text, len);
}

void stp_hang_vars(const char *fn, const struct stp_hang_vars *vars)
{
    static const char *const signs[] = {"", "<", "==", "<=", ">", "!=", ">=", ""};
    struct stp_wait_note note = {.before = -1};
    char where[96], now[24], value[24], index[24] = "";
    bool any = vars->i == SIZE_MAX;

    stp_hang_where((const char *)vars->vars + (any ? 0 : vars->i * vars->size), where,
                   sizeof(where));
    number_text(vars, vars->value, value, sizeof(value));
    if (any) {
        snprintf(note.text, sizeof(note.text), "%s: one of %zu from %s on to be %s %s",
                 stp_public_name(fn), vars->nelems, where, signs[vars->wanted & 7], value);
    } else {
        element_text(vars, now, sizeof(now));
        if (vars->nelems > 1) snprintf(index, sizeof(index), " (number %zu)", vars->i);
        snprintf(note.text, sizeof(note.text), "%s: %s%s is %s, to be %s %s", stp_public_name(fn),
                 where, index, now, signs[vars->wanted & 7], value);
    }
    stp_hang_show(&note);
}

void stp_hang_fabric(unsigned looks, int pe)
{
    const struct stp_wait wait = {.turns = looks * STP_HANG_TURNS};
    struct stp_wait_note note = {.before = pe};
    const char *routine;

    if (looks == 0) stp_hang_end();
    if (looks == 0 || !stp_hang_look(&wait)) return;
    routine = stp_symbol_routine();
    snprintf(note.text, sizeof(note.text), "%s, answers of other PEs",
             routine != NULL ? routine : "a call");
    stp_hang_show(&note);
}

void stp_hang_lock(const char *fn, const void *lock, int before)
{
    struct stp_wait_note note = {.before = before};
    char where[96];

    stp_hang_where(lock, where, sizeof(where));
    /* Where it is on all PEs: addresses of globals differ. */
    if (before >= 0) note.lock = stp_hash(STP_HASH_EMPTY, where, strlen(where)) | 1;
    snprintf(note.text, sizeof(note.text), "%s: lock %s%s", stp_public_name(fn), where,
             before >= 0 ? "" : ", for a PE that has begun to queue");
    stp_hang_show(&note);
}
