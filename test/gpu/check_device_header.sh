#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Checks that compilers for devices accept shmemx_device.h. clang compiles it to PTX without CUDA,
# and compiles the host's half of the same source; ptxas and nvcc are used if they are installed.
# Nothing is run on a device.
#
# usage: check_device_header.sh
# Exit status 0; 1 when a compiler rejects the header; 77 when no compiler for devices is installed.
set -eu

cd "$(dirname "$0")"
clang=${CLANG:-clang}
include=../../include
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
took=

if command -v "$clang" >/dev/null 2>&1 && "$clang" --print-targets 2>/dev/null | grep -q nvptx64; then
    plain="-x cuda --cuda-path=/nonexistent -nocudainc -nocudalib -O2 -Wall -Wextra -Werror"
    "$clang" $plain --cuda-device-only --cuda-gpu-arch=sm_70 -Xclang -target-feature -Xclang +ptx63 \
        -I$include -S -o "$dir/uses.ptx" device_header.cu
    grep -q 'st.release.sys.u64' "$dir/uses.ptx"
    grep -q 'fence.sc.sys' "$dir/uses.ptx"
    grep -q 'ld.v2.u64' "$dir/uses.ptx" # copies take 16 bytes at once
    "$clang" $plain --cuda-host-only -I$include -fsyntax-only device_header.cu
    took="$took clang"
    for ptxas in ptxas /usr/local/cuda/bin/ptxas; do
        command -v "$ptxas" >/dev/null 2>&1 || continue
        for arch in sm_80 sm_90; do
            "$ptxas" -arch=$arch -o /dev/null "$dir/uses.ptx"
        done
        took="$took ptxas"
        break
    done
fi
for nvcc in nvcc /usr/local/cuda/bin/nvcc; do
    command -v "$nvcc" >/dev/null 2>&1 || continue
    "$nvcc" -arch=sm_90 -I$include -Xcompiler -Wall,-Wextra,-Werror -c -o "$dir/uses.o" device_header.cu
    "$nvcc" -arch=sm_90 -I$include -x cu -c -o "$dir/example.o" ../../examples/kernel_ring.c
    took="$took nvcc"
    break
done
[ -n "$took" ] || { echo "skipped: neither clang with nvptx64 nor nvcc is installed" >&2; exit 77; }
echo "compiled by:$took"
