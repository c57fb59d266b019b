#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs last_words.c in each way. The job must end, print the reason, and text that the program had
# printed before must arrive. With SLOW=1 all ways are run, else only the fast ones.
#
# usage: run_last_words.sh PROGRAM NP LAUNCHER [ARGUMENT...]
set -u
. "$(dirname "$0")/../job.sh"
line="^(.*[^ ])?steppe: pe $last \([^)]*\): shmem_"

# fails WAY TEXT...: the job fails with the line, and each TEXT, which may be empty, has arrived.
fails()
{
    local way=$1
    shift
    rm -f "$dir/file"
    job "$way" WORDS_FILE="$dir/file" -- "$way" || return
    if [ $status -eq 0 ]; then
        fail "$way" "the job ended with status 0, expected it to fail"
    elif says "$way" "$@"; then
        echo "ok   $way (status $status)"
    fi
}

file_has()
{
    grep -q 'words in a file' "$dir/file" || fail "$1" "the file of the failing PE lacks its text: it was not flushed"
}

fails bad_pe "${line}long_p: pe is $np" 'words of a bad PE'
fails not_symmetric "${line}long_atomic_inc: dest .*not symmetric" 'words of a bad address'
fails kept_in_file "${line}" 'words of a bad PE' 'words of stderr'
file_has kept_in_file
fails in_thread "${line}" 'words of another thread'
fails stdout_closed "${line}"
fails stdout_held "${line}"
file_has stdout_held
if [ -n "${SLOW:-}" ]; then
    fails stdout_mine "${line}" 'words of a bad PE'
    fails file_held "${line}" 'words of a bad PE'
    fails in_handler "${line}" 'words before a signal'
    fails stdout_full "${line}"
    fails both_full
fi

# The job goes on: the child was none of its PEs.
if job in_child -- in_child && says in_child 'its child ended with 1$' "$line"; then
    if [ $status -ne 0 ] || [ "$(grep -c 'words of a parent' "$out")" -ne 1 ]; then
        fail in_child "status $status, expected 0, or the parent's text did not arrive exactly once"
    else
        echo "ok   in_child"
    fi
fi

exit $((failed * 2))
