/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts the words of files in a hash table that is spread over all PEs and lives in a memory
 * space of its own (wordcount_table.c). Standard output is, to the byte, what this prints under
 * LC_ALL=C, for the default of 20 words:
 *
 *     cat FILES | tr -cs 'A-Za-z' '\n' | tr 'A-Z' 'a-z' | grep . |
 *         sort | uniq -c | sort -k1,1nr -k2,2 | head -20
 *
 *     oshcc wordcount*.c -o wordcount && oshrun -n 4 ./wordcount FILES
 */
#include "wordcount_table.h"
#include "wordcount_text.h"

#include <shmem.h>
#include <shmemx.h>

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct options {
    uint64_t top;
    uint64_t capacity; /* slots in all; 0: choose from the input */
    int direct, spaces_table, verbose;
    int help; /* 1: asked for, 2: wrong usage */
    char wrong[160];
    char **paths;
    int n_paths;
};

/* ---- options ------------------------------------------------------------- */

static const char usage[] =
    "usage: wordcount [options] FILE...\n"
    "  --top N          print the N most frequent words (default 20)\n"
    "  --capacity N     slots of the table on all PEs together (default: from the input)\n"
    "  --direct         add each word to the table as it is read, instead of counting the\n"
    "                   repetitions on each PE first: slow, and a hard test of the atomics\n"
    "  --spaces-table   describe the live memory spaces on standard error\n"
    "  --verbose        say on standard error what was done and how long it took\n"
    "  --help           print this\n";

/* Remember the first mistake; every PE sees the same one, PE 0 prints it. */
static void wrong(struct options *options, const char *format, ...)
{
    va_list args;

    if (options->help == 2) return;
    options->help = 2;
    va_start(args, format);
    vsnprintf(options->wrong, sizeof(options->wrong), format, args);
    va_end(args);
}

static uint64_t number(struct options *options, const char *name, uint64_t least)
{
    char *end;
    unsigned long long value;

    errno = 0;
    value = strtoull(optarg, &end, 10);
    if (optarg[0] < '0' || optarg[0] > '9' || *end != '\0' || errno != 0 || value < least)
        wrong(options, "--%s %.40s: expected a whole number, at least %llu", name, optarg,
              (unsigned long long)least);
    return value;
}

static void parse(int argc, char **argv, struct options *options)
{
    static const struct option known[] = {
        {"top", required_argument, NULL, 't'},
        {"capacity", required_argument, NULL, 'c'},
        {"direct", no_argument, NULL, 'd'},
        {"spaces-table", no_argument, NULL, 's'},
        {"verbose", no_argument, NULL, 'v'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int option;

    *options = (struct options){.top = 20};
    opterr = 0;
    while ((option = getopt_long(argc, argv, ":", known, NULL)) != -1) {
        switch (option) {
        case 't':
            options->top = number(options, "top", 0);
            break;
        case 'c':
            options->capacity = number(options, "capacity", 1);
            break;
        case 'd':
            options->direct = 1;
            break;
        case 's':
            options->spaces_table = 1;
            break;
        case 'v':
            options->verbose = 1;
            break;
        case 'h':
            options->help = options->help == 2 ? 2 : 1;
            break;
        case ':':
            wrong(options, "%.60s needs a number", argv[optind - 1]);
            break;
        default:
            wrong(options, "unknown option %.60s", argv[optind - 1]);
            break;
        }
    }
    options->paths = argv + optind;
    options->n_paths = argc - optind;
    if (options->n_paths == 0 && options->help == 0) wrong(options, "no files to count");
}

/* ---- what all PEs must know ---------------------------------------------- */

/* Nonzero on all PEs when bad is nonzero on any. */
static int agree(int bad)
{
    static int mine, any; /* statics are symmetric */

    mine = bad != 0;
    shmem_int_max_reduce(SHMEM_TEAM_WORLD, &any, &mine, 1);
    return any;
}

static uint64_t sum_all(uint64_t value)
{
    static uint64_t mine, sum;

    mine = value;
    shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, &sum, &mine, 1);
    return sum;
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* ---- counting ------------------------------------------------------------ */

struct count {
    const struct options *options;
    struct text text;
    uint64_t begin, end; /* this PE's bytes of the text */
    struct tally tally;
    struct table table;
    uint64_t n_seen; /* words this PE added, with repetitions */
};

/* PE me of n takes the bytes from total * me / n on, computed without overflow. */
static uint64_t part(uint64_t total, int me, int n)
{
    uint64_t i = (uint64_t)me, pes = (uint64_t)n;

    return total / pes * i + total % pes * i / pes;
}

static int found_tally(void *arg, const char *word, size_t length)
{
    struct count *count = arg;

    return tally_add(&count->tally, word, length);
}

static int found_direct(void *arg, const char *word, size_t length)
{
    struct count *count = arg;

    count->n_seen++;
    return table_add(&count->table, word_hash(word, length), word, length, 1);
}

/*
 * What the fullest owner may have to hold: the distinct words of each PE, summed per owner. Words
 * that several PEs saw are counted several times, so this is an upper bound.
 * Returns 0, or -1 on all PEs.
 */
static int bound(const struct tally *tally, size_t *n_words, size_t *n_bytes)
{
    size_t n_pes = (size_t)shmem_n_pes();
    uint64_t *mine = shmem_calloc(4 * n_pes, sizeof(*mine)); /* words, then bytes; then the sums */
    uint64_t *sums = mine + 2 * n_pes;

    *n_words = *n_bytes = 0;
    if (mine == NULL) return -1;
    for (size_t i = 0; i < tally->n_chains; i++)
        for (struct tally_word *word = tally->chains[i]; word != NULL; word = word->next) {
            int owner = table_owner(word->hash);

            mine[owner]++;
            if (word->length > TABLE_INLINE) mine[n_pes + (size_t)owner] += word->length;
        }
    shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, sums, mine, 2 * n_pes);
    for (size_t pe = 0; pe < n_pes; pe++) {
        if (sums[pe] > *n_words) *n_words = sums[pe];
        if (sums[n_pes + pe] > *n_bytes) *n_bytes = sums[n_pes + pe];
    }
    shmem_free(mine);
    return 0;
}

/*
 * Size and make the table. After a tally the need is known. For --direct the input's size bounds
 * it: with the byte that ends it a word takes five bytes or more, all but the 18278 shorter ones,
 * and for these n / 4 + 1024 is enough too; the hash spreads them well within a factor of two.
 */
static int make_table(struct count *count)
{
    const struct options *options = count->options;
    size_t n_pes = (size_t)shmem_n_pes();
    size_t n_words = (count->text.nbytes / 4 + 1024) / n_pes;
    size_t n_bytes = count->text.nbytes;

    if (!options->direct && bound(&count->tally, &n_words, &n_bytes) != 0) {
        if (shmem_my_pe() == 0)
            fprintf(stderr, "wordcount: no room on the heap: raise SHMEM_SYMMETRIC_SIZE\n");
        return -1;
    }
    n_words = 2 * n_words + 64;
    if (options->capacity > 0) n_words = (options->capacity - 1) / n_pes + 1;
    return table_create(&count->table, n_words, n_bytes, options->top > 0 ? options->top : 1);
}

/* Add the tally to the table, each PE from another place on: not all at the same owner at once. */
static int merge_tally(struct count *count)
{
    const struct tally *tally = &count->tally;
    size_t first = part(tally->n_chains, shmem_my_pe(), shmem_n_pes());

    for (size_t i = 0; i < tally->n_chains; i++) {
        struct tally_word *word = tally->chains[(first + i) % tally->n_chains];

        for (; word != NULL; word = word->next)
            if (table_add(&count->table, word->hash, word->text, word->length, word->count) != 0)
                return -1;
    }
    count->n_seen = tally->n_seen;
    return 0;
}

/* ---- output -------------------------------------------------------------- */

static void describe(struct count *count, double seconds)
{
    uint64_t n_seen = sum_all(count->n_seen);
    uint64_t n_words = sum_all(table_local_words(&count->table));
    size_t n_slots = count->table.n_slots * (size_t)shmem_n_pes();

    if (shmem_my_pe() == 0)
        fprintf(stderr,
                "wordcount: %d files, %llu bytes, %llu words, %llu distinct in %zu slots "
                "on %d PEs, %.3f s\n",
                count->text.n_files, (unsigned long long)count->text.nbytes,
                (unsigned long long)n_seen, (unsigned long long)n_words, n_slots, shmem_n_pes(),
                seconds);
}

/* Print as uniq -c does: the count right-aligned to seven places, a space, the word. */
static int print(const struct table_entry *entries, size_t n_entries, uint64_t top)
{
    for (size_t i = 0; i < n_entries && i < top; i++) {
        printf("%7llu ", (unsigned long long)entries[i].count);
        fwrite(entries[i].text, 1, entries[i].length, stdout);
        putchar('\n');
    }
    if (fflush(stdout) == 0 && !ferror(stdout)) return 0;
    fprintf(stderr, "wordcount: standard output: %s\n", strerror(errno));
    return -1;
}

static int report(struct count *count, double start)
{
    const struct options *options = count->options;
    struct table_entry *entries;
    size_t n_entries;
    int bad;

    table_sync(&count->table);
    if (options->verbose) describe(count, now() - start);
    if (options->spaces_table && shmem_my_pe() == 0) shmemx_space_print(2);
    bad = agree(table_top(&count->table, &entries, &n_entries));
    if (!bad && shmem_my_pe() == 0) bad = print(entries, n_entries, options->top);
    table_free_entries(entries, n_entries);
    return agree(bad);
}

/* ---- the whole ----------------------------------------------------------- */

static int run(struct count *count)
{
    const struct options *options = count->options;
    double start = now();
    int bad = 0;

    if (!options->direct)
        bad = text_each_word(&count->text, count->begin, count->end, found_tally, count);
    if (agree(bad) || make_table(count) != 0) return -1;
    if (options->direct)
        bad = text_each_word(&count->text, count->begin, count->end, found_direct, count);
    else
        bad = merge_tally(count);
    bad = agree(bad);
    if (!bad) bad = report(count, start);
    table_destroy(&count->table);
    return bad;
}

static int count_words(const struct options *options)
{
    struct count count = {.options = options};
    int me = shmem_my_pe(), n = shmem_n_pes();
    int bad = text_open(&count.text, options->paths, options->n_paths);

    if (!bad) {
        count.begin = part(count.text.nbytes, me, n);
        count.end = part(count.text.nbytes, me + 1, n);
        bad = run(&count);
    }
    tally_free(&count.tally);
    text_close(&count.text);
    return bad != 0;
}

int main(int argc, char **argv)
{
    struct options options;
    int rc;

    shmem_init();
    parse(argc, argv, &options);
    if (options.help && shmem_my_pe() == 0) {
        if (options.help == 2) fprintf(stderr, "wordcount: %s\n", options.wrong);
        fputs(usage, options.help == 1 ? stdout : stderr);
    }
    rc = options.help ? (options.help == 2 ? 2 : 0) : count_words(&options);
    shmem_finalize();
    return rc;
}
