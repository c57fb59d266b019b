/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes and executes the items of packed messages. An item is a small put, store or update. It
 * begins with a word that describes the operation. The data follows, padded to a multiple of eight
 * bytes. The sending PE writes items into a message. The target PE executes them when the message
 * has arrived. Design: docs/design/messages.md.
 */
#include "ofi_internal.h"

#include "am.h"
#include "batch.h"

#include <string.h>

/*
 * The word of an item has four fields. From the lowest bit, they are the offset in the region, the
 * number of the region, the operation, and the number of bytes minus one.
 */
enum { OFFSET_BITS = 40, NUMBER_BITS = 12, OP_BITS = 4 };
enum {
    NUMBER_SHIFT = OFFSET_BITS,
    OP_SHIFT = NUMBER_SHIFT + NUMBER_BITS,
    NBYTES_SHIFT = OP_SHIFT + OP_BITS
};

_Static_assert(STP_FABRIC_REGIONS <= 1 << NUMBER_BITS, "a region number must fit");
_Static_assert(STP_OFI_ITEM_PUT < 1 << OP_BITS, "an operation must fit");
_Static_assert(STP_OFI_ITEM_MAX <= 1 << (64 - NBYTES_SHIFT),
               "the number of bytes of an item must fit");

static uint64_t bits_of(uint64_t word, int shift, int n)
{
    return word >> shift & (((uint64_t)1 << n) - 1);
}

static size_t padded(size_t nbytes)
{
    return (nbytes + 7) & ~(size_t)7;
}

bool stp_ofi_item_is_packable(const struct stp_ofi_item *item)
{
    return item->nbytes <= STP_OFI_ITEM_MAX && item->dest->offset >> OFFSET_BITS == 0;
}

size_t stp_ofi_item_room(const struct stp_ofi_item *item)
{
    return sizeof(uint64_t) + padded(item->nbytes);
}

void stp_ofi_item_write(void *buffer, const struct stp_ofi_item *item)
{
    uint64_t word = item->dest->offset | (uint64_t)item->dest->number << NUMBER_SHIFT |
                    (uint64_t)item->op << OP_SHIFT | (uint64_t)(item->nbytes - 1) << NBYTES_SHIFT;
    char *data = (char *)buffer + sizeof(word);

    memcpy(buffer, &word, sizeof(word));
    if (STP_LIKELY(item->nbytes == sizeof(uint64_t))) {
        memcpy(data, item->data, sizeof(uint64_t));
        return;
    }
    /* Clear the padding, because it is sent, too. */
    memset(data + (padded(item->nbytes) - 8), 0, 8);
    memcpy(data, item->data, item->nbytes);
}

void stp_ofi_packed_each(const void *items, size_t nbytes,
                         bool (*visit)(unsigned number, void *arg), void *arg)
{
    const char *pos = items, *end = pos + nbytes;
    uint64_t word;

    for (; pos < end;
         pos += sizeof(word) + padded((size_t)bits_of(word, NBYTES_SHIFT, 64 - NBYTES_SHIFT) + 1)) {
        memcpy(&word, pos, sizeof(word));
        if (!visit((unsigned)bits_of(word, NUMBER_SHIFT, NUMBER_BITS), arg)) return;
    }
}

/* ---- execution at the target ------------------------------------------------- */

/*
 * Copies data into this PE's memory. An aligned element is stored atomically, so that a reader sees
 * either the old or the new value.
 */
static void store(void *dest, const void *data, size_t nbytes)
{
    uint64_t value;

    if (STP_LIKELY(nbytes == 8 && (uintptr_t)dest % 8 == 0)) {
        /*
         * Pairs with the acquire load of a thread that waits for this word. After the load, that
         * thread also sees the data of earlier items.
         */
        memcpy(&value, data, sizeof(value));
        __atomic_store_n((uint64_t *)dest, value, __ATOMIC_RELEASE);
    } else if (stp_ofi_is_element(nbytes) && (uintptr_t)dest % nbytes == 0) {
        stp_ofi_loopback_amo(dest, nbytes, STP_AMO_SET, data, NULL, NULL);
    } else {
        memcpy(dest, data, nbytes);
    }
}

/*
 * Executes the item that begins with word. Returns false if its operation is unknown or if it names
 * memory that this PE does not have.
 */
static bool apply(uint64_t word, const char *data, size_t nbytes)
{
    unsigned op = (unsigned)bits_of(word, OP_SHIFT, OP_BITS);
    size_t offset = (size_t)bits_of(word, 0, OFFSET_BITS);
    unsigned number = (unsigned)bits_of(word, NUMBER_SHIFT, NUMBER_BITS);
    void *dest = stp_ofi_local_part(number, offset, nbytes);

    if (dest == NULL) return false;
    if (op == STP_OFI_ITEM_PUT) {
        store(dest, data, nbytes);
        return true;
    }
    if (op > STP_AMO_XOR || !stp_ofi_is_element(nbytes) || offset % nbytes != 0) return false;
    stp_ofi_loopback_amo(dest, nbytes, (enum stp_fabric_amo)op, data, NULL, NULL);
    return true;
}

void stp_ofi_packed_open(const void *items, size_t nbytes, int pe)
{
    const char *pos = items, *end = pos + nbytes;

    while (end - pos >= (ptrdiff_t)sizeof(uint64_t)) {
        uint64_t word;
        size_t n;

        memcpy(&word, pos, sizeof(word));
        pos += sizeof(word);
        n = (size_t)bits_of(word, NBYTES_SHIFT, 64 - NBYTES_SHIFT) + 1;
        if ((size_t)(end - pos) < padded(n) || !apply(word, pos, n))
            stp_ofi.core->fatal("fabric",
                                "pe %d sent %zu bytes for offset %llu of space %u, but this pe "
                                "has no such memory: was the space destroyed too early?",
                                pe, n, (unsigned long long)bits_of(word, 0, OFFSET_BITS),
                                (unsigned)bits_of(word, NUMBER_SHIFT, NUMBER_BITS));
        pos += padded(n);
    }
}
