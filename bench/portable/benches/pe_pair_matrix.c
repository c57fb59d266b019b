/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures every ordered pair of PEs while all other PEs wait, in order to find slow pairs. The
 * JSON output also contains the host, core, NUMA node and libfabric domain of each PE.
 */
#include "../bench_definition.h"

#define EACH .group = "matrix", .shape = BENCH_EACH

static const struct bench rows[] = {
    {.name = "matrix-latency",
     .description = "shmem_putmem of 8 bytes + shmem_quiet, from each PE to each other PE",
     EACH,
     .metric = BENCH_LATENCY,
     .moves = BENCH_PUTS,
     .steppe = {bench_put, NULL},
     .node = {bench_node_put, NULL},
     .fabric = {bench_fabric_put, NULL}},
    {.name = "matrix-bandwidth",
     .description =
         "a window of shmem_putmem_nbi of 64 KiB + shmem_quiet, from each PE to each other PE",
     EACH,
     .metric = BENCH_BANDWIDTH,
     .nbytes = (size_t)64 << 10,
     .windowed = true,
     .moves = BENCH_PUTS,
     .steppe = {bench_put_window, NULL},
     .node = {bench_node_put_window, NULL},
     .fabric = {bench_fabric_put_window, NULL}},
};
BENCH_LIST(bench_list_matrix, rows);
