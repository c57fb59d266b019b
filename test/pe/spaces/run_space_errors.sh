#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs space_errors.c with each mistake. The mistake must end the job at once, with a line that
# names the PE, the routine and the error, or the routine must return an error with such a line.
#
# usage: run_space_errors.sh PROGRAM NP LAUNCHER [ARGUMENT...]
#   The variable PART selects the mistakes: creation, life, use; all of them by default.
set -u
. "$(dirname "$0")/../job.sh"

mkdir "$dir/fam" "$dir/lib"
echo "no library" >"$dir/lib/libhwloc.so.15"
topologies=$(dirname "$0")/../../topology
export SHMEM_FAM_PATH="$dir/fam" SHMEM_SYMMETRIC_SIZE=16m
gpu=(LD_LIBRARY_PATH="$fake")

# A mistake that is survived: told MISTAKE KIND TEXT [VARIABLE=VALUE...] [-- WORD]
told()
{
    local mistake=$1 kind=$2 text=$3 variables=()
    shift 3
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        variables+=("$1")
        shift
    done
    [ $# -gt 0 ] && shift
    [ "$kind" = gpu ] && variables=("${gpu[@]}" ${variables[@]+"${variables[@]}"})
    job "$mistake $kind" ${variables[@]+"${variables[@]}"} -- "$mistake" "$kind" "$@" || return
    [ $status -eq 0 ] || { fail "$mistake $kind" "the job ended with status $status, expected 0"; return; }
    says "$mistake $kind" "^steppe: pe [0-9]+ .*$text" && echo "ok   $mistake $kind"
}

# One that is not: ends MISTAKE KIND PE ROUTINE TEXT [VARIABLE=VALUE...]; PE is a number or "any".
ends()
{
    local mistake=$1 kind=$2 pe=$3 routine=$4 text=$5 variables=()
    shift 5
    variables=("$@")
    [ "$kind" = gpu ] && variables=("${gpu[@]}" "$@")
    [ "$pe" = any ] && pe='[0-9]+'
    job "$mistake $kind" ${variables[@]+"${variables[@]}"} -- "$mistake" "$kind" || return
    if [ $status -eq 0 ]; then
        fail "$mistake $kind" "the job ended with status 0, expected the mistake to end it"
    elif grep -q survived "$out"; then
        fail "$mistake $kind" "the call returned, expected the job to end"
    elif says "$mistake $kind" "^steppe: pe $pe \([^)]*\): ${routine}: .*$text"; then
        echo "ok   $mistake $kind (status $status)"
    fi
}

# ---- creation ------------------------------------------------------------------------------

creation()
{

    told bad_kind    cpu "config->device_type is 99: .*SHMEM_DEVICE_CPU"
    told hbm         cpu "no PE has hbm memory; the reason on PE 0: no NUMA node has high bandwidth .nodes: 1." \
        HWLOC_SYNTHETIC="node:1 pu:2" HWLOC_THISSYSTEM=1
    told hbm         cpu "no PE has hbm memory; the reason on PE 0: hwloc describes another host .*node 2 is not" \
        HWLOC_XMLFILE="$topologies/knl.xml"
    # of PEs alone: launchers need hwloc, too
    export ONE=0 ONE_ENV="LD_LIBRARY_PATH=$dir/lib" REST_ENV="LD_LIBRARY_PATH=$dir/lib"
    told hbm         cpu "no PE has hbm memory; the reason on PE 0: .*cannot load libhwloc.so.15 of hwloc 2.3 or later"
    unset ONE ONE_ENV REST_ENV
    told hbm_numa    cpu "attr->numa_policy is 2, but spaces of kind hbm are always bound"
    told hbm_node    cpu "attr->numa_node is 7, but this NUMA node has no high-bandwidth memory; NUMA node 0 has it" \
        HWLOC_XMLFILE="$topologies/here.xml" HWLOC_THISSYSTEM=1
    told hbm_node    cpu "attr->numa_node is 7, but this NUMA node has no high-bandwidth memory; NUMA node 2 has it" \
        HWLOC_XMLFILE="$topologies/knl.xml" HWLOC_THISSYSTEM=1
    if [ "$np" -gt 1 ]; then # where the limit of a group is less, that is told
        told hbm_together cpu "(cgroup limit|hbm space of [0-9]+ bytes per PE does not fit NUMA node 0, \
which has [0-9]+ bytes free for the PEs of this host that use it \(number: $np, first: PE 0, last: PE $last\): request at most [0-9]+ bytes per PE)" \
            HWLOC_XMLFILE="$topologies/here.xml" HWLOC_THISSYSTEM=1
        told hbm_grown cpu "(cgroup limit|growth by [0-9]+ bytes exceeds .* NUMA node 0: [0-9]+ bytes \(free: [0-9]+, PEs: $np\))" \
            HWLOC_XMLFILE="$topologies/here.xml" HWLOC_THISSYSTEM=1
    fi
    told null_config cpu "config is a null pointer"
    told unset_size cpu "shmemx_space_create_attr: attr->struct_size is 12345: initialize the structure with SHMEMX_SPACE_ATTR_INI"
    told no_parent  cpu "shmemx_space_create_attr: attr->parent is SHMEM_TEAM_INVALID"
    told nothing cpu "shmemx_space_path: pe is $np: valid PE numbers are 0..$last"
    for wrong in space_path:space space_query:space space_align:space space_persist:space \
        space_root_set:space space_reshape_commit:space ctx_space_fence:space; do
        says nothing "shmemx_${wrong%:*}: ${wrong#*:} is SHMEM_SPACE_INVALID"
    done
    says nothing "shmemx_space_device_ptr: pe is -1" "shmemx_ctx_create: config->team is SHMEM_TEAM_INV" \
        "shmemx_ctx_space_quiet: ctx is SHMEM_CTX_INVALID" \
        "shmemx_team_duplicate: team is SHMEM_TEAM_INVALID" \
        "pe $last .*shmemx_team_duplicate: new_team is a null pointer" \
        "shmemx_device_handle_create: team is SHMEM_TEAM_INVALID"
    told create      gpu "no PE has gpu memory" FAKECUDA_DEVICES=0
    told create      gpu "no PE has gpu memory" SHMEM_GPU=off
    told create      gpu "no PE has gpu memory.*SHMEM_GPU_DEVICE is 7" SHMEM_GPU_DEVICE=7
    told create      gpu "does not fit" FAKECUDA_MEMORY=7m
    told create      gpu "CUDA_ERROR_LAUNCH_FAILED" FAKECUDA_FAIL=cuMemAlloc_v2:719
    told create      gpu "cuDevicePrimaryCtxRetain" FAKECUDA_FAIL=cuDevicePrimaryCtxRetain:2
    told bad_device cpu "attr->device is -2: pass a device number of 0 or more"
    told bad_device gpu "attr->device is -2: pass a device number of 0 or more"
    told negative cpu "config->size is 18446744073709551615, more than any memory has"
    for kind in cpu gpu fam; do
        told zero       $kind "config->size is 0"
        told bad_flags  $kind "config->flags is 0x40"
        told too_large  $kind "(70368744177664|64 TiB)"
    done
    told with_name   cpu "attr->name is set, but spaces of kind cpu do not support this: only spaces of SHMEM_DEVICE_FAM do" -- mine
    told with_name   gpu "attr->name is set, but spaces of kind gpu do not" -- mine
    told with_name   fam "\"a/b\" is not a valid name" -- a/b
    told with_name   fam "\".hidden\" is not a valid name" -- .hidden
    told with_name   fam "\"\" is not a valid name" -- ""
    told garbage     cpu "attr->struct_size is 0: initialize the structure with SHMEMX_SPACE_ATTR_INITIALIZER"
    told on_gpu      fam "attr->device is 0, but spaces of kind fam use a GPU only with SHMEMX_SPACE_PINNED: pass -1"
    told bad_attr_flags cpu "attr->flags has the unknown bits 0x48: valid bits are SHMEMX_SPACE_KEEP \(1\), _PINNED \(2\) and _RESHAPE \(4\)"
    told pinned      gpu "attr->flags has SHMEMX_SPACE_PINNED, but spaces of kind gpu do not support this"
    told keep        fam "attr->flags has SHMEMX_SPACE_KEEP, but attr->name is NULL"
    told reshaped    fam "attr->flags has SHMEMX_SPACE_RESHAPE, but attr->name is NULL"
    told in_buffer   cpu "attr->buffer is set, but spaces of kind cpu"
    told in_buffer   fam "attr->buffer is set, but spaces of kind fam"
    told in_buffer   gpu "buffer 0x[0-9a-f]+ is not device memory"
    told growing     fam "attr->max_size is set, but spaces of kind fam do not support this: only spaces of SHMEM_DEVICE_CPU and SHMEM_DEVICE_HBM do" -- 2097152
    told growing     gpu "attr->max_size is set, but spaces of kind gpu do not support this: only spaces of SHMEM_DEVICE_CPU and SHMEM_DEVICE_HBM do" -- 4194304
    told growing     cpu "attr->max_size is 1048575, less than config->size, 1048576" -- 1048575
    told growing     cpu "attr->max_size is 18446744073709551615, more than any memory" -- -1
    told on_device   gpu "device is 9, but the valid numbers of GPUs on this PE are 0..0"
}

# ---- what SHMEM_FAM_PATH may be wrong with ----------------------------------------------------

fam_paths()
{
    truncate -s 3M "$dir/tiny"
    truncate -s 9M "$dir/small"
    head -c 64M /dev/urandom >"$dir/garbage"
    mkfifo "$dir/fifo"
    told create fam "SHMEM_FAM_PATH is not set" SHMEM_FAM_PATH=
    told create fam "$dir/no/such: No such file or directory" SHMEM_FAM_PATH="$dir/no/such"
    told create fam "$dir/fifo is not a directory, file or DAX device" SHMEM_FAM_PATH="$dir/fifo"
    told create fam "/dev/null is a character device" SHMEM_FAM_PATH=/dev/null
    told create fam "cannot be opened for reading and writing: Text file busy" SHMEM_FAM_PATH="$program"
    told create fam "$dir/tiny is too small: it has 3 MiB" SHMEM_FAM_PATH="$dir/tiny"
    told create fam "the largest free range of $dir/small is .*, but the space needs 1 x 8 MiB" \
        SHMEM_FAM_PATH="$dir/small"
    sum=$(md5sum <"$dir/garbage")
    told create fam "$dir/garbage" SHMEM_FAM_PATH="$dir/garbage"
    [ "$sum" = "$(md5sum <"$dir/garbage")" ] || fail garbage "the job wrote to a file that is not a pool"
    job shape -- named fam 4194304
    [ $status -eq 0 ] || fail shape "the job ended with status $status, expected 0"
    told named fam "'shape' .* has $np parts of 4 MiB, but this job requests $np parts of 8 MiB" \
        EXPECT_REFUSED=1 -- 8388608
    np=$((np + 1))
    told named fam "'shape' .* has $((np - 1)) parts of 4 MiB, but this job requests $np parts of 4 MiB" \
        EXPECT_REFUSED=1 -- 4194304
    np=$((np - 1))
    rm -f "$dir/fam/"*
}

# How bytes travel has no say in whether there is a space, and for host memory in little else.
kinds=(cpu gpu fam)
life=(cpu gpu fam)
if [ "${SHMEM_NODE:-on}" = off ]; then
    kinds=(cpu gpu)
    life=(gpu)
fi

# ---- life --------------------------------------------------------------------------------------

end_of_spaces()
{
    for kind in "${life[@]}"; do
        told destroy_held  $kind "shmem_space_destroy: space [0-9]+ is in use by teams, contexts or device handles \(1 in total"
        told destroy_twice $kind \
            "shmem_space_destroy: space 0x[0-9a-f]+ is not a live space: the space was destroyed"
        told destroy_stale $kind \
            "shmem_space_destroy: space 0x[0-9a-f]+ is not a live space: the space was destroyed"
        told live          $kind \
            "shmem_space_destroy: space [0-9]+ is destroyed, .*allocations that remain: 1, bytes: 8[0-9]{3}\)"
        stale="space 0x[0-9a-f]+ is not a live space: the space was destroyed"
        ends stale_malloc  $kind any shmem_space_malloc   "$stale"
        ends stale_calloc  $kind any shmem_space_calloc   "$stale"
        ends stale_free    $kind any shmem_space_free     "$stale"
        ends stale_caps    $kind any shmem_space_get_caps "$stale"
        ends stale_team    $kind any shmem_space_get_team "$stale"
        ends stale_next    $kind any shmem_space_malloc   "$stale"
        ends stale_ctx     $kind any shmemx_ctx_create    "config->$stale"
        ends stale_ptr     $kind any shmem_free \
            "ptr 0x[0-9a-f]+ was allocated from space [0-9]+ \($kind, 1048576 bytes\), .*destroyed"
        ends no_handle     $kind any shmem_space_malloc   "space 0x[0-9a-f]+ .*: no routine has returned this handle"
        initializer="initialize the structure with SHMEMX_SPACE_INFO_INITIALIZER"
        told query_zero    $kind "shmemx_space_query: info->struct_size is 0: $initializer"
        told query_short   $kind "shmemx_space_query: info->struct_size is [0-9]+: $initializer"
        told query_huge    $kind "shmemx_space_query: info->struct_size is 4097: $initializer"
        ends double_free   $kind any shmem_space_free "ptr 0x[0-9a-f]+ .*freed before"
        ends interior      $kind any shmem_space_free "ptr 0x[0-9a-f]+ is 8 bytes inside"
        ends free_other    $kind any shmem_space_free \
            "belongs to space [0-9]+ \($kind, 1048576 bytes\), not to space [0-9]+"
        ends free_private  $kind any shmem_space_free "was not allocated from symmetric memory"
        ends free_heap     $kind any shmem_space_free "belongs to space 2 \(cpu, 16777216 bytes\), not"
    done

    if [ "${SHMEM_NODE:-on}" != off ]; then
        ends free_named fam any shmem_free \
            "ptr 0x[0-9a-f]+ is the block with the name \"bytes\": remove the name first"
        rm -f "$dir/fam/free_named.fam" # of a job that did not end by itself
    fi
}

# ---- use ---------------------------------------------------------------------------------------

use()
{
    # What a space keeps for its growth, in the window and outside it: by the library, and by the trap.
    kept="offset 4194304 of space .*1048576 bytes.* 67108864"
    if [ "${SHMEM_NODE:-on}" = off ]; then
        ends kept_put cpu $last shmem_long_p "dest 0x[0-9a-f]+ .*$kept"
    else
        for window in 0 64m; do
            ends kept_put   cpu any 'shmem_long_p(: access to 0x[0-9a-f]+)?' "$kept" \
                SHMEM_WINDOW_SIZE=$window
            ends kept_store cpu any 'access to 0x[0-9a-f]+' "$kept" SHMEM_WINDOW_SIZE=$window
        done
        ends store_beyond cpu any 'access to 0x[0-9a-f]+' "no space of (the PE with index [0-9]+ on this node|this PE)"
        # AddressSanitizer says itself what no space is near.
        [ -n "${ASAN_OPTIONS-}" ] || ends store_beyond fam any 'access to 0x[0-9a-f]+' ""
    fi

    for kind in "${kinds[@]}"; do
        gone="(it|the address) was in space [0-9]+ \($kind, 1048576 bytes\), which was destroyed"
        if [ "${SHMEM_NODE:-on}" != off ]; then
            ends put_stale  $kind any   shmem_long_p "dest 0x[0-9a-f]+ .*$gone" SHMEM_CHECK=1
            ends put_beyond $kind $last shmem_long_put "dest .*past the end of its space" SHMEM_CHECK=1
            ends get_beyond $kind $last shmem_long_get "source .*past the end of its space" \
                SHMEM_CHECK=1
        fi
        if [ $kind != cpu ] || [ "${SHMEM_NODE:-on}" = off ]; then
            ends put_stale  $kind any   shmem_long_p   "dest 0x[0-9a-f]+ .*$gone"
            ends get_stale  $kind any   shmem_long_get "source 0x[0-9a-f]+ .*$gone"
            ends amo_stale  $kind any   shmem_long_atomic_inc "dest 0x[0-9a-f]+ .*$gone"
            ends put_beyond $kind $last shmem_long_put "dest .*past the end of its space"
            ends get_beyond $kind $last shmem_long_get "source .*past the end of its space"
        else # the window: loads and stores are not looked at, they trap, and the trap is explained
            none="no space of the PE with index [0-9]+ on this node"
            ends put_beyond $kind any '(shmem_long_put: )?access to 0x[0-9a-f]+' "$none"
            ends get_beyond $kind any '(shmem_long_get: )?access to 0x[0-9a-f]+' "$none"
            gone+=", in the memory of the PE with index [0-9]+ on this node"
            ends put_stale $kind any 'shmem_long_p: access to 0x[0-9a-f]+' "$gone"
            ends get_stale $kind any '(shmem_long_get: )?access to 0x[0-9a-f]+' "$gone"
            ends amo_stale $kind any 'shmem_long_atomic_inc: access to 0x[0-9a-f]+' "$gone"
        fi
        ends put_past_block $kind $last shmem_long_put "dest .*past its allocation" SHMEM_CHECK=1
        ends amo_unaligned  $kind $last shmem_long_atomic_inc "not aligned to 8"    SHMEM_CHECK=1
        [ "$np" -lt 2 ] && continue
        ends malloc_differs $kind any shmem_space_malloc "size is .* on PE .* and .* on PE " SHMEM_CHECK=1
        ends calloc_differs $kind any shmem_space_calloc "count . size is .* on PE .* and .* on PE " SHMEM_CHECK=1
        ends free_differs   $kind any shmem_space_free   "the offset of ptr in its space is .* on PE .* and .* on PE " SHMEM_CHECK=1
        mixed="is in space [0-9]+ on PE 0, but in another space on PE $last"
        beyond="dest 0x[0-9a-f]+ with 2097152 bytes reaches [0-9]+ bytes past the end of its space"
        ends broadcast_beyond $kind any shmem_long_broadcast  "$beyond"
        ends reduce_beyond  $kind any shmem_long_sum_reduce "$beyond"
        ends mixed_dest     $kind any shmem_long_broadcast  "dest $mixed"   SHMEM_CHECK=1
        ends mixed_source   $kind any shmem_long_sum_reduce "source $mixed" SHMEM_CHECK=1
    done
    for kind in "${kinds[@]}"; do
        bound="0x[0-9a-f]+ is not in space [0-9]+, but the context is bound"
        ends bound_put    $kind $last shmem_ctx_long_p          "dest $bound"   SHMEM_CHECK=1
        ends bound_get    $kind $last shmem_ctx_long_g          "source $bound" SHMEM_CHECK=1
        ends bound_amo    $kind $last shmem_ctx_long_atomic_inc "dest $bound"   SHMEM_CHECK=1
        ends bound_data   $kind $last shmem_ctx_long_put_signal "dest $bound"   SHMEM_CHECK=1
        ends bound_signal $kind $last shmem_ctx_long_put_signal "sig_addr $bound" SHMEM_CHECK=1
    done
    ends private_dest gpu $last shmem_long_put        "dest 0x[0-9a-f]+ .*not symmetric"
    ends private_amo  gpu $last shmem_long_atomic_inc "dest 0x[0-9a-f]+ .*not symmetric"
    if [ "$np" -gt 1 ]; then
        ends put_outside gpu 0 shmem_long_p "dest 0x[0-9a-f]+ .*space [0-9]+, but PE 1 is not a member" FAKECUDA_RANKS=0
        ends coll_outside gpu any shmem_long_broadcast "(dest|source) " FAKECUDA_RANKS=0 SHMEM_CHECK=1
        ends get_outside gpu 0 shmem_long_g "source 0x[0-9a-f]+ .*space [0-9]+, but PE 1 is not a member" FAKECUDA_RANKS=0
    fi
}

# ---- a device, or a PE, is lost in the middle -----------------------------------------------

lost()
{
    local name="lost_device $*"
    job "$name" "${gpu[@]}" "$@" -- lost_device gpu || return
    if [ $status -eq 0 ] || grep -q survived "$out"; then
        fail "$name" "the job continued after the device was lost (status $status)"
    elif grep -q "fakecuda:" "$out"; then
        fail "$name" "the fake driver reports a misuse"
    elif says "$name" "^steppe: pe [0-9]+ .*CUDA_ERROR_"; then
        echo "ok   $name (status $status)"
    fi
}

losses()
{
    for result in 719 700 214; do
        lost FAKECUDA_FAIL=cuStreamSynchronize@5+:$result
    done
    lost "FAKECUDA_FAIL=cuStreamSynchronize#$last@40+:719"
    lost FAKECUDA_FAIL=cuMemcpyAsync@7:719,cuMemcpyDtoHAsync_v2@7:719,cuMemcpyHtoDAsync_v2@7:719
    lost "FAKECUDA_FAIL=cuMemcpyHtoDAsync_v2#$last@9:700" SHMEM_GPU_IPC=off
    lost "FAKECUDA_FAIL=cuMemcpyDtoHAsync_v2#$last@9:700" SHMEM_GPU_IPC=off
    if [ "$np" -gt 1 ]; then
        for kind in "${kinds[@]}"; do
            job "killed $kind" LD_LIBRARY_PATH="$fake" -- killed $kind || continue
            [ $status -ne 0 ] && echo "ok   killed $kind (status $status)" ||
                fail "killed $kind" "the job ended with status 0 although a PE was killed"
        done
    fi
}

part=${PART:-all}
case $part in
    creation|all)
        if [ "${SHMEM_NODE:-on}" != off ]; then
            creation
            fam_paths
        elif [ $part = creation ]; then
            exit 77 # the same through the fabric
        fi ;;&
    life|all) end_of_spaces ;;&
    use|all) use; losses ;;
esac
ls -A "$dir/fam" | grep -q . && fail fam "files are left in SHMEM_FAM_PATH: $(ls -A "$dir/fam")"
exit $((failed * 2))
