#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Mistakes with handles of kernels (kernel_errors.c): each ends the job with a line of the host that
# names the PE, the routine and what was wrong, or is a return value with such a line.
#
# usage: run_kernel_errors.sh PROGRAM NP LAUNCHER [ARGUMENT...]
set -u
. "$(dirname "$0")/../job.sh"

"$program" list >"$dir/list"
[ "$(wc -l <"$dir/list")" -ge 10 ] || fail list "calls are missing"
while read -r name text; do
    job "$name" -- "$name" </dev/null || continue
    if [ $status -eq 0 ] || grep -q survived "$out"; then
        fail "$name" "the call came back"
    elif says "$name" "^steppe: pe $last \([^)]*\): $text"; then
        echo "ok   $name (status $status)"
    fi
done <"$dir/list"
job refused -- refused </dev/null
[ $status -eq 0 ] || fail refused "status $status"
says refused "shmemx_device_handle_create: options->n_rings is 0 and options->n_slots is 64" \
    "shmemx_device_handle_destroy: handle is zero: it was never created"
[ "$np" -eq 1 ] || says refused "options differ between PEs: this PE passed n_rings 2"
job stale -- stale </dev/null
[ $status -ne 0 ] && ! grep -q survived "$out" || fail stale "status $status"
says stale "^steppe: pe $last .*shmemx_device_handle_destroy: handle is a copy of a handle that was destroyed"
job again -- again </dev/null
[ $status -eq 0 ] || fail again "status $status"
exit $failed
