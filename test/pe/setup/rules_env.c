/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What run_rules_env.sh starts under many environments. By argument:
 *
 * has BYTES      one block of so many bytes can be had, and reached by the neighbour; 0: none asked
 * lacks BYTES    a block of so many bytes cannot
 * comma BYTES    as has, in the locale of the environment, which must write 3,1
 * thread         shmem_init_thread() in place of shmem_init(), which is allowed to refuse
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
        fprintf(stderr, "the locale does not write 3,1\n");
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
