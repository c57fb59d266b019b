#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Starts a program with Open MPI's mpirun, a launcher that speaks PMIx, also as root and with more
# PEs than cores. With OMPI_HOSTS=a:2,b:1 this machine plays these hosts, each in its own UTS
# namespace. Exits with 77, and prints the reason, when this is not possible.
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
[ -n "$mpirun" ] || skip "no launcher that speaks PMIx is installed (Debian: openmpi-bin)"

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
options=(--bind-to none)
if [ -n "${OMPI_HOSTS:-}" ]; then
    unshare --uts true 2>/dev/null ||
        skip "UTS namespaces, which play several hosts, are not allowed here"
    options+=(--mca plm_rsh_agent "$(dirname "$0")/ompi_host.sh" --host "$OMPI_HOSTS")
else
    options+=(--oversubscribe)
fi
exec "$mpirun" "${options[@]}" "$@"
