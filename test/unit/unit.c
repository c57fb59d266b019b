/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Holds the suite of a program of unit tests, runs the suite, and defines the main() that programs
 * without a main() of their own use.
 */
#include "unit.h"

#include <errno.h>

#define SECONDS 100 /* for one test */

static Suite *suite;
static TCase *tests; /* the case to which tests are added */

void unit_case(const char *name, SFun setup, SFun teardown)
{
    if (suite == NULL) suite = suite_create(program_invocation_short_name);
    tests = tcase_create(name);
    tcase_set_timeout(tests, SECONDS);
    tcase_add_checked_fixture(tests, setup, teardown);
    suite_add_tcase(suite, tests);
}

void unit_once(SFun setup, SFun teardown)
{
    if (tests == NULL) unit_case("tests", NULL, NULL);
    tcase_add_unchecked_fixture(tests, setup, teardown);
}

void unit_add(const TTest *test, int signal, int first, int end)
{
    if (tests == NULL) unit_case("tests", NULL, NULL);
    tcase_add_loop_test_raise_signal(tests, test, signal, first, end);
}

int unit_run(void)
{
    SRunner *runner = srunner_create(suite);
    int n_failed;

    srunner_run_all(runner, CK_ENV);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? 0 : 2;
}

__attribute__((weak)) int main(void)
{
    return unit_run();
}
