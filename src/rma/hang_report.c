/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of a hang: reads what the PEs of the node show, and waits for nobody.
 * Design: docs/design/hang.md.
 */
#include "rma.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>

#define SECOND_NS UINT64_C(1000000000)

static void STP_PRINTF(1, 2) report_say(const char *fmt, ...)
{
    char text[1400];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    stp_warn("%s", text);
}

void stp_hang_report(const struct stp_hang_time *time, int unheard)
{
    struct stp_table table = {
        .say = report_say, .stopped_ns = time->stopped_ns, .stopped_ago_ns = time->stopped_ago_ns};
    size_t nbytes = (size_t)stp_boot_n_local() * STP_WAIT_NOTES * sizeof(*table.rows);
    char silent[64] = "";

    table.rows = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (table.rows == MAP_FAILED) return;
    for (int local = 0; local < stp_boot_n_local(); local++) {
        int pe = stp_local_pe(local);

        stp_table_add(&table, pe, stp_process_state(stp_boot_pe_info(pe)->pid),
                      stp_boot_wait_page(local));
    }
    if (unheard >= 0)
        snprintf(silent, sizeof(silent), "; pe %d does not answer, so each node tells", unheard);
    stp_warn("a wait lasts for %llu s so far (SHMEM_HANG_REPORT)%s; the PEs%s are",
             (unsigned long long)(time->waited_ns / SECOND_NS), silent,
             stp_rt.n_nodes > 1 ? " of this node" : "");
    stp_table_say(&table);
    munmap(table.rows, nbytes);
}

void stp_hang_report_rows(const struct stp_hang_time *time, struct stp_row *rows, size_t n,
                          const char *unknown)
{
    struct stp_table table = {.rows = rows,
                              .n = n,
                              .say = report_say,
                              .stopped_ns = time->stopped_ns,
                              .stopped_ago_ns = time->stopped_ago_ns};

    stp_warn("a wait lasts for %llu s so far (SHMEM_HANG_REPORT); the PEs are",
             (unsigned long long)(time->waited_ns / SECOND_NS));
    stp_table_say(&table);
    if (unknown[0] != '\0') stp_warn("  not known, their nodes do not answer: %s", unknown);
}
