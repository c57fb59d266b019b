#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Tests the portable part of steppe-bench. With own, Steppe's compiler wrapper builds it, and the
# result measures every bench that it lists. With openmpi or mpi, `compare --ab` runs it beside a
# build with another library. Which side is faster is not judged.
#
# usage: check_portable.sh SOURCE_DIR BUILD_DIR own|openmpi|mpi      77: that compiler is missing
set -eu
tools=$1/bench/tools bin=$2/bin
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# ab SIDE BENCH...: Steppe beside SIDE; 1 says that SIDE is slower, which is not judged here.
ab()
{
    side=$1
    shift
    status=0
    STEPPE_BENCH_PROGRAM=$bin/steppe-bench python3 "$tools/main.py" compare --ab \
        "$bin/oshcc,$bin/oshrun" "$side" -n 2 --runs 6 --format json -- --quick --sizes 8 "$@" \
        >"$folder/out" 2>"$folder/said" || status=$?
    judged=$(grep -c '"verdict": "\(worse\|better\|equal\)"' "$folder/out" || :)
    [ "$judged" -eq $# ] || status=2
    [ $status -le 1 ] || { cat "$folder/said" "$folder/out" >&2; exit 1; }
}

# need PROGRAM...
need()
{
    for program in "$@"; do
        command -v "$program" >/dev/null || exit 77
    done
}

case $3 in
own)
    python3 "$tools/build_portable.py" "$bin/oshcc,$bin/oshrun" "$folder"
    python3 "$1/bench/check_json.py" "$bin/oshrun" -n 2 "$folder/steppe-bench" --quick --verify \
        --sizes 64 --iterations 2 --format json all
    ;;
openmpi)
    need /usr/bin/oshcc /usr/bin/oshrun
    root=$([ "$(id -u)" -ne 0 ] || echo --allow-run-as-root)
    ab "/usr/bin/oshcc,/usr/bin/oshrun --oversubscribe $root" put-latency barrier
    ;;
mpi)
    need mpicc.mpich mpiexec.hydra
    ab mpi:mpicc.mpich,mpiexec.hydra put-latency barrier
    ;;
esac
