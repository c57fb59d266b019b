/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON strings, for reports. */
#ifndef STP_JSON_STRING_H
#define STP_JSON_STRING_H

#include <stdio.h>

/*
 * Write value as a JSON string, quotes and all. Any bytes give valid UTF-8: control characters and
 * bytes that are none are written as \u00XX.
 */
void stp_json_string(FILE *out, const char *value);

#endif /* STP_JSON_STRING_H */
