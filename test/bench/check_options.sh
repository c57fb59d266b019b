#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Tests options of steppe-bench: the rows that each option changes, and the messages for wrong
# options. The numbers that the benches measure are not judged.
#
# usage: check_options.sh <oshrun> -n N <steppe-bench>      N is at least 3
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
    [ $? -eq 2 ] || die "$*: the options must be refused with status 2"
    grep -q -e "$text" "$out" || die "$*: the message must contain '$text'"
}

# rows PATTERN NUMBER OPTION...: so many rows match; in the JSON each row is a line.
rows()
{
    pattern=$1 number=$2
    shift 2
    run --format json "$@" || die "$*: steppe-bench failed"
    [ "$(grep -c -e "$pattern" "$out")" -eq "$number" ] ||
        die "$*: expected $number rows that match '$pattern'"
}

refused 'no bench or group is called' nosuch
refused 'see --list and --help'
refused '--pairs x: the value must be auto, within or across' --pairs x put-rate
refused '--teams 3:2: the value must be MIN:MAX' --teams 3:2 reduce
refused "does not fit into this job of size $np" --teams 2:99 reduce
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
run --format json --verify flag put-one-all get-all-all atomic-inc ||
    die "--verify with flag, put-one-all, get-all-all, atomic-inc: steppe-bench failed"
[ "$(grep -c '"verified": false' "$out")" -eq 1 ] ||
    die "of these benches only flag may have the row \"verified\": false"

# One PE: what needs no second one.
"$oshrun" -n 1 "$bench" --quick --iterations 2 --format json all >"$out" 2>&1 ||
    die "all benches with one PE: steppe-bench failed"
grep -q 'rows, because they need 2 PEs' "$out" || die "one PE: the output must report the rows that need 2 PEs"
grep -q '"bench": "reduce"' "$out" || die "one PE: the output lacks the bench reduce"

# The list, and the tools, need no launcher.
"$bench" --list | grep -q '^rma  *put-latency  *ns ' ||
    die "--list must print put-latency with its group and unit"
