/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses the algorithm of a collective between nodes from a table. The choice depends on the
 * operation, the provider, and the numbers of nodes, members and bytes. The lines of the user's
 * file come before the built-in lines. Only PE 0 reads the file. PE 0 sends the lines to the other
 * PEs at start. All members therefore make the same choice, even if their environments differ.
 * Design: docs/design/collectives.md.
 */
#include "algorithm_table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define TABLE_TEXT_MAX ((size_t)64 << 10) /* the user's file has fewer bytes than this */
#define TABLE_COLUMNS 6

static const char *const table_operations[STP_COLL_N_OPERATIONS] = {
    [STP_COLL_BROADCAST] = "broadcast", [STP_COLL_REDUCE] = "reduce",
    [STP_COLL_COLLECT] = "collect",     [STP_COLL_FCOLLECT] = "fcollect",
    [STP_COLL_ALLTOALL] = "alltoall",
};

#define ALGORITHM_ROW(name) &stp_coll_##name,

static const struct stp_coll_algorithm *const algorithms[] = {STP_COLL_ALGORITHMS(ALGORITHM_ROW)};

/*
 * Built-in table, in the format of a user's file. The algorithms "scatter" and "shares" cut the
 * data into shares. They are faster only above some number of bytes per leader. For reductions with
 * two to four leaders this number is small, because an exchange of shares then has fewer steps than
 * a tree. If the algorithm of a line cannot do a call, the next line that fits the call is used.
 */
static const char table_text[] = "broadcast * 4     * 192k- scatter\n"
                                 "broadcast * 5     * 512k- scatter\n"
                                 "broadcast * 6-7   * 384k- scatter\n"
                                 "broadcast * 8     * 512k- scatter\n"
                                 "broadcast * 9-16  * 2m-   scatter\n"
                                 "broadcast * 17-32 * 4m-   scatter\n"
                                 "broadcast * 33-   * 8m-   scatter\n"
                                 "broadcast * *     * *     tree\n"
                                 "reduce    * *     * *     doubling\n"
                                 "reduce    * 2     * 4k-   shares\n"
                                 "reduce    * 3     * 6k-   shares\n"
                                 "reduce    * 4     * 8k-   shares\n"
                                 "reduce    * 5-    * 128k- shares\n"
                                 "reduce    * *     * *     tree\n"
                                 "collect   * *     * *     gather\n"
                                 "collect   * *     * *     direct\n"
                                 "fcollect  * *     * *     gather\n"
                                 "fcollect  * *     * *     heads\n"
                                 "fcollect  * *     * *     direct\n"
                                 "alltoall  * *     * *     gather\n"
                                 "alltoall  * *     * *     heads\n"
                                 "alltoall  * *     * *     direct";

/* The built-in table, and the table from the user's file. Both are set before any team exists. */
static struct stp_coll_table table_built_in, table_user;

/* ---- the decision ---------------------------------------------------------------- */

static bool line_fits(const struct stp_coll_line *line, const struct stp_team *team,
                      const struct stp_coll_call *call)
{
    uint32_t nodes = (uint32_t)team->plan.n_groups, members = (uint32_t)team->n_pes;

    return line->operation == call->operation && line->nodes[0] <= nodes &&
           nodes <= line->nodes[1] && line->members[0] <= members && members <= line->members[1] &&
           line->bytes[0] <= call->bytes && call->bytes <= line->bytes[1] &&
           (algorithms[line->algorithm]->supports == NULL ||
            algorithms[line->algorithm]->supports(team, call));
}

/* Returns the algorithm of the table's first line that fits the call, or NULL if no line fits. */
static const struct stp_coll_algorithm *table_find(const struct stp_coll_table *table,
                                                   const struct stp_team *team,
                                                   const struct stp_coll_call *call)
{
    for (uint32_t i = 0; i < table->n; i++)
        if (line_fits(&table->lines[i], team, call)) return algorithms[table->lines[i].algorithm];
    return NULL;
}

const struct stp_coll_algorithm *stp_coll_choose(const struct stp_team *team,
                                                 const struct stp_coll_call *call)
{
    const struct stp_coll_algorithm *algorithm = table_find(&table_user, team, call);

    return algorithm != NULL ? algorithm : table_find(&table_built_in, team, call);
}

/* ---- text ------------------------------------------------------------------------ */

struct table_place {
    const char *provider; /* name of the job's provider, or NULL */
    char *message;        /* buffer for the error message and the expected form */
    size_t size;
};

/* Returns the number of the operation with this name, or -1 if no operation has this name. */
static int table_operation(const char *name)
{
    for (int operation = 0; operation < STP_COLL_N_OPERATIONS; operation++)
        if (strcmp(table_operations[operation], name) == 0) return operation;
    return -1;
}

/*
 * Finds the algorithm that has this name and performs this operation. Returns the row number of the
 * algorithm, or -1 if no such algorithm exists.
 */
static int table_algorithm(int operation, const char *name)
{
    for (size_t algorithm = 0; algorithm < STP_COUNT(algorithms); algorithm++)
        if ((int)algorithms[algorithm]->operation == operation &&
            strcmp(algorithms[algorithm]->name, name) == 0)
            return (int)algorithm;
    return -1;
}

/*
 * Parses the whole text as a number. If is_size is true, the number may have a suffix, as in "64k".
 * Returns false if the text is not a number.
 */
static bool table_number(const char *text, bool is_size, uint64_t *value)
{
    size_t nbytes;
    char *end;

    if (text[0] < '0' || text[0] > '9') return false;
    if (is_size) {
        if (stp_env_parse_size(text, &nbytes) != 0) return false;
        *value = nbytes;
        return true;
    }
    errno = 0;
    *value = strtoull(text, &end, 10);
    return errno == 0 && *end == '\0' && *value <= UINT32_MAX;
}

/* Parses a range such as "*", "4", "4-16" or "4-". Returns false if the text is not a range. */
static bool table_range(char *text, bool is_size, uint64_t range[2])
{
    char *dash = strchr(text, '-');
    bool is_number;

    range[0] = 0;
    range[1] = is_size ? UINT64_MAX : UINT32_MAX;
    if (strcmp(text, "*") == 0) return true;
    if (dash != NULL) *dash = '\0';
    is_number = table_number(text, is_size, &range[0]);
    if (dash != NULL) *dash = '-'; /* restore the text for error messages */
    if (!is_number) return false;
    if (dash == NULL) {
        range[1] = range[0];
        return true;
    }
    if (dash[1] != '\0' && !table_number(dash + 1, is_size, &range[1])) return false;
    return range[0] <= range[1];
}

const char *stp_coll_operation_name(int operation)
{
    return operation < STP_COLL_N_OPERATIONS ? table_operations[operation] : NULL;
}

const char *stp_coll_algorithm_names(int operation, char *names, size_t size)
{
    size_t used = 0;

    names[0] = '\0';
    for (size_t algorithm = 0; algorithm < STP_COUNT(algorithms); algorithm++)
        if ((int)algorithms[algorithm]->operation == operation && used < size)
            used += (size_t)snprintf(names + used, size - used, "%s%s", used > 0 ? ", " : "",
                                     algorithms[algorithm]->name);
    return names;
}

static int table_bad_range(const struct table_place *place, const char *column, const char *text,
                           const char *example)
{
    snprintf(place->message, place->size,
             "%s are '%.40s': expected *, a number, or a range such as %s", column, text, example);
    return -EINVAL;
}

static int table_parse_ranges(char **columns, struct stp_coll_line *line,
                              const struct table_place *place)
{
    uint64_t range[2];

    if (!table_range(columns[2], false, range))
        return table_bad_range(place, "nodes", columns[2], "4-16 or 4-");
    line->nodes[0] = (uint32_t)range[0];
    line->nodes[1] = (uint32_t)range[1];
    if (!table_range(columns[3], false, range))
        return table_bad_range(place, "members", columns[3], "4-16 or 4-");
    line->members[0] = (uint32_t)range[0];
    line->members[1] = (uint32_t)range[1];
    if (!table_range(columns[4], true, line->bytes))
        return table_bad_range(place, "bytes", columns[4], "8-64k or 1m-");
    if (line->operation == STP_COLL_COLLECT && strcmp(columns[4], "*") != 0) {
        snprintf(place->message, place->size,
                 "bytes of collect are '%.40s': expected *, because its members may pass "
                 "different sizes",
                 columns[4]);
        return -EINVAL;
    }
    return 0;
}

static int table_parse_columns(char **columns, struct stp_coll_line *line,
                               const struct table_place *place)
{
    char names[96];
    int operation = table_operation(columns[0]), algorithm = table_algorithm(operation, columns[5]);

    if (operation < 0) {
        snprintf(place->message, place->size,
                 "'%.40s' is not an operation: expected broadcast, reduce, collect, fcollect or "
                 "alltoall",
                 columns[0]);
        return -EINVAL;
    }
    if (algorithm < 0) {
        snprintf(place->message, place->size,
                 "'%.40s' is not an algorithm of %s: expected one of: %s", columns[5], columns[0],
                 stp_coll_algorithm_names(operation, names, sizeof(names)));
        return -EINVAL;
    }
    line->operation = (uint8_t)operation;
    line->algorithm = (uint8_t)algorithm;
    return table_parse_ranges(columns, line, place);
}

/*
 * Returns true if the column is "*" or names the provider. The name "tcp" also fits "tcp;ofi_rxm".
 */
static bool table_is_provider(const char *column, const char *provider)
{
    size_t len = strlen(column);

    if (strcmp(column, "*") == 0) return true;
    return provider != NULL && strncmp(provider, column, len) == 0 &&
           (provider[len] == '\0' || provider[len] == ';');
}

/*
 * Parses one line of a table. Returns 1 if the line applies to this job. Returns 0 if the line is
 * empty or applies to another provider. Returns -EINVAL if the line is wrong.
 */
static int table_parse_line(char *text, struct stp_coll_line *line, const struct table_place *place)
{
    char *columns[TABLE_COLUMNS + 1], *next = NULL;
    int n = 0;

    text[strcspn(text, "#")] = '\0';
    for (char *word = strtok_r(text, " \t\r", &next); word != NULL && n <= TABLE_COLUMNS;
         word = strtok_r(NULL, " \t\r", &next))
        columns[n++] = word;
    if (n == 0) return 0;
    if (n != TABLE_COLUMNS) {
        snprintf(place->message, place->size,
                 "%s%d columns: expected the columns operation, provider, nodes, members, bytes, "
                 "algorithm",
                 n > TABLE_COLUMNS ? "more than " : "", n > TABLE_COLUMNS ? TABLE_COLUMNS : n);
        return -EINVAL;
    }
    /* Zero the line, because all of its bytes are sent to other nodes. */
    memset(line, 0, sizeof(*line));
    if (table_parse_columns(columns, line, place) != 0) return -EINVAL;
    return table_is_provider(columns[1], place->provider);
}

int stp_coll_table_parse(struct stp_coll_table *table, char *text, const char *provider,
                         char *message, size_t size)
{
    struct table_place place = {provider, message, size};
    int number = 0;

    table->n = 0;
    for (char *line = text; line != NULL; number++) {
        char *end = strchr(line, '\n');
        struct stp_coll_line parsed;
        int rc;

        if (end != NULL) *end++ = '\0';
        rc = table_parse_line(line, &parsed, &place);
        if (rc > 0 && table->n == STP_COLL_TABLE_LINES) {
            snprintf(
                message, size,
                "more than %d lines of the file apply to the provider of this job: remove lines",
                STP_COLL_TABLE_LINES);
            rc = -EINVAL;
        }
        if (rc < 0) return number + 1;
        if (rc > 0) table->lines[table->n++] = parsed;
        line = end;
    }
    return 0;
}

/* ---- the user's file ------------------------------------------------------------- */

/*
 * Opens the file for reading. Does not wait for a writer if the path names a pipe. Fatal on
 * failure, or if the path names no regular file.
 */
static FILE *table_open(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    FILE *file = NULL;
    struct stat stat;

    if (fd >= 0 && fstat(fd, &stat) == 0 && !S_ISREG(stat.st_mode))
        stp_fatal("shmem_init", "SHMEM_COLL_TABLE is '%s': this is not a regular file", path);
    if (fd >= 0) file = fdopen(fd, "r");
    if (file == NULL)
        stp_fatal("shmem_init", "SHMEM_COLL_TABLE is '%s': cannot open this file: %s", path,
                  stp_errno_text(errno));
    return file;
}

/* Returns the file's text, ended by a zero byte. The caller frees the text. Fatal on failure. */
static char *table_load(const char *path)
{
    FILE *file = table_open(path);
    char *text = malloc(TABLE_TEXT_MAX + 1);
    size_t n;

    if (text == NULL)
        stp_fatal("shmem_init",
                  "SHMEM_COLL_TABLE is '%s': out of memory: cannot allocate a buffer for this file",
                  path);
    n = fread(text, 1, TABLE_TEXT_MAX, file);
    if (ferror(file))
        stp_fatal("shmem_init", "SHMEM_COLL_TABLE is '%s': cannot read this file: %s", path,
                  stp_errno_text(errno));
    if (n == TABLE_TEXT_MAX || memchr(text, '\0', n) != NULL)
        stp_fatal("shmem_init",
                  "SHMEM_COLL_TABLE is '%s': expected a text file of less than 64k bytes", path);
    fclose(file);
    text[n] = '\0';
    return text;
}

const void *stp_coll_table_read(size_t *nbytes)
{
    struct stp_coll_table *table = &table_user;
    const char *path = stp_env.coll_table;
    char message[256], *text;
    int line;

    memset(table, 0, sizeof(*table));
    *nbytes = 0;
    if (path == NULL || stp_rt.pe != 0) return table;
    text = table_load(path);
    line = stp_coll_table_parse(table, text, stp_rt.has_fabric ? stp_rt.fabric.provider : NULL,
                                message, sizeof(message));
    free(text);
    if (line != 0)
        stp_fatal("shmem_init", "SHMEM_COLL_TABLE: %s, line %d: %s", path, line, message);
    *nbytes = offsetof(struct stp_coll_table, lines) + table->n * sizeof(table->lines[0]);
    return table;
}

void stp_coll_table_install(const void *bcast, size_t nbytes)
{
    char text[sizeof(table_text)], message[256];

    memcpy(text, table_text, sizeof(text));
    if (stp_coll_table_parse(&table_built_in, text, NULL, message, sizeof(message)) != 0)
        stp_fatal("shmem_init",
                  "the built-in table of collectives is wrong (a fault of Steppe): %s", message);
    memset(&table_user, 0, sizeof(table_user));
    if (nbytes == 0) return;
    memcpy(&table_user, bcast, nbytes < sizeof(table_user) ? nbytes : sizeof(table_user));
    stp_debug("start: table of collectives: %u lines", (unsigned)table_user.n);
}
