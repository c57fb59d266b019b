/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What PEs show to their node, read into the rows of a table, and words for it. No memory of the
 * heap: its lock may be held by who hangs. Design: docs/design/hang.md.
 */
#include "base/notes.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define READS 100 /* of a note that changes all the time */

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

/* False: it is nowhere, or changes all the time. */
static bool seen_read(const struct stp_wait_page *page, struct stp_seen *seen)
{
    for (int reads = 0; reads < READS; reads++) {
        uint32_t version = __atomic_load_n(&page->last.version, __ATOMIC_ACQUIRE);

        if (version == 0) return false;
        *seen = page->last.seen;
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (version % 2 == 0 && version == __atomic_load_n(&page->last.version, __ATOMIC_RELAXED)) {
            seen->what[sizeof(seen->what) - 1] = '\0';
            return seen->at_ns != 0;
        }
        stp_cpu_relax();
    }
    return false;
}

char stp_process_state(pid_t pid)
{
    char path[48], text[256] = "";
    const char *state;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return '\0';
    if (read(fd, text, sizeof(text) - 1) < 0) text[0] = '\0';
    close(fd);
    state = strrchr(text, ')'); /* behind the name, which may have any characters */
    return state != NULL && state[1] == ' ' ? state[2] : '\0';
}

static struct stp_row *table_row(struct stp_table *table, int pe, char state,
                                 const struct stp_wait_page *page)
{
    struct stp_row *row = &table->rows[table->n++];

    row->pe = pe;
    row->state = state;
    row->waits = row->said = false;
    row->note = (struct stp_wait_note){.before = -1};
    row->ago_ns = STP_NEVER;
    if (seen_read(page, &row->seen)) {
        uint64_t now = stp_now_ns();
        row->ago_ns = now > row->seen.at_ns ? now - row->seen.at_ns : 0;
    }
    return row;
}

void stp_table_add(struct stp_table *table, int pe, char state, const struct stp_wait_page *page)
{
    size_t before = table->n;
    struct stp_wait_note note;

    for (int i = 0; i < STP_WAIT_NOTES; i++) {
        if (!note_read(page, i, &note)) continue;
        struct stp_row *row = table_row(table, pe, state, page);
        row->waits = true;
        row->note = note;
    }
    if (table->n == before) table_row(table, pe, state, page);
}

/* ---- words --------------------------------------------------------------------------- */

/* Who the members are: "the world", "the team of pes 0-6 by 2". */
static void team_text(const struct stp_seen *seen, char *text, size_t len)
{
    const char *what = seen->team == STP_SEEN_ACTIVE_SET ? "the active set" : "the team";

    if (seen->team == STP_SEEN_WORLD)
        snprintf(text, len, "the world");
    else if (seen->stride == 0)
        snprintf(text, len, "%s of %d pes from %d to %d", what, seen->n_pes, seen->first,
                 seen->last);
    else if (seen->stride != 1)
        snprintf(text, len, "%s of pes %d-%d by %d", what, seen->first, seen->last, seen->stride);
    else
        snprintf(text, len, "%s of pes %d-%d", what, seen->first, seen->last);
}

const char *stp_seen_text(const struct stp_seen *seen, char *text, size_t len)
{
    char count[24] = "", team[80];

    if (seen->count != 0) snprintf(count, sizeof(count), " %llu", (unsigned long long)seen->count);
    if (seen->team == STP_SEEN_NO_TEAM) {
        snprintf(text, len, "%s", seen->what);
        return text;
    }
    team_text(seen, team, sizeof(team));
    snprintf(text, len, "%s%s of %s", seen->what, count, team);
    return text;
}

/* ---- lists of PEs -------------------------------------------------------------------- */

void stp_list_close(struct stp_list *list)
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

void stp_list_add(struct stp_list *list, int pe)
{
    if (list->first >= 0 && pe == list->last) return;
    if (list->first >= 0 && pe == list->last + 1) {
        list->last = pe;
        return;
    }
    stp_list_close(list);
    list->first = list->last = pe;
}
