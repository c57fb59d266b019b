/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests how the library parses sizes in environment variables: exact to the byte, the same in every
 * locale, and with an error for a text that is not a size. CTest runs the program as unit.env_size.
 * The test of a locale with a decimal comma makes this locale with localedef(1).
 */
#include "base/base.h"
#include "unit.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void size_is(const char *text, size_t want)
{
    size_t bytes = 99;
    int rc = stp_env_parse_size(text, &bytes);

    ck_assert_msg(rc == 0 && bytes == want,
                  "parsing '%s' returned %d and %zu bytes, instead of 0 and %zu", text, rc, bytes,
                  want);
}

static void size_fails(const char *text, int rc)
{
    size_t bytes = 99;
    int got = stp_env_parse_size(text, &bytes);

    ck_assert_msg(got == rc && bytes == 99,
                  "parsing '%s' returned %d instead of %d, or changed the result: %zu", text, got,
                  rc, bytes);
}

static void check_examples(void)
{
    size_is("20m", 20971520);
    size_is("3.1M", 3250586);
    size_is(".5m", 524288);
    size_is("0.5m", 524288);
    size_is("20kk", 20480);
    size_is("20k", 20480);
}

TEST(sizes_of_the_standard)
{
    check_examples();
}

TEST(size_suffixes)
{
    size_is("0", 0);
    size_is("0g", 0);
    size_is("0.0", 0);
    size_is("1", 1);
    size_is("1k", 1024);
    size_is("1K", 1024);
    size_is("1m", 1048576);
    size_is("1M", 1048576);
    size_is("1g", 1073741824);
    size_is("1G", 1073741824);
    size_is("1t", 1099511627776);
    size_is("1T", 1099511627776);
    size_is("512mb", 536870912);
    size_is("512MiB of memory", 536870912);
    size_is("1k5", 1024);
    size_is("007", 7);
    size_is("+7", 7);
    size_is(" 7", 7);
    size_is("5.", 5);
    size_is("5.k", 5120);
}

TEST(size_rounds_up)
{
    size_is("1.1", 2);
    size_is("0.00001", 1);
    size_is("0.1k", 103);
    size_is("1.000", 1);
    size_is("2.5k", 2560);
    size_is("0.0009765625k", 1);
    size_is("0.00097656250001k", 2);
    /* More digits than a long double holds: the number is rounded first. */
    size_is("16777216.000000000000000000000001", 16777216);
    size_is("0.9999999999999999999999999999999k", 1024);
    size_is("4503599627370497.5k", 4611686018427389440);
}

TEST(size_exponents)
{
    size_is("1e3", 1000);
    size_is("1E3", 1000);
    size_is("1e+3k", 1024000);
    size_is("1.5e1", 15);
    size_is("1234.5e-2", 13);
    size_is("1500e-3k", 1536);
    size_is("123456e-6m", 129453);
    size_is("0.001e3", 1);
    size_is("0e999999999999999999999", 0);
    size_is("0.000e99", 0);
    size_is("1e-999999999999999999999", 1);
    size_is("0.0000000001e10", 1);
    size_is("12.5e0", 13);
    size_fails("1e", -EINVAL);
    size_fails("1e+", -EINVAL);
    size_fails("1ek", -EINVAL);
    size_fails("1e1e1", -EINVAL);
}

TEST(size_of_nothing_sensible)
{
    static const char *const wrong[] = {"",     " ",     ".",     "k",   ".k",   "-1",  "-0",
                                        "-5m",  "+",     "+-1",   "abc", "nan",  "inf", "infinity",
                                        "0x10", "0x1p4", "1.2.3", "1 k", "1,5m", "12x", "1_000",
                                        "1b",   "5%",    "1p",    "e5",  "512 "};

    for (size_t i = 0; i < STP_COUNT(wrong); i++)
        size_fails(wrong[i], -EINVAL);
}

TEST(size_limits)
{
    size_is("18446744073709551615", SIZE_MAX);
    size_is("16777215t", SIZE_MAX - (((size_t)1 << 40) - 1));
    size_is("16777215.999999999999t", SIZE_MAX);
    size_fails("18446744073709551616", -ERANGE);
    size_fails("18446744073709551615.9", -ERANGE);
    size_fails("16777216t", -ERANGE);
    size_fails("18014398509481984k", -ERANGE);
    size_fails("16777215.9999999999999999999t", -ERANGE);
    size_fails("1e20", -ERANGE);
    size_fails("1e999999999999999999999", -ERANGE);
    size_fails("999999999999999999999999999999999999999999999999999999", -ERANGE);
}

TEST(size_of_long_texts)
{
    enum { N = 100000 };
    char *text = malloc(N + 16);

    memset(text, '0', N);
    strcpy(text + N, "12k");
    size_is(text, 12288);
    text[1] = '.';
    size_is(text, 1);
    memset(text, '9', N);
    strcpy(text + N, "e-99999");
    size_is(text, 10);
    strcpy(text + N, "");
    size_fails(text, -ERANGE);
    free(text);
}

/*
 * In a locale that writes 3,1 the C library reads "3.1" as 3: such a locale is made here, and
 * used before it is trusted.
 */
TEST(size_in_a_locale_with_decimal_comma)
{
    char dir[] = "/tmp/steppe_test_env_XXXXXX";
    char command[512];
    size_t bytes;

    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(command, sizeof(command),
             "printf 'LC_NUMERIC\\ndecimal_point \",\"\\nthousands_sep \".\"\\ngrouping 3;3\\n"
             "END LC_NUMERIC\\n' >%s/source && localedef -c -i %s/source %s/comma >%s/log 2>&1",
             dir, dir, dir, dir);
    (void)!system(command); /* says 1 for the warnings about what the source leaves out */
    setenv("LOCPATH", dir, 1);
    ck_assert_msg(setlocale(LC_NUMERIC, "comma") != NULL,
                  "setlocale() rejects the locale that localedef(1) made");
    snprintf(command, sizeof(command), "rm -r %s", dir);
    ck_assert_int_eq(system(command), 0);

    ck_assert(strtod("3.1", NULL) == 3.0);
    check_examples();
    ck_assert_int_eq(stp_env_parse_size("3,1m", &bytes), -EINVAL);
    setlocale(LC_NUMERIC, "C");
}
