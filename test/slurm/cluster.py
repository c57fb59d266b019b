#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Run a command in a Slurm cluster that this machine plays.

usage: cluster.py [--nodes N] [--cores N] command [argument...]

munged, slurmctld and one slurmd for each of the nodes h0, h1, ... run in namespaces of hosts.py:
each node has its own network, host name, process numbers and /dev/shm. The command runs at the
switch, as on a login node. Keys, sockets, spool and logs are in a temporary file system at /mnt,
which only these namespaces see. Everything ends with this program, however it ends.

The exit status is the command's. It is 77, with the reason, when this machine does not allow
this.
"""
import argparse
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "hosts"))
import hosts  # pylint: disable=wrong-import-position

DIR = "/mnt"  # shared by the switch and the nodes
DAEMONS = ("munged", "slurmctld", "slurmd")
COMMANDS = ("srun", "sbatch", "salloc", "scancel", "squeue", "sinfo")

CONF = """\
ClusterName=steppe
SlurmctldHost=switch
SlurmUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={dir}/munge.socket
StateSaveLocation={dir}/state
SlurmdSpoolDir={dir}/spool.%n
SlurmctldPidFile={dir}/slurmctld.pid
SlurmdPidFile={dir}/slurmd.%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SwitchType=switch/none
MpiDefault=none
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=2
MessageTimeout=30
SchedulerParameters=sched_min_interval=0,batch_sched_delay=0,bf_interval=1
NodeName=h[0-{last}] CPUs={cores} RealMemory=1
PartitionName=all Nodes=ALL Default=YES State=UP OverSubscribe=YES:4
"""


def lacking():
    """What is not installed, in words; empty where all is there."""
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    lost = [name for name in DAEMONS + COMMANDS if shutil.which(name) is None]
    return (f"there is no {', '.join(lost)}; on Debian packages slurm-wlm and munge: "
            "scripts/setup.sh --full") if lost else ""


def go_inside(program):
    """Start a program again in namespaces of its own, unless it is there."""
    if hosts.INSIDE in os.environ:
        return
    why = lacking()
    if why:
        hosts.skip(why)
    hosts.go_inside(program, ())


class Cluster:
    """The daemons, on hosts of their own. Only one in a process."""

    def __init__(self, nodes=2, cores=8):
        for name in [name for name in os.environ if name.startswith(("SLURM", "PMI", "SBATCH"))]:
            del os.environ[name]
        os.environ.pop(hosts.INSIDE)
        lacking()  # makes the daemons' folder part of PATH
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "none", DIR], check=True)
        self.hosts = hosts.Hosts(argparse.Namespace(pes=[1] * nodes, interface=[], routed=False,
                                                    mpirun=False))
        self.daemons = []
        self.write(nodes, cores)
        self.start("munged", ["munged", "--foreground", "--force", f"--key-file={DIR}/munge.key",
                              f"--socket={DIR}/munge.socket", f"--pid-file={DIR}/munged.pid",
                              f"--log-file={DIR}/munged.own", f"--seed-file={DIR}/munge.seed"])
        self.await_(lambda: os.path.exists(f"{DIR}/munge.socket"), "munged")
        self.start("slurmctld", ["slurmctld", "-D"])
        for i, pid in enumerate(self.hosts.pids):
            self.start(f"slurmd.h{i}", ["nsenter", "-t", str(pid), "-n", "-u", "-i", "-m", "-p",
                                        "slurmd", "-D", "-N", f"h{i}"])
        self.await_(lambda: self.idle() == nodes, "slurmctld")
        self.own = [set(self.hosts.processes(i)) for i in range(nodes)]

    def write(self, nodes, cores):
        os.makedirs(f"{DIR}/state")
        with open(f"{DIR}/munge.key", "wb") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(os.urandom(128))
        with open(f"{DIR}/slurm.conf", "w", encoding="ascii") as file:
            file.write(CONF.format(dir=DIR, last=nodes - 1, cores=cores))
        os.environ["SLURM_CONF"] = f"{DIR}/slurm.conf"

    def start(self, name, command):
        with open(f"{DIR}/{name}.log", "wb") as log:
            self.daemons.append((name, subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                                        stdout=log, stderr=subprocess.STDOUT)))

    def logs(self):
        """The last lines of each daemon, for a report."""
        lines = []
        for name, _ in self.daemons:
            with open(f"{DIR}/{name}.log", encoding="utf-8", errors="replace") as log:
                lines += [f"{name}: {line.rstrip()}" for line in log.readlines()
                          if " error: " in line or not name.startswith("slurm")][-12:]
        return lines

    def await_(self, ready, name, seconds=60):
        end = time.monotonic() + seconds
        while not ready():
            dead = [daemon for daemon, process in self.daemons if process.poll() is not None]
            if dead or time.monotonic() > end:
                print("\n".join(self.logs()))
                sys.exit(f"cluster.py: {dead[0] + ' ended' if dead else name + ' does not start'}")
            time.sleep(0.1)

    def idle(self):
        shown = subprocess.run(["sinfo", "-h", "-N", "-o", "%T"], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                               check=False).stdout
        return shown.split().count("idle")

    def queued(self):
        return subprocess.run(["squeue", "-h", "-o", "%i %T"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, text=True, check=False).stdout.splitlines()

    def left(self, seconds=10):
        """What jobs left on the nodes or in the queue, in words, given a moment to go."""
        end = time.monotonic() + seconds
        while True:
            words = [f"job {job}" for job in self.queued()]
            words += [] if self.idle() == len(self.own) else ["a node is not idle"]
            for i, own in enumerate(self.own):
                words += [f"on h{i}: {name(pid)}" for pid in self.hosts.processes(i)
                          if pid not in own]
                shm = f"/proc/{self.hosts.pids[i]}/root{hosts.DIR}"
                words += [f"on h{i}: {hosts.DIR}/{entry}" for entry in os.listdir(shm)]
            if not words or time.monotonic() > end:
                return words
            time.sleep(0.1)


def name(pid):
    try:
        with open(f"/proc/{pid}/cmdline", encoding="ascii", errors="replace") as file:
            return "process " + " ".join(file.read().split(chr(0))).strip()
    except OSError:
        return "a process that has ended"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--cores", type=int, default=8, help="of each node, as Slurm is told")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    if not args.command:
        parser.error("no command given")
    go_inside(__file__)
    Cluster(args.nodes, args.cores)
    status = subprocess.run(args.command, check=False).returncode
    sys.stdout.flush()
    os._exit(status if status >= 0 else 128 - status)


if __name__ == "__main__":
    main()
