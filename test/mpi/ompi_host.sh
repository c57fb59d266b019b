#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Replaces ssh for ompi.sh: runs a command under the name of another host, in a UTS namespace of
# this machine.
#
# usage: ompi_host.sh HOST COMMAND...
host=$1
shift
# shellcheck disable=SC2016 # the inner shell expands
exec unshare --uts sh -c 'hostname "$1" && shift && exec sh -c "$*"' sh "$host" "$@"
