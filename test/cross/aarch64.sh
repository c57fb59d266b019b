#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Builds for aarch64 with a cross compiler, and runs unit tests and programs of PEs under qemu's
# user emulation: one PE on the node, two through the fabric. The script finds code that does not
# compile or compute there. It cannot find errors of memory order, because qemu on x86-64 keeps the
# order of its host.
#
# usage: aarch64.sh SOURCE FOLDER
#   FOLDER: for the build and for sysroot.sh; kept for the next run. 77: skipped, with the reason
set -eu

[ $# -eq 2 ] || { sed -n 's/^# \{0,1\}//; 3,9p' "$0" >&2; exit 2; }
source=$1
mkdir -p "$2"
folder=$(cd "$2" && pwd)
root=$folder/sysroot/root

for tool in aarch64-linux-gnu-gcc aarch64-linux-gnu-g++ qemu-aarch64 apt-get dpkg-deb; do
    command -v $tool >/dev/null || {
        echo "skipped: $tool is not installed (scripts/setup.sh --full)"
        exit 77
    }
done
"$(dirname "$0")/sysroot.sh" arm64 "$folder/sysroot" >"$folder/sysroot.log" 2>&1 || {
    echo "skipped: packages of arm64 cannot be fetched: $(tail -n 1 "$folder/sysroot.log")"
    exit 77
}

units="dtype env text limit heap heap_random pmi pmi_bad pmi_parts pmi_slurm fam fam_pool fam_named"
programs="amo rma signal"
targets=$(for name in $units; do echo "test_$name"; done; for name in $programs; do echo "pe_$name"; done)
cmake -S "$source" -B "$folder/build" -DSTEPPE_SYSROOT="$root" -DSTEPPE_WERROR=ON \
    -DCMAKE_TOOLCHAIN_FILE="$(cd "$(dirname "$0")" && pwd)/toolchain.cmake" >"$folder/build.log" 2>&1 &&
    # shellcheck disable=SC2086 # a list of words
    cmake --build "$folder/build" -j "${JOBS:-2}" --target steppe steppe_ofi oshinfo $targets \
        >>"$folder/build.log" 2>&1 || { tail -n 30 "$folder/build.log"; exit 1; }

emulator="qemu-aarch64 -L $root"
failed=0
for name in $units; do
    # shellcheck disable=SC2086
    timeout 120 $emulator "$folder/build/bin/test_$name" </dev/null >"$folder/out" 2>&1 && continue
    echo "aarch64.sh: FAIL: the unit test test_$name under qemu; its output:"
    cat "$folder/out"
    failed=1
done

# -R: without, qemu keeps tables for all of the window that the library reserves, for minutes; with it,
# what is unmapped stays reserved, so unit tests do without.
# A process of qemu has threads from the start, so globals cannot be shared on a node: that path has
# one PE, the fabric has two.
run()
{
    what="$1 PEs of pe_$3, SHMEM_NODE=$2"
    # shellcheck disable=SC2086
    if ! SHMEM_NODE=$2 SHMEM_OFI_PROVIDER=tcp timeout -k 5 120 mpiexec.hydra -n "$1" $emulator -R 0x1000000000 \
        "$folder/build/bin/pe_$3" <>"$folder/stdin" >"$folder/out" 2>&1; then
        echo "aarch64.sh: FAIL: $what, under qemu; the output:"
        cat "$folder/out"
        failed=1
    fi
}

[ -p "$folder/stdin" ] || mkfifo "$folder/stdin"
for name in $programs; do
    run 1 on "$name"
    run 2 off "$name"
done
exit $failed
