#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A null pointer given to a routine of spaces (space_null.c) ends the job with a line that names the
# PE, the routine and the argument.
#
# usage: run_space_null.sh PROGRAM NP LAUNCHER [ARGUMENT...]
set -u
. "$(dirname "$0")/../job.sh"

for call in $("$program" list); do
    job "$call" SHMEM_SYMMETRIC_SIZE=1m -- "$call" || continue
    if [ $status -eq 0 ] || grep -q survived "$out"; then
        fail "$call" "the call came back"
    elif says "$call" "^steppe: pe [0-9]+ \([^)]*\): ${call%:*}: ${call#*:} is a null pointer"; then
        echo "ok   $call (status $status)"
    fi
done
[ "$("$program" list | wc -l)" -ge 17 ] || fail list "calls are missing"
exit $failed
