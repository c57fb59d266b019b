#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Tests examples/apps/fam_log.c, a log in named fabric-attached memory: two jobs append at the same
# time, a third job reads all records, a job of another size is refused, and clearing leaves no
# file.
#
# usage: check_fam_log.sh <oshrun> -n <PEs> <fam_log>
set -eu

launcher=$1 n=$3 program=$4 each=50
SHMEM_FAM_PATH=$(mktemp -d)
export SHMEM_FAM_PATH
trap 'rm -rf "$SHMEM_FAM_PATH"' EXIT

fail()
{
    echo "check_fam_log: $*" >&2
    exit 1
}

meet() # two jobs write at the same time, a third one reads
{
    "$launcher" -n "$n" "$program" append -n "$each" the one </dev/null &
    "$launcher" -n "$n" "$program" append -n "$each" the other </dev/null
    wait $! || fail "the first of two jobs that append failed"
    out=$("$launcher" -n "$n" "$program" show)
    [ "$(echo "$out" | grep -c ': the one$')" -eq $((n * each)) ] ||
        fail "show must print $((n * each)) records of the first job: $out"
    [ "$(echo "$out" | grep -c ': the other$')" -eq $((n * each)) ] ||
        fail "show must print $((n * each)) records of the second job: $out"
    echo "$out" | grep -q "fam_log: $((2 * n * each)) records\$" ||
        fail "show must count $((2 * n * each)) records: $out"
    # numbers from 0 on, without gap, each once
    numbers=$(echo "$out" | sed -n 's/^ *\([0-9]*\)  20.*/\1/p')
    [ "$numbers" = "$(seq 0 $((2 * n * each - 1)))" ] ||
        fail "the numbers of records must be 0, 1, 2... without a gap: $out"
}

meet
if out=$("$launcher" -n $((n + 1)) "$program" show 2>&1); then
    fail "a job of $((n + 1)) PEs can open a log of $n PEs"
fi
echo "$out" | grep -q "'fam_log' in .* has $n parts of .*, but this job requests $((n + 1)) parts of" ||
    fail "the message must name both numbers of PEs, $n and $((n + 1)): $out"

"$launcher" -n "$n" "$program" clear
[ -z "$(ls "$SHMEM_FAM_PATH")" ] || fail "clear left files: $(ls "$SHMEM_FAM_PATH")"
out=$("$launcher" -n $((n + 1)) "$program" show)
echo "$out" | grep -q "fam_log: 0 records" || fail "a new log must have 0 records: $out"
