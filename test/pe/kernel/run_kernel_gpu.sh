#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs kernel_gpu.c in the modes that end the job, and with rings that cannot be pinned. Checks the
# messages, and that no PE waits for ever for a kernel or in a kernel.
#
# usage: run_kernel_gpu.sh PROGRAM NP LAUNCHER [ARGUMENT...]
set -u
. "$(dirname "$0")/../job.sh"
ptx=$(dirname "$0")/../../gpu/handle.ptx

# ends NAME TEXT [VARIABLE=VALUE...]
ends()
{
    local name=$1 text=$2
    shift 2
    job "$name" LD_LIBRARY_PATH="$fake" "$@" -- "$ptx" "$name" </dev/null || return
    [ $status -ne 0 ] || fail "$name" "the job ended with status 0, expected the kernel to end it"
    grep -q survived "$out" && fail "$name" "the kernel returned, expected the job to end"
    says "$name" "$text" && echo "ok   $name (status $status)"
}

ends pe "^steppe: pe $last \([^)]*\): shmemx_dev_p: pe is $np: valid PE numbers in this context are 0..$last"
ends private "^steppe: pe $last \([^)]*\): shmemx_dev_p: dest 0x[0-9a-f]+ is not symmetric"
ends mixed "shmem_uint64_atomic_inc: the word at 0x[0-9a-f]+ in space [0-9]+ \(gpu\) changed during an atomic" \
    SHMEM_CHECK=1
job dies LD_LIBRARY_PATH="$fake" -- "$ptx" dies </dev/null && [ $status -ne 7 ] &&
    fail dies "the job ended with status $status, expected 7"
# With two PEs of a node the fourth registration is that of the peer's part of a handle's rings.
if [ "$np" -eq 2 ] && [ "${SHMEM_NODE:-on}" = on ]; then
    job refused LD_LIBRARY_PATH="$fake" "FAKECUDA_FAIL=cuMemHostRegister_v2#1@4+:2" -- "$ptx" refused </dev/null
    says refused "^steppe: pe 1 \([^)]*\): shmemx_device_handle_create: cannot pin host memory for GPUs: gpu 0: cuMemHostRegister" &&
        { [ $status -eq 0 ] || fail refused "the job ended with status $status, expected 0"; }
fi
exit $failed
