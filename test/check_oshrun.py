#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check how oshrun translates options, row by row of the table in docs/design/launch.md.

usage: check_oshrun.py OSHRUN SOURCE

Fake launchers, which print their arguments, stand for hydra, srun and mpirun. If hydra and Open
MPI's mpirun are installed, they must also accept their options; srun itself is never run. With
hydra, --gdb and --valgrind are tried if these tools are installed.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

KINDS = {"hydra": "mpiexec.hydra", "srun": "srun", "mpirun": "mpirun.openmpi"}
FAKE = """#!/bin/sh
for word do echo "[$word]"; done
echo "A=${OSHRUN_A-}"
echo "timeout=${MPIEXEC_TIMEOUT-}"
"""
FAULT = "int main(int argc, char **argv) { return argc > 1 ? 5 : *(volatile int *)argv[1]; }\n"
wrong = []


def check(good, what):
    if not good:
        wrong.append(what)


def rows(source):
    """The table: lists of four cells, without their quotes."""
    with open(os.path.join(source, "docs", "design", "launch.md"), encoding="utf-8") as f:
        text = f.read().partition("| oshrun | hydra | srun | mpirun |")[2]
    lines = text.partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in lines]


class Oshrun:
    def __init__(self, command, folder):
        self.command, self.folder = command, folder
        self.env = {name: value for name, value in os.environ.items()
                    if not name.startswith(("SLURM_", "PMI", "HYDRA_", "OMPI_", "SHMEM_"))}
        self.env["PATH"] = os.path.join(folder, "bin") + ":" + self.env["PATH"]

    def run(self, launcher, *words, closed=None, **env):
        """Status and output, both kinds, of a job that gets an empty standard input without an end.
        The descriptor closed is closed in the job."""
        read, write = os.pipe()
        result = subprocess.run([self.command, *words], env=self.env | env | (
            {"SHMEM_LAUNCHER": launcher} if launcher else {}), cwd=self.folder, text=True,
            stdin=read, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=60,
            preexec_fn=lambda: closed and os.close(closed))
        os.close(read)
        os.close(write)
        return result.returncode, result.stdout


def play_launchers(folder):
    paths = {}
    os.mkdir(os.path.join(folder, "bin"))
    os.symlink(shutil.which("true"), os.path.join(folder, "bin", "prog"))
    for kind, name in KINDS.items():
        paths[kind] = os.path.join(folder, name)
        with open(paths[kind], "w", encoding="utf-8") as f:
            f.write(FAKE)
        os.chmod(paths[kind], 0o755)
    return paths


def check_rows(oshrun, table, fakes):
    quiet = {"SLURM_KILL_BAD_EXIT": "0"}
    for option, *cells in table:
        for kind, cell in zip(KINDS, cells):
            counted = re.match(r"-np? ?\d", option)
            words = option.split() + ([] if counted else ["-n", "3"])
            status, out = oshrun.run(fakes[kind], *words, "prog", "-x", "a b", **quiet)
            want = [] if cell == "nothing" else cell.split()
            want += ([] if counted else ["-n", "3"]) + ["prog", "-x", "a b"]
            if cell == "error":
                check(status == 2 and out.startswith("oshrun: ") and out.count("\n") == 1,
                      f"{kind}: {option}: expected status 2 and one line of oshrun, got {status}: "
                      f"{out}")
                continue
            got = re.findall(r"^\[(.*)\]$", out, re.M)
            if kind == "hydra" and "-launcher-exec" in got: # in each job: see hosts.ssh
                at = got.index("-launcher-exec")
                check(got.pop(at + 1).endswith("/steppe/oshrun-remote-shell"),
                      f"{kind}: {option}: the remote shell is {out}, expected oshrun's")
                del got[at]
            check(status == 0 and got == want,
                  f"{kind}: {option}: the launcher got {out}, expected {want}")
            carried = kind == "hydra" and "env" in option
            check("OSHRUN_A" not in option or carried or "\nA=b\n" in out,
                  f"{kind}: {option}: the variable OSHRUN_A does not reach the launcher: {out}")


def check_rest(oshrun, fakes):
    """What is no row: raw words, srun's --kill-on-bad-exit, launchers of other names."""
    _, out = oshrun.run(fakes["srun"], "-n", "2", "--", "--moon", "prog")
    check("[--moon]\n[prog]" in out and "[--kill-on-bad-exit=1]" in out,
          f"srun --: expected --moon before prog and --kill-on-bad-exit=1: {out}")
    _, out = oshrun.run(fakes["srun"], "-n", "2", "-K0", "prog")
    check("--kill" not in out and "[-K0]" in out,
          f"srun -K0: expected -K0 and no --kill-on-bad-exit: {out}")
    other = shutil.copy(fakes["srun"], os.path.join(oshrun.folder, "launch"))
    _, out = oshrun.run(other + " --own", "-np", "2", "--moon", "-x", "prog")
    check(out.startswith("[--own]\n[-n]\n[2]\n[--moon]\n[-x]\n[prog]\n"),
          f"a launcher of another name: the arguments must be unchanged: {out}")
    _, out = oshrun.run(fakes["hydra"], "-n", "2", "--timeout", "60", "prog")
    check("\ntimeout=60\n" in out, f"hydra --timeout: the launcher does not get the limit: {out}")
    for words in (["-c", "4"], ["--mca", "a", "b"], ["--export=NONE"], ["--cpu-bind=map_cpu:0"]):
        out = oshrun.run(fakes["hydra"], "-n", "2", *words, "prog")[1]
        check(out.startswith(f"oshrun: {words[0]}: {fakes['hydra']} has no option that does the same"),
              f"{words}: the line does not say that hydra has no such option: {out}")
    for words in (["-h"], ["-V"], ["--help"], ["--version"]):
        status, out = oshrun.run(fakes["srun"], *words)
        check(status == 0 and "Steppe" in out,
              f"{words}: expected status 0 and the name Steppe, got {status}: {out}")
    out = oshrun.run(fakes["srun"], "-n", "2", "--output-filename", "o", "prog")[1]
    check("[--output=o/rank.%t.out]" in out,
          f"srun --output-filename: expected --output=o/rank.%t.out: {out}")
    for words in (["-np", "2", "-n3", "prog"], ["-n", "2", "--gdb=", "prog"], ["--status", "1", "2"],
                  ["--status="], ["--status", "x"], ["--timeout", "1m"],
                  ["-n", "2", "--timeout", "0", "prog"], ["-n", "2", "--timeout", "010", "prog"]):
        status, out = oshrun.run(fakes["hydra"], *words)
        check(status == 2 and out.startswith("oshrun: ") and out.count("\n") == 1,
              f"{words}: expected status 2 and one line, got {status}: {out}")


def check_parts(oshrun, fakes):
    """Options after ":" are translated, or refused if they hold for all parts."""
    first = ["-wdir", "/", "-n", "1", "prog", "it's\n", ":"]
    for words, wants in (
            (["-np", "2", "prog", "x"], ["-n 2 prog x"] * 3),
            (["-x", "A=b c", "-n2", "prog"], ["-env A b c -n 2 prog", None, "-x A=b c -n 2 prog"]),
            (["-env=A=b", "-n", "2", "prog"], ["-env A b -n 2 prog", None, "-x A=b -n 2 prog"]),
            (["-n", "1", "prog", ":", "--wdir=.", "prog"],
             [f"-n 1 prog : {word} prog" for word in ("-wdir .", "--chdir=.", "-wdir .")]),
            (["-host", "h:2", "-n", "2", "prog"], [None, "--nodelist=h -n 2 prog", "--host h:2 -n 2 prog"]),
            (["-N", "1", "prog"], [None, "--ntasks-per-node=1 prog", "-N 1 prog"]),
            (["--output-filename", "o", "prog"], [None] * 3), (["--gdb", "prog"], [None] * 3),
            (["--timeout", "9", "prog"], [None] * 3), (["-l", "prog"], [None, "--label prog", "--tag-output prog"])):
        for kind, want in zip(KINDS, wants):
            status, out = oshrun.run(fakes[kind], *first, *words)
            if want is None:
                text = f"oshrun: {words[0]}: this option must come before the first program\n"
                check(status == 2 and out == text,
                      f"{kind}: {words} after ':': expected status 2 and {text}, got {status}: {out}")
            else:
                got = " ".join(re.findall(r"^\[(.*?)\]$", out, re.M | re.S))
                check(status == 0 and got.endswith("-n 1 prog it's\n : " + want),
                      f"{kind}: {words} after ':': expected {want}, got status {status}: {out}")
    out = oshrun.run(fakes["hydra"], "-n", "1", "--output-filename", "o", "prog", ":", "prog")[1]
    check(out.count("[o]") == 2, f"--output-filename must hold for each part: {out}")


def check_hosts(oshrun, fakes):
    """Hosts that hydra does not understand, or would print several lines about."""
    files = {"hosts.cpu": "localhost\nlocalhost cpu=2\n", "hosts.zero": "localhost slots=0\n",
             "hosts.no": "localhost:0 # none\n", "hosts.one": "\n localhost:1 binding=user:0 user=me\t\n"}
    for name, data in files.items():
        with open(os.path.join(oshrun.folder, name), "w", encoding="utf-8") as f:
            f.write(data)
    os.mkfifo(os.path.join(oshrun.folder, "hosts.pipe"))
    form = "must be HOST or HOST:N, where N is a number of PEs from 1 to 9999999"
    again = "an earlier option has set the hosts"
    for words, text in (
            (["-host", "localhost:0"], f'-host: "localhost:0" {form}'),
            (["-hosts=a,localhost:abc"], f'-hosts=a,localhost:abc: "localhost:abc" {form}'),
            (["-H", "a,-V"], f'-H: "-V" {form}'), (["-H", "a:2:3"], f'-H: "a:2:3" {form}'), (["-H", "a:02"], f'-H: "a:02" {form}'),
            (["-hostfile", "hosts.cpu"], f'-hostfile hosts.cpu: "localhost cpu=2" {form}'),
            (["-hostfile", "hosts.zero"], f'-hostfile hosts.zero: "localhost:0" {form}'),
            (["-f", "hosts.no"], f'-f hosts.no: "localhost:0" {form}'),
            (["-f", "hosts.one", "-hostfile", "hosts.one"], f"-hostfile hosts.one: {again}"),
            (["-f", "hosts.one", "-host", "localhost"], f"-host localhost: {again}"),
            (["-host", "a", "-host", "b"], f"-host b: {again}"),
            (["-f", "hosts.pipe"], "-f hosts.pipe: this is a pipe, but oshrun needs a file"),
            (["HYDRA_HOST_FILE=nosuch"], "HYDRA_HOST_FILE nosuch: this file cannot be read"),
            (["HYDRA_HOST_FILE=hosts.cpu"], f'HYDRA_HOST_FILE hosts.cpu: "localhost cpu=2" {form}')):
        env = dict(word.split("=") for word in words if "HYDRA" in word)
        status, out = oshrun.run(fakes["hydra"], "-n", "2", *([] if env else words), "prog", **env)
        check(status == 2 and out == f"oshrun: {text}\n",
              f"{words}: expected status 2 and the line {text}, got {status}: {out}")
    for words, value, want in (([], "hosts.one", "[-f]\n[hosts.one]\n"),
                               ([], "hosts.ompi", "[-hosts]\n[localhost:2,127.0.0.1:1,localhost]\n"),
                               (["-host", "b"], "", "[-hosts]\n[b]\n"), ([], "", "[prog]\n"),
                               (["-host", "b"], "nosuch", "[-hosts]\n[b]\n")):
        status, out = oshrun.run(fakes["hydra"], "-n", "2", *words, "prog", HYDRA_HOST_FILE=value)
        check(status == 0 and want in out,
              f"{words}, HYDRA_HOST_FILE={value}: expected {want}, got status {status}: {out}")


def check_remote_shell(oshrun, fake):
    """The remote shell is not replaced for launchers of batch systems, and the user's is kept."""
    slurm = {"SLURM_JOB_ID": "1", "SHMEM_LAUNCHER": fake}
    for words, env, want in (
            (["prog"], {}, "oshrun-remote-shell"), (["-launcher", "rsh", "prog"], {}, "oshrun-remote-shell"),
            (["-launcher", "fork", "prog"], {}, None), (["-rmk", "lsf", "prog"], {}, None),
            (["prog"], {"HYDRA_LAUNCHER": "sge"}, None), (["prog"], slurm, None),
            (["-launcher", "ssh", "prog"], slurm, "oshrun-remote-shell"),
            (["-launcher", "slurm", "-launcher-exec", "mine", "prog"], {}, "mine"),
            (["--", "-launcher-exec", "mine", "prog"], {"HYDRA_LAUNCHER_EXEC": "x"}, "mine"),
            (["--", "prog"], {}, "oshrun-remote-shell")):
        status, out = oshrun.run(fake, "-n", "2", *words, **env)
        got = re.findall(r"^\[-launcher-exec\]\n\[(?:.*/)?(.*)\]$", out, re.M)
        check(status == 0 and got == ([want] if want else []),
              f"{words} {env}: expected the remote shell {want}, got status {status}: {out}")


def check_program(oshrun, folder):
    """Programs and folders that do not exist: one line, before the launcher starts."""
    files = {"plain": b"text", "bin/script": b"#!/bin/sh\n# no liboshmem.so\nexec \"$@\"\n", "bin/ompi": b"\x7fELF liboshmem.so.40", "bin/both": b"#!/bin/sh\n# liboshmem.so "
             b"libsteppe.so\n", "hosts.ompi": b"# comment\nlocalhost  slots=2 max_slots=4 # two\n\n"
             b" 127.0.0.1\tslots = 1\nlocalhost\n", "bin/crlf": b"#!/usr/bin/env sh\r\necho hi\r\n",
             "bin/noshell": b"#! \t/nosuch/sh -e\n", "bin/tabbed": b"#!\t/bin/sh -e\n", "bin/bare": b"exit 0\n"}
    for name, data in files.items():
        with open(os.path.join(folder, name), "wb") as f:
            f.write(data)
        os.chmod(f.name, 0o755 if name.startswith("bin/") else 0o644)
    missing = "the program is missing: oshrun -n N [options] program [arguments]"
    for words, text in ((["./nosuch"], "./nosuch: this program does not exist"),
                        (["nosuch"], "nosuch: no folder in PATH has this program"),
                        (["plain"], "plain: no folder in PATH has this program"),
                        (["./plain"], "./plain: this file is not executable"),
                        (["./bin"], "./bin: this is a folder, not a program"),
                        (["cd"], "cd: this is a command of the shell, and no folder in PATH has a "
                                 "program of this name: use sh -c"),
                        (["bin/crlf"], "bin/crlf: the lines of this script end with CR LF: convert "
                                       "them to LF, as dos2unix does"),
                        (["noshell", "x"], "noshell: the interpreter /nosuch/sh in the first line of "
                                           "this script does not exist: correct this line"),
                        (["-host", "localhost", "./nosuch"], "./nosuch: this program does not exist"),
                        (["-wdir", "/nosuch", "prog"], "/nosuch: this folder does not exist"),
                        (["-wdir", "bin", "./plain"], "./plain: this program does not exist"),
                        (["-hostfile", "nosuch", "prog"], "-hostfile nosuch: this file cannot be read"),
                        (["-f", ".", "prog"], "-f .: this file cannot be read"),
                        (["true", ":", "-n", "1", "./nosuch", "x"], "./nosuch: this program does not exist"),
                        (["true", ":", "-n", "1", "true", ":", "-env", "A", "b", "-wdir", "bin", "-n", "1",
                          "./nosuch"], "./nosuch: this program does not exist"),
                        (["-wdir", "bin", "./both", ":", "./both"], "./both: this program does not exist"),
                        (["true", ":", "-wdir", "/nosuch", "true"], "/nosuch: this folder does not exist"),
                        (["true", ":", "-n", "1"], missing), ([":", "-n", "1", "true"], missing),
                        (["true", ":"], missing),
                        (["bin/ompi"], "bin/ompi: this program was built with the oshcc of Open MPI: "
                                       "build it with the oshcc of Steppe")):
        status, out = oshrun.run(None, "-n", "2", *words)
        check(status == 2 and out == f"oshrun: {text}\n",
              f"{words}: expected status 2 and the line {text}, got {status}: {out}")
    for words in (["bin/both"], ["-wdir", "bin", "./both"], ["echo"], ["echo", ":", "-n", "1", "echo", "a"], ["bin/script", "echo"],
                  ["tabbed"], ["bin/bare"], ["true", ":", "-wdir", "bin", "-x", "A=b", "./bare"],
                  ["echo", ":", "-n", "1", "-envlist", "PATH", "echo"],
                  ["echo", ":", "-wdir", "bin", "-n", "1", "./both"]):
        status, out = oshrun.run(None, "-n", "2", *words)
        check(status == 0, f"{words}: expected status 0, got {status}: {out}")
    out = oshrun.run(None, "-n", "1", "printenv", "A", ":", "-x", "A=b c", "-n", "1", "printenv", "A")[1]
    check(out == "b c\n", f"-x after ':': expected the value of the second PE only: {out}")
    for closed in (1, 2):
        status, out = oshrun.run(None, "-n", "2", "bin/bare", closed=closed)
        check(status == 0 and not out, f"descriptor {closed} is closed: got status {status}: {out}")
    out = oshrun.run(None, "-n", "2", "--report-bindings", "--cpu-bind", "cores", "prog")[1]
    check(out.count(" binding: ") == 2, f"--report-bindings: expected a line for each PE: {out}")


def check_slots(oshrun, fakes):
    """Open MPI's host file."""
    for kind, want in (("hydra", ["-hosts", "localhost:2,127.0.0.1:1,localhost"]),
                       ("srun", ["--nodelist=localhost,127.0.0.1,localhost"]),
                       ("mpirun", ["--hostfile", "hosts.ompi"])):
        status, out = oshrun.run(fakes[kind], "-hostfile", "hosts.ompi", "-n", "2", "prog")
        check(status == 0 and "".join(f"[{word}]\n" for word in want) in out, f"{kind}: slots=: got status {status}: {out}, expected {want}")


def check_true(oshrun, kind, table):
    """The launcher itself takes each of its words."""
    env = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    column = 1 + list(KINDS).index(kind)
    options = [row[0].split() for row in table if row[column] != "error"
               and not re.match(r"-np? ?\d", row[0]) and row[0] not in (
                   "-hostfile /dev/null", "--bind-to numa", "--map-by node")]
    if kind == "mpirun": # a quarter of a second each: all that agree at once
        drop = (["--map-by", "socket"], ["-N", "1"], ["-N1"], ["-ppn", "1"],
                ["--bind-to", "core"], ["--bind-to=socket"], ["--bind-to", "hwthread"])
        options = [[word for option in options if option not in drop for word in option]]
    for words in options:
        status, out = oshrun.run(KINDS[kind], "-n", "2", *words, "echo", "here", **env)
        check(status == 0 and out.count("here") == 2,
              f"{KINDS[kind]} {words}: expected status 0 and output of 2 PEs, got {status}: {out}")
    folder = "out." + kind
    status, out = oshrun.run(KINDS[kind], "-n", "2", "--oversubscribe", "--output-filename", folder,
                             "sh", "-c", "echo a b; echo c >&2", **env)
    for pe in range(2):
        path = os.path.join(oshrun.folder, folder, f"rank.{pe}.out")
        text = open(path, encoding="utf-8").read() if os.path.exists(path) else "none"
        check(text == "a b\nc\n",
              f"{KINDS[kind]} --output-filename: {path} has {text!r}, expected both streams: {out}")


def check_tools(oshrun):
    cc = shutil.which("cc")
    if shutil.which("gdb") and cc:
        source = os.path.join(oshrun.folder, "fault.c")
        with open(source, "w", encoding="utf-8") as f:
            f.write(FAULT)
        program = os.path.join(oshrun.folder, "fault")
        subprocess.run([cc, "-g", source, "-o", program], check=True)
        status, out = oshrun.run(None, "-n", "2", "--gdb", program)
        check(status != 0 and "stopped here:" in out and re.search(r"#0 .* main \(", out),
              f"--gdb: expected a failure and a backtrace of main, got status {status}: {out}")
        status, out = oshrun.run(None, "-n", "1", "--gdb", program, "5")
        check(status == 5, f"--gdb: expected the program's status 5, got {status}: {out}")
        status, out = oshrun.run(None, "-n", "2", "--gdb=1", "true")
        check(status == 2 and "not a terminal" in out,
              f"--gdb=1: expected status 2 and 'not a terminal', got {status}: {out}")
    if shutil.which("valgrind"):
        oshrun.run(None, "-n", "2", "--valgrind", "true")
        for pe in range(2):
            check(os.path.exists(os.path.join(oshrun.folder, f"valgrind.{pe}.log")),
                  f"--valgrind: the file valgrind.{pe}.log of PE {pe} does not exist")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    table = rows(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        oshrun = Oshrun(os.path.abspath(sys.argv[1]), folder)
        fakes = play_launchers(folder)
        check_rows(oshrun, table, fakes)
        check_rest(oshrun, fakes)
        check_remote_shell(oshrun, fakes["hydra"])
        check_parts(oshrun, fakes)
        if shutil.which(KINDS["hydra"]):
            check_program(oshrun, folder)
            check_slots(oshrun, fakes)
            check_hosts(oshrun, fakes)
        for kind in ("hydra", "mpirun"):
            if shutil.which(KINDS[kind]):
                check_true(oshrun, kind, table)
            else:
                print(f"{KINDS[kind]} is not installed: its checks are left out")
        if shutil.which(KINDS["hydra"]):
            check_tools(oshrun)
    print("\n".join(wrong + [f"{len(table)} rows of the table (at least 25 expected), "
                             f"{len(wrong)} faults"]))
    sys.exit(1 if wrong or len(table) < 25 else 0)


main()
