/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes the mistake with a space that the first argument names, on a space of the given kind.
 * Mistakes that must end the job are made by the last member while all others wait, or by all
 * members if the routine is collective. Mistakes that return an error are checked here on all PEs.
 * run_space_errors.sh checks the messages and the status. Rules P, S1, S5, S6, S8, S9 and S12 of
 * docs/reference/conformance-spaces.md.
 *
 * usage: space_errors MISTAKE [KIND [WORD]]
 */
#include "space_errors.h"

int kind;
struct pe_space s;
long *block;
int peer;
const char *word = "";

static const struct concern *const concerns[] = {&concern_create, &concern_life, &concern_use};

/* And whose it is. */
static const struct mistake *find(const char *name, const struct concern **concern)
{
    for (size_t i = 0; i < sizeof(concerns) / sizeof(concerns[0]); i++) {
        *concern = concerns[i];
        concerns[i]->begin();
        for (const struct mistake *mistake = concerns[i]->mistakes; mistake->name != NULL;
             mistake++)
            if (strcmp(mistake->name, name) == 0) return mistake;
    }
    return NULL;
}

static void make_space(void)
{
    PE_REQUIRE(pe_kind_create(kind, SIZE, &s), "creating a %s space of 1 MiB failed",
               pe_kinds[kind].name);
    if (s.rank < 0) return;
    block = pe_kind_malloc(&s, N);
    peer = pe_member(&s, (s.rank + 1) % s.n);
    pe_kind_ring(&s, block, N, 1);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    const struct concern *concern;
    const struct mistake *mistake;

    pe_test_begin();
    for (int k = 0; k < PE_N_KINDS; k++)
        if (argc > 2 && strcmp(pe_kinds[k].name, argv[2]) == 0) kind = k;
    if (argc > 3) word = argv[3];
    mistake = find(name, &concern);
    PE_REQUIRE(mistake != NULL, "the argument %s is not the name of a mistake", name);
    if (mistake->how != TOLD_WITHOUT) make_space();
    if (mistake->how != MADE_BY_MEMBERS || s.rank >= 0) mistake->make();
    if (mistake->how == TOLD_WITHOUT || mistake->how == TOLD) {
        pe_failures += concern->failures();
        return pe_test_end();
    }
    shmem_barrier_all();
    fprintf(stderr, "pe %d: survived %s\n", pe_me, name);
    shmem_finalize();
    return PE_PASS;
}
