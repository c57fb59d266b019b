/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Builds the table of waits. The table lists the PEs that wait, the objects for which they wait,
 * and the PEs that have not come. The hang report prints this table, and oshrun prints it for a
 * running job. These functions do not communicate with any PE. Design: docs/design/hang.md.
 */
#ifndef STP_HANG_ROWS_H
#define STP_HANG_ROWS_H

#include "base/wait_state_page.h"

#include <sys/types.h>

/* Row of the table: a thread of a PE that waits, or a PE without such a thread. */
struct stp_wait_row {
    int pe;
    char state;       /* state letter of the process in /proc, or 0 if the process has ended */
    bool waits, said; /* whether a thread waits, and whether this row has been printed */
    struct stp_wait_state note; /* note of the waiting thread */
};

struct stp_hang_table {
    struct stp_wait_row *rows; /* rows by ascending PE, with room for STP_WAIT_STATES rows per PE */
    size_t n;
    bool states; /* whether PEs without a wait are printed as running, asleep or ended */
    void (*say)(const char *fmt, ...) STP_PRINTF(1, 2);
};

/* Returns the state letter of a process ('R', 'S', 'T' and so on), or 0 if it does not exist. */
char stp_process_state(pid_t pid);

/*
 * Adds a row for each wait in the page of a PE, or one row if there is no wait. The PE may change
 * the page during the call.
 */
void stp_hang_table_add(struct stp_hang_table *table, int pe, char state,
                        const struct stp_wait_state_page *page);

/* Returns true for a process that a signal or a debugger has stopped. */
bool stp_wait_row_is_stopped(const struct stp_wait_row *row);

/* Prints each wait with its PEs and the PEs that have not come, then the PEs without a wait. */
void stp_hang_table_print(struct stp_hang_table *table);

#endif /* STP_HANG_ROWS_H */
