#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs examples/apps/checkpoint.c in jobs of random sizes that are killed around a flush or at a
# random moment. After each job only the flushed bytes are kept (famshadow). The next job must not
# start from an older checkpoint than an earlier job did, and each job that ends must print the
# result of an undisturbed job.
#
# usage: check_checkpoint.sh <shadow library> <rounds> <oshrun> -n <most PEs> <checkpoint>
set -eu

shadow=$1 rounds=$2 launcher=$3 most=$5 program=$6 steps=200
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/fam" "$dir/shadow" "$dir/calm"
seed=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')
first=$seed
export LC_ALL=C

fail()
{
    echo "check_checkpoint: seed $first: $*" >&2
    exit 1
}

draw() # a number from 1 to $1, for $drawn
{
    seed=$(((seed * 1103515245 + 12345) % 2147483648))
    drawn=$((seed / 256 % $1 + 1))
}

job() # <PEs> <variables>...; sets $status and $out
{
    n=$1 status=0
    shift
    out=$("$launcher" -n "$n" env LD_PRELOAD="$shadow" FAMSHADOW="$dir/shadow" \
        SHMEM_FAM_PATH="$dir/fam" "$@" "$program" $steps 2>&1) || status=$?
    if [ ! -f "$dir/fam/checkpoint.fam" ]; then
        rm -f "$dir/shadow/checkpoint.fam"
    elif [ -f "$dir/shadow/checkpoint.fam" ]; then
        # a file is as long as it was made, whatever of it was written
        size=$(stat -c %s "$dir/fam/checkpoint.fam")
        truncate -s "$size" "$dir/shadow/checkpoint.fam"
        rm "$dir/fam/checkpoint.fam"
        cp --sparse=always "$dir/shadow/checkpoint.fam" "$dir/fam/checkpoint.fam"
    fi
}

result() # what the job said at its end
{
    echo "$1" | sed -n "s/^checkpoint: step $steps: //p"
}

out=$(SHMEM_FAM_PATH="$dir/calm" "$launcher" -n 2 "$program" $steps)
wanted=$(result "$out")
[ -n "$wanted" ] || fail "the undisturbed job printed no result: $out"
[ -z "$(ls "$dir/calm")" ] || fail "the undisturbed job left files: $(ls "$dir/calm")"

killed=0 ended=0 resumed=0 known=0 # the last checkpoint that somebody found
for round in $(seq "$rounds"); do
    draw "$most"
    pes=$drawn
    if [ $((round % 3)) -eq 0 ]; then
        draw 60000
        job $pes FAMSHADOW_KILL_US=$((20000 + drawn))
    else
        draw 14
        job $pes FAMSHADOW_KILL=$((drawn + 3))
    fi
    step=$(echo "$out" | sed -n 's/.* begin at step \([0-9]*\),.*/\1/p')
    [ "${step:-$known}" -ge $known ] ||
        fail "round $round: the job began at step $step, but step $known was flushed before: $out"
    known=${step:-$known}
    [ "${step:-0}" -eq 0 ] || resumed=$((resumed + 1))
    case $out in *"checkpoint: PE "*) fail "round $round: a PE found wrong data: $out" ;; esac
    got=$(result "$out")
    if [ -n "$got" ]; then # perhaps killed after that, with or without what it had left
        [ "$got" = "$wanted" ] || fail "round $round: the result must be $wanted: $out"
        ended=$((ended + 1)) known=0
    else
        [ $status -ne 0 ] || fail "round $round: the job exited with 0, but without a result: $out"
        killed=$((killed + 1))
    fi
done
for pes in $((most + 1)) 1; do # to the end, from where the last one was killed, and from nothing
    job $pes
    [ $status -eq 0 ] || fail "the last job of $pes PEs ended with status $status: $out"
    [ "$(result "$out")" = "$wanted" ] ||
        fail "the last job of $pes PEs must print the result $wanted: $out"
done
[ -z "$(ls "$dir/fam")" ] || fail "the last job left files: $(ls "$dir/fam")"
echo "check_checkpoint: $killed jobs were killed, $ended ended, $resumed continued from a checkpoint"
[ "$rounds" -lt 20 ] || [ $resumed -gt 0 ] ||
    fail "no job continued from a checkpoint, so that nothing was tested"
