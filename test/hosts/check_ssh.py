#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check jobs of oshrun that start other hosts by a real ssh, and starts that fail there.

usage: check_ssh.py GROUP BUILD
  quick   the program is missing on a host
  fail    each other cause: the job ends, and one line names the host and the cause
  run     jobs that start: exit statuses, a lost proxy, the user's own remote shell, time limits
  ends    a PE that ends without exit handlers on a host is named
  slow    PEs and hosts that take long to start are not ended

Two hosts of hosts.py each run an sshd. oshrun runs at the switch.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import hosts  # pylint: disable=wrong-import-position

DIR = "/run/ssh"  # a private file system that the switch and the hosts share
wrong = []


def check(good, what):
    if not good:
        wrong.append(what)
        print("check_ssh.py: FAIL: " + what, flush=True)


class Remote:
    """Two hosts with sshd, and the ssh configuration of the switch."""

    def __init__(self, build):
        os.environ.pop(hosts.INSIDE)
        for name in [name for name in os.environ if name.startswith(("SLURM", "PMI", "HYDRA"))]:
            del os.environ[name]
        self.bin, self.lib = os.path.join(build, "bin"), os.path.join(build, "lib")
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "none", "/run"], check=True)
        os.makedirs(DIR)
        os.makedirs("/run/sshd")
        self.keys = [self.key(f"host{i}") for i in range(2)]
        self.write("authorized", self.key("user") + "\n")
        self.configure("")
        subprocess.run(["mount", "--bind", f"{DIR}/config", "/etc/ssh/ssh_config"], check=True)
        self.know(self.keys)
        self.hosts = hosts.Hosts(argparse.Namespace(pes=[1, 1], interface=[], routed=False,
                                                    mpirun=False))
        with open(f"{hosts.DIR}/hosts", "a", encoding="ascii") as file:
            file.write("10.77.0.9 h9\n")
        hosts.ip(["route add unreachable 10.77.0.9"])
        for i in range(2):
            self.on(i, f"/usr/sbin/sshd -f /dev/null -h {DIR}/host{i} -o PidFile=none -o UsePAM=no "
                       f"-o AuthorizedKeysFile={DIR}/authorized -o PermitRootLogin=yes "
                       "-o StrictModes=no -E /dev/null")
        self.stdin = os.pipe()

    def key(self, name):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{DIR}/{name}"],
                       check=True)
        with open(f"{DIR}/{name}.pub", encoding="ascii") as file:
            return " ".join(file.read().split()[:2])

    def write(self, name, text, mode=0o600):
        with open(f"{DIR}/{name}", "w", encoding="ascii") as file:
            os.fchmod(file.fileno(), mode)
            file.write(text)
        return f"{DIR}/{name}"

    def configure(self, more):
        self.write("config", f"IdentityFile {DIR}/user\nUserKnownHostsFile {DIR}/known\n"
                             f"GlobalKnownHostsFile /dev/null\n{more}\n", 0o644)

    def know(self, keys):
        self.write("known", "".join(f"h{i} {key}\n" for i, key in enumerate(keys)))

    def on(self, i, command):
        subprocess.run(["nsenter", "-t", str(self.hosts.pids[i]), "-n", "-u", "-i", "-m", "-p", "sh",
                        "-c", command], stdin=subprocess.DEVNULL, check=True)

    def start(self, *words, where="h0:1,h1:1", path=None, **env):
        command = [os.path.join(self.bin, "oshrun"), "-n", "2", "-hosts", where, *words]
        path = {"PATH": path + ":" + os.environ["PATH"]} if path else {}
        return subprocess.Popen(["timeout", "-k", "5", "110", *command], stdin=self.stdin[0],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                errors="replace", env=os.environ | env | path, cwd=self.bin)

    def end(self, job, what, want, say):
        """A job that has been started: its status, its last line, and nothing left."""
        out = job.communicate()[0]
        last = out.splitlines()[-1] if out else ""
        check(job.returncode == want, f"{what}: status {job.returncode}, expected {want}: {out}")
        check(not say or re.search(say, last), f"{what}: the last line does not match {say}: {out}")
        for i in range(2):
            for _ in range(100):
                left = [word for word in self.hosts.left(i) if "sshd" not in word]
                if not left:
                    break
                time.sleep(0.1)
            check(not left, f"{what}: the job left on host h{i}: {left}")
        return out

    def run(self, what, want, *words, say=None, **how):
        return self.end(self.start(*words, **how), what, want, say)

    def fails(self, what, cause, *words, host="h1", status=255, **how):
        where = f"h0:1,{host}:1"
        self.run(what, 255, *(words or ["./pe_rules_query"]), where=where,
                 say=f"^oshrun: host {host}: ssh ended with status {status}: {cause}$", **how)

    def hidden(self, folder):
        """A folder is empty on host h1 while this generator waits."""
        self.on(1, f"mount -t tmpfs none {folder}")
        yield
        self.on(1, f"umount {folder}")


def quick(remote):
    for _ in remote.hidden(remote.bin):
        remote.fails("no program", r"\./pe_rules_query: this program does not exist", status=127)


def fail(remote):
    for _ in remote.hidden(remote.lib):
        remote.fails("no library", r"\./pe_rules_query: needs.*libsteppe\.so\.1 => not found",
                     status=127)
    folder = f"{DIR}/parent/folder"
    os.makedirs(folder)
    for _ in remote.hidden(os.path.dirname(folder)):
        remote.fails("no folder", f"{folder}: this folder does not exist", "-wdir", folder, "true",
                     status=127)
    remote.fails("no route", r".* No route to host\s*", host="h9")
    remote.fails("no such name", ".*(not known|failure in name resolution)", host="nosuch.invalid")
    remote.know(remote.keys[:1])
    remote.fails("unknown host key", "Host key verification failed.")
    remote.know([remote.keys[0]] * 2)
    remote.fails("wrong host key", "Host key verification failed.")
    remote.know(remote.keys)
    remote.configure("Match host h1\nUser nobody")
    remote.fails("no login", "(nobody@h1: )?Permission denied .*")
    remote.configure("")
    remote.on(1, "sed /switch/d /etc/hosts >/dev/shm/hosts && mount --bind /dev/shm/hosts /etc/hosts "
                 "&& rm /dev/shm/hosts")
    remote.fails("the host does not know the host of oshrun", ".*unable to connect to server switch.*",
                 "true", status=6)
    remote.on(1, "umount /etc/hosts")


def run(remote):
    check(not remote.run("a good job", 0, "./pe_rules_query"), "a good job prints something")
    remote.run("status of a program", 3, "sh", "-c", "exit $((PMI_RANK * 3))")
    out = remote.run("status of a PE", 3, "./slurm_ends", "exit")
    check("pe 1 (h1): the program exits" in out, f"status of a PE: no line names the PE: {out}")
    remote.run("a killed PE", 9, "./slurm_ends", "kill")
    remote.run("words after --", 0, "--", "-launcher", "ssh", "true")
    job = remote.start("sh", "-c", "[ $PMI_RANK = 0 ] && exec sleep 100; kill -9 $PPID")
    remote.end(job, "a lost proxy", 255, "^oshrun: host h1: ssh ended with status (255|137)")

    log = f"{DIR}/log"
    own = remote.write("own", f'#!/bin/sh\necho "$@" >>{log}\nexec ssh "$@"\n', 0o755)
    os.makedirs(f"{DIR}/bin")
    remote.write("bin/ssh", '#!/bin/sh\nfor word do [ "$word" != -G ] || exec /usr/bin/ssh "$@"; done\n'
                 f'echo "$@" >>{log}\nexec /usr/bin/ssh "$@"\n', 0o755)
    limit = "-o ConnectTimeout=30 "
    for what, words, how, config, limited in (
            ("ssh", [], {"path": f"{DIR}/bin"}, "", True),
            ("ssh with ConnectTimeout", [], {"path": f"{DIR}/bin"}, "ConnectTimeout 7", False),
            ("-launcher-exec", ["-launcher-exec", own], {}, "", False),
            ("HYDRA_LAUNCHER_EXEC", [], {"HYDRA_LAUNCHER_EXEC": own}, "", False)):
        remote.configure(config)
        remote.run(what, 0, *words, "true", **how)
        with open(log, encoding="utf-8") as file:
            lines = sorted(file)
        os.unlink(log)
        starts = [(limit if limited else "") + f"-x h{i} " for i in range(2)]
        check(len(lines) == 2 and all(map(str.startswith, lines, starts)),
              f"{what}: the remote shell got {lines}, expected {starts}")
    remote.configure("")


def ends(remote):
    for where, host in (("h0:1,h1:1", "h1"), ("switch:1,h1:1", "h1"), ("h0:1,switch:1", "switch")):
        for way, wanted, said in (("_exit_0", {1}, r"ended by _exit\(0\)"),
                                  ("kill", {9, 255}, "was killed by signal 9")):
            job = remote.start("./pe_early_end", way, where=where)
            out = job.communicate()[0]
            check(job.returncode in wanted and
                  re.search(rf"^oshrun: pe 1 \({host}\): its process \d+ {said}", out, re.M),
                  f"{way}, {where}: status {job.returncode}, expected {wanted} and a line: {out}")
        out = remote.run(f"finalize, {where}", 0, "./pe_early_end", "finalize", where=where)
        check(out.count("is done") == 2 and "oshrun:" not in out, f"finalize, {where}: {out}")


def slow(remote):
    late = ["sh", "-c", '[ $PMI_RANK = 0 ] || sleep 90; exec "$@"', "sh", "./pe_rules_query"]
    host = remote.write("late", '#!/bin/sh\n[ "$2" = h0 ] || sleep 65\nexec ssh "$@"\n', 0o755)
    oshrun = [os.path.join(remote.bin, "oshrun"), "-n", "2"]
    jobs = {"two hosts": remote.start(*late), "late host": remote.start("-launcher-exec", host, "true")}
    for what in ("node", "gdb") if shutil.which("gdb") else ("node",):
        words = ["--gdb"] if what == "gdb" else []
        jobs[what] = subprocess.Popen([*oshrun, *words, *late], cwd=remote.bin, text=True,
                                      stdin=remote.stdin[0], stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT)
    for what, job in jobs.items():
        out = remote.end(job, what, 0, None)
        text = "oshrun: host h1 has not started within 60 s" if what == "late host" else \
            "shmem_init has waited for 60 s.*; its hosts are h0:1,h1:1(.|\n)*on other hosts, or ended: PE 1" \
            if what == "two hosts" else "shmem_init has waited for 60 s(.|\n)*missing in shmem_init: PE 1 "
        check(re.search(text, out), f"{what}: no line matches {text}: {out}")


def main():
    groups = {"quick": quick, "fail": fail, "run": run, "slow": slow, "ends": ends}
    if len(sys.argv) != 3 or sys.argv[1] not in groups:
        sys.exit(__doc__)
    if hosts.INSIDE not in os.environ:
        if os.geteuid() != 0:
            hosts.skip("sshd needs root")
        os.environ["PATH"] += ":/usr/sbin:/sbin"
        hosts.go_inside(__file__, ("mpiexec.hydra", "ssh", "sshd", "ssh-keygen"))
    groups[sys.argv[1]](Remote(os.path.abspath(sys.argv[2])))
    print(f"{len(wrong)} faults")
    sys.stdout.flush()
    os._exit(1 if wrong else 0)


main()
