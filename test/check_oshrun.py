#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check how oshrun translates options, row by row of the table in docs/design/launch.md.

usage: check_oshrun.py OSHRUN SOURCE

Launchers that print their arguments stand for all three; hydra and Open MPI's mpirun are then run
with what is theirs, where they are installed, and so are gdb and valgrind.
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

    def run(self, launcher, *words, **env):
        """Status and output, both kinds, of a job that gets an empty standard input without an end."""
        read, write = os.pipe()
        result = subprocess.run([self.command, *words], env=self.env | env | (
            {"SHMEM_LAUNCHER": launcher} if launcher else {}), cwd=self.folder, text=True,
            stdin=read, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=60)
        os.close(read)
        os.close(write)
        return result.returncode, result.stdout


def play_launchers(folder):
    paths = {}
    for kind, name in KINDS.items():
        paths[kind] = os.path.join(folder, name)
        with open(paths[kind], "w", encoding="utf-8") as f:
            f.write(FAKE)
        os.chmod(paths[kind], 0o755)
    return paths


def check_rows(oshrun, table, fakes):
    quiet = {"SLURM_KILL_BAD_EXIT": "0", "SHMEM_RESOLVE": "off"}
    for option, *cells in table:
        for kind, cell in zip(KINDS, cells):
            counted = re.match(r"-np? ?\d", option)
            words = option.split() + ([] if counted else ["-n", "3"])
            status, out = oshrun.run(fakes[kind], *words, "prog", "-x", "a b", **quiet)
            want = [] if cell == "nothing" else cell.split()
            want += ([] if counted else ["-n", "3"]) + ["prog", "-x", "a b"]
            if cell == "error":
                check(status == 2 and out.startswith("oshrun: ") and out.count("\n") == 1,
                      f"{kind}: {option}: no line of oshrun's: {out}")
                continue
            got = re.findall(r"^\[(.*)\]$", out, re.M)
            check(status == 0 and got == want, f"{kind}: {option}: {out} in place of {want}")
            carried = kind == "hydra" and "env" in option
            check("OSHRUN_A" not in option or carried or "\nA=b\n" in out,
                  f"{kind}: {option}: not exported")


def check_rest(oshrun, fakes):
    """What is no row: raw words, srun's --kill-on-bad-exit, launchers of other names."""
    _, out = oshrun.run(fakes["srun"], "-n", "2", "--", "--moon", "prog")
    check("[--moon]\n[prog]" in out and "[--kill-on-bad-exit=1]" in out, f"srun --: {out}")
    _, out = oshrun.run(fakes["srun"], "-n", "2", "-K0", "prog")
    check("--kill" not in out and "[-K0]" in out, f"srun -K0: {out}")
    other = shutil.copy(fakes["srun"], os.path.join(oshrun.folder, "launch"))
    _, out = oshrun.run(other + " --own", "-np", "2", "--moon", "-x", "prog")
    check(out.startswith("[--own]\n[-n]\n[2]\n[--moon]\n[-x]\n[prog]\n"), f"launch: {out}")
    for words in (["-h"], ["-V"], ["--help"], ["--version"]):
        status, out = oshrun.run(fakes["srun"], *words)
        check(status == 0 and "Steppe" in out, f"{words}: {out}")
    out = oshrun.run(fakes["srun"], "-n", "2", "--output-filename", "o", "prog")[1]
    check("[--output=o/rank.%t.out]" in out, f"srun --output-filename: {out}")
    status, out = oshrun.run(fakes["hydra"], "-n", "2", "-hosts", "nosuch.invalid:2", "prog")
    check(status == 2 and out.startswith("oshrun: host nosuch.invalid: ") and out.count("\n") == 1,
          f"an unknown host: {out}")
    for words in (["-np", "2", "-n3", "prog"], ["-n", "2", "--gdb=", "prog"], ["--status", "1", "2"],
                  ["--status="], ["--status", "x"]):
        status, out = oshrun.run(fakes["hydra"], *words)
        check(status == 2 and out.startswith("oshrun: ") and out.count("\n") == 1, f"{words}: {out}")
    status, out = oshrun.run(fakes["hydra"], "-n", "2", "-hosts", "localhost,127.0.0.1", "prog")
    check(status == 0, f"known hosts: {out}")


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
        check(status == 0 and out.count("here") == 2, f"{KINDS[kind]} {words}: {out}")
    folder = "out." + kind
    status, out = oshrun.run(KINDS[kind], "-n", "2", "--oversubscribe", "--output-filename", folder,
                             "sh", "-c", "echo a b; echo c >&2", **env)
    for pe in range(2):
        path = os.path.join(oshrun.folder, folder, f"rank.{pe}.out")
        text = open(path, encoding="utf-8").read() if os.path.exists(path) else "none"
        check(text == "a b\nc\n", f"{KINDS[kind]} --output-filename: {path}: {text} {out}")


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
              f"--gdb: {status}: {out}")
        status, out = oshrun.run(None, "-n", "1", "--gdb", program, "5")
        check(status == 5, f"--gdb loses a status: {status}: {out}")
        status, out = oshrun.run(None, "-n", "2", "--gdb=1", "true")
        check(status == 2 and "not a terminal" in out, f"--gdb=1: {out}")
    if shutil.which("valgrind"):
        oshrun.run(None, "-n", "2", "--valgrind", "true")
        for pe in range(2):
            check(os.path.exists(os.path.join(oshrun.folder, f"valgrind.{pe}.log")),
                  f"--valgrind: no log of PE {pe}")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    table = rows(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        oshrun = Oshrun(os.path.abspath(sys.argv[1]), folder)
        fakes = play_launchers(folder)
        check_rows(oshrun, table, fakes)
        check_rest(oshrun, fakes)
        for kind in ("hydra", "mpirun"):
            if shutil.which(KINDS[kind]):
                check_true(oshrun, kind, table)
            else:
                print(f"{KINDS[kind]} is not installed: left out")
        if shutil.which(KINDS["hydra"]):
            check_tools(oshrun)
    print("\n".join(wrong + [f"{len(table)} rows, {len(wrong)} faults"]))
    sys.exit(1 if wrong or len(table) < 25 else 0)


main()
