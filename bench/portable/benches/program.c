/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The program for any OpenSHMEM: there are no other commands, no raw side over libfabric and no
 * GPUs.
 */
#include "../harness.h"

int main(int argc, char **argv)
{
    static const struct bench_list *const *const lists[] = {bench_lists, NULL};
    static const struct bench_extras extras = {.lists = lists};

    return bench_main(argc, argv, &extras);
}
