/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that a program which follows the rules can use every provider that the shim plays, and that
 * each effect which PROVSHIM asks for occurs. CTest runs the program as unit.provshim; it starts
 * itself again with the shim preloaded. Broken rules are tested in test_provshim_rules.c.
 */
#include "shim_test.h"

/* ---- the right way --------------------------------------------------------------------- */

static void *context_of_kind(uint64_t kind)
{
    struct fi_cq_data_entry entry;
    ssize_t rc;

    while ((rc = fi_cq_read(cq, &entry, 1)) == -FI_EAGAIN)
        ;
    need(rc == 1, "a completion");
    if (entry.flags & kind) need(entry.len == 8, "the completion to have a length of 8 bytes");
    return entry.op_context;
}

/* Three messages, in the order in which they were sent. */
static void messages(void)
{
    void *desc = desc_of(local_mr);
    ssize_t rc;

    for (uint64_t i = 0; i < 3; i++) {
        struct iovec iov = {&local[32 + i], 8};
        struct fi_msg msg = {.msg_iov = &iov,
                             .desc = &desc,
                             .iov_count = 1,
                             .addr = FI_ADDR_UNSPEC,
                             .context = &contexts[32 + i]};

        while ((rc = fi_recvmsg(ep, &msg, 0)) == -FI_EAGAIN)
            fi_cq_read(cq, NULL, 0);
        need(rc == 0, "the receive to be posted");
    }
    for (uint64_t i = 0; i < 3; i++) {
        void *one, *other;

        local[2] = i + 50;
        while ((rc = fi_send(ep, &local[2], 8, desc, self, &contexts[2])) == -FI_EAGAIN)
            fi_cq_read(cq, NULL, 0);
        need(rc == 0, "the send to be posted");
        one = context_of_kind(FI_RECV);
        other = context_of_kind(FI_RECV);
        need((one == &contexts[2] && other == &contexts[32 + i]) ||
                 (one == &contexts[32 + i] && other == &contexts[2]),
             "two completions");
    }
    need(local[32] == 50 && local[33] == 51 && local[34] == 52, "the messages in order");
}

/* A write that tells its target: two completions, one of them the target's, without context. */
static void remote_data(void)
{
    uint64_t data = 0x0123456789abcdef, told = 0;
    uint64_t flags = FI_DELIVERY_COMPLETE | FI_REMOTE_CQ_DATA;
    ssize_t rc;

    if (info->domain_attr->cq_data_size < sizeof(told)) return;
    while ((rc = write_word_and_data(44, 4, desc_of(local_mr), flags, data)) == -FI_EAGAIN)
        fi_cq_read(cq, NULL, 0);
    need(rc == 0, "fi_writemsg with remote data to return 0");
    for (int n = 0; n < 2; n++) {
        struct fi_cq_data_entry entry;

        while ((rc = fi_cq_read(cq, &entry, 1)) == -FI_EAGAIN)
            ;
        need(rc == 1, "a completion of a write with remote data");
        if (entry.flags & FI_REMOTE_CQ_DATA)
            told = entry.data;
        else
            need(entry.op_context == &contexts[4],
                 "the completion to have the context of the write");
    }
    need(told == data, "the target to get the remote data");
    need(target[44] == local[4], "the data to arrive before its remote data");
}

/* Every call, as the provider wants it; then its effect. */
static void work(void)
{
    uint64_t key = fi_mr_key(target_mr);
    void *desc = desc_of(local_mr);
    struct fi_atomic_attr attr;
    ssize_t rc;
    bool fetches = fi_query_atomic(domain, FI_UINT64, FI_SUM, &attr, FI_FETCH_ATOMIC) == 0;

    for (int i = 0; i < 16; i++) {
        local[i] = (uint64_t)i + 100;
        write_surely(i, i, FI_DELIVERY_COMPLETE);
        need(completion() == &contexts[i], "the completion to have the context of the operation");
        need(target[i] == (uint64_t)i + 100,
             "the data at the target when the delivery is complete");
    }
    remote_data();
    while ((rc = fi_read(ep, &local[20], 64, desc, self, at(0), key, &contexts[1])) == -FI_EAGAIN)
        fi_cq_read(cq, NULL, 0);
    need(rc == 0 && completion() == &contexts[1], "fi_read to return 0 and to complete");
    need(local[20] == 100 && local[27] == 107, "fi_read to return the right data");
    while ((rc = fi_inject_write(ep, &local[3], 8, self, at(40), key)) == -FI_EAGAIN)
        fi_cq_read(cq, NULL, 0);
    need(rc == 0, "the injection to return 0");
    while (__atomic_load_n(&target[40], __ATOMIC_ACQUIRE) != local[3])
        fi_cq_read(cq, NULL, 0);
    if (fetches) {
        while ((rc = add_to_word(5, desc, desc)) == -FI_EAGAIN)
            fi_cq_read(cq, NULL, 0);
        need(rc == 0 && completion() == &contexts[0], "the fetch to return 0 and to complete");
        need(local[1] == 105 && target[5] == 205, "the fetch to return the old value and to add");
    }
    messages();
    close_all();
    need(shim_count("regions") == 0, "no registration to remain at the end");
}

static const char *const sets[] = {
    "",
    "mr_local",
    "prov_key",
    "virt_addr",
    "endpoint",
    "context",
    "context2",
    "small_inject=8",
    "max_msg=4096",
    "no_fetch",
    "no_atomics",
    "no_order",
    "key32",
    "eagain=3",
    "reorder",
    "late",
    "manual",
    "cqsize=4",
    "delay=300,lag=300",
    "storm=3000,pause=3000",
    "no_fd",
    "opaque",
    "name=cxi",
    "verbs",
    "efa",
    "cxi",
    "verbs,manual,late,eagain=2,cqsize=2,no_fetch",
    "base=net",
    "base=net,efa,manual",
    "base=shm,no_fd",
};

TEST_LOOP(right_use_works, 0, COUNT(sets))
{
    char text[TEXT];
    int status = run(text, sets[_i], work);

    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) { /* this libfabric lacks the provider */
        printf("PROVSHIM=%s: %s", sets[_i], text);
        return;
    }
    ck_assert_msg(status == 0,
                  "PROVSHIM=%s: a program that keeps the rules ended with wait status %#x: %s",
                  sets[_i], (unsigned)status, text);
}

/* ---- what it does to the unwary ------------------------------------------------------------- */

static void keys_differ(void)
{
    struct fid_mr *a = region(local, 64, LOCAL, 5), *b = region(local, 64, LOCAL, 5);

    need(fi_mr_key(a) != 5 && fi_mr_key(b) != 5 && fi_mr_key(a) != fi_mr_key(b),
         "the provider to choose its own, different keys");
    need(fi_mr_key(a) <= UINT32_MAX, "keys of at most 32 bits");
}

static void long_keys_refused(void)
{
    struct fid_mr *mr;

    need(info->domain_attr->mr_key_size == 4, "mr_key_size to be 4");
    need(fi_mr_reg(domain, local, 64, LOCAL, 0, 1ull << 32, 0, &mr, NULL) == -FI_EKEYREJECTED,
         "a long key to be rejected");
}

static void long_messages_refused(void)
{
    uint64_t key = fi_mr_key(target_mr);

    need(info->ep_attr->max_msg_size == 64, "max_msg_size to be 64");
    need(fi_write(ep, local, 64, NULL, self, at(0), key, &contexts[0]) == 0,
         "a write of 64 bytes to return 0");
    need(fi_write(ep, local, 65, NULL, self, at(0), key, &contexts[0]) == -FI_EMSGSIZE,
         "a write of 65 bytes to return -FI_EMSGSIZE");
}

static void atomics_refused(void)
{
    struct fi_atomic_attr attr;
    size_t n;

    need(fi_query_atomic(domain, FI_UINT64, FI_SUM, &attr, FI_FETCH_ATOMIC) != 0,
         "fi_query_atomic to refuse a fetch");
    need(fi_query_atomic(domain, FI_UINT64, FI_CSWAP, &attr, FI_COMPARE_ATOMIC) != 0,
         "fi_query_atomic to refuse a compare-and-swap");
    need(fi_fetch_atomicvalid(ep, FI_UINT64, FI_SUM, &n) != 0,
         "fi_fetch_atomicvalid to refuse a fetch");
    if (strcmp(getenv("PROVSHIM"), "no_atomics") == 0)
        need(fi_query_atomic(domain, FI_UINT64, FI_SUM, &attr, 0) != 0,
             "fi_query_atomic to refuse an update");
    else
        need(fi_query_atomic(domain, FI_UINT64, FI_SUM, &attr, 0) == 0,
             "fi_query_atomic to allow an update");
}

/* Writes of growing numbers to one word do not end with the greatest. */
static void order_is_lost(void)
{
    int lost = 0;

    need((info->tx_attr->msg_order & FI_ORDER_WAW) == 0, "msg_order without FI_ORDER_WAW");
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 16; i++) {
            local[i] = (uint64_t)i;
            write_surely(0, i, FI_DELIVERY_COMPLETE);
        }
        for (int i = 0; i < 16; i++)
            completion();
        lost += __atomic_load_n(&target[0], __ATOMIC_ACQUIRE) != 15;
    }
    need(lost > 0 && shim_count("overtaken") > 0,
         "some writes to overtake others, and to be counted");
}

static void busy_until_read(void)
{
    ssize_t rc = 0;
    int n = 0;

    while (n < 3 && (rc = write_word(0, n, NULL, 0)) == 0)
        n++;
    need(n < 3 && rc == -FI_EAGAIN, "-FI_EAGAIN after at most 2 accepted posts");
    for (int i = 0; i < 100; i++)
        need(write_word(0, n, NULL, 0) == -FI_EAGAIN, "-FI_EAGAIN until the queue is read");
    write_surely(0, n, 0);
    need(shim_count("refused") > 100, "more than 100 refusals to be counted");
}

static void full_queue(void)
{
    for (int i = 0; i < 4; i++)
        need(write_word(0, i, NULL, 0) == 0, "4 writes to be accepted");
    need(write_word(0, 4, NULL, 0) == -FI_EAGAIN, "-FI_EAGAIN for the fifth write");
    completion();
    need(write_word(0, 4, NULL, 0) == 0, "a write to be accepted after a completion was read");
}

/* Complete, and not there. */
static void late_data(void)
{
    int late = 0;

    for (uint64_t i = 1; i <= 20; i++) {
        local[0] = i;
        write_surely(0, 0, 0);
        completion();
        late += __atomic_load_n(&target[0], __ATOMIC_ACQUIRE) != i;
        while (__atomic_load_n(&target[0], __ATOMIC_ACQUIRE) != i)
            fi_cq_read(cq, NULL, 0);
    }
    need(late == 20 && shim_count("early") == 20,
         "20 writes to complete before their data arrives");
}

static void nothing_by_itself(void)
{
    struct fid *fid = &cq->fid;

    local[0] = 5;
    need(write_word(0, 0, NULL, FI_DELIVERY_COMPLETE) == 0, "fi_writemsg to return 0");
    need(fi_trywait(fabric, &fid, 1) == -FI_EAGAIN,
         "fi_trywait to return -FI_EAGAIN while a write is held");
    usleep(50000);
    need(__atomic_load_n(&target[0], __ATOMIC_ACQUIRE) == 0,
         "the write not to happen before the queue is read");
    completion();
    need(__atomic_load_n(&target[0], __ATOMIC_ACQUIRE) == 5,
         "the write to happen after the queue was read");
    need(fi_trywait(fabric, &fid, 1) == 0, "fi_trywait to return 0 when nothing is held");
}

/* Half of the writes leave late, and those behind them first. */
static void leaves_late(void)
{
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 16; i++) {
            local[i] = (uint64_t)(round * 16 + i + 1);
            write_surely(i, i, FI_DELIVERY_COMPLETE);
        }
        for (int i = 0; i < 16; i++)
            completion();
        for (int i = 0; i < 16; i++)
            need(target[i] == local[i], "the data at the target when the delivery is complete");
    }
    need(shim_count("delayed") > 100, "more than 100 late writes");
}

/* The data is there, and the program is not told yet. */
static void told_late(void)
{
    int before = 0;

    for (uint64_t i = 1; i <= 20; i++) {
        struct fi_cq_data_entry entry;

        local[0] = i;
        write_surely(0, 0, FI_DELIVERY_COMPLETE);
        while (__atomic_load_n(&target[0], __ATOMIC_ACQUIRE) != i)
            need(fi_cq_read(cq, NULL, 0) <= 0, "no completion before the data arrives");
        if (fi_cq_read(cq, &entry, 1) == 1) continue;
        before++;
        completion();
    }
    need(before > 0 && shim_count("delayed") > 0, "some completions to come after their data");
}

/* Refused however often the queue is read, until the storm is over. */
static void storms(void)
{
    long most = 0;

    for (int i = 0; i < 2000; i++) {
        struct fi_cq_data_entry entry;
        long refused = 0;

        for (; write_word(0, 0, NULL, 0) == -FI_EAGAIN; refused++)
            need(fi_cq_read(cq, &entry, 1) == -FI_EAGAIN, "an empty queue");
        completion();
        if (refused > most) most = refused;
    }
    need(most > 100, "more than 100 refusals in a row");
}

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* One read in 256, 10 ms on average. */
static void reads_pause(void)
{
    uint64_t begin = now_ns();
    struct fi_cq_data_entry entry;

    for (int i = 0; i < 4096; i++)
        need(fi_cq_read(cq, &entry, 1) == -FI_EAGAIN, "an empty queue");
    need(now_ns() - begin > 20000000, "reads of the queue to pause for more than 20 ms in total");
}

static void no_descriptor(void)
{
    struct fi_cq_attr attr = {.format = FI_CQ_FORMAT_CONTEXT, .wait_obj = FI_WAIT_FD};
    struct fid_cq *other;

    need(fi_cq_open(domain, &attr, &other, NULL) == -FI_ENOSYS,
         "fi_cq_open with FI_WAIT_FD to return -FI_ENOSYS");
}

static void unreadable_addresses(void)
{
    need(info->addr_format == FI_ADDR_EFA, "addr_format to be FI_ADDR_EFA");
}

static void named(void)
{
    need(strcmp(info->fabric_attr->prov_name, "cxi") == 0, "prov_name to be cxi");
}

static const struct effect {
    const char *modes;
    void (*body)(void);
} effects[] = {
    {"prov_key,key32", keys_differ},
    {"key32", long_keys_refused},
    {"max_msg=64", long_messages_refused},
    {"no_fetch", atomics_refused},
    {"no_atomics", atomics_refused},
    {"no_order", order_is_lost},
    {"no_order,late", order_is_lost},
    {"eagain=3", busy_until_read},
    {"cqsize=4", full_queue},
    {"late", late_data},
    {"manual", nothing_by_itself},
    {"delay=500", leaves_late},
    {"lag=2000", told_late},
    {"storm=5000", storms},
    {"pause=20000", reads_pause},
    {"no_fd", no_descriptor},
    {"opaque", unreadable_addresses},
    {"name=cxi", named},
};

TEST_LOOP(effect_is_seen, 0, COUNT(effects))
{
    char text[TEXT];
    int status = run(text, effects[_i].modes, effects[_i].body);

    ck_assert_msg(status == 0, "PROVSHIM=%s: the effect is missing, wait status %#x: %s",
                  effects[_i].modes, (unsigned)status, text);
}

/* A provider is listed only to those who can live with it. */
TEST_LOOP(listed_if_offered, 0, 8)
{
    static const struct {
        const char *mode;
        int mr_mode;
        uint64_t mode_bits, order;
    } wanted[] = {
        {"mr_local", FI_MR_LOCAL, 0, 0},      {"prov_key", FI_MR_PROV_KEY, 0, 0},
        {"virt_addr", FI_MR_VIRT_ADDR, 0, 0}, {"allocated", FI_MR_ALLOCATED, 0, 0},
        {"endpoint", FI_MR_ENDPOINT, 0, 0},   {"context", 0, FI_CONTEXT, 0},
        {"context2", 0, FI_CONTEXT2, 0},      {"no_order", 0, 0, FI_ORDER_WAW},
    };
    uint64_t both = FI_CONTEXT | FI_CONTEXT2;

    setenv("PROVSHIM", wanted[_i].mode, 1);
    ck_assert_int_eq(
        ask(ALL_MODES & ~wanted[_i].mr_mode, both & ~wanted[_i].mode_bits, wanted[_i].order),
        -FI_ENODATA);
    ck_assert_int_eq(ask(ALL_MODES, both, 0), 0);
    ck_assert_int_eq(info->domain_attr->mr_mode, wanted[_i].mr_mode);
    ck_assert(info->mode == wanted[_i].mode_bits);
    fi_freeinfo(info);
}
