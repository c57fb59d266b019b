/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The default space of a job that wants none: of a kind, and without a byte. It asks nothing of its
 * kind, whose driver or file may take memory for less. Design: docs/design/spaces.md.
 */
#include "spaces/spaces.h"

static int empty_admit(const struct stp_space_params *params)
{
    (void)params;
    return 0;
}

static int empty_create(struct stp_space *space, const struct stp_space_params *params,
                        struct stp_share *share)
{
    (void)space;
    (void)params;
    share->valid = 1;
    return 0;
}

static int empty_attach(struct stp_space *space, int local, const struct stp_share *share)
{
    (void)space;
    (void)local;
    (void)share;
    return 0;
}

static void empty_nothing(struct stp_space *space)
{
    (void)space;
}

static void *empty_reach(struct stp_space *space, int local)
{
    (void)space;
    (void)local;
    return NULL;
}

const struct stp_kind *stp_kind_without_memory(const struct stp_kind *kind)
{
    static struct stp_kind empty; /* written by init alone */

    empty = (struct stp_kind){STP_KIND_HOST_OPS, STP_KIND_FIXED_OPS, STP_KIND_PASSING_OPS,
                              STP_KIND_NO_CLAIMS};
    empty.name = kind->name;
    empty.device_type = kind->device_type;
    empty.in_window = kind->in_window;
    empty.direct = kind->direct;
    empty.start = stp_kind_nothing;
    empty.stop = stp_kind_nothing;
    empty.probe = kind->probe;
    empty.admit = empty_admit;
    empty.create = empty_create;
    empty.attach = empty_attach;
    empty.detach = empty_nothing;
    empty.destroy = empty_nothing;
    empty.reach = empty_reach;
    empty.describe = kind->describe;
    empty.devices = kind->devices;
    return &empty;
}
