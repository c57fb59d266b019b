/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a fuzz target once with each file of the given folders and once without input. This needs no
 * libFuzzer, and works with any compiler.
 *
 * usage: fuzz_NAME FOLDER...     exit status 2 without an input; a failed check aborts
 */
#include "fuzz.h"

#include <dirent.h>

static void run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = NULL;
    long nbytes = -1;

    if (file != NULL && fseek(file, 0, SEEK_END) == 0) nbytes = ftell(file);
    if (nbytes >= 0) data = malloc((size_t)nbytes + 1);
    rewind(file);
    if (data == NULL || fread(data, 1, (size_t)nbytes, file) != (size_t)nbytes) {
        fprintf(stderr, "cannot read %s\n", path);
        exit(2);
    }
    fclose(file);
    fprintf(stderr, "%s\n", path); /* the last one is the one that fails */
    (void)LLVMFuzzerTestOneInput(data, (size_t)nbytes);
    free(data);
}

static int run_folder(const char *folder)
{
    struct dirent **names;
    int n = scandir(folder, &names, NULL, alphasort), n_run = 0;

    if (n < 0) {
        fprintf(stderr, "cannot read the folder %s\n", folder);
        exit(2);
    }
    for (int i = 0; i < n; i++) {
        char path[4096];

        if (names[i]->d_name[0] != '.') {
            snprintf(path, sizeof(path), "%s/%s", folder, names[i]->d_name);
            run_file(path);
            n_run++;
        }
        free(names[i]);
    }
    free(names);
    return n_run;
}

int main(int argc, char **argv)
{
    int n_run = 0;

    for (int i = 1; i < argc; i++)
        n_run += run_folder(argv[i]);
    (void)LLVMFuzzerTestOneInput(NULL, 0);
    printf("%d inputs\n", n_run);
    return n_run > 0 ? 0 : 2;
}
