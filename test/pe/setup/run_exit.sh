#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Run exit.c in every way and check that the job ends quickly with a nonzero status, that stdio was
# flushed where that is promised, and that no PE is left behind.
#
# usage: run_exit.sh PROGRAM NP LAUNCHER [ARGUMENT...]
set -u

if [ $# -lt 3 ]; then
    sed -n '6p' "$0" >&2
    exit 2
fi
program=$1 np=$2
shift 2
launcher=("$@")
limit=20        # seconds; a job that takes longer is stuck
failed=0
if [ ! -x "$program" ]; then
    echo "$program is no program" >&2
    exit 2
fi
. "$(dirname "$0")/../endless.sh"
dir=$(mktemp -d)
out=$dir/out
alone=$dir/pe_exit      # a name of our own, so that what is left behind can be told
cp "$program" "$alone"
trap 'rm -rf "$dir"' EXIT

fail()
{
    echo "FAIL $1: $2" >&2
    { head -12 "$out" | sed 's/^/    /'; echo; } >&2
    failed=1
}

left_behind()
{
    readlink /proc/[0-9]*/exe 2>/dev/null | grep -qxF "$alone"
}

# Give the kernel time to reap what the launcher has just killed.
nobody_left()
{
    local try
    for try in 0.02 0.05 0.1 0.2 0.3 0.4 0.5 0.5 0.5 0.5; do
        left_behind || return 0
        sleep $try
    done
    return 1
}

# expect WAY STATUS: STATUS is a pattern for the job's exit status.
expect()
{
    local way=$1 pattern=$2 status
    timeout -k 5 $limit "${launcher[@]}" -n "$np" "$alone" "$way" >"$out" 2>&1
    status=$?
    if [ $status -eq 124 ] || { [ $status -eq 137 ] && [ "$way" != kill ]; }; then
        fail "$way" "the job did not end in $limit seconds"
    elif [ $status -eq 0 ]; then
        fail "$way" "the job ended with status 0"
    elif ! [[ $status =~ ^($pattern)$ ]]; then
        fail "$way" "the job ended with status $status, not $pattern"
    elif ! nobody_left; then
        fail "$way" "a PE is still running"
    else
        echo "ok   $way (status $status)"
    fi
}

statuses=$(seq -s '|' 10 $((9 + np)))
expect global_exit "${GLOBAL_EXIT_STATUS:-3}"
grep -q "last words of pe $((np - 1))" "$out" || fail global_exit "stdio was not flushed"
expect all_global_exit "${ALL_EXIT_STATUS:-$statuses}"
expect return '[0-9]+'
expect exit '[0-9]+'
expect kill '[0-9]+'
expect abort '[0-9]+'
expect segv '[0-9]+'

# passes WAY: the job ends with status 0. What the loader says about libraries goes to $dir/ld.*
passes()
{
    if LD_DEBUG=files LD_DEBUG_OUTPUT=$dir/ld timeout -k 5 $limit "${launcher[@]}" -n "$np" \
        "$alone" "$1" >"$out" 2>&1; then
        echo "ok   $1"
    else
        fail "$1" "the job ended with status $?"
    fi
}

# A PE that leaves with status 0 finalizes with the others, and takes nothing away from its threads;
# it is missed in other collectives.
passes leave
rm -f "$dir"/ld.*
passes leave_beside_threads
if grep -qs 'calling fini: .*libfabric' "$dir"/ld.*; then
    fail leave_beside_threads "libfabric was torn down under the threads"
fi
if [ "${SHMEM_NODE:-on}" != off ]; then
    for way in leave_collective leave_collectives; do
        expect $way '[0-9]+'
        grep -q "pe $((np - 1)) has left the program without shmem_finalize" "$out" ||
            fail $way "the PE that left is not named"
    done
fi

exit $((failed * 2))
