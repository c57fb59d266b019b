/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parses the command line of steppe-bench.
 */
#include "option_values.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPT_SIZES = 256,
    OPT_OPS,
    OPT_WINDOW,
    OPT_PEER,
    OPT_BIND,
    OPT_KIND,
    OPT_BUFFERS,
    OPT_VERIFY,
    OPT_UNTIL,
    OPT_SECONDS,
    OPT_TEAMS,
    OPT_PAIRS,
    OPT_VALUES
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
    {"buffers", required_argument, NULL, OPT_BUFFERS},
    {"verify", no_argument, NULL, OPT_VERIFY},
    {"until", required_argument, NULL, OPT_UNTIL},
    {"seconds", required_argument, NULL, OPT_SECONDS},
    {"teams", required_argument, NULL, OPT_TEAMS},
    {"pairs", required_argument, NULL, OPT_PAIRS},
    {"values", required_argument, NULL, OPT_VALUES},
    {NULL, 0, NULL, 0},
};

void bench_usage(FILE *out)
{
    fputs("usage: oshrun -n N steppe-bench [options] BENCH|GROUP|PATTERN|all...\n"
          "       steppe-bench compare|plot|launch|tune ...   (without oshrun; each has --help)\n"
          "Measure Steppe between PE 0 and a peer, between pairs of PEs, or over all PEs. --list\n"
          "prints the benches and their groups. PATTERN is a shell pattern, such as 'atomic-*'.\n"
          "\n"
          "What is measured\n"
          "  -r, --raw             also measure the raw limit of the same path, if there is one,\n"
          "                        and print the ratio\n"
          "  -s, --summary         print a short table of the main numbers; implies --raw if\n"
          "                        possible\n"
          "      --sizes MIN:MAX   measure sizes from MIN to MAX bytes, doubling; suffixes are K,\n"
          "                        M, G (default: 1:4M; less for collectives)\n"
          "      --values MIN:MAX  use values from MIN to MAX, doubling, for the parameter of\n"
          "                        benches that have one (stride, flags, threads)\n"
          "      --peer PE         the PE with which PE 0 communicates (default: half the number\n"
          "                        of PEs)\n"
          "      --pairs WHICH     for benches of many pairs, form pairs within a host, across\n"
          "                        hosts or auto (default: auto, which is across if there are\n"
          "                        several hosts)\n"
          "      --teams MIN:MAX[:STRIDE]  run collectives on teams of MIN to MAX PEs, doubling,\n"
          "                        with every STRIDE-th PE from PE 0 on (default: all PEs)\n"
          "      --window N        number of messages between two quiets of a bandwidth bench\n"
          "                        (default: 64, or fewer if 64 messages exceed 16 MiB)\n"
          "      --kind KIND       kind of memory of the spaces that benches create: cpu, gpu or\n"
          "                        fam (default: cpu; the spaces of the device benches are on\n"
          "                        GPUs)\n"
          "\n"
          "How it is measured\n"
          "  -q, --quick           take few samples of few sizes; this is a smoke test and not a\n"
          "                        measurement\n"
          "  -i, --iterations N    take at least N samples per side and row (default: 200, or 20\n"
          "                        with --quick; fewer if a sample takes long)\n"
          "      --until PERCENT   take more samples until the 95 % interval of the median\n"
          "                        extends at most PERCENT to either side (default: 2; 0: take no\n"
          "                        more samples)\n"
          "      --seconds S       take samples for at most S seconds per side and row (default:\n"
          "                        0.5, or 0.05 with --quick)\n"
          "  -w, --warmup N        number of unrecorded samples before each block of samples\n"
          "                        (default: 2, or 1 with --quick)\n"
          "      --ops N           operations per sample (default: as many as take 10 us)\n"
          "      --buffers N       use N buffers in turn for the operations (default: 1)\n"
          "      --verify          check every byte that was moved; the first wrong byte ends the\n"
          "                        job\n"
          "      --bind[=WHEN]     bind each PE to one core: on, off or auto (default: auto,\n"
          "                        which is on if there are enough cores)\n"
          "\n"
          "What is written\n"
          "  -f, --format FORMAT   write text or json (default: text)\n"
          "  -o, --output FILE     write the output to FILE instead of standard output\n"
          "  -l, --list            print the list of benches\n"
          "  -h, --help            print this text\n",
          out);
}

/* Parses the value of an option that determines which rows a bench has. */
static int parse_shape(int option, const char *text, struct bench_options *options, char *reason,
                       size_t len)
{
    int status;

    switch (option) {
    case OPT_TEAMS:
        status = bench_parse_teams(text, options, reason, len);
        break;
    case OPT_VALUES:
        status = bench_parse_value_range(text, options, reason, len);
        break;
    default: /* OPT_SIZES */
        status = bench_parse_sizes(text, options, reason, len);
    }
    return status;
}

static int parse_valued(int option, const char *text, struct bench_options *options, char *reason,
                        size_t len)
{
    static const char *const formats[] = {"text", "json", NULL};
    static const char *const binds[] = {"auto", "on", "off", NULL};
    static const char *const pairings[] = {"auto", "within", "across", NULL};
    long number = 0;
    int index = 0, status = 0;

    switch (option) {
    case 'f':
        status = bench_parse_word("--format", text, formats, &index, reason, len);
        options->format = (enum bench_format)index;
        break;
    case 'i':
        status = bench_parse_count("--iterations", text, 1, 1000000, &number, reason, len);
        options->iterations = (int)number;
        break;
    case 'w':
        status = bench_parse_count("--warmup", text, 0, 1000000, &number, reason, len);
        options->warmup = (int)number;
        break;
    case OPT_OPS:
        status = bench_parse_count("--ops", text, 1, 1000000000, &number, reason, len);
        options->ops = (uint64_t)number;
        break;
    case OPT_WINDOW:
        status = bench_parse_count("--window", text, 1, 1024, &number, reason, len);
        options->window = (int)number;
        break;
    case OPT_PEER:
        status = bench_parse_count("--peer", text, 1, 1000000000, &number, reason, len);
        options->peer = (int)number;
        break;
    case OPT_BIND:
        status = bench_parse_word("--bind", text != NULL ? text : "on", binds, &index, reason, len);
        options->bind = (enum bench_bind)index;
        break;
    case OPT_KIND:
        status = bench_parse_kind(text, options, reason, len);
        break;
    case OPT_PAIRS:
        status = bench_parse_word("--pairs", text, pairings, &index, reason, len);
        options->pairing = (enum bench_pairing)index;
        break;
    case OPT_BUFFERS:
        status = bench_parse_count("--buffers", text, 1, 65536, &number, reason, len);
        options->buffers = (int)number;
        break;
    case OPT_UNTIL:
        status = bench_parse_real("--until", text, 0, 100, &options->precision, reason, len);
        options->precision /= 100;
        break;
    case OPT_SECONDS:
        status = bench_parse_real("--seconds", text, 0.001, 86400, &options->seconds, reason, len);
        break;
    default:
        status = parse_shape(option, text, options, reason, len);
    }
    return status;
}

static int parse_one(int option, const char *text, struct bench_options *options, char *reason,
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
    case OPT_VERIFY:
        options->verify = true;
        return 0;
    default:
        return parse_valued(option, text, options, reason, len);
    }
}

static bool is_known(const char *name)
{
    const struct bench *bench;

    for (int k = 0; (bench = bench_at(k)) != NULL; k++)
        if (bench_name_matches(bench, name)) return true;
    return false;
}

static int check_names(const struct bench_options *options, char *reason, size_t len)
{
    for (int i = 0; i < options->n_names; i++)
        if (!is_known(options->names[i])) {
            snprintf(reason, len, "no bench or group is called '%s': see --list",
                     options->names[i]);
            return -EINVAL;
        }
    if (options->summary && options->n_names > 0) {
        snprintf(reason, len,
                 "--summary chooses its own benches: remove '%s' from the command line",
                 options->names[0]);
        return -EINVAL;
    }
    if (options->n_names == 0 && !options->summary && !options->help && !options->list) {
        snprintf(reason, len,
                 "no bench is chosen: name a bench, a group or 'all' (see --list and --help)");
        return -EINVAL;
    }
    return 0;
}

int bench_parse(int argc, char **argv, struct bench_options *options, char *reason, size_t len)
{
    int option, status;

    *options = (struct bench_options){.min_size = 1,
                                      .max_size = (size_t)4 << 20,
                                      .warmup = -1,
                                      .buffers = 1,
                                      .precision = -1,
                                      .seconds = -1,
                                      .peer = -1,
                                      .kind = BENCH_KIND_CPU,
                                      .pe_stride = 1,
                                      .argc = argc,
                                      .argv = argv};
    opterr = 0;
    while ((option = getopt_long(argc, argv, ":hlrsqf:o:i:w:", long_options, NULL)) != -1) {
        if (option == ':' || option == '?') {
            snprintf(reason, len, "%s: %s: see --help", argv[optind - 1],
                     option == ':' ? "this option needs a value" : "this option does not exist");
            return -EINVAL;
        }
        status = parse_one(option, optarg, options, reason, len);
        if (status != 0) return status;
    }
    if (options->iterations == 0) options->iterations = options->quick ? 20 : 200;
    if (options->warmup < 0) options->warmup = options->quick ? 1 : 2;
    if (options->precision < 0) options->precision = options->quick ? 0 : 0.02;
    if (options->seconds < 0) options->seconds = options->quick ? 0.05 : 0.5;
    options->names = argv + optind;
    options->n_names = argc - optind;
    return check_names(options, reason, len);
}
