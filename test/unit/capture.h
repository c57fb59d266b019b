/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For unit tests that check messages: redirects standard error to a file for a while and reads the
 * file.
 */
#ifndef STP_TEST_CAPTURE_H
#define STP_TEST_CAPTURE_H

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

struct capture {
    FILE *file;
    int saved;
    char text[16384]; /* what was printed, after capture_end() */
};

static inline void capture_begin(struct capture *capture)
{
    capture->file = tmpfile();
    capture->saved = dup(STDERR_FILENO);
    if (!capture->file || capture->saved < 0 || dup2(fileno(capture->file), STDERR_FILENO) < 0)
        abort();
}

static inline void capture_end(struct capture *capture)
{
    ssize_t n = pread(fileno(capture->file), capture->text, sizeof(capture->text) - 1, 0);

    capture->text[n < 0 ? 0 : n] = '\0';
    dup2(capture->saved, STDERR_FILENO);
    close(capture->saved);
    fclose(capture->file);
}

/* The output that the last CAPTURE() of this test has caught. */
__attribute__((unused)) static struct capture said;

/* Runs a statement and catches what it prints. */
#define CAPTURE(statement)                                                                         \
    do {                                                                                           \
        capture_begin(&said);                                                                      \
        statement;                                                                                 \
        capture_end(&said);                                                                        \
    } while (0)

#define ck_said(words)                                                                             \
    ck_assert_msg(strstr(said.text, words) != NULL, "the text \"%s\" is not in the output: %s",    \
                  words, said.text)

#endif /* STP_TEST_CAPTURE_H */
