/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes a report of nested groups and named values, as indented text for users or as one JSON
 * object for programs. oshinfo uses this writer. info.h declares the functions that write sections.
 */
#ifndef STP_REPORT_H
#define STP_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/base.h"

#define STP_REPORT_DEPTH 8 /* maximum depth of nested groups, counting the report itself */

struct stp_report {
    FILE *out; /* memory stream, whose text stp_report_close() writes to fd */
    char *text;
    size_t len;
    int fd;
    bool json;
    int depth;
    bool is_list[STP_REPORT_DEPTH];  /* whether the group at each depth is a JSON array */
    bool is_empty[STP_REPORT_DEPTH]; /* whether the group at each depth has no values yet */
};

/*
 * Begins a report that will be written to the descriptor fd. The caller closes fd. Only
 * stp_report_close() writes to fd, so that reports of several PEs do not mix. Returns 0 or -errno.
 */
int stp_report_open(struct stp_report *report, int fd, bool json);

/* Writes the report to fd and ends it. Returns 0, or -EIO if a write failed. */
int stp_report_close(struct stp_report *report);

/* Begins a group of values under a name. stp_report_end_group() ends the group. */
void stp_report_group(struct stp_report *report, const char *name);

/* Begins a list of items under a name. stp_report_end_group() ends each item and the list. */
void stp_report_list(struct stp_report *report, const char *name);

/*
 * Begins an item of a list. In JSON, the item is a group, and its first value is `title`, under the
 * given name. In text, `title` is the heading of the item.
 */
void stp_report_item(struct stp_report *report, const char *name, const char *title);

void stp_report_end_group(struct stp_report *report);

/*
 * The following functions write a value under a name. Text values may contain any bytes. The value
 * NULL is written as null in JSON and as "-" in text.
 */
void stp_report_text(struct stp_report *report, const char *name, const char *value);
void stp_report_textf(struct stp_report *report, const char *name, const char *fmt, ...)
    STP_PRINTF(3, 4);
/* Writes sentences. A text report breaks them at spaces into lines of at most 80 columns. */
void stp_report_prose(struct stp_report *report, const char *name, const char *value);
/*
 * Writes some of the n words, as a JSON list or as prose. Writes words[i] if bit i of mask is set.
 */
void stp_report_words(struct stp_report *report, const char *name, const char *const *words,
                      size_t n, unsigned mask);
void stp_report_number(struct stp_report *report, const char *name, long long value);
void stp_report_flag(struct stp_report *report, const char *name, bool value);

/*
 * Writes a size. In JSON, the size is a number, or null if it is SIZE_MAX. In text, it has a unit,
 * for example "1.5 GiB", or is "unlimited" if it is SIZE_MAX.
 */
void stp_report_bytes(struct stp_report *report, const char *name, size_t nbytes);

#endif /* STP_REPORT_H */
