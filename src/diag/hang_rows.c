/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Builds and prints the table of waits from the rows of the PEs. PEs that wait for the same object
 * share a line. The last lines of the table list the PEs that do not wait. This file allocates no
 * memory, because a thread that hangs may hold the lock of the memory allocator.
 * Design: docs/design/hang.md.
 */
#include "hang_rows.h"

#include <stdio.h>
#include <string.h>

#define SECOND_NS UINT64_C(1000000000)
#define READ_ATTEMPTS 100 /* maximum number of attempts to read a note that keeps changing */

/* ---- reading ------------------------------------------------------------------------------ */

static bool note_read(const struct stp_wait_state_page *page, int i, struct stp_wait_state *note)
{
    for (int attempt = 0; attempt < READ_ATTEMPTS; attempt++) {
        /* Pairs with the release store of an even version in note_write(), in another process. */
        uint32_t version = __atomic_load_n(&page->notes[i].version, __ATOMIC_ACQUIRE);

        /* Pairs with the release store in stp_wait_end_slow() and the exchange in note_take(). */
        if (__atomic_load_n(&page->notes[i].in_use, __ATOMIC_ACQUIRE) == 0 || version == 0)
            return false;
        *note = page->notes[i].note;
        /*
         * Pairs with the release fence in note_write(). If a thread changed the note during the
         * copy, the version below differs from the version above.
         */
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (version % 2 == 0 &&
            version == __atomic_load_n(&page->notes[i].version, __ATOMIC_RELAXED)) {
            note->text[sizeof(note->text) - 1] = '\0';
            return true;
        }
        stp_cpu_relax();
    }
    return false;
}

char stp_process_state(pid_t pid)
{
    char path[48];

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    return stp_stat_state(path);
}

void stp_hang_table_add(struct stp_hang_table *table, int pe, char state,
                        const struct stp_wait_state_page *page)
{
    struct stp_wait_row row = {.pe = pe, .state = state, .is_waiting = true};
    size_t old_n = table->n;

    for (int i = 0; i < STP_WAIT_STATES; i++)
        if (note_read(page, i, &row.note)) table->rows[table->n++] = row;
    row.is_waiting = false;
    if (table->n == old_n) table->rows[table->n++] = row;
}

/* ---- printing ----------------------------------------------------------------------------- */

static bool is_member(const struct stp_wait_state *note, int pe)
{
    int rank;

    if (note->team_n_pes == 0 || note->team_stride == 0) return false;
    rank = (pe - note->team_start) / note->team_stride;
    return rank >= 0 && rank < note->team_n_pes &&
           note->team_start + rank * note->team_stride == pe;
}

static bool is_same_wait(const struct stp_wait_row *row, const struct stp_wait_state *note)
{
    return row->is_waiting && row->note.lock == note->lock &&
           strcmp(row->note.text, note->text) == 0;
}

static bool is_in_table(const struct stp_hang_table *table, int pe)
{
    for (size_t i = 0; i < table->n; i++)
        if (table->rows[i].pe == pe) return true;
    return false;
}

/*
 * Follows the queue of the lock from each PE to the PE before it. Returns the first PE that,
 * according to the table, does not wait for the lock. This PE holds the lock or is a PE of another
 * node.
 */
static int lock_owner(const struct stp_hang_table *table, const struct stp_wait_state *note)
{
    int pe = note->awaited_pe;

    for (size_t steps = 0; steps < table->n; steps++) {
        int previous = pe;

        for (size_t i = 0; i < table->n && previous == pe; i++)
            if (table->rows[i].pe == pe && table->rows[i].is_waiting &&
                table->rows[i].note.lock == note->lock)
                previous = table->rows[i].note.awaited_pe;
        if (previous == pe) break;
        pe = previous;
    }
    return pe;
}

static void print_missing(const struct stp_hang_table *table, const struct stp_wait_state *note)
{
    struct stp_pe_list list = {.first = -1};

    for (size_t i = 0, next; i < table->n; i = next) {
        const struct stp_wait_row *rows = table->rows;
        bool waits = false;

        for (next = i; next < table->n && rows[next].pe == rows[i].pe; next++)
            waits = waits || is_same_wait(&rows[next], note);
        if (!waits && is_member(note, rows[i].pe)) stp_pe_list_append(&list, rows[i].pe);
    }
    stp_pe_list_end(&list);
    if (list.len > 0) table->print_line("    missing in this collective: PE %s", list.text);
}

/*
 * Each PE in a line of the table may wait for a word that a PE of another node must write. Prints
 * these PEs of other nodes. `first` is the index of the line's first row.
 */
static void print_remote(const struct stp_hang_table *table, size_t first)
{
    const struct stp_wait_state *note = &table->rows[first].note;
    struct stp_pe_list list = {.first = -1};

    for (size_t i = first; i < table->n && note->lock == 0; i++)
        if (is_same_wait(&table->rows[i], note) && table->rows[i].note.awaited_pe >= 0)
            stp_pe_list_append(&list, table->rows[i].note.awaited_pe);
    stp_pe_list_end(&list);
    if (list.len > 0) table->print_line("    nothing has arrived from PE %s", list.text);
}

static void print_wait(struct stp_hang_table *table, size_t first)
{
    const struct stp_wait_state *note = &table->rows[first].note;
    struct stp_pe_list list = {.first = -1};
    uint64_t longest_ns = 0;
    char owner[32] = "";

    for (size_t i = first; i < table->n; i++) {
        if (!is_same_wait(&table->rows[i], note)) continue;
        table->rows[i].is_printed = true;
        stp_pe_list_append(&list, table->rows[i].pe);
        if (table->rows[i].note.waited_ns > longest_ns) longest_ns = table->rows[i].note.waited_ns;
    }
    stp_pe_list_end(&list);
    if (note->lock != 0) {
        int pe = lock_owner(table, note);
        snprintf(owner, sizeof(owner), ", %s PE %d",
                 is_in_table(table, pe) ? "held by" : "queued after", pe);
    }
    table->print_line("  PE %s: waiting for %llu s in %s%s", list.text,
                      (unsigned long long)(longest_ns / SECOND_NS), note->text, owner);
    print_remote(table, first);
    print_missing(table, note);
}

bool stp_wait_row_is_stopped(const struct stp_wait_row *row)
{
    return row->state == 'T' || row->state == 't';
}

/* Returns the state to print for the PE of a row, or NULL if the PE waits and is not stopped. */
static const char *class_of(const struct stp_hang_table *table, const struct stp_wait_row *row)
{
    if (stp_wait_row_is_stopped(row)) return "stopped by a signal or debugger";
    if (row->is_waiting) return NULL;
    if (!table->states) return "in the program";
    if (row->state == '\0' || row->state == 'Z' || row->state == 'X') return "ended";
    return row->state == 'R' ? "in the program, running" : "in the program, asleep";
}

static void print_class(const struct stp_hang_table *table, const char *class)
{
    struct stp_pe_list list = {.first = -1};

    for (size_t i = 0; i < table->n; i++) {
        const char *state_text = class_of(table, &table->rows[i]);

        if (state_text != NULL && strcmp(state_text, class) == 0)
            stp_pe_list_append(&list, table->rows[i].pe);
    }
    stp_pe_list_end(&list);
    if (list.len > 0) table->print_line("  PE %s: %s", list.text, class);
}

void stp_hang_table_print(struct stp_hang_table *table)
{
    static const char *const classes[] = {"in the program", "in the program, running",
                                          "in the program, asleep",
                                          "stopped by a signal or debugger", "ended"};

    for (size_t i = 0; i < table->n; i++)
        if (table->rows[i].is_waiting && !table->rows[i].is_printed) print_wait(table, i);
    for (size_t k = 0; k < STP_COUNT(classes); k++)
        print_class(table, classes[k]);
}
