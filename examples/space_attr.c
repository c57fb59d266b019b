/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The devices on which spaces can be created, and a space with an attribute: its pages are on the
 * NUMA node of each PE. Other attributes set the size of pages, a device, a maximum size, a name.
 *
 *     oshcc space_attr.c -o space_attr && oshrun -n 2 ./space_attr
 */
#include <shmem.h>
#include <shmemx.h>

#include <stdio.h>

static const struct {
    shmem_device_type_t type;
    const char *name;
} kinds[] = {{SHMEM_DEVICE_CPU, "cpu"},
             {SHMEM_DEVICE_GPU, "gpu"},
             {SHMEM_DEVICE_HBM, "hbm"},
             {SHMEM_DEVICE_FAM, "fam"}};

/* Prints the devices that this process can use. Needs no other PE, nor shmem_init(). */
static void print_devices(shmem_device_type_t type, const char *kind)
{
    int n = shmemx_device_count(type);

    if (n == 0) printf("%s: no device\n", kind);
    for (int i = 0; i < n; i++) {
        shmemx_device_info_t info = SHMEMX_DEVICE_INFO_INITIALIZER;

        if (shmemx_device_describe(type, i, &info) != 0) continue;
        printf("%s %d: %s, ", kind, info.device, info.name);
        if (!info.usable)
            printf("not usable: %s\n", info.why_not);
        else if (info.free == SHMEMX_BYTES_UNKNOWN)
            printf("free bytes unknown\n");
        else
            printf("%zu MiB free\n", info.free >> 20);
    }
}

int main(void)
{
    shmem_space_config_t config = {SHMEM_DEVICE_CPU, 8 << 20, SHMEM_SPACE_FLAG_DEFAULT};
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
    shmemx_space_info_t info = SHMEMX_SPACE_INFO_INITIALIZER;
    shmem_space_t space;
    shmem_team_t team;
    int wrong = 0;

    shmem_init();
    for (size_t i = 0; shmem_my_pe() == 0 && i < sizeof(kinds) / sizeof(kinds[0]); i++)
        print_devices(kinds[i].type, kinds[i].name);

    attr.numa_policy = SHMEMX_NUMA_BIND;
    if (shmemx_space_create_attr(&config, &attr, &space, &team) != 0) shmem_global_exit(1);
    wrong |= shmemx_space_query(space, &info) != 0 || info.nbytes < config.size;
    printf("PE %d: %zu MiB in pages of %zu KiB, NUMA node %d\n", shmem_my_pe(), info.nbytes >> 20,
           info.page_size >> 10, info.numa_node);
    shmem_team_destroy(team);
    wrong |= shmem_space_destroy(space) != 0;
    shmem_finalize();
    return wrong;
}
