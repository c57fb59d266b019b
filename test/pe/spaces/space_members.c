/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks who is a member of a space: exactly the PEs with such memory, in world order; teams that
 * are split from the space's team; and what PEs that are not members get and may call.
 * FAKECUDA_RANKS of the fake driver selects the PEs with a GPU. Proposal text and rules S2, S3 and
 * S4 of docs/reference/conformance-spaces.md.
 */
#include "pe_kinds.h"

enum { N = 40, MAX_PES = 64 };

static int has_gpu[MAX_PES]; /* symmetric: what each PE says of itself, on all */

/* Members as they should be, by world number. */
static int want[MAX_PES], n_want;

static void find_gpus(void)
{
    int mine = pe_gpu_load();

    for (int pe = 0; pe < pe_n; pe++)
        shmem_int_p(&has_gpu[pe_me], mine, pe);
    shmem_barrier_all();
}

static void expect_members(bool (*has)(int pe))
{
    n_want = 0;
    for (int pe = 0; pe < pe_n; pe++)
        if (has(pe)) want[n_want++] = pe;
}

static bool with_gpu(int pe)
{
    return has_gpu[pe] != 0;
}

static bool everyone(int pe)
{
    return pe < pe_n;
}

/* A team consists of these world numbers in this order; asked in both directions. */
static void check_team_is(shmem_team_t team, const int *pes, int n, const char *what)
{
    int me = -1;

    for (int i = 0; i < n; i++)
        if (pes[i] == pe_me) me = i;
    if (me < 0) {
        PE_CHECK(team == SHMEM_TEAM_INVALID,
                 "%s: a PE that is not a member got a team, expected SHMEM_TEAM_INVALID", what);
        return;
    }
    PE_REQUIRE(shmem_team_is_valid(team), "%s: a member did not get a valid team", what);
    PE_CHECK(shmem_team_n_pes(team) == n, "%s: the team has %d PEs, expected %d", what,
             shmem_team_n_pes(team), n);
    PE_CHECK(shmem_team_my_pe(team) == me, "%s: this PE has number %d in the team, expected %d",
             what, shmem_team_my_pe(team), me);
    for (int i = 0; i < n; i++) {
        int pe = shmem_team_translate_pe(team, i, SHMEM_TEAM_WORLD);
        PE_CHECK(pe == pes[i], "%s: number %d of the team is pe %d, expected pe %d", what, i, pe,
                 pes[i]);
    }
    for (int pe = 0; pe < pe_n; pe++) {
        int rank = -1;
        for (int i = 0; i < n; i++)
            if (pes[i] == pe) rank = i;
        PE_CHECK(shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe, team) == rank,
                 "%s: pe %d has number %d in the team, expected %d", what, pe,
                 shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe, team), rank);
    }
    PE_CHECK(shmem_team_translate_pe(team, n, SHMEM_TEAM_WORLD) == -1,
             "%s: translating a number past the end of the team did not return -1", what);
}

/* Collectives of a team (whose members come here) on memory of the space that it is from. */
static void use_team(shmem_team_t team, long *a, long *b, const char *what)
{
    int n = shmem_team_n_pes(team), me = shmem_team_my_pe(team);
    long bases = 1000L * n * (n - 1) / 2;

    pe_gpu_fill(a, 1000 * me, N);
    pe_team_barrier(team);
    PE_CHECK_EQ(shmem_long_sum_reduce(team, b, a, 1), 0);
    PE_GPU_EXPECT(b, bases, 1, what);
    pe_team_barrier(team);
    PE_CHECK_EQ(shmem_long_broadcast(team, b, a, N, n - 1), 0);
    PE_GPU_EXPECT(b, 1000 * (n - 1), N, what);
    pe_team_barrier(team);
    PE_CHECK_EQ(shmem_long_fcollect(team, b, a, N), 0);
    for (int i = 0; i < n; i++)
        PE_GPU_EXPECT(b + i * N, 1000 * i, N, what);
    pe_team_barrier(team);
    PE_CHECK_EQ(shmem_long_alltoall(team, b, a, N / n), 0);
    for (int i = 0; i < n; i++)
        PE_GPU_EXPECT(b + i * (N / n), 1000 * i + me * (N / n), (size_t)(N / n), what);
    pe_team_barrier(team);
}

static void check_split(const struct pe_space *s, long *a, long *b, int start, int stride, int size)
{
    shmem_team_t team = SHMEM_TEAM_WORLD;
    shmem_space_t of = SHMEM_SPACE_INVALID;
    int pes[MAX_PES];
    char what[64];

    snprintf(what, sizeof(what), "split(%d, %d, %d) of %d", start, stride, size, s->n);
    for (int i = 0; i < size; i++)
        pes[i] = want[start + i * stride];
    PE_CHECK_EQ(shmem_team_split_strided(s->team, start, stride, size, NULL, 0, &team), 0);
    check_team_is(team, pes, size, what);
    if (team == SHMEM_TEAM_INVALID) return;
    PE_CHECK_EQ(shmem_team_get_space(team, &of), 0);
    PE_CHECK(of == s->space,
             "%s: shmem_team_get_space is %p, expected the space that the team is split from", what,
             of);
    use_team(team, a, b, what);
    shmem_team_destroy(team);
}

/* Triplets that leave the team: nonzero on all members, and INVALID. */
static void check_bad_splits(const struct pe_space *s)
{
    const int bad[][3] = {{0, 1, s->n + 1}, {s->n, 1, 1}, {-1, 1, 1},
                          {0, 1, 0},        {0, 0, 2},    {0, -1, 2}};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        shmem_team_t team = SHMEM_TEAM_WORLD;
        int rc = shmem_team_split_strided(s->team, bad[i][0], bad[i][1], bad[i][2], NULL, 0, &team);

        PE_CHECK(rc != 0 && team == SHMEM_TEAM_INVALID,
                 "split(%d, %d, %d) of a team of %d returned %d, expected an error and "
                 "SHMEM_TEAM_INVALID",
                 bad[i][0], bad[i][1], bad[i][2], s->n, rc);
    }
}

/* The last row may be short: rank r is in row r / width and column r % width. */
static void check_grid(const struct pe_space *s, long *a, long *b, int width)
{
    shmem_team_t row = SHMEM_TEAM_INVALID, column = SHMEM_TEAM_INVALID;
    int pes[2][MAX_PES], n[2] = {0, 0};
    char what[64];

    PE_REQUIRE(shmem_team_split_2d(s->team, width, NULL, 0, &row, NULL, 0, &column) == 0,
               "shmem_team_split_2d into rows of %d failed", width);
    if (width > s->n) width = s->n;
    for (int r = 0; r < s->n; r++) {
        if (r / width == s->rank / width) pes[0][n[0]++] = want[r];
        if (r % width == s->rank % width) pes[1][n[1]++] = want[r];
    }
    snprintf(what, sizeof(what), "row of %d of %d", width, s->n);
    check_team_is(row, pes[0], n[0], what);
    use_team(row, a, b, what);
    shmem_team_sync(s->team);
    snprintf(what, sizeof(what), "column of %d of %d", width, s->n);
    check_team_is(column, pes[1], n[1], what);
    use_team(column, a, b, what);
    shmem_team_sync(s->team);
    shmem_team_destroy(row);
    shmem_team_destroy(column);
}

/* A split of a split, in another order; and a duplicate of it. */
static void check_descendants(const struct pe_space *s, long *a, long *b)
{
    shmem_team_t back = SHMEM_TEAM_INVALID, part = SHMEM_TEAM_INVALID, twin = SHMEM_TEAM_INVALID;
    int pes[MAX_PES], n = (s->n + 1) / 2;

    for (int i = 0; i < s->n; i++)
        pes[i] = want[s->n - 1 - i];
    PE_CHECK_EQ(shmem_team_split_strided(s->team, s->n - 1, -1, s->n, NULL, 0, &back), 0);
    check_team_is(back, pes, s->n, "reversed");
    PE_CHECK_EQ(shmemx_team_duplicate(back, &twin), 0);
    check_team_is(twin, pes, s->n, "duplicate of reversed");
    PE_CHECK(twin != back, "shmemx_team_duplicate returned the handle of its argument");
    use_team(twin, a, b, "duplicate of reversed");
    for (int i = 0; i < n; i++)
        pes[i] = want[s->n - 1 - 2 * i];
    PE_CHECK_EQ(shmem_team_split_strided(back, 0, 2, n, NULL, 0, &part), 0);
    check_team_is(part, pes, n, "every second of reversed");
    if (part != SHMEM_TEAM_INVALID) use_team(part, a, b, "every second of reversed");
    shmem_team_sync(back);
    shmem_team_destroy(part);
    shmem_team_destroy(twin);
    shmem_team_destroy(back);
}

static void run_as_member(const struct pe_space *s)
{
    long *a = pe_kind_malloc(s, N), *b = pe_kind_malloc(s, N * (size_t)s->n);
    shmem_team_t asked = SHMEM_TEAM_INVALID;
    shmem_space_cap_t caps = 0;

    PE_CHECK_EQ(shmem_space_get_team(s->space, &asked), 0);
    PE_CHECK(asked == s->team, "shmem_space_get_team did not return the team of the space");
    PE_CHECK_EQ(shmem_space_get_caps(s->space, &caps), 0);
    PE_CHECK_EQ(!!(caps & SHMEM_SPACE_CAP_WORLD_ACCESS), n_want == pe_n);
    for (int pe = 0; pe < pe_n; pe++) {
        bool member = shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe, s->team) >= 0;
        PE_CHECK((shmemx_space_path(s->space, pe) != SHMEMX_PATH_NONE) == member,
                 "the path to pe %d, %s, is wrong: expected none only for PEs that are not members",
                 pe, member ? "a member" : "no member");
    }
    use_team(s->team, a, b, "the space's team");
    check_split(s, a, b, 0, 2, (s->n + 1) / 2);
    check_split(s, a, b, s->n - 1, -1, s->n);
    check_split(s, a, b, s->n - 1, 0, 1);
    if (s->n > 1) check_split(s, a, b, 1, 1, s->n - 1);
    check_bad_splits(s);
    for (int width = 1; width <= s->n + 1; width++)
        check_grid(s, a, b, width);
    check_descendants(s, a, b);
    shmem_space_free(s->space, b);
    shmem_space_free(s->space, a);
}

/* What a PE that is no member can do with what it got: nothing happens. P, S3. */
static void run_as_other(const struct pe_space *s)
{
    shmemx_ctx_config_t binding = {s->team, s->space};
    shmem_team_t row, column, team = SHMEM_TEAM_WORLD;
    shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;
    shmem_device_type_t type;
    shmem_space_cap_t caps;
    shmemx_space_info_t info = SHMEMX_SPACE_INFO_INITIALIZER;
    shmem_space_t space;
    int word = 0;

    PE_CHECK(s->team == SHMEM_TEAM_INVALID, "a PE that is not a member got a team");
    PE_CHECK(shmem_space_malloc(s->space, 100) == NULL,
             "shmem_space_malloc by a PE that is not a member returned memory, expected NULL");
    PE_CHECK(shmem_space_calloc(s->space, 10, 10) == NULL,
             "shmem_space_calloc by a PE that is not a member returned memory, expected NULL");
    shmem_space_free(s->space, &word);
    PE_CHECK(shmemx_space_align(s->space, 64, 100) == NULL,
             "shmemx_space_align by a PE that is not a member returned memory, expected NULL");
    PE_CHECK(shmemx_space_realloc(s->space, NULL, 100) == NULL,
             "shmemx_space_realloc by a PE that is not a member returned memory, expected NULL");
    PE_CHECK(shmem_space_get_team(s->space, &team) != 0,
             "shmem_space_get_team by a PE that is not a member returned 0, expected an error");
    PE_CHECK(
        shmem_space_get_device_type(s->space, &type) != 0,
        "shmem_space_get_device_type by a PE that is not a member returned 0, expected an error");
    PE_CHECK(shmem_space_get_caps(s->space, &caps) != 0,
             "shmem_space_get_caps by a PE that is not a member returned 0, expected an error");
    PE_CHECK(shmemx_space_query(s->space, &info) != 0,
             "shmemx_space_query by a PE that is not a member returned 0, expected an error");
    PE_CHECK_EQ(shmemx_space_path(s->space, pe_me), SHMEMX_PATH_NONE);
    PE_CHECK(shmem_team_get_space(s->team, &space) != 0,
             "shmem_team_get_space of SHMEM_TEAM_INVALID returned 0, expected an error");
    PE_CHECK_EQ(shmem_team_is_valid(s->team), 0);
    PE_CHECK_EQ(shmem_team_my_pe(s->team), -1);
    PE_CHECK_EQ(shmem_team_n_pes(s->team), -1);
    PE_CHECK_EQ(shmem_team_translate_pe(s->team, 0, SHMEM_TEAM_WORLD), -1);
    PE_CHECK_EQ(shmem_team_translate_pe(SHMEM_TEAM_WORLD, 0, s->team), -1);
    PE_CHECK(shmem_team_split_strided(s->team, 0, 1, 1, NULL, 0, &team) != 0 &&
                 team == SHMEM_TEAM_INVALID,
             "shmem_team_split_strided by a PE that is not a member did not fail with "
             "SHMEM_TEAM_INVALID");
    PE_CHECK(shmem_team_split_2d(s->team, 1, NULL, 0, &row, NULL, 0, &column) != 0,
             "shmem_team_split_2d by a PE that is not a member returned 0, expected an error");
    PE_CHECK(shmemx_team_duplicate(s->team, &team) != 0,
             "shmemx_team_duplicate by a PE that is not a member returned 0, expected an error");
    PE_CHECK(
        shmem_team_create_ctx(s->team, 0, &ctx) != 0 && ctx == SHMEM_CTX_INVALID,
        "shmem_team_create_ctx by a PE that is not a member did not fail with SHMEM_CTX_INVALID");
    PE_CHECK(shmemx_ctx_create(0, &binding, &ctx) != 0 && ctx == SHMEM_CTX_INVALID,
             "shmemx_ctx_create by a PE that is not a member did not fail with SHMEM_CTX_INVALID");
}

/* One kind: created twice, the second time the others call nothing but create. */
static void check_kind(int kind, bool (*has)(int pe))
{
    struct pe_space s;
    bool member = has(pe_me);

    expect_members(has);
    for (int round = 0; round < 2; round++) {
        bool made = pe_kind_create(kind, (size_t)PE_MIB, &s);

        PE_REQUIRE(made == (n_want > 0), "%s: shmem_space_create %s, but %d PEs have such memory",
                   pe_kinds[kind].name, made ? "succeeded" : "failed", n_want);
        PE_CHECK((s.space != SHMEM_SPACE_INVALID) == member,
                 "%s: the space is %p, member is %d: expected a valid space on members only",
                 pe_kinds[kind].name, s.space, member);
        check_team_is(s.team, want, n_want, pe_kinds[kind].name);
        if (member)
            run_as_member(&s);
        else if (round == 0)
            run_as_other(&s);
        if (member || round == 0) pe_kind_destroy(&s);
    }
    shmem_barrier_all();
}

/* A space of the members of a team alone: in its order, and nobody else is asked. */
static void check_parent(shmem_team_t parent, const char *what)
{
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
    shmem_space_config_t config = pe_cpu_config(PE_MIB);
    struct pe_space s = {.kind = &pe_kinds[PE_CPU]};
    int pes[MAX_PES];

    if (parent == SHMEM_TEAM_INVALID) return;
    attr.parent = parent;
    s.n = shmem_team_n_pes(parent);
    s.rank = shmem_team_my_pe(parent);
    PE_CHECK_EQ(shmemx_space_create_attr(&config, &attr, &s.space, &s.team), 0);
    PE_REQUIRE(s.space != SHMEM_SPACE_INVALID, "%s: create returned 0 and SHMEM_SPACE_INVALID",
               what);
    for (int i = 0; i < s.n; i++)
        pes[i] = shmem_team_translate_pe(parent, i, SHMEM_TEAM_WORLD);
    check_team_is(s.team, pes, s.n, what);
    pe_kind_use(&s, 7);
    pe_kind_destroy(&s);
}

static void check_parents(void)
{
    shmem_team_t odd = SHMEM_TEAM_INVALID, back = SHMEM_TEAM_INVALID;
    struct pe_space gpu;

    PE_CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, pe_n - 1, -1, pe_n, NULL, 0, &back), 0);
    check_parent(back, "space of the reversed world");
    if (pe_n > 1) shmem_team_split_strided(SHMEM_TEAM_WORLD, 1, 2, pe_n / 2, NULL, 0, &odd);
    check_parent(odd, "space of the odd PEs");
    shmem_barrier_all();
    shmem_team_destroy(odd);
    shmem_team_destroy(back);
    if (!pe_kind_exists(PE_GPU)) return;
    PE_REQUIRE(pe_kind_create(PE_GPU, PE_MIB, &gpu), "creating a GPU space failed");
    check_parent(gpu.team, "CPU space of the PEs with a GPU");
    pe_kind_destroy(&gpu);
    shmem_barrier_all();
}

int main(void)
{
    pe_test_begin();
    PE_REQUIRE(pe_n <= MAX_PES, "this test has too few places for %d PEs", pe_n);
    find_gpus();
    check_kind(PE_CPU, everyone);
    check_kind(PE_GPU, with_gpu);
    if (getenv("SHMEM_FAM_PATH") != NULL) check_kind(PE_FAM, everyone);
    check_parents();
    return pe_test_end();
}
