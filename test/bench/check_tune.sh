#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Tests `steppe-bench tune`: it writes a table of collectives that the library accepts, and refuses
# wrong arguments. Which algorithms the table selects is not judged, because this depends on the
# machine.
#
# usage: check_tune.sh <oshrun> -n N <steppe-bench> <program>      N is at least 3, each PE a node
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

"$bench" tune -n "$np" -o "$out" --max 64 --rounds 1 --seconds 0.01 >"$out.said" 2>&1 ||
    die "steppe-bench tune exited with a failure"
grep -q "^# $np PEs on $np nodes, tcp" "$out" ||
    die "the first line must name $np PEs on $np nodes, and tcp"
# Lines have six columns, and which are there is for the machine to say.
[ "$(sed 's/#.*//' "$out" | awk 'NF != 0 && (NF != 6 || $2 != "tcp" || $4 != "*")' | wc -l)" -eq 0 ] ||
    die "each line must have six columns, with tcp and * in the second and fourth"
lines=$(grep -c '^[a-z]' "$out")
SHMEM_DEBUG=1 SHMEM_COLL_TABLE="$out" "$oshrun" -n "$np" "$program" >"$out.said" 2>&1 ||
    die "the library refuses the table, or the program failed"
[ "$(grep -c "table of collectives: $lines lines" "$out.said")" -eq "$np" ] ||
    die "each of $np PEs must report a table of $lines lines"

for wrong in "--max 7" "--rounds 0k" "more"; do
    # shellcheck disable=SC2086
    "$bench" tune -n "$np" $wrong >"$out.said" 2>&1
    [ $? -eq 2 ] || die "tune $wrong must exit with status 2"
    grep -q "^steppe-bench tune: \|--sizes" "$out.said" ||
        die "tune $wrong: the message must come from steppe-bench tune"
done
