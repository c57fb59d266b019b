/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Passes a null pointer where a routine of spaces writes its result or reads a structure. All PEs
 * make the call that the argument names. The call must end the job or, for a shmemx_ routine,
 * return nonzero. run_space_null.sh checks the message.
 *
 * usage: space_null list | ROUTINE:ARGUMENT
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

static int create_space(void)
{
    return shmem_space_create(&config, NULL, &team);
}

static int create_team(void)
{
    return shmem_space_create(&config, &space, NULL);
}

static int create_attr_space(void)
{
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;

    return shmemx_space_create_attr(&config, &attr, NULL, &team);
}

static int get_team(void)
{
    return shmem_space_get_team(SHMEM_SPACE_DEFAULT, NULL);
}

static int get_device_type(void)
{
    return shmem_space_get_device_type(SHMEM_SPACE_DEFAULT, NULL);
}

static int get_caps(void)
{
    return shmem_space_get_caps(SHMEM_SPACE_DEFAULT, NULL);
}

static int get_space(void)
{
    return shmem_get_space(&config, NULL);
}

static int team_get_space(void)
{
    return shmem_team_get_space(SHMEM_TEAM_WORLD, NULL);
}

static int query(void)
{
    return shmemx_space_query(SHMEM_SPACE_DEFAULT, NULL);
}

static int stat_name(void)
{
    shmemx_space_stat_t stat = SHMEMX_SPACE_STAT_INITIALIZER;

    return shmemx_space_stat(NULL, &stat);
}

static int stat_info(void)
{
    return shmemx_space_stat("name", NULL);
}

static int part(void)
{
    return shmemx_space_part(SHMEM_SPACE_DEFAULT, 0, NULL);
}

static int root_get_name(void)
{
    return shmemx_space_root_get(SHMEM_SPACE_DEFAULT, NULL, &addr, &nbytes);
}

static int root_get_addr(void)
{
    return shmemx_space_root_get(SHMEM_SPACE_DEFAULT, "name", NULL, &nbytes);
}

static int root_get_nbytes(void)
{
    return shmemx_space_root_get(SHMEM_SPACE_DEFAULT, "name", &addr, NULL);
}

static int attr_init(void)
{
    return shmemx_space_attr_init(NULL, sizeof(shmemx_space_attr_t));
}

static int device_info_init(void)
{
    return shmemx_device_info_init(NULL, sizeof(shmemx_device_info_t));
}

static int options_init(void)
{
    return shmemx_device_options_init(NULL, sizeof(shmemx_device_options_t));
}

static int info_init(void)
{
    return shmemx_space_info_init(NULL, sizeof(shmemx_space_info_t));
}

static int ctx_config(void)
{
    shmem_ctx_t ctx;

    return shmemx_ctx_create(0, NULL, &ctx);
}

static int ctx_ctx(void)
{
    shmemx_ctx_config_t both = {SHMEM_TEAM_WORLD, SHMEM_SPACE_DEFAULT};

    return shmemx_ctx_create(0, &both, NULL);
}

static int duplicate(void)
{
    return shmemx_team_duplicate(SHMEM_TEAM_WORLD, NULL);
}

static int describe(void)
{
    return shmemx_device_describe(SHMEM_DEVICE_CPU, 0, NULL);
}

static int register_space(void)
{
    return shmemx_buffer_register(SHMEM_TEAM_WORLD, &config, sizeof(config), 0, -1, 0, NULL);
}

static int create_handle(void)
{
    return shmemx_device_handle_create(SHMEM_TEAM_WORLD, NULL, NULL);
}

static int destroy_handle(void)
{
    return shmemx_device_handle_destroy(NULL);
}

static const struct call {
    const char *name;
    int (*make)(void);
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
    {"shmemx_space_stat:info", stat_info},
    {"shmemx_space_part:base", part},
    {"shmemx_space_root_get:name", root_get_name},
    {"shmemx_space_root_get:addr", root_get_addr},
    {"shmemx_space_root_get:nbytes", root_get_nbytes},
    {"shmemx_space_attr_init:attr", attr_init},
    {"shmemx_device_info_init:info", device_info_init},
    {"shmemx_device_options_init:options", options_init},
    {"shmemx_space_info_init:info", info_init},
    {"shmemx_ctx_create:config", ctx_config},
    {"shmemx_ctx_create:ctx", ctx_ctx},
    {"shmemx_team_duplicate:new_team", duplicate},
    {"shmemx_device_describe:info", describe},
    {"shmemx_buffer_register:space", register_space},
    {"shmemx_device_handle_create:handle", create_handle},
    {"shmemx_device_handle_destroy:handle", destroy_handle},
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
        if (strcmp(calls[i].name, name) == 0)
            PE_CHECK(calls[i].make() != 0,
                     "%s is a null pointer and the routine returned 0, expected an error", name);
    fprintf(stderr, "pe %d: survived %s\n", pe_me, name);
    return pe_test_end();
}
