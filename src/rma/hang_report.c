/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of a hang: PEs that wait for the same in one line, then those that do not wait. Reads
 * what the PEs of the node show, and waits for nobody. No memory of the heap: its lock may be held
 * by who hangs. Design: docs/design/hang.md.
 */
#include "rma.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SECOND_NS UINT64_C(1000000000)
#define READS 100 /* of a note that changes all the time */
#define LIST_MOST 1024

/* A thread of a PE that waits, or a PE that does not. */
struct row {
    int pe;
    bool waits, stopped, said;
    struct stp_wait_note note;
};

struct table {
    struct row *rows;
    size_t n, most;
};

/* ---- reading -------------------------------------------------------------------------- */

static bool note_read(const struct stp_wait_page *page, int i, struct stp_wait_note *note)
{
    for (int reads = 0; reads < READS; reads++) {
        uint32_t version = __atomic_load_n(&page->notes[i].version, __ATOMIC_ACQUIRE);

        if (__atomic_load_n(&page->notes[i].taken, __ATOMIC_ACQUIRE) == 0 || version == 0)
            return false;
        *note = page->notes[i].note;
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

/* The letter behind the name in /proc/PID/stat. */
static bool is_stopped(pid_t pid)
{
    char path[48], text[256] = "";
    const char *state;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    if (read(fd, text, sizeof(text) - 1) < 0) text[0] = '\0';
    close(fd);
    state = strrchr(text, ')');
    return state != NULL && (state[1] == ' ') && (state[2] == 'T' || state[2] == 't');
}

static struct row *table_add(struct table *table, int pe)
{
    struct row *row = &table->rows[table->n++];

    row->pe = pe;
    return row;
}

static void table_fill(struct table *table)
{
    for (int local = 0; local < stp_boot_n_local(); local++) {
        const struct stp_wait_page *page = stp_boot_wait_page(local);
        int pe = stp_local_pe(local);
        size_t before = table->n;
        struct stp_wait_note note;

        for (int i = 0; i < STP_WAIT_NOTES; i++) {
            if (!note_read(page, i, &note)) continue;
            struct row *row = table_add(table, pe);
            row->waits = true;
            row->note = note;
        }
        if (table->n == before) {
            struct row *row = table_add(table, pe);
            row->stopped = is_stopped(stp_boot_pe_info(pe)->pid);
        }
    }
}

/* ---- lists of PEs -------------------------------------------------------------------- */

struct list {
    char text[LIST_MOST];
    size_t len;
    int first, last; /* of the range that is open; -1: none */
};

static void list_close(struct list *list)
{
    size_t room = sizeof(list->text) - list->len;
    int n = 0;

    if (list->first < 0) return;
    if (room > 32 && list->first == list->last)
        n = snprintf(list->text + list->len, room, "%s%d", list->len > 0 ? ", " : "", list->first);
    else if (room > 32)
        n = snprintf(list->text + list->len, room, "%s%d%s%d", list->len > 0 ? ", " : "",
                     list->first, list->last == list->first + 1 ? ", " : "-", list->last);
    else if (room > 8 && list->text[list->len - 1] != '.')
        n = snprintf(list->text + list->len, room, ", ...");
    list->len += (size_t)n;
    list->first = -1;
}

/* Ascending; one that is there already may come again. */
static void list_add(struct list *list, int pe)
{
    if (list->first >= 0 && pe == list->last) return;
    if (list->first >= 0 && pe == list->last + 1) {
        list->last = pe;
        return;
    }
    list_close(list);
    list->first = list->last = pe;
}

/* ---- saying -------------------------------------------------------------------------- */

static bool is_member(const struct stp_wait_note *note, int pe)
{
    int rank;

    if (note->team_n_pes == 0 || note->team_stride == 0) return false;
    rank = (pe - note->team_start) / note->team_stride;
    return rank >= 0 && rank < note->team_n_pes &&
           note->team_start + rank * note->team_stride == pe;
}

static bool is_same(const struct row *row, const struct stp_wait_note *note)
{
    return row->waits && row->note.lock == note->lock && strcmp(row->note.text, note->text) == 0;
}

static bool pe_waits_for(const struct table *table, int pe, const struct stp_wait_note *note)
{
    for (size_t i = 0; i < table->n; i++)
        if (table->rows[i].pe == pe && is_same(&table->rows[i], note)) return true;
    return false;
}

/* From one that waits for the lock to the next in front of it, until one that does not wait. */
static int lock_owner(const struct table *table, const struct stp_wait_note *note)
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

static void say_missing(const struct table *table, const struct stp_wait_note *note)
{
    struct list list = {.first = -1};

    for (size_t i = 0; i < table->n; i++)
        if (is_member(note, table->rows[i].pe) && !pe_waits_for(table, table->rows[i].pe, note))
            list_add(&list, table->rows[i].pe);
    list_close(&list);
    if (list.len > 0) stp_warn("    have not come: %s", list.text);
}

/* The PEs of other nodes whose words those that wait so need first. */
static void say_far(const struct table *table, size_t first)
{
    const struct stp_wait_note *note = &table->rows[first].note;
    struct list list = {.first = -1};

    for (size_t i = first; i < table->n && note->lock == 0; i++)
        if (is_same(&table->rows[i], note) && table->rows[i].note.before >= 0)
            list_add(&list, table->rows[i].note.before);
    list_close(&list);
    if (list.len > 0) stp_warn("    nothing has come from: %s", list.text);
}

static void say_wait(struct table *table, size_t first)
{
    const struct stp_wait_note *note = &table->rows[first].note;
    struct list list = {.first = -1};
    char owner[32] = "";

    for (size_t i = first; i < table->n; i++) {
        if (!is_same(&table->rows[i], note)) continue;
        table->rows[i].said = true;
        list_add(&list, table->rows[i].pe);
    }
    list_close(&list);
    if (note->lock != 0) {
        int pe = lock_owner(table, note);
        snprintf(owner, sizeof(owner), ", %s pe %d", stp_local_of(pe) < 0 ? "behind" : "held by",
                 pe);
    }
    stp_warn("  in %s%s: %s", note->text, owner, list.text);
    say_far(table, first);
    say_missing(table, note);
}

static void say_others(const struct table *table, bool stopped)
{
    struct list list = {.first = -1};

    for (size_t i = 0; i < table->n; i++)
        if (!table->rows[i].waits && table->rows[i].stopped == stopped)
            list_add(&list, table->rows[i].pe);
    list_close(&list);
    if (list.len > 0) stp_warn("  %s: %s", stopped ? "stopped" : "in the program", list.text);
}

void stp_hang_report(uint64_t waited_ns)
{
    struct table table = {.most = (size_t)stp_boot_n_local() * STP_WAIT_NOTES};
    size_t nbytes = table.most * sizeof(*table.rows);

    table.rows = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (table.rows == MAP_FAILED) return;
    table_fill(&table);
    stp_warn("a wait lasts for %llu s so far (SHMEM_HANG_REPORT); the PEs%s are",
             (unsigned long long)(waited_ns / SECOND_NS),
             stp_rt.n_nodes > 1 ? " of this node" : "");
    for (size_t i = 0; i < table.n; i++)
        if (table.rows[i].waits && !table.rows[i].said) say_wait(&table, i);
    say_others(&table, false);
    say_others(&table, true);
    munmap(table.rows, nbytes);
}
