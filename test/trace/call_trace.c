/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For scripts/call_trace.py, which builds and starts this program: prints the functions that PE 0
 * enters in one operation on PE 1, or in a collective, with the depth, the file, and the address in
 * this file. The library is built with -finstrument-functions. The program checks no result.
 *
 * usage: call_trace put|put_signal|get|reduce|space_create NBYTES [gpu]
 *   gpu   dest is in a space of GPU memory instead of the symmetric heap
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <shmem.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNTRACED __attribute__((no_instrument_function))

enum { MOST = 1 << 16, WARM_UP = 3 }; /* the first operations connect, and make what others find */

static struct {
    void *fn;
    int depth;
} calls[MOST];
static _Thread_local int tracing, depth;
static int n_calls;

UNTRACED void __cyg_profile_func_enter(void *fn, void *site);
UNTRACED void __cyg_profile_func_exit(void *fn, void *site);

void __cyg_profile_func_enter(void *fn, void *site)
{
    (void)site;
    if (!tracing) return;
    if (n_calls < MOST) {
        calls[n_calls].fn = fn;
        calls[n_calls++].depth = depth;
    }
    depth++;
}

void __cyg_profile_func_exit(void *fn, void *site)
{
    (void)fn, (void)site;
    if (tracing) depth--;
}

UNTRACED static void print_calls(void)
{
    Dl_info info;

    for (int i = 0; i < n_calls; i++)
        if (dladdr(calls[i].fn, &info) != 0)
            printf("%d %s %#zx\n", calls[i].depth, info.dli_fname,
                   (size_t)((char *)calls[i].fn - (char *)info.dli_fbase));
}

UNTRACED static void operate(const char *what, char *dest, char *source, size_t nbytes,
                             uint64_t *signal)
{
    if (strcmp(what, "put") == 0)
        shmem_putmem(dest, source, nbytes, 1);
    else if (strcmp(what, "put_signal") == 0)
        shmem_putmem_signal(dest, source, nbytes, signal, 1, SHMEM_SIGNAL_ADD, 1);
    else if (strcmp(what, "get") == 0)
        shmem_getmem(source, dest, nbytes, 1);
    else
        shmem_char_sum_reduce(SHMEM_TEAM_WORLD, dest, dest, nbytes);
}

UNTRACED static void create_space(size_t nbytes)
{
    shmem_space_config_t config = {SHMEM_DEVICE_CPU, nbytes, SHMEM_SPACE_FLAG_DEFAULT};
    shmem_space_t space;
    shmem_team_t team;

    if (shmem_space_create(&config, &space, &team) != 0) exit(2);
    tracing = 0;
    shmem_team_destroy(team);
    shmem_space_destroy(space);
}

UNTRACED int main(int argc, char **argv)
{
    shmem_space_config_t config = {SHMEM_DEVICE_GPU, (size_t)4 << 20, SHMEM_SPACE_FLAG_DEFAULT};
    size_t nbytes = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    shmem_space_t space = SHMEM_SPACE_DEFAULT;
    shmem_team_t team;
    char *dest, *source;
    uint64_t *signal;
    bool alone;

    if (nbytes == 0) return 2;
    alone = strcmp(argv[1], "reduce") != 0 && strcmp(argv[1], "space_create") != 0;
    shmem_init();
    if (argc > 3 && shmem_space_create(&config, &space, &team) != 0) return 2;
    source = calloc(1, nbytes);
    dest = shmem_space_malloc(space, nbytes);
    signal = shmem_calloc(1, sizeof(*signal));
    if (source == NULL || dest == NULL || signal == NULL) return 2;
    for (int i = 0; i < WARM_UP && (!alone || shmem_my_pe() == 0); i++) {
        tracing = i == WARM_UP - 1;
        if (strcmp(argv[1], "space_create") == 0)
            create_space(nbytes);
        else
            operate(argv[1], dest, source, nbytes, signal);
        tracing = 0;
        shmem_quiet();
    }
    if (shmem_my_pe() == 0) print_calls();
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
