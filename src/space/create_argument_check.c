/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * In this file each PE checks its arguments for the creation of a space. An error message names the
 * wrong argument. Arguments are also converted to numbers, which the PEs compare. Design:
 * docs/design/spaces.md.
 */
#include "create_internal.h"

#include "spaces/adopted_private_memory_kind.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

_Static_assert((int)STP_NUMA_TOUCH == (int)SHMEMX_NUMA_FIRST_TOUCH,
               "both enumerations have the same values");
_Static_assert((int)STP_OPEN_FOUND == (int)SHMEMX_SPACE_OPEN,
               "both enumerations have the same values");

static int64_t create_hash(const char *name)
{
    if (name == NULL) return 0;
    return (int64_t)(stp_hash(STP_HASH_EMPTY, name, strlen(name)) & INT64_MAX);
}

void stp_create_numbers(const shmem_space_config_t *config, const struct create *c,
                        int64_t numbers[CONFIG_N])
{
    const struct stp_adopt *adopt = c->params.adopt;

    memset(numbers, 0, CONFIG_N * sizeof(*numbers));
    if (config == NULL) return;
    numbers[CONFIG_TYPE] = (int64_t)config->device_type;
    numbers[CONFIG_SIZE] = (int64_t)(config->size & INT64_MAX);
    numbers[CONFIG_FLAGS] = adopt != NULL ? adopt->flags : config->flags;
    numbers[CONFIG_NAME] = create_hash(c->params.name);
    numbers[CONFIG_ATTR_FLAGS] = c->flags;
    numbers[CONFIG_OPEN] = c->params.open;
    numbers[CONFIG_PAGES] = (int64_t)(c->params.page_bytes & INT64_MAX);
    numbers[CONFIG_MAX] = (int64_t)(c->params.max_bytes & INT64_MAX);
    numbers[CONFIG_FD] = adopt != NULL && adopt->fd >= 0;
}

/*
 * Writes the names of kinds to `text`, for example "SHMEM_DEVICE_CPU and SHMEM_DEVICE_HBM". Names
 * each kind that has all the given traits. Returns `text`.
 */
static const char *create_kinds_with(unsigned traits, char text[CREATE_REASON_SIZE])
{
    int n = 0, n_remaining = 0;
    size_t len = 0;

    text[0] = '\0';
    for (int i = 0; i < stp_n_kinds; i++)
        n_remaining += (stp_kinds[i]->traits & traits) == traits;
    for (int i = 0; i < stp_n_kinds; i++) {
        if ((stp_kinds[i]->traits & traits) != traits) continue;
        len += (size_t)snprintf(text + len, CREATE_REASON_SIZE - len, "%sSHMEM_DEVICE_",
                                n++ == 0           ? ""
                                : n_remaining == 1 ? " and "
                                                   : ", ");
        for (const char *name = stp_kinds[i]->name; *name != '\0' && len + 1 < CREATE_REASON_SIZE;
             name++)
            text[len++] = (char)toupper((unsigned char)*name);
        text[len] = '\0';
        n_remaining--;
    }
    return text;
}

/*
 * Prints an error and returns -EINVAL. The text needs no name of a routine, because stp_log() puts
 * stp_log_routine before it.
 */
static int STP_PRINTF(1, 2) create_refuse(const char *fmt, ...)
{
    char text[512];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    stp_error("%s", text);
    return -EINVAL;
}

static int create_check_config(const struct create *c, const shmem_space_config_t *config)
{
    const char *size = c->params.adopt != NULL ? "nbytes" : "config->size";
    char kinds[CREATE_REASON_SIZE];

    if (config == NULL) return create_refuse("config is a null pointer");
    if (stp_kind_find((int)config->device_type) == NULL)
        return create_refuse("config->device_type is %d: the kinds of memory in this build are %s",
                             (int)config->device_type, create_kinds_with(0, kinds));
    if (config->size == 0) return create_refuse("%s is 0: pass at least 1 byte per PE", size);
    if (config->size > INT64_MAX)
        return create_refuse(
            "%s is %zu, more than any memory has: was a negative number converted to size_t?", size,
            config->size);
    if (config->flags != SHMEM_SPACE_FLAG_DEFAULT)
        return create_refuse("config->flags is %#x: pass SHMEM_SPACE_FLAG_DEFAULT (0)",
                             (unsigned)config->flags);
    return 0;
}

static bool create_has(const struct create *c, enum stp_trait trait)
{
    return (c->kind->traits & STP_HAS(trait)) != 0;
}

/*
 * Checks that the kind has the trait that an attribute needs. `is_set` is the text about the
 * attribute in the message, for example "attr->name is set". Returns 0, or -EINVAL after logging.
 */
static int create_check_trait(const struct create *c, enum stp_trait trait, const char *is_set)
{
    char kinds[CREATE_REASON_SIZE];

    if (create_has(c, trait)) return 0;
    return create_refuse("%s, but spaces of kind %s do not support this: only spaces of %s do",
                         is_set, c->kind->name, create_kinds_with(STP_HAS(trait), kinds));
}

/* Checks attr->max_size, the size up to which the space may grow. */
static int create_check_max(const struct create *c)
{
    size_t max = c->params.max_bytes;

    if (max == 0) return 0;
    if (max < c->params.nbytes)
        return create_refuse(
            "attr->max_size is %zu, less than config->size, %zu: pass 0, or the size to which the "
            "space may grow",
            max, c->params.nbytes);
    if (max > INT64_MAX)
        return create_refuse(
            "attr->max_size is %zu, more than any memory has: was a negative number converted to "
            "size_t?",
            max);
    if (c->params.buffer == NULL)
        return create_check_trait(c, STP_TRAIT_GROWS, "attr->max_size is set");
    return create_refuse("attr->max_size is set, but a buffer of the program cannot grow: pass 0");
}

/*
 * Checks the NUMA attributes. For some kinds of memory, the only NUMA policy is to bind the space
 * to a node.
 */
static int create_check_numa(const struct create *c)
{
    bool bound = create_has(c, STP_TRAIT_NODE) && !create_has(c, STP_TRAIT_POLICY);

    if ((unsigned)c->params.numa >= STP_N_NUMAS)
        return create_refuse(
            "attr->numa_policy is %d: pass SHMEMX_NUMA_DEFAULT (0), _BIND (1), _INTERLEAVE (2) or "
            "_FIRST_TOUCH (3)",
            (int)c->params.numa);
    if (bound && c->params.numa != STP_NUMA_DEFAULT && c->params.numa != STP_NUMA_BIND)
        return create_refuse(
            "attr->numa_policy is %d, but spaces of kind %s are always bound to one NUMA node: "
            "pass SHMEMX_NUMA_DEFAULT (0) or _BIND (1)",
            (int)c->params.numa, c->kind->name);
    if (c->params.numa_node != -1 && c->params.numa != STP_NUMA_BIND && !bound)
        return create_refuse(
            "attr->numa_node is %d, but attr->numa_policy is not SHMEMX_NUMA_BIND: pass -1, or "
            "set the policy",
            c->params.numa_node);
    return c->params.numa == STP_NUMA_DEFAULT
               ? 0
               : create_check_trait(c, STP_TRAIT_NODE, "attr->numa_policy is set");
}

/* Checks the name, and the attributes that only a space with a name can have. */
static int create_check_name(const struct create *c)
{
    if ((unsigned)c->params.open >= STP_N_OPENS)
        return create_refuse(
            "attr->open is %d: pass SHMEMX_SPACE_EITHER (0), _CREATE (1) or _OPEN (2)",
            (int)c->params.open);
    if (c->params.name != NULL) return create_check_trait(c, STP_TRAIT_NAME, "attr->name is set");
    if (c->params.keep)
        return create_refuse(
            "attr->flags has SHMEMX_SPACE_KEEP, but attr->name is NULL: set the name by which "
            "later jobs find the space");
    if (c->params.open != STP_OPEN_EITHER)
        return create_refuse(
            "attr->open is set, but attr->name is NULL: set a name, or pass SHMEMX_SPACE_EITHER "
            "(0)");
    if (c->params.reshape)
        return create_refuse(
            "attr->flags has SHMEMX_SPACE_RESHAPE, but attr->name is NULL: only a space with a "
            "name can be reshaped");
    return 0;
}

static int create_check_pages(const struct create *c)
{
    size_t nbytes = c->params.page_bytes;

    if (nbytes == 0) return 0;
    if (nbytes == STP_PAGES_HUGE || nbytes == STP_PAGES_GIANT ||
        nbytes == (size_t)sysconf(_SC_PAGESIZE))
        return create_check_trait(c, STP_TRAIT_PAGES, "attr->page_size is set");
    return create_refuse("attr->page_size is %zu: pass 0, %ld, %zu or %zu", nbytes,
                         sysconf(_SC_PAGESIZE), STP_PAGES_HUGE, STP_PAGES_GIANT);
}

/*
 * Checks the arguments of shmemx_buffer_register(), which turns a buffer of the program into a
 * space.
 */
static int create_check_adopt(const struct stp_adopt *adopt)
{
    if ((adopt->flags & ~SHMEMX_ADOPT_HEAP) != 0)
        return create_refuse("flags is %#x: pass 0 or SHMEMX_ADOPT_HEAP (%d)",
                             (unsigned)adopt->flags, SHMEMX_ADOPT_HEAP);
    if (adopt->fd == -1 && adopt->file_offset != 0)
        return create_refuse(
            "offset is %zu, but fd is -1: without a file descriptor, pass offset 0",
            (size_t)adopt->file_offset);
    if (adopt->fd < -1)
        return create_refuse("fd is %d: pass a file descriptor, or -1 for none", adopt->fd);
    return 0;
}

/*
 * Checks the buffer of the program, if there is one. The field attr->buffer can name only device
 * memory. For host memory, programs call shmemx_buffer_register().
 */
static int create_check_buffer(const struct create *c)
{
    bool device = !c->kind->host && create_has(c, STP_TRAIT_ADOPTS);

    if (c->params.buffer == NULL) return 0;
    if (c->params.adopt == NULL && !device)
        return create_refuse(
            "attr->buffer is set, but spaces of kind %s allocate their own memory: only spaces of "
            "SHMEM_DEVICE_GPU take a buffer (for host memory: shmemx_buffer_register)",
            c->kind->name);
    if (c->params.adopt != NULL && c->params.adopt->fd >= 0 && device)
        return create_refuse(
            "fd is %d, but the buffer is GPU memory, which needs no file descriptor: pass -1",
            c->params.adopt->fd);
    return 0;
}

static int create_check_device(const struct create *c)
{
    if (c->params.device >= 0 && c->kind->device == NULL && !c->params.pinned)
        return create_refuse(
            "attr->device is %d, but spaces of kind %s use a GPU only with SHMEMX_SPACE_PINNED: "
            "pass -1",
            c->params.device, c->kind->name);
    if (c->params.device >= -1) return 0;
    return create_refuse(
        "attr->device is %d: pass a device number of 0 or more, or -1 to let the library choose",
        c->params.device);
}

static int create_check_flags(const struct create *c)
{
    int unknown_bits = c->flags & ~(SHMEMX_SPACE_KEEP | SHMEMX_SPACE_PINNED | SHMEMX_SPACE_RESHAPE);

    if (unknown_bits != 0)
        return create_refuse(
            "attr->flags has the unknown bits %#x: valid bits are SHMEMX_SPACE_KEEP (%d), _PINNED "
            "(%d) and _RESHAPE (%d)",
            (unsigned)unknown_bits, SHMEMX_SPACE_KEEP, SHMEMX_SPACE_PINNED, SHMEMX_SPACE_RESHAPE);
    if ((c->flags & SHMEMX_SPACE_PINNED) == 0) return 0;
    return create_check_trait(c, STP_TRAIT_PINNED, "attr->flags has SHMEMX_SPACE_PINNED");
}

/*
 * Checks all attributes. Fails if the program has set an attribute that the kind does not support.
 */
static int create_check_params(const struct create *c)
{
    int rc = create_check_flags(c);

    if (rc == 0) rc = create_check_name(c);
    if (rc == 0) rc = create_check_pages(c);
    if (rc == 0) rc = create_check_device(c);
    if (rc == 0) rc = create_check_buffer(c);
    if (rc == 0) rc = create_check_numa(c);
    return rc == 0 ? create_check_max(c) : rc;
}

int stp_create_check_and_prepare(struct create *c, const shmem_space_config_t *config)
{
    int rc = c->invalid ? -EINVAL : create_check_config(c, config);

    if (rc == 0 && c->params.adopt != NULL) rc = create_check_adopt(c->params.adopt);
    if (rc != 0) return rc;
    c->kind = stp_kind_find((int)config->device_type);
    if (c->params.adopt != NULL && c->params.adopt->fd < 0 && c->kind->host)
        c->kind = &stp_kind_private;
    c->outside_window = !c->kind->in_window || c->params.adopt != NULL || c->params.page_bytes != 0;
    c->params.nbytes = config->size;
    rc = create_check_params(c);
    if (rc != 0) return rc;
    c->access = c->kind->probe(&c->params, c->reason, sizeof(c->reason)) == 0;
    c->space = stp_space_prepare(c->kind, config->size);
    if (c->space == NULL) return create_refuse("out of memory: cannot create the space");
    /* Do not round up the size, because the buffer of the program is not larger. */
    if (c->params.buffer != NULL) c->space->nbytes = c->space->max_bytes = config->size;
    c->space->adopted = c->params.adopt != NULL;
    c->space->single_block = c->params.adopt != NULL && !c->params.adopt->heap;
    stp_space_set_max(c->space, c->params.max_bytes);
    c->space->attr_flags = c->flags;
    c->params.nbytes = c->space->nbytes;
    c->params.max_bytes = c->space->max_bytes;
    return c->access ? c->kind->admit(&c->params) : 0;
}
