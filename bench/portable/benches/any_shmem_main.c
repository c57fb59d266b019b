/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The main program that measures any OpenSHMEM library. Unlike steppe-bench, it has no commands
 * such as `compare`, no raw side over libfabric, and no benches with GPUs.
 */
#include "../harness.h"

#include <errno.h>

static int raw_load(struct bench_run *run, struct bench_machine *machine)
{
    (void)run;
    snprintf(machine->raw_note, sizeof(machine->raw_note),
             "some PEs do not share memory, and this portable steppe-bench has no raw side over "
             "a fabric");
    return -ENOTSUP;
}

int main(int argc, char **argv)
{
    static const struct bench_list *const *const lists[] = {bench_lists, NULL};
    static const struct bench_extras extras = {.lists = lists, .raw_load = raw_load};

    return bench_main(argc, argv, &extras);
}
