#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs exit.c in each way. A job in which a PE ends before finalize must end with a nonzero status
# within the time limit, flush stdio where this is promised, and leave no PE. A PE that leaves with
# status 0 takes part in finalize.
#
# usage: run_exit.sh PROGRAM NP LAUNCHER [ARGUMENT...]
set -u
. "$(dirname "$0")/../job.sh"

# expect WAY STATUS: STATUS is a pattern for the job's exit status.
expect()
{
    local way=$1 pattern=$2
    job "$way" -- "$way" || return
    if [ $status -eq 0 ] || ! [[ $status =~ ^($pattern)$ ]]; then
        fail "$way" "the job ended with status $status, expected a nonzero status that matches $pattern"
    else
        echo "ok   $way (status $status)"
    fi
}

statuses=$(seq -s '|' 10 $((9 + np)))
expect global_exit "${GLOBAL_EXIT_STATUS:-3}"
says global_exit "last words of pe $last"
expect all_global_exit "${ALL_EXIT_STATUS:-$statuses}"
expect return '[0-9]+'
expect exit '[0-9]+'
expect kill '[0-9]+'
expect abort '[0-9]+'
expect segv '[0-9]+'

# passes WAY: the job ends with status 0. What the loader says about libraries goes to $dir/ld.*
passes()
{
    job "$1" LD_DEBUG=files LD_DEBUG_OUTPUT="$dir/ld" -- "$1" || return
    if [ $status -eq 0 ]; then
        echo "ok   $1"
    else
        fail "$1" "the job ended with status $status, expected 0"
    fi
}

# A PE that leaves with status 0 finalizes with the others, and takes nothing away from its threads;
# it is missed in other collectives.
passes leave
rm -f "$dir"/ld.*
passes leave_beside_threads
if grep -qs 'calling fini: .*/libfabric[.]so' "$dir"/ld.*; then
    fail leave_beside_threads "the loader ran the end of libfabric while threads still used it"
fi
if [ "${SHMEM_NODE:-on}" != off ]; then
    for way in leave_collective leave_collectives; do
        expect $way '[0-9]+'
        says $way "pe $last left the program without shmem_finalize"
    done
fi

exit $((failed * 2))
