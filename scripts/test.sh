#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Build everything with gcc and with clang, warnings being errors, and run the tests.
#
# usage: scripts/test.sh [--full]
#   --full   also the tests labelled "full" (slow)
#
# Ends with CTest's summary and its exit status. Environment: JOBS, parallel jobs (default: all
# processors).
set -eu

cd "$(dirname "$0")/.."
case ${1-} in
    "") tests="-LE full" ;;
    --full) tests= ;;
    *) sed -n 's/^# \{0,1\}//; 3,9p' "$0" >&2; exit 2 ;;
esac
jobs=${JOBS:-$(nproc)}

# build FOLDER CC CXX: configure and build, quietly unless something fails.
build()
{
    echo "== building with $2 in $1"
    log=$(mktemp)
    if ! { CC=$2 CXX=$3 cmake -S . -B "$1" -DSTEPPE_WERROR=ON &&
        cmake --build "$1" -j"$jobs"; } >"$log" 2>&1 </dev/null; then
        cat "$log"
        rm -f "$log"
        exit 1
    fi
    rm -f "$log"
}

scripts/setup.sh
build build gcc g++
if command -v clang >/dev/null 2>&1; then
    build build-clang clang clang++
fi
# shellcheck disable=SC2086 # two words or none
exec ctest --test-dir build -j"$jobs" $tests --output-on-failure </dev/null
