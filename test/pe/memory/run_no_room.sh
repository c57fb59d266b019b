#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs no_room.c. One PE must print one line for the first allocation that does not fit a space,
# with the remedy. All other allocations return NULL without a line.
#
# usage: run_no_room.sh PROGRAM NP LAUNCHER [ARGUMENT...]
set -u
. "$(dirname "$0")/../job.sh"

export SHMEM_SYMMETRIC_SIZE=8m
null='the result is NULL because'
any="^steppe: pe [0-9]+ .*: $null "

# lines NUMBER TEXT: so many lines of the last job match, of as many that say anything of the kind.
lines()
{
    local all matching
    all=$(grep -Ec "$any" "$out")
    matching=$(grep -Ec "^steppe: $2" "$out")
    [ "$all" -eq "$1" ] && [ "$matching" -eq "$1" ] && return
    fail "$way" "$matching of $all lines about NULL match \"$2\", expected $1 of $1"
}

# told WAY [VARIABLE=VALUE...]: the job ends well.
told()
{
    way=$1
    shift
    job "$way" "$@" -- "$way" || return
    [ $status -eq 0 ] || fail "$way" "the job ended with status $status, expected 0"
    echo "     $way $* (status $status)"
}

heap='bytes( at a multiple of 64)? do not fit into the symmetric heap: [0-9]+ of its 8388608 bytes'
heap="$heap are in use, the largest free block has [0-9]+ bytes: raise SHMEM_SYMMETRIC_SIZE "
told all
lines 1 "pe 0 \([^)]*\): shmem_malloc: $null 1048576 $heap"
told all SHMEM_WARN=off
lines 0 .
told first
lines 8 "pe 0 \([^)]*\): sh[a-z_]+: $null 1073741824 $heap"
for routine in shmem_{malloc,calloc,align,malloc_with_hints,realloc} sh{malloc,memalign,realloc}; do
    says "$way" "^steppe: pe 0 \([^)]*\): $routine: $null"
done

space="$null 1073741824 bytes do not fit into space [0-9]+: 0 of its 1048576 bytes are in use,"
space="$space the largest free block has 1048576 bytes: raise"
told spaces
lines 4 "pe 0 \([^)]*\): shmemx?_space_[a-z]+: $space config->size"
for routine in shmem_space_{malloc,calloc} shmemx_space_{align,realloc}; do
    says "$way" "^steppe: pe 0 \([^)]*\): $routine: $null"
done
told own
lines 1 "pe $last \([^)]*\): shmem_space_malloc: $space config->size"
told env SHMEM_ENABLE_CPU=on SHMEM_CPU_SYMMETRIC_SIZE=1m
lines 1 "pe 0 \([^)]*\): shmem_space_malloc: $space SHMEM_CPU_SYMMETRIC_SIZE"

exit $((failed * 2))
