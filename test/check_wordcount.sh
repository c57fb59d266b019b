#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs examples/apps/wordcount.c as a job and compares its output with that of tr, sort and uniq;
# diff shows the differences.
#
# usage: check_wordcount.sh LAUNCHER -n NP PROGRAM FILE...
set -eu

out=$(mktemp) want=$(mktemp)
trap 'rm -f "$out" "$want"' EXIT
"$@" >"$out"
shift 4
cat "$@" | LC_ALL=C tr -cs 'A-Za-z' '\n' | LC_ALL=C tr 'A-Z' 'a-z' | grep . | LC_ALL=C sort |
    uniq -c | LC_ALL=C sort -k1,1nr -k2,2 | head -20 >"$want"
test -s "$want"
diff "$want" "$out"
