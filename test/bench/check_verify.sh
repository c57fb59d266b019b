#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# --verify finds a byte that a put spoils, names it, and ends the job; puts and stores that do not
# happen as well. Without the option nobody looks, and without a spoilt byte all is well.
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

run 1 || die "a spoilt byte that nobody looks for ended the job"
run 1000000000 --verify || die "a wrong byte was found where all were right"
for call in 1 20; do
    if run "$call" --verify; then die "no byte spoilt from put $call on was found"; fi
    grep -q 'steppe-bench: pe 1: --verify: wrong data: put-latency of 1000 bytes: byte 999 from PE 0 is' \
        "$out" || die "the message does not name the byte"
done

# lost WHAT BENCH TEXT
lost()
{
    if "$oshrun" -n 2 env LD_PRELOAD="$flip" DROP="$1" "$bench" --quick --sizes 4K --ops 2000 \
        --window 64 --verify "$2" >"$out" 2>&1; then
        die "lost: nobody missed $1"
    fi
    grep -q "steppe-bench: pe 1: --verify: wrong data: $3" "$out" ||
        die "the message does not name the loss"
}
lost p p 'shmem_p has written'
lost put put-bandwidth 'put-bandwidth of 4096 bytes: byte 0 from PE 0 is'
