#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Build everything with gcc, let clang look for warnings, which are errors, and run the tests.
#
# usage: scripts/test.sh [--full [--only PART,...] [--resume | --again] [--report FILE] [--list]]
#   --full   the full matrix in its place: some two hours. Parts, and a report: full_matrix.py
#
# Writes build/junit.xml, prints the slowest tests, and ends with CTest's summary and its exit
# status. Environment: JOBS, parallel compilations and tests (default: all processors).
set -eu

cd "$(dirname "$0")/.."
case ${1-} in
    "") ;;
    --full)
        shift
        scripts/setup.sh --full
        exec python3 scripts/full_matrix.py "$@"
        ;;
    *) sed -n 's/^# \{0,1\}//; 3,10p' "$0" >&2; exit 2 ;;
esac
jobs=${JOBS:-$(nproc)}

# quietly WHAT COMMAND...: run the command, print what it says if it fails, and how long it took.
quietly()
{
    what=$1
    shift
    echo "== $what"
    started=$(date +%s)
    log=$(mktemp)
    if ! "$@" >"$log" 2>&1 </dev/null; then
        cat "$log"
        rm -f "$log"
        exit 1
    fi
    rm -f "$log"
    echo "== $what: done in $(($(date +%s) - started)) s"
}

# build: in a new folder with Ninja where it is installed; a folder that is there keeps its generator.
# What the quick tests need, with line numbers alone as information for debuggers.
build()
{
    generator=
    if [ ! -f build/CMakeCache.txt ] && command -v ninja >/dev/null 2>&1; then
        generator="-G Ninja"
    fi
    # shellcheck disable=SC2086 # nothing or two words
    CC=gcc CXX=g++ cmake -S . -B build $generator -DSTEPPE_WERROR=ON \
        -DBUILD_TESTING=ON -DSTEPPE_QUICK_TESTS=ON "-DCMAKE_C_FLAGS_RELWITHDEBINFO=-O2 -g1 -DNDEBUG" &&
        cmake --build build -j"$jobs"
}

scripts/setup.sh
quietly "building with gcc in build" build
if command -v clang >/dev/null 2>&1; then
    quietly "reading the sources with clang" python3 scripts/clang_syntax.py build "$jobs"
fi
status=0
# Half as many more, because many tests wait. Three PEs that use the fabric still run alone.
ctest --test-dir build -j$((jobs + (jobs + 1) / 2)) -LE full --output-on-failure \
    --output-junit junit.xml --output-log build/ctest.log <>build/test/endless || status=$?
python3 scripts/slowest.py build/junit.xml
sed -n '/% tests passed/,$p' build/ctest.log
exit $status
