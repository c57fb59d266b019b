/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes a report of nested groups and named values, as indented text for people or as one JSON
 * object for programs. The writer of oshinfo; see info.h for what is reported.
 */
#ifndef STP_REPORT_H
#define STP_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/base.h"

#define STP_REPORT_DEPTH 8 /* groups inside groups */

struct stp_report {
    FILE *out; /* memory, written to fd at the end */
    char *text;
    size_t len;
    int fd;
    bool json;
    int depth;
    bool is_list[STP_REPORT_DEPTH]; /* by depth: a JSON array, else an object */
    bool is_empty[STP_REPORT_DEPTH];
};

/*
 * Begins a report for descriptor fd, which stays the caller's and is written to by close alone, so
 * that reports of several PEs do not mix. Returns 0 or -errno.
 */
int stp_report_open(struct stp_report *report, int fd, bool json);

/* Ends the report. Returns 0, or -EIO when anything could not be written. */
int stp_report_close(struct stp_report *report);

/* A group of values under a name; end with stp_report_end_group(). */
void stp_report_group(struct stp_report *report, const char *name);

/* A list under a name, of items; end each item and the list with stp_report_end_group(). */
void stp_report_list(struct stp_report *report, const char *name);

/* An item of a list: a group whose value `name` is title, which heads it in text. */
void stp_report_item(struct stp_report *report, const char *name, const char *title);

void stp_report_end_group(struct stp_report *report);

/* Values. Text may hold any bytes; NULL is JSON's null and "-" for people. */
void stp_report_text(struct stp_report *report, const char *name, const char *value);
void stp_report_textf(struct stp_report *report, const char *name, const char *fmt, ...)
    STP_PRINTF(3, 4);
/* A sentence or more, which text breaks at spaces so that lines stay below 80 columns. */
void stp_report_prose(struct stp_report *report, const char *name, const char *value);
/* Those of n words whose bit is set in mask: a JSON list, or prose for people. */
void stp_report_words(struct stp_report *report, const char *name, const char *const *words,
                      size_t n, unsigned mask);
void stp_report_number(struct stp_report *report, const char *name, long long value);
void stp_report_flag(struct stp_report *report, const char *name, bool value);

/* Bytes: a number in JSON, "1.5 GiB" for people; SIZE_MAX is null and "unlimited". */
void stp_report_bytes(struct stp_report *report, const char *name, size_t nbytes);

#endif /* STP_REPORT_H */
