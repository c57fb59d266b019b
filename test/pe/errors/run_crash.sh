#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs crash.c in each way to die of a signal. The PE must print one line with the signal and the
# address and its frames, and its own status must be that of the signal. Handlers of the program
# and SHMEM_CRASH=off must suppress this output.
#
# usage: run_crash.sh PROGRAM NP LAUNCHER [ARGUMENT...]
set -u
. "$(dirname "$0")/../job.sh"
status_of=$dir/status
ulimit -c 0

# run HOW [VARIABLE=VALUE...]: fills $out; the status of the PE itself, as its shell sees it, is in
# $status, since launchers have their own.
run()
{
    local how=$1
    shift
    : >"$status_of"
    env "$@" timeout -k 5 $limit "${launcher[@]}" -n "$np" \
        bash -c '"$0" "$1"; s=$?; [ $s = 0 ] || echo $s >>"$2"; exit $s' \
        "$program" "$how" "$status_of" >"$out" 2>&1
    ended=$?
    # the launcher ends the others of the job by SIGTERM or SIGKILL
    status=$(grep -vx '143\|137' "$status_of" | head -1)
}

# dies HOW STATUS TEXT FRAMES...: the line matches TEXT; the frames, in their order, these.
dies()
{
    local how=$1 want=$2 text=$3 frame at=0 found
    shift 3
    run "$how"
    [ "$ended" = 124 ] && fail "$how" "the job did not end within $limit seconds"
    [ "$status" = "$want" ] || fail "$how" "the status of the PE is '$status', expected $want"
    found=$(grep -Ec "^steppe: pe $last \([^)]*\): .*stack frames \(addr2line" "$out")
    [ "$found" = 1 ] || fail "$how" "$found lines report the crash of PE $last, expected 1"
    grep -Eq "^steppe: pe $last \([^)]*\): $text; stack frames \(addr2line" "$out" ||
        fail "$how" "no line of the output has \"$text\""
    for frame in "$@"; do
        found=$(grep -n "^steppe: pe $last ([^)]*):   #[0-9]* .*" "$out" | tail -n +$((at + 1)) |
            grep -En "$frame" | head -1 | cut -d: -f1)
        [ -n "$found" ] || { fail "$how" "no frame, or no frame in this order, has \"$frame\""; continue; }
        at=$((at + found))
    done
    echo "ok   $how (status $status)"
}

# quiet HOW STATUS TEXT [VARIABLE=VALUE...]: the program's handler or nobody speaks.
quiet()
{
    local how=$1 want=$2 text=$3
    shift 3
    run "$how" "$@"
    [ "$status" = "$want" ] || fail "$how" "the status of the PE is '$status', expected $want"
    [ -z "$text" ] || grep -q "$text" "$out" || fail "$how" "no line of the output has \"$text\""
    ! grep -q 'stack frames (addr2line' "$out" || fail "$how" "the library printed a report of the crash, expected none"
    echo "ok   $how $* (status $status)"
}

here='crash_here.* 0x' outer='crash_outer.* 0x'
dies store     139 'access to 0x10: the address is not mapped \(SIGSEGV\)' "#0 $here" "#1 $outer" '__libc_start_main'
dies thread    139 'access to 0x10: the address is not mapped \(SIGSEGV\)' "#0 $here" "#1 $outer" '/pe_crash 0x'
dies readonly  139 'access to 0x[0-9a-f]+: the memory does not permit this access \(SIGSEGV\)' "#0 $here"
if [ "${SHMEM_NODE:-on}" = on ]; then
    dies symmetric 139 'access to 0x[0-9a-f]+: .*(with index 0 on this node|of this PE).* \(SIGSEGV\)' "#0 $here"
fi
wrong='this process cannot access 0x1[0-9a-f]{3}: an argument of the call is a wrong pointer \(SIGSEGV\)'
dies iput      139 "shmem_long_iput: $wrong" 'shmem_long_iput'
if [ "$(uname -m)" = x86_64 ]; then # a put of the node jumps to memcpy, and has no frame
    dies put   139 "shmem_putmem: $wrong" 'pe_crash 0x.*, calls shmem_putmem$'
fi
dies call      139 'access to \(nil\): the address is not mapped \(SIGSEGV\)' '#0 0: this address is not code' '#1 .*crash'
dies stack     139 'access to 0x[0-9a-f]+, next to the stack .*is full.*' '#0 .*' '#4 crash_deep'
dies above     139 'access to 0x[0-9a-f]+: the address is not mapped \(SIGSEGV\)' "#0 $here" "#1 $outer"
dies below     139 'access to 0x[0-9a-f]+: the address is not mapped \(SIGSEGV\)' "#0 $here" "#1 $outer"
dies divide    136 'error in the instruction at 0x[0-9a-f]+ \(SIGFPE\)' '#0 .*crash'
dies abort     134 'the program raised this signal itself \(SIGABRT\)' 'abort' '__libc_start_main'
dies raise     139 'the program raised this signal itself \(SIGSEGV\)' 'gsignal' '__libc_start_main'
quiet later    42  "the program's handler"
quiet earlier  42  "the program's handler"
quiet store    139 '' SHMEM_CRASH=off
exit $((failed * 2))
