/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests PMI sessions with launchers that send nonsense, close the connection, or do not say on
 * which node a rank is. Such a session must end with an error, and missing nodes are found by
 * exchanging host names. The launcher is played by pmi_launcher.h. CTest runs the program as
 * unit.pmi_bad.
 */
#include "pmi_launcher.h"

static bool has_failed(int rc)
{
    return rc == -EPROTO || rc == -EIO;
}

static void client_put_fails(void)
{
    client_open();
    NEED(has_failed(stp_pmi_put("k", "x", 1)));
}

static void client_fence_fails(void)
{
    client_open();
    NEED(has_failed(stp_pmi_fence()));
}

static void client_get_fails(void)
{
    char in[4096];
    size_t n = 77;

    client_open();
    NEED(has_failed(stp_pmi_get(0, "k", in, sizeof(in), &n)) && n == 77);
}

static void client_get_too_long(void)
{
    char in[4096];
    size_t n;

    NEED(stp_pmi_open(&info) == 0);
    NEED(stp_pmi_get(0, "k", in, sizeof(in), &n) == -EMSGSIZE);
}

/* ---- bad launchers ------------------------------------------------------- */

#define GREETING "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1\n"

struct bad {
    struct twist twist;
    void (*client)(void);
};

static void bad_answer(int version_less_one, const struct bad *bad)
{
    struct launcher launcher = launcher_of(version_less_one);

    launcher.twist = bad->twist;
    ck_assert_int_eq(launch(&launcher, bad->client), CLIENT_OK);
    ck_said("pmi: ");
}

static const struct bad bad1[] = {
    {{"init", "", 0, true}, client_open_fails},
    {{"init", "cmd=respon", 0, true}, client_open_fails},
    {{"init", "what?\n", 0, false}, client_open_fails},
    {{"init", "\n", 0, false}, client_open_fails},
    {{"init", "cmd=response_to_init rc=0 pmi_version=3 pmi_subversion=0\n", 0, false},
     client_open_fails},
    {{"init", "cmd=response_to_init rc=-1 pmi_version=1\n", 0, false}, client_open_fails},
    {{"init", "cmd=response_to_init rc=x pmi_version=1\n", 0, false}, client_open_fails},
    {{"init", "cmd=response_to_init rc=0 pmi_version=99999999999\n", 0, false}, client_open_fails},
    {{"init", "cmd=response\0to_init\n", 21, false}, client_open_fails},
    {{"get_maxes", "cmd=maxes kvsname_max=256 keylen_max=64\n", 0, false}, client_open_fails},
    {{"get_maxes", "cmd=maxes rc=-1\n", 0, false}, client_open_fails},
    {{"get_maxes", "cmd=maxes keylen_max=64 vallen_max=-5\n", 0, false}, client_open_fails},
    {{"get_maxes", "cmd=maxes keylen_max=64 vallen_max=12\n", 0, false}, client_open_fails},
    {{"get_maxes", "cmd=maxes keylen_max=32 vallen_max=1024\n", 0, false}, client_open_fails},
    {{"get_my_kvsname", "cmd=my_kvsname\n", 0, false}, client_open_fails},
    {{"get_my_kvsname", "cmd=barrier_out\n", 0, false}, client_open_fails},
    {{"put", "cmd=put_result rc=-1 msg=full\n", 0, false}, client_put_fails},
    {{"put", "cmd=put_result rc=0", 0, true}, client_put_fails},
    {{"barrier_in", "cmd=barrier_out rc=1\n", 0, false}, client_fence_fails},
    {{"barrier_in", "", 0, true}, client_fence_fails},
    {{"get kvsname=kvs_1_0 key=stp:k:0", "cmd=get_result rc=0 msg=success\n", 0, false},
     client_get_fails},
    {{"get kvsname=kvs_1_0 key=stp:k:0", "cmd=get_result rc=0 value=0000", 0, true},
     client_get_fails},
    {{"get kvsname=kvs_1_0 key=stp:k:0", "cmd=get_result rc=0 value=\n", 0, false},
     client_get_fails},
};

TEST_LOOP(bad_pmi1, 0, STP_COUNT(bad1))
{
    bad_answer(0, &bad1[_i]);
}

static const struct bad bad2[] = {
    {{"fullinit", "", 0, true}, client_open_fails},
    {{"fullinit", "   ", 0, true}, client_open_fails},
    {{"fullinit", "    50cmd=fullinit-resp", 0, true}, client_open_fails},
    {{"fullinit", "      cmd", 0, false}, client_open_fails},
    {{"fullinit", "000000", 0, false}, client_open_fails},
    {{"fullinit", "999999", 0, false}, client_open_fails},
    {{"fullinit", " 65536", 0, false}, client_open_fails},
    {{"fullinit", "-00005", 0, false}, client_open_fails},
    {{"fullinit", "0x0005", 0, false}, client_open_fails},
    {{"fullinit", " 1 2  ", 0, false}, client_open_fails},
    {{"fullinit", "garbage", 0, false}, client_open_fails},
    {{"fullinit", "    10cmd=\0fulli", 16, false}, client_open_fails},
    {{"fullinit", "     7cmd=xyz", 0, false}, client_open_fails},
    {{"fullinit", "    44cmd=fullinit-response;rc=1;rank=0;size=1;xx=", 0, false},
     client_open_fails},
    {{"fullinit", "    34cmd=fullinit-response;rc=0;rank=0;", 0, false}, client_open_fails},
    {{"fullinit", "    41cmd=fullinit-response;rc=0;rank=2;size=2;", 0, false}, client_open_fails},
    {{"fullinit", "    42cmd=fullinit-response;rc=0;rank=-1;size=2;", 0, false}, client_open_fails},
    {{"fullinit", "    41cmd=fullinit-response;rc=0;rank=0;size=0;", 0, false}, client_open_fails},
    {{"kvs-put", "    26cmd=kvs-put-response;rc=5;", 0, false}, client_put_fails},
    {{"kvs-put", "    26cmd=kvs-put-resp", 0, true}, client_put_fails},
    {{"kvs-fence", "    28cmd=kvs-fence-response;rc=9;", 0, false}, client_fence_fails},
    {{"kvs-fence", "    28", 0, true}, client_fence_fails},
    {{"kvs-get;srcid=-1;key=stp:k:0", "    26cmd=kvs-get-response;rc=0;", 0, false},
     client_get_fails},
    {{"kvs-get;srcid=-1;key=stp:k:0", "    37cmd=kvs-get-response;rc=0;found=TRUE;", 0, false},
     client_get_fails},
};

TEST_LOOP(bad_pmi2, 0, STP_COUNT(bad2))
{
    bad_answer(1, &bad2[_i]);
}

/* A line without end must not be collected for ever. */
TEST(bad_endless_line)
{
    struct launcher launcher = launcher_of(0);
    char *flood = malloc(200000);

    memset(flood, 'x', 200000);
    launcher.twist = (struct twist){.on = "get_maxes", .reply = flood, .reply_len = 200000};
    ck_assert_int_eq(launch(&launcher, client_open_fails), CLIENT_OK);
    ck_said("\"xxxx");
    free(flood);
}

/* Values that nobody of ours has put. The second row goes under the next fragment. */
static const char *const bad_fragments[][2] = {
    {"00", NULL},
    {"000000000000000g00", NULL},
    {"00000000000000010", NULL},
    {"00000000000000010x", NULL},
    {"00000000000000010000", NULL},
    {"0000000000000001", NULL},
    {"000000000000000200", NULL},
    {"000000000000000200", ""},
    {"000000000000000200", "0000"},
    {"000000000000000200", "z0"},
    {"0000000000000002AB", "00"},
};

TEST_LOOP(bad_fragment, 0, STP_COUNT(bad_fragments))
{
    for (int version = 0; version < 2; version++) {
        struct launcher launcher = launcher_of(version);

        launcher_store(&launcher, "stp:k:0", bad_fragments[_i][0]);
        if (bad_fragments[_i][1]) launcher_store(&launcher, "stp:k:1", bad_fragments[_i][1]);
        ck_assert_int_eq(launch(&launcher, client_get_fails), CLIENT_OK);
        ck_said("cannot use the value of the key");
    }
}

TEST_LOOP(bad_length, 0, 2)
{
    struct launcher launcher = launcher_of(_i);

    launcher_store(&launcher, "stp:k:0", "ffffffffffffffff00");
    ck_assert_int_eq(launch(&launcher, client_get_too_long), CLIENT_OK);
}

/* ---- nodes without a mapping --------------------------------------------- */

static void client_hosts(void)
{
    NEED(stp_pmi_open(&info) == 0);
    NEED(info.n_nodes == 3);
    NEED(stp_pmi_node_of(0) == 0 && stp_pmi_node_of(1) == 1 && stp_pmi_node_of(2) == 0);
    NEED(stp_pmi_node_of(3) == 2);
}

/* What rank has put when it exchanged its host name. */
static void store_host(struct launcher *launcher, int rank, const char *name)
{
    char key[32];
    char value[128];
    int len = snprintf(value, sizeof(value), "%016zx", strlen(name));

    for (const char *c = name; *c; c++)
        len += snprintf(value + len, sizeof(value) - (size_t)len, "%02x", (unsigned)*c);
    snprintf(key, sizeof(key), "stp::host:%d:0", rank);
    launcher_store(launcher, key, value);
}

static const char *const no_mappings[] = {
    NULL, "", "(vector)", "(vector,(0,1,4)", "(vector,(0,-1,4))", "nodes=4",
};

TEST_LOOP(hosts_exchanged, 0, STP_COUNT(no_mappings))
{
    for (int version = 0; version < 2; version++) {
        struct launcher launcher = launcher_of(version);

        launcher.size = 4;
        launcher.rank = 3;
        launcher.mapping = no_mappings[_i];
        store_host(&launcher, 0, "alpha");
        store_host(&launcher, 1, "beta");
        store_host(&launcher, 2, "alpha");
        ck_assert_int_eq(launch(&launcher, client_hosts), CLIENT_OK);
        ck_assert_int_eq(launcher.n_fence, 1);
    }
}

TEST_LOOP(hosts_missing, 0, 2)
{
    struct launcher launcher = launcher_of(_i);

    launcher.size = 2;
    launcher.rank = 1;
    launcher.mapping = NULL;
    ck_assert_int_eq(launch(&launcher, client_open_fails), CLIENT_OK);
    ck_said("host name of rank 0");
}

static void client_one_node(void)
{
    NEED(stp_pmi_open(&info) == 0);
    NEED(info.n_nodes == 1 && stp_pmi_node_of(0) == 0 && stp_pmi_node_of(3) == 0);
}

TEST_LOOP(hosts_local_count, 0, 2)
{
    struct launcher launcher = launcher_of(_i);

    launcher.size = 4;
    launcher.mapping = NULL;
    setenv("MPI_LOCALNRANKS", "4", 1);
    ck_assert_int_eq(launch(&launcher, client_one_node), CLIENT_OK);
    ck_assert_int_eq(launcher.n_fence, 0);
}
