/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Atomics of a PE on its own part of a region, done by the CPU: where providers run atomics
 * on CPUs that is coherent with theirs, and some do not survive a flood to themselves.
 * Elements are taken as bits: no operation on floats looks at their value.
 * Design: docs/design/fabric.md.
 */
#include "ofi.h"

static uint64_t bits_of(const void *element, size_t size)
{
    uint64_t bits = 0;

    /* Little and big endian alike: through an integer of the element's size. */
    if (size == 1) bits = *(const uint8_t *)element;
    if (size == 2) bits = *(const uint16_t *)element;
    if (size == 4) bits = *(const uint32_t *)element;
    if (size == 8) bits = *(const uint64_t *)element;
    return bits;
}

static uint64_t load_bits(const void *at, size_t size)
{
    switch (size) {
    case 1:
        return __atomic_load_n((const uint8_t *)at, __ATOMIC_ACQUIRE);
    case 2:
        return __atomic_load_n((const uint16_t *)at, __ATOMIC_ACQUIRE);
    case 4:
        return __atomic_load_n((const uint32_t *)at, __ATOMIC_ACQUIRE);
    default:
        return __atomic_load_n((const uint64_t *)at, __ATOMIC_ACQUIRE);
    }
}

/* Replace old by fresh at an element. Returns whether it held old. */
static bool swap_bits(void *at, size_t size, uint64_t old, uint64_t fresh)
{
    uint8_t old8 = (uint8_t)old;
    uint16_t old16 = (uint16_t)old;
    uint32_t old32 = (uint32_t)old;

    switch (size) {
    case 1:
        return __atomic_compare_exchange_n((uint8_t *)at, &old8, (uint8_t)fresh, false,
                                           __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
    case 2:
        return __atomic_compare_exchange_n((uint16_t *)at, &old16, (uint16_t)fresh, false,
                                           __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
    case 4:
        return __atomic_compare_exchange_n((uint32_t *)at, &old32, (uint32_t)fresh, false,
                                           __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
    default:
        return __atomic_compare_exchange_n((uint64_t *)at, &old, fresh, false, __ATOMIC_ACQ_REL,
                                           __ATOMIC_RELAXED);
    }
}

static uint64_t apply(enum stp_fabric_amo op, uint64_t old, uint64_t operand, uint64_t compare)
{
    switch (op) {
    case STP_AMO_SET:
    case STP_AMO_SWAP:
        return operand;
    case STP_AMO_ADD:
        return old + operand;
    case STP_AMO_AND:
        return old & operand;
    case STP_AMO_OR:
        return old | operand;
    case STP_AMO_XOR:
        return old ^ operand;
    case STP_AMO_CSWAP:
        return old == compare ? operand : old;
    default:
        return old; /* STP_AMO_FETCH */
    }
}

/* Write the low size bytes of bits as an element. */
static void put_bits(void *element, size_t size, uint64_t bits)
{
    if (size == 1) *(uint8_t *)element = (uint8_t)bits;
    if (size == 2) *(uint16_t *)element = (uint16_t)bits;
    if (size == 4) *(uint32_t *)element = (uint32_t)bits;
    if (size == 8) *(uint64_t *)element = bits;
}

void stp_ofi_self_amo(void *at, size_t size, enum stp_fabric_amo op, const void *operand,
                      const void *compare, void *result)
{
    uint64_t with = operand != NULL ? bits_of(operand, size) : 0;
    uint64_t cond = compare != NULL ? bits_of(compare, size) : 0;
    uint64_t old;

    do {
        old = load_bits(at, size);
        if (op == STP_AMO_FETCH) break;
    } while (!swap_bits(at, size, old, apply(op, old, with, cond)));
    if (result != NULL) put_bits(result, size, old);
}
