/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fake CUDA driver, a test double and never evidence about a GPU: the host twins of the kernels in
 * test/gpu/kernels.cu, which describes them. Only a run on a GPU can show that a twin and its
 * kernel do the same.
 */
#include "fake.h"

#include <sched.h>
#include <string.h>

typedef _Atomic(uint64_t) word;

/* Parameter i, as a number and as the memory of n words there. */
static uint64_t number(void *const *params, int i)
{
    return *(const uint64_t *)params[i];
}

static word *words(const struct fakecuda_launch *launch, void *const *params, int i, uint64_t n)
{
    CUdeviceptr address = number(params, i);

    if (address % 8 != 0 || n > SIZE_MAX / 8) return NULL;
    return launch->memory(address, n * 8);
}

/* How often it looked until the word was value, 0 when it gave up. */
static uint64_t wait_for(word *at, uint64_t value, uint64_t limit)
{
    for (uint64_t n = 1; n <= limit; n++) {
        if (atomic_load_explicit(at, memory_order_acquire) == value) return n;
        sched_yield(); /* whoever changes it may want this core */
    }
    return 0;
}

static CUresult spin(const struct fakecuda_launch *launch, void *const *params)
{
    word *at = words(launch, params, 0, 1);
    word *looks = words(launch, params, 3, 1);

    if (!at || !looks) return CUDA_ERROR_ILLEGAL_ADDRESS;
    atomic_store(looks, wait_for(at, number(params, 1), number(params, 2)));
    return CUDA_SUCCESS;
}

static CUresult copy(const struct fakecuda_launch *launch, void *const *params)
{
    uint64_t n = number(params, 2);
    word *dest = words(launch, params, 0, n);
    word *source = words(launch, params, 1, n);

    if (n == 0) return CUDA_SUCCESS;
    if (!dest || !source) return CUDA_ERROR_ILLEGAL_ADDRESS;
    for (uint64_t i = 0; i < n; i++)
        atomic_store_explicit(&dest[i], atomic_load_explicit(&source[i], memory_order_relaxed),
                              memory_order_relaxed);
    return CUDA_SUCCESS;
}

static CUresult add(const struct fakecuda_launch *launch, void *const *params)
{
    uint64_t n_threads = (uint64_t)launch->grid[0] * launch->block[0];
    word *at = words(launch, params, 0, 1);

    if (!at) return CUDA_ERROR_ILLEGAL_ADDRESS;
    for (uint64_t i = 0; i < n_threads * number(params, 2); i++)
        atomic_fetch_add_explicit(at, number(params, 1), memory_order_relaxed);
    return CUDA_SUCCESS;
}

static CUresult poll_signal(const struct fakecuda_launch *launch, void *const *params)
{
    uint64_t value = number(params, 1);
    uint64_t n = number(params, 4);
    word *signal = words(launch, params, 0, 1);
    word *data = words(launch, params, 3, n);
    word *sum = words(launch, params, 5, 1);
    word *answer = words(launch, params, 6, 1);
    uint64_t total = 0;

    if (!signal || (n > 0 && !data) || !sum || !answer) return CUDA_ERROR_ILLEGAL_ADDRESS;
    if (wait_for(signal, value, number(params, 2)) == 0) {
        atomic_store(answer, 0);
        return CUDA_SUCCESS;
    }
    for (uint64_t i = 0; i < n; i++)
        total += atomic_load_explicit(&data[i], memory_order_relaxed);
    atomic_store(sum, total);
    atomic_store(answer, value);
    return CUDA_SUCCESS;
}

fakecuda_twin fake_twin_builtin(const char *name)
{
    static const struct {
        const char *name;
        fakecuda_twin twin;
    } builtin[] = {{"stp_test_spin", spin},
                   {"stp_test_copy", copy},
                   {"stp_test_add", add},
                   {"stp_test_poll", poll_signal}};

    for (size_t i = 0; i < sizeof(builtin) / sizeof(builtin[0]); i++)
        if (strcmp(builtin[i].name, name) == 0) return builtin[i].twin;
    return fake_twin_handle(name);
}
