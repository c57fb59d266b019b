#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Makes a release archive of the last commit, builds and installs it without Python, and compares
# its manual pages with those of this build if the checkout has no changes. Skipped (77) outside a
# checkout.
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
        fail "CMake cannot configure $1 without Python, see above"
    }
}

git -C "$source" rev-parse -q --verify HEAD >/dev/null 2>&1 || {
    echo "skipped: the source folder is no git checkout"
    exit 77
}
archive=$("$source/scripts/dist.sh" HEAD "$top") || fail "scripts/dist.sh failed"
tar -x -C "$top" -f "$archive"
configure "$top/$(basename "$archive" .tar.gz)" "$top/build"
! grep -q 'Manual pages are neither' "$top/log" || fail "the archive has no manual pages"
"$cmake" --build "$top/build" -j2 >"$top/log" 2>&1 || {
    tail -30 "$top/log" >&2
    fail "the archive cannot be built without Python, see above"
}
"$cmake" --install "$top/build" --prefix "$top/prefix" >/dev/null
if git -C "$source" diff --quiet HEAD; then
    diff -r "$man" "$top/prefix/share/man" >&2 ||
        fail "the installed manual pages differ from those of this build, see above"
fi
for page in man1/steppe-bench.1 man3/shmem_long_put.3 man7/shmem.7; do
    grep -q . "$top/prefix/share/man/$page" ||
        fail "the manual page $page is not installed or empty"
done
"$top/prefix/bin/oshinfo" --json version | grep -q '"name": "Steppe"' ||
    fail "oshinfo --json version lacks the name Steppe"

# A checkout without Python has no pages, and CMake says so.
rm -r "$top/build" "$top/steppe"*/docs/man/generated
configure "$top"/steppe-*/ "$top/build"
[ "$(grep -c 'Manual pages are neither made nor installed' "$top/log")" = 1 ] ||
    fail "without pages and Python, CMake must print that manual pages are neither made nor installed"
echo "the archive works"
