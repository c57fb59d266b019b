/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random programs: the calls of the CUDA driver that programs with streams need, and operations on
 * streams as calls of the library. The driver is the libcuda.so.1 that the loader finds.
 */
#include "random.h"

#include <dlfcn.h>

static struct {
    int (*init)(unsigned flags);
    int (*count)(int *n);
    int (*retain)(void **context, int device);
    int (*release)(int device);
    int (*set_current)(void *context);
    int (*create)(void **stream, unsigned flags);
    int (*destroy)(void *stream);
    int (*wait)(void *stream);
} cu;

static void *streams[RND_STREAMS];

static bool find(void *library, const char *symbol, void *call)
{
    void *address = dlsym(library, symbol);

    memcpy(call, &address, sizeof(address));
    return address != NULL;
}

static void must(int rc, const char *call)
{
    if (rc == 0) return;
    fprintf(stderr, "pe %d: FAIL: %s returned %d instead of 0\n", shmem_my_pe(), call, rc);
    shmem_global_exit(2);
}

bool rnd_gpu_init(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *context;
    int n = 0;

    if (library == NULL || !find(library, "cuInit", &cu.init) ||
        !find(library, "cuDeviceGetCount", &cu.count) ||
        !find(library, "cuDevicePrimaryCtxRetain", &cu.retain) ||
        !find(library, "cuDevicePrimaryCtxRelease_v2", &cu.release) ||
        !find(library, "cuCtxSetCurrent", &cu.set_current) ||
        !find(library, "cuStreamCreate", &cu.create) ||
        !find(library, "cuStreamDestroy_v2", &cu.destroy) ||
        !find(library, "cuStreamSynchronize", &cu.wait))
        return false;
    if (cu.init(0) != 0 || cu.count(&n) != 0 || n == 0) return false;
    must(cu.retain(&context, 0), "cuDevicePrimaryCtxRetain");
    must(cu.set_current(context), "cuCtxSetCurrent");
    for (int i = 0; i < RND_STREAMS; i++)
        must(cu.create(&streams[i], 1 /* not blocking */), "cuStreamCreate");
    return true;
}

void rnd_gpu_fini(void)
{
    for (int i = 0; i < RND_STREAMS; i++)
        must(cu.destroy(streams[i]), "cuStreamDestroy");
    must(cu.release(0), "cuDevicePrimaryCtxRelease");
}

void *rnd_stream(int slot)
{
    return slot < RND_SLOTS ? NULL : streams[slot - RND_SLOTS];
}

void rnd_fetch(void *to, const void *mine, size_t nbytes)
{
    shmem_getmem(to, mine, nbytes, shmem_my_pe());
}

void rnd_fill(void *mine, const void *from, size_t nbytes)
{
    shmem_putmem(mine, from, nbytes, shmem_my_pe());
    shmem_quiet();
}

void rnd_execute_stream(struct rnd *r, const struct rnd_op *op)
{
    shmem_team_t team = op->team < 0 ? SHMEM_TEAM_INVALID : r->teams[op->team].handle;
    void *stream = rnd_stream(op->slot);
    uint64_t *sig = rnd_mine(r, op->sig);
    int rc = 0;

    switch (op->kind) {
    case RND_S_SIGNAL:
        shmemx_signal_op_on_stream(sig, op->value, op->arg, op->to, stream);
        break;
    case RND_S_WAIT:
        shmemx_signal_wait_until_on_stream(sig, op->arg, op->value, stream);
        break;
    case RND_S_SYNC:
        rc = shmemx_sync_on_stream(team, stream);
        break;
    case RND_S_BARRIER:
        if (op->team == 0 && op->phase & 1)
            shmemx_barrier_all_on_stream(stream);
        else
            rc = shmemx_barrier_on_stream(team, stream);
        break;
    case RND_S_FENCE:
        shmemx_quiet_on_stream(stream);
        break;
    default: /* RND_S_QUIET */
        shmemx_quiet_on_stream(stream);
        rc = cu.wait(stream);
    }
    if (rc != 0) rnd_fail(r, op, "returned %d instead of 0", rc);
}
