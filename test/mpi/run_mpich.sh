#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds both.c with MPICH's compiler wrapper and runs it with several orders of initialization and
# finalization, under PMI-1 and PMI-2. quick runs fewer orders and numbers of PEs. Skipped (77)
# without MPICH's wrapper.
#
# In the variant other, the process has loaded the libfabric of the system before Steppe needs one, as
# with an MPI that uses libfabric. Steppe may have been built with another version. If the system's
# version is too old, the job must end with a message that has both versions.
#
# usage: run_mpich.sh quick|full node|tcp|hosts|other HYDRA SOURCE PROGRAM COMPILER-OPTION... LIBRARY
set -u
extent=$1 variant=$2 hydra=$3 source=$4 program=$5
shift 5
library=${*: -1}

skip()
{
    echo "skipped: $1" >&2
    exit 77
}

command -v mpicc.mpich >/dev/null 2>&1 || skip "mpicc.mpich is not installed (Debian: libmpich-dev)"
mpicc.mpich -std=gnu11 -O1 -Wall -o "$program" "$source" "$@" \
    -Wl,-rpath,"$(dirname "$library")" || exit 1

# MPICH uses PMI-1. Hydra of MPICH 4.2 and later accepts only one version in a process.
case $("$hydra" --version | sed -n 's/^ *Version: *//p') in
    3.* | 4.[01]*) pmis="1 2" ;;
    *) pmis=1 ;;
esac

options=() before=(env)
case $variant in
    tcp | other) export SHMEM_NODE=off SHMEM_OFI_PROVIDER=tcp ;;
    hosts) export SHMEM_OFI_PROVIDER=tcp; options=(-launcher fork -hosts "a:2,b:2") ;;
esac
. "$(dirname "$0")/../pe/endless.sh"
failed=0

# both NP PMI FIRST-IN FIRST-OUT
both()
{
    local status
    SHMEM_PMI=$2 timeout -k 5 40 "$hydra" ${options[@]+"${options[@]}"} -n "$1" "${before[@]}" \
        "$program" "$3" "$4"
    status=$?
    [ $status -eq 0 ] && return
    echo "FAIL $variant: $1 PEs, PMI-$2, $3 initialized first, $4 finalized first: status $status, not 0" >&2
    failed=2
}

# Both PEs load the system's libfabric first.
with_other_libfabric()
{
    local other said
    other=$(ldconfig -p | awk '/libfabric[.]so[.]1 .*x86-64|libfabric[.]so[.]1 .*AArch64/ { print $NF; exit }')
    [ -n "$other" ] || skip "the system has no libfabric of its own"
    before=(env "LD_PRELOAD=$other")
    if ! LD_PRELOAD=$other ldd "$(dirname "$library")/steppe/ofi.so" 2>&1 | grep -q 'not found'; then
        both 2 1 mpi shmem
        return
    fi
    said=$(both 2 1 mpi shmem 2>&1)
    [[ $said == *"libfabric "*" ($other) was found, but the module was built with libfabric "* ]] && return
    echo "FAIL other: $other is too old, but the job says: $said" >&2
    failed=2
}

case $extent:$variant in
    *:other) with_other_libfabric ;;
    quick:node)
        for pmi in $pmis; do
            both 2 $pmi mpi mpi
            both 2 $pmi mpi shmem
            both 2 $pmi shmem mpi
            both 2 $pmi shmem shmem
        done
        both 1 1 shmem mpi
        both 4 1 mpi shmem ;;
    quick:tcp)
        both 2 1 mpi shmem
        both 2 ${pmis##* } shmem mpi ;;
    quick:hosts)
        both 4 1 shmem mpi
        both 4 ${pmis##* } mpi shmem ;;
    *)
        for np in 1 2 3 4; do
            for pmi in $pmis; do
                for order in "mpi mpi" "mpi shmem" "shmem mpi" "shmem shmem"; do
                    # shellcheck disable=SC2086 # two words
                    both $np $pmi $order
                done
            done
        done ;;
esac
exit $failed
