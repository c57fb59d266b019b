#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs early_end.c in each way, and programs that never call shmem_init. oshrun must name a PE that
# ends without finalize and exit handlers, and the job must fail. All other jobs must have status 0,
# and neither oshrun nor the library may print a line.
#
# usage: run_early_end.sh PROGRAM NP LAUNCHER [ARGUMENT...]
set -u
. "$(dirname "$0")/../job.sh"

# fails WAY STATUS TEXT: oshrun names the last PE in one line, which contains TEXT.
fails()
{
    job "$1" -- "$1" || return
    says "$1" "^oshrun: pe $last \(.*\): its process [0-9]+ $3" || return
    if [ $status -ne "$2" ] || [ "$(grep -c '^oshrun: pe ' "$out")" -ne 1 ]; then
        fail "$1" "expected status $2 and one line of oshrun, but the status is $status"
    else
        echo "ok   $1 (status $status)"
    fi
}

# succeeds NAME LINES: the job has ended with status 0 and printed so many lines.
succeeds()
{
    if [ $status -ne 0 ] || [ "$(wc -l <"$out")" -ne "$2" ]; then
        fail "$1" "expected status 0 and $2 lines of output, but the status is $status"
    else
        echo "ok   $1"
    fi
}

# other NAME LINES WORD...: as a job, but the words are all arguments of oshrun.
other()
{
    local name=$1 lines=$2
    shift 2
    timeout -k 5 $limit "${launcher[@]}" "$@" >"$out" 2>&1
    status=$?
    succeeds "$name" "$lines"
}

fails _exit_0 1 'ended by _exit\(0\) or quick_exit\(0\) before shmem_finalize$'
fails quick_exit_0 1 'ended by _exit\(0\) or quick_exit\(0\) before shmem_finalize$'
fails _exit_5 5 'ended by _exit\(5\) or quick_exit\(5\) before shmem_finalize$'
fails segv 11 'was killed by signal 11 \(.*\) before shmem_finalize$'
fails renamed 9 'was killed by signal 9 \(.*\) before shmem_finalize$'
fails kill 9 'was killed by signal 9 \(.*\) before shmem_finalize$'
fails init__exit_0 1 'ended by _exit\(0\) or quick_exit\(0\) before shmem_finalize$'
job init_exit_0 -- init_exit_0 && says init_exit_0 "pe $last .*(during shmem_init|ended by _exit)" &&
    [ $status -ne 1 ] && fail init_exit_0 "expected status 1, but the status is $status"
job final_exit_0 -- final_exit_0 && says final_exit_0 "pe $last .*before shmem_finalize" &&
    [ $status -ne 1 ] && fail final_exit_0 "expected status 1, but the status is $status"

# No PE is named if oshrun itself gets a signal.
timeout -k 5 $limit "${launcher[@]}" -n "$np" "$program" wait >"$out" 2>&1 &
until grep -q waits "$out" || ! kill -0 $! 2>/dev/null; do sleep 0.02; done
kill $!
wait $!
grep -q '^oshrun: pe ' "$out" && fail wait "oshrun names a PE although a signal ended the job"
says wait waits && echo "ok   wait"

for way in finalize cycles; do
    job $way -- $way && succeeds $way "$np"
done
job fork -- fork && succeeds fork 0
job exec -- exec && succeeds exec 0
if [ "${SHMEM_NODE:-on}" != off ]; then # through a fabric, a PE may notice another one's exec
    job exec_at_once -- exec_at_once && succeeds exec_at_once 0
fi
job second_finalize -- second_finalize && succeeds second_finalize 1 &&
    says second_finalize 'pe 0 .*shmem_finalize was called again'

other without_shmem "$np" -n "$np" hostname
other wrapper "$np" -n "$np" sh -c '"$0" finalize; exit 0' "$program"
other mpmd "$np" -n 1 "$program" finalize : -n $((np - 1)) "$program" finalize
other mpmd_without_shmem 2 -n 1 hostname : -n 1 hostname

exit $((failed * 2))
