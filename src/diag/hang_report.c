/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reports a hang. Reads the waits of this node's PEs from their wait state pages, so that no PE has
 * to reply. Each node decides by itself whether it reports. Design: docs/design/hang.md.
 */
#include "hang.h"

#include "hang_rows.h"
#include "rma/rma.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>

#define SECOND_NS UINT64_C(1000000000)
/*
 * Number of nodes that report every wait: node 0 and node 1. One is not enough, because PE 0 may be
 * missing.
 */
#define NODES_FIRST 2

static void STP_PRINTF(1, 2) report_line(const char *fmt, ...)
{
    char text[1400];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    stp_warn("%s", text);
}

static void add_node_rows(struct stp_hang_table *table)
{
    for (int local = 0; local < stp_boot_n_local(); local++) {
        int pe = stp_local_pe(local);

        stp_hang_table_add(table, pe, stp_process_state(stp_boot_local_pe_info(pe)->pid),
                           stp_boot_wait_state_page(local));
    }
}

/*
 * Returns whether this node must report. The first NODES_FIRST nodes report every hang. Another
 * node does not report if each of its PEs waits for an object for which PEs of all nodes wait,
 * because the first nodes then print these waits.
 */
static bool must_report(const struct stp_hang_table *table)
{
    if (stp_boot_node() < NODES_FIRST) return true;
    for (size_t i = 0; i < table->n; i++) {
        const struct stp_wait_row *row = &table->rows[i];

        if (!row->is_waiting || !row->note.all_nodes || stp_wait_row_is_stopped(row)) return true;
    }
    return false;
}

void stp_hang_report(uint64_t waited_ns)
{
    struct stp_hang_table table = {.print_line = report_line};
    size_t nbytes = (size_t)stp_boot_n_local() * STP_WAIT_STATES * sizeof(*table.rows);

    table.rows = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (table.rows == MAP_FAILED) return;
    add_node_rows(&table);
    if (must_report(&table)) {
        stp_warn("a wait has lasted for %llu s (SHMEM_HANG_REPORT sets this time); the job goes "
                 "on; state of the PEs%s:",
                 (unsigned long long)(waited_ns / SECOND_NS),
                 stp_rt.n_nodes > 1 ? " of this node" : "");
        stp_hang_table_print(&table);
    }
    munmap(table.rows, nbytes);
}
