/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Formats reasons, sizes and PE lists, searches word lists, reads small files, and computes hashes.
 */
#include "base/base.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HASH_PRIME 0x100000001b3u

const char *stp_size_text(size_t nbytes, char text[STP_SIZE_TEXT])
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)nbytes;
    size_t unit = 0;

    for (; value >= 1024 && unit + 1 < STP_COUNT(units); unit++)
        value /= 1024;
    if (nbytes == SIZE_MAX)
        snprintf(text, STP_SIZE_TEXT, "unlimited");
    else
        snprintf(text, STP_SIZE_TEXT, unit == 0 ? "%.0f %s" : "%.4g %s", value, units[unit]);
    return text;
}

int stp_reason(int rc, char *reason, size_t size, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(reason, size, fmt, args);
    va_end(args);
    return rc;
}

const char *stp_size_exact(size_t nbytes, char text[STP_SIZE_TEXT])
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;

    for (; nbytes != 0 && nbytes % 1024 == 0 && unit + 1 < STP_COUNT(units); unit++)
        nbytes /= 1024;
    snprintf(text, STP_SIZE_TEXT, "%zu %s", nbytes, units[unit]);
    return text;
}

bool stp_words_have(const char *list, const char *word)
{
    size_t len = strlen(word);

    for (const char *pos = list; pos != NULL; pos = strchr(pos, ',')) {
        pos += strspn(pos, ", ");
        if (strncmp(pos, word, len) == 0 && (pos[len] == ',' || pos[len] == '\0')) return true;
    }
    return false;
}

bool stp_in_path(const char *name)
{
    const char *path = getenv("PATH");
    char file[1024];

    while (path != NULL && *path != '\0') {
        size_t len = strcspn(path, ":");

        snprintf(file, sizeof(file), "%.*s/%s", (int)len, path, name);
        if (access(file, X_OK) == 0) return true;
        path += len + (path[len] == ':');
    }
    return false;
}

size_t stp_file_number(const char *path, const char *key)
{
    FILE *file = fopen(path, "re");
    unsigned long long value = 0;
    size_t number = SIZE_MAX, key_len = strlen(key);
    char line[256];

    if (file == NULL) return SIZE_MAX;
    while (number == SIZE_MAX && fgets(line, sizeof(line), file) != NULL)
        if (strncmp(line, key, key_len) == 0 && sscanf(line + key_len, "%llu", &value) == 1)
            number = value;
    fclose(file);
    return number;
}

size_t stp_file_read(const char *path, char *text, size_t len)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t nbytes = 0;
    ssize_t n = 1;

    while (fd >= 0 && n > 0 && nbytes < len - 1) {
        n = read(fd, text + nbytes, len - 1 - nbytes);
        if (n > 0) nbytes += (size_t)n;
    }
    if (fd >= 0) close(fd);
    text[nbytes] = '\0';
    return nbytes;
}

char stp_stat_state(const char *path)
{
    char text[256];
    const char *state;

    stp_file_read(path, text, sizeof(text));
    state = strrchr(text, ')'); /* end of the process name, which may itself contain ")" */
    return state != NULL && state[1] == ' ' ? state[2] : '\0';
}

int stp_ascending_find(const int *values, int n, int value)
{
    int low = 0, high = n - 1;

    while (low <= high) {
        int mid = low + (high - low) / 2;

        if (values[mid] == value) return mid;
        if (values[mid] < value)
            low = mid + 1;
        else
            high = mid - 1;
    }
    return -1;
}

uint64_t stp_hash(uint64_t hash, const void *data, size_t nbytes)
{
    const unsigned char *bytes = data;

    for (size_t i = 0; i < nbytes; i++)
        hash = (hash ^ bytes[i]) * HASH_PRIME;
    return hash;
}

void stp_pe_list_end(struct stp_pe_list *list)
{
    size_t room = sizeof(list->text) - list->len;
    int n = 0;

    if (list->first < 0) return;
    if (room > 32 && list->first == list->last)
        n = snprintf(list->text + list->len, room, "%s%d", list->len > 0 ? ", " : "", list->first);
    else if (room > 32)
        n = snprintf(list->text + list->len, room, "%s%d%s%d", list->len > 0 ? ", " : "",
                     list->first, list->last == list->first + 1 ? ", " : "-", list->last);
    else if (room > 8 && list->text[list->len - 1] != '.')
        n = snprintf(list->text + list->len, room, ", ...");
    list->len += (size_t)n;
    list->first = -1;
}

void stp_pe_list_append(struct stp_pe_list *list, int pe)
{
    if (list->first >= 0 && pe == list->last) return;
    if (list->first >= 0 && pe == list->last + 1) {
        list->last = pe;
        return;
    }
    stp_pe_list_end(list);
    list->first = list->last = pe;
}
