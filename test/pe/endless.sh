# SPDX-License-Identifier: BSD-3-Clause
# Sourced by scripts that run jobs. Makes standard input a pipe that is empty and never ends.
# Hydra's mpiexec forwards the end of its input to the first PE. If a short job has ended by then,
# mpiexec dies of SIGPIPE (141) before it prints the lines of the job.
endless=$(mktemp -d)
mkfifo "$endless/fifo"
exec <>"$endless/fifo"
rm -r "$endless"
