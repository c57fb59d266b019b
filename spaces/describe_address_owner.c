/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the part of the data segment that contains an address. If an address is not symmetric, this
 * file also describes, for an error message, the library or executable to which the address
 * belongs. Design: docs/design/memory.md.
 */
#include "spaces/space_registry.h"

#include <link.h>
#include <stdio.h>

/* ---- the data segment ------------------------------------------------------ */

const struct stp_data_segment_part *stp_data_segment_part_slow(const void *addr)
{
    for (unsigned i = 0; i < stp_data_segment.n_parts; i++) {
        const struct stp_data_segment_part *part = &stp_data_segment.parts[i];

        if ((size_t)((const char *)addr - part->base) < part->nbytes) return part;
    }
    return NULL;
}

const char *stp_data_segment_format(char *text, size_t len)
{
    size_t used = 0;

    snprintf(text, len, "none found");
    for (unsigned i = 0; i < stp_data_segment.n_parts && used < len; i++) {
        const struct stp_data_segment_part *part = &stp_data_segment.parts[i];

        used += (size_t)snprintf(text + used, len - used, "%s%p..%p", i > 0 ? ", " : "",
                                 (void *)part->base, (void *)(part->base + part->nbytes));
    }
    return text;
}

/* ---- loaded objects -------------------------------------------------------- */

struct owner_search {
    uintptr_t addr;
    unsigned n_seen; /* number of loaded objects visited so far; the executable is the first */
    bool found;
    char *text;
    size_t len;
};

static void owner_describe(struct owner_search *search, const char *name, bool writable)
{
    if (search->n_seen > 0 && writable)
        snprintf(search->text, search->len,
                 "it is a global or static of the library %s, but only those of the executable "
                 "are symmetric: define it in the executable, or use shmem_malloc",
                 name);
    else if (search->n_seen > 0)
        snprintf(search->text, search->len, "it belongs to the code or constants of the library %s",
                 name);
    else if (!writable)
        snprintf(search->text, search->len,
                 "it belongs to the code or constants of the executable, of which only the "
                 "writable globals and statics are symmetric");
    else if (stp_data_segment.private_reason != NULL)
        snprintf(search->text, search->len,
                 "it is a global or static of the executable, but the library could not share "
                 "these between PEs: %s",
                 stp_data_segment.private_reason);
    else
        snprintf(search->text, search->len,
                 "it is a global or static of the executable, but not symmetric, because its "
                 "page was read-only or already shared when the program started");
}

static int find_library(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct owner_search *search = arg;

    (void)size;
    for (int i = 0; i < info->dlpi_phnum && !search->found; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

        if (ph->p_type != PT_LOAD || search->addr - info->dlpi_addr - ph->p_vaddr >= ph->p_memsz)
            continue;
        search->found = true;
        owner_describe(search, info->dlpi_name, ph->p_flags & PF_W);
    }
    search->n_seen++;
    return search->found;
}

bool stp_describe_loaded_object_addr(const void *addr, char *text, size_t len)
{
    struct owner_search search = {.addr = (uintptr_t)addr, .text = text, .len = len};

    dl_iterate_phdr(find_library, &search);
    return search.found;
}
