#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs foreign.c with each kind of address in each kind of routine. The job must end, and a line
# must have the PE, the routine, the argument, the owner of the data and the remedy.
#
# usage: run_foreign.sh PROGRAM NP LAUNCHER [ARGUMENT...]
set -u
. "$(dirname "$0")/../job.sh"

# ends ADDRESS USE TEXT [VARIABLE=VALUE]: some line matches TEXT, and no call came back.
ends()
{
    local address=$1 use=$2 text=$3
    shift 3
    job "$address $use" "$@" -- "$address" "$use" || return
    if [ $status -eq 0 ] || grep -q survived "$out"; then
        fail "$address $use" "the job ended with status $status or the call returned, expected the call to end the job"
    elif says "$address $use" "$text"; then
        echo "ok   $address $use (status $status)"
    fi
}

# told PE ROUTINE ARGUMENT REST: the line of a fatal error.
told()
{
    echo "^steppe: pe $1 \([^)]*\): $2: $3 0x[0-9a-f]+ is not symmetric: $4"
}

linked='it is a global or static of the library .*/libpe_foreign_linked\.so, .*only those of the executable'
linked="$linked are symmetric: define it in the executable, or use shmem_malloc"
opened=${linked/libpe_foreign_linked/libpe_foreign_plugin}

ends opened put "$(told $last shmem_long_put dest "$opened")"
ends linked_bss add "$(told $last shmem_long_atomic_add dest "$linked")"
if [ "$np" -gt 1 ]; then # alone, a PE copies
    ends opened_bss reduce "$(told '[0-9]+' shmem_long_sum_reduce dest "$opened")" SHMEM_CHECK=1
fi
ends many put "$(told $last shmem_long_put dest '.*of the executable, .*not share these .*more than 64')"
if [ "${SHMEM_NODE:-on}" = on ] && [ "$np" -gt 1 ]; then
    ends none overrun 'access to 0x[0-9a-f]+: the address is 8 bytes past the end of the globals and statics of the PE with index 0'
fi
ends linked get "$(told $last shmem_long_get source "$linked")"
ends linked signal "$(told $last shmem_putmem_signal sig_addr "$linked")"
ends opened lock "$(told $last shmem_set_lock lock "$opened")"
ends linked wait "$(told $last shmem_long_wait_until ivar "$linked")" SHMEM_CHECK=1
ends linked_constant put \
    "$(told $last shmem_long_put dest 'it belongs to the code or constants of the library .*/libpe')"
ends constant get \
    "$(told $last shmem_long_get source 'it belongs to the code or constants of the executable')"
ends protected put "$(told $last shmem_long_put dest 'it is .* its page was read-only')"

# Globals larger than a file may be: that is said, and no signal ends the PE before.
ulimit -S -f 1000
ends none put 'cannot create a sparse file of .*ulimit -f is 1000 KiB\): raise this limit'
ulimit -S -f unlimited

exit $((failed * 2))
