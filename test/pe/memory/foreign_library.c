/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A library with globals, which are not symmetric. foreign.c links one copy of the library and
 * opens another copy.
 */

extern long *foreign_word(int zeroed);
extern const long *foreign_constant(void);

static long bss[4096], data[8] = {1};
static const long constant[8] = {2};

long *foreign_word(int zeroed)
{
    return zeroed ? &bss[4000] : data;
}

const long *foreign_constant(void)
{
    return constant;
}
