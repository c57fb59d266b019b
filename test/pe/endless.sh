# SPDX-License-Identifier: BSD-3-Clause
# To be sourced by scripts that run jobs: a standard input that is empty and has no end. Hydra's
# mpiexec tells the first PE of an end, and dies of SIGPIPE (141), the job's lines unprinted, when a
# short job was over by then.
endless=$(mktemp -d)
mkfifo "$endless/fifo"
exec <>"$endless/fifo"
rm -r "$endless"
