#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs space_buffer_end.c: mistakes with memory of the program that is a space. A wrong argument
# must return nonzero on all members, with a line that names the routine and the argument. An
# operation past the end of the space must end the job.
#
# usage: run_space_buffer_end.sh PROGRAM NP LAUNCHER [ARGUMENT...]
set -u
. "$(dirname "$0")/../job.sh"

fn=shmemx_buffer_register

# A mistake that is survived: told MISTAKE PE TEXT
told()
{
    job "$1" -- "$1" || return
    [ $status -eq 0 ] || { fail "$1" "the job ended with status $status, expected 0"; return; }
    says "$1" "^steppe: pe $2 .*$3" && echo "ok   $1"
}

# One that is not: ends "MISTAKE [ARGUMENT]" PE TEXT
ends()
{
    job "$1" -- $1 || return
    if [ $status -eq 0 ] || grep -q survived "$out"; then
        fail "$1" "the call returned (status $status), expected it to end the job"
    elif says "$1" "^steppe: pe $2 .*$3"; then
        echo "ok   $1 (status $status)"
    fi
}

# What begins in the first space and ends in the second, which lies behind it in memory and in the
# file, is refused, with and without SHMEM_CHECK=1: past OPERATION PE ROUTINE ARGUMENT BYTES BEYOND
past()
{
    local memory

    for memory in descriptor private; do
        ends "$1 $memory" "$2" "$3: $4 0x[0-9a-f]+ with $5 bytes reaches $6 bytes past the end of its"
    done
}

for pe in 0 "$last"; do
    told size $pe "$fn: nbytes is 16000 on PE 0 and 15992 on PE $last: all members must pass the same value"
    told flags $pe "$fn: flags is 0 on PE 0 and 1 on PE $last: all members must pass the same value"
done
told nothing "$last" "$fn: nbytes is 0: pass at least 1 byte per PE"
told "unknown flags" "$last" "$fn: flags is 0x6: pass 0 or SHMEMX_ADOPT_HEAP \(1\)"
told "negative fd" "$last" "$fn: fd is -2: pass a file descriptor, or -1 for none"
told offset "$last" "$fn: offset is 4096, but fd is -1: without a file descriptor, pass offset 0"
told fd "$last" "$fn: fd differs between PE 0 and PE $last: this PE passed a file descriptor"
told taken "$last" "buffer 0x[0-9a-f]+ of 16000 bytes cannot become a space: it overlaps space 2"
told team "$last" "$fn: team is SHMEM_TEAM_INVALID or .*: pass a team of which this PE is a member"
told persist "$last" "shmemx_space_persist: cannot make 100 bytes of space [0-9]+ .* durable"
for check in 0 1; do
    export SHMEM_CHECK=$check
    past put "$last" shmem_long_put dest 160 80
    past get "$last" shmem_long_get source 160 80
    past iget "$last" shmem_long_iget source 152 72
    past put_signal "$last" shmem_long_put_signal dest 160 80
    past g "$last" shmem_long_g source 8 4
    past sum "[0-9]+" shmem_long_sum_reduce dest 160 80
done
unset SHMEM_CHECK
past put_nbi "$last" shmem_long_put_nbi dest 160 80
past get_nbi "$last" shmem_long_get_nbi source 160 80
past iput "$last" shmem_long_iput dest 152 72
past p "$last" shmem_long_p dest 8 4
past broadcast "[0-9]+" shmem_long_broadcast dest 160 80
past fcollect "[0-9]+" shmem_long_fcollect dest $((80 * np)) $((80 * np - 80))
past source "[0-9]+" shmem_long_broadcast source 160 80
for of in own_sum:sum_reduce own_cast:broadcast own_scan:sum_inscan; do # a team of one
    past "${of%:*}" "$last" "shmem_long_${of#*:}" dest 160 80
done
past alltoall "[0-9]+" shmem_long_alltoall dest $((80 * np)) $((80 * np - 80))
ends free "[0-9]+" "shmem_space_free: ptr 0x[0-9a-f]+ is in space [0-9]+, which is a registered buffer"
exit $failed
