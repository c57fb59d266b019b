#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs jobs on one named space, each killed around a random flush or at a random time. Between jobs
# the file is replaced by what was flushed. The next job must find everything that an earlier job
# had reported as durable. A last run, in which persist does nothing, must report a loss.
#
# usage: run_space_persist.sh <shadow library> <rounds> <oshrun> -n <PEs>
# <space_persist|space_roots>
set -eu

shadow=$1 rounds=$2 launcher=$3 n=$5 program=$6
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/fam" "$dir/shadow" "$dir/said"
seed=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')

fail()
{
    echo "run_space_persist: seed $seed: $*" >&2
    exit 1
}

draw() # a number from 1 to $1, for $drawn
{
    seed=$(((seed * 1103515245 + 12345) % 2147483648))
    drawn=$((seed / 256 % $1 + 1))
}

job() # <steps> <variables>...; sets $status and $out
{
    steps=$1
    shift
    status=0
    out=$("$launcher" -n "$n" env LD_PRELOAD="$shadow" FAMSHADOW="$dir/shadow" \
        SHMEM_FAM_PATH="$dir/fam" "$@" "$program" "$dir/said" "$steps" 2>&1) || status=$?
    if [ -f "$dir/shadow/persist.fam" ]; then
        # a file is as long as it was made, whatever of it was written
        size=$(stat -c %s "$dir/fam/persist.fam")
        truncate -s "$size" "$dir/shadow/persist.fam"
        rm "$dir/fam/persist.fam"
        cp --sparse=always "$dir/shadow/persist.fam" "$dir/fam/persist.fam"
    fi
    case $out in *LOST*) lost=1 ;; *) lost=0 ;; esac
}

persists() # rounds
{
    killed=0
    for round in $(seq "$rounds"); do
        if [ $((round % 3)) -eq 0 ]; then
            draw 60000
            job 100000 FAMSHADOW_KILL_US=$((20000 + drawn))
        else
            draw 80
            job 100000 FAMSHADOW_KILL=$((drawn + 6))
        fi
        [ $lost -eq 0 ] || fail "round $round: durable data were lost: $out"
        [ $status -ne 0 ] || fail "round $round: the job ended before it was killed, so nothing was tested"
        killed=$((killed + 1))
    done
    job 3 && [ $status -eq 0 ] || fail "the job after $killed killed jobs failed: $out"
}

no_persist() # the control
{
    job 100000 FAMSHADOW_KILL=61 FAMSHADOW_DROP=1
    job 3
    [ $lost -eq 1 ] || fail "persist did nothing, and the job reported no loss: $out"
}

persists
no_persist
