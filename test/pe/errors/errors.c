/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One misuse of the library, named by the argument, made by the last PE while the others wait in
 * a barrier (or by all PEs where the routine is collective). The library must end the job with a
 * clear message: run_errors.sh checks the text, the status and that it happens at once. Reaching
 * the end of main is the failure.
 */
#include "errors.h"

long global_word;
long sync_words[SHMEM_SYNC_SIZE];
long *block;
int peer;

static const struct chapter *const chapters[] = {&chapter_rma,  &chapter_heap, &chapter_teams,
                                                 &chapter_wait, &chapter_lock, &chapter_active};

static const struct misuse *find(const char *name)
{
    for (size_t i = 0; i < sizeof(chapters) / sizeof(chapters[0]); i++) {
        chapters[i]->begin();
        for (const struct misuse *misuse = chapters[i]->misuses; misuse->name != NULL; misuse++)
            if (strcmp(misuse->name, name) == 0) return misuse;
    }
    return NULL;
}

static void run(const char *name)
{
    const struct misuse *misuse = find(name);

    PE_REQUIRE(misuse != NULL, "no misuse is called %s", name);
    if (misuse->collective || pe_me == pe_n - 1) misuse->run();
    shmem_barrier_all();
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";

    if (strcmp(name, "before_init") == 0) shmem_malloc(8);
    if (strcmp(name, "put_before_init") == 0) shmem_long_p(&global_word, 1, 0);
    if (strcmp(name, "barrier_before_init") == 0) shmem_barrier_all();
    if (strcmp(name, "active_before_init") == 0) shmem_barrier(0, 0, 1, sync_words);
    pe_test_begin();
    peer = pe_n > 1 ? 0 : pe_me;
    block = shmem_calloc(8, sizeof(*block));
    PE_REQUIRE(block != NULL, "calloc failed");
    if (strcmp(name, "after_finalize") == 0) {
        shmem_finalize();
        shmem_barrier_all();
    } else if (strcmp(name, "good") != 0) { /* only init was to be tried */
        run(name);
    }
    fprintf(stderr, "pe %d: survived %s\n", pe_me, name);
    shmem_finalize();
    return PE_PASS;
}
