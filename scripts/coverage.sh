#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Which lines of the library tests run: builds in build-coverage, runs tests, prints a table of the
# source files and writes pages for a browser.
#
# usage: scripts/coverage.sh [OPTION OF CTEST...]      (none: the quick set)
#        scripts/coverage.sh -R '^unit\.'
#
# Ends with the status of the tests. What a PE ran that ended by a fatal error or a signal is not
# counted. Environment: JOBS, parallel jobs (default: all processors); TARGETS, what is built
# (default: everything), where the tests need no more.
set -eu

cd "$(dirname "$0")/.."
case ${1-} in
    -h | --help) sed -n 's/^# \{0,1\}//; 3,11p' "$0"; exit 0 ;;
    "" | -*) ;;
    *)
        echo "coverage.sh: $1: arguments must be options of ctest, such as -R NAME" >&2
        exit 2
        ;;
esac
[ $# -gt 0 ] || set -- -LE full
build=build-coverage
jobs=${JOBS:-$(nproc)}
if ! command -v gcovr >/dev/null 2>&1; then
    echo "coverage.sh: gcovr is not installed: run scripts/setup.sh --full" >&2
    exit 2
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "== building in $build"
# shellcheck disable=SC2086 # words
if ! { cmake --preset coverage &&
    cmake --build $build -j"$jobs" ${TARGETS:+--target $TARGETS}; } >"$log" 2>&1 </dev/null; then
    cat "$log" >&2
    exit 1
fi
find $build -name '*.gcda' -delete # of earlier runs
echo "== ctest $*"
status=0
ctest --test-dir $build -j"$jobs" "$@" --output-on-failure <>$build/test/endless || status=$?

mkdir -p $build/coverage
gcovr --root . --filter 'base/' --filter 'src/' --filter 'pmi/' --filter 'spaces/' --filter 'transport/' \
    --exclude-unreachable-branches --print-summary --txt $build/coverage/table.txt \
    --html-details $build/coverage/index.html $build >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
sed -E 's/(%) +[0-9][0-9,-]*$/\1/; s/ +Missing$//' $build/coverage/table.txt # which: in the file
grep -E '^(lines|branches):' "$log"
echo "== pages: $build/coverage/index.html"
exit $status
