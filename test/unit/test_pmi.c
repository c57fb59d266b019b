/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests PMI-1 and PMI-2 sessions with launchers that follow the protocol: greeting, key-value
 * space, finalize and abort. It also tests which client the environment selects, and a process
 * without a launcher. The launcher is played by pmi_launcher.h. CTest runs the program as unit.pmi.
 * Wrong launchers are in test_pmi_bad.c.
 */
#include "pmi_launcher.h"

static unsigned char pattern(size_t i, size_t nbytes)
{
    return (unsigned char)(i * 167 + nbytes + (i >> 8));
}

static void round_trip(size_t nbytes)
{
    unsigned char *out = malloc(nbytes + 1);
    unsigned char *in = malloc(nbytes + 1);
    char key[32];
    size_t n = 12345;

    snprintf(key, sizeof(key), "A-z_0.%zu", nbytes);
    for (size_t i = 0; i < nbytes; i++)
        out[i] = pattern(i, nbytes);
    NEED(stp_pmi_put(key, out, nbytes) == 0);
    NEED(stp_pmi_fence() == 0);
    memset(in, 0, nbytes + 1);
    in[nbytes] = 0xee;
    NEED(stp_pmi_get(0, key, in, nbytes, &n) == 0);
    NEED(n == nbytes && in[nbytes] == 0xee && memcmp(in, out, nbytes) == 0);
    if (nbytes > 0) {
        n = 77;
        NEED(stp_pmi_get(0, key, in, nbytes - 1, &n) == -EMSGSIZE && n == 77);
    }
    free(out);
    free(in);
}

static void client_board(void)
{
    static const size_t sizes[] = {0, 1, 2, 8, 491, 492, 493, 499, 500, 501, 991, 992, 993, 65537};
    size_t n;

    NEED(stp_pmi_open(&info) == 0);
    for (size_t i = 0; i < STP_COUNT(sizes); i++)
        round_trip(sizes[i]);
    NEED(stp_pmi_get(0, "absent", &n, sizeof(n), &n) == -ENOENT);
}

static void client_keys(void)
{
    char longest[64];
    size_t n;

    NEED(stp_pmi_put("early", "x", 1) == -ENOTCONN);
    NEED(stp_pmi_fence() == -ENOTCONN);
    NEED(stp_pmi_get(0, "early", &n, 1, &n) == -ENOTCONN);
    NEED(stp_pmi_open(&info) == 0);
    memset(longest, 'k', sizeof(longest));
    longest[41] = '\0';
    NEED(stp_pmi_put(longest, "x", 1) == -EINVAL);
    NEED(stp_pmi_get(0, longest, &n, 1, &n) == -EINVAL);
    longest[40] = '\0';
    NEED(stp_pmi_put(longest, "x", 1) == 0);
    NEED(stp_pmi_get(0, longest, &n, 1, &n) == 0);
    NEED(stp_pmi_put("", "x", 1) == -EINVAL);
    NEED(stp_pmi_put("a b", "x", 1) == -EINVAL);
    NEED(stp_pmi_put("a;b", "x", 1) == -EINVAL);
    NEED(stp_pmi_put("a:b", "x", 1) == -EINVAL);
    NEED(stp_pmi_put("a\n", "x", 1) == -EINVAL);
}

/* ---- sessions ------------------------------------------------------------ */

static void client_info(void)
{
    struct stp_pmi_info again;

    NEED(stp_pmi_open(&info) == 0);
    NEED(stp_pmi_open(&again) == 0);
    NEED(memcmp(&info, &again, sizeof(info)) == 0);
    NEED(strcmp(info.client, strcmp(getenv("SHMEM_PMI"), "1") == 0 ? "pmi1" : "pmi2") == 0);
    NEED(info.rank == 3 && info.size == 5 && info.n_nodes == 3);
    NEED(stp_pmi_node_of(0) == 0 && stp_pmi_node_of(1) == 0 && stp_pmi_node_of(2) == 1);
    NEED(stp_pmi_node_of(3) == 2 && stp_pmi_node_of(4) == 2);
}

TEST_LOOP(session_open, 0, 2)
{
    struct launcher launcher = launcher_of(_i);

    launcher.rank = 3;
    launcher.size = 5;
    launcher.mapping = "(vector,(0,1,2),(1,1,1),(2,1,2))";
    ck_assert_int_eq(launch(&launcher, client_info), CLIENT_OK);
    ck_assert_int_eq(launcher.n_init, 1);
    ck_assert_int_eq(launcher.n_finalize, 1);
    ck_assert_str_eq(said.text, "");
}

TEST_LOOP(session_board, 0, 2)
{
    struct launcher launcher = launcher_of(_i);

    ck_assert_int_eq(launch(&launcher, client_board), CLIENT_OK);
    ck_assert_uint_eq(launcher.longest_value, 900);
    ck_assert_int_eq(launcher.n_fence, 14);
    ck_assert_str_eq(said.text, "");
}

TEST(session_small_values)
{
    struct launcher launcher = launcher_of(0);

    launcher.value_max = 180;
    ck_assert_int_eq(launch(&launcher, client_board), CLIENT_OK);
    ck_assert_uint_le(launcher.longest_value, 179);
    ck_assert_uint_ge(launcher.longest_value, 178);
}

TEST_LOOP(session_keys, 0, 2)
{
    struct launcher launcher = launcher_of(_i);

    ck_assert_int_eq(launch(&launcher, client_keys), CLIENT_OK);
    ck_assert_int_eq(launcher.n_puts, 1);
    ck_said("is not a valid key");
}

/* Slurm pads its lengths on the right. */
TEST(session_padding)
{
    struct launcher launcher = launcher_of(1);

    launcher.length = "%-6d";
    ck_assert_int_eq(launch(&launcher, client_board), CLIENT_OK);
}

TEST(session_auto)
{
    struct launcher launcher = good;

    ck_assert_int_eq(launch(&launcher, client_open), CLIENT_OK);
    ck_assert_int_eq(launcher.version, 1);
    launcher = good;
    setenv("PMI_JOBID", "77.0", 1); /* Slurm */
    ck_assert_int_eq(launch(&launcher, client_open), CLIENT_OK);
    ck_assert_int_eq(launcher.version, 2);
}

/* Whatever is proposed, the version that the launcher names is spoken, without a second init. */
TEST_LOOP(session_other_version, 0, 2)
{
    struct launcher launcher = launcher_of(_i);

    launcher.only_version = _i == 0 ? 2 : 1;
    ck_assert_int_eq(launch(&launcher, client_board), CLIENT_OK);
    ck_assert_int_eq(launcher.n_init, 1);
}

TEST(session_refused)
{
    struct launcher launcher = launcher_of(1);

    launcher.refuse = true;
    ck_assert_int_eq(launch(&launcher, client_board), CLIENT_OK);
    ck_assert_int_eq(launcher.n_init, 2);
    ck_assert_int_eq(launcher.version, 1);
}

static void client_forks(void)
{
    int status;
    pid_t pid;

    NEED(stp_pmi_open(&info) == 0);
    pid = fork();
    if (pid == 0) exit(0);
    NEED(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    pid = fork();
    if (pid == 0) stp_pmi_abort(9, "a child's misfortune");
    NEED(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 9);
    NEED(stp_pmi_fence() == 0); /* the children took nothing from us */
}

TEST_LOOP(session_forked_children, 0, 2)
{
    struct launcher launcher = launcher_of(_i);

    ck_assert_int_eq(launch(&launcher, client_forks), CLIENT_OK);
    ck_assert_int_eq(launcher.n_finalize, 1);
    ck_assert_int_eq(launcher.exit_code, -1);
}

/* An MPI library that shares the connection closes its number for it when it is finalized. */
static void client_loses_number(void)
{
    NEED(stp_pmi_open(&info) == 0);
    close(atoi(getenv("PMI_FD")));
    NEED(stp_pmi_fence() == 0);
}

TEST_LOOP(session_number_closed, 0, 2)
{
    struct launcher launcher = launcher_of(_i);

    ck_assert_int_eq(launch(&launcher, client_loses_number), CLIENT_OK);
    ck_assert_int_eq(launcher.n_finalize, 1);
}

/* A launcher that is gone when the process ends is nobody's error. */
TEST_LOOP(session_finalize_gone, 0, 2)
{
    struct launcher launcher = launcher_of(_i);

    launcher.twist = (struct twist){.on = "finalize", .reply = "", .hang_up = true};
    ck_assert_int_eq(launch(&launcher, client_open), CLIENT_OK);
    ck_assert_str_eq(said.text, "");
}

/* ---- abort --------------------------------------------------------------- */

static void client_aborts_7(void)
{
    NEED(stp_pmi_open(&info) == 0);
    NEED(stp_pmi_keeps_status() == (getenv("PMI_JOBID") == NULL));
    stp_pmi_abort(7, "shot; key=a|b\n\xc3");
}

static void client_aborts_0(void)
{
    NEED(stp_pmi_open(&info) == 0);
    stp_pmi_abort(0, NULL);
}

static void client_aborts_256(void)
{
    NEED(stp_pmi_open(&info) == 0);
    stp_pmi_abort(256, "");
}

static void client_aborts_closed(void)
{
    stp_pmi_abort(5, "nothing is open");
}

TEST_LOOP(abort_status, 0, 2)
{
    struct launcher launcher = launcher_of(_i);

    ck_assert_int_eq(launch(&launcher, client_aborts_7), 7);
    ck_assert_int_eq(launcher.exit_code, 7);
    ck_assert_int_eq(launcher.n_finalize, 0);
    ck_assert(launcher.stayed);
    launcher = good;
    ck_assert_int_eq(launch(&launcher, client_aborts_0), 0);
    ck_assert_int_eq(launcher.exit_code, 0);
    launcher = good;
    ck_assert_int_eq(launch(&launcher, client_aborts_256), 1); /* a shell would see 0 */
    ck_assert_int_eq(launcher.exit_code, 1);
    launcher = good;
    ck_assert_int_eq(launch(&launcher, client_aborts_closed), 5);
    ck_assert_int_eq(launcher.exit_code, -1);
}

TEST(abort_text)
{
    struct launcher launcher = launcher_of(1);

    setenv("PMI_JOBID", "77.0", 1);
    ck_assert_int_eq(launch(&launcher, client_aborts_7), 7);
    ck_assert_int_eq(launcher.exit_code, 0); /* it came as a message */
    ck_assert_str_eq(launcher.abort_text, "shot_ key_a_b__");
}

/* ---- the environment ----------------------------------------------------- */

/* Variables a launcher sets, and whether they mean several processes. */
static const struct {
    const char *names[3];
    const char *values[3];
    bool several;
    const char *advice;
} environments[] = {
    {{NULL, NULL}, {NULL, NULL}, false, NULL},
    {{"SLURM_PROCID", "SLURM_NTASKS", "SLURM_STEP_ID"}, {"0", "4", "0"}, true, "srun --mpi=pmi2"},
    {{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEPID"},
     {"0", "2", "17"},
     true,
     "srun --mpi=pmi2"},
    {{"SLURM_PROCID", "SLURM_NTASKS", "SLURM_STEP_ID"}, {"0", "1", "0"}, false, NULL},
    /* scripts of sbatch, which have no step, or that of the batch; the shell of salloc */
    {{"SLURM_PROCID", "SLURM_NTASKS"}, {"0", "4"}, false, NULL},
    {{"SLURM_PROCID", "SLURM_NTASKS", "SLURM_STEP_ID"}, {"0", "4", "4294967291"}, false, NULL},
    {{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_ID"},
     {"0", "4", "4294967290"},
     false,
     NULL},
    {{"SLURM_NTASKS", NULL}, {"4", NULL}, false, NULL}, /* the shell of an allocation */
    {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, {"0", "2"}, true, "oshrun"},
    {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, {"0", "1"}, false, NULL},
    {{"PMIX_RANK", NULL}, {"1", NULL}, true, "oshrun"},
    {{"PMIX_RANK", NULL}, {"0", NULL}, false, NULL},
    {{"PALS_RANKID", "PMI_SIZE"}, {"0", "8"}, true, "oshrun"},
    {{"PMI_ID", "PMI_SIZE"}, {"0", "3"}, true, "-pmi-port"},
    {{"PMI_RANK", "PMI_SIZE"}, {"0", "2"}, true, "oshrun"},
    {{"PMI_RANK", "PMI_SIZE"}, {"0", "1"}, false, NULL},
    {{"PMI_FD", NULL}, {"seven", NULL}, true, "oshrun"},
    {{"PMI_FD", NULL}, {"-1", NULL}, true, "oshrun"},
    {{"PMI_FD", NULL}, {"977", NULL}, true, "oshrun"},
    {{"PMI_FD", NULL}, {"2", NULL}, true, "oshrun"}, /* a file here, no socket */
};

TEST_LOOP(environment, 0, STP_COUNT(environments))
{
    int rc;

    for (int i = 0; i < 3; i++)
        if (environments[_i].names[i])
            setenv(environments[_i].names[i], environments[_i].values[i], 1);
    ck_assert_int_eq(stp_env_load(), 0);
    CAPTURE(rc = stp_pmi_open(&info));
    if (environments[_i].several) {
        ck_assert_int_eq(rc, -EPROTO);
        ck_said(environments[_i].advice);
        return;
    }
    ck_assert_int_eq(rc, 0);
    ck_assert_str_eq(said.text, "");
    ck_assert_str_eq(info.client, "single");
}

TEST_LOOP(environment_single, 0, STP_COUNT(environments))
{
    if (environments[_i].names[0]) setenv(environments[_i].names[0], environments[_i].values[0], 1);
    if (environments[_i].names[1]) setenv(environments[_i].names[1], environments[_i].values[1], 1);
    setenv("SHMEM_PMI", "single", 1);
    ck_assert_int_eq(stp_env_load(), 0);
    ck_assert_int_eq(stp_pmi_open(&info), 0);
    ck_assert_str_eq(info.client, "single");
    ck_assert_int_eq(info.rank, 0);
    ck_assert_int_eq(info.size, 1);
    ck_assert_int_eq(info.n_nodes, 1);
    ck_assert_int_eq(stp_pmi_node_of(0), 0);
}

/* A process without a launcher may put, and there is nobody to read it. */
TEST(single_board)
{
    char in[8];
    size_t n = 77;

    ck_assert_int_eq(stp_env_load(), 0);
    ck_assert_int_eq(stp_pmi_open(&info), 0);
    ck_assert_int_eq(stp_pmi_put("k", "abc", 3), 0);
    ck_assert_int_eq(stp_pmi_put("not a key", "abc", 3), -EINVAL);
    ck_assert_int_eq(stp_pmi_fence(), 0);
    ck_assert_int_eq(stp_pmi_get(0, "k", in, sizeof(in), &n), -ENOENT);
    ck_assert_uint_eq(n, 77);
}
