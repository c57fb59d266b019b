#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Hold memory files open that look like the node file of a job, for the test of oshrun --status.

usage: forge_node.py <user> <mode>    mode: plain, zero, small, huge, numbers, escape or cut

Prints a line when the file is there, and ends at the end of its standard input. The mode cut
shortens and lengthens the file all the time.
"""
import ctypes
import os
import select
import struct
import sys

MAGIC = 0x7374702D6D726B33  # STP_TRAILER_MAGIC
SIZE, PAGES_AT, PROCESSES_AT = 1 << 20, 4096, 64
user, mode = int(sys.argv[1]), sys.argv[2]
if user != os.getuid():
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE, which setuid() took away

processes_at, process_bytes, pages_at, n_pes, n_local = PROCESSES_AT, 64, PAGES_AT, 2, 2
program, numbers, text = b"forged", (-1, 2, 0, 1), b"a forged wait"
if mode == "zero":
    process_bytes = 0
elif mode == "small":
    processes_at, process_bytes = SIZE - 2, 1
elif mode == "huge":
    n_pes = n_local = 2147483647
elif mode == "numbers":
    numbers = (-7, 2147483647, -2147483648, -1)
elif mode == "escape":
    program = text = b"\x1b]0;title\x07\x1b[31m\nsteppe: line"
trailer = struct.pack("<7Q4i48s", MAGIC, 1234, SIZE, processes_at, process_bytes, pages_at, 0,
                      n_pes, n_local, 1, 0, program)
fd = os.memfd_create("steppe-node")


def write():
    os.ftruncate(fd, SIZE)
    os.pwrite(fd, trailer, SIZE - len(trailer))
    for local in range(2):
        os.pwrite(fd, struct.pack("<2i", local, os.getpid()), PROCESSES_AT + local * 64)
    note = struct.pack("<2I2Q4i?160s", 1, 2, 5 * 10**9, 0, *numbers, False, text)
    os.pwrite(fd, note, PAGES_AT)


write()
print("ready", flush=True)
while not select.select([0], [], [], 0 if mode == "cut" else None)[0]:
    os.ftruncate(fd, 0)
    write()
