/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The raw fabric side of steppe-bench: a plain libfabric program behind a table of functions, in
 * a module of its own so that runs on one node never load libfabric. Knows nothing of OpenSHMEM;
 * the program carries the cards between the PEs. Design: docs/design/bench.md.
 */
#ifndef STEPPE_BENCH_RAW_OFI_H
#define STEPPE_BENCH_RAW_OFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RAW_OFI_ABI 4u
#define RAW_OFI_ADDRESS_MAX 256
#define RAW_OFI_ENTRY "steppe_bench_raw_ofi_open"

/* What the other PEs must know of one. */
struct raw_ofi_card {
    unsigned char address[RAW_OFI_ADDRESS_MAX];
    uint64_t address_len;
    uint64_t base; /* added to offsets: 0 with offset addressing */
    uint64_t key;
};

/* What the program asks for. provider, fabric, domain: as libfabric names them, NULL: any. */
struct raw_ofi_request {
    uint32_t abi;
    int me, n_pes;
    size_t nbytes; /* of memory to register */
    const char *provider, *fabric, *domain;
    bool yields; /* more PEs than cores: let others run whenever a poll finds nothing */
    void (*fatal)(const char *text) __attribute__((noreturn));
};

/* WRITE that fetches is a swap. */
enum raw_ofi_op { RAW_OFI_ADD, RAW_OFI_XOR, RAW_OFI_READ, RAW_OFI_WRITE, RAW_OFI_CSWAP };

struct raw_ofi {
    char provider[64], domain[64];
    bool atomics; /* the provider has them; without, stores are plain writes */
    char *memory; /* registered, for local and remote use */
    struct raw_ofi_card card;

    /* Learn everybody's card, by PE. 0 or -errno. */
    int (*connect)(const struct raw_ofi_card *cards);

    /* Start one operation; offset is into the memory of PE pe. local lies in memory. */
    void (*put)(int pe, size_t offset, const void *local, size_t nbytes);
    void (*get)(int pe, size_t offset, void *local, size_t nbytes);
    /* On a word of 4 or 8 bytes, if there are atomics; only the fetching one has a completion. */
    void (*atomic)(int pe, size_t offset, enum raw_ofi_op op, size_t nbytes, uint64_t value);
    void (*fetch_atomic)(int pe, size_t offset, enum raw_ofi_op op, size_t nbytes, uint64_t value,
                         uint64_t compare);
    void (*fetch_add)(int pe, size_t offset, uint64_t value);
    /* 8 bytes; value is copied and no completion comes. */
    void (*store)(int pe, size_t offset, uint64_t value);

    void (*wait)(void); /* until all that was started is complete: puts visible at the target */
    void (*poll)(void); /* serve peers once */
    void (*close)(void);
};

/* Open provider, endpoint and memory. Returns 0 and fills *raw, or -errno and says why. */
typedef int (*raw_ofi_open_fn)(const struct raw_ofi_request *request, struct raw_ofi *raw,
                               char *why, size_t len);
int steppe_bench_raw_ofi_open(const struct raw_ofi_request *request, struct raw_ofi *raw, char *why,
                              size_t len);

#endif /* STEPPE_BENCH_RAW_OFI_H */
