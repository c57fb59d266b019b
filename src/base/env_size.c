/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sizes as the standard lets users write them: 512m, 3.1M, .5g, 1e6. Worked out on the
 * decimal digits themselves, so the result is exact and no locale has a say.
 * Design: docs/design/base.md.
 */
#include "base/base.h"

#include <errno.h>
#include <string.h>

/* Beyond it every number overflows or is less than one byte, whatever its digits. */
#define EXPONENT_CAP 1000000

/*
 * A decimal number: its digits from the first nonzero one on, and where the point belongs once
 * the exponent is applied: before digit number `point`, left or right of all digits as well.
 */
struct decimal {
    const char *text; /* the digits as written, at most one '.' among them */
    size_t n_digits;
    size_t written_point; /* digits of text before that '.', n_digits when there is none */
    long point;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Digit number i as if the number went on with zeros on both sides. */
static unsigned digit_at(const struct decimal *number, long i)
{
    if (i < 0 || (size_t)i >= number->n_digits) return 0;
    return (unsigned)(number->text[i + ((size_t)i >= number->written_point)] - '0');
}

/* Read an exponent ("e-3") at text; returns what follows it, text itself when there is none. */
static const char *parse_exponent(const char *text, long *exponent)
{
    const char *at = text;
    bool negative = false;
    long value = 0;

    if (*at != 'e' && *at != 'E') return text;
    at++;
    if (*at == '+' || *at == '-') negative = *at++ == '-';
    if (!is_digit(*at)) return text;
    for (; is_digit(*at); at++) {
        if (value < EXPONENT_CAP) value = value * 10 + (*at - '0');
    }
    *exponent = negative ? -value : value;
    return at;
}

/* Read the number at text; returns what follows it, NULL when there is no number. */
static const char *parse_decimal(const char *text, struct decimal *number)
{
    const char *at = text;
    bool after_dot = false;
    bool any = false;
    long exponent = 0;

    memset(number, 0, sizeof(*number));
    for (; is_digit(*at) || (*at == '.' && !after_dot); at++) {
        if (*at == '.') {
            after_dot = true;
            continue;
        }
        any = true;
        if (number->n_digits == 0 && *at == '0') {
            number->point -= after_dot;
            continue;
        }
        if (number->n_digits++ == 0) number->text = at;
        number->point += !after_dot;
        number->written_point += !after_dot;
    }
    if (!any) return NULL;
    /* A '.' before the first nonzero digit is not among the digits. */
    if (number->written_point == 0) number->written_point = number->n_digits;
    at = parse_exponent(at, &exponent);
    number->point += exponent;
    return at;
}

/* Whole bytes in the digits before the point, times factor. */
static int whole_bytes(const struct decimal *number, uint64_t factor, size_t *bytes)
{
    size_t sum = 0;

    for (long i = 0; i < number->point; i++) {
        if (__builtin_mul_overflow(sum, (size_t)10, &sum) ||
            __builtin_add_overflow(sum, digit_at(number, i), &sum))
            return -ERANGE;
    }
    return __builtin_mul_overflow(sum, (size_t)factor, bytes) ? -ERANGE : 0;
}

/*
 * Bytes in the digits after the point, times factor, rounded up: multiply digit by digit from
 * the right as on paper. What is carried past the point are whole bytes, any digit left a rest.
 */
static size_t fraction_bytes(const struct decimal *number, uint64_t factor)
{
    uint64_t carry = 0;
    bool rest = false;

    for (long i = (long)number->n_digits - 1; i >= number->point; i--) {
        uint64_t product = digit_at(number, i) * factor + carry;

        rest = rest || product % 10 != 0;
        carry = product / 10;
        /* Left of the first digit stand zeros only: without a carry nothing changes any more. */
        if (i <= 0 && carry == 0) break;
    }
    return (size_t)carry + rest;
}

/* The factor of the letter at text; 0 when it is none, 1 when the text ends here. */
static uint64_t suffix_factor(char letter)
{
    switch (letter) {
    case '\0':
        return 1;
    case 'k':
    case 'K':
        return UINT64_C(1) << 10;
    case 'm':
    case 'M':
        return UINT64_C(1) << 20;
    case 'g':
    case 'G':
        return UINT64_C(1) << 30;
    case 't':
    case 'T':
        return UINT64_C(1) << 40;
    default:
        return 0;
    }
}

int stp_env_parse_size(const char *text, size_t *bytes)
{
    struct decimal number;
    uint64_t factor;
    size_t whole = 0;
    const char *rest;

    while (*text == ' ' || *text == '\t')
        text++;
    if (*text == '+') text++;
    rest = parse_decimal(text, &number);
    if (!rest) return -EINVAL;
    factor = suffix_factor(*rest);
    if (factor == 0) return -EINVAL;
    if (number.n_digits > 0) {
        if (whole_bytes(&number, factor, &whole) != 0) return -ERANGE;
        if (__builtin_add_overflow(whole, fraction_bytes(&number, factor), &whole)) return -ERANGE;
    }
    *bytes = whole;
    return 0;
}
