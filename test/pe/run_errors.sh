#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Run every misuse of errors.c and check how the job ends: nonzero status, quickly, and one line on
# stderr that names the PE, the routine and what was wrong.
#
# usage: run_errors.sh PROGRAM NP LAUNCHER [ARGUMENT...]
#        LAUNCHER ARGUMENT... -n NP PROGRAM <misuse> is what is run; the environment is passed on.
set -u

if [ $# -lt 3 ]; then
    sed -n '6,7p' "$0" >&2
    exit 2
fi
program=$1 np=$2
shift 2
launcher=("$@")
limit=20        # seconds; a misuse that takes longer has hung the job
last=$((np - 1))
failed=0
if [ ! -x "$program" ]; then
    echo "$program is no program" >&2
    exit 2
fi
out=$(mktemp)
trap 'rm -f "$out"' EXIT

fail()
{
    echo "FAIL $1: $2" >&2
    { head -12 "$out" | sed 's/^/    /'; echo; } >&2
    failed=1
}

# expect MISUSE PE ROUTINE TEXT [VARIABLE=VALUE...]: PE is a number, or "any"; TEXT is a regular
# expression that the rest of the line must match.
expect()
{
    local misuse=$1 pe=$2 routine=$3 text=$4 status who
    shift 4
    env "$@" timeout -k 5 $limit "${launcher[@]}" -n "$np" "$program" "$misuse" \
        >"$out" 2>&1 </dev/null
    status=$?
    who="pe $pe "
    [ "$pe" = any ] && who='(pe [0-9]+ )?'
    if [ $status -eq 124 ] || [ $status -eq 137 ]; then
        fail "$misuse" "the job did not end in $limit seconds"
    elif [ $status -eq 0 ]; then
        fail "$misuse" "the job ended with status 0"
    elif grep -q survived "$out"; then
        fail "$misuse" "the call came back"
    elif ! grep -Eq "^steppe: ${who}\([^)]*\): ${routine}: .*${text}" "$out"; then
        fail "$misuse" "no line \"steppe: ${who}(host): $routine: ...$text...\" (status $status)"
    else
        echo "ok   $misuse (status $status)"
    fi
}

# PE numbers: the bad one and the range are named.
expect pe_high      $last shmem_long_p               "pe.* $np.*$last"
expect pe_negative  $last shmem_putmem               "pe.* -1.*$last"
expect get_pe       $last shmem_long_g               "pe.* $((np + 1000)).*$last"
expect amo_pe       $last shmem_long_atomic_fetch_add "pe.* $np.*$last"
expect signal_pe    $last shmem_signal_set           "pe.* -7.*$last"

# Addresses: the argument is named and why it is none.
expect put_stack    $last shmem_long_put             "dest 0x[0-9a-f]+ .*not symmetric"
expect get_malloc   $last shmem_long_get             "source 0x[0-9a-f]+ .*not symmetric"
expect put_null     $last shmem_putmem               "dest .*not symmetric"
expect amo_stack    $last shmem_int_atomic_inc       "dest 0x[0-9a-f]+ .*not symmetric"
expect signal_malloc $last shmem_putmem_signal       "sig_addr 0x[0-9a-f]+ .*not symmetric"
expect unaligned_amo $last shmem_long_atomic_inc     "not aligned to 8"        SHMEM_CHECK=1
expect beyond_block $last shmem_long_put             "dest .*past its allocation" SHMEM_CHECK=1
expect beyond_space $last shmem_getmem               "source .*past"           SHMEM_CHECK=1
expect freed_block  any   shmem_long_p               "no live allocation"      SHMEM_CHECK=1
expect overflow     $last shmem_long_put             "elements of 8 bytes"

# The heap.
expect double_free      any shmem_free               "ptr 0x[0-9a-f]+ .*freed before"
expect free_interior    any shmem_free               "ptr 0x[0-9a-f]+ is 8 bytes inside"
expect free_foreign     any shmem_free               "ptr 0x[0-9a-f]+ .*not allocated from"
expect free_other_space any shmem_space_free         "ptr 0x[0-9a-f]+ belongs to space"
expect bad_alignment    any shmem_align              "alignment is 24"
if [ "$np" -gt 1 ]; then
    expect malloc_differs any shmem_malloc           "differ between PEs"      SHMEM_CHECK=1
fi

# Teams, contexts, operators.
expect invalid_team $last shmem_long_sum_reduce      "SHMEM_TEAM_INVALID"
expect invalid_sync $last shmem_team_sync            "SHMEM_TEAM_INVALID"
expect bad_root     any   shmem_long_broadcast       "root.* $np"
expect coll_stack   any   shmem_long_fcollect        "dest 0x[0-9a-f]+ .*not symmetric" SHMEM_CHECK=1
expect destroy_world any  shmem_team_destroy         "predefined"
expect destroy_ctx  $last shmem_ctx_destroy          "SHMEM_CTX_DEFAULT"
expect stale_ctx    $last shmem_ctx_long_p           "context is not live"
expect destroy_ctx_twice $last shmem_ctx_destroy     "not live"
[ "$np" -gt 1 ] && expect reduce_stack any shmem_long_sum_reduce "dest 0x[0-9a-f]+ .*not symmetric"
expect signal_beyond $last shmem_putmem_signal       "dest .*past its allocation" SHMEM_CHECK=1
expect invalid_ctx  $last shmem_ctx_long_p           "SHMEM_CTX_INVALID"
expect bad_cmp      $last shmem_long_wait_until      "99"
expect bad_sig_op   $last shmem_putmem_signal        "sig_op is 77"
expect bad_stride   $last shmem_long_iput            "dst is 0"

# Locks.
expect lock_stack     $last shmem_set_lock           "lock 0x[0-9a-f]+ .*not symmetric"
expect lock_unaligned $last shmem_test_lock          "lock 0x[0-9a-f]+ is not aligned to 8"
expect lock_twice     $last shmem_set_lock           "held by this thread already"
expect clear_free     $last shmem_clear_lock         "not held by this PE"

# Life and environment.
expect before_init      any shmem_malloc             "before shmem_init"
expect put_before_init  any shmem_long_p             "before shmem_init"
expect barrier_before_init any shmem_barrier_all     "before shmem_init"
expect after_finalize   any shmem_barrier_all        "after shmem_finalize"
for size in -5 nan 1e99g many ''; do
    expect good any "SHMEM_SYMMETRIC_SIZE is '$size'" "expected" SHMEM_SYMMETRIC_SIZE="$size"
done

exit $((failed * 2))
