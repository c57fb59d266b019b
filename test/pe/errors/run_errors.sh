#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs errors.c with each misuse. The job must end with a nonzero status within the time limit, and
# one line on stderr must have the PE, the routine and the error. Misuses that are only reported
# must leave the status 0.
#
# usage: run_errors.sh PROGRAM NP LAUNCHER [ARGUMENT...]
#   runs LAUNCHER ARGUMENT... -n NP PROGRAM <misuse>, with the environment of this script
set -u
. "$(dirname "$0")/../job.sh"

# expect MISUSE PE ROUTINE TEXT [VARIABLE=VALUE...]: PE is a number, or "any"; TEXT is a regular
# expression that the rest of the line must match.
expect()
{
    local misuse=$1 pe=$2 routine=$3 text=$4 who
    shift 4
    job "$misuse" "$@" -- "$misuse" || return
    who="pe $pe "
    [ "$pe" = any ] && who='(pe [0-9]+ )?'
    if [ $status -eq 0 ]; then
        fail "$misuse" "the job ended with status 0, expected the misuse to end it"
    elif grep -q survived "$out"; then
        fail "$misuse" "the misused call returned, expected the job to end"
    elif ! grep -Eq "^steppe: ${who}\([^)]*\): ${routine}: .*${text}" "$out"; then
        fail "$misuse" "no line matches \"steppe: ${who}(host): $routine: ...$text...\" (status $status)"
    else
        echo "ok   $misuse (status $status)"
    fi
}

# told MISUSE LINES ROUTINE TEXT [VARIABLE=VALUE...]: the job goes on, and so many lines match.
told()
{
    local misuse=$1 lines=$2 routine=$3 text=$4 n
    shift 4
    job "$misuse" "$@" -- "$misuse" || return
    n=$(grep -Ec "^steppe: pe [0-9]+ \([^)]*\): ${routine}: .*${text}" "$out")
    if [ $status -ne 0 ]; then
        fail "$misuse" "the job ended with status $status, expected 0: this misuse is only reported"
    elif [ "$n" -ne "$lines" ]; then
        fail "$misuse" "$n lines match \"$routine: ...$text...\", expected $lines"
    else
        echo "ok   $misuse ($n lines)"
    fi
}

# PE numbers: the bad one and the range are named.
expect pe_high      $last shmem_long_p               "pe.* $np.*$last"
expect pe_negative  $last shmem_putmem               "pe.* -1.*$last"
expect get_pe       $last shmem_long_g               "pe.* $((np + 1000)).*$last"
expect amo_pe       $last shmem_long_atomic_fetch_add "pe.* $np.*$last"
expect signal_pe    $last shmem_signal_set           "pe.* -7.*$last"
expect pe_quiet     $last shmem_pe_quiet              "pe.* $np.*$last"
expect session      $last shmem_ctx_session_start     "config is NULL"

# Addresses: the argument is named and why it is none.
expect put_stack    $last shmem_long_put             "dest 0x[0-9a-f]+ .*not symmetric"
expect get_malloc   $last shmem_long_get             "source 0x[0-9a-f]+ .*not symmetric"
expect put_null     $last shmem_putmem               "dest .*not symmetric"
expect amo_stack    $last shmem_int_atomic_inc       "dest 0x[0-9a-f]+ .*not symmetric"
expect signal_malloc $last shmem_putmem_signal       "sig_addr 0x[0-9a-f]+ .*not symmetric"
expect unaligned_amo $last shmem_long_atomic_inc     "not aligned to 8"        SHMEM_CHECK=1
expect beyond_block $last shmem_long_put             "dest .*past its allocation" SHMEM_CHECK=1
expect beyond_space $last shmem_getmem               "source .*past"
far="with 8589934592 bytes reaches [0-9]+ bytes past the end of its space"
expect far_beyond_put    $last shmem_long_put        "dest 0x[0-9a-f]+ $far"
expect far_beyond_get    $last shmem_long_get_nbi    "source 0x[0-9a-f]+ $far"
expect far_beyond_global $last shmem_putmem          "dest 0x[0-9a-f]+ $far"
expect far_beyond_signal $last shmem_putmem_signal   "dest 0x[0-9a-f]+ $far"
expect far_beyond_rows   $last shmem_long_iput       "dest 0x[0-9a-f]+ .*past the end of its space"
many="with $((np * 8589934592)) bytes reaches [0-9]+ bytes past the end of its space"
expect far_beyond_fcollect any shmem_long_fcollect     "dest 0x[0-9a-f]+ $many"
expect far_beyond_collect any shmem_long_collect       "dest 0x[0-9a-f]+ $many"
expect far_beyond_alltoall any shmem_alltoallmem       "dest 0x[0-9a-f]+ $many"
expect far_beyond_dest   any shmem_longlong_sum_inscan "dest 0x[0-9a-f]+ with 4194304 bytes reaches"
expect far_beyond_source any shmem_long_sum_exscan     "source 0x[0-9a-f]+ with 4194304 bytes reaches"
expect far_beyond_stride any shmem_long_alltoalls      "source 0x[0-9a-f]+ with $(((np << 33) - (1 << 23) + 8)) bytes reaches"
expect far_beyond_alltoalls any shmem_alltoalls32      "dest 0x[0-9a-f]+ with $(((np << 22) - (1 << 12) + 4)) bytes reaches"
own="with $(((31 << 18) + 8)) bytes reaches"
expect far_beyond_iput   $last shmem_long_iput         "source 0x[0-9a-f]+ $own"
expect far_beyond_iget   $last shmem_long_iget         "dest 0x[0-9a-f]+ $own"
expect far_beyond_alone  $last shmem_long_sum_to_all   "source 0x[0-9a-f]+ with 4194304 bytes reaches"
expect far_beyond_wait   $last shmem_long_wait_until_any "ivars 0x[0-9a-f]+ $far"
expect far_beyond_test   $last shmem_uint64_test_some  "ivars 0x[0-9a-f]+ $far"
expect freed_block  any   shmem_long_p               "no live allocation"      SHMEM_CHECK=1
expect overflow     $last shmem_long_put             "elements of 8 bytes"
expect rows_overflow $last shmem_long_iput           "$((0x1c71c71c71c71c71)) elements of 8 bytes"
expect alltoalls_overflow $last shmem_long_alltoalls "$((0x1c71c71c71c71c71)) elements of 8 bytes"
[ "$np" -gt 1 ] && expect fcollect_overflow $last shmem_long_fcollect "$((0x1c71c71c71c71c71)) elements of 8 bytes"

# The heap.
expect double_free      any shmem_free               "ptr 0x[0-9a-f]+ .*freed before"
expect free_interior    any shmem_free               "ptr 0x[0-9a-f]+ is 8 bytes inside"
expect free_foreign     any shmem_free               "ptr 0x[0-9a-f]+ .*not allocated from"
expect free_other_space any shmem_space_free         "ptr 0x[0-9a-f]+ belongs to space"
aligned="alignment is (24, which is not a power of two: the result is NULL|2, but the standard requires a multiple of 8)"
told bad_alignment      1 shmem_align                "alignment is 24, which is not a power of two: the library uses 32"
told bad_alignment      0 shmem_align                "alignment"  SHMEM_WARN=off
told bad_alignment      2 shmem_align                "$aligned"                SHMEM_CHECK=1
told bad_alignment      0 shmem_align                "alignment"  SHMEM_CHECK=1 SHMEM_WARN=off
if [ "$np" -gt 1 ]; then
    expect malloc_differs any shmem_malloc           "size is 100 on PE 0 and 101 on PE 1" SHMEM_CHECK=1
    expect alignment_differs any shmem_align         "alignment is 64 on PE 0 and 24 on PE 1" SHMEM_CHECK=1
fi

# Teams, contexts, operators.
expect invalid_team $last shmem_long_sum_reduce      "SHMEM_TEAM_INVALID"
expect invalid_sync $last shmem_team_sync            "SHMEM_TEAM_INVALID"
expect bad_root     any   shmem_long_broadcast       "root.* $np"
expect coll_stack   any   shmem_long_fcollect        "dest 0x[0-9a-f]+ .*not symmetric" SHMEM_CHECK=1
expect destroy_world any  shmem_team_destroy         "predefined"
expect destroy_ctx  $last shmem_ctx_destroy          "SHMEM_CTX_DEFAULT"
expect stale_ctx    $last shmem_ctx_long_p           "ctx is not a live context"
expect team_ctx     any   shmem_ctx_long_p           "ctx is not a live context"
expect destroy_ctx_twice $last shmem_ctx_destroy     "ctx 0x[0-9a-f]+ is not a live context"
[ "$np" -gt 1 ] && expect reduce_stack any shmem_long_sum_reduce "dest 0x[0-9a-f]+ .*not symmetric"
expect signal_beyond $last shmem_putmem_signal       "dest .*past its allocation" SHMEM_CHECK=1
expect invalid_ctx  $last shmem_ctx_long_p           "SHMEM_CTX_INVALID"
expect bad_cmp      $last shmem_long_wait_until      "99"
expect wait_stack   $last shmem_long_wait_until      "ivar 0x[0-9a-f]+ .*not symmetric" SHMEM_CHECK=1
expect wait_null    $last shmem_int_wait_until       "ivar .*not symmetric"    SHMEM_CHECK=1
expect test_stack   $last shmem_short_test           "ivar 0x[0-9a-f]+ .*not symmetric" SHMEM_CHECK=1
expect wait_beyond  $last shmem_long_wait_until_all  "ivars .*past its allocation" SHMEM_CHECK=1
expect some_stack   $last shmem_size_test_some       "ivars 0x[0-9a-f]+ .*not symmetric" SHMEM_CHECK=1
expect any_vector_stack $last shmem_long_wait_until_any_vector "ivars .*not symmetric" SHMEM_CHECK=1
expect signal_wait_stack $last shmem_signal_wait_until "sig_addr .*not symmetric" SHMEM_CHECK=1
expect bad_sig_op   $last shmem_putmem_signal        "sig_op is 77"
expect bad_stride   $last shmem_long_iput            "dst is 0"

# Collectives that differ between the members of a team.
if [ "$np" -gt 1 ]; then
    one="1 on PE 0 and 2 on PE 1: all members must pass the same value"
    expect coll_differs     any "shmem_long_(broadcast|sum_reduce)" \
        "PE 0 calls shmem_long_sum_reduce, but PE 1 calls shmem_long_broadcast: all members" SHMEM_CHECK=1
    bytes="nelems \* element size is 8 on PE 0 and 16 on PE 1: all members must pass the same value"
    expect count_differs    any shmem_long_broadcast     "$bytes"                    SHMEM_CHECK=1
    expect count_none       any shmem_long_fcollect      "nelems is 0 on PE 0 and 1 on" SHMEM_CHECK=1
    expect root_differs     any shmem_long_broadcast     "PE_root is 0 on PE 0 and 1 on" SHMEM_CHECK=1
    expect reduce_differs   any shmem_int_max_reduce     "nreduce is $one"           SHMEM_CHECK=1
    expect scan_differs     any shmem_long_sum_inscan    "nelems is 2 on PE 0 and 1 on" SHMEM_CHECK=1
    expect alltoall_differs any shmem_alltoallmem        "nelems is $one"            SHMEM_CHECK=1
    expect stride_differs   any shmem_long_alltoalls     "sst is $one"               SHMEM_CHECK=1
    expect barrier_differs  any "shmem_(barrier|sync)_all" \
        "PE 0 calls shmem_barrier_all, but PE 1 calls a sync routine"                SHMEM_CHECK=1
    expect malloc_or_barrier any "shmem_(barrier_all|malloc)" \
        "PE 0 calls shmem_barrier_all, but PE 1 calls shmem_malloc"                  SHMEM_CHECK=1
    expect split_differs    any shmem_team_split_strided "size is $np on PE 0 and $last on PE 1" SHMEM_CHECK=1
    expect active_differs   any shmem_broadcast64        "$bytes"                    SHMEM_CHECK=1
fi
told may_differ 0 ".*" "" SHMEM_CHECK=1

# Pointers to nowhere.
nowhere="this process cannot access 0x40"
expect wild_version $last shmem_info_get_version     "$nowhere"
# Where the compiler jumps from the public routine to the one behind it, its name is gone.
expect wild_ctx     $last "(shmem_ctx_create|a routine of the library)" "$nowhere"
expect wild_config  $last shmem_team_get_config      "$nowhere"
expect wild_targets $last "(shmem_pe_quiet|a routine of the library)" "$nowhere"

# Locks.
expect lock_stack     $last shmem_set_lock           "lock 0x[0-9a-f]+ .*not symmetric"
expect lock_unaligned $last shmem_test_lock          "lock 0x[0-9a-f]+ is not aligned to 8"
expect lock_twice     $last shmem_set_lock           "this thread already holds lock 0x[0-9a-f]+"
expect lock_dirty     $last shmem_set_lock           "lock 0x[0-9a-f]+ .*0 on all PEs"
expect lock_dirty_test $last shmem_test_lock         "lock 0x[0-9a-f]+ .*0 on all PEs"
expect clear_free     $last shmem_clear_lock         "this PE does not hold lock 0x[0-9a-f]+"
expect clear_at_once  $last shmem_clear_lock         "this PE does not hold lock 0x[0-9a-f]+"

# Active sets.
expect active_start       $last shmem_barrier        "PE_start is -1: valid PE numbers are 0\.\.$last"
expect active_start_high  $last shmem_sync           "PE_start is $np: valid PE numbers are 0\.\.$last"
expect active_stride      $last shmem_fcollect32     "logPE_stride is -1"
expect active_stride_high $last shmem_sync           "logPE_stride 40, PE_size 2: .* beyond PE $last"
expect active_size        $last shmem_collect64      "PE_size is 0"
expect active_beyond      $last shmem_alltoall64     "PE_size $((np + 1)): .* beyond PE $last"
expect active_root        any   shmem_broadcast64    "PE_root is $np: valid PE numbers in the team or active set are 0\.\.$last"
expect active_nreduce     any   shmem_long_sum_to_all "nreduce is -1"
expect active_alltoalls   any   shmem_alltoalls32    "sst is 0"
expect active_dirty       any   shmem_sync           "pSync\[[012]\] at 0x[0-9a-f]+ is 4340410370284600380"
expect active_dirty_first $last shmem_sync           "pSync\[0\] at 0x[0-9a-f]+ is 12345"
expect active_private     any   shmem_barrier        "pSync 0x[0-9a-f]+ .*not symmetric"
expect active_null        any   shmem_barrier        "pSync .*not symmetric"
expect active_unaligned   any   shmem_barrier        "pSync 0x[0-9a-f]+ is not aligned to 8"
expect active_freed       any   shmem_sync           "pSync 0x[0-9a-f]+ .*no live allocation" SHMEM_CHECK=1
[ "$np" -gt 1 ] && expect active_member $last shmem_barrier "PE $last is not in the active set"
[ "$np" -gt 2 ] && expect active_differ any shmem_sync "passed other arguments than this PE, which passed PE_start"

# Life and environment.
expect before_init      any shmem_malloc             "before shmem_init"
expect put_before_init  any shmem_long_p             "before shmem_init"
expect barrier_before_init any shmem_barrier_all     "before shmem_init"
expect active_before_init any shmem_barrier          "before shmem_init"
expect after_finalize   any shmem_barrier_all        "after shmem_finalize"
for size in -5 nan 1e99g many ''; do
    expect good any "SHMEM_SYMMETRIC_SIZE is '$size'" "expected" SHMEM_SYMMETRIC_SIZE="$size"
done
mkfifo "$dir/fifo"
for file in "$dir/fifo" / /dev/zero; do # a pipe that nobody writes to, and what has no end
    expect good 0 shmem_init "SHMEM_COLL_TABLE is '$file': this is not a regular file" \
        SHMEM_COLL_TABLE="$file"
done

exit $((failed * 2))
