/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fuzz target is a file fuzz_<name>.c with LLVMFuzzerTestOneInput(), which passes any bytes to
 * the code under test and checks what this code promises. libFuzzer calls the target
 * (STEPPE_FUZZ=ON), or replay.c does so with the files of a corpus. Design: docs/design/testing.md.
 */
#ifndef STP_TEST_FUZZ_H
#define STP_TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes);

/* What must hold; NDEBUG does not take it away. */
#define FUZZ_CHECK(condition)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: this condition does not hold: %s\n", __FILE__, __LINE__,       \
                    #condition);                                                                   \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* The bytes as a string in memory of exactly its size, to be freed: what reads past it is seen. */
static inline char *fuzz_string(const uint8_t *data, size_t nbytes)
{
    char *text = malloc(nbytes + 1);

    FUZZ_CHECK(text != NULL);
    if (nbytes > 0) memcpy(text, data, nbytes);
    text[nbytes] = '\0';
    return text;
}

/* Take n bytes off the front of the input; what it lacks is zero. */
static inline void fuzz_take(const uint8_t **data, size_t *nbytes, void *to, size_t n)
{
    size_t have = n < *nbytes ? n : *nbytes;

    memset(to, 0, n);
    if (have > 0) memcpy(to, *data, have);
    *data += have;
    *nbytes -= have;
}

#endif /* STP_TEST_FUZZ_H */
