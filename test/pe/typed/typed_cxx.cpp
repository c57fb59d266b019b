/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks the headers and the library from C++: C names, types, handles in static initializers,
 * complex numbers, overloads, and symmetric globals of the program. Overloads of each type are in
 * typed_cxx_link.tmpl.h and typed_cxx_amo.tmpl.h.
 */
#include <mpp/shmem.h>
#include <mpp/shmemx.h>
#include <pshmem.h>
#include <shmem.h>
#include <shmemx.h>

#include <complex>
#include <cstdio>
#include <cstring>
#include <limits>
#include <type_traits>

#define TYPED_CXX_(a, b, c) a##b##c
#define TYPED_CXX_NAME(a, b, c) TYPED_CXX_(a, b, c)
#define TYPED_CXX(head, tail) TYPED_CXX_NAME(head, NAME, tail)

namespace {

shmem_team_t no_team = SHMEM_TEAM_INVALID;
shmem_ctx_t default_ctx = SHMEM_CTX_DEFAULT;
shmem_space_t no_space = SHMEM_SPACE_INVALID;
long counter = 0; /* symmetric: a global of the executable */
int failures = 0;

void check(bool ok, const char *what)
{
    if (ok) return;
    failures++;
    std::fprintf(stderr, "pe %d: C++: failed: %s\n", shmem_my_pe(), what);
}

void typed(void *arena, shmem_ctx_t ctx, int right, int n_pes)
{
#define TEMPLATE "typed/typed_cxx_link.tmpl.h"
#include "gen/types_rma.h"
#undef TEMPLATE
#define TEMPLATE "typed/typed_cxx_amo.tmpl.h"
#include "gen/types_amo.h"
#undef TEMPLATE
}

bool holds(int cmp, int a, int b)
{
    switch (cmp) {
    case SHMEM_CMP_EQ: return a == b;
    case SHMEM_CMP_NE: return a != b;
    case SHMEM_CMP_LT: return a < b;
    case SHMEM_CMP_LE: return a <= b;
    case SHMEM_CMP_GT: return a > b;
    default: return a >= b;
    }
}

/* The waits and tests on arrays of short, which are Steppe's: every comparison. */
void shorts(void *arena)
{
    const int marks[2] = {0, 1};
    const short values[3] = {-32768, -1, 32767};
    short *s = static_cast<short *>(arena);
    unsigned short *u = static_cast<unsigned short *>(arena);
    size_t at[2] = {9, 9};

    for (int k = 0; k < 9; k++)
        for (int cmp = SHMEM_CMP_EQ; cmp <= SHMEM_CMP_GE; cmp++) {
            const short a = values[k / 3], b[2] = {values[k % 3], values[k % 3]};
            const unsigned short ub[2] = {static_cast<unsigned short>(b[0]), 0};
            const bool want = holds(cmp, a, b[0]);

            s[0] = s[1] = a;
            check(shmemx_short_test_all(s, 2, NULL, cmp, b[0]) == want,
                  "shmemx_short_test_all returned a wrong truth value");
            check(shmemx_short_test_some_vector(s, 2, at, marks, cmp, b) == want,
                  "shmemx_short_test_some_vector returned a wrong number");
            check((shmemx_ushort_test_any_vector(u, 2, marks, cmp, ub) == 0) ==
                      holds(cmp, u[0], ub[0]),
                  "shmemx_ushort_test_any_vector returned a wrong index");
            if (!want) continue;
            shmemx_short_wait_until_all_vector(s, 2, NULL, cmp, b);
            check(shmemx_short_wait_until_any(s, 2, marks, cmp, b[0]) == 0,
                  "shmemx_short_wait_until_any did not return 0");
            check(pshmemx_short_wait_until_some(s, 2, at, NULL, cmp, b[0]) == 2 && at[1] == 1,
                  "pshmemx_short_wait_until_some did not return both elements");
        }
    shmem_barrier_all();
}

void complex_sum(void *arena, int n_pes)
{
    typedef std::complex<double> number;
    number *value = new (arena) number(1.5, -2.0);
    shmem_impl_complexd *raw = reinterpret_cast<shmem_impl_complexd *>(value);

    shmem_barrier_all();
    check(shmem_complexd_sum_reduce(SHMEM_TEAM_WORLD, raw, raw, 1) == 0,
          "shmem_complexd_sum_reduce did not return 0");
    check(*value == number(1.5 * n_pes, -2.0 * n_pes),
          "shmem_complexd_sum_reduce has a wrong result");
    shmem_barrier_all();
}

void untyped(shmem_ctx_t ctx, uint64_t *sig, int right, int n_pes)
{
    shmem_ctx_signal_add(ctx, sig, 3, right);
    check(shmem_signal_wait_until(sig, SHMEM_CMP_EQ, 3) == 3,
          "signal_wait_until after ctx_signal_add did not return 3");
    check(shmem_sync(SHMEM_TEAM_WORLD) == 0, "shmem_sync(team) did not return 0");
    shmem_signal_add(ctx, sig, 4, right);
    shmem_signal_add(sig, 5, right);
    check(shmem_signal_wait_until(sig, SHMEM_CMP_EQ, 12) == 12,
          "signal_wait_until after both overloads of signal_add did not return 12");
    shmem_long_atomic_inc(&counter, 0);
    pshmem_barrier_all();
    check(shmem_long_atomic_fetch(&counter, 0) == n_pes,
          "atomic_inc by all PEs on a global of PE 0: the word is not the number of PEs");
    check(shmem_team_n_pes(no_team) == -1 && no_space == SHMEM_SPACE_INVALID,
          "SHMEM_TEAM_INVALID or SHMEM_SPACE_INVALID from a static initializer is wrong");
    check(std::strncmp(SHMEM_VENDOR_STRING, "Steppe ", 7) == 0,
          "SHMEM_VENDOR_STRING does not start with \"Steppe \"");
    check(std::strcmp(shmemx_version(), &SHMEM_VENDOR_STRING[7]) == 0,
          "shmemx_version() is not the version in SHMEM_VENDOR_STRING");
    shmem_ctx_quiet(ctx);
    shmem_barrier_all();
}

/* All PEs return the same: 2 when a check failed on any. */
int verdict(int *cell)
{
    cell[0] = failures != 0;
    shmem_barrier_all();
    shmem_int_max_reduce(SHMEM_TEAM_WORLD, cell + 1, cell, 1);
    return cell[1] != 0 ? 2 : 0;
}

} // namespace

int main()
{
    shmem_init();
    int n_pes = shmem_n_pes(), right = (shmem_my_pe() + 1) % n_pes;
    void *arena = shmem_calloc(1024, sizeof(long double));
    uint64_t *sig = static_cast<uint64_t *>(shmem_calloc(1, sizeof(uint64_t)));
    shmem_ctx_t ctx = default_ctx;

    if (arena == NULL || sig == NULL || shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx) != 0)
        shmem_global_exit(2);
    typed(arena, ctx, right, n_pes);
    shorts(arena);
    complex_sum(arena, n_pes);
    untyped(ctx, sig, right, n_pes);
    int status = verdict(static_cast<int *>(arena));
    shmem_ctx_destroy(ctx);
    shmem_finalize();
    return status;
}
