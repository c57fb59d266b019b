/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of collectives: which line decides, what stands behind the last one, and what is said
 * of lines that are wrong.
 */
#include "coll/algorithm_table.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

#define CAN STP_COLL_CAN
#define ALL_REDUCE (CAN(STP_COLL_TREE) | CAN(STP_COLL_DOUBLING) | CAN(STP_COLL_SHARES))
#define LARGE_REDUCE (CAN(STP_COLL_TREE) | CAN(STP_COLL_SHARES))

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

    ck_assert_msg(line == 0, "line %d: %s", line, why);
    ck_assert_uint_eq(table.n, n);
}

static enum stp_coll_algorithm find(enum stp_coll_operation what, unsigned nodes, unsigned members,
                                    size_t nbytes, unsigned can)
{
    struct stp_coll_call call = {what, nodes, members, nbytes, can};

    return stp_coll_table_find(&table, &call);
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
    ck_assert_int_eq(find(STP_COLL_REDUCE, 2, 4, 1024, LARGE_REDUCE), STP_COLL_TREE);
    ck_assert_int_eq(find(STP_COLL_REDUCE, 2, 4, 8192, LARGE_REDUCE), STP_COLL_TREE);
    ck_assert_int_eq(find(STP_COLL_REDUCE, 2, 4, 8193, LARGE_REDUCE), STP_COLL_SHARES);
    ck_assert_int_eq(find(STP_COLL_REDUCE, 2, 4, 1023, LARGE_REDUCE), STP_COLL_SHARES);
    ck_assert_int_eq(find(STP_COLL_REDUCE, 2, 5, 1023, LARGE_REDUCE), STP_COLL_TREE);
    ck_assert_int_eq(find(STP_COLL_REDUCE, 5, 5, 4096, LARGE_REDUCE), STP_COLL_SHARES);
    ck_assert_int_eq(find(STP_COLL_REDUCE, 5, 5, 4097, LARGE_REDUCE), STP_COLL_TREE);
}

TEST(one_that_can)
{
    parse_well("reduce * * * * doubling\nreduce * * * * shares", NULL, 2);
    ck_assert_int_eq(find(STP_COLL_REDUCE, 2, 2, 8, ALL_REDUCE), STP_COLL_DOUBLING);
    ck_assert_int_eq(find(STP_COLL_REDUCE, 2, 2, 8, LARGE_REDUCE), STP_COLL_SHARES);
    ck_assert_int_eq(find(STP_COLL_REDUCE, 2, 2, 8, CAN(STP_COLL_TREE)), STP_COLL_TREE);
    ck_assert_int_eq(find(STP_COLL_BROADCAST, 2, 2, 8, CAN(STP_COLL_TREE)), STP_COLL_TREE);
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
    const unsigned scatter = CAN(STP_COLL_TREE) | CAN(STP_COLL_SCATTER);
    const unsigned gather = CAN(STP_COLL_GATHER) | CAN(STP_COLL_DIRECT);

    parse_well("", "tcp", 0);
    ck_assert_int_eq(find(STP_COLL_BROADCAST, 3, 6, 4 << 20, scatter), STP_COLL_TREE);
    ck_assert_int_eq(find(STP_COLL_BROADCAST, 4, 4, 196607, scatter), STP_COLL_TREE);
    ck_assert_int_eq(find(STP_COLL_BROADCAST, 4, 4, 196608, scatter), STP_COLL_SCATTER);
    ck_assert_int_eq(find(STP_COLL_BROADCAST, 64, 64, 8 << 20, scatter), STP_COLL_SCATTER);
    ck_assert_int_eq(find(STP_COLL_REDUCE, 3, 6, 8, ALL_REDUCE), STP_COLL_DOUBLING);
    ck_assert_int_eq(find(STP_COLL_REDUCE, 3, 6, 6143, LARGE_REDUCE), STP_COLL_TREE);
    ck_assert_int_eq(find(STP_COLL_REDUCE, 3, 6, 6144, LARGE_REDUCE), STP_COLL_SHARES);
    ck_assert_int_eq(find(STP_COLL_REDUCE, 5, 5, 131071, LARGE_REDUCE), STP_COLL_TREE);
    ck_assert_int_eq(find(STP_COLL_REDUCE, 5, 5, 131072, LARGE_REDUCE), STP_COLL_SHARES);
    for (int what = STP_COLL_FCOLLECT; what <= STP_COLL_ALLTOALL; what++)
        ck_assert_int_eq(find((enum stp_coll_operation)what, 3, 6, 4096,
                              CAN(STP_COLL_HEADS) | CAN(STP_COLL_DIRECT)),
                         STP_COLL_HEADS);
    for (int what = STP_COLL_COLLECT; what <= STP_COLL_ALLTOALL; what++) {
        ck_assert_int_eq(find((enum stp_coll_operation)what, 2, 2, 0, gather), STP_COLL_GATHER);
        ck_assert_int_eq(find((enum stp_coll_operation)what, 2, 2, 0, CAN(STP_COLL_DIRECT)),
                         STP_COLL_DIRECT);
    }
}

static const struct {
    const char *text;
    int line;
    const char *why;
} wrong[] = {
    {"reduce * * * * tree\nreduce * * * tree", 2,
     "5 columns: expected operation, provider, nodes, members, bytes, algorithm"},
    {"reduce * * * * tree tree", 1, "more than 6 columns"},
    {"\n\nsum * * * * tree", 3, "'sum' is no operation: expected broadcast, reduce, collect"},
    {"reduce * * * * scatter", 1,
     "'scatter' is no algorithm of reduce: expected one of: tree, doubling, shares"},
    {"alltoall * * * * quick", 1,
     "'quick' is no algorithm of alltoall: expected one of: gather, heads, direct"},
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
    ck_assert_msg(strstr(why, wrong[_i].why) != NULL, "'%s' lacks '%s'", why, wrong[_i].why);
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
    ck_assert_int_eq(find(STP_COLL_REDUCE, 2, 2, (size_t)STP_COLL_TABLE_LINES - 1, LARGE_REDUCE),
                     STP_COLL_TREE);
}
