#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs kernel_errors.c with each wrong call. The job must end with a message of the host that has
# the PE, the routine and the error. Mistakes in creating and destroying a handle must return an
# error.
#
# usage: run_kernel_errors.sh PROGRAM NP LAUNCHER [ARGUMENT...]
set -u
. "$(dirname "$0")/../job.sh"

"$program" list >"$dir/list"
[ "$(wc -l <"$dir/list")" -ge 10 ] || fail list "\"kernel_errors list\" printed fewer than 10 calls"
while read -r name text; do
    job "$name" -- "$name" </dev/null || continue
    if [ $status -eq 0 ] || grep -q survived "$out"; then
        fail "$name" "the job ended with status $status or the call returned, expected the call to end the job"
    elif says "$name" "^steppe: pe $last \([^)]*\): $text"; then
        echo "ok   $name (status $status)"
    fi
done <"$dir/list"
job refused -- refused </dev/null
[ $status -eq 0 ] || fail refused "the job ended with status $status, expected 0"
says refused "shmemx_device_handle_create: options->n_rings is 0 and options->n_slots is 64" \
    "shmemx_device_handle_destroy: handle is empty: it was never created"
[ "$np" -eq 1 ] || says refused "options differ between PEs: this PE passed n_rings 2"
job stale -- stale </dev/null
[ $status -ne 0 ] && ! grep -q survived "$out" || fail stale "status $status: expected destroying a stale handle to end the job"
says stale "^steppe: pe $last .*shmemx_device_handle_destroy: handle is a copy of a handle that was destroyed"
job again -- again </dev/null
[ $status -eq 0 ] || fail again "the job ended with status $status, expected 0"
exit $failed
