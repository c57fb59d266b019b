/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Performs atomics with the CPU on unsigned elements of 1, 2, 4 or 8 bytes. Additions wrap around.
 * The library and the fabric module call these functions only on their slow paths.
 * Design: docs/design/concurrency.md.
 */
#ifndef STP_CPU_AMO_H
#define STP_CPU_AMO_H

#include "transport/transport.h"

#include <string.h>

#define TYPE uint8_t
#define AMO_CPU stp_amo_cpu8
#include "transport/cpu_amo.tmpl.h"
#undef TYPE
#undef AMO_CPU
#define TYPE uint16_t
#define AMO_CPU stp_amo_cpu16
#include "transport/cpu_amo.tmpl.h"
#undef TYPE
#undef AMO_CPU
#define TYPE uint32_t
#define AMO_CPU stp_amo_cpu32
#include "transport/cpu_amo.tmpl.h"
#undef TYPE
#undef AMO_CPU
#define TYPE uint64_t
#define AMO_CPU stp_amo_cpu64
#include "transport/cpu_amo.tmpl.h"
#undef TYPE
#undef AMO_CPU

union stp_amo_value {
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
};

/*
 * Performs the atomic operation op on *element. The element is naturally aligned and has nbytes
 * bytes (1, 2, 4 or 8). Copies the old value of the element to *result unless result is NULL.
 * STP_AMO_SET does not read the old value and copies 0 instead. The arguments operand and compare
 * may be NULL if the operation does not use them. The argument order is a memory order of the
 * compiler's atomic builtins (see cpu_amo.tmpl.h).
 */
static inline void stp_amo_cpu(void *element, size_t nbytes, enum stp_fabric_amo op,
                               const void *operand, const void *compare, void *result, int order)
{
    union stp_amo_value value = {0}, expected = {0}, old = {0};

    if (operand != NULL) memcpy(&value, operand, nbytes);
    if (compare != NULL) memcpy(&expected, compare, nbytes);
    switch (nbytes) {
    case 1:
        old.u8 = stp_amo_cpu8(element, op, value.u8, expected.u8, order);
        break;
    case 2:
        old.u16 = stp_amo_cpu16(element, op, value.u16, expected.u16, order);
        break;
    case 4:
        old.u32 = stp_amo_cpu32(element, op, value.u32, expected.u32, order);
        break;
    default:
        old.u64 = stp_amo_cpu64(element, op, value.u64, expected.u64, order);
    }
    if (result != NULL) memcpy(result, &old, nbytes);
}

#endif /* STP_CPU_AMO_H */
