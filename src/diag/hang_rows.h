/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Builds the table of waits, which lists the PEs that wait, the objects of their waits, and the
 * missing PEs. The hang report and, for a running job, oshrun print the table. No function here
 * communicates with a PE. Design: docs/design/hang.md.
 */
#ifndef STP_HANG_ROWS_H
#define STP_HANG_ROWS_H

#include "base/wait_state_page.h"

#include <sys/types.h>

/* Waiting thread of a PE, or PE without a waiting thread. */
struct stp_wait_row {
    int pe;
    char state; /* state letter of the process in /proc, or 0 if the process has ended */
    bool waits, said;
    struct stp_wait_state note; /* note of the waiting thread */
};

struct stp_hang_table {
    struct stp_wait_row *rows; /* space for STP_WAIT_STATES rows per PE; ascending by PE */
    size_t n;
    bool states; /* whether PEs without a wait are printed as running, asleep or ended */
    void (*say)(const char *fmt, ...) STP_PRINTF(1, 2);
};

/* Returns the state of a process ('R', 'S', 'T' and so on), or 0 if it does not exist. */
char stp_process_state(pid_t pid);

/* Adds the rows that a PE shows. The page may change meanwhile. */
void stp_hang_table_add(struct stp_hang_table *table, int pe, char state,
                        const struct stp_wait_state_page *page);

/* Returns true for a process that a signal or a debugger has stopped. */
bool stp_wait_row_is_stopped(const struct stp_wait_row *row);

/* Prints the waits with their PEs, the PEs that are missing in each, and the PEs without a wait. */
void stp_hang_table_print(struct stp_hang_table *table);

#endif /* STP_HANG_ROWS_H */
