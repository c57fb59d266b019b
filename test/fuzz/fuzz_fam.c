/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target: pools of fabric-attached memory as another job, another machine or a broken disk
 * left them. Input: what this job wants, then the superblock from its first byte on. A pool that
 * the code accepts must stay consistent when spaces are created and freed in it.
 */
#include "fuzz.h"

#include "spaces/fam/fam.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

enum { DEVICE = 1, KEEP = 2, NAMELESS = 4, PREPARE = 8 };

struct params {
    uint8_t choices;
    uint8_t n_parts;  /* less one */
    uint16_t n_units; /* of the file */
    uint32_t kbytes;  /* a PE */
};

/* Every space lies in the pool, by a sum that does not wrap. */
static void check_inside(const struct fam_pool *pool)
{
    for (uint32_t i = 0; i < pool->super->n_entries; i++) {
        const struct fam_entry *entry = &pool->super->entries[i];
        uint64_t room = pool->nbytes - entry->offset;

        if (!entry->valid) continue;
        FUZZ_CHECK(entry->offset >= FAM_ALIGN && entry->offset < pool->nbytes);
        for (uint32_t part = 0; part < entry->n_parts; part++) {
            FUZZ_CHECK(entry->part_bytes >= FAM_ALIGN && entry->part_bytes <= room);
            room -= entry->part_bytes;
        }
    }
}

static void claim(struct fam_pool *pool, const struct params *params)
{
    const struct fam_shape shape = {.name = params->choices & NAMELESS ? NULL : "fuzz",
                                    .nbytes = (size_t)params->kbytes << 10,
                                    .n_parts = params->n_parts + 1u,
                                    .keep = params->choices & KEEP};
    const struct fam_entry *entry;
    bool made;
    int index, rc;

    if (shape.nbytes == 0 || stp_fam_space_bytes(&shape) == 0) return;
    rc = stp_fam_claim_locked(pool, &shape, &index, &made);
    FUZZ_CHECK(rc == 0 || rc == -ENOSPC || rc == -EINVAL);
    if (rc != 0) return;
    entry = &pool->super->entries[index];
    FUZZ_CHECK(index >= 0 && index < FAM_ENTRIES && entry->valid);
    FUZZ_CHECK(entry->nbytes == shape.nbytes && entry->n_parts == shape.n_parts);
    FUZZ_CHECK(stp_fam_table_check_locked(pool) == 0); /* it lies over no other one */
    if (params->choices & PREPARE && shape.nbytes <= FAM_ALIGN)
        FUZZ_CHECK(stp_fam_prepare(pool, entry->offset, shape.nbytes, true) == 0);
    if (made) stp_fam_free_locked(pool, index);
    FUZZ_CHECK(stp_fam_table_check_locked(pool) == 0);
}

static void use(struct fam_pool *pool, const struct params *params)
{
    size_t largest;
    size_t at = stp_fam_find_place_locked(pool, FAM_ALIGN, &largest);

    FUZZ_CHECK(stp_fam_table_check_locked(pool) == 0);
    check_inside(pool);
    FUZZ_CHECK(at % FAM_ALIGN == 0 && at < pool->nbytes && largest < pool->nbytes);
    (void)stp_fam_is_empty_locked(pool);
    (void)stp_fam_find_locked(pool, "fuzz");
    claim(pool, params);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct params params;
    struct fam_pool pool;
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    int rc;

    fuzz_take(&data, &nbytes, &params, sizeof(params));
    if (nbytes > FAM_ALIGN) nbytes = FAM_ALIGN;
    FUZZ_CHECK(fd >= 0 && ftruncate(fd, (off_t)(params.n_units * FAM_ALIGN)) == 0);
    if (params.n_units > 0 && nbytes > 0)
        FUZZ_CHECK(pwrite(fd, data, nbytes, 0) == (ssize_t)nbytes);
    FUZZ_CHECK(stp_fam_pool_lock_file(&pool, fd, "pool", "pool", params.choices & DEVICE) == 0);
    rc = stp_fam_pool_use_locked(&pool, params.n_units * FAM_ALIGN);
    FUZZ_CHECK(rc == 0 || rc == -EINVAL || rc == -EUCLEAN || rc == -ENOSPC);
    if (rc == 0) use(&pool, &params);
    stp_fam_pool_unlock(&pool);
    stp_fam_pool_close(&pool);
    return 0;
}
