/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks spaces with attributes: created by two subsets of the PEs at the same time, on a named
 * device, and over device memory of the program; and attributes that must be refused. The checks
 * on devices need a GPU on all PEs.
 */
#include "pe_gpu.h"

enum { N = 3000 };

static shmem_space_t create(shmem_device_type_t kind, const shmemx_space_attr_t *attr,
                            shmem_team_t *team)
{
    shmem_space_config_t config = pe_kind_config(kind, 4 * PE_MIB);
    shmem_space_t space = SHMEM_SPACE_DEFAULT;

    PE_CHECK_EQ(shmemx_space_create_attr(&config, attr, &space, team), 0);
    return space;
}

static void refuse(shmem_device_type_t kind, const shmemx_space_attr_t *attr, const char *what)
{
    shmem_space_config_t config = pe_kind_config(kind, PE_MIB);
    shmem_space_t space = SHMEM_SPACE_DEFAULT;
    shmem_team_t team = SHMEM_TEAM_WORLD;

    PE_CHECK(shmemx_space_create_attr(&config, attr, &space, &team) != 0,
             "%s: shmemx_space_create_attr returned 0, expected an error", what);
    PE_CHECK(space == SHMEM_SPACE_INVALID && team == SHMEM_TEAM_INVALID,
             "%s: a failed create did not set space and team to INVALID", what);
}

static void use(shmem_space_t space, shmem_team_t team, long base)
{
    int rank = shmem_team_my_pe(team), n = shmem_team_n_pes(team);
    int next = shmem_team_translate_pe(team, (rank + 1) % n, SHMEM_TEAM_WORLD);
    long *a = shmem_space_malloc(space, 2 * N * sizeof(long)), *b = a + N;

    PE_REQUIRE(a != NULL, "shmem_space_malloc in a space of 4 MiB returned NULL");
    pe_gpu_fill(a, base + 100 * rank, N);
    shmem_team_sync(team);
    shmem_long_put(b, a, N, next);
    shmem_quiet();
    shmem_team_sync(team);
    PE_GPU_EXPECT(b, base + 100 * ((rank + n - 1) % n), N, "put in a space with attributes");
    PE_CHECK_EQ(shmem_long_max_reduce(team, b, a, N), 0);
    PE_GPU_EXPECT(b, base + 100 * (n - 1), N, "maximum in a space with attributes");
    shmem_space_free(space, a);
}

static void end(shmem_space_t space, shmem_team_t team)
{
    shmem_team_destroy(team);
    PE_CHECK_EQ(shmem_space_destroy(space), 0);
}

/* Even and odd PEs make a space each, at the same time, several times. */
static void check_subsets(shmem_device_type_t kind)
{
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
    shmem_team_t halves[2] = {SHMEM_TEAM_INVALID, SHMEM_TEAM_INVALID}, team;
    shmem_space_cap_t caps = 0;

    if (pe_n < 2) return;
    for (int i = 0; i < 2; i++)
        PE_CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, i, 2, (pe_n - i + 1) / 2, NULL, 0,
                                             &halves[i]),
                    0);
    attr.parent = halves[pe_me % 2];
    for (int round = 0; round < 5; round++) {
        shmem_space_t space = create(kind, &attr, &team);
        if (space == SHMEM_SPACE_INVALID) break; /* no member of the half has a GPU but others do */
        PE_CHECK_EQ(shmem_team_n_pes(team), shmem_team_n_pes(attr.parent));
        PE_CHECK_EQ(shmem_space_get_caps(space, &caps), 0);
        PE_CHECK(!(caps & SHMEM_SPACE_CAP_WORLD_ACCESS),
                 "a space of half of the PEs has SHMEM_SPACE_CAP_WORLD_ACCESS");
        use(space, team, 1000000 * (pe_me % 2) + round);
        end(space, team);
    }
    shmem_team_destroy(attr.parent);
    shmem_barrier_all();
}

/* A PE with spaces on two devices, and copies between them. */
static void check_devices(int n_devices)
{
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
    shmem_team_t teams[2];
    shmem_space_t spaces[2];
    shmemx_space_info_t info = SHMEMX_SPACE_INFO_INITIALIZER;
    long *there[2];

    attr.device = 99;
    refuse(SHMEM_DEVICE_GPU, &attr, "gpu 99");
    if (n_devices < 2) return;
    for (int i = 0; i < 2; i++) {
        attr.device = i;
        spaces[i] = create(SHMEM_DEVICE_GPU, &attr, &teams[i]);
        PE_CHECK_EQ(shmemx_space_query(spaces[i], &info), 0);
        PE_CHECK_EQ(info.device, i);
        use(spaces[i], teams[i], 5 * i);
        there[i] = shmem_space_malloc(spaces[i], N * sizeof(long));
        pe_gpu_fill(there[i], 70000 * (i + 1) + pe_me, N);
    }
    shmem_barrier_all();
    shmem_long_put(there[1], there[0], N, (pe_me + 1) % pe_n); /* from device to device */
    shmem_barrier_all();
    PE_GPU_EXPECT(there[1], 70000 + (pe_me + pe_n - 1) % pe_n, N, "from gpu 0 to gpu 1");
    shmem_long_get(there[0], there[1], N, (pe_me + 1) % pe_n);
    PE_GPU_EXPECT(there[0], 70000 + pe_me, N, "from gpu 1 to gpu 0");
    shmem_barrier_all();
    for (int i = 0; i < 2; i++) {
        shmem_space_free(spaces[i], there[i]);
        end(spaces[i], teams[i]);
    }
}

/* A buffer of the program becomes a space, and stays the program's. */
static void check_adopted(void)
{
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
    unsigned long long device = 0;
    shmem_team_t team;
    shmem_space_t space;
    shmemx_space_info_t info = SHMEMX_SPACE_INFO_INITIALIZER;
    char host[64];

    PE_CHECK_EQ(pe_cuda.alloc(&device, 5 * PE_MIB), 0);
    attr.buffer = (void *)(uintptr_t)(device + 4096);
    space = create(SHMEM_DEVICE_GPU, &attr, &team);
    PE_CHECK_EQ(shmemx_space_query(space, &info), 0);
    PE_CHECK(info.base == attr.buffer, "the base of the space is not attr.buffer");
    use(space, team, 31);
    refuse(SHMEM_DEVICE_GPU, &attr, "a buffer that is a space");
    end(space, team);
    shmem_space_config_t config = pe_kind_config(SHMEM_DEVICE_GPU, 1000); /* exactly to the end */
    attr.buffer = (void *)(uintptr_t)(device + 5 * PE_MIB - 1024);
    PE_CHECK_EQ(shmemx_space_create_attr(&config, &attr, &space, &team), 0);
    end(space, team);
    attr.buffer = (void *)(uintptr_t)(device + 5 * PE_MIB - 4096);
    refuse(SHMEM_DEVICE_GPU, &attr, "a buffer that is too small");
    attr.buffer = host;
    refuse(SHMEM_DEVICE_GPU, &attr, "host memory as a buffer");
    PE_CHECK_EQ(pe_cuda.free(device), 0);
}

static void check_refused(void)
{
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
    char buffer[64];

    attr.name = "x";
    refuse(SHMEM_DEVICE_CPU, &attr, "a name for CPU memory");
    attr.name = NULL;
    attr.flags = SHMEMX_SPACE_KEEP;
    refuse(SHMEM_DEVICE_FAM, &attr, "keep without a name");
    attr.flags = 0;
    attr.buffer = buffer;
    refuse(SHMEM_DEVICE_CPU, &attr, "a buffer for CPU memory");
}

int main(void)
{
    void *context = NULL;
    int n_devices = 0;
    bool gpu;

    pe_test_begin();
    gpu = pe_gpu_load() && pe_cuda.device_count(&n_devices) == 0;
    PE_CHECK_EQ(shmemx_space_path_name((shmemx_space_path_t)77) != NULL, 1);
    check_refused();
    check_subsets(SHMEM_DEVICE_CPU);
    /* the rest is for jobs where all PEs have a GPU */
    static long with[1], least[1];
    with[0] = gpu;
    shmem_long_min_reduce(SHMEM_TEAM_WORLD, least, with, 1);
    if (least[0]) {
        PE_CHECK_EQ(pe_cuda.retain(&context, 0), 0);
        PE_CHECK_EQ(pe_cuda.set_current(context), 0);
        check_subsets(SHMEM_DEVICE_GPU);
        check_devices(n_devices);
        check_adopted();
        pe_cuda.release(0);
    }
    return pe_test_end();
}
