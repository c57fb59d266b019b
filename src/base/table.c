/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of waits: PEs that wait for the same in one line, then those that do not wait. No
 * memory of the heap: its lock may be held by who hangs. Design: docs/design/hang.md.
 */
#include "base/notes.h"

#include <stdio.h>
#include <string.h>

#define PLACES_MOST 8 /* where PEs of one kind were seen last, before they share a line */
#define SECOND_NS UINT64_C(1000000000)

static bool is_member(const struct stp_wait_note *note, int pe)
{
    int rank;

    if (note->team_n_pes == 0 || note->team_stride == 0) return false;
    rank = (pe - note->team_start) / note->team_stride;
    return rank >= 0 && rank < note->team_n_pes &&
           note->team_start + rank * note->team_stride == pe;
}

static bool is_same(const struct stp_row *row, const struct stp_wait_note *note)
{
    return row->waits && row->note.lock == note->lock && strcmp(row->note.text, note->text) == 0;
}

static bool pe_waits_for(const struct stp_table *table, int pe, const struct stp_wait_note *note)
{
    for (size_t i = 0; i < table->n; i++)
        if (table->rows[i].pe == pe && is_same(&table->rows[i], note)) return true;
    return false;
}

static bool is_here(const struct stp_table *table, int pe)
{
    for (size_t i = 0; i < table->n; i++)
        if (table->rows[i].pe == pe) return true;
    return false;
}

/* From one that waits for the lock to the next in front of it, until one that does not wait. */
static int lock_owner(const struct stp_table *table, const struct stp_wait_note *note)
{
    int pe = note->before;

    for (size_t steps = 0; steps < table->n; steps++) {
        int before = pe;

        for (size_t i = 0; i < table->n && before == pe; i++)
            if (table->rows[i].pe == pe && table->rows[i].waits &&
                table->rows[i].note.lock == note->lock)
                before = table->rows[i].note.before;
        if (before == pe) break;
        pe = before;
    }
    return pe;
}

static void say_missing(const struct stp_table *table, const struct stp_wait_note *note)
{
    struct stp_list list = {.first = -1};

    for (size_t i = 0; i < table->n; i++)
        if (is_member(note, table->rows[i].pe) && !pe_waits_for(table, table->rows[i].pe, note))
            stp_list_add(&list, table->rows[i].pe);
    stp_list_close(&list);
    if (list.len > 0) table->say("    have not come: %s", list.text);
}

/* The PEs of other nodes whose words those that wait so need first. */
static void say_far(const struct stp_table *table, size_t first)
{
    const struct stp_wait_note *note = &table->rows[first].note;
    struct stp_list list = {.first = -1};

    for (size_t i = first; i < table->n && note->lock == 0; i++)
        if (is_same(&table->rows[i], note) && table->rows[i].note.before >= 0)
            stp_list_add(&list, table->rows[i].note.before);
    stp_list_close(&list);
    if (list.len > 0) table->say("    nothing has come from: %s", list.text);
}

static void say_wait(struct stp_table *table, size_t first)
{
    const struct stp_wait_note *note = &table->rows[first].note;
    struct stp_list list = {.first = -1};
    char owner[32] = "";

    for (size_t i = first; i < table->n; i++) {
        if (!is_same(&table->rows[i], note)) continue;
        table->rows[i].said = true;
        stp_list_add(&list, table->rows[i].pe);
    }
    stp_list_close(&list);
    if (note->lock != 0) {
        int pe = lock_owner(table, note);
        snprintf(owner, sizeof(owner), ", %s pe %d", is_here(table, pe) ? "held by" : "behind", pe);
    }
    table->say("  in %s%s: %s", note->text, owner, list.text);
    say_far(table, first);
    say_missing(table, note);
}

static bool is_stopped(const struct stp_row *row)
{
    return row->state == 'T' || row->state == 't';
}

static bool is_ended(const struct stp_row *row)
{
    return row->state == '\0' || row->state == 'Z' || row->state == 'X';
}

/* What a PE does that shows no wait, or is not able to show more. */
static const char *class_of(const struct stp_table *table, const struct stp_row *row)
{
    if (is_stopped(row)) return "stopped";
    if (row->waits) return NULL;
    if (!table->states) return "in the program";
    if (is_ended(row)) return "ended";
    return row->state == 'R' ? "in the program, running" : "in the program, asleep";
}

static bool is_of(const struct stp_table *table, const struct stp_row *row, const char *class)
{
    const char *is = class_of(table, row);

    return is != NULL && strcmp(is, class) == 0;
}

static void say_class(const struct stp_table *table, const char *class)
{
    struct stp_list list = {.first = -1};

    for (size_t i = 0; i < table->n; i++)
        if (is_of(table, &table->rows[i], class)) stp_list_add(&list, table->rows[i].pe);
    stp_list_close(&list);
    if (list.len > 0) table->say("  %s: %s", class, list.text);
}

/* ", last seen 70 s ago in sync 12 of the world". place: empty: in several. */
static void last_text(uint64_t least_ns, uint64_t most_ns, const char *place, char *text,
                      size_t len)
{
    unsigned long long least = least_ns / SECOND_NS, most = most_ns / SECOND_NS;
    char range[32] = "";

    if (least != most) snprintf(range, sizeof(range), "%llu to ", least);
    snprintf(text, len, ", last seen %s%llu s ago%s%s", range, most, place[0] != '\0' ? " in " : "",
             place);
}

/* Those of a class that were seen last where the first of them was; all: wherever. */
static void say_place(struct stp_table *table, size_t first, const char *class, bool all)
{
    const char *place = table->rows[first].note.text;
    bool nowhere = place[0] == '\0';
    struct stp_list list = {.first = -1};
    uint64_t least = UINT64_MAX, most = 0;
    char last[256] = "";

    for (size_t i = first; i < table->n; i++) {
        struct stp_row *row = &table->rows[i];

        if (row->said || !is_of(table, row, class)) continue;
        if (all && !nowhere ? row->note.text[0] == '\0' : strcmp(row->note.text, place) != 0)
            continue;
        row->said = true;
        stp_list_add(&list, row->pe);
        if (row->note.waited_ns < least) least = row->note.waited_ns;
        if (row->note.waited_ns > most) most = row->note.waited_ns;
    }
    stp_list_close(&list);
    if (!nowhere) last_text(least, most, all ? "" : place, last, sizeof(last));
    table->say("  %s%s: %s", class, last, list.text);
}

/* Where PEs of a class were seen last, in how many places; more than a few are not counted. */
static int count_places(const struct stp_table *table, const char *class)
{
    const char *places[PLACES_MOST + 1];
    int n = 0;

    for (size_t i = 0; i < table->n && n <= PLACES_MOST; i++) {
        bool known = false;

        if (!is_of(table, &table->rows[i], class)) continue;
        for (int k = 0; k < n; k++)
            known = known || strcmp(places[k], table->rows[i].note.text) == 0;
        if (!known) places[n++] = table->rows[i].note.text;
    }
    return n;
}

static void say_places(struct stp_table *table, const char *class)
{
    bool all = count_places(table, class) > PLACES_MOST;

    for (size_t i = 0; i < table->n; i++)
        if (!table->rows[i].said && is_of(table, &table->rows[i], class))
            say_place(table, i, class, all);
}

static void say_others(struct stp_table *table)
{
    static const char *const places[] = {"in the program", "in the program, running",
                                         "in the program, asleep"};

    for (size_t k = 0; k < STP_COUNT(places); k++)
        say_places(table, places[k]);
    say_class(table, "stopped");
    say_class(table, "ended");
}

/* Time in which this process was stopped does not count. */
static void leave_out_stops(struct stp_table *table)
{
    for (size_t i = 0; i < table->n; i++) {
        uint64_t *ago = &table->rows[i].ago_ns;

        if (*ago == STP_NEVER || *ago < table->stopped_ago_ns) continue;
        *ago -= *ago < table->stopped_ns ? *ago : table->stopped_ns;
    }
}

/* Whoever has waited for all members of a team until they came has seen them come. */
static bool has_seen(const struct stp_row *row, int pe)
{
    const struct stp_seen *seen = &row->seen;
    int rank;

    if (!seen->all || seen->stride == 0) return false;
    rank = (pe - seen->first) / seen->stride;
    return rank >= 0 && rank < seen->n_pes && seen->first + rank * seen->stride == pe;
}

/* Where PEs that do not wait were seen last, by themselves or by others. */
static void look_for_places(struct stp_table *table)
{
    for (size_t i = 0; i < table->n; i++) {
        struct stp_row *row = &table->rows[i];
        const struct stp_row *last = row;

        if (row->waits) continue;
        for (size_t k = 0; k < table->n; k++)
            if (table->rows[k].ago_ns < last->ago_ns && has_seen(&table->rows[k], row->pe))
                last = &table->rows[k];
        if (last->ago_ns == STP_NEVER) continue;
        row->note.waited_ns = last->ago_ns;
        stp_seen_text(&last->seen, row->note.text, sizeof(row->note.text));
    }
}

void stp_table_say(struct stp_table *table)
{
    leave_out_stops(table);
    look_for_places(table);
    for (size_t i = 0; i < table->n; i++)
        if (table->rows[i].waits && !table->rows[i].said) say_wait(table, i);
    say_others(table);
}
