/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The raw module of steppe-bench implements the raw side on the fabric. It calls libfabric
 * directly. The module is a separate shared object, so that steppe-bench does not load libfabric in
 * jobs on one node. The module does not use OpenSHMEM. Therefore steppe-bench itself exchanges the
 * addresses of the PEs' memory (struct raw_ofi_card). Design: docs/design/bench.md.
 */
#ifndef STEPPE_BENCH_RAW_OFI_H
#define STEPPE_BENCH_RAW_OFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RAW_OFI_ABI 5u
#define RAW_OFI_ADDRESS_MAX 256
#define RAW_OFI_ENTRY "steppe_bench_raw_ofi_open"
#define RAW_OFI_ASK "steppe_bench_raw_ofi_ask"

/* What a PE must know about another PE before it can access the memory of that PE. */
struct raw_ofi_card {
    unsigned char address[RAW_OFI_ADDRESS_MAX];
    uint64_t address_len;
    /*
     * Address of the memory of the PE. Other PEs add an offset to this address. It is 0 if the
     * provider addresses the memory by offsets only.
     */
    uint64_t base;
    uint64_t key;
};

/* Arguments for opening the module. */
struct raw_ofi_request {
    uint32_t abi;
    int me, n_pes;
    size_t nbytes; /* size in bytes of the memory that the module registers */
    /* Names that the info of libfabric must have. */
    const char *provider, *fabric, *domain;
    /* Whether PEs share cores. If so, each poll without a result calls sched_yield(). */
    bool yields;
    void (*fatal)(const char *text) __attribute__((noreturn));
};

/* Atomic operations. In a fetching atomic, RAW_OFI_WRITE is a swap. */
enum raw_ofi_op {
    RAW_OFI_NONE,
    RAW_OFI_ADD,
    RAW_OFI_XOR,
    RAW_OFI_READ,
    RAW_OFI_WRITE,
    RAW_OFI_CSWAP
};

struct raw_ofi {
    char provider[64], fabric[64], domain[64];
    /* Whether store() is an atomic write. Without such an atomic, store() is a plain write. */
    bool atomic_stores;
    char *memory; /* memory of this PE, registered for local and remote access */
    struct raw_ofi_card card;

    /* Connects this PE to all PEs. cards[pe] is the card of PE pe. Returns 0 or -errno. */
    int (*connect)(const struct raw_ofi_card *cards);

    /* Starts a put to an offset in the memory of PE pe. `local` must be in this PE's `memory`. */
    void (*put)(int pe, size_t offset, const void *local, size_t nbytes);
    /* Starts a get from an offset in the memory of PE pe. `local` must be in this PE's `memory`. */
    void (*get)(int pe, size_t offset, void *local, size_t nbytes);
    /*
     * Returns whether the provider has an atomic on 4 or 8 bytes, as atomic() or as fetch_atomic()
     * (fetches). For atomic(), the provider must also have fetch_add(), which flushes atomics.
     */
    bool (*has_atomic)(enum raw_ofi_op op, size_t nbytes, bool fetches);
    /*
     * Starts an atomic on 4 or 8 bytes. wait() does not wait for this atomic, because it has no
     * completion. The provider must have this atomic.
     */
    void (*atomic)(int pe, size_t offset, enum raw_ofi_op op, size_t nbytes, uint64_t value);
    /* Starts a fetching atomic on 4 or 8 bytes. The provider must have this atomic. */
    void (*fetch_atomic)(int pe, size_t offset, enum raw_ofi_op op, size_t nbytes, uint64_t value,
                         uint64_t compare);
    void (*fetch_add)(int pe, size_t offset, uint64_t value);
    /*
     * Stores 8 bytes at an offset in the memory of PE pe. wait() does not wait for this store,
     * because it has no completion.
     */
    void (*store)(int pe, size_t offset, uint64_t value);

    /*
     * Waits for all operations that have a completion. The data of all puts is then visible at the
     * target.
     */
    void (*wait)(void);
    /*
     * Polls the completion queue once. This also makes progress on operations that peers have
     * started.
     */
    void (*poll)(void);
    void (*close)(void);
};

/* Opens the module and fills in *raw. Returns 0, or -errno with the reason in `reason`. */
typedef int (*raw_ofi_open_fn)(const struct raw_ofi_request *request, struct raw_ofi *raw,
                               char *reason, size_t len);
int steppe_bench_raw_ofi_open(const struct raw_ofi_request *request, struct raw_ofi *raw,
                              char *reason, size_t len);

/*
 * Asks libfabric once for the infos of a provider, with the capabilities that a job needs. Returns
 * 0 or -errno.
 */
typedef int (*raw_ofi_ask_fn)(const char *provider);

#endif /* STEPPE_BENCH_RAW_OFI_H */
