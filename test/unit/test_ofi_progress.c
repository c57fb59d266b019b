/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests how the fabric module serves peers of a PE that makes no call: which progress it requests
 * from the provider, whether it believes a promise of automatic progress, and what its thread does
 * if the descriptor of the completion queue does not wake it. Also tests the rank of psm3 on
 * sockets, and that a provider without FI_REMOTE_COMM is refused in jobs of several hosts. The
 * provider shim of test/provider plays the providers. CTest runs the program as unit.ofi_progress.
 */
#include "ofi_pes.h"

#include "transport/ofi/provider_table.c"

/* ---- the table -------------------------------------------------------------- */

static int rank_of(const char *provider, const char *fabric)
{
    struct fi_fabric_attr attr = {.prov_name = (char *)(uintptr_t)provider,
                                  .name = (char *)(uintptr_t)fabric};

    return stp_ofi_rank_of(&(struct fi_info){.fabric_attr = &attr});
}

TEST(psm3_on_sockets_ranks_below_tcp)
{
    static const char *const plain[] = {"TCP-10.0.0.0/8", "UDP-10.0.0.0/8", "TCP-IPv4"};
    static const char *const adapters[] = {"IB/OPA-fe80", "RoCE-10.0.0.0/8", NULL};

    for (unsigned i = 0; i < 3; i++) {
        ck_assert_int_gt(rank_of("psm3", plain[i]), rank_of("tcp", "10.0.0.0/8"));
        ck_assert_int_gt(rank_of("psm3", plain[i]), rank_of("tcp;ofi_rxm", "10.0.0.0/8"));
        ck_assert_int_lt(rank_of("psm3", adapters[i]), rank_of("tcp", "10.0.0.0/8"));
    }
    ck_assert_int_lt(rank_of("other", "TCP-10.0.0.0/8"), rank_of("tcp", "10.0.0.0/8"));
}

/* ---- progress --------------------------------------------------------------- */

static char log_lines[1 << 16];

static void log_all(int level, const char *fmt, ...)
{
    size_t used = strlen(log_lines);
    va_list args;

    (void)level;
    va_start(args, fmt);
    vsnprintf(log_lines + used, sizeof(log_lines) - used, fmt, args);
    va_end(args);
}

static const struct {
    const char *modes, *provider, *progress;
    bool may_be_auto; /* whether a domain may be opened with FI_PROGRESS_AUTO */
} cases[] = {
    {"base=rxm", "tcp", "an event", false},
    {"base=rxm,auto", "tcp", "an event", false},
    {"name=net,false_auto", "net", "an event", false},
    {"base=shm,false_auto", "shm", "polls and naps", false},
    {"name=cxi", "cxi", "an event", false},
    {"name=other,auto", "other", "an event", false},
    {"name=other,deaf_fd", "other", "polls and naps", false},
    {"psm3", "psm3", "polls and naps", false},
    {"psm3,false_auto", "psm3", "polls and naps", true},
    {"psm3,auto", "psm3", "outside the library: provider", true},
    {"psm3,auto,no_fd", "psm3", "polls and naps", true},
    {"verbs,name=efa", "efa", "an event", false},
    {"verbs,name=efa,deaf_fd", "efa", "polls and naps", false},
    {"cxi,name=cxi", "cxi", "an event", false},
};

TEST_LOOP(progress_is_proved, 0, (int)STP_COUNT(cases))
{
    long (*count)(const char *) = (long (*)(const char *))dlsym(RTLD_DEFAULT, "provshim_count");

    ck_assert_ptr_nonnull(count);
    setup();
    setenv("PROVSHIM", cases[_i].modes, 1);
    core.log = log_all;
    env.ofi_provider = cases[_i].provider;
    ck_assert_int_eq(load()(&core, &fabric), 0);
    ck_assert_msg(strstr(log_lines, cases[_i].progress) != NULL, "PROVSHIM=%s: expected '%s' in %s",
                  cases[_i].modes, cases[_i].progress, log_lines);
    ck_assert_msg((count("auto") > 0) == cases[_i].may_be_auto,
                  "PROVSHIM=%s: %ld domains with automatic progress", cases[_i].modes,
                  count("auto"));
    fabric.close();
}

/* ---- reach -------------------------------------------------------------------- */

TEST(provider_of_one_host_is_refused_between_hosts)
{
    setup();
    setenv("PROVSHIM", "name=other,host_only,opaque", 1);
    env.ofi_provider = "other";
    core.n_pes = 2;
    ck_assert_int_lt(load()(&core, &fabric), 0);
    ck_assert_ptr_nonnull(strstr(world->text, "works within one host only"));
}

int main(int argc, char **argv)
{
    (void)argc;
    need_provider(argv);
    return unit_run();
}
