/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Registers local buffers. The provider needs a descriptor for each buffer in device memory,
 * because the CPU must not access device memory. Such a buffer is part of a region or of a
 * registered private allocation.
 *
 * If the provider sets FI_MR_LOCAL, it needs a descriptor for all buffers. Small transfers are then
 * copied through requests, whose memory stays registered. Larger transfers register their buffer
 * until they complete. Providers with expensive registration keep a cache of their own and notice
 * when memory is unmapped. If a buffer cannot be registered, its data is copied through requests in
 * fragments. Design: docs/design/fabric.md.
 */
#include "ofi_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define KEY_TRIES 64

/* ---- regions by address -------------------------------------------------- */

static struct {
    pthread_rwlock_t lock; /* guards all members, because threads search while regions are added */
    unsigned n;
    uint16_t numbers[STP_FABRIC_REGIONS]; /* numbers of the listed regions, sorted by address */
    unsigned n_buffers;                   /* number of private buffers, which are not in numbers */
} list = {.lock = PTHREAD_RWLOCK_INITIALIZER};

/*
 * Private buffers by number. They need no lock, because no thread uses a buffer while it is added
 * or removed.
 */
static struct stp_ofi_region buffers[STP_FABRIC_BUFFERS];

static __thread const struct stp_ofi_region *current_buffer;

_Static_assert(STP_FABRIC_REGIONS <= UINT16_MAX, "a region number must fit");

/* Returns the number of listed regions that begin at or below the address. */
static unsigned count_below_locked(const char *address)
{
    unsigned low = 0, high = list.n;

    while (low < high) {
        unsigned middle = (low + high) / 2;

        if (stp_ofi.regions[list.numbers[middle]].base <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct stp_ofi_region *stp_ofi_local_mr_find(const void *local)
{
    const struct stp_ofi_region *found = NULL;
    const char *address = local;
    unsigned n_below;

    pthread_rwlock_rdlock(&list.lock);
    n_below = count_below_locked(address);
    if (n_below > 0) found = &stp_ofi.regions[list.numbers[n_below - 1]];
    if (found != NULL && (size_t)(address - found->base) >= stp_ofi_region_bytes(found))
        found = NULL;
    pthread_rwlock_unlock(&list.lock);
    /*
     * Prefer a region to a private buffer. The memory of a space may be part of an allocation that
     * is also registered as a private buffer.
     */
    if (found == NULL && current_buffer != NULL && address >= current_buffer->base &&
        (size_t)(address - current_buffer->base) < current_buffer->nbytes)
        found = current_buffer;
    return found;
}

static void list_publish_locked(void)
{
    /*
     * A relaxed store suffices, because a thread that uses a new region has synchronized with the
     * thread that added it.
     */
    __atomic_store_n(&stp_ofi.n_listed, list.n + list.n_buffers, __ATOMIC_RELAXED);
}

void stp_ofi_local_mr_index_add(unsigned number)
{
    unsigned index;

    pthread_rwlock_wrlock(&list.lock);
    index = count_below_locked(stp_ofi.regions[number].base);
    memmove(&list.numbers[index + 1], &list.numbers[index],
            (list.n - index) * sizeof(list.numbers[0]));
    list.numbers[index] = (uint16_t)number;
    list.n++;
    stp_ofi.regions[number].listed = true;
    list_publish_locked();
    pthread_rwlock_unlock(&list.lock);
}

void stp_ofi_local_mr_index_remove(unsigned number)
{
    unsigned index = 0;

    pthread_rwlock_wrlock(&list.lock);
    while (index < list.n && list.numbers[index] != number)
        index++;
    if (index < list.n) {
        list.n--;
        memmove(&list.numbers[index], &list.numbers[index + 1],
                (list.n - index) * sizeof(list.numbers[0]));
    }
    stp_ofi.regions[number].listed = false;
    list_publish_locked();
    pthread_rwlock_unlock(&list.lock);
}

/* ---- registration of buffers --------------------------------------------- */

/* A registration that several outstanding operations share. */
struct stp_ofi_local_mr_ref {
    struct fid_mr *mr;
    unsigned refs;
};

/*
 * Returns a key for a registration that only this PE uses. If the module chooses the keys, they
 * must be unique. These keys therefore begin after the keys of all regions and extents.
 */
static uint64_t local_key(void)
{
    static unsigned count;

    /* The addition pairs with nothing, because the counter only makes the keys different. */
    return stp_ofi.key_base + (uint64_t)STP_FABRIC_REGIONS * STP_FABRIC_EXTENTS +
           __atomic_fetch_add(&count, 1, __ATOMIC_SEQ_CST);
}

static int mr_open_local(const void *base, size_t nbytes, uint64_t access, struct fid_mr **mr)
{
    int rc = -FI_ENOKEY;

    for (int i = 0; i < KEY_TRIES && rc == -FI_ENOKEY; i++)
        rc = fi_mr_reg(stp_ofi.main.domain, base, nbytes, access, 0, local_key(), 0, mr, NULL);
    if (rc == 0) rc = stp_ofi_mr_enable(*mr);
    if (rc != 0) *mr = NULL;
    return rc;
}

int stp_ofi_reg_internal_if_needed(void *base, size_t nbytes, struct fid_mr **mr)
{
    int rc;

    *mr = NULL;
    if (!stp_ofi.mr_local) return 0;
    rc = mr_open_local(base, nbytes, FI_SEND | FI_RECV | FI_READ | FI_WRITE, mr);
    if (rc != 0)
        stp_ofi.core->log(STP_LOG_ERROR,
                          "fabric: provider %s refuses to register %zu bytes of the library's own "
                          "memory: %s",
                          stp_ofi.info->fabric_attr->prov_name, nbytes, fi_strerror(-rc));
    return rc;
}

static struct stp_ofi_local_mr_ref *mr_ref_open(enum stp_ofi_kind kind, const void *local,
                                                size_t nbytes, unsigned refs)
{
    struct stp_ofi_local_mr_ref *mr_ref = malloc(sizeof(*mr_ref));
    uint64_t access = kind == STP_OFI_WRITE ? FI_WRITE : FI_READ;

    if (mr_ref != NULL && mr_open_local(local, nbytes, access, &mr_ref->mr) == 0) {
        mr_ref->refs = refs;
        return mr_ref;
    }
    free(mr_ref);
    return NULL;
}

void stp_ofi_local_mr_unref(struct stp_ofi_local_mr_ref *mr_ref)
{
    /*
     * Pairs with the subtractions of other operations. All operations have then finished with the
     * registration before it is closed.
     */
    if (__atomic_fetch_sub(&mr_ref->refs, 1, __ATOMIC_ACQ_REL) > 1) return;
    fi_close(&mr_ref->mr->fid);
    free(mr_ref);
}

/* ---- private device memory ------------------------------------------------ */

static void count_buffers(unsigned change)
{
    pthread_rwlock_wrlock(&list.lock);
    list.n_buffers += change;
    list_publish_locked();
    pthread_rwlock_unlock(&list.lock);
}

int stp_ofi_buffer_add(unsigned number, void *base, size_t nbytes, int device)
{
    struct stp_ofi_local_mr_ref *mr_ref = malloc(sizeof(*mr_ref));
    int rc = -FI_ENOKEY;

    if (mr_ref == NULL) return -ENOMEM;
    for (int i = 0; i < KEY_TRIES && rc == -FI_ENOKEY; i++)
        rc = stp_ofi_mr_open_device(base, nbytes, local_key(), device, &mr_ref->mr);
    if (rc != 0) {
        free(mr_ref);
        return -EOPNOTSUPP;
    }
    mr_ref->refs = 1;
    buffers[number] = (struct stp_ofi_region){
        .mr = mr_ref->mr, .base = base, .nbytes = nbytes, .device = true, .mr_ref = mr_ref};
    count_buffers(1);
    return 0;
}

void stp_ofi_set_current_local_mr(int number)
{
    current_buffer = number >= 0 ? &buffers[number] : NULL;
}

bool stp_ofi_buffer_remove(unsigned number)
{
    struct stp_ofi_local_mr_ref *mr_ref = buffers[number].mr_ref;

    /*
     * Pairs with the subtraction in stp_ofi_local_mr_unref(), which a completion calls after its
     * data has arrived.
     */
    if (__atomic_load_n(&mr_ref->refs, __ATOMIC_ACQUIRE) > 1) return false;
    buffers[number] = (struct stp_ofi_region){.mr = NULL};
    count_buffers(-1U);
    stp_ofi_local_mr_unref(mr_ref);
    return true;
}

/*
 * Closes all private buffers. Remaining references belong to operations that will never complete,
 * so they are ignored.
 */
void stp_ofi_user_buffers_close(void)
{
    for (unsigned i = 0; i < STP_FABRIC_BUFFERS; i++) {
        if (buffers[i].mr_ref == NULL) continue;
        buffers[i].mr_ref->refs = 1;
        (void)stp_ofi_buffer_remove(i);
    }
}

/* ---- fragments --------------------------------------------------------------- */

/*
 * Returns the registration that covers the whole buffer, or NULL if the buffer is not within one
 * extent.
 */
static struct fid_mr *mr_covering(const struct stp_ofi_region *region, const void *local,
                                  size_t nbytes)
{
    return stp_ofi_extent_mr(region, (size_t)((const char *)local - region->base), nbytes);
}

struct stp_ofi_fragments stp_ofi_cut_slow(enum stp_ofi_kind kind, const struct stp_target *target,
                                          const void *local, size_t nbytes)
{
    const struct stp_ofi_extents *extents = stp_ofi_extents(&stp_ofi.regions[target->number]);
    const struct stp_ofi_region *region = stp_ofi_local_mr_region(local);
    struct fid_mr *mr = region != NULL ? mr_covering(region, local, nbytes) : NULL;
    size_t size = nbytes < stp_ofi.max_msg ? nbytes : stp_ofi.max_msg;
    struct stp_ofi_fragments fragments = {
        .size = size, .n = stp_ofi_extent_pieces(extents, target->offset, nbytes, size)};

    if (mr != NULL) {
        fragments.desc = fi_mr_desc(mr);
        if (region->mr_ref != NULL) {
            /*
             * A relaxed addition suffices. No thread closes the registration now, because the
             * caller is using the buffer.
             */
            __atomic_fetch_add(&region->mr_ref->refs, fragments.n, __ATOMIC_RELAXED);
            fragments.mr_ref = region->mr_ref;
        }
        return fragments;
    }
    if (!stp_ofi.mr_local) return fragments;
    if (nbytes > stp_ofi.bounce_size)
        fragments.mr_ref = mr_ref_open(kind, local, nbytes, fragments.n);
    if (fragments.mr_ref != NULL) {
        fragments.desc = fi_mr_desc(fragments.mr_ref->mr);
        return fragments;
    }
    fragments.copied = true;
    fragments.size = stp_ofi.bounce_size > STP_OFI_INLINE ? stp_ofi.bounce_size : STP_OFI_INLINE;
    fragments.n = stp_ofi_extent_pieces(extents, target->offset, nbytes, fragments.size);
    return fragments;
}
