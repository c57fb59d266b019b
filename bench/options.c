/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command line of steppe-bench.
 */
#include "bench.h"

#include <errno.h>
#include <getopt.h>
#include <shmem.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SPACES 1024
#define MAX_BYTES ((size_t)1 << 30)

enum {
    OPT_SIZES = 256,
    OPT_OPS,
    OPT_WINDOW,
    OPT_PEER,
    OPT_BIND,
    OPT_RAW_FLUSH,
    OPT_RAW_MODULE,
    OPT_KIND,
    OPT_SPACES
};

static const struct option long_options[] = {
    {"help", no_argument, NULL, 'h'},
    {"list", no_argument, NULL, 'l'},
    {"raw", no_argument, NULL, 'r'},
    {"summary", no_argument, NULL, 's'},
    {"quick", no_argument, NULL, 'q'},
    {"format", required_argument, NULL, 'f'},
    {"output", required_argument, NULL, 'o'},
    {"iterations", required_argument, NULL, 'i'},
    {"warmup", required_argument, NULL, 'w'},
    {"sizes", required_argument, NULL, OPT_SIZES},
    {"ops", required_argument, NULL, OPT_OPS},
    {"window", required_argument, NULL, OPT_WINDOW},
    {"peer", required_argument, NULL, OPT_PEER},
    {"bind", optional_argument, NULL, OPT_BIND},
    {"kind", required_argument, NULL, OPT_KIND},
    {"spaces", required_argument, NULL, OPT_SPACES},
    {"raw-flush", no_argument, NULL, OPT_RAW_FLUSH},
    {"raw-module", required_argument, NULL, OPT_RAW_MODULE},
    {NULL, 0, NULL, 0},
};

void bench_usage(FILE *out)
{
    fputs("usage: oshrun -n N steppe-bench [options] [BENCH...|all|passive|spaces|device]\n"
          "Measure Steppe between PE 0 and a peer, or over all PEs; --list names the benches.\n"
          "\n"
          "  -r, --raw             measure the raw limit of the same path too, and the ratio\n"
          "  -s, --summary         a short table of the main numbers; implies --raw if possible\n"
          "  -q, --quick           few samples and sizes: a smoke test, not a measurement\n"
          "  -f, --format FORMAT   text, csv or json (text)\n"
          "  -o, --output FILE     write there instead of standard output\n"
          "  -i, --iterations N    samples a side and size (200, quick 20; fewer if long)\n"
          "  -w, --warmup N        unrecorded samples before each block of samples (2)\n"
          "      --sizes MIN:MAX   bytes, doubling from MIN to MAX; suffixes K M G (1:4M)\n"
          "      --ops N           operations a sample (as many as fill 10 us)\n"
          "      --window N        messages between two quiets of a bandwidth bench\n"
          "                        (64, fewer where that is more than 16 MiB)\n"
          "      --peer PE         the PE that PE 0 works with (half the number of PEs)\n"
          "      --bind[=WHEN]     one core to each PE: on, off or auto (auto: when there are\n"
          "                        enough cores)\n"
          "      --kind KIND       of the spaces that benches make: cpu, gpu, fam (cpu; those of\n"
          "                        the device benches are on GPUs)\n"
          "      --spaces FEW:MANY spaces alive beside the default one, on the two sides that\n"
          "                        spaces-... compare (1:64); one number: MANY\n"
          "      --raw-flush       --raw, put streams on the fabric by plain writes and one\n"
          "                        flushing read instead of delivery-complete writes\n"
          "      --raw-module FILE the module for raw libfabric\n"
          "  -l, --list            list the benches\n"
          "  -h, --help            this text\n",
          out);
}

static int parse_count(const char *option, const char *text, long min, long max, long *value,
                       char *why, size_t len)
{
    char *end;

    errno = 0;
    *value = strtol(text, &end, 10);
    if (errno == 0 && end != text && *end == '\0' && *value >= min && *value <= max) return 0;
    snprintf(why, len, "%s %s: want a number from %ld to %ld", option, text, min, max);
    return -EINVAL;
}

/* A number of bytes with an optional suffix. Returns what follows it, or NULL. */
static const char *parse_bytes(const char *text, size_t *nbytes)
{
    static const char suffixes[] = "kmg";
    char *end;
    unsigned long long value;
    const char *suffix;

    if (*text < '0' || *text > '9') return NULL;
    errno = 0;
    value = strtoull(text, &end, 10);
    if (errno != 0 || value > MAX_BYTES) return NULL;
    suffix = *end != '\0' ? strchr(suffixes, *end | 0x20) : NULL;
    if (suffix != NULL) {
        value <<= 10 * (suffix - suffixes + 1);
        end++;
    }
    if (value < 1 || value > MAX_BYTES) return NULL;
    *nbytes = (size_t)value;
    return end;
}

static int parse_sizes(const char *text, struct bench_options *options, char *why, size_t len)
{
    const char *rest = parse_bytes(text, &options->min_size);

    if (rest != NULL && *rest == '\0')
        options->max_size = options->min_size;
    else if (rest != NULL && *rest == ':')
        rest = parse_bytes(rest + 1, &options->max_size);
    else
        rest = NULL;
    options->sizes_given = true;
    if (rest != NULL && *rest == '\0' && options->min_size <= options->max_size) return 0;
    snprintf(why, len, "--sizes %s: want MIN:MAX from 1 to 1G with MIN <= MAX, such as 8:64K",
             text);
    return -EINVAL;
}

static int parse_word(const char *option, const char *text, const char *const *words, int *index,
                      char *why, size_t len)
{
    for (*index = 0; words[*index] != NULL; (*index)++)
        if (strcmp(text, words[*index]) == 0) return 0;
    snprintf(why, len, "%s %s: want %s, %s or %s", option, text, words[0], words[1], words[2]);
    return -EINVAL;
}

/* FEW:MANY, or MANY alone. */
static int parse_spaces(const char *text, struct bench_options *options, char *why, size_t len)
{
    char *end;
    long few = 1, many;

    errno = 0;
    many = strtol(text, &end, 10);
    if (*end == ':' && end != text) {
        few = many;
        text = end + 1;
        many = strtol(text, &end, 10);
    }
    options->n_few = (int)few;
    options->n_many = (int)many;
    if (errno == 0 && end != text && *end == '\0' && few >= 0 && few < many && many <= MAX_SPACES)
        return 0;
    snprintf(why, len, "--spaces: want FEW:MANY from 0 to %d with FEW < MANY, such as 1:64",
             MAX_SPACES);
    return -EINVAL;
}

static int parse_kind(const char *text, struct bench_options *options, char *why, size_t len)
{
    static const char *const kinds[] = {"cpu", "gpu", "fam", NULL};
    static const int types[] = {SHMEM_DEVICE_CPU, SHMEM_DEVICE_GPU, SHMEM_DEVICE_FAM};
    int index, status = parse_word("--kind", text, kinds, &index, why, len);

    if (status == 0) options->kind = types[index];
    return status;
}

static int parse_valued(int option, const char *text, struct bench_options *options, char *why,
                        size_t len)
{
    static const char *const formats[] = {"text", "csv", "json", NULL};
    static const char *const binds[] = {"auto", "on", "off", NULL};
    long number = 0;
    int index = 0, status = 0;

    switch (option) {
    case 'f':
        status = parse_word("--format", text, formats, &index, why, len);
        options->format = (enum bench_format)index;
        break;
    case 'i':
        status = parse_count("--iterations", text, 1, 1000000, &number, why, len);
        options->iterations = (int)number;
        break;
    case 'w':
        status = parse_count("--warmup", text, 0, 1000000, &number, why, len);
        options->warmup = (int)number;
        break;
    case OPT_OPS:
        status = parse_count("--ops", text, 1, 1000000000, &number, why, len);
        options->ops = (uint64_t)number;
        break;
    case OPT_WINDOW:
        status = parse_count("--window", text, 1, 1024, &number, why, len);
        options->window = (int)number;
        break;
    case OPT_PEER:
        status = parse_count("--peer", text, 1, 1000000000, &number, why, len);
        options->peer = (int)number;
        break;
    case OPT_BIND:
        status = parse_word("--bind", text != NULL ? text : "on", binds, &index, why, len);
        options->bind = (enum bench_bind)index;
        break;
    case OPT_KIND:
        status = parse_kind(text, options, why, len);
        break;
    case OPT_SPACES:
        status = parse_spaces(text, options, why, len);
        break;
    default: /* OPT_SIZES */
        status = parse_sizes(text, options, why, len);
    }
    return status;
}

static int parse_one(int option, const char *text, struct bench_options *options, char *why,
                     size_t len)
{
    switch (option) {
    case 'h':
        options->help = true;
        return 0;
    case 'l':
        options->list = true;
        return 0;
    case 'r':
        options->raw = true;
        return 0;
    case 's':
        options->summary = true;
        return 0;
    case 'q':
        options->quick = true;
        return 0;
    case 'o':
        options->output = text;
        return 0;
    case OPT_RAW_FLUSH:
        options->raw = options->raw_flush = true;
        return 0;
    case OPT_RAW_MODULE:
        options->raw_module = text;
        return 0;
    default:
        return parse_valued(option, text, options, why, len);
    }
}

static bool is_known(const char *name)
{
    for (int k = 0; k < bench_n_table; k++)
        if (bench_is_called(&bench_table[k], name)) return true;
    return false;
}

static int check_names(struct bench_options *options, char *why, size_t len)
{
    for (int i = 0; i < options->n_names; i++)
        if (!is_known(options->names[i])) {
            snprintf(why, len, "no bench is called '%s': see --list", options->names[i]);
            return -EINVAL;
        }
    if (options->summary && options->n_names > 0) {
        snprintf(why, len, "--summary has its own benches: leave out '%s'", options->names[0]);
        return -EINVAL;
    }
    if (options->n_names == 0 && !options->summary && !options->help && !options->list) {
        snprintf(why, len, "name a bench, 'spaces', 'device' or 'all': see --list and --help");
        return -EINVAL;
    }
    return 0;
}

int bench_parse(int argc, char **argv, struct bench_options *options, char *why, size_t len)
{
    int option, status;

    *options = (struct bench_options){.min_size = 1,
                                      .max_size = (size_t)4 << 20,
                                      .warmup = 2,
                                      .peer = -1,
                                      .kind = SHMEM_DEVICE_CPU,
                                      .n_few = 1,
                                      .n_many = 64};
    opterr = 0;
    while ((option = getopt_long(argc, argv, ":hlrsqf:o:i:w:", long_options, NULL)) != -1) {
        if (option == ':' || option == '?') {
            snprintf(why, len, "%s: %s: see --help", argv[optind - 1],
                     option == ':' ? "needs a value" : "no such option");
            return -EINVAL;
        }
        status = parse_one(option, optarg, options, why, len);
        if (status != 0) return status;
    }
    if (options->iterations == 0) options->iterations = options->quick ? 20 : 200;
    options->names = argv + optind;
    options->n_names = argc - optind;
    return check_names(options, why, len);
}
