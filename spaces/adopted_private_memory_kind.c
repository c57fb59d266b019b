/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory kind "private". A space of this kind is private memory that the program allocated
 * before the space was created. No other process can map private pages, so only the owner PE can
 * load and store them. Other PEs of the node copy data with process_vm_readv() and
 * process_vm_writev(). The owner's process performs all atomics on the space.
 *
 * This file also checks whether a buffer of the program can become a space. A buffer that is mapped
 * from a file becomes a space of the kind cpu (own_file.c). Design: docs/design/memory.md.
 */
#include "spaces/adopted_private_memory_kind.h"
#include "spaces/data_segment_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

unsigned stp_private_n;

/* ---- checks of the memory ------------------------------------------------------------------- */

/* State of a check that visits the mappings of an address range in ascending order. */
struct private_check_mapping {
    uintptr_t addr, end;
    /*
     * Offset in the file at which the next page of the range must be mapped. Used only if shared is
     * true.
     */
    uint64_t file_offset;
    struct stat st;
    bool shared;      /* whether the range must be a MAP_SHARED mapping of the file in st */
    char reason[128]; /* reason why the buffer is refused, or "" if no problem was found */
};

static bool private_check_mapping(const struct stp_mapping *mapping, void *arg)
{
    struct private_check_mapping *check = arg;
    uint64_t mapped_offset = mapping->file_offset + (check->addr - mapping->start);

    if (mapping->end <= check->addr) return true;
    if (mapping->start > check->addr)
        snprintf(check->reason, sizeof(check->reason), "no memory is mapped at %#lx",
                 (unsigned long)check->addr);
    else if ((mapping->prot & (PROT_READ | PROT_WRITE)) != (PROT_READ | PROT_WRITE))
        snprintf(check->reason, sizeof(check->reason),
                 "the page at %#lx is not readable and writable", (unsigned long)check->addr);
    else if (check->shared && (!mapping->shared || mapped_offset != check->file_offset ||
                               mapping->ino != check->st.st_ino))
        snprintf(check->reason, sizeof(check->reason),
                 "the memory at %#lx is not a shared mapping of byte %llu of the file of the "
                 "descriptor",
                 (unsigned long)check->addr, (unsigned long long)check->file_offset);
    check->file_offset += mapping->end - check->addr;
    check->addr = mapping->end;
    return check->reason[0] == '\0' && check->addr < check->end;
}

static int pages_refuse(const struct stp_space_params *params, const char *reason)
{
    stp_error("buffer %p of %zu bytes cannot become a space: %s", params->buffer, params->nbytes,
              reason);
    return -EINVAL;
}

/*
 * Checks that all pages of the buffer are mapped for reading and writing. If the program passed a
 * file descriptor, also checks that the buffer is a shared mapping of that file. Returns 0, or
 * -EINVAL after logging. If /proc/self/maps cannot be read, accepts the buffer without a check.
 */
static int pages_check_mapped(const struct stp_space_params *params)
{
    struct private_check_mapping check = {.addr = (uintptr_t)params->buffer,
                                          .end = (uintptr_t)params->buffer + params->nbytes,
                                          .file_offset = params->adopt->file_offset,
                                          .shared = params->adopt->fd >= 0};
    char reason[160];

    if (check.shared && fstat(params->adopt->fd, &check.st) != 0) {
        snprintf(reason, sizeof(reason), "fstat of its descriptor %d failed: %s", params->adopt->fd,
                 strerror(errno));
        return pages_refuse(params, reason);
    }
    if (!stp_proc_maps_foreach(private_check_mapping, &check)) return 0;
    if (check.reason[0] == '\0' && check.addr < check.end)
        snprintf(check.reason, sizeof(check.reason), "no memory is mapped at %#lx",
                 (unsigned long)check.addr);
    return check.reason[0] != '\0' ? pages_refuse(params, check.reason) : 0;
}

int stp_private_check_buffer(const struct stp_space_params *params)
{
    size_t align = params->adopt->heap ? STP_HEAP_ALIGN : sizeof(uint64_t), offset;
    uintptr_t base = (uintptr_t)params->buffer;
    char reason[160], overlap[96];
    int local;

    if (base == 0) return pages_refuse(params, "it is a null pointer");
    if (base % align != 0) {
        snprintf(reason, sizeof(reason), "its address is not a multiple of %zu bytes%s", align,
                 params->adopt->heap ? ", as SHMEMX_ADOPT_HEAP requires" : "");
        return pages_refuse(params, reason);
    }
    if (base + params->nbytes < base)
        return pages_refuse(params, "its end is beyond the address space");
    if (stp_space_lookup_overlap(params->buffer, params->nbytes, overlap, sizeof(overlap))) {
        snprintf(reason, sizeof(reason), "it overlaps %s", overlap);
        return pages_refuse(params, reason);
    }
    if (stp_window_locate(params->buffer, &offset, &local))
        return pages_refuse(params, "it is in the address range that the library reserves for "
                                    "symmetric memory");
    return pages_check_mapped(params);
}

bool stp_private_gone(const struct stp_space *space)
{
    struct private_check_mapping check = {.addr = (uintptr_t)space->base,
                                          .end = (uintptr_t)space->base + space->nbytes};

    if (!stp_proc_maps_foreach(private_check_mapping, &check)) return false;
    return check.reason[0] != '\0' || check.addr < check.end;
}

/* ---- private pages: data for peers ----------------------------------------------------------- */

/*
 * Data that the owner PE of a part sends to its peers, the other PEs of the node. A peer uses the
 * data to copy to and from the owner's process. If the peer is in another container, the PID can
 * denote a different process there. The owner therefore stores a random number, the secret, in its
 * memory. Each peer reads the number at the address in the field secret_addr, and compares it with
 * the field secret.
 */
struct pages_share {
    /*
     * PID of the owner PE's process. A peer sets its copy of the field to 0 if the kernel refuses
     * to copy to and from the process.
     */
    int32_t pid;
    uint64_t secret_addr; /* address of the secret in the owner's process */
    uint64_t secret[2];
    uint64_t base;
};
_Static_assert(sizeof(struct pages_share) <= STP_PART_EXPORT_BYTES,
               "the struct must fit the bytes that PEs exchange");

/* Data of this kind for one space (space->kind_data). */
struct pages_own {
    uint64_t secret[2];
    struct pages_share peers[]; /* data of each PE of this node, by local index */
};

/*
 * Fills secret with a random number and returns the data for peers. The secret must stay at its
 * address, because peers read it there.
 */
static struct pages_share pages_fill_share(void *base, uint64_t secret[2])
{
    struct pages_share own_share = {
        .pid = getpid(), .secret_addr = (uintptr_t)secret, .base = (uintptr_t)base};

    if (getrandom(secret, 2 * sizeof(*secret), GRND_NONBLOCK) != (ssize_t)(2 * sizeof(*secret)))
        secret[0] = stp_now_ns();
    memcpy(own_share.secret, secret, sizeof(own_share.secret));
    return own_share;
}

/*
 * Checks that the process peer->pid has the peer's secret in its memory. Returns 0, or -errno
 * without logging. Failures are normal, because many systems forbid a process to read the memory of
 * another process.
 */
static int pages_check_secret(const struct pages_share *peer)
{
    uint64_t found[2];
    struct iovec local_iov = {found, sizeof(found)};
    struct iovec remote_iov = {(void *)(uintptr_t)peer->secret_addr, sizeof(found)};
    ssize_t n = process_vm_readv(peer->pid, &local_iov, 1, &remote_iov, 1, 0);

    if (n < 0) return -errno;
    if (n != (ssize_t)sizeof(found)) return -EFAULT;
    return memcmp(found, peer->secret, sizeof(found)) == 0 ? 0 : -ESRCH;
}

static int pages_create(struct stp_space *space, const struct stp_space_params *params,
                        struct stp_part_export *share)
{
    int n;
    struct pages_own *data =
        stp_kind_alloc_with_peers("a space", sizeof(*data), sizeof(data->peers[0]), &n);
    struct pages_share own_share;

    if (data == NULL) return -ENOMEM;
    own_share = pages_fill_share(params->buffer, data->secret);
    memcpy(share->bytes, &own_share, sizeof(own_share));
    share->valid = 1;
    space->kind_data = data;
    space->base = params->buffer;
    /*
     * No acquire load pairs with the release store of this addition. None is needed, because no
     * operation uses an address of the space until shmemx_buffer_register() has returned.
     */
    __atomic_fetch_add(&stp_private_n, 1, __ATOMIC_RELEASE);
    return 0;
}

static void pages_destroy(struct stp_space *space)
{
    if (space->kind_data == NULL) return;
    free(space->kind_data);
    space->kind_data = NULL;
    __atomic_fetch_sub(&stp_private_n, 1, __ATOMIC_RELAXED);
}

/*
 * Stores the data of a peer. If the kernel refuses to copy to and from the peer's process, the
 * peer's proxy thread makes the copies instead. The function therefore always returns 0.
 */
static int pages_attach(struct stp_space *space, int local, const struct stp_part_export *share)
{
    struct pages_share *peer = &((struct pages_own *)space->kind_data)->peers[local];
    int rc = -ENODATA;

    memcpy(peer, share->bytes, sizeof(*peer));
    if (local == stp_window_local()) return 0;
    if (share->valid) rc = pages_check_secret(peer);
    if (share->valid && rc == 0) return 0;
    stp_debug("space %u: the kernel refuses to copy to and from process %d, so its proxy thread "
              "copies: %s",
              space->number, (int)peer->pid, stp_errno_text(-rc));
    peer->pid = 0;
    return 0;
}

bool stp_private_peer(const struct stp_space *space, int local, pid_t *pid, uintptr_t *base)
{
    const struct pages_share *peer = &((struct pages_own *)space->kind_data)->peers[local];

    *pid = peer->pid;
    *base = peer->base;
    return peer->pid != 0;
}

bool stp_adopted_private_contains(const void *ptr)
{
    size_t offset;
    const struct stp_space *space = stp_space_lookup(ptr, &offset);

    return space != NULL && stp_space_is_private(space);
}

/* ---- private pages: other operations of the kind ------------------------------------- */

static int pages_probe(const struct stp_space_params *params, char *message, size_t len)
{
    (void)params;
    snprintf(message, len, "memory of the program");
    return 0;
}

static bool pages_describe(int i, char *text, size_t len)
{
    snprintf(text, len, "memory of the program");
    return i == 0;
}

const struct stp_kind stp_kind_private = {
    .name = "private",
    .device_type = 0, /* SHMEM_DEVICE_CPU */
    .owner_only = true,
    .probe = pages_probe,
    .admit = stp_private_check_buffer,
    .create = pages_create,
    .attach = pages_attach,
    .destroy = pages_destroy,
    .describe = pages_describe,
};
