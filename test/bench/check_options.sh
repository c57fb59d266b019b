#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Options of steppe-bench: what they change in the rows, and what is said of wrong ones.
#
# usage: check_options.sh <oshrun> -n N <steppe-bench>      N at least 3
set -u
oshrun=$1 np=$3 bench=$4
out=$(mktemp) || exit 2
trap 'rm -f "$out"' EXIT

die()
{
    echo "check_options: $1" >&2
    cat "$out" >&2
    exit 1
}

run()
{
    "$oshrun" -n "$np" "$bench" --quick --iterations 2 "$@" >"$out" 2>&1
}

# refused TEXT OPTION...: status 2, and TEXT among what is said.
refused()
{
    text=$1
    shift
    run "$@"
    [ $? -eq 2 ] || die "$*: not refused"
    grep -q -e "$text" "$out" || die "$*: the message lacks '$text'"
}

# rows PATTERN NUMBER OPTION...: so many rows match; in the JSON each row is a line.
rows()
{
    pattern=$1 number=$2
    shift 2
    run --format json "$@" || die "$*: failed"
    [ "$(grep -c -e "$pattern" "$out")" -eq "$number" ] ||
        die "$*: not $number rows of '$pattern'"
}

refused 'no bench or group is called' nosuch
refused 'see --list and --help'
refused '--pairs x: the value must be auto, within or across' --pairs x put-rate
refused '--teams 3:2: the value must be MIN:MAX' --teams 3:2 reduce
refused "does not fit into this job of $np PEs" --teams 2:99 reduce
refused '--cold: this option does not exist' --cold p
refused '--until -1: the value must be a number' --until -1 p
refused '--seconds 0: the value must be a number' --seconds 0 p
refused '--values 9:1: the value must be MIN:MAX' --values 9:1 iput
refused '--peer 99: the peer must be a PE from 1 to' --peer 99 p
refused 'this option needs a value' p --sizes
refused '--format csv: the value must be text or json' --format csv p

rows '"put-latency", .*"unit": "ns", .*"bytes": 16,' 1 --sizes 8:32 put-latency
rows '"put-latency"' 3 --sizes 8:32 put-latency
rows '"iput", "group": "strided".*"bytes": 8, "parameter": "stride", "value": 4,' 1 --sizes 8 --values 2:4 iput
rows '"reduce".*"bytes": 8, "parameter": "pes", "value": [12],' 2 --sizes 8 --teams 1:2 reduce
rows '"put-rate-pairs".*"parameter": "pairs", "value": 1,' 1 put-rate-pairs
rows "\"matrix-latency\".*\"from\": $((np - 1)), \"to\": 0, \"pes\": 2, \"measuring\": 1," 1 matrix-latency
rows '"matrix-latency"' $((np * (np - 1))) matrix-latency
rows '"atomic-fetch-.*-nbi"' 6 'atomic-fetch-*-nbi'
rows '"contend-fetch-add".*"bytes": [48],' 2 contend-fetch-add
for options in '--buffers 4' '--bind=off'; do
    # shellcheck disable=SC2086 # words
    rows '"put-latency"' 1 --verify $options --sizes 8 put-latency barrier broadcast
done

# Asked for twice, measured once.
rows '"put-latency"' 1 --sizes 8 put-latency put-latency 'put-lat*'
rows '"wait-until-any".*"skipped": ' 1 --values 5000 wait-until-any
refused 'no row is left' --sizes 3:7 reduce
run --format json --verify flag put-one-all get-all-all atomic-inc || die "not verified"
[ "$(grep -c '"verified": false' "$out")" -eq 1 ] || die "flag alone has nothing to look at"

# One PE: what needs no second one.
"$oshrun" -n 1 "$bench" --quick --iterations 2 --format json all >"$out" 2>&1 || die "one PE: failed"
grep -q 'rows need 2 PEs' "$out" || die "one PE: nothing is said of rows left out"
grep -q '"bench": "reduce"' "$out" || die "one PE: no reduce"

# The list, and the tools, need no launcher.
"$bench" --list | grep -q '^rma  *put-latency  *ns ' || die "--list lacks put-latency"
