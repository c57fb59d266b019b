#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Compares the built library with the library of the last release by abidiff, which reads their
# debug information. Fails when programs that were compiled with the release would break. Exits with
# 77, and prints the reason, when there is no tag of a release or no abidiff.
#
# usage: check_abi.sh <cmake> <source folder> <libsteppe.so>
set -eu

cmake=$1 source=$2 library=$3

skip()
{
    echo "skipped: $*"
    exit 77
}

command -v abidiff >/dev/null || skip "abidiff is not installed: scripts/setup.sh --full"
tag=$(git -C "$source" describe --tags --abbrev=0 2>/dev/null) ||
    skip "the repository has no tag of a release"
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
mkdir "$top/old"
git -C "$source" archive "$tag" | tar -x -C "$top/old"
{ "$cmake" -S "$top/old" -B "$top/build" -DBUILD_TESTING=OFF -DSTEPPE_EXAMPLES=OFF &&
    "$cmake" --build "$top/build" -j2 --target steppe; } >"$top/log" 2>&1 || {
    tail -30 "$top/log" >&2
    echo "check_abi: the release $tag cannot be built, see the lines above" >&2
    exit 1
}
# The bits of abidiff's status: 1 an error, 2 misuse, 4 a change, 8 a change that breaks programs.
status=0
abidiff --headers-dir1 "$top/old/include" --headers-dir2 "$source/include" \
    "$top/build/lib/libsteppe.so" "$library" || status=$?
[ $((status & 11)) -eq 0 ] || {
    echo "check_abi: programs compiled with $tag break, see the report above (abidiff: status $status)" >&2
    exit 1
}
echo "programs that were compiled with $tag work"
