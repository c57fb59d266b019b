/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loads the library hwloc at run time when it is needed. Programs that do not need hwloc thus do
 * not spend time on loading it. Include this header only if <hwloc.h> is available.
 */
#ifndef STP_HWLOC_LOAD_H
#define STP_HWLOC_LOAD_H

#include <dlfcn.h>
#include <hwloc.h>
#include <stdbool.h>
#include <stdint.h>

#define HWLOC_LIBRARY "libhwloc.so.15"

#if HWLOC_API_VERSION >= 0x00020300
#define HWLOC_ATTRIBUTES(X) X(hwloc_memattr_get_value)
#else
#define HWLOC_ATTRIBUTES(X)
#endif

#define HWLOC_FUNCTIONS(X)                                                                         \
    X(hwloc_topology_init)                                                                         \
    X(hwloc_topology_load)                                                                         \
    X(hwloc_topology_destroy)                                                                      \
    X(hwloc_topology_set_flags)                                                                    \
    X(hwloc_topology_is_thissystem)                                                                \
    X(hwloc_get_type_depth)                                                                        \
    X(hwloc_get_nbobjs_by_depth)                                                                   \
    X(hwloc_get_obj_by_depth)                                                                      \
    X(hwloc_bitmap_alloc)                                                                          \
    X(hwloc_bitmap_free)                                                                           \
    X(hwloc_bitmap_next)                                                                           \
    X(hwloc_bitmap_only)                                                                           \
    HWLOC_ATTRIBUTES(X)

/* Pointers to the functions of hwloc that this library calls. */
struct hwloc_calls {
#define FIELD(name) __typeof__(name) *name;
    HWLOC_FUNCTIONS(FIELD)
#undef FIELD
};

/*
 * Loads hwloc and sets all pointers in *calls. hwloc stays loaded. Returns false if hwloc is not
 * installed or is too old.
 */
static inline bool hwloc_open(struct hwloc_calls *calls)
{
    void *handle = dlopen(HWLOC_LIBRARY, RTLD_NOW | RTLD_LOCAL);

    if (handle == NULL) return false;
#define LOOK_UP(name)                                                                              \
    calls->name = (__typeof__(name) *)(uintptr_t)dlsym(handle, #name);                             \
    if (calls->name == NULL) return false;
    HWLOC_FUNCTIONS(LOOK_UP)
#undef LOOK_UP
    return true;
}

static inline unsigned hwloc_count(const struct hwloc_calls *calls, hwloc_topology_t topology,
                                   hwloc_obj_type_t type)
{
    int depth = calls->hwloc_get_type_depth(topology, type);

    return depth == HWLOC_TYPE_DEPTH_UNKNOWN || depth == HWLOC_TYPE_DEPTH_MULTIPLE
               ? 0
               : calls->hwloc_get_nbobjs_by_depth(topology, depth);
}

#endif /* STP_HWLOC_LOAD_H */
