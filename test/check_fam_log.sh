#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A log in named fabric-attached memory: two jobs write at the same time, a third one reads, a job
# of another size is refused, and clearing leaves nothing behind.
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
    wait $! || fail "the first job failed"
    out=$("$launcher" -n "$n" "$program" show)
    [ "$(echo "$out" | grep -c ': the one$')" -eq $((n * each)) ] || fail "records are missing: $out"
    [ "$(echo "$out" | grep -c ': the other$')" -eq $((n * each)) ] || fail "records are missing: $out"
    echo "$out" | grep -q "fam_log: $((2 * n * each)) records\$" || fail "not all are counted: $out"
    # numbers from 0 on, without gap, each once
    numbers=$(echo "$out" | sed -n 's/^ *\([0-9]*\)  20.*/\1/p')
    [ "$numbers" = "$(seq 0 $((2 * n * each - 1)))" ] || fail "numbers are not in order: $out"
}

meet
if out=$("$launcher" -n $((n + 1)) "$program" show 2>&1); then fail "another size is accepted"; fi
echo "$out" | grep -q "'fam_log' in .* has $n parts of .*, but this job requests $((n + 1)) parts of" ||
    fail "the refusal does not tell both sizes: $out"

"$launcher" -n "$n" "$program" clear
[ -z "$(ls "$SHMEM_FAM_PATH")" ] || fail "left behind: $(ls "$SHMEM_FAM_PATH")"
out=$("$launcher" -n $((n + 1)) "$program" show)
echo "$out" | grep -q "fam_log: 0 records" || fail "a new log is not empty: $out"
