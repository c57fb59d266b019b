/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements puts that also update a word at the target PE. One write carries both the data and the
 * update. The remote CQ data of the write encodes the update. The provider of the target reports
 * the remote CQ data after the data has arrived. The library of the target then updates the word.
 * The CQ data has room for only the low bits of the word's new value. The word must therefore never
 * decrease, and each update must increase it by less than 2^19. Design: docs/design/messages.md.
 */
#include "ofi_internal.h"

/*
 * The CQ data has four fields. From the lowest bit, they are the index of the 8-byte word in its
 * region, the number of the region, a flag that selects addition, and the value.
 */
enum { INDEX_BITS = 32, NUMBER_BITS = 12, ADD_BITS = 1, VALUE_BITS = 19 };
enum {
    NUMBER_SHIFT = INDEX_BITS,
    ADD_SHIFT = NUMBER_SHIFT + NUMBER_BITS,
    VALUE_SHIFT = ADD_SHIFT + ADD_BITS
};

_Static_assert(VALUE_SHIFT + VALUE_BITS == 64, "the fields must use all 64 bits");
_Static_assert(STP_FABRIC_WORD_GROWS <= (uint64_t)1 << VALUE_BITS,
               "the low bits must distinguish successive values");
_Static_assert(STP_FABRIC_REGIONS <= 1 << NUMBER_BITS, "a region number must fit");

#define VALUE_MASK (((uint64_t)1 << VALUE_BITS) - 1)

bool stp_ofi_cqdata_pack(const struct stp_target *word, uint64_t value, enum stp_fabric_amo op,
                         uint64_t *data)
{
    bool is_add = op == STP_AMO_ADD;
    uint64_t index = word->offset / sizeof(uint64_t);

    if (word->offset % sizeof(uint64_t) != 0 || index >> INDEX_BITS != 0) return false;
    if (is_add && value > VALUE_MASK) return false;
    *data = index | (uint64_t)word->number << NUMBER_SHIFT | (uint64_t)is_add << ADD_SHIFT |
            (value & VALUE_MASK) << VALUE_SHIFT;
    return true;
}

/*
 * Returns the new value of a word. The argument old_value is its old value, and low_bits has the
 * low bits of its new value. The result is the smallest value that is not below the old value and
 * has these low bits. It is correct, because each update increases the word by less than 2^19.
 */
static uint64_t flag_grown(uint64_t old_value, uint64_t low_bits)
{
    return old_value + ((low_bits - old_value) & VALUE_MASK);
}

void stp_ofi_cqdata_apply_to_word_locked(uint64_t data)
{
    unsigned number = (unsigned)(data >> NUMBER_SHIFT & ((1u << NUMBER_BITS) - 1));
    size_t offset = (size_t)(data & UINT32_MAX) * sizeof(uint64_t);
    uint64_t value = data >> VALUE_SHIFT, *word = stp_ofi_local_part(number, offset, sizeof(*word));

    if (word == NULL)
        stp_ofi.core->fatal("fabric",
                            "a put updates a word at offset %zu of space %u, but this pe has no "
                            "such memory: was the space destroyed too early?",
                            offset, number);
    /*
     * Each update of the word is a release operation. It pairs with the acquire loads of
     * collectives that wait for the word. These loads are in stp_coll_wait_far(), coll_reached(),
     * stp_coll_wait() and word_wait().
     */
    if ((data >> ADD_SHIFT & 1) != 0)
        __atomic_fetch_add(word, value, __ATOMIC_RELEASE);
    else /* A store suffices, because only one PE at a time updates the word. */
        __atomic_store_n(word, flag_grown(__atomic_load_n(word, __ATOMIC_RELAXED), value),
                         __ATOMIC_RELEASE);
}
