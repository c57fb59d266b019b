/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A libpmix.so.2 that is a test double. Its replies and the requests that it got are in a block of
 * memory that the test passes to double_use(). One process plays one rank.
 */
#ifndef STP_TEST_PMIX_DOUBLE_H
#define STP_TEST_PMIX_DOUBLE_H

#include "pmi/pmix_api.h"

enum double_call {
    DOUBLE_INIT = 1,
    DOUBLE_FINALIZE,
    DOUBLE_ABORT,
    DOUBLE_PUT,
    DOUBLE_COMMIT,
    DOUBLE_FENCE,
    DOUBLE_GET,
};

/* One answer of PMIx_Get. */
struct double_answer {
    uint32_t rank;
    char key[64];
    uint16_t type; /* 0: no such key; a text is answered for STP_PMIX_STRING, else number */
    bool null;     /* success without a value, or a text that is none */
    uint32_t number;
    char text[2048];
};

struct double_pmix {
    /* What it answers. */
    struct stp_pmix_proc self;
    enum double_call fails; /* this call fails with rc */
    int rc;
    bool hangs; /* PMIx_Abort never returns */
    struct double_answer answers[512];
    size_t n_answers;

    /* What it was asked. */
    int n_init, n_finalize, n_fence, n_commit, n_put, n_get, n_free;
    int abort_status; /* -1: none */
    char abort_text[256];
    char complaint[128]; /* the first misuse seen; empty: none */
};

typedef void (*double_use_fn)(struct double_pmix *block);

#endif /* STP_TEST_PMIX_DOUBLE_H */
