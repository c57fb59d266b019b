#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Tests `steppe-bench --verify`: it finds a byte that flip.so spoils, reports the byte, and ends the
# job. It also finds puts and stores that are lost. Without the option nothing is checked, and
# without spoilt bytes the job succeeds.
#
# usage: check_verify.sh <oshrun> -n 2 <steppe-bench> <flip.so>
set -u
oshrun=$1 bench=$4 flip=$5
out=$(mktemp) || exit 2
trap 'rm -f "$out"' EXIT

# run CALL OPTION...: the 1000-byte puts from the CALL-th on are spoilt.
run()
{
    call=$1
    shift
    "$oshrun" -n 2 env LD_PRELOAD="$flip" FLIP_BYTES=1000 FLIP_CALL="$call" "$bench" --quick \
        --sizes 1000:1000 "$@" put-latency >"$out" 2>&1
}

die()
{
    echo "check_verify: $1" >&2
    cat "$out" >&2
    exit 1
}

run 1 || die "without --verify a spoilt byte must not end the job"
run 1000000000 --verify || die "--verify ended a job in which no byte was spoilt"
for call in 1 20; do
    if run "$call" --verify; then
        die "--verify must find the bytes spoilt from put $call on, but the job succeeded"
    fi
    grep -q 'steppe-bench: pe 1: --verify: wrong data: put-latency of 1000 bytes: byte 999 from PE 0 is' \
        "$out" || die "the message must name put-latency, byte 999 and PE 0"
done

# lost WHAT BENCH TEXT
lost()
{
    if "$oshrun" -n 2 env LD_PRELOAD="$flip" DROP="$1" "$bench" --quick --sizes 4K --ops 2000 \
        --window 64 --verify "$2" >"$out" 2>&1; then
        die "--verify must find the lost operations of DROP=$1, but $2 succeeded"
    fi
    grep -q "steppe-bench: pe 1: --verify: wrong data: $3" "$out" ||
        die "the message about the lost operations must contain '$3'"
}
lost p p 'shmem_p has written'
lost put put-bandwidth 'put-bandwidth of 4096 bytes: byte 0 from PE 0 is'
