/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks spaces that the environment creates: SHMEM_ENABLE_<KIND> with its constant handles, and
 * SHMEM_DEFAULT_SPACE. The program derives what must exist from the same variables.
 * run_space_env.sh sets them and tries invalid values. Proposal text and rules S11 and S13 of
 * docs/reference/conformance-spaces.md.
 *
 * usage: space_env [start | nothing | destroy_team]
 *   start: only initializes; nothing: allocates without a heap; destroy_team: must end the job
 */
#include "pe_kinds.h"

enum { N = 3000 };

static const struct {
    const char *name;
    shmem_space_t space;
    shmem_team_t team;
    shmem_device_type_t type;
} env_kinds[] = {{"CPU", SHMEM_SPACE_CPU, SHMEM_TEAM_CPU, SHMEM_DEVICE_CPU},
                 {"GPU", SHMEM_SPACE_GPU, SHMEM_TEAM_GPU, SHMEM_DEVICE_GPU},
                 {"HBM", SHMEM_SPACE_HBM, SHMEM_TEAM_HBM, SHMEM_DEVICE_HBM},
                 {"FAM", SHMEM_SPACE_FAM, SHMEM_TEAM_FAM, SHMEM_DEVICE_FAM}};

/* Constants: fine in static initialisers. */
static shmem_space_t in_table[] = {SHMEM_SPACE_CPU, SHMEM_SPACE_GPU, SHMEM_SPACE_DEFAULT};
static int has_gpu[64]; /* symmetric */
static int in_globals;

static const char *variable(const char *format, const char *kind)
{
    char name[64];

    snprintf(name, sizeof(name), format, kind);
    return getenv(name);
}

/* ---- SHMEM_ENABLE_<KIND> ---------------------------------------------------------------- */

static void check_member(int k, int n_members)
{
    struct pe_space s = {&pe_kinds[PE_CPU], env_kinds[k].space, env_kinds[k].team,
                         shmem_team_my_pe(env_kinds[k].team), shmem_team_n_pes(env_kinds[k].team)};
    const char *size = variable("SHMEM_%s_SYMMETRIC_SIZE", env_kinds[k].name);
    shmem_team_t asked = SHMEM_TEAM_INVALID, part = SHMEM_TEAM_INVALID;
    shmem_space_t found = SHMEM_SPACE_INVALID;
    shmemx_space_info_t info = SHMEMX_SPACE_INFO_INITIALIZER;
    void *block;

    PE_CHECK_EQ(shmem_team_is_valid(s.team), 1);
    PE_CHECK_EQ(s.n, n_members);
    PE_CHECK_EQ(shmem_space_get_team(s.space, &asked), 0);
    PE_CHECK(asked == s.team, "shmem_space_get_team of SHMEM_SPACE_%s is not the team of that name",
             env_kinds[k].name);
    PE_CHECK_EQ(shmem_team_get_space(s.team, &found), 0);
    PE_CHECK(found == s.space,
             "shmem_team_get_space of SHMEM_TEAM_%s is not the space of that name",
             env_kinds[k].name);
    PE_CHECK_EQ(shmemx_space_query(s.space, &info), 0);
    PE_CHECK_EQ(info.device_type, env_kinds[k].type);
    PE_CHECK_EQ(info.n_pes, n_members);
    PE_CHECK_EQ(info.nbytes, size != NULL ? atol(size) : 64 * PE_MIB);
    pe_kind_use(&s, 21);
    block = shmem_space_malloc(s.space, 1000);
    PE_CHECK_EQ(shmem_get_space(block, &found), 0);
    PE_CHECK(found == s.space, "shmem_get_space of a block in SHMEM_SPACE_%s is not that space",
             env_kinds[k].name);
    shmem_free(block);
    PE_CHECK_EQ(shmem_team_split_strided(s.team, 0, 1, s.n, NULL, 0, &part), 0);
    shmem_team_destroy(part);
    PE_CHECK(shmem_space_destroy(s.space) != 0,
             "shmem_space_destroy of SHMEM_SPACE_%s returned 0, expected an error",
             env_kinds[k].name);
    pe_kind_use(&s, 22);
}

/* As SHMEM_SPACE_INVALID and SHMEM_TEAM_INVALID. */
static void check_other(int k)
{
    shmem_space_t space = env_kinds[k].space, found;
    shmem_team_t team = env_kinds[k].team, got = SHMEM_TEAM_WORLD, column;
    shmemx_ctx_config_t config = {team, space};
    shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;
    shmem_device_type_t type;
    shmem_space_cap_t caps;
    shmemx_space_info_t info = SHMEMX_SPACE_INFO_INITIALIZER;

    PE_CHECK(shmem_space_malloc(space, 10) == NULL,
             "shmem_space_malloc in the disabled space %s returned memory, expected NULL",
             env_kinds[k].name);
    PE_CHECK(shmem_space_calloc(space, 10, 10) == NULL,
             "shmem_space_calloc in the disabled space %s returned memory, expected NULL",
             env_kinds[k].name);
    shmem_space_free(space, &in_globals);
    PE_CHECK(shmemx_space_align(space, 64, 10) == NULL,
             "shmemx_space_align in the disabled space %s returned memory, expected NULL",
             env_kinds[k].name);
    PE_CHECK(shmem_space_get_team(space, &got) != 0,
             "shmem_space_get_team of the disabled space %s returned 0, expected an error",
             env_kinds[k].name);
    PE_CHECK(shmem_space_get_device_type(space, &type) != 0,
             "shmem_space_get_device_type of the disabled space %s returned 0, expected an error",
             env_kinds[k].name);
    PE_CHECK(shmem_space_get_caps(space, &caps) != 0,
             "shmem_space_get_caps of the disabled space %s returned 0, expected an error",
             env_kinds[k].name);
    PE_CHECK(shmemx_space_query(space, &info) != 0,
             "shmemx_space_query of the disabled space %s returned 0, expected an error",
             env_kinds[k].name);
    PE_CHECK_EQ(shmemx_space_path(space, 0), SHMEMX_PATH_NONE);
    PE_CHECK_EQ(shmem_space_destroy(space), 0);
    PE_CHECK_EQ(shmem_team_is_valid(team), 0);
    PE_CHECK_EQ(shmem_team_my_pe(team), -1);
    PE_CHECK_EQ(shmem_team_n_pes(team), -1);
    PE_CHECK_EQ(shmem_team_translate_pe(SHMEM_TEAM_WORLD, 0, team), -1);
    PE_CHECK_EQ(shmem_team_translate_pe(team, 0, SHMEM_TEAM_WORLD), -1);
    PE_CHECK(shmem_team_get_space(team, &found) != 0,
             "shmem_team_get_space of the disabled team %s returned 0, expected an error",
             env_kinds[k].name);
    PE_CHECK(
        shmem_team_split_strided(team, 0, 1, 1, NULL, 0, &got) != 0 && got == SHMEM_TEAM_INVALID,
        "shmem_team_split_strided of the disabled team %s did not fail with SHMEM_TEAM_INVALID",
        env_kinds[k].name);
    PE_CHECK(shmem_team_split_2d(team, 1, NULL, 0, &got, NULL, 0, &column) != 0,
             "shmem_team_split_2d of the disabled team %s returned 0, expected an error",
             env_kinds[k].name);
    PE_CHECK(shmemx_team_duplicate(team, &got) != 0,
             "shmemx_team_duplicate of the disabled team %s returned 0, expected an error",
             env_kinds[k].name);
    PE_CHECK(shmem_team_create_ctx(team, 0, &ctx) != 0 && ctx == SHMEM_CTX_INVALID,
             "shmem_team_create_ctx on the disabled team %s did not fail with SHMEM_CTX_INVALID",
             env_kinds[k].name);
    PE_CHECK(shmemx_ctx_create(0, &config, &ctx) != 0,
             "shmemx_ctx_create with the disabled team and space %s returned 0, expected an error",
             env_kinds[k].name);
    shmem_team_destroy(team);
}

static void check_enabled(void)
{
    int mine = pe_gpu_load(), gpus = 0;

    for (int pe = 0; pe < pe_n; pe++)
        shmem_int_p(&has_gpu[pe_me], mine, pe);
    shmem_barrier_all();
    for (int pe = 0; pe < pe_n; pe++)
        gpus += has_gpu[pe];
    for (int k = 0; k < 4; k++) {
        const char *wish = variable("SHMEM_ENABLE_%s", env_kinds[k].name);
        bool gpu = env_kinds[k].type == SHMEM_DEVICE_GPU;
        bool there = wish != NULL && strcmp(wish, "1") == 0;

        if (there && (!gpu || mine))
            check_member(k, gpu ? gpus : pe_n);
        else
            check_other(k);
        shmem_barrier_all();
    }
}

/* ---- the default space -------------------------------------------------------------------- */

static void check_default_facts(const char *kind)
{
    const char *size = getenv("SHMEM_SYMMETRIC_SIZE");
    shmem_device_type_t type = (shmem_device_type_t)-1;
    shmem_space_t found = SHMEM_SPACE_INVALID;
    shmem_team_t team = SHMEM_TEAM_INVALID;
    shmem_space_cap_t caps = 0;
    shmemx_space_info_t info = SHMEMX_SPACE_INFO_INITIALIZER;
    long *block = shmem_malloc(N * sizeof(*block));

    PE_REQUIRE(block != NULL, "shmem_malloc from the default space returned NULL");
    PE_CHECK_EQ(shmem_space_get_team(SHMEM_SPACE_DEFAULT, &team), 0);
    PE_CHECK(team == SHMEM_TEAM_WORLD,
             "shmem_space_get_team of the default space is not SHMEM_TEAM_WORLD");
    PE_CHECK_EQ(shmem_space_get_device_type(SHMEM_SPACE_DEFAULT, &type), 0);
    PE_CHECK_EQ(shmemx_space_query(SHMEM_SPACE_DEFAULT, &info), 0);
    PE_CHECK_EQ(info.device_type, type);
    PE_CHECK(strcasecmp(info.kind, kind) == 0,
             "the default space is of kind %s, expected the kind in SHMEM_DEFAULT_SPACE",
             info.kind);
    if (size != NULL) PE_CHECK_EQ(info.nbytes, atol(size));
    PE_CHECK_EQ(shmem_space_get_caps(SHMEM_SPACE_DEFAULT, &caps), 0);
    PE_CHECK(caps & SHMEM_SPACE_CAP_WORLD_ACCESS,
             "the default space lacks SHMEM_SPACE_CAP_WORLD_ACCESS");
    PE_CHECK_EQ(!!(caps & SHMEM_SPACE_CAP_DIRECT_ACCESS), type != SHMEM_DEVICE_GPU);
    PE_CHECK_EQ(shmem_get_space(block + 5, &found), 0);
    PE_CHECK(found == SHMEM_SPACE_DEFAULT,
             "shmem_get_space of a block of the heap is not SHMEM_SPACE_DEFAULT");
    PE_CHECK_EQ(shmem_get_space(&in_globals, &found), 0);
    PE_CHECK(found == SHMEM_SPACE_DEFAULT,
             "shmem_get_space of a global is not SHMEM_SPACE_DEFAULT");
    PE_CHECK(shmem_space_destroy(SHMEM_SPACE_DEFAULT) != 0,
             "shmem_space_destroy of the default space returned 0, expected an error");
    if (type != SHMEM_DEVICE_GPU) memset(block, 1, N * sizeof(*block));
    shmem_free(block);
}

/* The standard's own routines on it: put, get, atomics, signals, collectives, realloc, align. */
static void check_default_use(void)
{
    struct pe_space s = {&pe_kinds[PE_CPU], SHMEM_SPACE_DEFAULT, SHMEM_TEAM_WORLD, pe_me, pe_n};
    long *block = shmem_calloc(N, sizeof(*block)), *other = shmem_align(4096, N * sizeof(*other));
    uint64_t *sig = shmem_calloc(1, sizeof(*sig));

    PE_REQUIRE(block != NULL && other != NULL && sig != NULL,
               "an allocation from the default space returned NULL");
    PE_CHECK_EQ((uintptr_t)other % 4096, 0);
    PE_CHECK_EQ(shmem_long_g(block + N - 1, pe_right()), 0);
    pe_kind_ring(&s, block, N, 17);
    shmem_long_put_signal(other, block, N, sig, 3, SHMEM_SIGNAL_SET, pe_right());
    shmem_signal_wait_until(sig, SHMEM_CMP_EQ, 3);
    PE_GPU_EXPECT(other, 17 + 1000 * ((pe_me + 2 * pe_n - 2) % pe_n), N,
                  "data of put_signal in the default space");
    shmem_barrier_all();
    for (int pe = 0; pe < pe_n; pe++)
        shmem_long_atomic_add(block, 100, pe);
    shmem_barrier_all();
    PE_CHECK_EQ(shmem_long_atomic_fetch(block, pe_me), 17 + 1000 * pe_left() + 100 * pe_n);
    pe_gpu_fill(block, pe_me, N);
    shmem_barrier_all();
    PE_CHECK_EQ(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, other, block, N), 0);
    PE_CHECK_EQ(shmem_long_g(other + 1, pe_me), pe_n + (long)pe_n * (pe_n - 1) / 2);
    shmem_barrier_all(); /* the root of a broadcast may write before others call it */
    PE_CHECK_EQ(shmem_long_broadcast(SHMEM_TEAM_WORLD, other, block, N, pe_n - 1), 0);
    PE_GPU_EXPECT(other, pe_n - 1, N, "broadcast");
    block = shmem_realloc(block, 4 * N * sizeof(*block));
    PE_REQUIRE(block != NULL, "shmem_realloc to four times the size returned NULL");
    PE_GPU_EXPECT(block, pe_me, N, "data of a block that realloc made larger");
    shmem_free(block);
    shmem_free(other);
    shmem_free(sig);
}

/* SHMEM_SYMMETRIC_SIZE=0, and a program that asks again and again. */
static int use_nothing(void)
{
    int there = 0;

    shmem_init();
    for (int i = 0; i < 3; i++)
        there += shmem_malloc(100) != NULL;
    shmem_finalize();
    return there == 0 ? PE_PASS : PE_FAIL;
}

int main(int argc, char **argv)
{
    const char *kind = getenv("SHMEM_DEFAULT_SPACE");

    if (argc > 1 && strcmp(argv[1], "nothing") == 0) return use_nothing();
    pe_test_begin();
    if (argc > 1 && strcmp(argv[1], "start") == 0) {
        fprintf(stderr, "pe %d: survived start\n", pe_me);
        return pe_test_end();
    }
    PE_CHECK(in_table[2] == SHMEM_SPACE_DEFAULT,
             "SHMEM_SPACE_DEFAULT changed its value in a static initializer");
    if (argc > 1 && strcmp(argv[1], "destroy_team") == 0) {
        shmem_team_destroy(SHMEM_TEAM_CPU); /* must end the job */
        fprintf(stderr, "pe %d: survived destroy_team\n", pe_me);
    }
    for (int round = 0; round < 2; round++) { /* the second time after a finalize */
        check_enabled();
        check_default_facts(kind != NULL ? kind : "cpu");
        check_default_use();
        if (round == 0) {
            PE_REQUIRE(pe_test_verdict() == PE_PASS,
                       "checks failed before the finalize between the two rounds");
            shmem_finalize();
            pe_test_begin();
        }
    }
    return pe_test_end();
}
