/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions that load and unload the raw libfabric module. They are the members raw_load and
 * raw_unload of struct bench_extras.
 */
#ifndef STEPPE_BENCH_RAW_OFI_DLOPEN_AND_ADDRESSES_H
#define STEPPE_BENCH_RAW_OFI_DLOPEN_AND_ADDRESSES_H

#include "portable/harness.h"

int bench_raw_ofi_load(struct bench_run *run, struct bench_machine *machine);
void bench_raw_ofi_unload(struct bench_run *run);

/*
 * Loads libfabric and asks it once about the provider, without the library. Prints the times of
 * both steps. Returns the exit status of the program.
 */
int bench_raw_ofi_floor(const char *provider);

#endif /* STEPPE_BENCH_RAW_OFI_DLOPEN_AND_ADDRESSES_H */
