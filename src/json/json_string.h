/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes JSON strings for reports. */
#ifndef STP_JSON_STRING_H
#define STP_JSON_STRING_H

#include <stdio.h>

/*
 * Writes value as a JSON string in quotes. The result is valid UTF-8 for any bytes. Control
 * characters and bytes that are not part of UTF-8 characters are written as \u00XX.
 */
void stp_json_string(FILE *out, const char *value);

#endif /* STP_JSON_STRING_H */
