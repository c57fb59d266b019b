#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs rules_exit.c in each way and checks the status of the job and its output. The job must end
# within the time limit and leave no process.
#
# usage: run_rules_exit.sh PROGRAM NP LAUNCHER [ARGUMENT...]
set -u
. "$(dirname "$0")/../job.sh"

# ends WAY STATUS TEXT [ARGUMENT]: STATUS is a pattern; TEXT, unless empty, matches a line.
ends()
{
    local way=$1 pattern=$2 text=$3
    shift 3
    job "$way" RULES_FILE="$dir/file" -- "$way" "$@" || return
    if ! [[ $status =~ ^($pattern)$ ]]; then
        fail "$way" "the job ended with status $status, expected $pattern"
    elif [ -z "$text" ] || says "$way" "$text"; then
        echo "ok   $way $* (status $status)"
    fi
}

# One PE leaves, the others are wherever a PE can be.
shifts=0
while [ $shifts -lt 12 ]; do
    ends others 0 '' $shifts
    shifts=$((shifts + (np > 1 ? np - 1 : 12)))
done
ends status_0 0 ''
ends status_big 7 ''
ends in_thread 21 ''
ends in_two_threads '31|32' ''
ends all_at_once '31|32' ''
ends at_exit 25 ''
ends at_start 27 ''

# Streams: flushed, or given up where a thread keeps their lock.
ends with_files 26 'an unfinished line'
says with_files 'an error line'
grep -q 'kept until the end' "$dir/file" || fail with_files "the file of the leaving PE lacks its text: it was not flushed"
ends reading 22 ''
ends exit_reading 23 ''
ends stdout_held 24 ''

# The end of programs that never finalize.
ends start_pes 0 ''
ends start_pes_and_init 0 ''

# Misuse is named.
ends pointer_of_other '[1-9][0-9]*' 'shmem_long_p: dest 0x[0-9a-f]+ .*not symmetric'
ends team_number '[1-9][0-9]*' 'shmem_ctx_long_p: pe is 1'
ends dead_team '[1-9][0-9]*' 'shmem_team_my_pe: team 0x[0-9a-f]+ is not a live team'
ends split_dead_team '[1-9][0-9]*' 'shmem_team_split_strided: team 0x[0-9a-f]+ is not a live team'

exit $((failed * 2))
