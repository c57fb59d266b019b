#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Run heat2d as a job, and as one PE in host memory: the checksums must be equal.
#
# usage: check_heat2d.sh <oshrun> -n <PEs> <heat2d> [option...]
set -eu

launcher=$1 n=$3 program=$4
shift 4
out=$("$launcher" -n "$n" "$program" "$@")
echo "$out"
# the last --kind counts
alone=$(SHMEM_PMI=single SHMEM_NODE=on "$program" "$@" --kind cpu)
sum=$(echo "$out" | sed -n 's/.*checksum //p')
[ ${#sum} -eq 16 ] || { echo "check_heat2d: no checksum" >&2; exit 1; }
[ "$sum" = "$(echo "$alone" | sed -n 's/.*checksum //p')" ] ||
    { echo "check_heat2d: one PE has another checksum: $alone" >&2; exit 1; }
