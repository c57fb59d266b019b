/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A null pointer where a routine of spaces writes its result or reads a structure: the call that
 * the first argument names, ROUTINE:ARGUMENT, is made by all PEs and ends the job; "list" prints
 * all of them. run_space_null.sh checks what is said.
 */
#include "pe_kinds.h"

#include <string.h>

static shmem_space_config_t config = {
    .device_type = SHMEM_DEVICE_CPU,
    .size = PE_MIB,
};
static shmem_space_t space;
static shmem_team_t team;
static void *addr;
static size_t nbytes;

static void create_space(void)
{
    (void)shmem_space_create(&config, NULL, &team);
}

static void create_team(void)
{
    (void)shmem_space_create(&config, &space, NULL);
}

static void create_attr_space(void)
{
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;

    (void)shmemx_space_create_attr(&config, &attr, NULL, &team);
}

static void get_team(void)
{
    (void)shmem_space_get_team(SHMEM_SPACE_DEFAULT, NULL);
}

static void get_device_type(void)
{
    (void)shmem_space_get_device_type(SHMEM_SPACE_DEFAULT, NULL);
}

static void get_caps(void)
{
    (void)shmem_space_get_caps(SHMEM_SPACE_DEFAULT, NULL);
}

static void get_space(void)
{
    (void)shmem_get_space(&config, NULL);
}

static void team_get_space(void)
{
    (void)shmem_team_get_space(SHMEM_TEAM_WORLD, NULL);
}

static void query(void)
{
    (void)shmemx_space_query(SHMEM_SPACE_DEFAULT, NULL);
}

static void stat_name(void)
{
    shmemx_space_stat_t stat = SHMEMX_SPACE_STAT_INITIALIZER;

    (void)shmemx_space_stat(NULL, &stat);
}

static void stat_stat(void)
{
    (void)shmemx_space_stat("name", NULL);
}

static void part(void)
{
    (void)shmemx_space_part(SHMEM_SPACE_DEFAULT, 0, NULL);
}

static void root_get_name(void)
{
    (void)shmemx_space_root_get(SHMEM_SPACE_DEFAULT, NULL, &addr, &nbytes);
}

static void root_get_addr(void)
{
    (void)shmemx_space_root_get(SHMEM_SPACE_DEFAULT, "name", NULL, &nbytes);
}

static void root_get_nbytes(void)
{
    (void)shmemx_space_root_get(SHMEM_SPACE_DEFAULT, "name", &addr, NULL);
}

static void attr_init(void)
{
    shmemx_space_attr_init(NULL, sizeof(shmemx_space_attr_t));
}

static void info_init(void)
{
    shmemx_space_info_init(NULL, sizeof(shmemx_space_info_t));
}

static const struct call {
    const char *name;
    void (*make)(void);
} calls[] = {
    {"shmem_space_create:space", create_space},
    {"shmem_space_create:team", create_team},
    {"shmemx_space_create_attr:space", create_attr_space},
    {"shmem_space_get_team:team", get_team},
    {"shmem_space_get_device_type:type", get_device_type},
    {"shmem_space_get_caps:caps", get_caps},
    {"shmem_get_space:space", get_space},
    {"shmem_team_get_space:space", team_get_space},
    {"shmemx_space_query:info", query},
    {"shmemx_space_stat:name", stat_name},
    {"shmemx_space_stat:stat", stat_stat},
    {"shmemx_space_part:base", part},
    {"shmemx_space_root_get:name", root_get_name},
    {"shmemx_space_root_get:addr", root_get_addr},
    {"shmemx_space_root_get:nbytes", root_get_nbytes},
    {"shmemx_space_attr_init:attr", attr_init},
    {"shmemx_space_info_init:info", info_init},
};

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "list";

    if (strcmp(name, "list") == 0) {
        for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
            printf("%s\n", calls[i].name);
        return PE_PASS;
    }
    pe_test_begin();
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        if (strcmp(calls[i].name, name) == 0) calls[i].make();
    fprintf(stderr, "pe %d: survived %s\n", pe_me, name);
    return pe_test_end();
}
