/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests PMI sessions with a launcher that speaks like Slurm's PMI-2 plugin: lengths padded on the
 * right, additional fields, one init for each process, a connection closed after finalize, and an
 * abort without a reply. The test also checks the mappings that Slurm makes of its distributions.
 * CTest runs the program as unit.pmi_slurm, without Slurm; test/slurm runs Slurm itself.
 */
#include "pmi_launcher.h"

static struct launcher slurm(int rank, int size)
{
    struct launcher launcher = good;

    setenv("PMI_JOBID", "77.0", 1);
    setenv("SLURM_PROCID", "0", 1); /* not foreign: there is a PMI_FD */
    setenv("SLURM_NTASKS", "8", 1);
    launcher.slurm = true;
    launcher.rank = rank;
    launcher.size = size;
    launcher.length = "%-6d";
    return launcher;
}

/* ---- sessions ------------------------------------------------------------ */

static void client_job(void)
{
    char in[3000], out[3000];
    size_t n;

    memset(out, 0xa5, sizeof(out));
    NEED(stp_pmi_open(&info) == 0);
    NEED(strcmp(info.client, "pmi2") == 0 && info.rank == 2 && info.size == 4);
    NEED(info.n_nodes == 2 && stp_pmi_node_of(1) == 0 && stp_pmi_node_of(2) == 1);
    NEED(stp_pmi_put("mine", out, sizeof(out)) == 0);
    NEED(stp_pmi_fence() == 0);
    NEED(stp_pmi_get(2, "mine", in, sizeof(in), &n) == 0);
    NEED(n == sizeof(out) && memcmp(in, out, n) == 0);
    NEED(stp_pmi_get(0, "absent", in, sizeof(in), &n) == -ENOENT);
    NEED(stp_pmi_fence() == 0);
}

TEST(session)
{
    struct launcher launcher = slurm(2, 4);

    launcher.mapping = "(vector,(0,2,2))";
    ck_assert_int_eq(launch(&launcher, client_job), CLIENT_OK);
    ck_assert_str_eq(said.text, "");
    ck_assert_int_eq(launcher.n_init, 1);
    ck_assert_int_eq(launcher.n_fence, 2);
    ck_assert_int_eq(launcher.n_finalize, 1);
    ck_assert_uint_le(launcher.longest_value, 1023);
}

/* MPI was first on the connection: our greeting is taken for its end. */
TEST(second_library)
{
    struct launcher launcher = slurm(0, 2);

    launcher.n_init = 1;
    launcher.version = 2;
    ck_assert_int_eq(launch(&launcher, client_open_fails), CLIENT_OK);
    ck_said("Slurm serves only one library");
}

static void client_fence_fails(void)
{
    NEED(stp_pmi_open(&info) == 0);
    NEED(stp_pmi_fence() == -EPROTO);
}

static void client_fence_closed(void)
{
    NEED(stp_pmi_open(&info) == 0);
    NEED(stp_pmi_fence() == -EIO);
}

TEST(fence_refused)
{
    struct launcher launcher = slurm(0, 2);

    launcher.mapping = "(vector,(0,1,2))";
    launcher.twist = (struct twist){
        .on = "kvs-fence",
        .reply = "73    cmd=kvs-fence-response;rc=-1;errmsg=mpi/pmi2: failed to send temp kvs_ x;",
    };
    ck_assert_int_eq(launch(&launcher, client_fence_fails), CLIENT_OK);
    ck_said("failed to send temp kvs");
}

TEST(fence_step_killed)
{
    struct launcher launcher = slurm(0, 2);

    launcher.mapping = "(vector,(0,1,2))";
    launcher.twist = (struct twist){.on = "kvs-fence", .reply = "", .hang_up = true};
    ck_assert_int_eq(launch(&launcher, client_fence_closed), CLIENT_OK);
    ck_said("closed the connection");
}

static void client_aborts(void)
{
    NEED(stp_pmi_open(&info) == 0);
    NEED(!stp_pmi_keeps_status());
    stp_pmi_abort(7, "pe 0: a; b=c");
}

TEST(abort_is_a_message)
{
    struct launcher launcher = slurm(0, 1);

    ck_assert_int_eq(launch(&launcher, client_aborts), 7);
    ck_assert_str_eq(launcher.abort_text, "pe 0: a_ b_c");
    ck_assert(launcher.stayed);
}

/* ---- mappings ------------------------------------------------------------ */

/* As made of distributions: block, cyclic, plane, arbitrary, with nodes of unequal size. */
static const struct {
    const char *mapping;
    const char *nodes; /* one digit a rank */
} distributions[] = {
    {"(vector,(0,2,3))", "000111"},
    {"(vector,(0,1,3),(1,2,1))", "00012"},
    {"(vector,(0,3,1),(0,2,1))", "01201"},
    {"(vector,(0,3,1),(0,1,1),(0,1,1))", "01200"},
    {"(vector,(0,2,2),(0,1,1))", "00110"},
    {"(vector,(0,2,2),(0,1,2),(1,1,1))", "0011001"},
    {"(vector,(1,1,1),(0,1,2),(1,1,1))", "1001"},
};

static int of_rank;

static void client_tells_node(void)
{
    NEED(stp_pmi_open(&info) == 0);
    _exit(stp_pmi_node_of(of_rank));
}

TEST_LOOP(distribution, 0, STP_COUNT(distributions))
{
    int size = (int)strlen(distributions[_i].nodes);

    for (of_rank = 0; of_rank < size; of_rank++) {
        struct launcher launcher = slurm(size - 1, size);

        launcher.mapping = distributions[_i].mapping;
        ck_assert_int_eq(launch(&launcher, client_tells_node),
                         distributions[_i].nodes[of_rank] - '0');
        ck_assert_str_eq(said.text, "");
    }
}
