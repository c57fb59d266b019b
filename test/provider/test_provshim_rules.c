/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that the provider shim detects misuse: each function here breaks one rule, and the shim
 * must end the process with the message for this rule. CTest runs the program as
 * unit.provshim_rules; it starts itself again with the shim preloaded.
 */
#include "shim_test.h"

/* ---- the wrong ways ----------------------------------------------------------------------- */

static void nothing(void)
{
}

static void without_desc(void)
{
    write_word(0, 0, NULL, 0);
}

static void with_stale_desc(void)
{
    struct fid_mr *mr = region(local, sizeof(local), LOCAL, KEY + 2);
    void *desc = desc_of(mr);

    fi_close(&mr->fid);
    write_word(0, 0, desc, 0);
}

static void beyond_desc(void)
{
    struct fid_mr *mr = region(local, 32, LOCAL, KEY + 2);

    write_word(0, 4, desc_of(mr), 0);
}

static void source_of_other_access(void)
{
    struct fid_mr *mr = region(local, sizeof(local), FI_READ | FI_SEND | FI_RECV, KEY + 2);

    write_word(0, 0, desc_of(mr), 0);
}

static void result_without_desc(void)
{
    add_to_word(0, desc_of(local_mr), NULL);
}

static void recv_without_desc(void)
{
    if (fi_recv(ep, local, 64, NULL, FI_ADDR_UNSPEC, &contexts[0]) != 0) exit(3);
}

static void deregister_early(void)
{
    need(write_word(0, 0, desc_of(local_mr), 0) == 0, "fi_writemsg to return 0");
    fi_close(&local_mr->fid);
}

static void own_key(void)
{
    fi_inject_write(ep, local, 8, self, at(0), KEY);
}

static void by_offset(void)
{
    fi_inject_write(ep, local, 8, self, 8, fi_mr_key(target_mr));
}

static void enable_unbound(void)
{
    struct fid_mr *mr;

    need(fi_mr_reg(domain, local, 64, LOCAL, 0, 9, 0, &mr, NULL) == 0, "fi_mr_reg to return 0");
    fi_mr_enable(mr);
}

static void use_disabled(void)
{
    struct fid_mr *mr;

    need(fi_mr_reg(domain, local, 64, LOCAL, 0, 9, 0, &mr, NULL) == 0, "fi_mr_reg to return 0");
    need(fi_mr_key(mr) == FI_KEY_NOTAVAIL,
         "fi_mr_key to return FI_KEY_NOTAVAIL before the region is enabled");
    write_word(0, 0, desc_of(mr), 0);
}

static void close_bound(void)
{
    fi_close(&ep->fid);
}

static void share_context(void)
{
    need(write_word(0, 0, NULL, 0) == 0, "fi_writemsg to return 0");
    write_word(1, 0, NULL, 0);
}

static void overlap_context(void)
{
    void *inside = (char *)&contexts[0] + 16;

    need(write_word(0, 0, NULL, 0) == 0, "fi_writemsg to return 0");
    fi_write(ep, &local[1], 8, NULL, self, at(1), fi_mr_key(target_mr), inside);
}

static void no_context(void)
{
    fi_write(ep, &local[1], 8, NULL, self, at(1), fi_mr_key(target_mr), NULL);
}

static void write_to_context(void)
{
    need(write_word(0, 0, NULL, FI_DELIVERY_COMPLETE) == 0, "fi_writemsg to return 0");
    memset(&contexts[0], 0, sizeof(contexts[0]));
    completion();
}

static void inject_much(void)
{
    fi_inject_write(ep, local, 24, self, at(0), fi_mr_key(target_mr));
}

static void fetch_anyway(void)
{
    add_to_word(0, NULL, NULL);
}

static void update_anyway(void)
{
    fi_inject_atomic(ep, local, 1, self, at(0), fi_mr_key(target_mr), FI_UINT64, FI_SUM);
}

static void long_key(void)
{
    fi_inject_write(ep, local, 8, self, at(0), 1ull << 40);
}

static void bind_unasked(void)
{
    fi_mr_bind(local_mr, &ep->fid, 0);
}

static void ask_for_any(void)
{
    struct fi_info *info;

    fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, NULL, &info);
}

static const struct wrong {
    const char *modes;
    void (*body)(void);
    const char *says;
} wrongs[] = {
    {"mr_local,bogus", nothing, "what is bogus?"},
    {"eagain=x", nothing, "eagain wants a number"},
    {"base=verbs", nothing, "base is rxm, net or shm"},
    {"context,context2", nothing, "exclude"},
    {"late=3", nothing, "takes no value"},
    {"mr_local", without_desc, "descriptor (nil) is of no registration"},
    {"mr_local", with_stale_desc, "is of no registration"},
    {"mr_local", beyond_desc, "its registration is of 32 bytes"},
    {"mr_local", source_of_other_access, "without FI_WRITE"},
    {"mr_local", result_without_desc, "result, 8 bytes"},
    {"mr_local", recv_without_desc, "fi_recv"},
    {"mr_local,manual", deregister_early, "under way"},
    {"prov_key", own_key, "was not made by this provider"},
    {"virt_addr", by_offset, "addressing is virtual"},
    {"endpoint", enable_unbound, "not bound"},
    {"mr_local,endpoint", use_disabled, "not enabled"},
    {"endpoint", close_bound, "still bound to the endpoint"},
    {"manual", bind_unasked, "does not ask for it"},
    {"context,manual", share_context, "in use by fi_writemsg"},
    {"context,manual", overlap_context, "in use by fi_writemsg"},
    {"context2", no_context, "without a context"},
    {"context2", write_to_context, "written to while it was under way"},
    {"small_inject", inject_much, "24 bytes to inject, the limit is 16"},
    {"no_fetch", fetch_anyway, "nothing fetches"},
    {"no_atomics", update_anyway, "there are none"},
    {"key32", long_key, "more than 32 bits"},
    {"one_name", ask_for_any, "the hints name no provider"},
};

TEST_LOOP(wrong_use_is_told, 0, COUNT(wrongs))
{
    const struct wrong *wrong = &wrongs[_i];
    char text[TEXT];
    int status = run(text, wrong->modes, wrong->body);

    ck_assert_msg(
        WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT,
        "PROVSHIM=%s: misuse must end the process by SIGABRT, but the wait status is %#x: %s",
        wrong->modes, (unsigned)status, text);
    ck_assert_msg(strstr(text, "provshim: ") != NULL && strstr(text, wrong->says) != NULL,
                  "PROVSHIM=%s: the output lacks the message for the broken rule: %s", wrong->modes,
                  text);
}
