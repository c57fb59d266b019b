/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the table of collectives (src/coll): the line that decides for a team and a size, the
 * built-in lines that apply after the last line of the table, and the message for each kind of
 * wrong line. CTest runs the program as unit.coll_table, without PEs. Whether the algorithms give
 * correct results is tested by the programs in test/pe/coll.
 */
#include "coll/coll_internal.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

static struct stp_coll_table table;

static int parse(const char *text, const char *provider, char *why)
{
    static char copy[1 << 16];

    why[0] = '\0';
    snprintf(copy, sizeof(copy), "%s", text);
    return stp_coll_table_parse(&table, copy, provider, why, 256);
}

static void parse_well(const char *text, const char *provider, unsigned n)
{
    char why[256];
    int line = parse(text, provider, why);

    ck_assert_msg(line == 0, "line %d of a good table is refused: %s", line, why);
    ck_assert_uint_eq(table.n, n);
}

static size_t slot; /* of the team: the first ones have chunks */

/* What the table, and then the built-in one, choose for a team of so many nodes and members. */
static const char *choose(enum stp_coll_operation what, int nodes, int members, size_t nbytes)
{
    static int order[1];
    struct stp_team team = {.n_pes = members,
                            .slot = slot,
                            .plan = {.n_groups = nodes, .max_local = 2, .order = order}};
    struct stp_coll_call call = {
        .operation = what, .bytes = nbytes, .result_bytes = nbytes * (size_t)members};

    (void)stp_coll_lay_out_internal((size_t)1 << 30);
    stp_coll_table_install(&table, sizeof(table));
    return stp_coll_choose(&team, &call)->name;
}

TEST(first_that_fits)
{
    parse_well("# all of it\n"
               "reduce * 2-4 * 1k-8k   tree  # here and there\n"
               "reduce * 2   4 *       shares\r\n"
               "\n"
               "  \t\n"
               "reduce * 3-  * 4k      shares",
               NULL, 3);
    ck_assert_str_eq(choose(STP_COLL_REDUCE, 2, 4, 1024), "tree");
    ck_assert_str_eq(choose(STP_COLL_REDUCE, 2, 4, 8192), "tree");
    ck_assert_str_eq(choose(STP_COLL_REDUCE, 2, 4, 8193), "shares");
    ck_assert_str_eq(choose(STP_COLL_REDUCE, 2, 4, 1023), "shares");
    ck_assert_str_eq(choose(STP_COLL_REDUCE, 2, 5, 1023), "doubling");
    ck_assert_str_eq(choose(STP_COLL_REDUCE, 5, 5, 4096), "shares");
    ck_assert_str_eq(choose(STP_COLL_REDUCE, 5, 5, 4097), "doubling");
}

TEST(one_that_can)
{
    parse_well("reduce * * * * shares\nreduce * * * * doubling\nbroadcast * * * * scatter", NULL,
               3);
    ck_assert_str_eq(choose(STP_COLL_REDUCE, 2, 2, 384), "doubling");
    ck_assert_str_eq(choose(STP_COLL_REDUCE, 2, 2, 385), "shares");
    ck_assert_str_eq(choose(STP_COLL_REDUCE, 96, 96, 385), "doubling");
    ck_assert_str_eq(choose(STP_COLL_REDUCE, 65, 65, 1 << 20), "tree");
    ck_assert_str_eq(choose(STP_COLL_REDUCE, 17, 17, 8),
                     "tree"); /* doubling has too many messages */
    ck_assert_str_eq(choose(STP_COLL_BROADCAST, 2, 2, 385), "scatter");
    ck_assert_str_eq(choose(STP_COLL_BROADCAST, 65, 65, 385), "tree");
}

TEST(providers)
{
    static const char text[] = "alltoall tcp * * * direct\nalltoall net * * * direct\n"
                               "alltoall tcp;ofi_rxm * * * direct\nalltoall * * * * gather\n";

    parse_well(text, "tcp;ofi_rxm", 3);
    parse_well(text, "net", 2);
    parse_well(text, "tc", 1);
    parse_well(text, NULL, 1);
}

/* What is built in: as it was measured. */
TEST(built_in)
{
    parse_well("", "tcp", 0);
    ck_assert_str_eq(choose(STP_COLL_BROADCAST, 3, 6, 4 << 20), "tree");
    ck_assert_str_eq(choose(STP_COLL_BROADCAST, 4, 4, 196607), "tree");
    ck_assert_str_eq(choose(STP_COLL_BROADCAST, 4, 4, 196608), "scatter");
    ck_assert_str_eq(choose(STP_COLL_BROADCAST, 64, 64, 8 << 20), "scatter");
    ck_assert_str_eq(choose(STP_COLL_REDUCE, 3, 6, 8), "doubling");
    ck_assert_str_eq(choose(STP_COLL_REDUCE, 3, 6, 6144), "doubling");
    ck_assert_str_eq(choose(STP_COLL_COLLECT, 2, 2, 0), "gather");
    ck_assert_str_eq(choose(STP_COLL_COLLECT, 2, 2000, 0), "direct");
    for (int what = STP_COLL_FCOLLECT; what <= STP_COLL_ALLTOALL; what++) {
        ck_assert_str_eq(choose((enum stp_coll_operation)what, 2, 2, 8), "gather");
        ck_assert_str_eq(choose((enum stp_coll_operation)what, 3, 6, 4096), "heads");
        ck_assert_str_eq(choose((enum stp_coll_operation)what, 3, 6, 1 << 20), "direct");
    }
}

/* The same for teams whose slot has no chunks. */
TEST(built_in_without_chunks)
{
    parse_well("", "tcp", 0);
    slot = SIZE_MAX;
    ck_assert_str_eq(choose(STP_COLL_REDUCE, 3, 6, 384), "doubling");
    ck_assert_str_eq(choose(STP_COLL_REDUCE, 3, 6, 6143), "tree");
    ck_assert_str_eq(choose(STP_COLL_REDUCE, 3, 6, 6144), "shares");
    ck_assert_str_eq(choose(STP_COLL_REDUCE, 5, 5, 131071), "tree");
    ck_assert_str_eq(choose(STP_COLL_REDUCE, 5, 5, 131072), "shares");
    for (int what = STP_COLL_FCOLLECT; what <= STP_COLL_ALLTOALL; what++)
        ck_assert_str_eq(choose((enum stp_coll_operation)what, 3, 6, 4096), "direct");
}

static const struct {
    const char *text;
    int line;
    const char *why;
} wrong[] = {
    {"reduce * * * * tree\nreduce * * * tree", 2,
     "5 columns: expected the columns operation, provider, nodes, members, bytes, algorithm"},
    {"reduce * * * * tree tree", 1, "more than 6 columns"},
    {"\n\nsum * * * * tree", 3, "'sum' is not an operation: expected broadcast, reduce, collect"},
    {"reduce * * * * scatter", 1,
     "'scatter' is not an algorithm of reduce: expected one of: tree, doubling, shares"},
    {"alltoall * * * * quick", 1,
     "'quick' is not an algorithm of alltoall: expected one of: gather, heads, direct"},
    {"reduce * 4-2 * * tree", 1, "nodes are '4-2': expected *, a number, or a range such as 4-16"},
    {"reduce * -2 * * tree", 1, "nodes are '-2'"},
    {"reduce * 4k * * tree", 1, "nodes are '4k'"},
    {"reduce * 5000000000 * * tree", 1, "nodes are '5000000000'"},
    {"reduce * * two * tree", 1, "members are 'two'"},
    {"reduce * * * 8q tree", 1, "bytes are '8q': expected *, a number, or a range such as 8-64k"},
    {"reduce * * * 8--9 tree", 1, "bytes are '8--9'"},
    {"reduce * * * 1k-8 tree", 1, "bytes are '1k-8'"},
    {"collect * * * 0-8 gather", 1, "bytes of collect are '0-8': expected *"},
    {"reduce shm * * two tree", 1, "bytes are 'two'"}, /* of another provider too */
};

TEST_LOOP(bad_lines, 0, sizeof(wrong) / sizeof(wrong[0]))
{
    char why[256];

    ck_assert_int_eq(parse(wrong[_i].text, "tcp", why), wrong[_i].line);
    ck_assert_msg(strstr(why, wrong[_i].why) != NULL, "the message '%s' lacks '%s'", why,
                  wrong[_i].why);
}

TEST(many_lines)
{
    static char text[1 << 16];
    char why[256];
    size_t at = 0;

    for (int i = 0; i <= STP_COLL_TABLE_LINES; i++)
        at += (size_t)snprintf(text + at, sizeof(text) - at, "reduce tcp * * %d tree\n", i);
    ck_assert_int_eq(parse(text, "tcp", why), STP_COLL_TABLE_LINES + 1);
    ck_assert_ptr_nonnull(strstr(why, "more than 102 lines"));
    parse_well(text, "net", 0);
    text[strlen(text) - 1] = '\0';
    *strrchr(text, '\n') = '\0'; /* one less */
    parse_well(text, "tcp", (unsigned)STP_COLL_TABLE_LINES);
    ck_assert_str_eq(choose(STP_COLL_REDUCE, 2, 2, (size_t)STP_COLL_TABLE_LINES - 1), "tree");
}
