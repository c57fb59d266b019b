#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Build everything with gcc and with clang, warnings being errors, and run the tests.
#
# usage: scripts/test.sh [--full [--only PART,...] [--resume | --again] [--report FILE] [--list]]
#   --full   the full matrix in its place: some two hours. Parts, and a report: full_matrix.py
#
# Writes build/junit.xml, prints the slowest tests, and ends with CTest's summary and its exit
# status. Environment: JOBS, parallel jobs (default: all processors).
set -eu

cd "$(dirname "$0")/.."
case ${1-} in
    "") ;;
    --full)
        shift
        scripts/setup.sh --full
        exec python3 scripts/full_matrix.py "$@"
        ;;
    *) sed -n 's/^# \{0,1\}//; 3,9p' "$0" >&2; exit 2 ;;
esac
jobs=${JOBS:-$(nproc)}

# build FOLDER CC CXX [OPTION...]: configure and build, quietly unless something fails.
build()
{
    folder=$1 cc=$2 cxx=$3
    shift 3
    echo "== building with $cc in $folder"
    started=$(date +%s)
    log=$(mktemp)
    if ! { CC=$cc CXX=$cxx cmake -S . -B "$folder" -DSTEPPE_WERROR=ON "$@" &&
        cmake --build "$folder" -j"$jobs"; } >"$log" 2>&1 </dev/null; then
        cat "$log"
        rm -f "$log"
        exit 1
    fi
    rm -f "$log"
    echo "== built with $cc in $(($(date +%s) - started)) s"
}

scripts/setup.sh
build build gcc g++
# For its warnings alone, which do not need the optimizer.
if command -v clang >/dev/null 2>&1; then
    build build-clang clang clang++ -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O0 \
        -DCMAKE_CXX_FLAGS_DEBUG=-O0
fi
status=0
ctest --test-dir build -j"$jobs" -LE full --output-on-failure --output-junit junit.xml \
    --output-log build/ctest.log <>build/test/endless || status=$?
python3 scripts/slowest.py build/junit.xml
sed -n '/% tests passed/,$p' build/ctest.log
exit $status
