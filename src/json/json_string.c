/* SPDX-License-Identifier: BSD-3-Clause */
#include "json_string.h"

#include <stdint.h>

/*
 * Returns the length of the UTF-8 sequence at text. Returns 0 if the sequence is malformed or if
 * the string ends there.
 */
static int json_utf8_length(const unsigned char *text)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    int length = text[0] < 0x80 ? 1 : text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : 2;
    uint32_t code = text[0] & (length == 1 ? 0x7f : 0x7f >> length);

    if (text[0] == '\0' || (text[0] & 0xc0) == 0x80 || text[0] >= 0xf8) return 0;
    for (int i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80) return 0;
        code = code << 6 | (text[i] & 0x3f);
    }
    if (length > 1 && code < smallest[length]) return 0;
    return code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? length : 0;
}

void stp_json_string(FILE *out, const char *value)
{
    const unsigned char *next = (const unsigned char *)value;

    fputc('"', out);
    while (*next != '\0') {
        int length = json_utf8_length(next);

        if (length == 0 || *next < 0x20 || *next == 0x7f) {
            fprintf(out, "\\u%04x", *next++);
            continue;
        }
        if (*next == '"' || *next == '\\') fputc('\\', out);
        fwrite(next, 1, (size_t)length, out);
        next += length;
    }
    fputc('"', out);
}
