#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Launch a job by PMI-1, and never end a PE.

A launcher that kills the other PEs hides what the library does when a PE dies. This launcher
ends no PE, not even when a PE asks for an abort.

Prints the output of the processes, then how each of them ended and how many seconds after the
event. The event is the first line that matches --mark, or the first end of a process. The exit
status is the largest status of a process, or 0 with --say. It is 1 when a process had to be
killed after --timeout, when there was no event, or when a check fails.
"""
import argparse
import glob
import os
import re
import select
import signal
import socket
import subprocess
import sys
import time

KVS = "kvs_0"


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("-n", type=int, default=2, metavar="N", help="PEs, on one node (default 2)")
    add("--hosts", metavar="HOST:N,...", help="PEs of each node, in the place of -n")
    add("--launch", metavar="PROGRAM", help="starts a command on a host: PROGRAM HOST COMMAND")
    add("--mark", metavar="REGEX", help="the line that tells of the event")
    add("--say", metavar="REGEX", action="append", default=[],
        help="some line must match; may be given again")
    add("--not-say", metavar="REGEX", help="no line may match")
    add("--within", type=float, metavar="SECONDS", help="all must have ended by then")
    add("--allow", type=int, default=0, metavar="N",
        help="processes that may go on, as one that runs another program does (default 0)")
    add("--timeout", type=float, default=60, metavar="SECONDS",
        help="after which who is still there has hung (default 60)")
    add("command", nargs=argparse.REMAINDER, metavar="program [argument...]")
    args = parser.parse_args()
    if not args.command:
        parser.error("no program given")
    hosts = args.hosts or f"localhost:{args.n}"
    args.places = [(host, node) for node, spec in enumerate(hosts.split(","))
                   for host in [spec.partition(":")[0]] * int(spec.partition(":")[2] or 1)]
    return args


def mapping(places):
    """PMI_process_mapping: blocks of (first node, nodes, PEs a node)."""
    nodes = [node for _, node in places]
    blocks = [f"({node},1,{nodes.count(node)})" for node in sorted(set(nodes))]
    return f"(vector,{','.join(blocks)})"


class Process:
    """One PE, its end of PMI, and its output."""

    def __init__(self, args, rank):
        ours, theirs = socket.socketpair()
        host = args.places[rank][0]
        names = {"PMI_FD": theirs.fileno(), "PMI_RANK": rank, "PMI_SIZE": len(args.places)}
        command = args.command
        if args.launch:
            command = [args.launch, host, "exec env " + " ".join(
                [f"{name}={value}" for name, value in names.items()] +
                ["'" + word.replace("'", "'\\''") + "'" for word in args.command])]
        self.rank = rank
        self.pmi = ours
        self.asked = b""
        self.text = b""
        self.fences = 0
        self.ended = None
        self.pid = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            pass_fds=[theirs.fileno()],
            env=os.environ | {name: str(value) for name, value in names.items()})
        self.out = self.pid.stdout.fileno()
        os.set_blocking(self.out, False)
        theirs.close()


class Launcher:
    """Answers what PMI-1 asks, and waits."""

    def __init__(self, args):
        self.args = args
        self.values = {"PMI_process_mapping": mapping(args.places)}
        self.event = None
        self.unsaid = set(args.say)
        self.missaid = False
        self.processes = [Process(args, rank) for rank in range(len(args.places))]

    def answer(self, process, line):
        words = dict(word.split("=", 1) for word in line.split() if "=" in word)
        verb = words.get("cmd")
        if verb == "init":
            return "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0"
        if verb == "get_maxes":
            return "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024 rc=0"
        if verb == "get_my_kvsname":
            return f"cmd=my_kvsname kvsname={KVS} rc=0"
        if verb == "put":
            self.values[words["key"]] = line.partition("value=")[2]
            return "cmd=put_result rc=0"
        if verb == "get":
            value = self.values.get(words["key"])
            return f"cmd=get_result rc={0 if value else -1} value={value or 'none'}"
        if verb == "barrier_in":
            process.fences += 1
            self.fence()
            return None
        if verb == "finalize":
            return "cmd=finalize_ack rc=0"
        if verb != "abort":
            print(f"pmi1.py: rank {process.rank} asks {line}", flush=True)
        return None  # an abort is heard, and nothing done about it

    def fence(self):
        if len({process.fences for process in self.processes}) == 1:
            for process in self.processes:
                self.send(process, "cmd=barrier_out rc=0")

    def send(self, process, line):
        try:
            process.pmi.sendall((line + "\n").encode())
        except OSError:
            pass  # it has ended, which is seen elsewhere

    def serve(self, process):
        try:
            data = process.pmi.recv(65536)
        except OSError:
            data = b""
        if not data:
            process.pmi.close()
            process.pmi = None
            return
        process.asked += data
        while b"\n" in process.asked:
            line, process.asked = process.asked.split(b"\n", 1)
            answer = self.answer(process, line.decode(errors="replace"))
            if answer:
                self.send(process, answer)

    def read(self, process):
        try:
            data = os.read(process.out, 65536)
        except BlockingIOError:
            return
        if not data:
            process.out = None
            return
        process.text += data
        while b"\n" in process.text:
            line, process.text = process.text.split(b"\n", 1)
            self.show(line)

    def show(self, line):
        line = line.decode(errors="replace")
        print(line, flush=True)
        self.unsaid -= {text for text in self.unsaid if re.search(text, line)}
        self.missaid |= bool(self.args.not_say and re.search(self.args.not_say, line))
        if self.event is None and self.args.mark and re.search(self.args.mark, line):
            self.event = time.monotonic()

    def collect(self):
        for process in self.processes:
            if process.ended is None and process.pid.poll() is not None:
                process.ended = time.monotonic()
                if self.event is None and not self.args.mark:
                    self.event = process.ended

    def going(self):
        return [process for process in self.processes if process.ended is None]

    def run(self):
        end = time.monotonic() + self.args.timeout
        while len(self.going()) > self.args.allow and time.monotonic() < end:
            ready = {process.out: self.read for process in self.processes if process.out}
            ready |= {process.pmi: self.serve for process in self.processes if process.pmi}
            of = {process.out: process for process in self.processes}
            of |= {process.pmi: process for process in self.processes}
            for found in select.select(list(ready), [], [], 0.02)[0]:
                ready[found](of[found])
            self.collect()
        hung = self.going()
        for process in hung:
            process.pid.send_signal(signal.SIGKILL)
            process.pid.wait()
        for process in self.processes:
            if process.out:
                self.read(process)
            if process.text:
                self.show(process.text)
        return hung

    def report(self, hung):
        status = n_late = 0
        for process in self.processes:
            code = process.pid.returncode
            status = max(status, code if code >= 0 else 128 - code) if process not in hung else status
            after = process.ended - self.event if process.ended and self.event else 0.0
            late = self.args.within is not None and after > self.args.within
            n_late += late
            how = "was still there" if process in hung else f"{after:.2f} s after the event"
            print(f"pmi1.py: rank {process.rank}: status {code}, {how}{', LATE' if late else ''}")
        ended = [process.ended - self.event for process in self.processes
                 if process.ended and self.event]
        if ended:
            print(f"pmi1.py: the last ended {max(ended):.2f} s after the event")
        wrong = [f"{len(hung)} processes hung, at most {self.args.allow} are "
                 "allowed"] if len(hung) > self.args.allow else []
        wrong += [f"{n_late} processes ended more than {self.args.within:g} s after the "
                  "event"] if n_late else []
        wrong += [] if self.event else [f"the event did not happen: no line matches "
                                        f"{self.args.mark}"]
        wrong += [f"no line of output matches {text}" for text in sorted(self.unsaid)]
        wrong += [f"a line of output matches {self.args.not_say}, which must not "
                  "occur"] if self.missaid else []
        for text in wrong:
            print("pmi1.py: FAIL: " + text)
        if self.args.say:
            return 1 if wrong else 0
        return 1 if wrong else status


def sweep(processes):
    """Remove what libfabric's shm provider leaves of a process that was killed."""
    for process in processes:
        for path in glob.glob(f"/dev/shm/{process.pid.pid}:*"):
            os.unlink(path)


def main():
    launcher = Launcher(parse())
    status = launcher.report(launcher.run())
    sweep(launcher.processes)
    sys.stdout.flush()
    sys.exit(status)


if __name__ == "__main__":
    main()
