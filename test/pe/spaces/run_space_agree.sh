#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Creations that fail on all PEs because of the last one: the checks of space_agree.c hold on every
# PE, and standard error names the PE and the reason.
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
    [ $status -eq 0 ] || { fail "$case ${variables[*]-}" "status $status"; return; }
    says "$case" "$text" && echo "ok   $case $* ${variables[*]-}"
}

# Whoever differs is named, by itself and by PE 0, with what it has.
line="space_create.*: the configs of PE 0 and PE $last differ: here"
good type     "^steppe: pe $last .*$line device_type is 3"   "${fam[@]}"
good type     "^steppe: pe 0 .*$line device_type is 0"       "${fam[@]}"
good type     "^steppe: pe $last .*$line device_type is 3"
good gpu_type "^steppe: pe $last .*$line device_type is 1"   "${gpu[@]}"
good gpu_type "^steppe: pe $last .*$line device_type is 1"
good size     "^steppe: pe $last .*$line .*size 1048577"
good size     "^steppe: pe 0 .*$line .*size 1048576"
good max      "^steppe: pe $last .*$line .*max_size 67108865"
good flags    "^steppe: pe $last .*$line .*flags 2"
good bad_type "^steppe: pe $last .*$line device_type is 77"
good zero     "^steppe: pe $last .*$line .*size 0"
good name     "^steppe: pe $last .*$line .*name \"this\""    "${fam[@]}"
good name     "^steppe: pe 0 .*$line .*name \"that\""        "${fam[@]}"
good no_name  "^steppe: pe $last .*$line .*name \"\""        "${fam[@]}"
good keep     "^steppe: pe $last .*$line .*keep 1"           "${fam[@]}"
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
