/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the two forms of a report. The text form indents each level by two spaces and aligns the
 * values in a column. The JSON form is one object. Its strings are escaped, so that any bytes from
 * the environment become valid UTF-8.
 */
#include "report.h"

#include "json/json_string.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STP_REPORT_COLUMN 22 /* column in which values start */
#define STP_REPORT_WIDTH 80  /* maximum width of prose */

/* Writes n bytes of text. Writes "?" for control characters, which can disturb a terminal. */
static void report_plain(FILE *out, const char *value, size_t n)
{
    for (; n > 0; n--, value++)
        fputc((unsigned char)*value < 0x20 || *value == 0x7f ? '?' : *value, out);
}

/*
 * Writes words, in lines of at most STP_REPORT_WIDTH columns. The first line begins in column
 * `column`. Each further line begins in column `indent`.
 */
static void report_wrap(struct stp_report *report, const char *words, int column, int indent)
{
    bool first = true;

    while (*words != '\0') {
        size_t n = strcspn(words, " ");

        if (!first && column + 1 + (int)n > STP_REPORT_WIDTH) {
            fprintf(report->out, "\n%*s", indent, "");
            column = indent;
        } else if (!first) {
            column += fprintf(report->out, " ");
        }
        report_plain(report->out, words, n);
        first = false;
        column += (int)n;
        words += n;
        words += strspn(words, " ");
    }
}

/* Writes the text that comes before a value or a group: the separator, the indent and the name. */
static void report_lead(struct stp_report *report, const char *name)
{
    int depth = report->depth;

    if (report->json) {
        fprintf(report->out, "%s\n%*s", report->is_empty[depth] ? "" : ",", 2 * depth + 2, "");
        if (!report->is_list[depth]) {
            stp_json_string(report->out, name);
            fputs(": ", report->out);
        }
    } else {
        fprintf(report->out, "%*s%s", 2 * depth, "", name);
    }
    report->is_empty[depth] = false;
}

/* Does the same as report_lead(). In a text report, also writes the padding before the value. */
static void report_name(struct stp_report *report, const char *name)
{
    int pad = STP_REPORT_COLUMN - 2 * report->depth - (int)strlen(name);

    report_lead(report, name);
    if (!report->json) fprintf(report->out, "%*s", pad > 1 ? pad : 1, "");
}

static void report_newline(struct stp_report *report)
{
    if (!report->json) fputc('\n', report->out);
}

static void report_push(struct stp_report *report, bool is_list)
{
    fputc(!report->json ? '\n' : is_list ? '[' : '{', report->out);
    report->depth++;
    report->is_list[report->depth] = is_list;
    report->is_empty[report->depth] = true;
}

int stp_report_open(struct stp_report *report, int fd, bool json)
{
    memset(report, 0, sizeof(*report));
    report->fd = fd;
    report->json = json;
    report->is_empty[0] = true;
    report->out = open_memstream(&report->text, &report->len);
    if (report->out == NULL) return -errno;
    if (json) fputc('{', report->out);
    return 0;
}

int stp_report_close(struct stp_report *report)
{
    int failed;

    if (report->json) fputs("\n}\n", report->out);
    failed = ferror(report->out);
    if (fclose(report->out) != 0) failed = 1;
    for (size_t n_written = 0; n_written < report->len && !failed;) {
        ssize_t n = write(report->fd, report->text + n_written, report->len - n_written);

        if (n > 0) n_written += (size_t)n;
        failed = n < 0 && errno != EINTR;
    }
    free(report->text);
    return failed ? -EIO : 0;
}

void stp_report_group(struct stp_report *report, const char *name)
{
    report_lead(report, name);
    report_push(report, false);
}

void stp_report_list(struct stp_report *report, const char *name)
{
    report_lead(report, name);
    report_push(report, true);
}

void stp_report_item(struct stp_report *report, const char *name, const char *title)
{
    int indent = 2 * report->depth;

    if (report->json) {
        stp_report_group(report, name);
        stp_report_text(report, name, title);
        return;
    }
    fprintf(report->out, "%*s", indent, "");
    report_wrap(report, title, indent, indent + 4);
    report_push(report, false);
}

void stp_report_end_group(struct stp_report *report)
{
    bool is_list = report->is_list[report->depth];
    bool is_empty = report->is_empty[report->depth];

    report->depth--;
    if (!report->json) return;
    if (!is_empty) fprintf(report->out, "\n%*s", 2 * report->depth + 2, "");
    fputc(is_list ? ']' : '}', report->out);
}

void stp_report_text(struct stp_report *report, const char *name, const char *value)
{
    report_name(report, name);
    if (value == NULL)
        fputs(report->json ? "null" : "-", report->out);
    else if (report->json)
        stp_json_string(report->out, value);
    else
        report_plain(report->out, value, strlen(value));
    report_newline(report);
}

void stp_report_textf(struct stp_report *report, const char *name, const char *fmt, ...)
{
    char *value = NULL;
    va_list args;

    va_start(args, fmt);
    if (vasprintf(&value, fmt, args) < 0) value = NULL;
    va_end(args);
    stp_report_text(report, name, value);
    free(value);
}

void stp_report_prose(struct stp_report *report, const char *name, const char *value)
{
    int column = 2 * report->depth + (int)strlen(name) + 1;

    if (report->json || value == NULL) {
        stp_report_text(report, name, value);
        return;
    }
    report_name(report, name);
    if (column < STP_REPORT_COLUMN) column = STP_REPORT_COLUMN;
    report_wrap(report, value, column, STP_REPORT_COLUMN);
    report_newline(report);
}

void stp_report_words(struct stp_report *report, const char *name, const char *const *words,
                      size_t n, unsigned mask)
{
    char line[128] = "";

    if (report->json) stp_report_list(report, name);
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(line);

        if ((mask >> i & 1) == 0) continue;
        if (report->json)
            stp_report_text(report, "", words[i]);
        else
            snprintf(line + len, sizeof(line) - len, "%s%s", len > 0 ? " " : "", words[i]);
    }
    if (report->json)
        stp_report_end_group(report);
    else
        stp_report_prose(report, name, line[0] != '\0' ? line : "none");
}

void stp_report_number(struct stp_report *report, const char *name, long long value)
{
    report_name(report, name);
    fprintf(report->out, "%lld", value);
    report_newline(report);
}

void stp_report_flag(struct stp_report *report, const char *name, bool value)
{
    report_name(report, name);
    if (report->json)
        fputs(value ? "true" : "false", report->out);
    else
        fputs(value ? "yes" : "no", report->out);
    report_newline(report);
}

void stp_report_bytes(struct stp_report *report, const char *name, size_t nbytes)
{
    char text[STP_SIZE_TEXT];

    report_name(report, name);
    if (!report->json)
        fputs(stp_size_text(nbytes, text), report->out);
    else if (nbytes == SIZE_MAX)
        fputs("null", report->out);
    else
        fprintf(report->out, "%zu", nbytes);
    report_newline(report);
}
