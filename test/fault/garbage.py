#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Disturb the TCP ports at which the PEs of a job listen.

usage: garbage.py KIND SECONDS LAUNCHER [ARGUMENT...]
  bytes:    connections with random bytes, short and long, closed or left open
  silence:  connections that send nothing, and some that close at once
  headers:  messages that begin like a connection of the provider and then stall
  hold:     as many connections as the ports take, all held to the end
  PROGRAM PROVIDER (one word): runs PROGRAM PROVIDER SECONDS ADDRESS:PORT...

Runs the job, waits for its line "running", and does KIND for SECONDS. When the job prints
"resting", its processes may use at most 15 % of a core during 2.5 s. Returns the status of the
job. If that is 0, it returns the status of PROGRAM, or 1 when the job was too busy. A status
other than 0 is accepted when a line of output matches STEPPE_GARBAGE_SAY. The random numbers
have a fixed seed.
"""
import os
import random
import re
import shlex
import socket
import struct
import subprocess
import sys
import threading
import time

OPEN_MAX = 100
REST_S = 2.5
BUSY_MAX = 0.15


def descendants(pid):
    """Process numbers below pid."""
    found, parents = [], {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as file:
                    parents[int(name)] = int(file.read().rpartition(")")[2].split()[1])
            except OSError:
                pass
    todo = [pid]
    while todo:
        one = todo.pop()
        found.append(one)
        todo += [child for child, parent in parents.items() if parent == one]
    return found


def files(pid):
    found = set()
    try:
        for fd in os.listdir(f"/proc/{pid}/fd"):
            found.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
    except OSError:
        pass
    return found


def listening(launcher):
    """
    (address, port) of the listening IPv4 sockets below the launcher. Not those that it has itself
    and its children inherit: a stray connection ends mpiexec.
    """
    inodes = set().union(*[files(pid) for pid in descendants(launcher)]) - files(launcher)
    ports = []
    with open("/proc/net/tcp", encoding="ascii") as file:
        for line in file.readlines()[1:]:
            words = line.split()
            if words[3] == "0A" and f"socket:[{words[9]}]" in inodes:
                address, port = words[1].split(":")
                host = socket.inet_ntoa(struct.pack("<I", int(address, 16)))
                ports.append(("127.0.0.1" if host == "0.0.0.0" else host, int(port, 16)))
    return ports


def message(kind):
    if kind == "silence":
        return b""
    if kind == "bytes":
        return random.randbytes(random.choice([1, 4, 16, 100, 4000, 100000]))
    # type, version and lengths as libfabric's TCP providers have them, cut at any place
    header = struct.pack("!BBHHBB", random.choice([2, 3]), random.choice([0, 1, 2]), 0, 200, 0, 1)
    return (header + random.randbytes(random.randrange(200)))[:random.randrange(1, 120)]


def bother(kind, ports, end):
    kept, n = [], 0
    while time.monotonic() < end:
        try:
            one = socket.create_connection(random.choice(ports), timeout=1)
            n += 1
            one.setblocking(False)
            text = message(kind)
            if text:
                one.send(text)
            kept.append(one)
        except OSError:
            pass
        if len(kept) > OPEN_MAX or kept and random.random() < 0.3:
            kept.pop(random.randrange(len(kept))).close()
        time.sleep(0.002)
    return n


def hold(ports, end):
    """Thousands, by several processes: each has its own limit."""
    children = []
    for _ in range(4):
        child = os.fork()
        if child == 0:
            kept = []
            while time.monotonic() < end:
                try:
                    one = socket.socket()
                    one.settimeout(0.2)
                    one.connect(ports[len(kept) % len(ports)])
                    kept.append(one)
                except OSError:
                    time.sleep(0.05)
                if len(kept) > 1000:
                    time.sleep(0.1)
            os._exit(min(len(kept) // 10, 255))
        children.append(child)
    return sum(10 * os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children)


def attack(kind, seconds, ports):
    """Returns what is wrong with the outcome: 0 is nothing."""
    end = time.monotonic() + seconds
    if " " in kind:
        command = shlex.split(kind) + [str(seconds)] + [f"{host}:{port}" for host, port in ports]
        return subprocess.run(["timeout", str(seconds + 20)] + command, check=False).returncode
    n = hold(ports, end) if kind == "hold" else bother(kind, ports, end)
    print(f"{n} connections to {len(ports)} ports", flush=True)
    return 0


def seconds_used(pids):
    used = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
                words = file.read().rpartition(")")[2].split()
            used += int(words[11]) + int(words[12])
        except OSError:
            pass
    return used / os.sysconf("SC_CLK_TCK")


def too_busy(launcher):
    pids = descendants(launcher)
    before = seconds_used(pids)
    time.sleep(REST_S)
    busy = (seconds_used(pids) - before) / REST_S
    print(f"the resting job takes {100 * busy:.1f} % of a core, "
          f"at most {100 * BUSY_MAX:.0f} % are allowed", flush=True)
    return 1 if busy > BUSY_MAX else 0


def main():
    kind, seconds = sys.argv[1], float(sys.argv[2])
    excuse = os.environ.get("STEPPE_GARBAGE_SAY")
    random.seed(20260101)
    wrong, said, threads = [], False, []
    with subprocess.Popen(sys.argv[3:], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True) as job:

        def start(act, *args):
            threads.append(threading.Thread(target=lambda: wrong.append(act(*args))))
            threads[-1].start()

        for line in job.stdout:
            sys.stdout.write(line)
            said = said or excuse is not None and re.search(excuse, line) is not None
            if line == "running\n" and not threads:
                start(attack, kind, seconds, listening(job.pid))
            elif line == "resting\n":
                start(too_busy, job.pid)
        for thread in threads:
            thread.join()
    if not threads:
        return 1
    if job.returncode != 0 and not said:
        return job.returncode
    return next((status for status in wrong if status != 0), 0)


if __name__ == "__main__":
    sys.exit(main())
