#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs heat2d as a job, and as one PE in host memory. Both must print the same checksum, of 16
# digits. Whether the checksum is physically right is not checked.
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
[ ${#sum} -eq 16 ] || {
    echo "check_heat2d: the job printed no checksum of 16 digits: $sum" >&2
    exit 1
}
[ "$sum" = "$(echo "$alone" | sed -n 's/.*checksum //p')" ] ||
    { echo "check_heat2d: the job has the checksum $sum, one PE printed: $alone" >&2; exit 1; }
