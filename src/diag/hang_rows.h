/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Builds the table of waits. The table lists the PEs that wait, the objects for which they wait,
 * and the PEs that have not reached the same collective. The hang report prints this table, and
 * oshrun prints it for a running job. These functions do not communicate with any PE. Design:
 * docs/design/hang.md.
 */
#ifndef STP_HANG_ROWS_H
#define STP_HANG_ROWS_H

#include "base/wait_state_page.h"

#include <sys/types.h>

/* Row of the table. It describes a waiting thread of a PE, or a PE without a waiting thread. */
struct stp_wait_row {
    int pe;
    char state; /* state letter of the process in /proc, or 0 if the process has ended */
    /*
     * The field `is_waiting` is true if a thread waits. `is_printed` is true if the row has been
     * printed.
     */
    bool is_waiting, is_printed;
    struct stp_wait_state note; /* note of the waiting thread */
};

struct stp_hang_table {
    /*
     * Rows in ascending order of the PEs. The array must have room for STP_WAIT_STATES rows per PE.
     */
    struct stp_wait_row *rows;
    size_t n;
    bool states; /* whether PEs without a wait are printed as running, asleep or ended */
    void (*print_line)(const char *fmt, ...) STP_PRINTF(1, 2);
};

/*
 * Returns the state letter of a process ('R', 'S', 'T' and so on), or 0 if the process does not
 * exist.
 */
char stp_process_state(pid_t pid);

/*
 * Adds one row for each wait in the page of a PE. If the page has no wait, adds one row for the PE.
 * The PE may change the page during the call.
 */
void stp_hang_table_add(struct stp_hang_table *table, int pe, char state,
                        const struct stp_wait_state_page *page);

/* Returns true if a signal or a debugger has stopped the process of this row. */
bool stp_wait_row_is_stopped(const struct stp_wait_row *row);

/*
 * Prints each wait, with the PEs that wait and the PEs that have not reached the collective. Then
 * prints the PEs that do not wait.
 */
void stp_hang_table_print(struct stp_hang_table *table);

#endif /* STP_HANG_ROWS_H */
