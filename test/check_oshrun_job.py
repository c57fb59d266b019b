#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check that oshrun, which is the parent of its launcher, behaves as the launcher alone would.

usage: check_oshrun_job.py OSHRUN

Exit status, signals, what is typed, Ctrl-C, Ctrl-Z, a closed standard input; with a launcher that is
a script, and, where it is installed, with mpiexec.hydra and PEs, none of which may be left behind.
"""
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

LAUNCHER = """#!{python}
import os, signal, sys, time
def said(*words):
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())
def told(signo, frame):
    said("got", signal.Signals(signo).name)
    if signo == signal.SIGINT:
        os._exit(7)
for name in ("INT", "USR1", "HUP"):
    signal.signal(getattr(signal, "SIG" + name), told)
what = sys.argv[3]
said("pid", os.getpid())
if what == "stdin":
    try:
        said("stdin", os.fstat(0).st_ino)
    except OSError:
        said("stdin closed")
elif what == "exit":
    sys.exit(int(sys.argv[4]))
elif what == "signal":
    os.kill(os.getpid(), int(sys.argv[4]))
elif what == "read":
    for line in sys.stdin:
        said("read", line.strip())
    said("end")
elif what == "frames":
    path = os.environ["OSHRUN_FRAMES"].partition(":")[0]
    os.write(os.open(path, os.O_WRONLY | os.O_APPEND), b"3 10 /nothing\\nrubbish\\n-1 x\\n\\n")
    sys.exit(5)
elif what == "tty":
    said("tty", open("/dev/tty").readline().strip())
elif what == "wait":
    while True:
        time.sleep(10)
"""
PATIENCE_S = 20
wrong = []


def check(good, what):
    if not good:
        wrong.append(what)


def soon(condition):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def state(pid):
    """The letter of /proc; none: it has ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
            return f.read().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def gone(pid):
    return state(pid) in ("", "Z", "X")


class Terminal:
    """A terminal whose session leader, a fork of this process, starts one job in a group of its own."""

    def __init__(self, command, env):
        self.read_fd, write_fd = os.pipe()
        self.leader, self.master = pty.fork()
        if self.leader == 0:
            self.lead(command, env, write_fd)
        os.close(write_fd)
        self.said = ""
        self.job = int(self.told().split()[1])

    def lead(self, command, env, out):
        """As a shell: the job is in front, and each stop of it and its end are told."""
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        signal.signal(signal.SIGUSR1, lambda *_: os.tcsetpgrp(0, os.getpgrp()))
        signal.signal(signal.SIGUSR2, lambda *_: os.tcsetpgrp(0, job))
        job = os.fork()
        if job == 0:
            os.setpgid(0, 0)
            os.tcsetpgrp(0, os.getpid())
            for signo in (signal.SIGTTOU, signal.SIGUSR1, signal.SIGUSR2):
                signal.signal(signo, signal.SIG_DFL)
            os.execvpe(command[0], command, env)
        os.write(out, f"job {job}\n".encode())
        while True:
            status = os.waitpid(job, os.WUNTRACED)[1]
            if os.WIFSTOPPED(status):
                os.tcsetpgrp(0, os.getpgrp())
                os.write(out, f"stopped {os.WSTOPSIG(status)}\n".encode())
            else:
                os.write(out, f"ended {os.waitstatus_to_exitcode(status)}\n".encode())
                time.sleep(PATIENCE_S)

    def told(self):
        if not select.select([self.read_fd], [], [], PATIENCE_S)[0]:
            return "nothing"
        return os.read(self.read_fd, 100).decode().strip()

    def type(self, text):
        os.write(self.master, text)

    def says(self, text):
        """Does the job say so in time? What stood before is forgotten."""
        end = time.monotonic() + PATIENCE_S
        while text not in self.said:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.master], [], [], left)[0]:
                return False
            try:
                self.said += os.read(self.master, 4096).decode()
            except OSError:
                return False
        self.said = self.said.partition(text)[2]
        return True

    def put_in_front(self, front):
        os.kill(self.leader, signal.SIGUSR2 if front else signal.SIGUSR1)
        return soon(lambda: (os.tcgetpgrp(self.master) == self.job) == front)

    def close(self):
        for pid in (self.job, self.leader):
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        os.waitpid(self.leader, 0)
        os.close(self.master)
        os.close(self.read_fd)


class Jobs:
    def __init__(self, command, folder):
        self.command = command
        self.launcher = os.path.join(folder, "launch")
        with open(self.launcher, "w", encoding="utf-8") as f:
            f.write(LAUNCHER.replace("{python}", sys.executable))
        os.chmod(self.launcher, 0o755)
        self.env = {name: value for name, value in os.environ.items()
                    if not name.startswith(("SLURM_", "PMI", "HYDRA_", "OMPI_", "SHMEM_"))}
        self.env["SHMEM_LAUNCHER"] = self.launcher

    def words(self, *words):
        return [self.command, "-n", "1", *words]

    def start(self, *words, **how):
        how = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "text": True} | how
        return subprocess.Popen(self.words(*words), env=self.env, **how)

    def terminal(self, *words):
        return Terminal(self.words(*words), self.env)


def check_ends(jobs):
    for words, status in ((["exit", "0"], 0), (["exit", "3"], 3), (["exit", "255"], 255),
                          (["signal", "15"], -15), (["signal", "9"], -9), (["signal", "6"], -6)):
        job = jobs.start(*words)
        job.communicate(timeout=PATIENCE_S)
        check(job.returncode == status, f"{words}: status {job.returncode}")
    job = subprocess.run(jobs.words("exit", "0"), env=jobs.env | {"SHMEM_LAUNCHER": "/"},
                         capture_output=True, text=True, check=False)
    check(job.returncode in (2, 126) and "oshrun: " in job.stderr, f"no program: {job}")


def check_frames(jobs, folder):
    """A PE's frames, where there is no addr2line, and a file that has none."""
    tools = os.path.join(folder, "tools")
    os.mkdir(tools)
    for name in ("sh", "dirname", "readlink"):
        os.symlink(shutil.which(name), os.path.join(tools, name))
    for path, lines in ((tools, 1), (os.environ["PATH"], 0 if shutil.which("addr2line") else 1)):
        job = subprocess.run(jobs.words("frames"), env=jobs.env | {"PATH": path}, text=True,
                             capture_output=True, check=False, timeout=PATIENCE_S)
        check(job.returncode == 5 and job.stderr.count("\n") == lines and
              ("binutils" in job.stderr) == (lines == 1), f"frames, {lines} lines: {job}")


def check_signals(jobs):
    for name, end in (("USR1", None), ("HUP", None), ("INT", 7), ("TERM", -15)):
        job = jobs.start("wait")
        pid = int(job.stdout.readline().split()[1])
        check(pid != job.pid, "oshrun is not the launcher's parent")
        job.send_signal(getattr(signal, "SIG" + name))
        if name != "TERM":
            said = job.stdout.readline()
            check(said == f"got SIG{name}\n", f"{name}: {said}")
        if end is None:
            check(job.poll() is None, f"{name} ended it")
            job.kill()
        check(job.wait(PATIENCE_S) == (end or -9), f"{name}: status {job.returncode}")
        if not soon(lambda: gone(pid)):
            check(False, f"{name}: the launcher is left")
            os.kill(pid, signal.SIGKILL)
        job.stdout.close()
    job = jobs.start("wait")
    pid = int(job.stdout.readline().split()[1])
    os.kill(pid, signal.SIGSTOP)
    check(soon(lambda: state(job.pid) == "T"), "a stopped launcher: oshrun is not stopped")
    job.send_signal(signal.SIGCONT)
    check(soon(lambda: state(pid) == "S"), "the launcher does not go on")
    job.kill()
    check(soon(lambda: gone(pid)), "a launcher that went on is left")
    job.stdout.close()
    job.wait()


def check_stdin(jobs, folder):
    job = jobs.start("stdin", stdin=None, preexec_fn=lambda: os.close(0))
    check("stdin closed" in job.communicate(timeout=PATIENCE_S)[0], "a closed standard input is open")
    path = os.path.join(folder, "input")
    with open(path, "w+", encoding="utf-8") as f:
        job = jobs.start("stdin", stdin=f)
        check(f"stdin {os.stat(path).st_ino}\n" in job.communicate()[0], "not the same file")
    job = jobs.start("read", stdin=subprocess.PIPE)
    check("read one\nread two\nend\n" in job.communicate("one\ntwo\n", PATIENCE_S)[0], "a pipe")


def check_terminal(jobs):
    term = jobs.terminal("read")
    check(term.says("pid"), "terminal: does not start")
    term.type(b"one\n")
    check(term.says("read one"), "terminal: what is typed does not arrive")
    check(term.put_in_front(False), "terminal: not behind")
    time.sleep(0.1)
    check(state(term.job) == "S", "terminal: stopped behind")
    check(term.put_in_front(True), "terminal: not in front")
    term.type(b"two\n")
    check(term.says("read two"), "terminal: not in front again")
    term.type(b"\x04")
    check(term.says("end") and term.told() == "ended 0", "terminal: Ctrl-D does not end it")
    term.close()

    term = jobs.terminal("wait")
    check(term.says("pid "), "Ctrl-C: does not start")
    term.type(b"\x03")
    check(term.says("got SIGINT") and term.told() == "ended 7", "Ctrl-C does not arrive")
    check("got" not in term.said, "Ctrl-C arrives twice")
    term.close()

    term = jobs.terminal("tty")
    check(term.says("pid "), "/dev/tty: does not start")
    time.sleep(0.2)
    term.type(b"secret\n")
    check(term.says("tty secret") and term.told() == "ended 0", "/dev/tty cannot be read")
    check(soon(lambda: os.tcgetpgrp(term.master) == term.job), "/dev/tty: the terminal is lost")
    term.close()


def check_stop(jobs):
    term = jobs.terminal("wait")
    check(term.says("pid ") and (soon(lambda: "\n" in term.said) or term.says("\n")), "Ctrl-Z: start")
    launcher = int(open(f"/proc/{term.job}/task/{term.job}/children", encoding="utf-8").read())
    term.type(b"\x1a")
    check(term.told() == f"stopped {int(signal.SIGTSTP)}", "Ctrl-Z does not stop oshrun")
    check(state(launcher) == "T" and state(term.job) == "T", "Ctrl-Z: the launcher goes on")
    check(term.put_in_front(True), "Ctrl-Z: not in front")
    os.kill(-term.job, signal.SIGCONT)
    check(soon(lambda: state(launcher) == "S"), "fg: the launcher does not go on")
    term.type(b"\x03")
    check(term.says("got SIGINT") and term.told() == "ended 7", "fg: Ctrl-C does not arrive")
    term.close()


def descends(pid, ancestor):
    while pid > 1 and pid != ancestor:
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
                pid = int(f.read().rpartition(")")[2].split()[1])
        except OSError:
            return False
    return pid == ancestor


def children(mark, ancestor):
    """PEs below a process, which sleep for so long."""
    found = []
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                words = f.read().split(b"\0")
        except OSError:
            continue
        if words[:2] == [b"sleep", mark.encode()] and descends(pid, ancestor):
            found.append(pid)
    return found


def check_hydra(jobs):
    """Sixteen PEs: input arrives, and nothing is left of a job whose oshrun is killed."""
    command = [jobs.command, "-n", "16", "sh", "-c",
               'if [ "$PMI_RANK" = 0 ]; then read line; echo "read $line"; fi; exec sleep "$1"', "sh"]
    env = jobs.env | {"SHMEM_LAUNCHER": "mpiexec.hydra"}
    for signo in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
        mark = f"60.{os.getpid()}" # seconds, as nobody else sleeps
        job = subprocess.Popen([*command, mark], env=env, stdin=subprocess.PIPE, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        job.stdin.write("it\n")
        job.stdin.flush()
        check(job.stdout.readline() == "read it\n", "hydra: input does not arrive")
        check(soon(lambda: len(children(mark, job.pid)) == 16), "hydra: not 16 PEs")
        pids = children(mark, job.pid)
        job.send_signal(signo)
        job.wait(PATIENCE_S)
        check(soon(lambda: all(gone(pid) for pid in pids)), f"hydra: PEs left by {signo}: {pids}")
        job.stdin.close()
        job.stdout.close()


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        jobs = Jobs(os.path.abspath(sys.argv[1]), folder)
        check_ends(jobs)
        check_frames(jobs, folder)
        check_signals(jobs)
        check_stdin(jobs, folder)
        check_terminal(jobs)
        check_stop(jobs)
        if shutil.which("mpiexec.hydra"):
            check_hydra(jobs)
        else:
            print("mpiexec.hydra is not installed: left out")
    print("\n".join(wrong + [f"{len(wrong)} faults"]))
    sys.exit(1 if wrong else 0)


main()
