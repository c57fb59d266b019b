/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Run by run_rules_env.sh with many values of the environment variables for the heap.
 *
 * usage: rules_env [MODE [BYTES]]
 *   has     a block of BYTES can be allocated and the left PE can write it; 0 allocates none
 *   lacks   allocating a block of BYTES returns NULL
 *   comma   as has, in the locale of the environment, whose decimal point must be a comma
 *   thread  as has, with shmem_init_thread() in place of shmem_init(); status 3 if it refuses
 */
#include <shmem.h>

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long global;

/* The last byte of the block and a global of the neighbour are written from here. */
static int reach(char *block, size_t nbytes)
{
    int n = shmem_n_pes(), right = (shmem_my_pe() + 1) % n;

    shmem_long_p(&global, 77, right);
    if (nbytes > 0) shmem_char_p(&block[nbytes - 1], 'x', right);
    shmem_barrier_all();
    return global == 77 && (nbytes == 0 || block[nbytes - 1] == 'x') ? 0 : 2;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    size_t nbytes = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    char *block = NULL;
    int provided = -1, status = 0;

    if (strcmp(mode, "comma") == 0 &&
        (setlocale(LC_ALL, "") == NULL || strcmp(localeconv()->decimal_point, ",") != 0)) {
        fprintf(stderr,
                "the locale of the environment does not have a comma as its decimal point\n");
        return 2;
    }
    if (strcmp(mode, "thread") == 0) {
        if (shmem_init_thread(SHMEM_THREAD_SINGLE, &provided) != 0) return 3;
    } else {
        shmem_init();
    }
    if (nbytes > 0) block = shmem_malloc(nbytes);
    if (strcmp(mode, "lacks") == 0) {
        status = block == NULL ? 0 : 2;
    } else {
        if (nbytes > 0 && block == NULL) shmem_global_exit(2);
        status = reach(block, nbytes);
    }
    printf("survived\n");
    shmem_finalize();
    return status;
}
