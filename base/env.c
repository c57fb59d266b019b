/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Defines every environment variable of Steppe in one table. The parser, oshinfo and the generator
 * of the manual read this table. If a variable has a wrong value, the library reports an error. It
 * never silently uses the default instead. Design: docs/design/base.md.
 */
#include "base/base.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const pmi_words[] = {
    [STP_PMI_AUTO] = "auto",     [STP_PMI_1] = "1",    [STP_PMI_2] = "2",
    [STP_PMI_SINGLE] = "single", [STP_PMI_X] = "pmix", NULL,
};

static const char *const isa_words[] = {
    [STP_ISA_AUTO] = "auto",
    [STP_ISA_BASE] = "base",
    [STP_ISA_AVX2] = "avx2",
    [STP_ISA_AVX512] = "avx512",
    NULL,
};

#define KIND_WORD(NAME, name) #name,
static const char *const kind_words[] = {STP_KINDS(KIND_WORD) NULL};

static const char *const true_words[] = {"on", "yes", "true", "1", NULL};
static const char *const false_words[] = {"off", "no", "false", "0", NULL};

struct stp_env stp_env;

#define FIELD(name) offsetof(struct stp_env, name)
#define KIND_FIELD(member, NAME) FIELD(member[STP_DEVICE_##NAME])

/* clang-format off */
#define KIND_ENABLE(NAME, name) \
    {"SHMEM_ENABLE_" #NAME "", NULL, STP_ENV_BOOL, KIND_FIELD(kind_enabled, NAME), "off", NULL, \
     "create the space SHMEM_SPACE_" #NAME " at start"},
#define KIND_SIZE(NAME, name) \
    {"SHMEM_" #NAME "_SYMMETRIC_SIZE", NULL, STP_ENV_SIZE, KIND_FIELD(kind_size, NAME), "64m", \
     NULL, "bytes of SHMEM_SPACE_" #NAME " on each PE"},
/* clang-format on */

const struct stp_env_row stp_env_table[] = {
    {"SHMEM_VERSION", "SMA_VERSION", STP_ENV_PRESENT, FIELD(version), NULL, NULL,
     "print the version of Steppe at start"},
    {"SHMEM_INFO", "SMA_INFO", STP_ENV_PRESENT, FIELD(info), NULL, NULL,
     "print the environment variables of Steppe at start"},
    {"SHMEM_DEBUG", "SMA_DEBUG", STP_ENV_PRESENT, FIELD(debug), NULL, NULL,
     "print debugging messages"},
    {"SHMEM_SYMMETRIC_SIZE", "SMA_SYMMETRIC_SIZE", STP_ENV_GROWTH, FIELD(symmetric), "512m", NULL,
     "bytes of the symmetric heap of each PE; 512m:64g: the heap may grow to 64g; 0: no heap"},
    {"SHMEM_WARN", NULL, STP_ENV_BOOL, FIELD(warn), "on", NULL,
     "print warnings, such as for the first allocation that does not fit; off: print only errors"},
    {"SHMEM_CHECK", NULL, STP_ENV_BOOL, FIELD(check), "off", NULL,
     "perform the argument checks that cost time"},
    {"SHMEM_CRASH", NULL, STP_ENV_BOOL, FIELD(crash), "on", NULL,
     "print where and why a signal kills a PE; off: do not handle such signals"},
    {"SHMEM_NODE", NULL, STP_ENV_BOOL, FIELD(node), "on", NULL,
     "use loads and stores between the PEs of a node; off: send everything through libfabric"},
    {"SHMEM_WINDOW_SIZE", NULL, STP_ENV_SIZE, FIELD(window_size), "0", NULL,
     "bytes of address space to reserve for the symmetric memory of each PE; 0: automatic"},
    {"SHMEM_SPIN", NULL, STP_ENV_INT, FIELD(spin), "-1", NULL,
     "number of polls before a wait yields the core; -1: automatic"},
    {"SHMEM_ISA", NULL, STP_ENV_CHOICE, FIELD(isa), "auto", isa_words,
     "widest vector instructions for reductions; auto: the widest that the processor has"},
    {"SHMEM_COLL_TABLE", NULL, STP_ENV_STRING, FIELD(coll_table), NULL, NULL,
     "file with the algorithms for collectives between nodes; PE 0 reads this file"},
    {"SHMEM_PMI", NULL, STP_ENV_CHOICE, FIELD(pmi), "auto", pmi_words,
     "protocol between the PEs and the launcher"},
    {"SHMEM_LAUNCHER", NULL, STP_ENV_STRING, FIELD(launcher), NULL, NULL,
     "command with which oshrun starts the PEs"},
    {"SHMEM_OFI_PROVIDER", NULL, STP_ENV_STRING, FIELD(ofi_provider), NULL, NULL,
     "libfabric provider to use; unset: the best provider that works"},
    {"SHMEM_OFI_FABRIC", NULL, STP_ENV_STRING, FIELD(ofi_fabric), NULL, NULL,
     "libfabric fabric to use; unset: any fabric"},
    {"SHMEM_OFI_DOMAIN", NULL, STP_ENV_STRING, FIELD(ofi_domain), NULL, NULL,
     "libfabric domain to use; unset: any domain"},
    {"SHMEM_OFI_INTERFACE", NULL, STP_ENV_STRING, FIELD(ofi_interface), NULL, NULL,
     "network interface (eth0) or subnet (10.1.0.0/16) to use; unset: one that reaches all hosts"},
    {"SHMEM_OFI_BOUNCE_SIZE", NULL, STP_ENV_SIZE, FIELD(ofi_bounce_size), "8k", NULL,
     "size in bytes of the largest put whose data is copied, so that the put returns at once"},
    {"SHMEM_OFI_PROGRESS_THREAD", NULL, STP_ENV_BOOL, FIELD(ofi_progress_thread), "on", NULL,
     "run a thread that serves other PEs while the program computes"},
    {"SHMEM_PEER_TIMEOUT", NULL, STP_ENV_INT, FIELD(peer_timeout), "30", NULL,
     "seconds of silence after which a host counts as dead and the job ends; 0: never"},
    {"SHMEM_HANG_REPORT", NULL, STP_ENV_INT, FIELD(hang_report), "60", NULL,
     "seconds after which a wait is reported, with its PEs and its condition; 0: never"},
    {"SHMEM_OFI_ENDPOINTS", NULL, STP_ENV_INT, FIELD(ofi_endpoints), "-1", NULL,
     "number of endpoints for private and serialized contexts, at most 64; -1: the library "
     "creates endpoints if they are cheap with this provider"},
    {"SHMEM_SPACES_TABLE", NULL, STP_ENV_BOOL, FIELD(spaces_table), "off", NULL,
     "PE 0 prints its table of memory spaces after each shmem_space_create()"},
    {"SHMEM_DEFAULT_SPACE", NULL, STP_ENV_CHOICE, FIELD(default_space), "cpu", kind_words,
     "kind of memory of the default space"},
    /* clang-format off */
    STP_KINDS(KIND_ENABLE)
    STP_KINDS(KIND_SIZE)
    /* clang-format on */
    {"SHMEM_GPU", NULL, STP_ENV_BOOL, FIELD(gpu), "on", NULL,
     "look for GPUs at start; off: this PE uses no GPU"},
    {"SHMEM_GPU_DEVICE", NULL, STP_ENV_INT, FIELD(gpu_device), "-1", NULL,
     "ordinal of the GPU that this PE uses; -1: the library selects a GPU by locality"},
    {"SHMEM_GPU_IPC", NULL, STP_ENV_BOOL, FIELD(gpu_ipc), "on", NULL,
     "map the GPU memory of other PEs of the node; off: proxy threads of these PEs copy the data"},
    {"SHMEM_GPU_REDUCE", NULL, STP_ENV_BOOL, FIELD(gpu_reduce), "on", NULL,
     "run reductions and scans of GPU memory on the GPU if one device reaches all operands; off: "
     "on the host"},
    {"SHMEM_PIN_HEAP", NULL, STP_ENV_BOOL, FIELD(pin_heap), "off", NULL,
     "pin the symmetric heap for GPU kernels; this makes the heap resident and creates a CUDA "
     "context"},
    {"SHMEM_STREAM_WAITS", NULL, STP_ENV_COUNT, FIELD(stream_waits), "8", NULL,
     "number of streams of a PE that may wait at the same time for a condition"},
    {"SHMEM_FAM_PATH", NULL, STP_ENV_STRING, FIELD(fam_path), NULL, NULL,
     "directory, file or DAX device of fabric-attached memory"},
};

const size_t stp_env_n_rows = STP_COUNT(stp_env_table);

/* Converts an ASCII letter to lower case. The result must not depend on the user's locale. */
static char to_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool same_word(const char *a, const char *b)
{
    while (*a != '\0' && to_lower(*a) == to_lower(*b)) {
        a++;
        b++;
    }
    return *a == '\0' && *b == '\0';
}

/* Returns the index of text in the NULL-terminated array words, or -1 if text is not in words. */
static int word_find(const char *const *words, const char *text)
{
    for (int i = 0; words[i]; i++) {
        if (same_word(words[i], text)) return i;
    }
    return -1;
}

static int parse_bool(const char *text, bool *value)
{
    bool on = word_find(true_words, text) >= 0;

    if (!on && word_find(false_words, text) < 0) return -EINVAL;
    *value = on;
    return 0;
}

static int parse_int(const char *text, long min, int *value)
{
    char *end;
    long number;

    errno = 0;
    number = strtol(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || number < min || number > INT_MAX)
        return -EINVAL;
    *value = (int)number;
    return 0;
}

#define SIZE_TEXT 64 /* size of the buffer into which the text before the colon is copied */

/*
 * Parses one size, or two sizes separated by a colon. The second size must not be less than the
 * first.
 */
static int parse_growth(const char *text, struct stp_env_growth *value)
{
    const char *colon = strchr(text, ':');
    struct stp_env_growth growth;
    char first[SIZE_TEXT];
    int rc;

    if (colon == NULL) {
        rc = stp_env_parse_size(text, &growth.size);
        growth.max = growth.size;
    } else {
        if ((size_t)(colon - text) >= sizeof(first) || strchr(colon + 1, ':') != NULL)
            return -EINVAL;
        snprintf(first, sizeof(first), "%.*s", (int)(colon - text), text);
        rc = stp_env_parse_size(first, &growth.size);
        if (rc == 0) rc = stp_env_parse_size(colon + 1, &growth.max);
        if (rc == 0 && growth.max < growth.size) rc = -EINVAL;
    }
    if (rc == 0) *value = growth;
    return rc;
}

static int parse_choice(const char *const *words, const char *text, int *value)
{
    int index = word_find(words, text);

    if (index < 0) return -EINVAL;
    *value = index;
    return 0;
}

/*
 * Stores a copy of text in *value, because the program may change its environment later. Stores
 * NULL if text is NULL or empty.
 */
static int parse_string(const char *text, const char **value)
{
    char *copy = NULL;

    if (text && text[0] != '\0') {
        copy = strdup(text);
        if (!copy) return -ENOMEM;
    }
    free((void *)(uintptr_t)*value);
    *value = copy;
    return 0;
}

/*
 * Parses text and stores the value in the row's field of stp_env. text is NULL if the variable has
 * neither a value nor a default.
 */
static int row_parse(const struct stp_env_row *row, const char *text)
{
    void *value = (char *)&stp_env + row->offset;

    switch (row->kind) {
    case STP_ENV_PRESENT:
        *(bool *)value = text != NULL;
        return 0;
    case STP_ENV_BOOL:
        return parse_bool(text, value);
    case STP_ENV_INT:
        return parse_int(text, -1, value);
    case STP_ENV_COUNT:
        return parse_int(text, 1, value);
    case STP_ENV_SIZE:
        return stp_env_parse_size(text, value);
    case STP_ENV_GROWTH:
        return parse_growth(text, value);
    case STP_ENV_STRING:
        return parse_string(text, value);
    case STP_ENV_CHOICE:
        return parse_choice(row->words, text, value);
    }
    return -EINVAL;
}

/* Returns a description, for error messages, of the values that the row's variable accepts. */
static const char *row_expected_text(const struct stp_env_row *row, char *buf, size_t len)
{
    size_t used = 0;

    switch (row->kind) {
    case STP_ENV_BOOL:
        return "on or off (or yes and no, true and false, 1 and 0)";
    case STP_ENV_INT:
        return "a whole number of at least 0, or -1";
    case STP_ENV_COUNT:
        return "a whole number of at least 1";
    case STP_ENV_SIZE:
        return "a number of bytes, optionally with the suffix k, m, g or t (powers of 1024), such "
               "as 512m or 1.5g";
    case STP_ENV_GROWTH:
        return "a number of bytes, optionally with the suffix k, m, g or t (powers of 1024), such "
               "as 512m, or an initial size and a maximum that is not smaller, such as 512m:64g";
    case STP_ENV_CHOICE:
        for (int i = 0; row->words[i] && used < len; i++) {
            used += (size_t)snprintf(buf + used, len - used, "%s%s", i == 0 ? "one of: " : ", ",
                                     row->words[i]);
        }
        return buf;
    case STP_ENV_PRESENT:
    case STP_ENV_STRING:
        break;
    }
    return "any text";
}

/*
 * Returns the value of the row's variable in the environment, or NULL if the variable is unset.
 * Sets *name to row->alias if the function has read the alias, and to row->name otherwise.
 */
static const char *row_getenv(const struct stp_env_row *row, const char **name)
{
    const char *text = getenv(row->name);

    *name = row->name;
    if (!text && row->alias) {
        text = getenv(row->alias);
        *name = row->alias;
    }
    return text;
}

static int row_load(const struct stp_env_row *row)
{
    const char *name;
    const char *text = row_getenv(row, &name);
    char expected[128];
    int rc = row_parse(row, row->fallback);

    if (rc == 0 && text) rc = row_parse(row, text);
    if (rc == -ENOMEM)
        stp_error("out of memory: cannot store the value of %s", name);
    else if (rc == -ERANGE)
        stp_error("%s is '%.64s': the size exceeds 2^64 bytes; expected %s", name, text,
                  row_expected_text(row, expected, sizeof(expected)));
    else if (rc != 0)
        stp_error("%s is '%.64s': expected %s", name, text,
                  row_expected_text(row, expected, sizeof(expected)));
    return rc;
}

int stp_env_load(void)
{
    int rc = 0;

    for (size_t i = 0; i < stp_env_n_rows; i++) {
        if (row_load(&stp_env_table[i]) != 0) rc = -EINVAL;
    }
    return rc;
}

/* ---- unknown variables ------------------------------------------------------------- */

#define NAME_MOST 40 /* names with more characters than this are not compared with known names */

/* Variables that are not in the table, because only the commands oshcc and oshc++ read them. */
static const char *const command_names[] = {"SHMEM_CC", "SHMEM_CXX", NULL};

unsigned stp_name_distance(const char *a, size_t a_len, const char *b)
{
    unsigned row[NAME_MOST + 1];
    size_t b_len = strlen(b);

    if (a_len > NAME_MOST || b_len > NAME_MOST) return NAME_MOST;
    for (size_t j = 0; j <= b_len; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; i <= a_len; i++) {
        unsigned diagonal = row[0];

        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_len; j++) {
            unsigned change = diagonal + (a[i - 1] != b[j - 1]), add = row[j - 1] + 1;

            diagonal = row[j];
            row[j] = row[j] + 1 < add ? row[j] + 1 : add;
            if (change < row[j]) row[j] = change;
        }
    }
    return row[b_len];
}

/*
 * Returns the known variable name that is most similar to name, which has len characters. Sets
 * *distance to the edit distance of the two names, or to 0 if name itself is a known variable.
 */
static const char *name_nearest(const char *name, size_t len, unsigned *distance)
{
    const char *nearest = "";

    *distance = NAME_MOST;
    for (size_t i = 0; i < 2 * stp_env_n_rows; i++) {
        const struct stp_env_row *row = &stp_env_table[i / 2];
        const char *known = i % 2 == 0 ? row->name : row->alias;
        unsigned n = known != NULL ? stp_name_distance(name, len, known) : NAME_MOST;

        if (n >= *distance) continue;
        *distance = n;
        nearest = known;
    }
    for (size_t i = 0; command_names[i] != NULL; i++)
        if (strlen(command_names[i]) == len && strncmp(command_names[i], name, len) == 0)
            *distance = 0;
    return nearest;
}

const char *stp_env_unknown(size_t *position, char *name, size_t len)
{
    while (environ != NULL && environ[*position] != NULL) {
        const char *text = environ[(*position)++], *nearest;
        size_t n = strcspn(text, "=");
        unsigned distance;

        if (strncmp(text, "SHMEM_", 6) != 0 && strncmp(text, "SMA_", 4) != 0) continue;
        nearest = name_nearest(text, n, &distance);
        if (distance == 0) continue;
        snprintf(name, len, "%.*s", (int)n, text);
        return distance <= n / 3 ? nearest : "";
    }
    return NULL;
}

/*
 * Logs a warning if the row's variable is a size with text after the suffix, such as 1gg, which the
 * standard says to ignore (8). 1gb and 1GiB are usual and cause no warning.
 */
static void row_warn_ignored(const struct stp_env_row *row)
{
    const char *name, *text = row_getenv(row, &name), *suffix;

    if (text == NULL || (row->kind != STP_ENV_SIZE && row->kind != STP_ENV_GROWTH)) return;
    suffix = strpbrk(text, "kKmMgGtT");
    if (suffix != NULL && strchr(":bBi", suffix[1]) == NULL)
        stp_warn("%s is '%.64s': the text '%.64s' is ignored, because it follows the suffix '%c'",
                 name, text, suffix + 1, *suffix);
}

void stp_env_warn(void)
{
    char name[NAME_MOST + 1];
    const char *nearest;

    for (size_t i = 0; i < stp_env_n_rows; i++)
        row_warn_ignored(&stp_env_table[i]);
    for (size_t position = 0; (nearest = stp_env_unknown(&position, name, sizeof(name))) != NULL;)
        if (nearest[0] != '\0')
            stp_warn("%s is set, but Steppe has no variable of this name: did you mean %s?", name,
                     nearest);
        else
            stp_warn("%s is set, but Steppe has no variable of this name: run oshinfo environment "
                     "to list the variables",
                     name);
}

bool stp_env_is_set(const struct stp_env_row *row)
{
    const char *name;

    return row_getenv(row, &name) != NULL;
}

void stp_env_format_size(size_t bytes, char *buf, size_t len)
{
    static const char *const units[] = {"", "k", "m", "g", "t"};
    size_t unit = 0;

    for (; bytes != 0 && bytes % 1024 == 0 && unit + 1 < STP_COUNT(units); unit++)
        bytes /= 1024;
    snprintf(buf, len, "%zu%s", bytes, units[unit]);
}

static void format_growth(const struct stp_env_growth *growth, char *buf, size_t len)
{
    size_t used;

    stp_env_format_size(growth->size, buf, len);
    used = strlen(buf);
    if (growth->max == growth->size || used + 1 >= len) return;
    buf[used] = ':';
    stp_env_format_size(growth->max, buf + used + 1, len - used - 1);
}

const char *stp_env_format(const struct stp_env_row *row, char *buf, size_t len)
{
    const void *value = (const char *)&stp_env + row->offset;
    const char *text;

    switch (row->kind) {
    case STP_ENV_PRESENT:
        snprintf(buf, len, "%s", *(const bool *)value ? "set" : "unset");
        break;
    case STP_ENV_BOOL:
        snprintf(buf, len, "%s", *(const bool *)value ? "on" : "off");
        break;
    case STP_ENV_INT:
    case STP_ENV_COUNT:
        snprintf(buf, len, "%d", *(const int *)value);
        break;
    case STP_ENV_SIZE:
        stp_env_format_size(*(const size_t *)value, buf, len);
        break;
    case STP_ENV_GROWTH:
        format_growth(value, buf, len);
        break;
    case STP_ENV_STRING:
        text = *(const char *const *)value;
        snprintf(buf, len, "%s", text ? text : "unset");
        break;
    case STP_ENV_CHOICE:
        snprintf(buf, len, "%s", row->words[*(const int *)value]);
        break;
    }
    return buf;
}
