#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Run stream_ring as a job: its block went around as many PEs as are to have a GPU.
#
# usage: check_stream_ring.sh <PEs with a GPU> <oshrun> -n <PEs> <stream_ring>
set -eu

with=$1
shift
out=$("$@")
echo "$out"
expected="stream_ring: no PE has a GPU"
[ "$with" -eq 0 ] || expected="stream_ring: $with PEs, 0 of 1000 numbers wrong"
[ "$out" = "$expected" ] || { echo "check_stream_ring: expected '$expected'" >&2; exit 1; }
