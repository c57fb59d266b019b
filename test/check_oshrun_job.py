#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check that oshrun, which is the parent of its launcher, behaves as the launcher alone would.

usage: check_oshrun_job.py OSHRUN

Checks exit status, signals, typed input, Ctrl-C, Ctrl-Z and a closed standard input, with a
script as the launcher. If mpiexec.hydra is installed, the script also starts 16 PEs and checks
that none is left when oshrun ends.
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
    os.write(os.open(path, os.O_WRONLY | os.O_APPEND),
             b"3 10 - /nothing\\nrubbish\\n-1 x\\n3 10 /nothing\\n3 10\\n\\n")
    sys.exit(5)
elif what == "crash":
    path = os.environ["OSHRUN_FRAMES"].partition(":")[0]
    os.write(os.open(path, os.O_WRONLY | os.O_APPEND), sys.argv[4].encode())
    sys.exit(6)
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
        check(job.returncode == status,
              f"launcher {words}: oshrun has status {job.returncode}, expected {status}")
    job = subprocess.run(jobs.words("exit", "0"), env=jobs.env | {"SHMEM_LAUNCHER": "/"},
                         capture_output=True, text=True, check=False)
    check(job.returncode in (2, 126) and "oshrun: " in job.stderr,
          f"a launcher that cannot be executed: expected status 2 or 126 and a message: {job}")


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
              ("binutils" in job.stderr) == (lines == 1), f"frames: expected status 5 and {lines} "
                                                          f"lines on stderr: {job}")


def function_of(path):
    """An address inside of the first function of a file, and its line by addr2line, or None."""
    for line in subprocess.run(["nm", "--defined-only", path], capture_output=True, text=True,
                               check=False).stdout.splitlines():
        if " T " in line or " t main" in line:
            addr = hex(int(line.split()[0], 16) + 1)[2:]
            known = subprocess.run(["addr2line", "-Cfp", "-e", path, addr], capture_output=True,
                                   text=True, check=False).stdout.strip()
            if ":?" not in known and " at " in known:
                return addr, known
    return None


def check_lines(jobs):
    """Frames in several files get their source lines; a frame that calls a routine names it."""
    lib = os.path.join(os.path.dirname(jobs.command), os.pardir, "lib")
    paths = [os.path.realpath(os.path.join(lib, name))
             for name in ("steppe/oshrun-supervisor", "libsteppe.so", "steppe/ofi.so")]
    found = [(path, function_of(path)) for path in paths if os.path.exists(path)]
    if shutil.which("addr2line") is None or None in [function for _, function in found]:
        print("there is no addr2line or no debugging data: source lines of frames are left out")
        return
    routines = ["shmem_long_put"] + ["-"] * (len(found) - 1)
    text = "".join(f"3 {function[0]} {routine} {path}\n"
                   for (path, function), routine in zip(found, routines))
    job = subprocess.run(jobs.words("crash", text), env=jobs.env, text=True, capture_output=True,
                         check=False, timeout=PATIENCE_S)
    check(job.returncode == 6, f"frames of several files: expected status 6: {job}")
    for i, ((_, function), routine) in enumerate(zip(found, routines)):
        calls = "" if routine == "-" else f", calls {routine}"
        check(f"oshrun:   #{i} {function[1]}{calls}\n" in job.stderr,
              f"frame {i} must have the text '{function[1]}{calls}': {job.stderr}")


def check_signals(jobs):
    for name, end in (("USR1", None), ("HUP", None), ("INT", 7), ("TERM", -15)):
        job = jobs.start("wait")
        pid = int(job.stdout.readline().split()[1])
        check(pid != job.pid, "oshrun executed the launcher instead of starting it as a child")
        job.send_signal(getattr(signal, "SIG" + name))
        if name != "TERM":
            said = job.stdout.readline()
            check(said == f"got SIG{name}\n",
                  f"SIG{name}: the launcher did not get the signal; it printed {said!r}")
        if end is None:
            check(job.poll() is None, f"SIG{name} ended oshrun, status {job.returncode}")
            job.kill()
        check(job.wait(PATIENCE_S) == (end or -9),
              f"SIG{name}: oshrun has status {job.returncode}, expected {end or -9}")
        if not soon(lambda: gone(pid)):
            check(False, f"SIG{name}: the launcher lives after oshrun has ended")
            os.kill(pid, signal.SIGKILL)
        job.stdout.close()
    job = jobs.start("wait")
    pid = int(job.stdout.readline().split()[1])
    os.kill(pid, signal.SIGSTOP)
    check(soon(lambda: state(job.pid) == "T"), "the launcher is stopped, but oshrun does not stop")
    job.send_signal(signal.SIGCONT)
    check(soon(lambda: state(pid) == "S"), "oshrun got SIGCONT, but the launcher stays stopped")
    job.kill()
    check(soon(lambda: gone(pid)), "oshrun was killed, but its launcher lives")
    job.stdout.close()
    job.wait()


def check_stdin(jobs, folder):
    job = jobs.start("stdin", stdin=None, preexec_fn=lambda: os.close(0))
    check("stdin closed" in job.communicate(timeout=PATIENCE_S)[0],
          "oshrun has a closed standard input, but the launcher's is open")
    path = os.path.join(folder, "input")
    with open(path, "w+", encoding="utf-8") as f:
        job = jobs.start("stdin", stdin=f)
        check(f"stdin {os.stat(path).st_ino}\n" in job.communicate()[0],
              "the launcher's standard input is another file than oshrun's")
    job = jobs.start("read", stdin=subprocess.PIPE)
    check("read one\nread two\nend\n" in job.communicate("one\ntwo\n", PATIENCE_S)[0],
          "the launcher does not read all lines of a pipe, and its end")


def check_terminal(jobs):
    term = jobs.terminal("read")
    check(term.says("pid"), "terminal: the launcher does not start")
    term.type(b"one\n")
    check(term.says("read one"), "terminal: typed input does not reach the launcher")
    check(term.put_in_front(False), "terminal: oshrun cannot be put in the background")
    time.sleep(0.1)
    check(state(term.job) == "S",
          "terminal: oshrun must sleep in the background, but is stopped or gone")
    check(term.put_in_front(True), "terminal: oshrun cannot be put in the foreground")
    term.type(b"two\n")
    check(term.says("read two"), "terminal: in the foreground again, typed input does not arrive")
    term.type(b"\x04")
    check(term.says("end") and term.told() == "ended 0",
          "terminal: Ctrl-D does not end the launcher's input and the job")
    term.close()

    term = jobs.terminal("wait")
    check(term.says("pid "), "Ctrl-C: the launcher does not start")
    term.type(b"\x03")
    check(term.says("got SIGINT") and term.told() == "ended 7",
          "Ctrl-C: the launcher gets no SIGINT, or oshrun does not end with 7")
    check("got" not in term.said, "Ctrl-C: the launcher gets SIGINT twice")
    term.close()

    term = jobs.terminal("tty")
    check(term.says("pid "), "/dev/tty: the launcher does not start")
    time.sleep(0.2)
    term.type(b"secret\n")
    check(term.says("tty secret") and term.told() == "ended 0",
          "/dev/tty: the launcher cannot read from the terminal")
    check(soon(lambda: os.tcgetpgrp(term.master) == term.job),
          "/dev/tty: oshrun does not get the terminal back")
    term.close()


def check_stop(jobs):
    term = jobs.terminal("wait")
    check(term.says("pid ") and (soon(lambda: "\n" in term.said) or term.says("\n")),
          "Ctrl-Z: the launcher does not start")
    launcher = int(open(f"/proc/{term.job}/task/{term.job}/children", encoding="utf-8").read())
    term.type(b"\x1a")
    check(term.told() == f"stopped {int(signal.SIGTSTP)}", "Ctrl-Z does not stop oshrun")
    check(state(launcher) == "T" and state(term.job) == "T",
          "Ctrl-Z: oshrun or its launcher is not stopped")
    check(term.put_in_front(True), "Ctrl-Z: oshrun cannot be put in the foreground")
    os.kill(-term.job, signal.SIGCONT)
    check(soon(lambda: state(launcher) == "S"), "fg: the launcher does not continue")
    term.type(b"\x03")
    check(term.says("got SIGINT") and term.told() == "ended 7",
          "fg: after Ctrl-C the launcher gets no SIGINT, or oshrun does not end with 7")
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
        check(job.stdout.readline() == "read it\n", "hydra: standard input does not reach PE 0")
        check(soon(lambda: len(children(mark, job.pid)) == 16),
              "hydra: the job does not have 16 PEs")
        pids = children(mark, job.pid)
        job.send_signal(signo)
        job.wait(PATIENCE_S)
        check(soon(lambda: all(gone(pid) for pid in pids)),
              f"hydra: signal {signo} ended oshrun, but some of its PEs live: {pids}")
        job.stdin.close()
        job.stdout.close()


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        jobs = Jobs(os.path.abspath(sys.argv[1]), folder)
        check_ends(jobs)
        check_frames(jobs, folder)
        check_lines(jobs)
        check_signals(jobs)
        check_stdin(jobs, folder)
        check_terminal(jobs)
        check_stop(jobs)
        if shutil.which("mpiexec.hydra"):
            check_hydra(jobs)
        else:
            print("mpiexec.hydra is not installed: its checks are left out")
    print("\n".join(wrong + [f"{len(wrong)} faults"]))
    sys.exit(1 if wrong else 0)


main()
