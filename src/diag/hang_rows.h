/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of waits: who waits for what, who is missing. The hang report prints it, and oshrun, of
 * a running job; nothing here needs a PE. Design: docs/design/hang.md.
 */
#ifndef STP_HANG_ROWS_H
#define STP_HANG_ROWS_H

#include "base/wait_state_page.h"

#include <sys/types.h>

/* A thread of a PE that waits, or a PE that does not. */
struct stp_wait_row {
    int pe;
    char state; /* of its process: the letter of /proc; 0: there is no process */
    bool waits, said;
    struct stp_wait_state note; /* of a thread that waits */
};

struct stp_hang_table {
    struct stp_wait_row *rows; /* room for STP_WAIT_STATES a PE; ascending by PE */
    size_t n;
    bool states; /* print also which of the PEs that do not wait run, sleep or have ended */
    void (*say)(const char *fmt, ...) STP_PRINTF(1, 2);
};

/* The state of a process: 'R', 'S', 'T' and so on. 0: there is none. */
char stp_process_state(pid_t pid);

/* Add what a PE shows; it may change meanwhile. */
void stp_hang_table_add(struct stp_hang_table *table, int pe, char state,
                        const struct stp_wait_state_page *page);

/* Returns true for a process that a signal or a debugger has stopped. */
bool stp_wait_row_is_stopped(const struct stp_wait_row *row);

/* Say all: who waits for what, who is missing there, who does not wait. */
void stp_hang_table_print(struct stp_hang_table *table);

#endif /* STP_HANG_ROWS_H */
