/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Asserts the layout of public structures and the values of public constants. Compilation is the
 * whole test. Programs contain both, so read docs/releasing.md before you change a number.
 */
#include <shmem.h>
#include <shmemx.h>
#include <shmemx_device.h>
#include <shmemx_inline.h>
#include <stddef.h>

#define STRUCT(type, nbytes) _Static_assert(sizeof(type) == (nbytes), #type " has another size")
#define FIELD(type, field, at, nbytes)                                                             \
    _Static_assert(offsetof(type, field) == (at) && sizeof(((type *)0)->field) == (nbytes),        \
                   #type "." #field " has moved")

STRUCT(shmem_ctx_session_config_t, 8);
FIELD(shmem_ctx_session_config_t, total_ops, 0, 8);

STRUCT(shmem_space_config_t, 24);
FIELD(shmem_space_config_t, device_type, 0, 4);
FIELD(shmem_space_config_t, size, 8, 8);
FIELD(shmem_space_config_t, flags, 16, 4);

STRUCT(shmem_team_config_t, 4);
FIELD(shmem_team_config_t, num_contexts, 0, 4);

STRUCT(shmemx_ctx_config_t, 16);
FIELD(shmemx_ctx_config_t, team, 0, 8);
FIELD(shmemx_ctx_config_t, space, 8, 8);

STRUCT(shmemx_device_info_t, 376);
FIELD(shmemx_device_info_t, struct_size, 0, 8);
FIELD(shmemx_device_info_t, device_type, 8, 4);
FIELD(shmemx_device_info_t, device, 12, 4);
FIELD(shmemx_device_info_t, usable, 16, 4);
FIELD(shmemx_device_info_t, numa_node, 20, 4);
FIELD(shmemx_device_info_t, distance, 24, 4);
FIELD(shmemx_device_info_t, nic_distance, 28, 4);
FIELD(shmemx_device_info_t, n_page_sizes, 32, 4);
FIELD(shmemx_device_info_t, page_sizes, 40, 64);
FIELD(shmemx_device_info_t, nbytes, 104, 8);
FIELD(shmemx_device_info_t, free, 112, 8);
FIELD(shmemx_device_info_t, bus_id, 120, 32);
FIELD(shmemx_device_info_t, name, 152, 96);
FIELD(shmemx_device_info_t, why_not, 248, 128);

STRUCT(shmemx_device_options_t, 32);
FIELD(shmemx_device_options_t, struct_size, 0, 8);
FIELD(shmemx_device_options_t, n_rings, 8, 4);
FIELD(shmemx_device_options_t, n_slots, 12, 4);
FIELD(shmemx_device_options_t, by_ring, 16, 4);
FIELD(shmemx_device_options_t, kind, 20, 4);
FIELD(shmemx_device_options_t, device, 24, 4);

STRUCT(shmemx_space_attr_t, 72);
FIELD(shmemx_space_attr_t, struct_size, 0, 8);
FIELD(shmemx_space_attr_t, parent, 8, 8);
FIELD(shmemx_space_attr_t, device, 16, 4);
FIELD(shmemx_space_attr_t, flags, 20, 4);
FIELD(shmemx_space_attr_t, name, 24, 8);
FIELD(shmemx_space_attr_t, buffer, 32, 8);
FIELD(shmemx_space_attr_t, open, 40, 4);
FIELD(shmemx_space_attr_t, numa_policy, 44, 4);
FIELD(shmemx_space_attr_t, numa_node, 48, 4);
FIELD(shmemx_space_attr_t, page_size, 56, 8);
FIELD(shmemx_space_attr_t, max_size, 64, 8);

STRUCT(shmemx_space_info_t, 328);
FIELD(shmemx_space_info_t, struct_size, 0, 8);
FIELD(shmemx_space_info_t, device_type, 8, 4);
FIELD(shmemx_space_info_t, device, 12, 4);
FIELD(shmemx_space_info_t, n_pes, 16, 4);
FIELD(shmemx_space_info_t, nbytes, 24, 8);
FIELD(shmemx_space_info_t, used, 32, 8);
FIELD(shmemx_space_info_t, n_blocks, 40, 8);
FIELD(shmemx_space_info_t, largest, 48, 8);
FIELD(shmemx_space_info_t, base, 56, 8);
FIELD(shmemx_space_info_t, caps, 64, 8);
FIELD(shmemx_space_info_t, kind, 72, 16);
FIELD(shmemx_space_info_t, where, 88, 192);
FIELD(shmemx_space_info_t, found, 280, 4);
FIELD(shmemx_space_info_t, n_parts, 284, 4);
FIELD(shmemx_space_info_t, numa_policy, 288, 4);
FIELD(shmemx_space_info_t, numa_node, 292, 4);
FIELD(shmemx_space_info_t, page_size, 296, 8);
FIELD(shmemx_space_info_t, max_size, 304, 8);
FIELD(shmemx_space_info_t, atomics, 312, 4);
FIELD(shmemx_space_info_t, flags, 316, 4);
FIELD(shmemx_space_info_t, in_use, 320, 4);

/* Compiled into programs with --inline, and into kernels. */
STRUCT(struct shmemx_view_v1, 56);
FIELD(struct shmemx_view_v1, base, 0, 8);
FIELD(struct shmemx_view_v1, top, 8, 8);
FIELD(struct shmemx_view_v1, amo_top, 16, 8);
FIELD(struct shmemx_view_v1, view, 24, 8);
FIELD(struct shmemx_view_v1, stride, 32, 8);
FIELD(struct shmemx_view_v1, first_pe, 40, 4);
FIELD(struct shmemx_view_v1, n_local, 44, 4);
FIELD(struct shmemx_view_v1, n_plain, 48, 4);
FIELD(struct shmemx_view_v1, ordered, 52, 4);

STRUCT(struct shmemx_device_handle, 72);
FIELD(struct shmemx_device_handle, version, 0, 4);
FIELD(struct shmemx_device_handle, nbytes, 4, 4);
FIELD(struct shmemx_device_handle, my_pe, 8, 4);
FIELD(struct shmemx_device_handle, n_pes, 12, 4);
FIELD(struct shmemx_device_handle, n_spaces, 16, 4);
FIELD(struct shmemx_device_handle, n_rings, 20, 4);
FIELD(struct shmemx_device_handle, n_slots, 24, 4);
FIELD(struct shmemx_device_handle, spaces, 32, 8);
FIELD(struct shmemx_device_handle, rings, 40, 8);
FIELD(struct shmemx_device_handle, slots, 48, 8);
FIELD(struct shmemx_device_handle, sync, 56, 8);
FIELD(struct shmemx_device_handle, owner, 64, 8);

STRUCT(struct stp_dev_space, 32);
FIELD(struct stp_dev_space, base, 0, 8);
FIELD(struct stp_dev_space, nbytes, 8, 8);
FIELD(struct stp_dev_space, parts, 16, 8);
FIELD(struct stp_dev_space, atomic, 24, 8);

STRUCT(struct stp_dev_ring, 128);
FIELD(struct stp_dev_ring, tickets, 0, 8);
FIELD(struct stp_dev_ring, pad, 8, 56);
FIELD(struct stp_dev_ring, completed, 64, 8);
FIELD(struct stp_dev_ring, host_pad, 72, 56);

STRUCT(struct stp_dev_sync, 264);
FIELD(struct stp_dev_sync, words, 0, 256);
FIELD(struct stp_dev_sync, epoch, 256, 8);

STRUCT(struct stp_dev_slot, 128);
FIELD(struct stp_dev_slot, turn, 0, 8);
FIELD(struct stp_dev_slot, ready, 8, 8);
FIELD(struct stp_dev_slot, done, 16, 8);
FIELD(struct stp_dev_slot, result, 24, 8);
FIELD(struct stp_dev_slot, request, 32, 72);
FIELD(struct stp_dev_slot, pad, 104, 24);

STRUCT(struct stp_dev_request, 72);
FIELD(struct stp_dev_request, op, 0, 4);
FIELD(struct stp_dev_request, variant, 4, 4);
FIELD(struct stp_dev_request, space, 8, 4);
FIELD(struct stp_dev_request, signal_space, 12, 4);
FIELD(struct stp_dev_request, pe, 16, 4);
FIELD(struct stp_dev_request, waits, 20, 4);
FIELD(struct stp_dev_request, offset, 24, 8);
FIELD(struct stp_dev_request, signal_offset, 32, 8);
FIELD(struct stp_dev_request, local, 40, 8);
FIELD(struct stp_dev_request, nbytes, 48, 8);
FIELD(struct stp_dev_request, value, 56, 8);
FIELD(struct stp_dev_request, compare, 64, 8);

#define VALUES(what, ...) _Static_assert(__VA_ARGS__, "a constant for " what " has another value")

VALUES("comparisons", SHMEM_CMP_EQ == 1 && SHMEM_CMP_NE == 2 && SHMEM_CMP_LT == 3 &&
                          SHMEM_CMP_LE == 4 && SHMEM_CMP_GT == 5 && SHMEM_CMP_GE == 6);
VALUES("signals", SHMEM_SIGNAL_SET == 1 && SHMEM_SIGNAL_ADD == 2);
VALUES("threads", SHMEM_THREAD_SINGLE == 0 && SHMEM_THREAD_FUNNELED == 1 &&
                      SHMEM_THREAD_SERIALIZED == 2 && SHMEM_THREAD_MULTIPLE == 3);
VALUES("contexts", SHMEM_CTX_SERIALIZED == 1 && SHMEM_CTX_PRIVATE == 2 && SHMEM_CTX_NOSTORE == 4 &&
                       SHMEM_CTX_SESSION_BATCH == 1 && SHMEM_CTX_SESSION_TOTAL_OPS == 1 &&
                       SHMEM_TEAM_NUM_CONTEXTS == 1);
VALUES("hints", SHMEM_MALLOC_ATOMICS_REMOTE == 1 && SHMEM_MALLOC_SIGNAL_REMOTE == 2);
VALUES("pSync arrays", SHMEM_SYNC_VALUE == 0 && SHMEM_SYNC_SIZE == 128 &&
                           SHMEM_BARRIER_SYNC_SIZE == 64 && SHMEM_BCAST_SYNC_SIZE == 64 &&
                           SHMEM_REDUCE_SYNC_SIZE == 128 && SHMEM_COLLECT_SYNC_SIZE == 128 &&
                           SHMEM_ALLTOALL_SYNC_SIZE == 128 && SHMEM_ALLTOALLS_SYNC_SIZE == 128 &&
                           SHMEM_REDUCE_MIN_WRKDATA_SIZE == 16);
VALUES("devices", SHMEM_DEVICE_CPU == 0 && SHMEM_DEVICE_GPU == 1 && SHMEM_DEVICE_HBM == 2 &&
                      SHMEM_DEVICE_FAM == 3 && SHMEM_SPACE_FLAG_DEFAULT == 0);
VALUES("opening a space",
       SHMEMX_SPACE_EITHER == 0 && SHMEMX_SPACE_CREATE == 1 && SHMEMX_SPACE_OPEN == 2);
VALUES("flags of a space",
       SHMEMX_SPACE_KEEP == 1 && SHMEMX_SPACE_PINNED == 2 && SHMEMX_SPACE_RESHAPE == 4);
VALUES("NUMA nodes", SHMEMX_NUMA_DEFAULT == 0 && SHMEMX_NUMA_BIND == 1 &&
                         SHMEMX_NUMA_INTERLEAVE == 2 && SHMEMX_NUMA_FIRST_TOUCH == 3);
VALUES("paths", SHMEMX_PATH_NONE == 0 && SHMEMX_PATH_LOAD_STORE == 1 && SHMEMX_PATH_DEVICE == 2 &&
                    SHMEMX_PATH_FABRIC == 3 && SHMEMX_PATH_STAGED == 4 && SHMEMX_PATH_PROCESS == 5);
VALUES("atomics", SHMEMX_ATOMICS_HOST == 1 && SHMEMX_ATOMICS_NATIVE == 2 &&
                      SHMEMX_ATOMICS_OWNER == 3 && SHMEMX_ATOMICS_DEVICE == 4);
