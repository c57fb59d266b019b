/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls any of the twelve routines that wait for or test several int objects (OpenSHMEM 1.6,
 * section 9.11), selected by an enum, through one function.
 */
#ifndef STEPPE_TEST_PE_WAIT_H
#define STEPPE_TEST_PE_WAIT_H

#include <pshmem.h>
#include <shmem.h>

#include <stdbool.h>

enum wait_form {
    WAIT_ALL,
    WAIT_ANY,
    WAIT_SOME,
    WAIT_ALL_VECTOR,
    WAIT_ANY_VECTOR,
    WAIT_SOME_VECTOR,
    TEST_ALL,
    TEST_ANY,
    TEST_SOME,
    TEST_ALL_VECTOR,
    TEST_ANY_VECTOR,
    TEST_SOME_VECTOR,
    WAIT_N_FORMS,
    WAIT_TESTS = TEST_ALL,
    WAIT_VECTORS = WAIT_ALL_VECTOR
};

static const char *const wait_name[WAIT_N_FORMS] = {"wait_until_all",
                                                    "wait_until_any",
                                                    "wait_until_some",
                                                    "wait_until_all_vector",
                                                    "wait_until_any_vector",
                                                    "wait_until_some_vector",
                                                    "test_all",
                                                    "test_any",
                                                    "test_some",
                                                    "test_all_vector",
                                                    "test_any_vector",
                                                    "test_some_vector"};

static inline bool wait_is_vector(enum wait_form form)
{
    return form % 6 >= 3;
}

static inline bool wait_is_all(enum wait_form form)
{
    return form % 3 == 0;
}

static inline bool wait_is_any(enum wait_form form)
{
    return form % 3 == 1;
}

static inline bool wait_is_some(enum wait_form form)
{
    return form % 3 == 2;
}

/* What the routine returns; 1 from those that return nothing. value, or values where a vector. */
static inline size_t wait_raw(enum wait_form form, int *ivars, size_t n, size_t *indices,
                              const int *status, int cmp, int value, const int *values)
{
    switch (form) {
    case WAIT_ALL:
        shmem_int_wait_until_all(ivars, n, status, cmp, value);
        return 1;
    case WAIT_ANY:
        return shmem_int_wait_until_any(ivars, n, status, cmp, value);
    case WAIT_SOME:
        return shmem_int_wait_until_some(ivars, n, indices, status, cmp, value);
    case WAIT_ALL_VECTOR:
        shmem_int_wait_until_all_vector(ivars, n, status, cmp, values);
        return 1;
    case WAIT_ANY_VECTOR:
        return shmem_int_wait_until_any_vector(ivars, n, status, cmp, values);
    case WAIT_SOME_VECTOR:
        return shmem_int_wait_until_some_vector(ivars, n, indices, status, cmp, values);
    case TEST_ALL:
        return (size_t)shmem_int_test_all(ivars, n, status, cmp, value);
    case TEST_ANY:
        return shmem_int_test_any(ivars, n, status, cmp, value);
    case TEST_SOME:
        return shmem_int_test_some(ivars, n, indices, status, cmp, value);
    case TEST_ALL_VECTOR:
        return (size_t)shmem_int_test_all_vector(ivars, n, status, cmp, values);
    case TEST_ANY_VECTOR:
        return shmem_int_test_any_vector(ivars, n, status, cmp, values);
    case TEST_SOME_VECTOR:
        return shmem_int_test_some_vector(ivars, n, indices, status, cmp, values);
    default:
        return 0;
    }
}

/* What wait_raw() gives when there is nothing to wait for. */
static inline size_t wait_empty(enum wait_form form)
{
    if (wait_is_any(form)) return SIZE_MAX;
    return wait_is_all(form) ? 1 : 0;
}

/* How many elements the routine found, their positions in indices; all: those not left out. */
static inline size_t wait_call(enum wait_form form, int *ivars, size_t n, size_t *indices,
                               const int *status, int cmp, int value, const int *values)
{
    size_t got = wait_raw(form, ivars, n, indices, status, cmp, value, values), found = 0;

    if (wait_is_some(form)) return got;
    if (wait_is_any(form)) {
        indices[0] = got;
        return got == SIZE_MAX ? 0 : 1;
    }
    for (size_t i = 0; got == 1 && i < n; i++)
        if (status == NULL || status[i] == 0) indices[found++] = i;
    return found;
}

#endif
