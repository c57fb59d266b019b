#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Tests jobs that are started inside jobs: a process with the variables of two launchers must select
# the inner one. oshinfo prints the selected client; no data is transferred.
#
# usage: run_nested.sh OSHINFO OMPI HYDRA    (OMPI: ompi.sh)
set -u
oshinfo=$1 ompi=$2 hydra=$3
unset SHMEM_PMI
failed=0

# expect CLIENT COUNT COMMAND...: so many processes say that they would speak so.
expect()
{
    local client=$1 count=$2 out said
    shift 2
    out=$(timeout -k 5 60 "$@" "$oshinfo" launcher </dev/null 2>&1)
    [ $? -eq 77 ] && { echo "$out" >&2; exit 77; }
    said=$(grep -Ec "^ *client +$client\$" <<<"$out")
    if [ "$said" -ne "$count" ]; then
        echo "FAIL: $said processes selected the client $client, expected $count, under $*; output:" >&2
        echo "$out" >&2
        failed=2
    else
        echo "ok   $client x $count: $(basename "$1") ${*:2}"
    fi
}

expect pmix 2 "$ompi" -n 2
expect pmi1 2 "$hydra" -n 2
expect pmi1 3 "$ompi" -n 1 "$hydra" -n 3
expect pmix 3 "$hydra" -n 1 "$ompi" -n 3
expect pmi1 2 "$hydra" -n 1 "$ompi" -n 1 "$hydra" -n 2
expect single 2 env SHMEM_PMI=single "$ompi" -n 2
exit $failed
