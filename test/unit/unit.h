/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The frame of unit tests. Each test adds itself to the suite of its program and runs in a process
 * of its own. A program that has no main() gets the one of unit.c, which runs all tests.
 */
#ifndef STP_TEST_UNIT_H
#define STP_TEST_UNIT_H

#include <check.h>

/* Starts a case, to which the next tests belong; setup and teardown run around each of them. */
void unit_case(const char *name, SFun setup, SFun teardown);
/* Runs setup and teardown once around all tests of the case, in the process of the program. */
void unit_once(SFun setup, SFun teardown);
/* Adds a test: it runs once for each _i from first to end - 1, and ends by the signal if not 0. */
void unit_add(const TTest *test, int signal, int first, int end);
/* Runs all tests. Returns the exit status of the program: 0, or 2 if a test has failed. */
int unit_run(void);

/* Constructors run in the order of their lines, because those without a priority have no order. */
#define UNIT_LINE(part) __attribute__((constructor(1000 + 2 * __LINE__ + (part))))

#define TEST_ADD(name, signal, first, end)                                                         \
    static const TTest *name;                                                                      \
    UNIT_LINE(1) static void unit_add_##name(void)                                                 \
    {                                                                                              \
        unit_add(name, signal, first, end);                                                        \
    }                                                                                              \
    START_TEST(name)

/*
 * TEST(name) { ... } is a test. TEST_LOOP runs it once for each _i from first to end - 1.
 * TEST_SIGNAL expects that the signal ends it.
 */
#define TEST(name) TEST_ADD(name, 0, 0, 1)
#define TEST_LOOP(name, first, end) TEST_ADD(name, 0, first, end)
#define TEST_SIGNAL(name, signal) TEST_ADD(name, signal, 0, 1)

/* As unit_case(). Each function may be NULL. */
#define TEST_CASE(name, setup, teardown)                                                           \
    UNIT_LINE(0) static void unit_case_##name(void)                                                \
    {                                                                                              \
        unit_case(#name, setup, teardown);                                                         \
    }

/* As unit_once(). */
#define TEST_ONCE(setup, teardown)                                                                 \
    UNIT_LINE(1) static void unit_once_##setup(void)                                               \
    {                                                                                              \
        unit_once(setup, teardown);                                                                \
    }

#endif /* STP_TEST_UNIT_H */
