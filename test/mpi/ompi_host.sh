#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# In place of ssh: run a command as if on another host, which is this machine under another name.
#
# usage: ompi_host.sh HOST COMMAND...
host=$1
shift
# shellcheck disable=SC2016 # the inner shell expands
exec unshare --uts sh -c 'hostname "$1" && shift && exec sh -c "$*"' sh "$host" "$@"
