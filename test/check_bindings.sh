#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Compiles small programs that must compile in C and C++ of several standards, and programs that
# must be rejected as C11, with each given compiler that is installed. No program is linked or run.
# Exits with 2 after a failure.
#
# usage: check_bindings.sh SOURCE-DIR COMPILER...
set -u
include=$1/include
shift
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0
strict=(-Wall -Wextra -Werror -pedantic -Wno-unused -I"$include" -fsyntax-only)

compile() # LANGUAGE-OPTION... ; the program is in $dir/program
{
    "$compiler" "$@" "${strict[@]}" "$dir/program" >"$dir/log" 2>&1
}

complain()
{
    echo "check_bindings: $compiler: the program $1 $2; the compiler printed:" >&2
    head -12 "$dir/log" | sed 's/^/    /' >&2
    failed=1
}

# good STANDARD... NAME CODE: compiles as each of these.
good()
{
    local standards=("${@:1:$#-2}") name=${*: -2:1} standard language
    printf '#include <shmem.h>\n%s\n' "${*: -1}" >"$dir/program"
    for standard in "${standards[@]}"; do
        language=c
        case $standard in *++*) language=c++ ;; esac
        compile -x $language -std="$standard" ||
            complain "$name" "must compile as $standard, but does not"
    done
}

# bad NAME CODE: is no C11, and nothing else is wrong with it.
bad()
{
    printf '#include <shmem.h>\n%s\n' "$2" >"$dir/program"
    if compile -x c -std=c11; then complain "$1" "must be rejected as C11, but compiles"; fi
    grep -q 'No such file' "$dir/log" && complain "$1" "is no test, because a header is missing"
}

all=(c99 c11 c2x c++11 c++20)
c11=(c11 gnu17)

check()
{
    # R251, R252: every header alone and twice, in either language.
    good "${all[@]}" headers '#include <shmemx.h>
        #include <pshmem.h>
        #include <mpp/shmem.h>
        #include <mpp/shmemx.h>
        #include <shmem.h>
        int f(void); int f(void) { shmem_init(); return SHMEM_MAJOR_VERSION; }'
    good "${all[@]}" typed_calls 'void f(shmem_ctx_t ctx, long *l, const long *s, uint64_t *g);
        void f(shmem_ctx_t ctx, long *l, const long *s, uint64_t *g) {
            shmem_long_put(l, s, 1, 0); shmem_ctx_long_p(ctx, l, *s, 0);
            shmem_long_wait_until(l, SHMEM_CMP_GE, 1); shmem_ctx_quiet(ctx);
            shmem_signal_add(g, 1, 0); shmem_ctx_signal_set(ctx, g, 1, 0); }'
    # R216: the C function, where no generic stands before it.
    good "${all[@]}" wait_until_long 'void f(long *l); void f(long *l) {
        shmem_wait_until(l, SHMEM_CMP_NE, 0L); shmem_wait(l, 0L); }'
    good "${all[@]}" wait_until_pointer \
        '#include <pshmem.h>
        void (*const waits[2])(long *, int, long) = {shmem_wait_until, pshmem_wait_until};'
    # R257: labels, dimensions, enumerators, conditions of the preprocessor.
    good "${all[@]}" operators 'enum e { A = SHMEM_CMP_LT }; extern int a[SHMEM_SIGNAL_ADD];
        #if SHMEM_CMP_GE < 0 || SHMEM_SIGNAL_SET == 77
        #error never
        #endif
        int f(int); int f(int i) { switch (i) { case SHMEM_CMP_EQ: return 0; case SHMEM_CMP_NE:
            return 1; case SHMEM_CMP_GT: case SHMEM_CMP_GE: case SHMEM_CMP_LE: return 2;
            case A: return 3; } return a[0]; }'
    # R124, R183: bitwise names reach int and long as int32_t and int64_t.
    good "${c11[@]}" bitwise_int_long 'void f(int *i, long *l, shmem_ctx_t ctx);
        void f(int *i, long *l, shmem_ctx_t ctx) {
            shmem_atomic_and(i, 1, 0); shmem_atomic_fetch_xor(ctx, l, 1, 0);
            shmem_and_reduce(SHMEM_TEAM_WORLD, i, i + 8, 1);
            shmem_or_reduce(SHMEM_TEAM_WORLD, l, l + 8, 1); }'
    good "${c11[@]}" old_generics 'double f(int *i, double *d); double f(int *i, double *d) {
        shmem_add(i, 1, 0); shmem_inc(i, 0); shmem_set(d, 1, 0);
        return shmem_swap(d, 2, 0) + shmem_fetch(d, 0) + shmem_cswap(i, 1, 2, 0) +
               shmem_fadd(i, 1, 0) + shmem_finc(i, 0); }'
    # R253, R255.
    good "${c11[@]}" selection 'static long a[3]; const long s[3] = {1};
        void f(const shmem_ctx_t ctx); void f(const shmem_ctx_t ctx) {
            shmem_put(a, s, 3, 0); shmem_put(ctx, a + 1, (const long[]){1, 2}, 2, 0);
            shmem_p(a, 7, 0); shmem_p(ctx, &a[1], (char)7, 0); shmem_get(a, s, 3, 0); }'

    # Steppe's: short on arrays, by the generics and by name.
    good "${c11[@]}" short_arrays 'size_t f(short *s, unsigned short *u, size_t *at);
        size_t f(short *s, unsigned short *u, size_t *at) {
            const int marks[2] = {0, 1}; const unsigned short values[2] = {1, 2};
            shmem_wait_until_all(s, 2, NULL, SHMEM_CMP_EQ, 1);
            shmem_wait_until_all_vector(u, 2, marks, SHMEM_CMP_NE, values);
            if (shmem_test_all(s, 2, marks, SHMEM_CMP_LT, -1)) return 0;
            return shmem_wait_until_any(u, 2, NULL, SHMEM_CMP_LE, 1) +
                   shmem_test_any_vector(u, 2, marks, SHMEM_CMP_GT, values) +
                   shmem_wait_until_some(s, 2, at, marks, SHMEM_CMP_GE, 1) +
                   shmem_test_some(s, 2, at, NULL, SHMEM_CMP_GE, 1); }'
    good "${all[@]}" short_arrays_by_name 'size_t f(short *s, unsigned short *u, size_t *at);
        size_t f(short *s, unsigned short *u, size_t *at) {
            shmemx_short_wait_until_all(s, 2, NULL, SHMEM_CMP_EQ, 1);
            return shmemx_ushort_test_some(u, 2, at, NULL, SHMEM_CMP_GE, 1); }'

    bad bitwise_longlong 'void f(long long *p) { shmem_atomic_and(p, 1, 0); }'
    bad bitwise_double 'void f(double *p) { shmem_atomic_or(p, 1, 0); }'
    bad add_float 'void f(float *p) { shmem_atomic_add(p, 1, 0); }'
    bad compare_swap_double 'double f(double *p) { return shmem_atomic_compare_swap(p, 1, 2, 0); }'
    bad and_reduce_longlong \
        'void f(long long *p) { shmem_and_reduce(SHMEM_TEAM_WORLD, p, p + 8, 1); }'
    bad xor_reduce_char 'void f(char *p) { shmem_xor_reduce(SHMEM_TEAM_WORLD, p, p + 8, 1); }'
    bad max_reduce_complex \
        'void f(double _Complex *p) { shmem_max_reduce(SHMEM_TEAM_WORLD, p, p + 8, 1); }'
    bad wait_any_char \
        'size_t f(char *p) { return shmem_wait_until_any(p, 1, (int *)0, SHMEM_CMP_EQ, 0); }'
    bad wait_all_short_name \
        'void f(short *p) { shmem_short_wait_until_all(p, 1, (int *)0, SHMEM_CMP_EQ, 0); }'
    bad wait_double 'void f(double *p) { shmem_wait_until(p, SHMEM_CMP_EQ, 0); }'
    bad old_wait_ushort 'void f(unsigned short *p) { shmem_ushort_wait(p, 0); }'
    bad put_struct 'struct s { int i; }; void f(struct s *p) { shmem_put(p, p, 1, 0); }'
    bad put_void 'void f(void *p) { shmem_put(p, p, 1, 0); }'
    bad old_add_unsigned 'void f(unsigned *p) { shmem_add(p, 1u, 0); }'
    bad old_ctx 'void f(shmem_ctx_t ctx, int *p) { shmem_add(ctx, p, 1, 0); }'
    bad quiet_ctx 'void f(shmem_ctx_t ctx) { shmem_quiet(ctx); }'
    bad fence_ctx 'void f(shmem_ctx_t ctx) { shmem_fence(ctx); }'
    bad pe_quiet_ctx 'void f(shmem_ctx_t ctx, int *p) { shmem_pe_quiet(ctx, p, 1); }'
    bad add_nbi 'void f(long *p) { shmem_long_atomic_add_nbi(p, 1, 0); }'
    bad iputmem 'void f(char *p) { shmem_iputmem(p, p + 8, 1, 1, 1, 0); }'
    bad team_barrier 'void f(void) { shmem_team_barrier(SHMEM_TEAM_WORLD); }'
    bad udcflush 'void f(void) { shmem_udcflush(); }'
    bad alltoall_alias 'int a = _SHMEM_ALLTOALL_SYNC_SIZE;'
    bad sync_size_alias 'int a = _SHMEM_SYNC_SIZE;'
    bad team_for_ctx 'void f(long *p) { shmem_ctx_long_p(SHMEM_TEAM_WORLD, p, 1, 0); }'
}

for compiler in "$@"; do
    command -v "$compiler" >/dev/null || continue
    check
    echo "$compiler: checked"
done

exit $((failed * 2))
