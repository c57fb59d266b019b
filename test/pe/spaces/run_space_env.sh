#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs space_env.c with environment variables that create spaces. The program must pass with valid
# values. Invalid values must make init fail on all PEs, with a line that names the variable, and
# the PE if only one PE has the invalid value.
#
# usage: run_space_env.sh PROGRAM NP LAUNCHER [ARGUMENT...]
set -u
. "$(dirname "$0")/../job.sh"

mkdir "$dir/fam"
gpu=(LD_LIBRARY_PATH="$fake")
fam=(SHMEM_FAM_PATH="$dir/fam")
hbm=(HWLOC_XMLFILE="$(dirname "$0")/../../topology/here.xml" HWLOC_THISSYSTEM=1)
no_hbm=(HWLOC_SYNTHETIC="node:1 pu:2" HWLOC_THISSYSTEM=1)

good()
{
    local name=$1
    shift
    job "$name" "$@" || return
    [ $status -eq 0 ] && echo "ok   $name" || fail "$name" "the job ended with status $status, expected 0"
}

# bad NAME TEXT [VARIABLE=VALUE...] [-- ARGUMENT]: init ends the job, and somebody says TEXT.
bad()
{
    local name=$1 text=$2 variables=() argument=start
    shift 2
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        variables+=("$1")
        shift
    done
    [ $# -gt 1 ] && argument=$2
    job "$name" ${variables[@]+"${variables[@]}"} -- "$argument" || return
    [ $status -ne 0 ] || { fail "$name" "the job ended with status 0, expected init to fail"; return; }
    ! grep -q survived "$out" || { fail "$name" "the PEs continued, expected init to end the job"; return; }
    says "$name" "$text" && echo "ok   $name (status $status)"
}

good nothing
good cpu SHMEM_ENABLE_CPU=1
good cpu_size SHMEM_ENABLE_CPU=1 SHMEM_CPU_SYMMETRIC_SIZE=1048576
good cpu_off SHMEM_ENABLE_CPU=0
good fam SHMEM_ENABLE_FAM=1 SHMEM_FAM_SYMMETRIC_SIZE=2097152 "${fam[@]}"
good gpu SHMEM_ENABLE_GPU=1 SHMEM_GPU_SYMMETRIC_SIZE=4194304 "${gpu[@]}"
good gpu_of_last SHMEM_ENABLE_GPU=1 FAKECUDA_RANKS=$last "${gpu[@]}"
good hbm SHMEM_ENABLE_HBM=1 SHMEM_HBM_SYMMETRIC_SIZE=2097152 "${hbm[@]}"
good all SHMEM_ENABLE_CPU=1 SHMEM_ENABLE_GPU=1 SHMEM_ENABLE_FAM=1 "${gpu[@]}" "${fam[@]}"
good default_gpu SHMEM_DEFAULT_SPACE=gpu SHMEM_SYMMETRIC_SIZE=16777216 "${gpu[@]}"
good default_GPU SHMEM_DEFAULT_SPACE=GPU SHMEM_SYMMETRIC_SIZE=16777216 SHMEM_GPU_IPC=off \
    "${gpu[@]}"
good default_fam SHMEM_DEFAULT_SPACE=fam SHMEM_SYMMETRIC_SIZE=16777216 "${fam[@]}"
good default_fam_checked SHMEM_DEFAULT_SPACE=fam SHMEM_SYMMETRIC_SIZE=16777216 SHMEM_CHECK=1 \
    "${fam[@]}"
good default_hbm SHMEM_DEFAULT_SPACE=hbm SHMEM_SYMMETRIC_SIZE=16777216 "${hbm[@]}"
good default_cpu SHMEM_DEFAULT_SPACE=cpu SHMEM_SYMMETRIC_SIZE=16777216
good default_gpu_all SHMEM_DEFAULT_SPACE=gpu SHMEM_SYMMETRIC_SIZE=16777216 SHMEM_ENABLE_CPU=1 \
    SHMEM_ENABLE_GPU=1 SHMEM_ENABLE_FAM=1 "${gpu[@]}" "${fam[@]}"
good default_gpu_checked SHMEM_DEFAULT_SPACE=gpu SHMEM_SYMMETRIC_SIZE=16777216 SHMEM_CHECK=1 \
    "${gpu[@]}"

# A program that is made for a heap, where there is none: told once, by one PE.
nothing()
{
    local name="nothing $*" lines
    job "$name" SHMEM_SYMMETRIC_SIZE=0 "$@" -- nothing || return
    [ $status -eq 0 ] || { fail "$name" "the job ended with status $status, expected 0"; return; }
    says "$name" "^steppe: pe 0 \([^)]*\): shmem_malloc: the result is NULL because \
SHMEM_SYMMETRIC_SIZE is 0, so there is no symmetric heap for 100 bytes: .* \(printed once" || return
    lines=$(grep -c "^steppe:" "$out")
    [ "$lines" -eq 1 ] && echo "ok   $name" || fail "$name" "the library printed $lines lines, expected 1"
}
nothing
nothing SHMEM_DEFAULT_SPACE=gpu "${gpu[@]}"
nothing SHMEM_DEFAULT_SPACE=fam "${fam[@]}"
if [ "${SHMEM_NODE:-on}" != off ]; then # how bytes travel has no say in it
    SHMEM_SYMMETRIC_SIZE=0 "$(dirname "${launcher[0]}")/oshinfo" --spaces >"$out" 2>&1
    says oshinfo "default_heap +0 bytes" && echo "ok   oshinfo"
    for size in -1 0x 0: 0:-1; do
        bad "size $size" "SHMEM_SYMMETRIC_SIZE is '$size': expected" SHMEM_SYMMETRIC_SIZE=$size
    done
fi

# What no PE has, and what nobody knows. Where each PE is a node, each speaks of itself first.
init='^steppe: (pe [0-9]+ )?\([^)]*\): shmem_init: '
bad default_without_gpu "${init}SHMEM_DEFAULT_SPACE=GPU: PE [0-9]+ cannot create its symmetric heap" \
    SHMEM_DEFAULT_SPACE=gpu FAKECUDA_DEVICES=0 "${gpu[@]}"
bad default_without_path "${init}SHMEM_DEFAULT_SPACE=FAM: PE [0-9]+ .*FAM_PATH is not set" \
    SHMEM_DEFAULT_SPACE=fam
bad default_without_hbm "${init}SHMEM_DEFAULT_SPACE=HBM: PE [0-9]+ .*no NUMA node has high bandw" \
    SHMEM_DEFAULT_SPACE=hbm "${no_hbm[@]}"
bad default_tape "SHMEM_DEFAULT_SPACE is 'tape': expected .*cpu" SHMEM_DEFAULT_SPACE=tape
bad default_too_large "${init}SHMEM_DEFAULT_SPACE=GPU: .*SHMEM_SYMMETRIC_SIZE of 4294967296 " \
    SHMEM_DEFAULT_SPACE=gpu SHMEM_SYMMETRIC_SIZE=4g "${gpu[@]}"
bad grows_fam "${init}SHMEM_DEFAULT_SPACE=FAM: .*memory of kind fam cannot grow" \
    SHMEM_DEFAULT_SPACE=fam SHMEM_SYMMETRIC_SIZE=16m:32m "${fam[@]}"
bad grows_gpu "${init}SHMEM_DEFAULT_SPACE=GPU: .*memory of kind gpu cannot grow" \
    SHMEM_DEFAULT_SPACE=gpu SHMEM_SYMMETRIC_SIZE=16m:32m "${gpu[@]}"
bad grows_less "SHMEM_SYMMETRIC_SIZE is '32m:16m': expected .*512m:64g" SHMEM_SYMMETRIC_SIZE=32m:16m
bad enable_without_gpu "${init}SHMEM_ENABLE_GPU is on, but .*SHMEM_GPU_SYMMETRIC_SIZE" \
    SHMEM_ENABLE_GPU=1 FAKECUDA_DEVICES=0 "${gpu[@]}"
bad enable_without_path "${init}SHMEM_ENABLE_FAM is on, but .*SHMEM_FAM_SYMMETRIC_SIZE" \
    SHMEM_ENABLE_FAM=1
bad enable_without_hbm "${init}SHMEM_ENABLE_HBM is on, but .*SHMEM_HBM_SYMMETRIC_SIZE" \
    SHMEM_ENABLE_HBM=1 "${no_hbm[@]}"
bad enable_too_large "${init}SHMEM_ENABLE_GPU is on, but its space of 4294967296 bytes" \
    SHMEM_ENABLE_GPU=1 SHMEM_GPU_SYMMETRIC_SIZE=4g "${gpu[@]}"
bad enable_what "SHMEM_ENABLE_GPU is 'maybe': expected" SHMEM_ENABLE_GPU=maybe "${gpu[@]}"
bad enable_size "SHMEM_FAM_SYMMETRIC_SIZE is 'big': expected" SHMEM_FAM_SYMMETRIC_SIZE=big
bad enable_zero "${init}SHMEM_ENABLE_CPU is on" SHMEM_ENABLE_CPU=1 SHMEM_CPU_SYMMETRIC_SIZE=0
bad destroy_team 'shmem_team_destroy: .*predefined' SHMEM_ENABLE_CPU=1 -- destroy_team

# One PE is not like the others.
[ "$np" -lt 2 ] && exit $((failed * 2))
ONE=$last REST_ENV="" && export ONE REST_ENV
differs()
{
    local name=$1 another="has another ${2%%=*} than"
    export ONE_ENV="$2"
    shift 2
    bad "differs_$name" "${init}PE ($last $another PE 0|0 $another PE $last)" "$@"
}
differs enable_cpu  SHMEM_ENABLE_CPU=1
differs enable_gpu  SHMEM_ENABLE_GPU=1 "${gpu[@]}"
differs enable_hbm  SHMEM_ENABLE_HBM=1
differs enable_fam  SHMEM_ENABLE_FAM=1 "${fam[@]}"
differs cpu_size    SHMEM_CPU_SYMMETRIC_SIZE=5m SHMEM_ENABLE_CPU=1
differs gpu_size    SHMEM_GPU_SYMMETRIC_SIZE=5m SHMEM_ENABLE_GPU=1 "${gpu[@]}"
differs fam_size    SHMEM_FAM_SYMMETRIC_SIZE=5m SHMEM_ENABLE_FAM=1 "${fam[@]}"
differs default     SHMEM_DEFAULT_SPACE=fam "${fam[@]}"
differs size        SHMEM_SYMMETRIC_SIZE=5m
differs max         SHMEM_SYMMETRIC_SIZE=512m:1g
unset ONE
# What the NUMA node has for one part, and not for all of a host.
free=$(awk '/ (MemFree|Active\(file\)|Inactive\(file\)):/ { kib += $4 } END { print kib }' \
    /sys/devices/system/node/node0/meminfo)
share=$((free / np / 2 * 3))k
each="(cgroup limit|hbm space .* NUMA node 0, which has [0-9]+ bytes free for the PEs of this host that use it .number: $np,)"
bad default_hbm_together "$each" SHMEM_DEFAULT_SPACE=hbm SHMEM_SYMMETRIC_SIZE=$share "${hbm[@]}"
bad enable_hbm_together "$each" SHMEM_ENABLE_HBM=1 SHMEM_HBM_SYMMETRIC_SIZE=$share "${hbm[@]}"
bad default_lacks_one "${init}SHMEM_DEFAULT_SPACE=GPU: PE $last cannot create its symmetric heap" \
    SHMEM_DEFAULT_SPACE=gpu SHMEM_SYMMETRIC_SIZE=16m "${gpu[@]}" \
    "FAKECUDA_RANKS=$(seq -s, 0 $((last - 1)))"
ONE=$last ONE_ENV="FAKECUDA_MEMORY=8m" && export ONE ONE_ENV
bad default_fits_not_one "${init}SHMEM_DEFAULT_SPACE=GPU: PE $last" \
    SHMEM_DEFAULT_SPACE=gpu SHMEM_SYMMETRIC_SIZE=16m "${gpu[@]}"
bad enable_fits_not_one "${init}SHMEM_ENABLE_GPU is on" SHMEM_ENABLE_GPU=1 \
    SHMEM_GPU_SYMMETRIC_SIZE=16m "${gpu[@]}"
exit $((failed * 2))
