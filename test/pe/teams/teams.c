/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Teams: splits of every shape, numbers and translation, outsiders, invalid arguments, lifetime.
 * Rules R67-R90.
 */
#include "pe_teams.h"

#include <limits.h>

/* R69, R77: this PE's place and every translation between a team and the world. */
static void check_members(shmem_team_t team, int start, int stride, int size, const char *what)
{
    int mine = -1;

    for (int i = 0; i < size; i++) {
        int world = start + i * stride;

        if (world == pe_me) mine = i;
        if (team != SHMEM_TEAM_INVALID) {
            PE_CHECK_EQ(shmem_team_translate_pe(team, i, SHMEM_TEAM_WORLD), world);
            PE_CHECK_EQ(shmem_team_translate_pe(SHMEM_TEAM_WORLD, world, team), i);
            PE_CHECK_EQ(shmem_team_translate_pe(team, i, team), i);
        }
    }
    PE_CHECK((team != SHMEM_TEAM_INVALID) == (mine >= 0), "%s: member %d, handle %p", what, mine,
             (void *)team);
    PE_CHECK(shmem_team_my_pe(team) == mine, "%s: my_pe %d, not %d", what, shmem_team_my_pe(team),
             mine);
    PE_CHECK_EQ(shmem_team_n_pes(team), mine >= 0 ? size : -1);
}

/* A collective shows that the members agree on who they are (R85: at once after the split). */
static void check_alive(shmem_team_t team, int size, const char *what)
{
    static long sources[2], sums[2];

    if (team == SHMEM_TEAM_INVALID) return;
    sources[0] = 1;
    sources[1] = shmem_team_my_pe(team);
    PE_CHECK_EQ(shmem_long_sum_reduce(team, sums, sources, 2), 0);
    PE_CHECK(sums[0] == size && sums[1] == (long)size * (size - 1) / 2, "%s: sums %ld %ld of %d",
             what, sums[0], sums[1], size);
    PE_CHECK_EQ(shmem_team_sync(team), 0);
}

static void check_split(shmem_team_t parent, int start, int stride, int size, const char *what)
{
    shmem_team_t team = parent;
    int rc = shmem_team_split_strided(parent, start, stride, size, NULL, 0, &team);

    PE_CHECK(rc == 0, "%s: split(%d, %d, %d) gave %d", what, start, stride, size, rc); /* R74 */
    check_members(team, start, stride, size, what);
    check_alive(team, size, what);
    shmem_team_destroy(team);
}

/* R77-R80: every start and stride that fits. */
static void check_splits(void)
{
    for (int stride = -3; stride <= 3; stride++)
        for (int start = 0; start < pe_n; start++) {
            int size = 1, end = start;

            if (stride == 0 || (pe_rounds(8) < 8 && start > 0 && start < pe_n - 1)) continue;
            while (end + stride >= 0 && end + stride < pe_n) {
                end += stride;
                size++;
            }
            check_split(SHMEM_TEAM_WORLD, start, stride, size, "split");
        }
    check_split(SHMEM_TEAM_WORLD, pe_n / 2, 0, 1, "stride 0"); /* R79 */
    check_split(SHMEM_TEAM_WORLD, 0, INT_MAX, 1, "huge stride of one");
}

/* R75, R79: nonzero and INVALID on all PEs. */
static void check_bad_splits(void)
{
    static const int bad[][3] = {{0, 1, 0},  {0, 1, -1},      {-1, 1, 1},      {0, 0, 2},
                                 {0, -1, 2}, {INT_MAX, 1, 1}, {0, INT_MAX, 2}, {0, 1, INT_MAX}};
    shmem_team_t team;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        team = SHMEM_TEAM_WORLD;
        PE_CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, bad[i][0], bad[i][1], bad[i][2], NULL,
                                          0, &team) != 0,
                 "split(%d, %d, %d) gave 0", bad[i][0], bad[i][1], bad[i][2]);
        PE_CHECK(team == SHMEM_TEAM_INVALID, "bad split %zu gave a team", i);
    }
    team = SHMEM_TEAM_WORLD;
    PE_CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pe_n + 1, NULL, 0, &team) != 0,
             "a team larger than its parent");
    PE_CHECK(team == SHMEM_TEAM_INVALID, "a team larger than its parent has a handle");
    team = SHMEM_TEAM_WORLD;
    PE_CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, pe_n, 1, 1, NULL, 0, &team) != 0,
             "start beyond the parent");
    if (pe_me == 0) { /* R76: no communication, so one PE may call it alone */
        team = SHMEM_TEAM_WORLD;
        PE_CHECK(shmem_team_split_strided(SHMEM_TEAM_INVALID, 0, 1, 1, NULL, 0, &team) != 0,
                 "split of no team gave 0");
        PE_CHECK(team == SHMEM_TEAM_INVALID, "split of no team gave a team");
    }
    check_alive(SHMEM_TEAM_WORLD, pe_n, "the world after failures");
}

/* R81, R82: rows and columns of a grid, ragged or wider than the team. */
static void check_2d(int xrange)
{
    shmem_team_t x = SHMEM_TEAM_INVALID, y = SHMEM_TEAM_INVALID;
    int width = xrange < pe_n ? xrange : pe_n, column = pe_me % width, row = pe_me / width;
    int row_size = row < pe_n / width ? width : pe_n % width;
    int column_size = pe_n / width + (column < pe_n % width);

    PE_CHECK_EQ(shmem_team_split_2d(SHMEM_TEAM_WORLD, xrange, NULL, 0, &x, NULL, 0, &y), 0);
    check_members(x, row * width, 1, row_size, "row");
    check_members(y, column, width, column_size, "column");
    PE_CHECK_EQ(shmem_team_my_pe(x), column);
    PE_CHECK_EQ(shmem_team_my_pe(y), row);
    check_alive(x, row_size, "row");
    check_alive(y, column_size, "column");
    shmem_team_destroy(x);
    shmem_team_destroy(y);
}

static void check_bad_2d(void)
{
    for (int xrange = 0; xrange >= -1; xrange--) {
        shmem_team_t x = SHMEM_TEAM_WORLD, y = SHMEM_TEAM_WORLD;

        PE_CHECK(shmem_team_split_2d(SHMEM_TEAM_WORLD, xrange, NULL, 0, &x, NULL, 0, &y) != 0,
                 "split_2d(%d) gave 0", xrange);
        PE_CHECK(x == SHMEM_TEAM_INVALID && y == SHMEM_TEAM_INVALID, "split_2d(%d)", xrange);
    }
    if (pe_me == pe_n - 1) {
        shmem_team_t x = SHMEM_TEAM_WORLD, y = SHMEM_TEAM_WORLD;

        PE_CHECK(shmem_team_split_2d(SHMEM_TEAM_INVALID, 1, NULL, 0, &x, NULL, 0, &y) != 0,
                 "split_2d of no team");
        PE_CHECK(x == SHMEM_TEAM_INVALID && y == SHMEM_TEAM_INVALID, "split_2d of no team");
    }
}

/* R68, R69, R70, R87: what can be asked of no team. */
static void check_invalid(void)
{
    static shmem_team_t none = SHMEM_TEAM_INVALID; /* R67 */
    shmem_team_config_t config = {.num_contexts = 77};

    PE_CHECK_EQ(shmem_team_my_pe(none), -1);
    PE_CHECK_EQ(shmem_team_n_pes(none), -1);
    PE_CHECK_EQ(shmem_team_translate_pe(none, 0, SHMEM_TEAM_WORLD), -1);
    PE_CHECK_EQ(shmem_team_translate_pe(SHMEM_TEAM_WORLD, 0, none), -1);
    PE_CHECK_EQ(shmem_team_translate_pe(SHMEM_TEAM_WORLD, -1, SHMEM_TEAM_WORLD), -1);
    PE_CHECK_EQ(shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe_n, SHMEM_TEAM_WORLD), -1);
    PE_CHECK(shmem_team_get_config(none, SHMEM_TEAM_NUM_CONTEXTS, &config) != 0, "get_config");
    PE_CHECK_EQ(config.num_contexts, 77);
    shmem_team_destroy(none);
    PE_CHECK(shmem_team_is_valid(none) == 0, "is_valid of no team");
    PE_CHECK(shmem_team_is_valid(SHMEM_TEAM_WORLD) != 0, "is_valid of the world");
}

/* R70-R73. */
static void check_config(void)
{
    shmem_team_config_t config = {.num_contexts = 3}, got = {.num_contexts = 55};
    shmem_team_t with = SHMEM_TEAM_INVALID, without = SHMEM_TEAM_INVALID;

    PE_CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pe_n, &config,
                                         SHMEM_TEAM_NUM_CONTEXTS, &with),
                0);
    PE_CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pe_n, &config, 0, &without), 0);
    PE_CHECK_EQ(shmem_team_get_config(with, 0, NULL), 0);
    PE_CHECK_EQ(shmem_team_get_config(with, 0, &got), 0);
    PE_CHECK_EQ(got.num_contexts, 55);
    PE_CHECK_EQ(shmem_team_get_config(with, SHMEM_TEAM_NUM_CONTEXTS, &got), 0);
    PE_CHECK(got.num_contexts >= 3, "num_contexts reads back as %d", got.num_contexts);
    PE_CHECK_EQ(shmem_team_get_config(without, SHMEM_TEAM_NUM_CONTEXTS, &got), 0);
    PE_CHECK_EQ(got.num_contexts, 0);
    PE_CHECK_EQ(shmem_team_get_config(SHMEM_TEAM_WORLD, SHMEM_TEAM_NUM_CONTEXTS, &got), 0);
    PE_CHECK_EQ(shmem_team_get_config(SHMEM_TEAM_SHARED, SHMEM_TEAM_NUM_CONTEXTS, &got), 0);
    shmem_team_destroy(with);
    shmem_team_destroy(without);
}

/* R89: a team of a team of a team; the outer ones die first. */
static void check_nested(void)
{
    shmem_team_t outer = SHMEM_TEAM_INVALID, middle = SHMEM_TEAM_INVALID;
    shmem_team_t inner = SHMEM_TEAM_INVALID;
    int half = (pe_n + 1) / 2;

    PE_CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, pe_n - 1, -1, pe_n, NULL, 0, &outer), 0);
    PE_CHECK_EQ(shmem_team_split_strided(outer, 0, 2, half, NULL, 0, &middle), 0);
    check_members(middle, pe_n - 1, -2, half, "split of a split");
    if (middle != SHMEM_TEAM_INVALID) {
        PE_CHECK_EQ(shmem_team_split_strided(middle, half - 1, -1, half, NULL, 0, &inner), 0);
        PE_CHECK_EQ(shmem_team_translate_pe(inner, 0, middle), half - 1);
    }
    check_members(inner, pe_n - 1 - 2 * (half - 1), 2, half, "split of a split of a split");
    shmem_team_destroy(outer);
    check_alive(middle, half, "child of a destroyed team");
    shmem_team_destroy(middle);
    check_alive(inner, half, "grandchild");
    shmem_team_destroy(inner);
    shmem_sync_all();
}

/* Many alive at once and many in a row; handles differ and work to the end. */
static void check_many(void)
{
    enum { MANY = 100 };
    static shmem_team_t team[MANY];
    int alive = pe_rounds(8) == 8 ? MANY : 30;

    for (int i = 0; i < alive; i++) {
        PE_REQUIRE(shmem_team_split_strided(i ? team[i - 1] : SHMEM_TEAM_WORLD, pe_n - 1, -1, pe_n,
                                            NULL, 0, &team[i]) == 0,
                   "team %d failed", i);
        PE_CHECK(team[i] != SHMEM_TEAM_WORLD && (!i || team[i] != team[i - 1]), "same handle");
    }
    for (int i = 0; i < alive; i += 33)
        check_alive(team[i], pe_n, "one of many");
    PE_CHECK_EQ(shmem_team_my_pe(team[alive - 1]), pe_me);
    for (int i = 0; i < alive; i++)
        shmem_team_destroy(team[i]);
    for (int i = 0; i < pe_rounds(100); i++)
        check_split(SHMEM_TEAM_WORLD, i % pe_n, 1, pe_n - i % pe_n, "cycle");
}

/* Members reach each other by load and store, and every PE is in such a team. */
static void check_shared(void)
{
    int n = shmem_team_n_pes(SHMEM_TEAM_SHARED), me = shmem_team_my_pe(SHMEM_TEAM_SHARED);

    PE_CHECK(n >= 1 && n <= pe_n && me >= 0 && me < n, "shared: %d of %d", me, n);
    PE_CHECK_EQ(shmem_team_translate_pe(SHMEM_TEAM_SHARED, me, SHMEM_TEAM_WORLD), pe_me);
    check_alive(SHMEM_TEAM_SHARED, n, "shared");
}

int main(void)
{
    pe_test_begin();
    check_members(SHMEM_TEAM_WORLD, 0, 1, pe_n, "world");
    check_invalid();
    check_splits();
    check_bad_splits();
    for (int xrange = 1; xrange <= pe_n + 1; xrange++)
        check_2d(xrange);
    check_2d(INT_MAX);
    check_bad_2d();
    check_config();
    check_nested();
    check_many();
    check_shared();
    return pe_test_end();
}
