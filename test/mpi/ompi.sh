#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Start a program with Open MPI's mpirun, a launcher that speaks PMIx, also as root and with more
# PEs than cores. With OMPI_HOSTS=a:2,b:1 these hosts are played by this machine, each in a UTS
# namespace of its own. Status 77, and a reason, when that cannot be done here.
#
# usage: ompi.sh -n NP PROGRAM [ARGUMENT...]
set -u

skip()
{
    echo "skipped: $1" >&2
    exit 77
}

for mpirun in mpirun.openmpi prterun ""; do
    command -v "$mpirun" >/dev/null 2>&1 && break
done
[ -n "$mpirun" ] || skip "no launcher that speaks PMIx here (Debian: openmpi-bin)"

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
options=(--bind-to none)
if [ -n "${OMPI_HOSTS:-}" ]; then
    unshare --uts true 2>/dev/null || skip "no UTS namespaces here to play several hosts"
    options+=(--mca plm_rsh_agent "$(dirname "$0")/ompi_host.sh" --host "$OMPI_HOSTS")
else
    options+=(--oversubscribe)
fi
exec "$mpirun" "${options[@]}" "$@"
