#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs space_streams.c in the ways in which operations on streams end a job. Checks the message,
# and that no PE waits for ever.
#
# usage: run_space_streams.sh PROGRAM NP LAUNCHER [ARGUMENT...]
set -u
. "$(dirname "$0")/../job.sh"

# ends NAME TEXT [VARIABLE=VALUE...]
ends()
{
    local name=$1 text=$2
    shift 2
    job "$name" LD_LIBRARY_PATH="$fake" "$@" -- "$name" || return
    [ $status -ne 0 ] || fail "$name" "the job ended with status 0, expected the call to end it"
    grep -q survived "$out" && fail "$name" "the call returned, expected the job to end"
    says "$name" "$text"
}

ends capture 'shmemx_putmem_on_stream: stream 0x[0-9a-f]+: it is being captured'
ends foreign 'shmemx_quiet_on_stream: stream 0x[0-9a-f]+: its CUDA context is not the primary context'
ends pe "shmemx_putmem_on_stream: .*$np"
ends private 'shmemx_putmem_on_stream: dest 0x[0-9a-f]+ .* not symmetric|not symmetric'
ends none 'shmemx_barrier_all_on_stream: stream .*: this PE has no GPU' FAKECUDA_DEVICES=0
job dies LD_LIBRARY_PATH="$fake" -- dies && [ $status -ne 7 ] && fail dies "the job ended with status $status, expected 7"
job late LD_LIBRARY_PATH="$fake" -- late && [ $status -ne 7 ] && fail late "the job ended with status $status, expected 7"
exit $failed
