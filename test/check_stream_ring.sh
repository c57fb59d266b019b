#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs stream_ring as a job and checks its line of output: the number of PEs with a GPU must be the
# expected one, and none of the numbers may be wrong.
#
# usage: check_stream_ring.sh <PEs with a GPU> <oshrun> -n <PEs> <stream_ring>
set -eu

with=$1
shift
out=$("$@")
echo "$out"
expected="stream_ring: no PE has a GPU"
[ "$with" -eq 0 ] || expected="stream_ring: $with PEs, 0 of 1000 numbers wrong"
[ "$out" = "$expected" ] || {
    echo "check_stream_ring: the job must print '$expected', but printed '$out'" >&2
    exit 1
}
