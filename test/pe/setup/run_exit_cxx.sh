#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs exit_cxx.cpp in each way and checks the status of the job, its output and its file. The job
# must end within the time limit and leave no process.
#
# usage: run_exit_cxx.sh PROGRAM NP LAUNCHER [ARGUMENT...]
set -u
. "$(dirname "$0")/../job.sh"

# ends WAY STATUS LINE...: the lines of the file, in any order.
ends()
{
    local way=$1 wanted=$2 line
    shift 2
    rm -f "$dir/file"
    job "$way" RULES_FILE="$dir/file" -- "$way" || return
    [ "$status" = "$wanted" ] || fail "$way" "the job ended with status $status, expected $wanted"
    says "$way" 'an unfinished line' || return
    for line; do
        grep -qxF "$line" "$dir/file" || fail "$way" "the file that the last PE writes lacks the line \"$line\""
    done
    echo "ok   $way (status $status)"
}

ends all 33 'a file' 'a handler' 'a destructor'
ends finalizes 33 'a file' 'a handler' 'a destructor'

# A handler ends the job once more, another waits for ever: what comes behind it is given up.
job twice RULES_FILE="$dir/file" -- twice && { [ "$status" = 33 ] ||
    fail twice "the job ended with status $status, expected 33"; }
job hangs RULES_FILE="$dir/file" -- hangs && { [ "$status" = 33 ] ||
    fail hangs "the job ended with status $status, expected 33"; }

exit $((failed * 2))
