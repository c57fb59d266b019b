/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks space creations that must fail on all PEs because of the last PE, which passes other
 * arguments or cannot get the memory. The failure must leave nothing behind, and the next creation
 * must work. run_space_agree.sh checks the messages and arranges the failures of one PE. Proposal
 * text and rules S1 and S12 of docs/reference/conformance-spaces.md.
 *
 * usage: space_agree CASE [once] [held]
 */
#include "pe_leaks.h"

static shmem_space_config_t config;
static shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;

static void differ_type(bool odd)
{
    config.device_type = odd ? SHMEM_DEVICE_FAM : SHMEM_DEVICE_CPU;
}

static void differ_gpu(bool odd)
{
    config.device_type = odd ? SHMEM_DEVICE_GPU : SHMEM_DEVICE_CPU;
}

static void differ_size(bool odd)
{
    config.size += odd; /* a byte that the page would hide */
}

static void differ_flags(bool odd)
{
    config.flags = odd ? 2 : SHMEM_SPACE_FLAG_DEFAULT;
}

static void differ_name(bool odd)
{
    config.device_type = SHMEM_DEVICE_FAM;
    attr.name = odd ? "this" : "that";
}

static void differ_no_name(bool odd)
{
    config.device_type = SHMEM_DEVICE_FAM;
    attr.name = odd ? NULL : "that";
}

static void differ_keep(bool odd)
{
    config.device_type = SHMEM_DEVICE_FAM;
    attr.name = "that";
    attr.flags = odd ? SHMEMX_SPACE_KEEP : 0;
}

static void differ_max(bool odd)
{
    attr.max_size = (size_t)(64 * PE_MIB + odd);
}

/* One PE has nothing to say at all. */
static void differ_bad_type(bool odd)
{
    config.device_type = odd ? (shmem_device_type_t)77 : SHMEM_DEVICE_CPU;
}

static void differ_zero(bool odd)
{
    if (odd) config.size = 0;
}

/* All ask for the same, and the run makes it fail on one PE. */
static void ask_gpu(bool odd)
{
    (void)odd;
    config.device_type = SHMEM_DEVICE_GPU;
    config.size = 8 * PE_MIB;
}

static void ask_fam(bool odd)
{
    (void)odd;
    config.device_type = SHMEM_DEVICE_FAM;
    config.size = 8 * PE_MIB;
}

static const struct {
    const char *name;
    void (*set)(bool odd);
} cases[] = {
    {"type", differ_type}, {"gpu_type", differ_gpu},
    {"size", differ_size}, {"flags", differ_flags},
    {"name", differ_name}, {"no_name", differ_no_name},
    {"keep", differ_keep}, {"bad_type", differ_bad_type},
    {"zero", differ_zero}, {"gpu", ask_gpu},
    {"fam", ask_fam},      {"max", differ_max},
};

static void prepare(const char *name)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (strcmp(cases[i].name, name) == 0) {
            config = pe_cpu_config(PE_MIB);
            cases[i].set(pe_me == pe_n - 1);
            return;
        }
    PE_REQUIRE(false, "the argument %s is not the name of a case", name);
}

/* 0 on no PE: nonzero, and INVALID twice. */
static void check_refused(void)
{
    shmem_space_t space = SHMEM_SPACE_DEFAULT;
    shmem_team_t team = SHMEM_TEAM_WORLD;
    int rc = shmemx_space_create_attr(&config, &attr, &space, &team);

    PE_CHECK(rc != 0, "shmemx_space_create_attr returned 0, expected it to fail on all PEs");
    PE_CHECK(space == SHMEM_SPACE_INVALID,
             "a failed create set the space to %p, expected SHMEM_SPACE_INVALID", space);
    PE_CHECK(team == SHMEM_TEAM_INVALID,
             "a failed create set the team to %p, expected SHMEM_TEAM_INVALID", (void *)team);
}

/*
 * The first failure may start what stays for the next time (a thread, a queue); the rest may not
 * leave anything. With "once" there is one failure alone.
 */
static void run(bool once)
{
    const struct pe_slack slack = {2, 64, 256, PE_ARENAS, 4096};
    struct pe_holdings before, after;
    char numbers[2][64];

    pe_space_numbers(numbers[0], sizeof(numbers[0]));
    pe_open_peers();
    check_refused();
    before = pe_holdings();
    for (int i = 0; i < 8 && !once; i++)
        check_refused();
    after = pe_holdings();
    pe_check_holdings(&before, &after, &slack, "after failures");
    pe_space_numbers(numbers[1], sizeof(numbers[1]));
    PE_CHECK(strcmp(numbers[0], numbers[1]) == 0, "failed creations left spaces: %s, before: %s",
             numbers[1], numbers[0]);
}

/* What was refused once for a reason of its own is to be had now. */
static void check_works(bool same)
{
    struct pe_space s = {.kind = &pe_kinds[config.device_type == SHMEM_DEVICE_GPU   ? PE_GPU
                                           : config.device_type == SHMEM_DEVICE_FAM ? PE_FAM
                                                                                    : PE_CPU]};

    if (same) {
        PE_CHECK_EQ(shmemx_space_create_attr(&config, &attr, &s.space, &s.team), 0);
        PE_REQUIRE(s.space != SHMEM_SPACE_INVALID,
                   "the same creation after the failure returned SHMEM_SPACE_INVALID");
        s.rank = shmem_team_my_pe(s.team);
        s.n = shmem_team_n_pes(s.team);
    } else {
        PE_REQUIRE(pe_kind_create(PE_CPU, PE_MIB, &s),
                   "creating a CPU space after the failure failed");
    }
    PE_CHECK_EQ(s.n, pe_n);
    pe_kind_use(&s, 3);
    pe_kind_destroy(&s);
}

static bool has_word(int argc, char **argv, const char *word)
{
    for (int i = 2; i < argc; i++)
        if (strcmp(argv[i], word) == 0) return true;
    return false;
}

/*
 * Arguments: the case. "once": it fails one time, and then the same works. "held": with a GPU
 * space alive, so that the device is in use already.
 */
int main(int argc, char **argv)
{
    bool once = has_word(argc, argv, "once"), held = has_word(argc, argv, "held");
    struct pe_space other;

    pe_test_begin();
    if (held)
        PE_REQUIRE(pe_kind_create(PE_GPU, 4096, &other),
                   "creating the GPU space that is held during the failures failed");
    prepare(argc > 1 ? argv[1] : "size");
    run(once);
    check_works(once);
    if (held) {
        pe_kind_use(&other, 5);
        pe_kind_destroy(&other);
    }
    shmem_barrier_all();
    return pe_test_end();
}
