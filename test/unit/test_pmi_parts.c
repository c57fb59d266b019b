/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the parts of PMI below a session: the framing and the fields of messages, and the map from
 * ranks to nodes. CTest runs the program as unit.pmi_parts. Sessions are tested in test_pmi.c.
 */
#include "pmi_launcher.h"

/* ---- the map of nodes ---------------------------------------------------- */

static const struct {
    const char *text;
    const char *nodes; /* one digit a rank */
    int n_nodes;
} maps[] = {
    {"(vector,(0,1,1))", "0", 1},
    {"(vector,(0,1,4))", "0000", 1},
    {"(vector,(0,2,2))", "0011", 2},                  /* block */
    {"(vector,(0,3,1))", "012012", 3},                /* cyclic: repeated */
    {"(vector,(0,3,1),(0,3,1))", "012012", 3},        /* the same, spelt out */
    {"(vector,(0,1,2),(1,1,1))", "00100", 2},         /* shorter than the job */
    {"(vector,(0,1,2),(1,1,1),(2,1,2))", "00122", 3}, /* several */
    {"(vector,(0,2,4))", "00001", 2},                 /* longer than the job */
    {"(vector,(0,4,4))", "00001", 2},                 /* with nodes nobody is on */
    {"(vector,(5,1,2),(2,1,2))", "1100", 2},          /* holes; order of the launcher */
    {"(vector,(3,2,1),(1,1,1),(3,1,1))", "1201", 3},
    {"(vector,(0,2,1),(1,3,1))", "01123", 4}, /* overlapping */
    {"(vector,(0,1,2),1)", "001", 2},         /* a node with one rank, of newer Hydra */
    {"(vector,1,0,1)", "101", 2},
    {"(vector,[(0,1,2),1]x2,2)", "0010012", 3}, /* a repeated list */
    {"(vector,2,[0,1]x2)", "20101", 3},
    {"(vector,(0,1,2),[1,0]x2,1)", "0010101", 2},
    {"(vector,[0,1]x2147483647)", "01010", 2},
    {"(vector,[(0,1,9)]x1)", "00", 1},
    {"(vector,(0,2147483647,2147483647))", "00", 1},
    {"(vector,(2147483646,1,9))", "000", 1},
};

TEST_LOOP(map_good, 0, STP_COUNT(maps))
{
    struct stp_pmi_map map;
    int size = (int)strlen(maps[_i].nodes);

    ck_assert_int_eq(stp_map_parse(&map, maps[_i].text, size), 0);
    ck_assert_int_eq(map.n_nodes, maps[_i].n_nodes);
    for (int rank = 0; rank < size; rank++)
        ck_assert_int_eq(stp_map_node(&map, rank), maps[_i].nodes[rank] - '0');
    stp_map_free(&map);
}

static const char *const bad_maps[] = {
    "",
    "vector",
    "(vector",
    "(vector)",
    "(vector,)",
    "(vector,())",
    "(vector,(0,1))",
    "(vector,(0,1,1)",
    "(vector,(0,1,1)))",
    "(vector,(0,1,1)) ",
    "(vector,(0,1,1),)",
    "(vector,1x)",
    "(vector,[])",
    "(vector,[0)",
    "(vector,[0,])",
    "(vector,[0]x)",
    "(vector,[0]x0)",
    "(vector,[[0]x2]x2)",
    "(vector,[0]x2,)",
    "(vector,(0,0,1))",
    "(vector,(0,1,0))",
    "(vector,(-1,1,1))",
    "(vector,(0,1,x))",
    "(vector,(0,1,99999999999))",
    "(vector,(0,1,1)(1,1,1))",
    "(vector, (0,1,1))",
    "(vector,(2147483647,1,1))",
    "(vector,(0,1,1),(2147483646,2,1),(0,1,1))",
    "(matrix,(0,1,1))",
};

TEST_LOOP(map_bad, 0, STP_COUNT(bad_maps))
{
    struct stp_pmi_map map;

    ck_assert_int_eq(stp_map_parse(&map, bad_maps[_i], 4), -EPROTO);
}

TEST(map_one)
{
    struct stp_pmi_map map;

    ck_assert_int_eq(stp_map_one(&map, 1000), 0);
    ck_assert_int_eq(map.n_nodes, 1);
    ck_assert_int_eq(stp_map_node(&map, 0), 0);
    ck_assert_int_eq(stp_map_node(&map, 999), 0);
    stp_map_free(&map);
}

/* ---- the wire ------------------------------------------------------------ */

static struct stp_wire wire;
static int other_end;

static void wire_setup(void)
{
    int pair[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    ck_assert_int_eq(stp_wire_open(&wire, pair[0]), 0);
    close(pair[0]);
    other_end = pair[1];
}

static void say(const char *text)
{
    ck_assert_int_eq(write(other_end, text, strlen(text)), (ssize_t)strlen(text));
}

TEST(wire_fields)
{
    char value[8];
    int number;

    ck_assert_int_eq(stp_wire_field("a=1 bb=two c=", ' ', "bb", value, sizeof(value)), 0);
    ck_assert_str_eq(value, "two");
    ck_assert_int_eq(stp_wire_field("a=1 bb=two c=", ' ', "c", value, sizeof(value)), 0);
    ck_assert_str_eq(value, "");
    ck_assert_int_eq(stp_wire_field("xa=1;a=2;", ';', "a", value, sizeof(value)), 0);
    ck_assert_str_eq(value, "2");
    ck_assert_int_eq(stp_wire_field("ab=1", ';', "a", value, sizeof(value)), -ENOENT);
    ck_assert_int_eq(stp_wire_field("a", ';', "a", value, sizeof(value)), -ENOENT);
    ck_assert_int_eq(stp_wire_field("", ';', "a", value, sizeof(value)), -ENOENT);
    ck_assert_int_eq(stp_wire_field(";;;", ';', "a", value, sizeof(value)), -ENOENT);
    ck_assert_int_eq(stp_wire_field("a=1234567", ';', "a", value, sizeof(value)), 0);
    ck_assert_int_eq(stp_wire_field("a=12345678", ';', "a", value, sizeof(value)), -EMSGSIZE);
    ck_assert_int_eq(stp_wire_number("a=-17;", ';', "a", &number), 0);
    ck_assert_int_eq(number, -17);
    ck_assert_int_eq(stp_wire_number("a=2147483647;", ';', "a", &number), 0);
    ck_assert_int_eq(stp_wire_number("a=2147483648;", ';', "a", &number), -EPROTO);
    ck_assert_int_eq(stp_wire_number("a=1x;", ';', "a", &number), -EPROTO);
    ck_assert_int_eq(stp_wire_number("a=+1;", ';', "a", &number), -EPROTO);
    ck_assert_int_eq(stp_wire_number("a= 1;", ';', "a", &number), -EPROTO);
    ck_assert_int_eq(stp_wire_number("a=-;", ';', "a", &number), -EPROTO);
    ck_assert_int_eq(stp_wire_number("a=;", ';', "a", &number), -EPROTO);
    ck_assert_int_eq(stp_wire_number("a=00000000000000000000000000001;", ';', "a", &number),
                     -EPROTO);
    ck_assert_int_eq(stp_wire_number("b=1;", ';', "a", &number), -ENOENT);
}

/* What follows a reply belongs to whoever shares the socket. */
TEST(wire_takes_its_own)
{
    char rest[32] = "";

    wire_setup();
    say("one\ntwo\n    3abc");
    ck_assert_int_eq(stp_wire_recv_line(&wire, 1000), 0);
    ck_assert_str_eq(wire.text, "one");
    ck_assert_int_eq(read(wire.fd, rest, 4), 4);
    ck_assert_str_eq(rest, "two\n");
    say("defg");
    ck_assert_int_eq(stp_wire_recv_message(&wire, 1000), -EPROTO); /* "    3a" */
}

TEST(wire_in_drops)
{
    static const char bytes[] = "first line\n    11 a message\n     4last";
    pid_t pid;

    wire_setup();
    pid = fork();
    if (pid == 0) {
        for (size_t i = 0; bytes[i]; i++) {
            (void)!write(other_end, &bytes[i], 1);
            usleep(200);
        }
        _exit(0);
    }
    close(other_end);
    ck_assert_int_eq(stp_wire_recv_line(&wire, 5000), 0);
    ck_assert_str_eq(wire.text, "first line");
    ck_assert_int_eq(stp_wire_recv_message(&wire, 5000), 0);
    ck_assert_str_eq(wire.text, " a message\n");
    ck_assert_int_eq(stp_wire_recv_message(&wire, 5000), 0);
    ck_assert_str_eq(wire.text, "last");
    waitpid(pid, NULL, 0);
    ck_assert_int_eq(stp_wire_recv_message(&wire, 5000), -EIO);
    ck_assert_int_eq(stp_wire_recv_line(&wire, 5000), -EIO);
}

TEST(wire_time_is_up)
{
    wire_setup();
    ck_assert_int_eq(stp_wire_recv_line(&wire, 20), -ETIMEDOUT);
    say("half a line");
    ck_assert_int_eq(stp_wire_recv_line(&wire, 20), -ETIMEDOUT);
    say("   10half");
    ck_assert_int_eq(stp_wire_recv_message(&wire, 20), -EPROTO); /* "   10h": one too many */
}

TEST(wire_longest)
{
    static char text[STP_WIRE_TEXT_MAX + 1];
    int size = 4 * STP_WIRE_TEXT_MAX;

    wire_setup();
    ck_assert_int_eq(setsockopt(other_end, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)), 0);
    memset(text, 'a', sizeof(text) - 1);
    text[STP_WIRE_TEXT_MAX - 2] = '\n';
    text[STP_WIRE_TEXT_MAX - 1] = '\0';
    say(text);
    ck_assert_int_eq(stp_wire_recv_line(&wire, 5000), 0);
    ck_assert_uint_eq(strlen(wire.text), STP_WIRE_TEXT_MAX - 2);
    text[STP_WIRE_TEXT_MAX - 2] = 'a';
    say(" 65535");
    say(text);
    ck_assert_int_eq(stp_wire_recv_message(&wire, 5000), 0);
    ck_assert_uint_eq(strlen(wire.text), STP_WIRE_TEXT_MAX - 1);
    text[STP_WIRE_TEXT_MAX - 1] = '\n';
    say(text);
    ck_assert_int_eq(stp_wire_recv_line(&wire, 5000), -EPROTO);
}

TEST(wire_no_socket)
{
    int fds[2];

    ck_assert_int_eq(pipe(fds), 0);
    ck_assert_int_eq(stp_wire_open(&wire, fds[0]), -ENOTSOCK);
    close(fds[0]);
    ck_assert_int_eq(stp_wire_open(&wire, fds[0]), -EBADF);
    stp_wire_close(&wire);
}
