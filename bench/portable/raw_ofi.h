/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The raw fabric side of steppe-bench: a plain libfabric program behind a table of functions. It is
 * a separate module, so that runs on one node never load libfabric. It does not use OpenSHMEM; the
 * program exchanges the cards between PEs. Design: docs/design/bench.md.
 */
#ifndef STEPPE_BENCH_RAW_OFI_H
#define STEPPE_BENCH_RAW_OFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RAW_OFI_ABI 4u
#define RAW_OFI_ADDRESS_MAX 256
#define RAW_OFI_ENTRY "steppe_bench_raw_ofi_open"

/* The data that other PEs need in order to access the memory of a PE. */
struct raw_ofi_card {
    unsigned char address[RAW_OFI_ADDRESS_MAX];
    uint64_t address_len;
    uint64_t base; /* address that is added to offsets; 0 with offset addressing */
    uint64_t key;
};

/* The request of the program. A provider, fabric or domain has libfabric's name; NULL means any. */
struct raw_ofi_request {
    uint32_t abi;
    int me, n_pes;
    size_t nbytes; /* bytes of memory to register */
    const char *provider, *fabric, *domain;
    bool yields; /* whether to yield after a poll that finds nothing, if cores are few */
    void (*fatal)(const char *text) __attribute__((noreturn));
};

/* Atomic operations. RAW_OFI_WRITE is a swap if the operation fetches. */
enum raw_ofi_op { RAW_OFI_ADD, RAW_OFI_XOR, RAW_OFI_READ, RAW_OFI_WRITE, RAW_OFI_CSWAP };

struct raw_ofi {
    char provider[64], domain[64];
    bool atomics; /* whether the provider has atomics; otherwise stores are plain writes */
    char *memory; /* memory registered for local and remote use */
    struct raw_ofi_card card;

    /* Connects to all PEs by their cards, in PE order. Returns 0 or -errno. */
    int (*connect)(const struct raw_ofi_card *cards);

    /* Start one operation at an offset in PE pe's memory. local must be inside this PE's memory. */
    void (*put)(int pe, size_t offset, const void *local, size_t nbytes);
    void (*get)(int pe, size_t offset, void *local, size_t nbytes);
    /* Start an atomic on 4 or 8 bytes, if atomics is true. Only atomic() has no completion. */
    void (*atomic)(int pe, size_t offset, enum raw_ofi_op op, size_t nbytes, uint64_t value);
    void (*fetch_atomic)(int pe, size_t offset, enum raw_ofi_op op, size_t nbytes, uint64_t value,
                         uint64_t compare);
    void (*fetch_add)(int pe, size_t offset, uint64_t value);
    /* Stores 8 bytes. value is copied, and there is no completion. */
    void (*store)(int pe, size_t offset, uint64_t value);

    /* Waits for all completions; puts are then visible at the target. */
    void (*wait)(void);
    void (*poll)(void); /* polls once, which also serves peers */
    void (*close)(void);
};

/* Opens provider, endpoint and memory. Returns 0 and fills *raw, or -errno and a reason in why. */
typedef int (*raw_ofi_open_fn)(const struct raw_ofi_request *request, struct raw_ofi *raw,
                               char *why, size_t len);
int steppe_bench_raw_ofi_open(const struct raw_ofi_request *request, struct raw_ofi *raw, char *why,
                              size_t len);

#endif /* STEPPE_BENCH_RAW_OFI_H */
