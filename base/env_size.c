/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parses sizes in the syntax that the standard allows, for example 512m, 3.1M, .5g or 1e6. Numbers
 * are read by strtold_l() in the C locale, because the program may have set another locale.
 * Design: docs/design/base.md.
 */
#include "base/base.h"

#include <errno.h>
#include <float.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *letters;
    long double factor;
} suffixes[] = {{"kK", 0x1p10L}, {"mM", 0x1p20L}, {"gG", 0x1p30L}, {"tT", 0x1p40L}};

/*
 * Returns the factor for the character after a number. The letters k, m, g and t, in either case,
 * have the factors 2^10 to 2^40. Returns 1 at the end of the text, and 0 for any other character.
 */
static long double suffix_factor(char letter)
{
    if (letter == '\0') return 1;
    for (size_t i = 0; i < STP_COUNT(suffixes); i++)
        if (strchr(suffixes[i].letters, letter) != NULL) return suffixes[i].factor;
    return 0;
}

/*
 * Reads an unsigned decimal number from text. Sets *end to the first character after the number.
 * Returns 0, -EINVAL or -ENOMEM.
 */
static int read_number(const char *text, char **end, long double *number)
{
    locale_t c_locale;

    if (strspn(text, "0123456789.") == 0 || (text[0] == '0' && (text[1] | 32) == 'x'))
        return -EINVAL;
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (c_locale == (locale_t)0) return -ENOMEM;
    errno = 0;
    *number = strtold_l(text, end, c_locale);
    /*
     * If the number is too small for a long double, use a small positive number, so that the size
     * is rounded up to 1 byte and not to 0.
     */
    if (errno == ERANGE && *number < 1) *number = LDBL_MIN;
    freelocale(c_locale);
    return *end == text ? -EINVAL : 0;
}

int stp_env_parse_size(const char *text, size_t *bytes)
{
    long double number, factor;
    char *suffix;
    size_t rounded;
    int rc;

    text += strspn(text, " \t");
    rc = read_number(text + (*text == '+'), &suffix, &number);
    if (rc != 0) return rc;
    factor = suffix_factor(*suffix);
    if (factor == 0) return -EINVAL;
    number *= factor;
    if (number >= 0x1p64L) return -ERANGE;
    rounded = (size_t)number;
    if ((long double)rounded < number && ++rounded == 0) return -ERANGE;
    *bytes = rounded;
    return 0;
}
