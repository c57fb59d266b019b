#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# steppe-bench tune: a table comes out that the library takes, and wrong arguments are refused.
#
# usage: check_tune.sh <oshrun> -n N <steppe-bench> <program>      N at least 3, PEs apart
set -u
oshrun=$1 np=$3 bench=$4 program=$5
out=$(mktemp) || exit 2
trap 'rm -f "$out" "$out.said"' EXIT

die()
{
    echo "check_tune: $1" >&2
    cat "$out" "$out.said" >&2
    exit 1
}

"$bench" tune -n "$np" -o "$out" --max 64 --rounds 1 --seconds 0.01 >"$out.said" 2>&1 || die "tune failed"
grep -q "^# $np PEs on $np nodes, tcp" "$out" || die "no heading"
# Lines have six columns, and which are there is for the machine to say.
[ "$(sed 's/#.*//' "$out" | awk 'NF != 0 && (NF != 6 || $2 != "tcp" || $4 != "*")' | wc -l)" -eq 0 ] ||
    die "a line is wrong"
lines=$(grep -c '^[a-z]' "$out")
SHMEM_DEBUG=1 SHMEM_COLL_TABLE="$out" "$oshrun" -n "$np" "$program" >"$out.said" 2>&1 ||
    die "the library does not take it"
[ "$(grep -c "table of collectives: $lines lines" "$out.said")" -eq "$np" ] || die "not all lines"

for wrong in "--max 7" "--rounds 0k" "more"; do
    # shellcheck disable=SC2086
    "$bench" tune -n "$np" $wrong >"$out.said" 2>&1
    [ $? -eq 2 ] || die "$wrong: not refused"
    grep -q "^steppe-bench tune: \|--sizes" "$out.said" || die "$wrong: not named"
done
