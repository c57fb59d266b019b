/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This file implements puts, gets and signals that run in the order of a stream. The stream itself
 * performs a transfer if its device can access both buffers. Otherwise the stream thread performs
 * it. Design: docs/design/streams.md.
 */
#include "stream_engine.h"

#include "spaces/cuda/pinned_host_and_kernel_gpu.h"

/* ---- addresses ------------------------------------------------------------------------- */

int stp_stream_device_of(const void *addr)
{
    size_t offset;
    const struct stp_space *space = stp_space_lookup(addr, &offset);

    return space != NULL && !space->host ? space->device : -1;
}

/*
 * Returns NULL if the object is in memory of another device. This memory is mapped only in the CUDA
 * context of that device.
 */
void *stp_stream_device_addr(const struct stp_stream *stream, const void *addr, int pe,
                             bool *on_device)
{
    int local = stp_local_of(pe);
    size_t offset;
    struct stp_space *space = stp_space_lookup(addr, &offset);
    char *part;

    *on_device = false;
    if (space == NULL || local < 0) return NULL;
    if (space->host)
        return space->pinned != NULL ? stp_pinned_device_ptr(space, local, offset) : NULL;
    *on_device = true;
    if (space->device != stream->device) return NULL;
    part = stp_kind_reach(space, local);
    return part != NULL ? part + offset : NULL;
}

int stp_stream_choose(const void *dest, const void *source)
{
    int device = stp_stream_device_of(dest);

    return device >= 0 ? device : stp_stream_device_of(source);
}

/*
 * Checks the PE and the remote address while the program calls the routine. Otherwise errors would
 * appear only later, in the stream. If nbytes is 0, the address is not checked.
 */
static void stream_check(const void *addr, size_t nbytes, int pe, const char *fn,
                         const char *argument)
{
    if ((unsigned)pe >= (unsigned)stp_rt.n_pes) stp_fatal_pe(fn, pe, stp_rt.n_pes);
    if (nbytes > 0) (void)stp_symmetric(addr, nbytes, pe, NULL, fn, argument);
}

/*
 * `ptr` is this PE's buffer of a copy. Sets *device_addr to the address by which the stream
 * accesses the buffer. Sets *on_device to whether the buffer is in device memory. Returns whether
 * the stream can access the buffer.
 */
static bool stream_local_addr(const struct stp_stream *stream, const void *ptr,
                              const void **device_addr, bool *on_device)
{
    size_t offset;

    if (stp_space_lookup(ptr, &offset) != NULL) {
        *device_addr = stp_stream_device_addr(stream, ptr, stp_rt.pe, on_device);
        return *device_addr != NULL;
    }
    *device_addr = ptr;
    *on_device = stp_device_kind_of(ptr) != NULL;
    return *on_device || stp_stream_reaches(ptr);
}

/*
 * Enqueues a copy on the stream. Returns false if the stream cannot perform the copy. One of the
 * buffers must be on a device, because a copy from host to host would block the caller.
 */
static bool stream_copies(const struct stream_slot *slot, void *dest, const void *source,
                          size_t nbytes, int pe, bool put, const char *fn)
{
    bool remote_on_device, local_on_device;
    void *remote =
        stp_stream_device_addr(&slot->stream, put ? dest : source, pe, &remote_on_device);
    const void *local_addr;

    if (remote == NULL ||
        !stream_local_addr(&slot->stream, put ? source : dest, &local_addr, &local_on_device) ||
        (!remote_on_device && !local_on_device))
        return false;
    if (remote != local_addr &&
        stp_stream_copy(&slot->stream, put ? remote : (void *)(uintptr_t)local_addr,
                        put ? local_addr : remote, nbytes) != 0)
        stp_fatal(fn, "cannot enqueue a copy of %zu bytes from %p to %p on the stream", nbytes,
                  source, dest);
    return true;
}

/* ---- put and get -------------------------------------------------------------------------- */

static bool step_put(struct stream_work *work)
{
    if (work->nbi) {
        stp_put_nbi(&stp_ctx_stream, work->dest, work->source, work->nbytes, work->pe, work->fn);
        return true;
    }
    stp_put(&stp_ctx_stream, work->dest, work->source, work->nbytes, work->pe, work->fn);
    stp_quiet(&stp_ctx_stream);
    return true;
}

static bool step_get(struct stream_work *work)
{
    if (work->nbi)
        stp_get_nbi(&stp_ctx_stream, work->dest, work->source, work->nbytes, work->pe, work->fn);
    else
        stp_get(&stp_ctx_stream, work->dest, work->source, work->nbytes, work->pe, work->fn);
    return true;
}

static void stream_transfer(void *dest, const void *source, size_t nbytes, int pe, bool nbi,
                            bool put, void *stream, const char *fn)
{
    struct stream_work work = {.step = put ? step_put : step_get,
                               .fn = fn,
                               .dest = dest,
                               .source = source,
                               .nbytes = nbytes,
                               .pe = pe,
                               .nbi = nbi};
    struct stream_slot *slot;

    stp_check_live(fn);
    stp_kind_begin();
    stream_check(put ? dest : source, nbytes, pe, fn, put ? "dest" : "source");
    slot = stp_stream_lock_slot(stream, stp_stream_choose(dest, source), fn);
    if (nbytes > 0 && !stream_copies(slot, dest, source, nbytes, pe, put, fn))
        stp_stream_enqueue_work(slot, &work, !nbi);
    stp_stream_unlock_slot(slot);
}

void stp_stream_put(void *dest, const void *source, size_t nbytes, int pe, bool nbi, void *stream,
                    const char *fn)
{
    stream_transfer(dest, source, nbytes, pe, nbi, true, stream, fn);
}

void stp_stream_get(void *dest, const void *source, size_t nbytes, int pe, bool nbi, void *stream,
                    const char *fn)
{
    stream_transfer(dest, source, nbytes, pe, nbi, false, stream, fn);
}

/* ---- signals ----------------------------------------------------------------- */

static bool step_put_signal(struct stream_work *work)
{
    stp_put_signal(&stp_ctx_stream, work->dest, work->source, work->nbytes, work->sig_addr,
                   work->signal, work->sig_op, work->nbi, work->pe, work->fn);
    if (!work->nbi) stp_quiet(&stp_ctx_stream);
    return true;
}

/*
 * Returns the address by which the stream can write the signal word. Returns NULL if the stream
 * cannot perform the operation. A stream can set a word, but it has no atomic add.
 */
static uint64_t *stream_word(const struct stream_slot *slot, uint64_t *sig_addr, int sig_op, int pe)
{
    bool on_device;

    if (sig_op != SHMEM_SIGNAL_SET || !stp_win.cpu_atomics) return NULL;
    return stp_stream_device_addr(&slot->stream, sig_addr, pe, &on_device);
}

static void stream_signal(void *dest, const void *source, size_t nbytes, uint64_t *sig_addr,
                          uint64_t signal, int sig_op, int pe, bool nbi, void *stream,
                          const char *fn)
{
    struct stream_work work = {.step = step_put_signal,
                               .fn = fn,
                               .dest = dest,
                               .source = source,
                               .nbytes = nbytes,
                               .pe = pe,
                               .sig_addr = sig_addr,
                               .signal = signal,
                               .sig_op = sig_op,
                               .nbi = nbi};
    struct stream_slot *slot;
    uint64_t *word;

    stp_check_live(fn);
    stp_kind_begin();
    if (sig_op != SHMEM_SIGNAL_SET && sig_op != SHMEM_SIGNAL_ADD)
        stp_fatal(fn, "sig_op is %d: pass SHMEM_SIGNAL_SET (%d) or SHMEM_SIGNAL_ADD (%d)", sig_op,
                  SHMEM_SIGNAL_SET, SHMEM_SIGNAL_ADD);
    if ((uintptr_t)sig_addr % sizeof(signal) != 0)
        stp_fatal(fn, "sig_addr %p is not aligned to 8 bytes", (void *)sig_addr);
    stream_check(sig_addr, sizeof(signal), pe, fn, "sig_addr");
    stream_check(dest, nbytes, pe, fn, "dest");
    slot =
        stp_stream_lock_slot(stream, stp_stream_choose(nbytes > 0 ? dest : sig_addr, sig_addr), fn);
    word = stream_word(slot, sig_addr, sig_op, pe);
    if (word == NULL || (nbytes > 0 && !stream_copies(slot, dest, source, nbytes, pe, true, fn)))
        stp_stream_enqueue_work(slot, &work, !nbi);
    else if (stp_stream_write(&slot->stream, word, signal) != 0)
        stp_fatal(fn, "cannot enqueue the update of sig_addr %p on the stream", (void *)sig_addr);
    stp_stream_unlock_slot(slot);
}

void pshmemx_putmem_signal_on_stream(void *dest, const void *source, size_t nelems,
                                     uint64_t *sig_addr, uint64_t signal, int sig_op, int pe,
                                     void *stream)
{
    stream_signal(dest, source, nelems, sig_addr, signal, sig_op, pe, false, stream, __func__);
}
STP_PROFILED(shmemx_putmem_signal_on_stream);

void pshmemx_putmem_signal_nbi_on_stream(void *dest, const void *source, size_t nelems,
                                         uint64_t *sig_addr, uint64_t signal, int sig_op, int pe,
                                         void *stream)
{
    stream_signal(dest, source, nelems, sig_addr, signal, sig_op, pe, true, stream, __func__);
}
STP_PROFILED(shmemx_putmem_signal_nbi_on_stream);

void pshmemx_signal_op_on_stream(uint64_t *sig_addr, uint64_t signal, int sig_op, int pe,
                                 void *stream)
{
    stream_signal(NULL, NULL, 0, sig_addr, signal, sig_op, pe, false, stream, __func__);
}
STP_PROFILED(shmemx_signal_op_on_stream);
