/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kind of spaces that consist of private memory of the program. This file checks whether a
 * buffer can become a space. No other process can map private pages. The owner loads and stores
 * them, PEs of the node copy through the kernel, and the owner's process performs the atomics.
 * own_file.c serves buffers that have a file descriptor. Design: docs/design/memory.md.
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

/* ---- may it become a space? ----------------------------------------------------------------- */

/* Progress of a check of the mappings in a range, in ascending order. */
struct private_check_mapping {
    uintptr_t at, end;
    uint64_t file_at; /* offset of address at in the file, if the buffer has a descriptor */
    struct stat st;
    bool shared;  /* whether the range must be a shared mapping of the file in st */
    char why[96]; /* reason for a refusal; empty while no problem was found */
};

static bool private_check_mapping(const struct stp_mapping *mapping, void *arg)
{
    struct private_check_mapping *look = arg;
    uint64_t at = mapping->at + (look->at - mapping->start);

    if (mapping->end <= look->at) return true;
    if (mapping->start > look->at)
        snprintf(look->why, sizeof(look->why), "nothing is mapped at %#lx",
                 (unsigned long)look->at);
    else if ((mapping->prot & (PROT_READ | PROT_WRITE)) != (PROT_READ | PROT_WRITE))
        snprintf(look->why, sizeof(look->why), "%#lx cannot be read and written",
                 (unsigned long)look->at);
    else if (look->shared &&
             (!mapping->shared || at != look->file_at || mapping->ino != look->st.st_ino))
        snprintf(look->why, sizeof(look->why),
                 "at %#lx is no shared mapping of the descriptor from byte %llu on",
                 (unsigned long)look->at, (unsigned long long)look->file_at);
    look->file_at += mapping->end - look->at;
    look->at = mapping->end;
    return look->why[0] == '\0' && look->at < look->end;
}

static int pages_refuse(const struct stp_space_params *params, const char *why)
{
    stp_error("buffer %p of %zu bytes cannot become a space: %s", params->buffer, params->nbytes,
              why);
    return -EINVAL;
}

/* Accepts any buffer if the kernel does not report the mappings of this process. */
static int pages_check_mapped(const struct stp_space_params *params)
{
    struct private_check_mapping look = {.at = (uintptr_t)params->buffer,
                                         .end = (uintptr_t)params->buffer + params->nbytes,
                                         .file_at = params->adopt->at,
                                         .shared = params->adopt->fd >= 0};
    char why[160];

    if (look.shared && fstat(params->adopt->fd, &look.st) != 0) {
        snprintf(why, sizeof(why), "descriptor %d: %s", params->adopt->fd, strerror(errno));
        return pages_refuse(params, why);
    }
    if (!stp_proc_maps_foreach(private_check_mapping, &look)) return 0;
    if (look.why[0] == '\0' && look.at < look.end)
        snprintf(look.why, sizeof(look.why), "nothing is mapped at %#lx", (unsigned long)look.at);
    return look.why[0] != '\0' ? pages_refuse(params, look.why) : 0;
}

int stp_private_check_buffer(const struct stp_space_params *params)
{
    size_t align = params->adopt->heap ? STP_HEAP_ALIGN : sizeof(uint64_t), offset;
    uintptr_t base = (uintptr_t)params->buffer;
    char why[160], whose[96];
    int local;

    if (base == 0) return pages_refuse(params, "it is a null pointer");
    if (base % align != 0) {
        snprintf(why, sizeof(why), "its address is no multiple of %zu%s", align,
                 params->adopt->heap ? ", which malloc from it needs" : "");
        return pages_refuse(params, why);
    }
    if (base + params->nbytes < base) return pages_refuse(params, "it ends beyond all memory");
    if (stp_space_lookup_overlap(params->buffer, params->nbytes, whose, sizeof(whose))) {
        snprintf(why, sizeof(why), "it overlaps %s", whose);
        return pages_refuse(params, why);
    }
    if (stp_window_locate(params->buffer, &offset, &local))
        return pages_refuse(params, "it is the library's own memory");
    return pages_check_mapped(params);
}

bool stp_private_gone(const struct stp_space *space)
{
    struct private_check_mapping look = {.at = (uintptr_t)space->base,
                                         .end = (uintptr_t)space->base + space->nbytes};

    if (!stp_proc_maps_foreach(private_check_mapping, &look)) return false;
    return look.why[0] != '\0' || look.at < look.end;
}

/* ---- private pages: what peers know ---------------------------------------------------------- */

/*
 * Identity of the process that the kernel copies to and from. In another container the same PID may
 * denote another process. Peers therefore first read a secret at an address of the owner.
 */
struct pages_share {
    int32_t pid; /* PID of the owner; 0 if the kernel refuses to copy */
    uint64_t proof;
    uint64_t secret[2];
    uint64_t base;
};
_Static_assert(sizeof(struct pages_share) <= STP_PART_EXPORT_BYTES, "fits what PEs exchange");

/* The type of space->own for this kind. */
struct pages_own {
    uint64_t secret[2];
    struct pages_share peers[]; /* indexed by local PE */
};

/* Draws a secret, which must stay at its address while peers may read it. */
static struct pages_share pages_mine(void *base, uint64_t secret[2])
{
    struct pages_share mine = {
        .pid = getpid(), .proof = (uintptr_t)secret, .base = (uintptr_t)base};

    if (getrandom(secret, 2 * sizeof(*secret), GRND_NONBLOCK) != (ssize_t)(2 * sizeof(*secret)))
        secret[0] = stp_now_ns();
    memcpy(mine.secret, secret, sizeof(mine.secret));
    return mine;
}

/*
 * Checks that the process with the PID is the owner. Returns 0, or -errno without logging, because
 * kernels refuse the read if the process may not be traced.
 */
static int pages_prove(const struct pages_share *peer)
{
    uint64_t found[2];
    struct iovec here = {found, sizeof(found)};
    struct iovec there = {(void *)(uintptr_t)peer->proof, sizeof(found)};
    ssize_t n = process_vm_readv(peer->pid, &here, 1, &there, 1, 0);

    if (n < 0) return -errno;
    if (n != (ssize_t)sizeof(found)) return -EFAULT;
    return memcmp(found, peer->secret, sizeof(found)) == 0 ? 0 : -ESRCH;
}

static int pages_create(struct stp_space *space, const struct stp_space_params *params,
                        struct stp_part_export *share)
{
    int n;
    struct pages_own *own =
        stp_kind_alloc_with_peers("a space", sizeof(*own), sizeof(own->peers[0]), &n);
    struct pages_share mine;

    if (own == NULL) return -ENOMEM;
    mine = pages_mine(params->buffer, own->secret);
    memcpy(share->bytes, &mine, sizeof(mine));
    share->valid = 1;
    space->own = own;
    space->base = params->buffer;
    /*
     * No acquire load pairs with this addition, because an operation can only get an address of the
     * space after the addition.
     */
    __atomic_fetch_add(&stp_private_n, 1, __ATOMIC_RELEASE);
    return 0;
}

static void pages_destroy(struct stp_space *space)
{
    if (space->own == NULL) return;
    free(space->own);
    space->own = NULL;
    __atomic_fetch_sub(&stp_private_n, 1, __ATOMIC_RELAXED);
}

/* Returns 0 also if the kernel refuses to copy, because the owner's proxy thread then copies. */
static int pages_attach(struct stp_space *space, int local, const struct stp_part_export *share)
{
    struct pages_share *peer = &((struct pages_own *)space->own)->peers[local];
    int rc = 0;

    memcpy(peer, share->bytes, sizeof(*peer));
    if (local == stp_window_local()) return 0;
    if (share->valid) rc = pages_prove(peer);
    if (share->valid && rc == 0) return 0;
    stp_debug("space %u: the kernel does not copy to and from process %d: %s", space->number,
              (int)peer->pid, stp_errno_text(-rc));
    peer->pid = 0;
    return 0;
}

bool stp_private_peer(const struct stp_space *space, int local, pid_t *pid, uintptr_t *base)
{
    const struct pages_share *peer = &((struct pages_own *)space->own)->peers[local];

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

/* ---- private pages: the rest of the row ---------------------------------------------- */

static int pages_probe(const struct stp_space_params *params, char *why, size_t len)
{
    (void)params;
    snprintf(why, len, "memory of the program");
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
