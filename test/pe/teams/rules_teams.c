/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks teams rule by rule (OpenSHMEM 1.6, section 9.4; rules R67-R85 and R87-R90 of
 * docs/reference/conformance.md): all triplets of split_strided against a model, grids of all
 * widths, agreement on failures, configurations, translation of numbers, and lifetimes. Threads
 * that split at the same time are in thread_teams.c and rules_threads.c.
 */
#include "pe_table.h"

#include <limits.h>

/* Handles are constants of the program's start: in initialisers of statics, compared with ==. */
static shmem_team_t static_world = SHMEM_TEAM_WORLD, static_shared = SHMEM_TEAM_SHARED;
static const shmem_team_t static_teams[2] = {SHMEM_TEAM_INVALID, SHMEM_TEAM_WORLD};

static void check_handles(void)
{
    shmem_team_t team = SHMEM_TEAM_INVALID;

    PE_CHECK(static_world == SHMEM_TEAM_WORLD && static_shared == SHMEM_TEAM_SHARED &&
                 static_teams[0] == SHMEM_TEAM_INVALID && static_teams[1] == static_world,
             "a predefined team in a static initializer is not equal to its handle");
    PE_CHECK(SHMEM_TEAM_WORLD != SHMEM_TEAM_SHARED && SHMEM_TEAM_WORLD != SHMEM_TEAM_INVALID &&
                 SHMEM_TEAM_SHARED != SHMEM_TEAM_INVALID,
             "two of SHMEM_TEAM_WORLD, _SHARED and _INVALID are equal");
    PE_CHECK_EQ(shmem_team_my_pe(static_world), pe_me);
    PE_CHECK_EQ(shmem_team_split_strided(static_world, 0, 1, pe_n, NULL, 0, &team), 0);
    PE_CHECK(team != SHMEM_TEAM_WORLD && team != SHMEM_TEAM_SHARED && team != SHMEM_TEAM_INVALID,
             "a new team has the handle of a predefined team");
    shmem_team_destroy(team);
}

/* Does start, stride, size name size different members of n PEs without leaving them? */
static bool model_ok(int n, long start, long stride, long size)
{
    if (size < 1) return false;
    for (long i = 0; i < size; i++)
        if (start + i * stride < 0 || start + i * stride >= n) return false;
    return stride != 0 || size == 1;
}

/* One split against the model: code, handle, number, and who is behind each number. */
static void try_triplet(shmem_team_t parent, int start, int stride, int size)
{
    int n = shmem_team_n_pes(parent), me = shmem_team_my_pe(parent), mine = -1;
    bool ok = model_ok(n, start, stride, size);
    shmem_team_t team = parent;
    int rc = shmem_team_split_strided(parent, start, stride, size, NULL, 0, &team);

    for (int i = 0; ok && i < size; i++)
        if (start + i * stride == me) mine = i;
    PE_CHECK((rc == 0) == ok,
             "split_strided(%d, %d, %d) of a team of %d returned %d, expected 0 only if the model "
             "accepts it",
             start, stride, size, n, rc);
    PE_CHECK(
        (team != SHMEM_TEAM_INVALID) == (mine >= 0),
        "split_strided(%d, %d, %d) of a team of %d set the handle %p, expected a team on members "
        "only",
        start, stride, size, n, (void *)team);
    PE_CHECK_EQ(shmem_team_my_pe(team), mine);
    PE_CHECK_EQ(shmem_team_n_pes(team), mine < 0 ? -1 : size);
    for (int i = 0; mine >= 0 && i < size; i++)
        PE_CHECK_EQ(shmem_team_translate_pe(team, i, parent), start + i * stride);
    shmem_team_destroy(team);
}

static void try_triplets(shmem_team_t parent)
{
    int n = shmem_team_n_pes(parent), most = n < 4 ? n : 4;

    for (int stride = -most; stride <= most; stride++)
        for (int start = -1; start <= most; start++)
            for (int size = 0; size <= most + 1; size++)
                try_triplet(parent, start, stride, size);
    try_triplet(parent, n - 1, INT_MIN, 1);
    try_triplet(parent, n - 1, INT_MIN, INT_MAX);
    try_triplet(parent, INT_MIN, INT_MAX, INT_MAX);
    try_triplet(parent, 0, INT_MAX, INT_MAX);
    try_triplet(parent, INT_MAX, INT_MIN, 2);
    try_triplet(parent, 0, 1, INT_MIN);
    try_triplet(parent, n / 2, 1, n - n / 2 + 1); /* would wrap around */
}

/* Of the world, and of the reversed odd half of it: numbers are the parent's. */
static void check_triplets(void)
{
    shmem_team_t odd = SHMEM_TEAM_INVALID;
    int n_odd = pe_n / 2;

    try_triplets(SHMEM_TEAM_WORLD);
    if (n_odd == 0) return;
    PE_REQUIRE(
        shmem_team_split_strided(SHMEM_TEAM_WORLD, 2 * n_odd - 1, -2, n_odd, NULL, 0, &odd) == 0,
        "splitting off the reversed odd PEs failed");
    if (odd != SHMEM_TEAM_INVALID) try_triplets(odd);
    shmem_team_destroy(odd);
}

/* The split orders members as start and stride say, not as the parent does. */
static void check_order(void)
{
    shmem_team_t reversed = SHMEM_TEAM_INVALID, again = SHMEM_TEAM_INVALID;

    PE_CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, pe_n - 1, -1, pe_n, NULL, 0, &reversed),
                0);
    PE_CHECK_EQ(shmem_team_my_pe(reversed), pe_n - 1 - pe_me);
    PE_CHECK_EQ(shmem_team_split_strided(reversed, 0, 1, pe_n, NULL, 0, &again), 0);
    PE_CHECK_EQ(shmem_team_my_pe(again), pe_n - 1 - pe_me); /* start is the parent's number */
    shmem_team_destroy(reversed);
    shmem_team_destroy(again);
}

/* One PE's arguments are bad: all fail, none has a team, and the parent is as it was. */
static void check_one_fails(void)
{
    shmem_team_config_t bad = {.num_contexts = -1}, good = {.num_contexts = 1};
    static long source = 1, sum;

    for (int who = 0; who < pe_n; who++) {
        const shmem_team_config_t *config = who == pe_me ? &bad : &good;
        shmem_team_t team = SHMEM_TEAM_WORLD, x = SHMEM_TEAM_WORLD, y = SHMEM_TEAM_WORLD;

        PE_CHECK(
            shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pe_n, config, SHMEM_TEAM_NUM_CONTEXTS,
                                     &team) != 0,
            "the configuration of pe %d is invalid, and split_strided returned 0 here, expected an "
            "error on all PEs",
            who);
        PE_CHECK(team == SHMEM_TEAM_INVALID,
                 "a failed split_strided did not set SHMEM_TEAM_INVALID");
        PE_CHECK(
            shmem_team_split_2d(SHMEM_TEAM_WORLD, 2, NULL, 0, &x, config, SHMEM_TEAM_NUM_CONTEXTS,
                                &y) != 0,
            "the y configuration of pe %d is invalid, and split_2d returned 0 here, expected an "
            "error on all PEs",
            who);
        PE_CHECK(x == SHMEM_TEAM_INVALID && y == SHMEM_TEAM_INVALID,
                 "a failed split_2d did not set both teams to SHMEM_TEAM_INVALID");
        x = y = SHMEM_TEAM_WORLD;
        PE_CHECK(
            shmem_team_split_2d(SHMEM_TEAM_WORLD, 2, config, SHMEM_TEAM_NUM_CONTEXTS, &x, NULL, 0,
                                &y) != 0,
            "the x configuration of pe %d is invalid, and split_2d returned 0 here, expected an "
            "error on all PEs",
            who);
        PE_CHECK(x == SHMEM_TEAM_INVALID && y == SHMEM_TEAM_INVALID,
                 "a failed split_2d did not set both teams to SHMEM_TEAM_INVALID");
    }
    PE_CHECK_EQ(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sum, &source, 1), 0);
    PE_CHECK_EQ(sum, pe_n);
}

/* Rows may differ in their configuration from other rows, columns from other columns. */
static void check_2d_configs(void)
{
    int width = 2 < pe_n ? 2 : pe_n, row = pe_me / width, column = pe_me % width;
    shmem_team_config_t x_config = {.num_contexts = 1 + row}, got = {.num_contexts = -5};
    shmem_team_config_t y_config = {.num_contexts = 11 + column};
    shmem_team_t x = SHMEM_TEAM_INVALID, y = SHMEM_TEAM_INVALID;

    PE_CHECK_EQ(shmem_team_split_2d(SHMEM_TEAM_WORLD, 2, &x_config, SHMEM_TEAM_NUM_CONTEXTS, &x,
                                    &y_config, SHMEM_TEAM_NUM_CONTEXTS, &y),
                0);
    PE_CHECK_EQ(shmem_team_get_config(x, SHMEM_TEAM_NUM_CONTEXTS, &got), 0);
    PE_CHECK_EQ(got.num_contexts, 1 + row);
    PE_CHECK_EQ(shmem_team_get_config(y, SHMEM_TEAM_NUM_CONTEXTS, &got), 0);
    PE_CHECK_EQ(got.num_contexts, 11 + column);
    shmem_team_destroy(x);
    shmem_team_destroy(y);
    /* the mask of one axis says nothing of the other */
    y_config.num_contexts = -1;
    PE_CHECK_EQ(shmem_team_split_2d(SHMEM_TEAM_WORLD, 2, &x_config, SHMEM_TEAM_NUM_CONTEXTS, &x,
                                    &y_config, 0, &y),
                0);
    PE_CHECK_EQ(shmem_team_get_config(y, SHMEM_TEAM_NUM_CONTEXTS, &got), 0);
    PE_CHECK_EQ(got.num_contexts, 0);
    shmem_team_destroy(x);
    shmem_team_destroy(y);
}

/* Fields that the mask leaves out are not read; NULL does where nothing is masked. */
static void check_unmasked(void)
{
    shmem_team_config_t garbage;
    shmem_team_t team = SHMEM_TEAM_INVALID;

    memset(&garbage, 0xff, sizeof(garbage));
    PE_CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pe_n, &garbage, 0, &team), 0);
    garbage.num_contexts = 9;
    PE_CHECK_EQ(shmem_team_get_config(team, 0, &garbage), 0);
    PE_CHECK_EQ(garbage.num_contexts, 9); /* not masked, not written */
    PE_CHECK_EQ(shmem_team_get_config(team, 0, NULL), 0);
    PE_CHECK_EQ(shmem_team_get_config(SHMEM_TEAM_WORLD, 0, NULL), 0);
    PE_CHECK_EQ(shmem_team_get_config(SHMEM_TEAM_WORLD, SHMEM_TEAM_NUM_CONTEXTS, &garbage), 0);
    PE_CHECK_EQ(shmem_team_get_config(SHMEM_TEAM_SHARED, SHMEM_TEAM_NUM_CONTEXTS, &garbage), 0);
    PE_CHECK(shmem_team_get_config(SHMEM_TEAM_INVALID, 0, NULL) != 0,
             "shmem_team_get_config of SHMEM_TEAM_INVALID returned 0, expected an error");
    shmem_team_destroy(team);
    /* NULL where something is masked is undefined: an error for all here */
    team = SHMEM_TEAM_WORLD;
    PE_CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pe_n, NULL, SHMEM_TEAM_NUM_CONTEXTS,
                                      &team) != 0,
             "split_strided with a NULL configuration and a mask returned 0, expected an error");
    PE_CHECK(team == SHMEM_TEAM_INVALID,
             "split_strided with a NULL configuration and a mask did not set SHMEM_TEAM_INVALID");
}

/* num_contexts reads back and reserves nothing that would be missed: more contexts are made. */
static void check_num_contexts(void)
{
    for (int asked = 0; asked <= 2; asked++) {
        shmem_team_config_t config = {.num_contexts = asked}, got = {.num_contexts = -1};
        shmem_team_t team = SHMEM_TEAM_INVALID;
        shmem_ctx_t ctx[6];

        PE_CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pe_n, &config,
                                             SHMEM_TEAM_NUM_CONTEXTS, &team),
                    0);
        PE_CHECK_EQ(shmem_team_get_config(team, SHMEM_TEAM_NUM_CONTEXTS, &got), 0);
        PE_CHECK_EQ(got.num_contexts, asked);
        for (int i = 0; i < 6; i++)
            PE_CHECK(shmem_team_create_ctx(team, 0, &ctx[i]) == 0,
                     "creating context %d on a team with num_contexts %d failed", i, asked);
        /* a private one at the team's end is undefined: it ends as the shareable ones do */
        PE_CHECK_EQ(shmem_team_create_ctx(team, SHMEM_CTX_PRIVATE, &ctx[0]), 0);
        shmem_team_destroy(team);
    }
}

/* One PE may say "no team" alone: nothing is communicated. */
static void check_no_parent(void)
{
    shmem_team_t x = SHMEM_TEAM_WORLD, y = SHMEM_TEAM_WORLD;

    for (int i = 0; i < pe_me; i++) {
        x = y = SHMEM_TEAM_WORLD;
        PE_CHECK(shmem_team_split_strided(SHMEM_TEAM_INVALID, 0, 1, 1, NULL, 0, &x) != 0,
                 "split_strided of SHMEM_TEAM_INVALID returned 0, expected an error");
        PE_CHECK(x == SHMEM_TEAM_INVALID,
                 "split_strided of SHMEM_TEAM_INVALID did not set SHMEM_TEAM_INVALID");
        x = SHMEM_TEAM_WORLD;
        PE_CHECK(shmem_team_split_2d(SHMEM_TEAM_INVALID, 1, NULL, 0, &x, NULL, 0, &y) != 0,
                 "split_2d of SHMEM_TEAM_INVALID returned 0, expected an error");
        PE_CHECK(x == SHMEM_TEAM_INVALID && y == SHMEM_TEAM_INVALID,
                 "split_2d of SHMEM_TEAM_INVALID did not set both teams to SHMEM_TEAM_INVALID");
        shmem_team_destroy(SHMEM_TEAM_INVALID);
    }
}

/* Numbers that are none, teams that one is not in, teams that do not meet. */
static void check_translate(void)
{
    static const int outside[] = {-1, INT_MIN, INT_MAX};
    shmem_team_t even = SHMEM_TEAM_INVALID, tail = SHMEM_TEAM_INVALID;
    int n_even = (pe_n + 1) / 2;

    PE_CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, n_even, NULL, 0, &even), 0);
    PE_CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, pe_n - 1, 1, 1, NULL, 0, &tail), 0);
    for (size_t i = 0; i < 3; i++)
        PE_CHECK_EQ(shmem_team_translate_pe(SHMEM_TEAM_WORLD, outside[i], SHMEM_TEAM_WORLD), -1);
    for (int pe = 0; even != SHMEM_TEAM_INVALID && pe < pe_n + 2; pe++) {
        int in_even = pe % 2 == 0 && pe < pe_n ? pe / 2 : -1;

        PE_CHECK_EQ(shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe, even), in_even);
        PE_CHECK_EQ(shmem_team_translate_pe(even, pe, SHMEM_TEAM_WORLD), pe < n_even ? 2 * pe : -1);
    }
    PE_CHECK_EQ(shmem_team_translate_pe(even, 0, SHMEM_TEAM_INVALID), -1);
    PE_CHECK_EQ(shmem_team_translate_pe(SHMEM_TEAM_INVALID, 0, even), -1);
    if (even != SHMEM_TEAM_INVALID && tail != SHMEM_TEAM_INVALID)
        PE_CHECK_EQ(shmem_team_translate_pe(even, n_even - 1, tail), 0);
    if (pe_n > 1 && tail != SHMEM_TEAM_INVALID && even != SHMEM_TEAM_INVALID)
        PE_CHECK_EQ(shmem_team_translate_pe(even, 0, tail), -1);
    shmem_sync_all();
    shmem_team_destroy(even);
    shmem_team_destroy(tail);
}

/* A child is used at once by who is through, whatever the others are still at; parents may die. */
static void check_use_at_once(void)
{
    static long source[2], sum[2];

    for (int round = 0; round < pe_rounds(100); round++) {
        shmem_team_t parent = SHMEM_TEAM_INVALID, child = SHMEM_TEAM_INVALID;
        int rc = shmem_team_split_strided(SHMEM_TEAM_WORLD, pe_n - 1, -1, pe_n, NULL, 0, &parent);

        PE_REQUIRE(rc == 0, "split_strided of the world returned %d, expected 0", rc);
        rc =
            shmem_team_split_strided(parent, round % pe_n, 1, pe_n - round % pe_n, NULL, 0, &child);
        PE_REQUIRE(rc == 0, "split_strided of a split returned %d, expected 0", rc);
        if (round % 2) shmem_team_destroy(parent);
        if (child != SHMEM_TEAM_INVALID) {
            source[0] = 1;
            source[1] = shmem_team_my_pe(child);
            PE_CHECK_EQ(shmem_long_sum_reduce(child, sum, source, 2), 0);
            PE_CHECK_EQ(sum[0], pe_n - round % pe_n);
            PE_CHECK_EQ(sum[1], sum[0] * (sum[0] - 1) / 2);
        }
        if (round % 2 == 0) shmem_team_destroy(parent);
        shmem_team_destroy(child);
    }
}

/* A team of one PE: every collective is a copy of its own. */
static void check_alone(void)
{
    static long source[4], dest[4];
    shmem_team_t alone = SHMEM_TEAM_INVALID;

    PE_CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, pe_n / 2, 0, 1, NULL, 0, &alone), 0);
    if (alone == SHMEM_TEAM_INVALID) return;
    for (int i = 0; i < 4; i++)
        source[i] = 100 + i;
    PE_CHECK_EQ(shmem_team_sync(alone), 0);
    PE_CHECK_EQ(shmem_long_broadcast(alone, dest, source, 2, 0), 0);
    PE_CHECK_EQ(dest[1], 101);
    PE_CHECK_EQ(shmem_long_collect(alone, dest, source + 1, 2), 0);
    PE_CHECK_EQ(dest[1], 102);
    PE_CHECK_EQ(shmem_long_fcollect(alone, dest, source + 2, 2), 0);
    PE_CHECK_EQ(dest[1], 103);
    PE_CHECK_EQ(shmem_long_alltoall(alone, dest, source, 2), 0);
    PE_CHECK_EQ(dest[1], 101);
    PE_CHECK_EQ(shmem_long_alltoalls(alone, dest, source, 3, 2, 2), 0);
    PE_CHECK_EQ(dest[3], 102);
    PE_CHECK_EQ(shmem_long_max_reduce(alone, dest, source, 2), 0);
    PE_CHECK_EQ(dest[1], 101);
    PE_CHECK_EQ(shmem_long_prod_reduce(alone, dest, source, 1), 0);
    PE_CHECK_EQ(dest[0], 100);
    PE_CHECK_EQ(shmem_long_sum_inscan(alone, dest, source + 1, 2), 0);
    PE_CHECK_EQ(dest[1], 102);
    PE_CHECK_EQ(shmem_long_sum_exscan(alone, dest, source, 2), 0);
    PE_CHECK_EQ(dest[0] | dest[1], 0);
    shmem_team_destroy(alone);
}

/* Numbers in a grid: every width, with the last row short; wider than the team is one row. */
static void check_grid(void)
{
    for (int i = 1; i <= pe_n + 3; i++) {
        int width = i <= pe_n + 2 ? i : INT_MAX;
        int acts = width < pe_n ? width : pe_n, row = pe_me / acts, column = pe_me % acts;
        shmem_team_t x = SHMEM_TEAM_INVALID, y = SHMEM_TEAM_INVALID;

        PE_CHECK_EQ(shmem_team_split_2d(SHMEM_TEAM_WORLD, width, NULL, 0, &x, NULL, 0, &y), 0);
        PE_CHECK_EQ(shmem_team_my_pe(x), column);
        PE_CHECK_EQ(shmem_team_my_pe(y), row);
        for (int pe = 0; pe < pe_n; pe++) {
            PE_CHECK_EQ(shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe, x),
                        pe / acts == row ? pe % acts : -1);
            PE_CHECK_EQ(shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe, y),
                        pe % acts == column ? pe / acts : -1);
        }
        PE_CHECK_EQ(shmem_team_sync(x), 0);
        PE_CHECK_EQ(shmem_team_sync(y), 0);
        shmem_team_destroy(x);
        shmem_team_destroy(y);
    }
}

/* What can be asked of no team, and what it answers. */
static void check_invalid(void)
{
    static shmem_team_t none = SHMEM_TEAM_INVALID;
    shmem_team_config_t config = {.num_contexts = 77};

    PE_CHECK_EQ(shmem_team_my_pe(none), -1);
    PE_CHECK_EQ(shmem_team_n_pes(none), -1);
    PE_CHECK_EQ(shmem_team_translate_pe(none, 0, SHMEM_TEAM_WORLD), -1);
    PE_CHECK_EQ(shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe_n, SHMEM_TEAM_WORLD), -1);
    PE_CHECK(shmem_team_get_config(none, SHMEM_TEAM_NUM_CONTEXTS, &config) != 0,
             "shmem_team_get_config of SHMEM_TEAM_INVALID returned 0, expected an error");
    PE_CHECK_EQ(config.num_contexts, 77);
    shmem_team_destroy(none);
    PE_CHECK(shmem_team_is_valid(none) == 0, "shmem_team_is_valid of SHMEM_TEAM_INVALID is not 0");
    PE_CHECK(shmem_team_is_valid(SHMEM_TEAM_WORLD) != 0,
             "shmem_team_is_valid of SHMEM_TEAM_WORLD is 0");
}

static void check_bad_2d(void)
{
    for (int xrange = 0; xrange >= -1; xrange--) {
        shmem_team_t x = SHMEM_TEAM_WORLD, y = SHMEM_TEAM_WORLD;

        PE_CHECK(shmem_team_split_2d(SHMEM_TEAM_WORLD, xrange, NULL, 0, &x, NULL, 0, &y) != 0,
                 "split_2d with xrange %d returned 0, expected an error", xrange);
        PE_CHECK(x == SHMEM_TEAM_INVALID && y == SHMEM_TEAM_INVALID,
                 "split_2d with xrange %d did not set both teams to SHMEM_TEAM_INVALID", xrange);
    }
}

/* Many alive at once, each the reversed one before; handles differ and work to the end. */
static void check_many(void)
{
    enum { MANY = 100 };
    static shmem_team_t team[MANY];
    static long source[2], sum[2];
    int alive = pe_rounds(8) == 8 ? MANY : 30;

    for (int i = 0; i < alive; i++) {
        PE_REQUIRE(shmem_team_split_strided(i ? team[i - 1] : SHMEM_TEAM_WORLD, pe_n - 1, -1, pe_n,
                                            NULL, 0, &team[i]) == 0,
                   "creating team %d of many failed", i);
        PE_CHECK(team[i] != SHMEM_TEAM_WORLD && (!i || team[i] != team[i - 1]),
                 "a new team has the handle of the world or of its parent");
    }
    source[0] = 1;
    for (int i = 0; i < alive; i += 33) {
        source[1] = shmem_team_my_pe(team[i]);
        PE_CHECK_EQ(shmem_long_sum_reduce(team[i], sum, source, 2), 0);
        PE_CHECK_EQ(sum[0], pe_n);
        PE_CHECK_EQ(sum[1], (long)pe_n * (pe_n - 1) / 2);
        PE_CHECK_EQ(shmem_team_sync(team[i]), 0);
    }
    PE_CHECK_EQ(shmem_team_my_pe(team[alive - 1]), alive % 2 ? pe_n - 1 - pe_me : pe_me);
    for (int i = 0; i < alive; i++)
        shmem_team_destroy(team[i]);
}

static const struct pe_rule rules[] = {
    {"R67 handles are constants that compare", check_handles},
    {"R68 R69 R70 R87 what no team answers", check_invalid},
    {"R69 translate_pe: -1 for whoever is not in both", check_translate},
    {"R70 R73 fields that are not masked are neither read nor written", check_unmasked},
    {"R71 R72 R88 num_contexts reads back and limits nothing", check_num_contexts},
    {"R74 R75 R77 R79 R80 every triplet, as the model says", check_triplets},
    {"R75 R83 one PE's failure is everybody's", check_one_fails},
    {"R76 no parent: an error without communication", check_no_parent},
    {"R78 a stride orders the members", check_order},
    {"R82 R83 no grid: an error for all", check_bad_2d},
    {"R81 R82 grids of every width", check_grid},
    {"R84 configurations agree inside each row and column only", check_2d_configs},
    {"R85 R89 children at once, and without their parent", check_use_at_once},
    {"R89 many at once, from one another", check_many},
    {"R90 teams of one PE", check_alone},
};

int main(void)
{
    pe_test_begin();
    PE_RULES_RUN(rules);
    return pe_test_end();
}
