#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A null pointer given to a routine of spaces (space_null.c) ends the job, or, of a shmemx_ routine,
# returns nonzero; with a line that names the PE, the routine and the argument.
#
# usage: run_space_null.sh PROGRAM NP LAUNCHER [ARGUMENT...]
set -u
. "$(dirname "$0")/../job.sh"

for call in $("$program" list); do
    job "$call" SHMEM_SYMMETRIC_SIZE=1m -- "$call" || continue
    case $call in
        shmemx_*)
            [ $status -eq 0 ] || { fail "$call" "status $status"; continue; } ;;
        *)
            if [ $status -eq 0 ] || grep -q survived "$out"; then
                fail "$call" "the call came back"
                continue
            fi ;;
    esac
    says "$call" "^steppe: pe [0-9]+ \([^)]*\): ${call%:*}: ${call#*:} is a null pointer" &&
        echo "ok   $call (status $status)"
done
[ "$("$program" list | wc -l)" -ge 24 ] || fail list "calls are missing"
exit $failed
