/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks handles for kernels on a GPU: the kernels of test/gpu/handle.cu use the operations of
 * shmemx_device.h on the next PE, in GPU memory and in pinned host memory, while the host changes
 * the same words. On the fake driver, host functions run instead of the kernels. If only some PEs
 * have a GPU, they work among themselves.
 *
 * usage: kernel_gpu HANDLE.PTX [ring | pe | private | dies | mixed | refused]
 *   ring: operations by rings of two slots. run_kernel_gpu.sh runs the modes from "pe" on; all of
 *   them except "refused" must end the job.
 */
#include "pe_kernels.h"
#include "pe_leaks.h"

#include <shmemx_device.h>

#include "../../gpu/handle_ops.h"

enum { BLOCKS = 3, THREADS = 64, ROUNDS = 6, BARRIERS = 20 };
enum { NATIVE_ATOMICS = 86, HOST_POINTER = 91 }; /* CU_DEVICE_ATTRIBUTE_... */

static void *all_kernel, *barrier_kernel, *p_kernel;
static bool host_pointers; /* of this GPU, and so pinned spaces are loaded from and stored to */
static bool native_atomics;

static shmem_space_t space;
static shmem_team_t team;
static int rank, n_ranks, next;
static shmemx_device_options_t options = SHMEMX_DEVICE_OPTIONS_INITIALIZER;
static shmemx_device_handle_t handle;

static void load(const char *ptx, int device)
{
    int value = 0;

    pe_kernels_begin(device);
    pe_kernels_load(ptx);
    all_kernel = pe_kernel("stp_test_handle");
    barrier_kernel = pe_kernel("stp_test_handle_barrier");
    p_kernel = pe_kernel("stp_test_handle_p");
    PE_CHECK_EQ(driver.attribute(&value, HOST_POINTER, device), 0);
    host_pointers = value != 0;
    PE_CHECK_EQ(driver.attribute(&value, NATIVE_ATOMICS, device), 0);
    native_atomics = value != 0;
}

/* ---- what is run ----------------------------------------------------------------------------- */

/* In GPU memory, where kernels put it. */
static void check_results(const struct ops_result *results, int n, uint64_t rounds)
{
    struct ops_result got;

    for (int i = 0; i < n; i++) {
        shmem_getmem(&got, &results[i], sizeof(got), pe_me);
        PE_CHECK(got.n_failed == 0,
                 "block %d: %lu checks failed in the kernel, the first at handle_ops.h:%lu: %lu, "
                 "expected %lu",
                 i, (unsigned long)got.n_failed, (unsigned long)got.line, (unsigned long)got.got,
                 (unsigned long)got.want);
        PE_CHECK_EQ(got.n_done, rounds);
    }
}

/* What the neighbour's kernel left in this PE's parts, and the host's additions beside it. */
static void check_parts(const struct ops_part *parts, const uint64_t *total)
{
    for (int i = 0; i < BLOCKS; i++) {
        struct ops_part got;

        shmem_getmem(&got, &parts[i], sizeof(got), pe_me);
        PE_CHECK_EQ(got.added, ROUNDS);
        PE_CHECK_EQ(got.bits, 0);
        PE_CHECK_EQ(got.alone, 0);
        PE_CHECK(got.real == -1.5, "a double that kernels set is %g, expected -1.5", got.real);
    }
    if (rank == 0)
        PE_CHECK_EQ(shmem_uint64_g(total, pe_me),
                    (4u * BLOCKS * ROUNDS + 2u * ROUNDS) * (unsigned)n_ranks);
}

/* Kernels and hosts together, on objects of a space. */
static void check_space(shmem_space_t where, struct ops_result *results)
{
    struct ops_part *parts = shmem_space_calloc(where, BLOCKS, sizeof(*parts));
    uint64_t *total = shmem_space_calloc(where, 1, sizeof(*total)), rounds = ROUNDS;
    int root = shmem_team_translate_pe(team, 0, SHMEM_TEAM_WORLD);
    void *params[] = {&handle, &parts, &total, &results, &rounds};

    PE_REQUIRE(parts != NULL && total != NULL,
               "shmem_space_calloc of the words for kernels returned NULL");
    PE_CHECK(shmemx_space_device_ptr(where, parts, pe_me) == (void *)parts,
             "shmemx_space_device_ptr to this PE's own part is not the address of the object");
    launch(all_kernel, BLOCKS, THREADS, params);
    for (int i = 0; i < ROUNDS; i++) {
        shmem_uint64_atomic_inc(total, root);
        (void)shmem_uint64_atomic_fetch_inc(total, root);
    }
    finish("the kernel with a handle");
    shmem_quiet();
    shmem_team_sync(team);
    check_results(results, BLOCKS, ROUNDS);
    check_parts(parts, total);
    shmem_space_free(where, total);
    shmem_space_free(where, parts);
}

static void check_barrier(uint64_t *word, struct ops_result *result)
{
    uint64_t rounds = BARRIERS;
    void *params[] = {&handle, &word, &result, &rounds};

    launch(barrier_kernel, 1, THREADS, params);
    finish("the kernel of barriers");
    check_results(result, 1, BARRIERS);
    shmem_team_sync(team);
}

static void run_p(uint64_t *word, uint64_t value, int to)
{
    uint64_t pe = (uint64_t)to;
    void *params[] = {&handle, &word, &value, &pe};

    launch(p_kernel, 1, 1, params);
    finish("the kernel that stores a word");
}

/* To the right neighbour: by whatever address the host has for it. */
static void check_p(uint64_t *word, uint64_t value)
{
    run_p(word, value, (rank + 1) % n_ranks);
    shmem_team_sync(team);
    PE_CHECK_EQ(shmem_uint64_g(word, pe_me), value);
    shmem_team_sync(team);
}

/* Who does atomics on a space's words; PE_APART: a PE's driver takes no kernel of the library. */
static void check_atomics(shmem_space_t where, shmemx_space_atomics_t expected)
{
    shmemx_space_info_t info = SHMEMX_SPACE_INFO_INITIALIZER;

    if (expected == SHMEMX_ATOMICS_DEVICE && getenv("PE_APART") != NULL)
        expected = SHMEMX_ATOMICS_OWNER;
    if (expected == SHMEMX_ATOMICS_HOST && native_atomics) expected = SHMEMX_ATOMICS_NATIVE;
    PE_CHECK_EQ(shmemx_space_query(where, &info), 0);
    PE_CHECK_EQ(info.atomics, expected);
}

/* GPU memory, or pinned memory of the host. */
static shmem_space_t make_space(shmem_device_type_t kind, shmem_team_t *its_team)
{
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
    shmem_space_config_t config = pe_kind_config(kind, 1 << 20);
    shmem_space_t made;

    attr.parent = team;
    attr.flags = kind == SHMEM_DEVICE_CPU ? SHMEMX_SPACE_PINNED : 0;
    PE_REQUIRE(shmemx_space_create_attr(&config, &attr, &made, its_team) == 0,
               "shmemx_space_create_attr of a space for kernels failed");
    return made;
}

/* One that the handle's table has not; its atomics are done as in others. */
static void check_later(shmem_device_type_t kind, uint64_t value)
{
    shmem_team_t later_team;
    shmem_space_t later = make_space(kind, &later_team);
    uint64_t *word = shmem_space_calloc(later, 1, sizeof(*word));

    check_atomics(later, kind == SHMEM_DEVICE_GPU ? SHMEMX_ATOMICS_DEVICE : SHMEMX_ATOMICS_HOST);
    check_p(word, value);
    PE_CHECK_EQ(shmem_uint64_atomic_fetch_add(word, 5, pe_me), value);
    PE_CHECK_EQ(shmem_uint64_atomic_fetch(word, pe_me), value + 5);
    shmem_space_free(later, word);
    shmem_team_destroy(later_team);
    PE_CHECK_EQ(shmem_space_destroy(later), 0);
}

/* A space that may grow; the handle's table has it, and what it will grow by. */
static shmem_space_t growing_space(shmem_team_t *its_team)
{
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
    shmem_space_config_t config = pe_kind_config(SHMEM_DEVICE_CPU, 2 << 20);
    shmem_space_t made;

    attr.parent = team;
    attr.flags = SHMEMX_SPACE_PINNED;
    attr.max_size = 100 << 20;
    PE_REQUIRE(shmemx_space_create_attr(&config, &attr, &made, its_team) == 0,
               "shmemx_space_create_attr of a pinned space with max_size failed");
    return made;
}

static void check_grown(shmem_space_t growing)
{
    uint64_t *large = shmem_space_malloc(growing, 4 << 20);

    PE_REQUIRE(large != NULL, "shmem_space_malloc of 4 MiB in a space that may grow returned NULL");
    check_p(large + (4 << 20) / sizeof(*large) - 1, 1005);
    shmem_space_free(growing, large);
}

/* Spaces, heaps and globals that the table has not are reached by the rings. */
static void check_others(uint64_t *heap)
{
    static uint64_t global;

    check_p(heap, 1001);
    check_p(&global, 1002);
    check_later(SHMEM_DEVICE_CPU, 1003);
    check_later(SHMEM_DEVICE_GPU, 1004);
}

static void check_handles(void)
{
    shmemx_device_options_t wrong = options;
    shmemx_device_handle_t none;

    wrong.device = 60;
    PE_CHECK(shmemx_device_handle_create(team, &wrong, &none) != 0,
             "handle_create for GPU 60 returned 0, expected an error");
    wrong.device = -1;
    wrong.kind = rank == 0 ? SHMEM_DEVICE_GPU : SHMEM_DEVICE_CPU;
    PE_CHECK(
        (shmemx_device_handle_create(team, &wrong, &none) != 0) == (n_ranks > 1),
        "handle_create with kinds that differ between PEs: an error is expected with two PEs or "
        "more, and only then");
    if (n_ranks == 1) PE_CHECK_EQ(shmemx_device_handle_destroy(&none), 0);
    wrong.kind = 7;
    PE_CHECK(shmemx_device_handle_create(team, &wrong, &none) != 0,
             "handle_create with kind 7 returned 0, expected an error");
    wrong.kind = SHMEM_DEVICE_CPU;
    wrong.struct_size = rank == n_ranks - 1 ? sizeof(size_t) : sizeof(wrong);
    PE_CHECK(shmemx_device_handle_create(team, &wrong, &none) != 0,
             "handle_create with an unknown struct_size on one PE returned 0, expected an error");
}

/* A kernel without a handle changes what this PE does atomics on. */
static void run_mixed(uint64_t *word, uint64_t *stop)
{
    uint64_t limit = 600000000;
    void *params[] = {&word, &stop, &limit};

    launch(pe_kernel("stp_test_handle_add"), 1, 1, params);
    while (shmem_uint64_g(word, pe_me) == 0) { /* until it runs */
    }
    for (int i = 0; i < 10; i++)
        shmem_uint64_atomic_inc(word, pe_me);
}

/* What ends the job, by the last PE while kernels of the others wait for it. */
static void run_wrong(const char *name)
{
    uint64_t private = 0, *word = shmem_space_calloc(space, 1, sizeof(*word)), rounds = 1;
    struct ops_result *result = shmem_space_calloc(space, 1, sizeof(*result));
    void *params[] = {&handle, &word, &result, &rounds};

    if (strcmp(name, "mixed") == 0) {
        run_mixed(word, &result->n_done);
        return;
    }
    PE_REQUIRE(shmemx_device_handle_create(team, &options, &handle) == 0,
               "shmemx_device_handle_create failed");
    if (rank < n_ranks - 1) {
        launch(barrier_kernel, 1, THREADS, params);
        finish("the kernel of barriers");
    } else if (strcmp(name, "dies") == 0) {
        shmem_global_exit(7);
    } else {
        run_p(strcmp(name, "private") == 0 ? &private : word, 1,
              strcmp(name, "pe") == 0 ? n_ranks : rank);
    }
    fprintf(stderr, "pe %d: survived %s\n", pe_me, name);
}

static void run_as_member(const char *ptx, const char *mode, uint64_t *heap)
{
    shmemx_space_info_t info = SHMEMX_SPACE_INFO_INITIALIZER;
    struct ops_result *results = shmem_space_calloc(space, BLOCKS + 1, sizeof(*results));
    uint64_t *word = shmem_space_calloc(space, 1, sizeof(*word));
    shmem_team_t pinned_team, growing_team;
    shmem_space_t pinned = make_space(SHMEM_DEVICE_CPU, &pinned_team);
    shmem_space_t growing = growing_space(&growing_team);
    struct ops_result *pinned_results = shmem_space_calloc(space, BLOCKS, sizeof(*results));

    PE_CHECK_EQ(shmemx_space_query(space, &info), 0);
    load(ptx, info.device);
    if (mode != NULL && strcmp(mode, "ring") != 0) run_wrong(mode);
    check_handles();
    check_atomics(space, SHMEMX_ATOMICS_OWNER);
    PE_REQUIRE(shmemx_device_handle_create(team, &options, &handle) == 0,
               "shmemx_device_handle_create failed");
    check_atomics(space, SHMEMX_ATOMICS_DEVICE);
    check_atomics(pinned, SHMEMX_ATOMICS_HOST);
    check_space(space, results);
    if (host_pointers) check_space(pinned, pinned_results);
    check_barrier(word, results + BLOCKS);
    check_others(heap);
    check_grown(growing);
    PE_CHECK(shmem_space_destroy(space) != 0,
             "shmem_space_destroy returned 0 while a handle uses the space, expected an error");
    PE_CHECK_EQ(shmemx_device_handle_destroy(&handle), 0);
    check_atomics(space, SHMEMX_ATOMICS_OWNER);
    PE_CHECK(shmemx_device_handle_destroy(&handle) != 0,
             "the second handle_destroy of the same handle returned 0, expected an error");
    pe_kernels_end();
    shmem_team_destroy(growing_team);
    PE_CHECK_EQ(shmem_space_destroy(growing), 0);
    shmem_team_destroy(pinned_team);
    PE_CHECK_EQ(shmem_space_destroy(pinned), 0);
    shmem_space_free(space, pinned_results);
    shmem_space_free(space, word);
    shmem_space_free(space, results);
}

/* Where a PE has no GPU there is no handle for the team, and all are told. */
static void check_world(void)
{
    shmemx_device_handle_t of_world;
    bool made = shmemx_device_handle_create(SHMEM_TEAM_WORLD, &options, &of_world) == 0;

    PE_CHECK_EQ(made, team != SHMEM_TEAM_INVALID && n_ranks == pe_n);
    if (made) PE_CHECK_EQ(shmemx_device_handle_destroy(&of_world), 0);
}

/* Rings of which the driver takes one part and no other (FAKECUDA_FAIL): nothing is left. */
static void check_refused(void)
{
    shmemx_device_options_t large = options;
    shmemx_device_handle_t refused;
    char before[256], after[256];

    large.n_rings = 1024;
    pe_space_numbers(before, sizeof(before));
    PE_CHECK(
        shmemx_device_handle_create(team, &large, &refused) != 0,
        "handle_create returned 0 although the driver refuses to pin the rings, expected an error");
    PE_CHECK(strcmp(before, pe_space_numbers(after, sizeof(after))) == 0,
             "a failed handle_create left spaces: %s, before: %s", after, before);
}

int main(int argc, char **argv)
{
    bool refused = argc > 2 && strcmp(argv[2], "refused") == 0;
    uint64_t *heap;

    pe_test_begin();
    PE_REQUIRE(argc >= 2,
               "usage: kernel_gpu HANDLE.PTX [ring | pe | private | dies | mixed | refused]");
    options.kind = SHMEM_DEVICE_GPU;
    if (argc > 2 && strcmp(argv[2], "ring") == 0) { /* full ones, each of two places */
        options.by_ring = 1;
        options.n_rings = 2;
        options.n_slots = 2;
    }
    pe_gpu_load();
    heap = pe_calloc(1, sizeof(*heap));
    if (pe_gpu_space((size_t)1 << 20, &space, &team)) {
        n_ranks = 0;
        if (team != SHMEM_TEAM_INVALID) {
            rank = shmem_team_my_pe(team);
            n_ranks = shmem_team_n_pes(team);
        }
        if (!refused) check_world();
        if (n_ranks > 0) {
            next = shmem_team_translate_pe(team, (rank + 1) % n_ranks, SHMEM_TEAM_WORLD);
            if (refused)
                check_refused();
            else
                run_as_member(argv[1], argv[2], heap);
            shmem_team_destroy(team);
            PE_CHECK_EQ(shmem_space_destroy(space), 0);
        }
    }
    shmem_free(heap);
    return pe_test_end();
}
