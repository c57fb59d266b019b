/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What PE 0 prints: one JSON object a line behind "@peer ", so that it can be told from what
 * libraries and launchers print. Rows are those of steppe-bench's JSON, version 2.
 */
#include "peer.h"

#include <stdio.h>

double peer_value(const struct peer_result *result, double ns)
{
    const struct peer_bench *bench = result->bench;
    double messages = (double)result->window * (bench->messages > 0 ? bench->messages : 1);

    switch (bench->metric) {
    case PEER_BANDWIDTH:
        return messages * (double)result->nbytes * 1e3 / ns; /* bytes a ns = 1000 MB/s */
    case PEER_RATE:
        return messages * 1e3 / ns;
    case PEER_LATENCY:
        break;
    }
    return ns / (bench->per_op > 0 ? bench->per_op : 1);
}

static const char *metric_name(enum peer_metric metric)
{
    static const char *const names[] = {
        [PEER_LATENCY] = "latency", [PEER_BANDWIDTH] = "bandwidth", [PEER_RATE] = "rate"};

    return names[metric];
}

static const char *unit_name(enum peer_metric metric)
{
    static const char *const names[] = {
        [PEER_LATENCY] = "ns", [PEER_BANDWIDTH] = "MB/s", [PEER_RATE] = "Mmsg/s"};

    return names[metric];
}

static void write_string(const char *text)
{
    putchar('"');
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;

        if (c == '"' || c == '\\')
            printf("\\%c", c);
        else if (c < 0x20 || c > 0x7e)
            printf("\\u%04x", c);
        else
            putchar(c);
    }
    putchar('"');
}

static const char *truth(bool yes)
{
    return yes ? "true" : "false";
}

static void write_places(const struct peer_machine *machine, int n_pes)
{
    fputs(", \"places\": [", stdout);
    for (int pe = 0; pe < n_pes; pe++) {
        printf("%s{\"pe\": %d, \"host\": ", pe > 0 ? ", " : "", pe);
        write_string(machine->places[pe].host);
        if (machine->places[pe].core >= 0) printf(", \"core\": %d", machine->places[pe].core);
        putchar('}');
    }
    putchar(']');
}

static const char *path_name(bool reached)
{
    return !peer_has_paths ? "none" : reached ? "node" : "fabric";
}

void peer_write_heading(const struct peer_run *run, const struct peer_options *options,
                        const struct peer_machine *machine)
{
    char library[256];

    peer_library_name(library, sizeof(library));
    fputs("@peer {\"heading\": {\"library\": ", stdout);
    write_string(library);
    printf(", \"pes\": %d, \"peer\": %d, \"local_pes\": %d, \"hosts\": %d, \"cores\": %d, "
           "\"bound\": %s, \"clock_ns\": %.3g, \"warmup\": %d, \"noisy_above\": %g",
           run->n_pes, run->partner, machine->n_local, machine->n_hosts, machine->n_cores,
           truth(machine->bound), peer_clock_cost_ns(), options->warmup, PEER_NOISY);
    printf(", \"pair_path\": \"%s\", \"all_path\": \"%s\", \"host\": ",
           run->n_pes > 1 ? path_name(run->raw_pair) : "none", path_name(run->raw_all));
    write_string(machine->places[0].host);
    write_places(machine, run->n_pes);
    fputs("}}\n", stdout);
    fflush(stdout);
}

void peer_write_plan(const struct peer_bench *bench, int row, size_t nbytes)
{
    printf("@peer {\"plan\": %d, \"bench\": \"%s\", \"bytes\": %zu, \"unit\": \"%s\", "
           "\"metric\": \"%s\", \"group\": \"%s\"}\n",
           row, bench->name, nbytes, unit_name(bench->metric), metric_name(bench->metric),
           bench->group);
}

void peer_write_start(int row)
{
    printf("@peer {\"start\": %d}\n", row);
    fflush(stdout);
}

static void write_side(const char *name, const struct peer_result *r, int side)
{
    const struct peer_stats *stats = &r->side[side];
    double noise = stats->p99 / stats->median;

    printf(", \"%s\": {\"median\": %.6g, \"p1\": %.6g, \"p99\": %.6g, \"best\": %.6g", name,
           peer_value(r, stats->median), peer_value(r, stats->p1), peer_value(r, stats->p99),
           peer_value(r, stats->best));
    printf(", \"noise\": %.4g, \"noisy\": %s, \"blocks\": [", noise, truth(noise > PEER_NOISY));
    for (int i = 0; i < PEER_N_BLOCKS; i++)
        printf("%s%.6g", i > 0 ? ", " : "", peer_value(r, stats->blocks[i]));
    putchar(']');
    if (r->bench->all_pes)
        printf(", \"pe_average\": %.6g, \"pe_min\": %.6g, \"pe_max\": %.6g, \"slowest_pe\": %d",
               peer_value(r, stats->pe_average), peer_value(r, stats->pe_min),
               peer_value(r, stats->pe_max), stats->slowest_pe);
    putchar('}');
}

void peer_write_row(const struct peer_result *r)
{
    const struct peer_bench *bench = r->bench;

    if (r->wrong) {
        printf("@peer {\"wrong\": %d}\n", r->row);
        fflush(stdout);
        return;
    }
    printf("@peer {\"row\": %d, \"result\": {\"bench\": \"%s\", \"group\": \"%s\"", r->row,
           bench->name, bench->group);
    printf(", \"metric\": \"%s\", \"unit\": \"%s\", \"better\": \"%s\", \"bytes\": %zu",
           metric_name(bench->metric), unit_name(bench->metric),
           bench->metric == PEER_LATENCY ? "lower" : "higher", r->nbytes);
    printf(", \"pes\": %d, \"measuring\": %d, \"thread_level\": \"single\", \"ops\": %llu, "
           "\"window\": %d, \"samples\": %d",
           r->n_pes, r->n_measuring, (unsigned long long)r->n_ops, r->window, r->n_samples);
    write_side("steppe", r, PEER_LIBRARY);
    if (r->has_raw) {
        write_side("raw", r, PEER_RAW);
        printf(", \"ratio\": %.4g", peer_value(r, r->side[PEER_LIBRARY].median) /
                                        peer_value(r, r->side[PEER_RAW].median));
    }
    fputs("}}\n", stdout);
    fflush(stdout);
}

void peer_write_end(void)
{
    fputs("@peer {\"end\": true}\n", stdout);
    fflush(stdout);
}
