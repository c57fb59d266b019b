/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target: sizes in environment variables. Input: any text. When strtold() reads the text too,
 * both values must agree.
 */
#include "fuzz.h"

#include "base/base.h"

#include <errno.h>

/* Compare numbers as both read them: strtold() knows more ways to write one, and no suffixes. */
static void compare(const char *text, int rc, size_t bytes)
{
    static const char suffixes[] = "kKmMgGtT";
    const char *rest = text + strspn(text, "0123456789.eE+-");
    const char *suffix = *rest != '\0' ? strchr(suffixes, *rest) : NULL;
    char *end;
    long double about = strtold(text, &end);

    if (end == text || end != rest || text[0] == '-' || rc == -EINVAL) return;
    if (suffix != NULL) about *= (long double)(UINT64_C(1) << ((suffix - suffixes) / 2 + 1) * 10);
    if (rc == -ERANGE) {
        FUZZ_CHECK(about > 1.8e19L);
        return;
    }
    FUZZ_CHECK((long double)bytes >= about * 0.999999999L);
    FUZZ_CHECK((long double)bytes <= about * 1.000000001L + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    char *text = fuzz_string(data, nbytes);
    size_t bytes = 4711;
    int rc = stp_env_parse_size(text, &bytes);

    FUZZ_CHECK(rc == 0 || rc == -EINVAL || rc == -ERANGE);
    FUZZ_CHECK(rc == 0 || bytes == 4711);
    compare(text, rc, bytes);
    free(text);
    return 0;
}
