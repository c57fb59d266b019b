/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks shmemx_device_count() and shmemx_device_describe() before init, in the job, after
 * finalize and from a thread while the library starts: the same devices and valid facts each time,
 * structures of shorter and longer headers, free memory beside a GPU space, and no context on a
 * GPU.
 */
#include "pe_gpu.h"
#include "pe_kinds.h"

#include <pthread.h>

enum { LATER = 40, CANARY = 0x5a, MANY = 16 };

static const shmem_device_type_t kinds[] = {SHMEM_DEVICE_CPU, SHMEM_DEVICE_GPU, SHMEM_DEVICE_FAM};
enum { N_KINDS = 3 };

static int counts[N_KINDS];
static char names[N_KINDS][MANY][96];

static void check_facts(const shmemx_device_info_t *info, shmem_device_type_t kind, int i)
{
    PE_CHECK_EQ(info->struct_size, sizeof(*info));
    PE_CHECK_EQ(info->device_type, kind);
    PE_CHECK_EQ(info->device, i);
    PE_CHECK(
        info->usable == (info->why_not[0] == '\0'),
        "usable is %d, but why_not is \"%s\": expected a reason only if the device is not usable",
        info->usable, info->why_not);
    PE_CHECK(info->name[0] != '\0', "the name of device %d is empty", i);
    if (!info->usable) return;
    PE_CHECK(info->nbytes > 0 && info->nbytes != SHMEMX_BYTES_UNKNOWN,
             "a usable device has %zu bytes, expected a known number above 0", info->nbytes);
    PE_CHECK(info->free == SHMEMX_BYTES_UNKNOWN || info->free <= info->nbytes,
             "a device has %zu free bytes of %zu, expected no more than all", info->free,
             info->nbytes);
    PE_CHECK(
        info->n_page_sizes >= 1 && info->page_sizes[0] >= 4096,
        "a device has %d page sizes, the smallest is %zu, expected at least one of 4096 or more",
        info->n_page_sizes, info->page_sizes[0]);
    for (int page = 1; page < info->n_page_sizes; page++)
        PE_CHECK(info->page_sizes[page] > info->page_sizes[page - 1],
                 "page size %d is %zu, expected more than the one before", page,
                 info->page_sizes[page]);
}

static int describe(int kind, int i, shmemx_device_info_t *info)
{
    *info = (shmemx_device_info_t)SHMEMX_DEVICE_INFO_INITIALIZER;
    return shmemx_device_describe(kinds[kind], i, info);
}

static void look(bool first)
{
    shmemx_device_info_t info;

    for (int kind = 0; kind < N_KINDS; kind++) {
        int n = shmemx_device_count(kinds[kind]);

        if (first) counts[kind] = n;
        PE_CHECK_EQ(n, counts[kind]);
        for (int i = 0; i < n && i < MANY; i++) {
            if (!PE_CHECK_EQ(describe(kind, i, &info), 0)) continue;
            check_facts(&info, kinds[kind], i);
            if (first) strcpy(names[kind][i], info.name);
            PE_CHECK(strcmp(names[kind][i], info.name) == 0,
                     "the name of a device was %s before and is %s now", names[kind][i], info.name);
        }
        PE_CHECK(describe(kind, n, &info) != 0,
                 "describe of device %d of %d devices returned 0, expected an error", n, n);
        PE_CHECK(describe(kind, -1, &info) != 0,
                 "describe of device -1 returned 0, expected an error");
    }
    PE_CHECK(shmemx_device_count((shmem_device_type_t)17) < 0,
             "shmemx_device_count of an unknown kind is not negative");
    info = (shmemx_device_info_t)SHMEMX_DEVICE_INFO_INITIALIZER;
    PE_CHECK(shmemx_device_describe((shmem_device_type_t)17, 0, &info) != 0,
             "describe of a device of an unknown kind returned 0, expected an error");
}

/* What both know is filled in, no byte behind a shorter structure, zeros at the end of a longer. */
static void check_sizes(void)
{
    union {
        shmemx_device_info_t info;
        unsigned char bytes[sizeof(shmemx_device_info_t) + LATER];
    } answer;
    size_t shorter = offsetof(shmemx_device_info_t, nbytes);

    memset(&answer, CANARY, sizeof(answer));
    answer.info.struct_size = shorter;
    PE_CHECK_EQ(shmemx_device_describe(SHMEM_DEVICE_CPU, 0, &answer.info), 0);
    PE_CHECK_EQ(answer.info.struct_size, shorter);
    PE_CHECK_EQ(answer.info.device, 0);
    for (size_t i = shorter; i < sizeof(answer); i++)
        if (!PE_CHECK_EQ(answer.bytes[i], CANARY)) break;
    memset(&answer, CANARY, sizeof(answer));
    answer.info.struct_size = sizeof(answer) - 8;
    PE_CHECK_EQ(shmemx_device_describe(SHMEM_DEVICE_CPU, 0, &answer.info), 0);
    for (size_t i = sizeof(answer.info); i < sizeof(answer); i++)
        if (!PE_CHECK_EQ(answer.bytes[i], i < sizeof(answer) - 8 ? 0 : CANARY)) break;
}

static void check_no_context(const char *when)
{
    unsigned flags;
    int active;

    for (int i = 0; i < counts[1] && pe_cuda.state != NULL; i++) {
        PE_CHECK_EQ(pe_cuda.state(i, &flags, &active), 0);
        PE_CHECK(!active, "%s: GPU %d has an active context, expected none", when, i);
    }
}

/* A context that is up knows what is free, and a space takes of that. */
static void check_free(void)
{
    shmemx_space_info_t facts = SHMEMX_SPACE_INFO_INITIALIZER;
    shmemx_device_info_t info;
    struct pe_space s;

    if (!pe_kind_exists(PE_GPU) || !pe_kind_create(PE_GPU, 4 * PE_MIB, &s)) return;
    if (s.rank >= 0) {
        PE_CHECK_EQ(shmemx_space_query(s.space, &facts), 0);
        PE_CHECK_EQ(describe(1, facts.device, &info), 0);
        PE_CHECK(
            info.free != SHMEMX_BYTES_UNKNOWN && info.free + 4 * PE_MIB <= info.nbytes,
            "a GPU has %zu free bytes of %zu beside a space of 4 MiB, expected at least 4 MiB less",
            info.free, info.nbytes);
    }
    pe_kind_destroy(&s);
}

static void *ask_often(void *arg)
{
    shmemx_device_info_t info;

    for (int i = 0; i < 20; i++) {
        (void)shmemx_device_count(SHMEM_DEVICE_GPU);
        PE_CHECK_EQ(describe(0, 0, &info), 0);
    }
    return arg;
}

/* After finalize the same are told, though nobody counts failures together any more. */
static int end(void)
{
    int status = pe_test_end();

    look(false);
    return status == PE_PASS && pe_failures > 0 ? PE_FAIL : status;
}

int main(void)
{
    pthread_t thread;
    bool driver = pe_gpu_load();
    int provided;

    look(true);
    check_sizes();
    if (driver) check_no_context("before init");
    PE_REQUIRE(pthread_create(&thread, NULL, ask_often, NULL) == 0, "pthread_create failed");
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    pe_test_attach();
    look(false);
    pthread_join(thread, NULL);
    if (driver) check_no_context("in the job");
    check_free();
    look(false);
    if (driver) check_no_context("after the space");
    return end();
}
