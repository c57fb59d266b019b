/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads what PEs show to their node into the rows of a table, and writes lists of PEs. Allocates no
 * memory, because a thread that hangs may hold the lock of the heap. Design: docs/design/hang.md.
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
        /* Pairs with the release store of an even version in note_write(), by another process. */
        uint32_t version = __atomic_load_n(&page->notes[i].version, __ATOMIC_ACQUIRE);

        /* Pairs with the release store in stp_hang_end() and the exchange in note_take(). */
        if (__atomic_load_n(&page->notes[i].taken, __ATOMIC_ACQUIRE) == 0 || version == 0)
            return false;
        *note = page->notes[i].note;
        /* Pairs with the release fence in note_write(): a note that changes has another version. */
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

void stp_table_add(struct stp_table *table, int pe, char state, const struct stp_wait_page *page)
{
    struct stp_row row = {.pe = pe, .state = state, .waits = true};
    size_t before = table->n;

    for (int i = 0; i < STP_WAIT_NOTES; i++)
        if (note_read(page, i, &row.note)) table->rows[table->n++] = row;
    row.waits = false;
    if (table->n == before) table->rows[table->n++] = row;
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
