#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Make a release archive of the last commit, build and install it where CMake finds no Python, and
# compare its manual pages with those that this build made. 77 where there is no checkout.
#
# usage: check_dist.sh <cmake> <source folder> <manual pages of the build>
set -eu

cmake=$1 source=$2 man=$3
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT

fail()
{
    echo "check_dist: $*" >&2
    exit 1
}

# configure SOURCE BUILD: as on a machine that has no Python.
configure()
{
    "$cmake" -S "$1" -B "$2" -DBUILD_TESTING=OFF -DSTEPPE_EXAMPLES=OFF \
        -DCMAKE_DISABLE_FIND_PACKAGE_Python3=ON >"$top/log" 2>&1 || {
        cat "$top/log" >&2
        fail "configuring $1 without Python"
    }
}

git -C "$source" rev-parse -q --verify HEAD >/dev/null 2>&1 || { echo "skipped: no checkout"; exit 77; }
archive=$("$source/scripts/dist.sh" HEAD "$top") || fail "scripts/dist.sh"
tar -x -C "$top" -f "$archive"
configure "$top/$(basename "$archive" .tar.gz)" "$top/build"
! grep -q 'Manual pages are neither' "$top/log" || fail "the archive has no manual pages"
"$cmake" --build "$top/build" -j2 >"$top/log" 2>&1 || {
    tail -30 "$top/log" >&2
    fail "building without Python"
}
"$cmake" --install "$top/build" --prefix "$top/prefix" >/dev/null
if git -C "$source" diff --quiet HEAD; then
    diff -r "$man" "$top/prefix/share/man" >&2 || fail "the pages are not those of the build"
fi
for page in man1/steppe-bench.1 man3/shmem_long_put.3 man7/shmem.7; do
    grep -q . "$top/prefix/share/man/$page" || fail "$page is not installed"
done
"$top/prefix/bin/oshinfo" --json version | grep -q '"name": "Steppe"' || fail "oshinfo says nothing"

# A checkout without Python has no pages, and CMake says so.
rm -r "$top/build" "$top/steppe"*/docs/man/generated
configure "$top"/steppe-*/ "$top/build"
[ "$(grep -c 'Manual pages are neither made nor installed' "$top/log")" = 1 ] || fail "CMake does not say it"
echo "the archive works"
