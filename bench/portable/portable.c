/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * In place of library.c, raw_load.c and spaces.c in a program for any OpenSHMEM: there are no other
 * commands, no raw side over libfabric and no GPUs.
 */
#include "harness.h"

#include <errno.h>

int bench_command(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return -1;
}

void bench_describe_library(struct bench_machine *machine)
{
    (void)machine;
}

void bench_describe_gpu(struct bench_run *run, struct bench_machine *machine)
{
    (void)run;
    (void)machine;
}

int bench_raw_load(struct bench_run *run, struct bench_machine *machine)
{
    (void)run;
    snprintf(machine->raw_note, sizeof(machine->raw_note), "PEs do not reach each other's memory");
    return -ENOTSUP;
}

void bench_raw_unload(struct bench_run *run)
{
    (void)run;
}
