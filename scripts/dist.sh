#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Make steppe-VERSION.tar.gz of a revision: its files, and the manual pages, so that a build from
# the archive does not need Python. The archive of a revision always has the same bytes.
#
# usage: scripts/dist.sh [REVISION [FOLDER]]
#   REVISION   a commit or a tag (default: HEAD)
#   FOLDER     the archive is written there (default: the current folder)
#
# Environment: JOBS, parallel jobs (default: all processors).
set -eu

case ${1-} in
    -*) sed -n 's/^# \{0,1\}//; 3,11p' "$0" >&2; exit 2 ;;
esac
revision=${1:-HEAD}
folder=$(cd "${2:-.}" && pwd)
cd "$(dirname "$0")/.."
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT

version=$(git show "$revision:CMakeLists.txt" | sed -n 's/^project(.* VERSION \([0-9.]*\).*/\1/p')
name=steppe-$version
git archive --prefix="$name/" "$revision" | tar -x -C "$top"
# steppe-bench is built because its page is made of what the program prints.
if ! { cmake -S "$top/$name" -B "$top/build" -DBUILD_TESTING=OFF -DSTEPPE_EXAMPLES=OFF &&
    cmake --build "$top/build" -j"${JOBS:-$(nproc)}" --target man; } >"$top/log" 2>&1 </dev/null; then
    cat "$top/log" >&2
    exit 1
fi
mv "$top/build/man" "$top/$name/docs/man/generated"
tar -c -C "$top" --sort=name --owner=0 --group=0 --numeric-owner --mode=go=rX,u+rw,a-s \
    --mtime="@$(git log -1 --format=%ct "$revision")" "$name" | gzip -9n >"$folder/$name.tar.gz"
echo "$folder/$name.tar.gz"
