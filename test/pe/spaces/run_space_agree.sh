#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs space_agree.c with space creations that must fail on all PEs because of one PE. The checks
# of the program must hold on every PE, and standard error must name the PE and the reason.
#
# usage: run_space_agree.sh PROGRAM NP LAUNCHER [ARGUMENT...]
set -u
. "$(dirname "$0")/../job.sh"

[ "$np" -lt 2 ] && exit 77 # nobody to differ from
mkdir "$dir/fam"
gpu=(LD_LIBRARY_PATH="$fake")
fam=(SHMEM_FAM_PATH="$dir/fam")

# good CASE TEXT [VARIABLE=VALUE...] [-- WORD...]: the program passes, and somebody says TEXT.
good()
{
    local case=$1 text=$2 variables=()
    shift 2
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        variables+=("$1")
        shift
    done
    [ $# -gt 0 ] && shift
    job "$case" ${variables[@]+"${variables[@]}"} -- "$case" "$@" || return
    [ $status -eq 0 ] || { fail "$case ${variables[*]-}" "the job ended with status $status, expected 0"; return; }
    says "$case" "$text" && echo "ok   $case $* ${variables[*]-}"
}

# What differs is named, with both values, by the PE that differs and by PE 0.
same="PE $last: all members must pass the same value"
for pe in 0 "$last"; do
    line="^steppe: pe $pe .*shmemx?_space_create.*: "
    good type     "${line}config->device_type is 0 on PE 0 and 3 on $same"    "${fam[@]}"
    good size     "${line}config->size is 1048576 on PE 0 and 1048577 on $same"
    good keep     "${line}attr->flags is 0 on PE 0 and 1 on $same"            "${fam[@]}"
done
line="^steppe: pe $last .*shmemx?_space_create.*: "
good type     "${line}config->device_type is 0 on PE 0 and 3 on $same"
good gpu_type "${line}config->device_type is 0 on PE 0 and 1 on $same"        "${gpu[@]}"
good gpu_type "${line}config->device_type is 0 on PE 0 and 1 on $same"
good max      "${line}attr->max_size is [0-9]+ on PE 0 and 67108865 on $same"
good flags    "${line}config->flags is 0 on PE 0 and 2 on $same"
good bad_type "${line}config->device_type is 0 on PE 0 and 77 on $same"
good zero     "${line}config->size is [0-9]+ on PE 0 and 0 on $same"
named="attr->name differs between PE 0 and PE $last: this PE passed"
good name     "${line}$named this"                                            "${fam[@]}"
good name     "^steppe: pe 0 .*$named that"                                   "${fam[@]}"
good no_name  "${line}$named NULL"                                            "${fam[@]}"
ls -A "$dir/fam" | grep -q . && fail fam "files are left in SHMEM_FAM_PATH: $(ls -A "$dir/fam")"

# One PE cannot have what all ask for: its device is too small, at the question or at the call.
small="^steppe: pe $last .*gpu space of 8388608 bytes .* does not fit"
ONE=$last ONE_ENV="FAKECUDA_MEMORY=4m" REST_ENV="" && export ONE ONE_ENV REST_ENV
good gpu "$small" "${gpu[@]}"
good gpu "$small" "${gpu[@]}" -- held
unset ONE
good gpu "$small" "${gpu[@]}" "FAKECUDA_FAIL=cuMemAlloc_v2#$last:2"
good gpu "$small" "${gpu[@]}" "FAKECUDA_FAIL=cuMemAlloc_v2#$last@1:2" -- once
# (the held space takes two allocations, the second one with an aligned base in it)
good gpu "$small" "${gpu[@]}" "FAKECUDA_FAIL=cuMemAlloc_v2#$last@3:2" -- once held
good gpu "^steppe: pe 0 .* does not fit" "${gpu[@]}" "FAKECUDA_FAIL=cuMemAlloc_v2#0@1:2" -- once
good gpu "^steppe: pe 0 .* does not fit" "${gpu[@]}" "FAKECUDA_FAIL=cuMemAlloc_v2:2"
good gpu "$small" "${gpu[@]}" SHMEM_GPU_IPC=off "FAKECUDA_FAIL=cuMemAlloc_v2#$last@1:2" -- once
good gpu "^steppe: pe $last .*cuMemGetInfo" "${gpu[@]}" \
    "FAKECUDA_FAIL=cuMemGetInfo_v2#$last@1:2" -- once held
good gpu "^steppe: pe $last .*cuDevicePrimaryCtxRetain" "${gpu[@]}" \
    "FAKECUDA_FAIL=cuDevicePrimaryCtxRetain#$last@1:2" -- once

# A file of one PE that holds no space of that size, the others' do.
truncate -s 64M "$dir/large"
truncate -s 6M "$dir/small"
ONE=$last ONE_ENV="SHMEM_FAM_PATH=$dir/small" REST_ENV="SHMEM_FAM_PATH=$dir/large"
export ONE ONE_ENV REST_ENV
good fam "^steppe: pe $last .*$dir/small.*8 MiB"
unset ONE
exit $((failed * 2))
