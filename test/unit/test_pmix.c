/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the PMIx client against a libpmix.so.2 that is a test double (pmix_double.c): good
 * sessions, the failure of each call, replies that make no sense, and which client the library
 * selects when variables of several launchers are set. CTest runs the program as unit.pmix. Real
 * launchers are in test/mpi.
 */
#include "pmi_launcher.h"
#include "pmix_double.h"

#include <dlfcn.h>
#include <sys/mman.h>

static struct double_pmix *block; /* shared with the child that plays the rank */

static struct double_answer *tell(uint32_t rank, const char *key)
{
    struct double_answer *answer = &block->answers[block->n_answers++];

    memset(answer, 0, sizeof(*answer));
    answer->rank = rank;
    strcpy(answer->key, key);
    return answer;
}

static void tell_text(uint32_t rank, const char *key, const char *text)
{
    struct double_answer *answer = tell(rank, key);

    answer->type = STP_PMIX_STRING;
    strcpy(answer->text, text);
}

static void tell_number(uint32_t rank, const char *key, uint32_t number)
{
    struct double_answer *answer = tell(rank, key);

    answer->type = STP_PMIX_UINT32;
    answer->number = number;
}

/* A server that tells rank, size and peers, all on one node. */
static void setup(uint32_t rank, uint32_t size, const char *peers)
{
    block = mmap(NULL, sizeof(*block), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(block, MAP_FAILED);
    strcpy(block->self.nspace, "job.7");
    block->self.rank = rank;
    block->abort_status = -1;
    tell_number(STP_PMIX_RANK_WILDCARD, STP_PMIX_JOB_SIZE, size);
    if (peers) tell_text(STP_PMIX_RANK_WILDCARD, STP_PMIX_LOCAL_PEERS, peers);
    setenv("PMIX_NAMESPACE", "job.7", 1);
    set_number("PMIX_RANK", (int)rank);
}

/* Run client() as the rank. Returns its exit status. */
static int play(void (*client)(void))
{
    int status;
    pid_t pid;

    capture_begin(&said);
    pid = fork();
    if (pid == 0) {
        void *library = dlopen(STP_PMIX_LIBRARY, RTLD_NOW);
        double_use_fn use = library ? (double_use_fn)dlsym(library, "double_use") : NULL;

        alarm(20);
        if (!use || stp_env_load()) _exit(1);
        use(block);
        client();
        exit(CLIENT_OK);
    }
    waitpid(pid, &status, 0);
    capture_end(&said);
    ck_assert_msg(WIFEXITED(status), "the client must exit, but signal %d ended it",
                  WTERMSIG(status));
    return WEXITSTATUS(status);
}

static void check_used_well(void)
{
    ck_assert_str_eq(block->complaint, "");
    ck_assert_int_eq(block->n_init, 1);
    ck_assert_int_eq(block->n_finalize, 1);
}

/* ---- sessions ------------------------------------------------------------ */

static void client_info(void)
{
    struct stp_pmi_info again;

    NEED(stp_pmi_open(&info) == 0 && stp_pmi_open(&again) == 0);
    NEED(memcmp(&info, &again, sizeof(info)) == 0);
    NEED(strcmp(info.client, "pmix") == 0 && info.rank == 2 && info.size == 3);
    NEED(info.n_nodes == 1 && stp_pmi_node_of(0) == 0 && stp_pmi_node_of(2) == 0);
}

TEST_LOOP(session_open, 0, 2)
{
    setup(2, 3, "0,1,2");
    if (_i == 1) setenv("SHMEM_PMI", "pmix", 1);
    ck_assert_int_eq(play(client_info), CLIENT_OK);
    ck_assert_str_eq(said.text, "");
    ck_assert_int_eq(block->n_fence, 0);
    ck_assert_int_eq(block->n_free, block->n_get);
    check_used_well();
}

static void client_board(void)
{
    static char out[5000], in[5001];
    size_t n;

    for (size_t i = 0; i < sizeof(out); i++)
        out[i] = (char)(i * 31);
    NEED(stp_pmi_open(&info) == 0);
    NEED(stp_pmi_put("k", out, sizeof(out)) == 0);
    NEED(stp_pmi_get(0, "k", in, sizeof(in), &n) == -ENOENT); /* no fence yet */
    NEED(stp_pmi_fence() == 0);
    NEED(stp_pmi_get(0, "k", in, sizeof(in), &n) == 0);
    NEED(n == sizeof(out) && memcmp(in, out, n) == 0);
    NEED(stp_pmi_get(0, "k", in, 4999, &n) == -EMSGSIZE);
    NEED(stp_pmi_get(1, "k", in, sizeof(in), &n) == -ENOENT); /* another rank's */
    NEED(stp_pmi_put("k2", "", 0) == 0 && stp_pmi_fence() == 0);
    NEED(stp_pmi_get(0, "k2", in, sizeof(in), &n) == 0 && n == 0);
}

TEST(session_board)
{
    setup(0, 2, "0,1");
    ck_assert_int_eq(play(client_board), CLIENT_OK);
    ck_assert_str_eq(said.text, "");
    ck_assert_int_eq(block->n_fence, 2);
    check_used_well();
}

static void client_forks(void)
{
    int status;
    pid_t pid;

    NEED(stp_pmi_open(&info) == 0);
    pid = fork();
    if (pid == 0) exit(0);
    NEED(waitpid(pid, &status, 0) == pid && status == 0);
    NEED(stp_pmi_fence() == 0);
}

TEST(session_forked_child)
{
    setup(0, 1, "0");
    ck_assert_int_eq(play(client_forks), CLIENT_OK);
    check_used_well();
}

/* ---- nodes --------------------------------------------------------------- */

static void client_nodes(void)
{
    NEED(stp_pmi_open(&info) == 0 && info.n_nodes == 2);
    NEED(stp_pmi_node_of(0) == 0 && stp_pmi_node_of(1) == 1 && stp_pmi_node_of(2) == 0);
}

TEST(nodes_by_host)
{
    setup(1, 3, "1");
    tell_text(0, STP_PMIX_HOSTNAME, "alpha");
    tell_text(1, STP_PMIX_HOSTNAME, "beta");
    tell_text(2, STP_PMIX_HOSTNAME, "alpha");
    ck_assert_int_eq(play(client_nodes), CLIENT_OK);
    ck_assert_int_eq(block->n_fence, 0);
    check_used_well();
}

/* Slurm's plugin has the vector of PMI-2. */
TEST_LOOP(nodes_by_vector, 0, 2)
{
    setup(1, 3, _i == 0 ? "1" : NULL);
    tell_text(STP_PMIX_RANK_WILDCARD, STP_PMIX_ANL_MAP, "(vector,(0,2,1))");
    ck_assert_int_eq(play(client_nodes), CLIENT_OK);
    ck_assert_int_eq(block->n_fence, 0);
    check_used_well();
}

/* A launcher that tells a process its own host alone: names are exchanged. */
TEST_LOOP(nodes_exchanged, 0, 2)
{
    setup(1, 3, _i == 0 ? "1" : NULL);
    tell_text(1, STP_PMIX_HOSTNAME, "beta");
    tell_text(0, "stp::host:0:0", "0000000000000005616c706861");
    tell_text(2, "stp::host:2:0", "0000000000000005616c706861");
    ck_assert_int_eq(play(client_nodes), CLIENT_OK);
    ck_assert_int_eq(block->n_fence, 1);
    check_used_well();
}

TEST(nodes_half_told)
{
    setup(1, 3, "1");
    tell_text(1, STP_PMIX_HOSTNAME, "beta");
    tell_text(2, STP_PMIX_HOSTNAME, "alpha");
    ck_assert_int_eq(play(client_open_fails), CLIENT_OK);
    ck_said("the host name of rank 2, but not that of rank 0");
    ck_assert_int_eq(block->n_fence, 0);
}

/* ---- bad libraries and launchers ------------------------------------------ */

static void client_put_fails(void)
{
    NEED(stp_pmi_open(&info) == 0 && stp_pmi_put("k", "x", 1) == -EIO);
}

static void client_fence_fails(void)
{
    NEED(stp_pmi_open(&info) == 0 && stp_pmi_fence() == -EIO);
}

static const struct {
    enum double_call call;
    void (*client)(void);
    const char *text;
} failures[] = {
    {DOUBLE_INIT, client_open_fails, "PMIx_Init failed"},
    {DOUBLE_GET, client_open_fails, "PMIx_Get(pmix.job.size) failed"},
    {DOUBLE_PUT, client_put_fails, "PMIx_Put(stp:k:0) failed"},
    {DOUBLE_COMMIT, client_fence_fails, "PMIx_Commit failed"},
    {DOUBLE_FENCE, client_fence_fails, "PMIx_Fence failed"},
    {DOUBLE_FINALIZE, client_open, NULL}, /* too late to matter */
};

TEST_LOOP(call_fails, 0, STP_COUNT(failures))
{
    setup(0, 2, "0,1");
    block->fails = failures[_i].call;
    block->rc = -25;
    ck_assert_int_eq(play(failures[_i].client), CLIENT_OK);
    if (failures[_i].text)
        ck_said(failures[_i].text);
    else
        ck_assert_str_eq(said.text, "");
    ck_assert_str_eq(block->complaint, "");
}

/* What init and the first get may say of the job; the answer that is bent is that to key. */
static const struct {
    uint32_t rank;
    uint16_t type;
    uint32_t size;
    const char *nspace;
    const char *text;
} nonsense[] = {
    {0, 0, 0, "job.7", "does not provide"},
    {0, STP_PMIX_STRING, 0, "job.7", "not an integer"},
    {0, 41, 2, "job.7", "not an integer"},
    {0, STP_PMIX_UINT32, 0, "job.7", "not between 1 and"},
    {0, STP_PMIX_UINT32, 2147483648u, "job.7", "not between 1 and"},
    {0, STP_PMIX_INT, 4294967295u, "job.7", "not between 1 and"},
    {2, STP_PMIX_UINT32, 2, "job.7", "rank 2 of 2"},
    {4294967294u, STP_PMIX_UINT32, 2, "job.7", "greater than"},
    {0, STP_PMIX_UINT32, 1, "singleton.host.99", "left over from another job"},
};

TEST_LOOP(job_nonsense, 0, STP_COUNT(nonsense))
{
    setup(0, 2, "0,1");
    block->self.rank = nonsense[_i].rank;
    set_number("PMIX_RANK", (int)(nonsense[_i].rank & INT_MAX));
    strcpy(block->self.nspace, nonsense[_i].nspace);
    block->answers[0].type = nonsense[_i].type;
    block->answers[0].number = nonsense[_i].size;
    ck_assert_int_eq(play(client_open_fails), CLIENT_OK);
    ck_said(nonsense[_i].text);
    if (nonsense[_i].rank < 2) ck_assert_int_eq(block->n_finalize, 1);
}

TEST(job_other_rank)
{
    setup(1, 2, "0,1");
    setenv("PMIX_RANK", "0", 1);
    ck_assert_int_eq(play(client_open_fails), CLIENT_OK);
    ck_said("PMIX_RANK=0, but PMIx reports rank 1");
}

TEST(job_no_end)
{
    setup(0, 1, "0");
    memset(block->self.nspace, 'n', sizeof(block->self.nspace));
    ck_assert_int_eq(play(client_open_fails), CLIENT_OK);
    ck_said("has no terminating zero byte");
}

static void client_get_fails(void)
{
    char in[4096];
    size_t n = 77;

    NEED(stp_pmi_open(&info) == 0);
    NEED(stp_pmi_get(1, "k", in, sizeof(in), &n) == -EPROTO && n == 77);
}

/* What a get may find: nothing, no text, a text without end, one of nobody of ours. */
TEST_LOOP(value_nonsense, 0, 5)
{
    struct double_answer *answer;

    setup(0, 2, "0,1");
    answer = tell(1, "stp:k:0");
    answer->type = _i == 0 ? 27 : STP_PMIX_STRING;
    answer->null = _i == 1;
    if (_i == 2) memset(answer->text, '0', sizeof(answer->text) - 1);
    if (_i == 3) strcpy(answer->text, "a stranger's");
    if (_i == 4) answer->type = 27, answer->null = true;
    ck_assert_int_eq(play(client_get_fails), CLIENT_OK);
    ck_said("cannot use the value of");
}

/* ---- abort --------------------------------------------------------------- */

static void client_aborts(void)
{
    NEED(stp_pmi_open(&info) == 0);
    stp_pmi_abort(7, "out of luck");
}

static void client_aborts_256(void)
{
    NEED(stp_pmi_open(&info) == 0);
    stp_pmi_abort(256, NULL);
}

TEST(abort_status)
{
    setup(0, 2, "0,1");
    ck_assert_int_eq(play(client_aborts), 7);
    ck_assert_int_eq(block->abort_status, 7);
    ck_assert_str_eq(block->abort_text, "out of luck");
    ck_assert_int_eq(block->n_finalize, 0);
    ck_assert_int_eq(play(client_aborts_256), 1);
    ck_assert_int_eq(block->abort_status, 1);
    ck_assert_str_eq(block->complaint, "");
}

TEST(abort_hangs)
{
    setup(0, 2, "0,1");
    block->hangs = true;
    ck_assert_int_eq(play(client_aborts), 7);
    ck_assert_int_eq(block->abort_status, 7);
}

/* ---- which client -------------------------------------------------------- */

static void client_is_single(void)
{
    NEED(stp_pmi_open(&info) == 0 && strcmp(info.client, "single") == 0);
}

static void client_is_pmix(void)
{
    NEED(stp_pmi_open(&info) == 0 && strcmp(info.client, "pmix") == 0);
}

static void client_is_pmi1(void)
{
    NEED(stp_pmi_open(&info) == 0 && strcmp(info.client, "pmi1") == 0);
}

TEST(choice_single)
{
    setup(1, 2, "0,1");
    setenv("SHMEM_PMI", "single", 1);
    ck_assert_int_eq(play(client_is_single), CLIENT_OK);
    ck_assert_int_eq(block->n_init, 0);
}

/* hydra inside a PMIx job: its socket is alive, the other's variables are left over. */
TEST(choice_socket)
{
    struct launcher launcher = good;

    setup(1, 2, "0,1");
    ck_assert_int_eq(launch(&launcher, client_is_pmi1), CLIENT_OK);
    ck_assert_int_eq(launcher.n_finalize, 1);
    ck_assert_int_eq(block->n_init, 0);
}

/* A PMIx job inside hydra: nothing, a file or some other socket has the number of PMI_FD. */
TEST_LOOP(choice_left_over, 0, 4)
{
    int fd = _i == 0 ? 977 : _i == 1 ? 2 : socket(_i == 2 ? AF_INET : AF_UNIX, SOCK_STREAM, 0);

    setup(0, 1, "0");
    set_number("PMI_FD", fd);
    setenv("PMI_RANK", "0", 1);
    ck_assert_int_eq(play(client_is_pmix), CLIENT_OK);
    check_used_well();
}

TEST(choice_demanded)
{
    setup(0, 1, "0");
    setenv("SHMEM_PMI", "pmix", 1);
    unsetenv("PMIX_NAMESPACE");
    ck_assert_int_eq(play(client_open_fails), CLIENT_OK);
    ck_said("PMIX_NAMESPACE is not set");
    ck_assert_int_eq(block->n_init, 0);
}
