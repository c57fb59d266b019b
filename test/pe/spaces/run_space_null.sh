#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs space_null.c: a null pointer given to a routine of spaces must end the job or, for a shmemx_
# routine, return nonzero, with a line that names the PE, the routine and the argument.
#
# usage: run_space_null.sh PROGRAM NP LAUNCHER [ARGUMENT...]
set -u
. "$(dirname "$0")/../job.sh"

for call in $("$program" list); do
    job "$call" SHMEM_SYMMETRIC_SIZE=1m -- "$call" || continue
    case $call in
        shmemx_*)
            [ $status -eq 0 ] || { fail "$call" "the job ended with status $status, expected 0"; continue; } ;;
        *)
            if [ $status -eq 0 ] || grep -q survived "$out"; then
                fail "$call" "the call returned (status $status), expected it to end the job"
                continue
            fi ;;
    esac
    says "$call" "^steppe: pe [0-9]+ \([^)]*\): ${call%:*}: ${call#*:} is a null pointer" &&
        echo "ok   $call (status $status)"
done
[ "$("$program" list | wc -l)" -ge 24 ] || fail list "\"space_null list\" printed fewer than 24 calls"
exit $failed
