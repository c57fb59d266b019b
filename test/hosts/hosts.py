#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Run a job on several hosts that are all played by this machine.

Each host h0, h1, ... has its own network, host name, process numbers, mounts, System V IPC and
/dev/shm; eth0 (10.77.0.1, 10.77.0.2, ...) connects the hosts to a switch. mpiexec.hydra runs at
the switch and starts a proxy on each host as it would by ssh.

All hosts are unnamed namespaces below one process namespace, which ends with this program
however it ends. There are no names that could collide with other runs, and nothing to clean up.

Without a check the exit status is the launcher's; with checks (--status, --say, ...) it is 0 or
1. It is 77, with the reason, when this machine does not allow such namespaces.
"""
import argparse
import collections
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time

SKIP = 77
DIR = "/dev/shm"  # of the switch: a private file system, gone with it
INSIDE = "STEPPE_HOSTS_INSIDE"

ACTIONS = """
actions, for --when and --at:
  down HOST [IF]     the interface goes down on the host (default: eth0)
  up HOST [IF]       and up again
  unplug HOST [IF]   the switch drops what comes and goes: silence, nobody sees a link go down
  plug HOST [IF]     and forwards again
  kill HOST          every process of the host gets SIGKILL; connections are closed by its kernel
  crash HOST         unplugged first: nobody is told
  stop HOST, cont HOST   SIGSTOP and SIGCONT to every process of the host
  run HOST COMMAND   sh -c COMMAND on the host
  launcher SIGNAL    signal the launcher, such as KILL or INT

examples:
  hosts.py --pes 2,2 build/bin/pe_rma
  hosts.py --pes 1,1 --when 'running' 'crash 1' --say 'pe 1 .*gone' --status nonzero ./program
"""


def skip(why):
    print("skipped: " + why)
    sys.exit(SKIP)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, epilog=ACTIONS,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--pes", default="1,1", metavar="N,N,...", help="PEs of each host (default 1,1)")
    add("--pmi", choices=["1", "2"], help="version of PMI that the PEs speak")
    add("--provider", help="SHMEM_OFI_PROVIDER of all PEs")
    add("--env", action="append", default=[], metavar="NAME=VALUE", help="for all PEs")
    add("--host-env", action="append", default=[], metavar="HOST:NAME=VALUE",
        help="for the PEs of one host")
    add("--host-program", action="append", default=[], metavar="HOST:PATH",
        help="what the PEs of one host run instead")
    add("--interface", action="append", default=[], metavar="HOST:NAME:ADDRESS/BITS:KIND",
        help="one more interface, made before eth0. KIND: dummy (nothing behind it), down (the "
        "same, not up), bridge (up, no carrier), or the name of a further switch")
    add("--routed", action="store_true",
        help="every host in a subnet of its own, with a router between them")
    add("--when", action="append", default=[], nargs=2, metavar=("REGEX", "ACTION"),
        help="act when a line of output matches; may be repeated")
    add("--at", action="append", default=[], nargs=2, metavar=("SECONDS", "ACTION"),
        help="act so long after the launch")
    add("--status", metavar="N|nonzero|any", help="check: what the launcher must return")
    add("--say", action="append", default=[], metavar="REGEX",
        help="check: some line of output matches")
    add("--not-say", action="append", default=[], metavar="REGEX", help="check: no line matches")
    add("--within", type=float, metavar="SECONDS",
        help="check: the job ends in this time, counted from the last action if there is one")
    add("--left-ok", action="store_true",
        help="do not check that no process and no file in /dev/shm is left on a host")
    add("--timeout", type=float, default=100, metavar="SECONDS",
        help="after which a job has hung (default 100)")
    add("--never-kill", action="store_true",
        help="in the place of mpiexec.hydra a launcher that ends nobody (pmi1.py)")
    add("--mpirun", action="store_true",
        help="in the place of mpiexec.hydra Open MPI's launcher, for programs of Open MPI")
    add("--supervisor", metavar="PROGRAM",
        help="oshrun's supervisor, which then is the parent of the launcher's proxy on each host")
    add("--launcher-option", action="append", default=[], metavar="WORD", help="for the launcher")
    add("--quiet", action="store_true", help="print the job's output only when a check fails")
    add("command", nargs=argparse.REMAINDER, metavar="program [argument...]")
    args = parser.parse_args()
    if args.command[:1] == ["--"]:
        del args.command[0]
    if not args.command:
        parser.error("no program given")
    args.pes = [int(n) for n in args.pes.split(",")]
    args.interface = [[*spec.split(":", 2)[:2], *spec.split(":", 2)[2].rsplit(":", 1)]
                      for spec in args.interface]
    args.checked = bool(args.status or args.say or args.not_say or args.within)
    return args


def go_inside(program=__file__, tools=("mpiexec.hydra",)):
    """Start a program again, by default this one, as the first process of namespaces of its own."""
    for tool in ("unshare", "nsenter", "ip", *tools):
        if shutil.which(tool) is None:
            skip(f"there is no {tool}")
    if not os.path.isdir(DIR):
        skip(f"there is no {DIR}")
    unshare = ["unshare", "--net", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child",
               "--mount-proc"]
    if os.geteuid() != 0:
        unshare[1:1] = ["--user", "--map-root-user"]
    probe = subprocess.run(unshare + ["sh", "-c", f"mount -t tmpfs none {DIR} && ip link add "
                                      "type veth && unshare --net --pid --fork --mount-proc true"],
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, check=False)
    if probe.returncode != 0:
        skip("namespaces are not allowed here: " + " ".join(probe.stdout.split()))
    os.environ[INSIDE] = "1"
    os.execvp("unshare", unshare + [sys.executable, os.path.abspath(program)] + sys.argv[1:])


def ip(commands, pid=None):
    """Run lines of ip(8) here, or in the network of a process."""
    where = ["nsenter", "-t", str(pid), "-n"] if pid else []
    done = subprocess.run(where + ["ip", "-batch", "-"], input="\n".join(commands) + "\n",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        sys.exit("hosts.py: ip: " + done.stdout.strip() + "\n  in:\n  " + "\n  ".join(commands))


class Hosts:
    """The switch, and the hosts that hang on it."""

    def __init__(self, args):
        self.args = args
        self.n = len(args.pes)
        self.pids = []
        self.ports = {}  # (host, interface) -> its end at the switch
        subprocess.run(["mount", "-t", "tmpfs", "none", DIR], check=True)
        self.write_hosts()
        # Without an address of its own, a bridge has that of one of its ports. When this port is
        # unplugged, the address changes, and the other hosts no longer reach the launcher.
        ip(["link set lo up", "link add eth0 address 02:00:0a:4d:00:fe type bridge",
            "address add 10.77.0.254/24 dev eth0", "link set eth0 up"])
        switches = {spec[3] for spec in args.interface} - {"dummy", "down", "bridge"}
        ip([f"link add {name} type bridge\nlink set {name} up" for name in sorted(switches)] or
           ["link show lo"])
        for i in range(self.n):
            self.start(i)
        if args.routed:
            self.route()
        for pid in self.pids:
            self.wait_for_carrier(pid)
        supervisor = getattr(args, "supervisor", None)
        parent = f"{os.path.abspath(supervisor)} --host hosts " if supervisor else ""
        with open(f"{DIR}/launch", "w", encoding="ascii") as file:
            cases = "".join(f"    h{i}) pid={pid} ;;\n" for i, pid in enumerate(self.pids))
            file.write('#!/bin/sh\n[ "$1" = -x ] && shift\nhost=$1\nshift\ncase $host in\n' +
                       cases + '    *) echo "no host $host" >&2; exit 1 ;;\nesac\n'
                       f'exec nsenter -t "$pid" -n -u -i -m -p -- sh -c "{parent}$*"\n')
        os.chmod(f"{DIR}/launch", 0o755)
        if self.args.mpirun:  # its daemon looks whether the command is there, and never runs it
            for pid in self.pids:
                shutil.copy(f"{DIR}/launch", f"/proc/{pid}/root{DIR}/launch")

    def address(self, i):
        return f"10.77.{i + 1}.1" if self.args.routed else f"10.77.0.{i + 1}"

    def write_hosts(self):
        with open(f"{DIR}/hosts", "w", encoding="ascii") as file:
            file.write("127.0.0.1 localhost\n10.77.0.254 switch\n")
            file.writelines(f"{self.address(i)} h{i}\n" for i in range(self.n))
        subprocess.run(["mount", "--bind", f"{DIR}/hosts", "/etc/hosts"], check=True)
        subprocess.run(["hostname", "switch"], check=True)

    def start(self, i):
        """A process that is the host: pid 1 of its namespaces."""
        setup = (f"hostname h{i} && mount -t tmpfs none {DIR} && ip link set lo up && echo up && "
                 "exec sleep infinity")
        holder = subprocess.Popen(["unshare", "--net", "--mount", "--uts", "--ipc", "--pid",
                                   "--fork", "--kill-child", "--mount-proc", "sh", "-c", setup],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        if holder.stdout.readline() != "up\n":
            sys.exit(f"hosts.py: host h{i} does not start")
        with open(f"/proc/{holder.pid}/task/{holder.pid}/children", encoding="ascii") as file:
            pid = int(file.read().split()[0])
        self.pids.append(pid)
        for host, name, address, kind in self.args.interface:
            if int(host) == i:
                self.add_interface(i, name, address, kind)
        if not any(spec[:2] == [str(i), "eth0"] for spec in self.args.interface):
            self.add_interface(i, "eth0", self.address(i) + "/24", "eth0")

    def add_interface(self, i, name, address, kind):
        pid = self.pids[i]
        if kind == "bridge":
            ip([f"link add {name} type bridge"], pid)
        else:
            port = f"p{len(self.ports)}"
            self.ports[i, name] = (port, kind)
            ip([f"link add {port} type veth peer name {name} netns {pid}", f"link set {port} up"] +
               ([f"link set {port} master {kind}"] if kind not in ("dummy", "down") else []))
        ip([f"address add {address} dev {name}" + (" nodad" if ":" in address else "")] +
           ([f"link set {name} up"] if kind != "down" else []), pid)

    def wait_for_carrier(self, pid):
        """The kernel takes a moment to see that an interface has a carrier; libfabric wants it."""
        for _ in range(100):
            shown = subprocess.run(["nsenter", "-t", str(pid), "-n", "ip", "-o", "link", "show",
                                    "up"], stdout=subprocess.PIPE, text=True, check=True).stdout
            if not any("@" in line and "state UP" not in line for line in shown.splitlines()):
                return
            time.sleep(0.02)

    def route(self):
        """The switch becomes a router with an address in the subnet of each host."""
        with open("/proc/sys/net/ipv4/ip_forward", "w", encoding="ascii") as file:
            file.write("1")
        for i, pid in enumerate(self.pids):
            ip([f"address add 10.77.{i + 1}.254/24 dev eth0"])
            ip([f"route add default via 10.77.{i + 1}.254"], pid)

    # ---- actions

    def processes(self, i, everything=False):
        """Numbers, as seen here, of what runs on a host; not its first process, nor zombies."""
        where = os.readlink(f"/proc/{self.pids[i]}/ns/pid") if os.path.exists(
            f"/proc/{self.pids[i]}/ns/pid") else None
        found = []
        for name in os.listdir("/proc"):
            if not name.isdigit() or where is None:
                continue
            try:
                if os.readlink(f"/proc/{name}/ns/pid") != where:
                    continue
                with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as file:
                    state = file.read().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if state not in "ZX" and (everything or int(name) != self.pids[i]):
                found.append(int(name))
        return found

    def signal(self, i, number):
        for pid in self.processes(i):
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def act(self, text, launcher):
        verb, *words = shlex.split(text)
        if verb == "launcher":
            os.kill(launcher.pid, getattr(signal, "SIG" + words[0]))
            return
        host = int(words[0])
        pid, name = self.pids[host], words[1] if len(words) > 1 else "eth0"
        if verb in ("down", "up"):
            ip([f"link set {name} {verb}"], pid)
        elif verb in ("unplug", "crash"):
            ip([f"link set {self.ports[host, 'eth0' if verb == 'crash' else name][0]} nomaster"])
        elif verb == "plug":
            port, switch = self.ports[host, name]
            ip([f"link set {port} master {switch}"])
        elif verb == "run":
            subprocess.run(["nsenter", "-t", str(pid), "-n", "-u", "-i", "-m", "-p", "sh", "-c",
                            " ".join(words[1:])], stdin=subprocess.DEVNULL, check=False)
        elif verb in ("stop", "cont"):
            self.signal(host, signal.SIGSTOP if verb == "stop" else signal.SIGCONT)
        elif verb != "kill":
            sys.exit(f"hosts.py: unknown action {verb}, see --help")
        if verb in ("kill", "crash"):
            self.signal(host, signal.SIGKILL)

    def left(self, i):
        """What is still there on a host, in words."""
        words = []
        for pid in self.processes(i):
            try:
                with open(f"/proc/{pid}/cmdline", encoding="ascii", errors="replace") as file:
                    words.append(f"process {file.read().split(chr(0))[0]}")
            except OSError:
                pass
        root = f"/proc/{self.pids[i]}/root{DIR}"
        if os.path.isdir(root):
            words += [f"{DIR}/{name}" for name in os.listdir(root) if name != "launch"]
        return words


class Job:
    """One launch, its output, what happens to it meanwhile, and the checks after it."""

    def __init__(self, args, hosts):
        self.args = args
        self.hosts = hosts
        self.lines = []
        self.started = self.acted = time.monotonic()
        self.launcher = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL,
                                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                         text=True, errors="replace", env=self.environment())
        self.pending = list(args.when)
        self.hung = False

    def command(self):
        pes = self.args.pes
        cases = collections.defaultdict(list)
        for spec in self.args.host_env:
            host, _, setting = spec.partition(":")
            cases[int(host)].append("export " + shlex.quote(setting) + ";")
        for spec in self.args.host_program:
            host, _, path = spec.partition(":")
            cases[int(host)].append(f"shift; set -- {shlex.quote(os.path.abspath(path))} \"$@\";")
        program = shutil.which(self.args.command[0])
        words = [os.path.abspath(program) if program else self.args.command[0]]
        words += self.args.command[1:]
        if cases:
            script = "".join(f"h{i}) {' '.join(lines)} ;; " for i, lines in cases.items())
            words = ["sh", "-c", f"case $(hostname) in {script}esac; exec \"$@\"", "sh"] + words
        names = ",".join(f"h{i}:{n}" for i, n in enumerate(pes))
        if self.args.never_kill:
            pmi1 = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pmi1.py")
            return [sys.executable, pmi1, "--hosts", names, "--launch", f"{DIR}/launch",
                    *self.args.launcher_option, *words]
        if self.args.mpirun:
            return ["mpirun.openmpi", "--allow-run-as-root", "--mca", "plm_rsh_agent",
                    f"{DIR}/launch", "--mca", "oob_tcp_if_include", "eth0", "--mca",
                    "btl_tcp_if_include", "eth0", "-host", names, *self.args.launcher_option, "-n",
                    str(sum(pes)), *words]
        return ["mpiexec.hydra", "-launcher", "ssh", "-launcher-exec", f"{DIR}/launch", "-iface",
                "eth0", "-hosts", names, *self.args.launcher_option, "-n", str(sum(pes)), *words]

    def environment(self):
        env = dict(os.environ)
        del env[INSIDE]
        env.update(setting.split("=", 1) for setting in self.args.env)
        if self.args.supervisor:
            env["OSHRUN_FRAMES"] = "nowhere:hosts"
        if self.args.pmi:
            env["SHMEM_PMI"] = self.args.pmi
        if self.args.provider:
            env["SHMEM_OFI_PROVIDER"] = self.args.provider
        return env

    def act(self, action):
        self.hosts.act(action, self.launcher)
        self.acted = time.monotonic()
        print(f"hosts.py: {action}, {self.acted - self.started:.2f} s after the launch", flush=True)

    def hang_up(self):
        self.hung = True
        self.launcher.terminate()
        time.sleep(3)
        self.launcher.kill()
        for i in range(self.hosts.n):
            self.hosts.signal(i, signal.SIGKILL)

    def run(self):
        timers = [threading.Timer(float(at), self.act, [action]) for at, action in self.args.at]
        timers.append(threading.Timer(self.args.timeout, self.hang_up))
        for timer in timers:
            timer.daemon = True
            timer.start()
        for line in self.launcher.stdout:
            self.lines.append(line.rstrip("\n"))
            if not self.args.quiet:
                sys.stdout.write(line)
                sys.stdout.flush()
            for item in list(self.pending):
                if re.search(item[0], line):
                    self.pending.remove(item)
                    self.act(item[1])
        self.status = self.launcher.wait()
        self.ended = time.monotonic()
        for timer in timers:
            timer.cancel()

    def wrong(self):
        """Every check that fails, in words."""
        args, words = self.args, []
        if self.hung:
            words.append(f"the job did not end in {args.timeout:g} s")
        elif args.status == "nonzero" and self.status == 0:
            words.append("the launcher returned 0, expected a failure")
        elif args.status not in (None, "nonzero", "any") and self.status != int(args.status):
            words.append(f"the launcher returned {self.status}, expected {args.status}")
        elif args.checked and not args.status and self.status != 0:
            words.append(f"the launcher returned {self.status}, expected 0")
        took = self.ended - self.acted
        if args.within and took > args.within:
            words.append(f"the job ended after {took:.2f} s, more than {args.within:g} s")
        for text in args.say:
            if not any(re.search(text, line) for line in self.lines):
                words.append(f"no line of output matches {text}")
        for text in args.not_say:
            if any(re.search(text, line) for line in self.lines):
                words.append(f"a line of output matches {text}, which must not occur")
        words += [f"the action '{item[1]}' never happened, because no line matches {item[0]}"
                  for item in self.pending]
        return words + ([] if args.left_ok else self.left())

    def left(self):
        """What the job left on its hosts, given a moment to go."""
        for _ in range(30):
            words = [f"the job left on host h{i}: {', '.join(left)}" for i in range(self.hosts.n)
                     if (left := self.hosts.left(i))]
            if not words:
                break
            time.sleep(0.1)
        return words


def main():
    args = parse()
    if INSIDE not in os.environ:
        go_inside()
    job = Job(args, Hosts(args))
    job.run()
    wrong = job.wrong()
    if wrong and args.quiet:
        print("\n".join(job.lines))
    for text in wrong:
        print("hosts.py: FAIL: " + text)
    sys.stdout.flush()
    if wrong:
        os._exit(1)
    # the hosts end with this process, the first of their namespace
    os._exit(0 if args.checked else job.status if job.status >= 0 else 128 - job.status)


if __name__ == "__main__":
    main()
