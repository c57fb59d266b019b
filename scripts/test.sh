#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Build everything with gcc, let clang read the sources (warnings are errors), and run the quick tests.
#
# usage: scripts/test.sh [--full [--only PART,...] [--resume | --again] [--report FILE] [--list]]
#   --full   run the full matrix instead, about two hours; full_matrix.py describes its options
#
# Writes build/junit.xml, prints the slowest tests, and ends with CTest's summary and its exit
# status. Environment: JOBS, parallel compilations and tests (default: all processors).
set -eu

cd "$(dirname "$0")/.."
case ${1-} in
    "") ;;
    --full)
        shift
        echo "test.sh: runs the full matrix of tests, part by part: two hours or more on 2 cores"
        scripts/setup.sh --full
        exec python3 scripts/full_matrix.py "$@"
        ;;
    *) sed -n 's/^# \{0,1\}//; 3,10p' "$0" >&2; exit 2 ;;
esac
jobs=${JOBS:-$(nproc)}
echo "test.sh: builds Steppe in build/ with gcc, lets clang read the sources, and runs the quick tests:"
echo "test.sh: about 5 minutes on 2 idle cores; --full runs all tests"
scripts/setup.sh --test

# step WHAT COMMAND...: run the command, print its progress, and its output if it fails.
step()
{
    what=$1
    shift
    started=$(date +%s)
    python3 scripts/progress.py "$what" "build/$what.log" "$@" </dev/null
    echo "test.sh: $what done in $(($(date +%s) - started)) s"
}

# A new build folder uses Ninja if it is installed; an existing one keeps its generator. The build has
# what the quick tests need, and line numbers as the only information for debuggers.
generator=
if [ ! -f build/CMakeCache.txt ] && command -v ninja >/dev/null 2>&1; then
    generator="-G Ninja"
fi
mkdir -p build
# shellcheck disable=SC2086 # nothing or two words
step configure env CC=gcc CXX=g++ cmake -S . -B build $generator -DSTEPPE_WERROR=ON -DBUILD_TESTING=ON \
    -DSTEPPE_QUICK_TESTS=ON "-DCMAKE_C_FLAGS_RELWITHDEBINFO=-O2 -g1 -DNDEBUG"
step build cmake --build build -j"$jobs"
if command -v clang >/dev/null 2>&1; then
    step clang python3 scripts/clang_syntax.py build "$jobs"
fi

status=0
# One and a half tests per processor, because many tests wait. Even so, CTest runs tests with three PEs
# that use the fabric one at a time.
python3 scripts/progress.py tests build/ctest-output.log ctest --test-dir build \
    -j$((jobs + (jobs + 1) / 2)) -LE full --output-on-failure --output-junit junit.xml \
    --output-log build/ctest.log <>build/test/endless || status=$?
python3 scripts/slowest.py build/junit.xml
sed -n '/% tests passed/,$p' build/ctest.log
exit $status
