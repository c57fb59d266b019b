#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check scripts/endurance.sh: what it keeps, where it goes on, failures, hangs, being stopped.

usage: check_endurance.py <source folder> <build folder>

The real programs run for a second; programs that fail, hang or never end are played by shell
scripts in a build folder of their own.
"""
import os
import signal
import subprocess
import sys
import tempfile
import time

SOURCE, BUILD = sys.argv[1:3]
SCRIPT = os.path.join(SOURCE, "scripts", "endurance.sh")
failures = []


def check(ok, text):
    if not ok:
        failures.append(text)


def call(*args, env=None):
    done = subprocess.run([SCRIPT, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=100, env=dict(os.environ, **(env or {})), check=False)
    return done.returncode, done.stdout + done.stderr


def rows(results):
    """The runs that a file of results has, as lists of cells."""
    with open(results, encoding="utf-8") as kept:
        cells = [[cell.strip() for cell in line.strip("|\n ").split("|")] for line in kept]
    return [each for each in cells if len(each) == 10 and each[0] in ("node", "tcp", "shm", "net")]


def sums(results):
    with open(results, encoding="utf-8") as kept:
        cells = [[cell.strip() for cell in line.strip("|\n ").split("|")] for line in kept]
    return {each[0]: each[1:] for each in cells if len(each) == 7 and each[0] in ("node", "tcp")}


def play(folder, name, text):
    """A program of the played build folder. What starts it is a shell that waits for it."""
    path = os.path.join(folder, "bin", name)
    with open(path, "w", encoding="utf-8") as out:
        out.write("#!/bin/sh\n" + text)
    os.chmod(path, 0o755)


def played(where):
    folder = os.path.join(where, "played")
    os.makedirs(os.path.join(folder, "bin"))
    play(folder, "oshrun", 'shift 2\n"$@"\nexit $?\n')
    play(folder, "pe_random", 'echo "random: seed $2"\necho "random: seed $(($2 + 6))"\n'
         'echo "$SHMEM_NODE $SHMEM_OFI_PROVIDER $SHMEM_CHECK"\n')
    return folder


# ---- what it does -------------------------------------------------------------------------------

def check_arguments():
    for args, said in ((["--minutes", "0"], "above 0"), ([], "say how long"),
                       (["--minutes", "1", "--path", "tcp,udp"], "node, tcp, shm, net")):
        status, text = call(*args)
        check(status == 2 and said in text, f"{args}: {status}: {text}")
    status, text = call("--help")
    check(status == 0 and "--minutes M" in text and "exit status" in text, f"--help: {text}")


def check_real(where):
    """A second each of random programs of this build, and of those with spaces of all kinds."""
    results = os.path.join(where, "real.md")
    args = ["--seconds", "1", "--path", "node", "--programs", "random,spaces", "--build", BUILD,
            "--results", results]
    status, text = call(*args)
    found = rows(results)
    check(status == 0 and len(found) == 2, f"real: {status}: {text}")
    check([row[:6] + row[9:] for row in found] ==
          [["node", "random", "random", "2", "off", "1", "passed"],
           ["node", "spaces", "random_spaces", "2", "off", "1", "passed"]], f"real: {found}")


def check_build(where):
    """Where nothing is built it builds, here with a cmake that only notes how it is called."""
    tools, folder = os.path.join(where, "tools"), os.path.join(where, "unbuilt")
    os.mkdir(tools)
    cmake, calls = os.path.join(tools, "cmake"), os.path.join(tools, "calls")
    with open(cmake, "w", encoding="utf-8") as out:
        out.write(f'#!/bin/sh\necho "$*" >> {calls}\ntest "$1" != --build\n')
    os.chmod(cmake, 0o755)
    status, text = call("--seconds", "1", "--build", folder,
                        env={"PATH": tools + ":" + os.environ["PATH"]})
    with open(calls, encoding="utf-8") as noted:
        said = noted.read().splitlines()
    check(status == 1 and "the build failed" in text, f"build: {status}: {text}")
    check(len(said) == 2 and said[0].startswith("-S . -B " + folder) and
          said[1].startswith("--build " + folder), f"build: {said}")


def check_turns(where, folder):
    """All ways of PEs and checks, over two calls; a shell's own variables do not matter."""
    results = os.path.join(where, "turns.md")
    for seconds, n_runs in (("4", 2), ("7", 6)):
        status, text = call("--seconds", seconds, "--leg", "2", "--path", "tcp", "--programs",
                            "random", "--build", folder, "--results", results,
                            env={"SHMEM_NODE": "on", "SHMEM_CHECK": "0"})
        found = rows(results)
        check(status == 0 and len(found) == n_runs, f"turns: {status}: {text}")
    check(sorted((row[3], row[4]) for row in found) ==
          sorted((n, check) for n in "235" for check in ("on", "off")), f"turns: {found}")
    check([row[5:7] for row in found] == [[str(7 * i + 1), str(7 * i + 7)] for i in range(6)],
          f"turns, seeds: {found}")
    with open(os.path.join(folder, "endurance", "output-tcp-random"), encoding="utf-8") as out:
        check(out.read().splitlines()[2] == "off tcp 1", "turns: the environment is another")
    check(sums(results)["tcp"][:2] == ["0.0 of 60", "0"], f"turns: {sums(results)}")


def check_spaces(where, folder):
    """Spaces of all kinds: what the program is told, and what it finds."""
    results = os.path.join(where, "spaces.md")
    play(folder, "pe_random", 'echo "$*"\necho "$SHMEM_FAM_PATH" "$LD_LIBRARY_PATH"\n')
    status, text = call("--seconds", "1", "--path", "tcp", "--programs", "spaces", "--build",
                        folder, "--results", results)
    check(status == 0 and [row[1] for row in rows(results)] == ["spaces"], f"spaces: {text}")
    with open(os.path.join(folder, "endurance", "output-tcp-spaces"), encoding="utf-8") as out:
        told, found = out.read().splitlines()[:2]
    check(told.endswith("--spaces 1 --gpu 1"), f"spaces: the program is told {told}")
    check(found == f"{folder}/endurance {folder}/lib/fakecuda", f"spaces: it finds {found}")


def check_beside(where):
    """Two calls at once, on paths of their own: each row has its own seeds."""
    results, folder = os.path.join(where, "beside.md"), os.path.join(where, "beside")
    os.makedirs(os.path.join(folder, "bin"))
    play(folder, "oshrun", 'shift 2\n"$@"\nexit $?\n')
    play(folder, "pe_random", 'test "$SHMEM_OFI_PROVIDER" = tcp && n=700 || n=7\nsleep 1\n'
         'echo "random: seed $n"\nsleep 1\n')
    calls = [subprocess.Popen([SCRIPT, "--seconds", "1", "--path", path, "--programs", "random",
                               "--build", folder, "--results", results],
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
             for path in ("node", "tcp")]
    check([call.wait(60) for call in calls] == [0, 0], "beside: a call failed")
    check(sorted((row[0], row[6]) for row in rows(results)) == [("node", "7"), ("tcp", "700")],
          f"beside: {rows(results)}")


def check_failure(where, folder):
    """It is kept with all that is needed, and the next run comes all the same."""
    results = os.path.join(where, "failed.md")
    play(folder, "pe_random", 'echo "random: seed 3"\necho broken here\nexit 2\n')
    status, text = call("--seconds", "2", "--leg", "1", "--path", "tcp", "--programs", "random",
                        "--build", folder, "--results", results)
    found = rows(results)
    check(status == 1 and len(found) == 2, f"failure: {status}: {text}")
    check(found[0][9] == "failed with 2: tcp-random-2-seed-1.txt" and found[0][6] == "3" and
          found[1][5] == "4" and sums(results)["tcp"][:2] == ["0.0 of 60", "2"], f"{found}")
    kept = os.path.join(folder, "endurance", "tcp-random-2-seed-1.txt")
    with open(kept, encoding="utf-8") as out:
        said = out.read()
    check("SHMEM_NODE=off SHMEM_OFI_PROVIDER=tcp" in said and "--seed 1 --seconds 1" in said and
          "broken here" in said and "last seed 3" in said, f"failure: {said}")


def is_there(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def gone(pid):
    """Is the process gone, within a minute?"""
    for _ in range(600):
        if not is_there(pid):
            return True
        time.sleep(0.1)
    return False


def written(path):
    """The number in a file that a played program writes, once it is there."""
    for _ in range(600):
        if os.path.exists(path) and os.path.getsize(path) > 1:
            with open(path, encoding="utf-8") as out:
                return int(out.read())
        time.sleep(0.1)
    raise TimeoutError(f"{path} was never written")


def endless(where, folder):
    """A program that ignores SIGTERM and has left its launcher; where it writes its number."""
    path = os.path.join(where, "number")
    play(folder, "pe_random", f'trap "" TERM\nsetsid sleep 1000 &\necho $! > {path}\nwait\n')
    return path


def check_hang(where, folder):
    results, number = os.path.join(where, "hung.md"), endless(where, folder)
    status, text = call("--seconds", "1", "--grace", "1", "--path", "node", "--programs", "random",
                        "--build", folder, "--results", results)
    found = rows(results)
    check(status == 1 and [row[9] for row in found] == ["hung: node-random-2-seed-1.txt"],
          f"hang: {status}: {text}: {found}")
    check(gone(written(number)), "hang: a process is left")
    os.remove(number)


def check_stop(where, folder):
    """Stopped in the second run: the first is kept, nothing goes on."""
    results, number = os.path.join(where, "stopped.md"), endless(where, folder)
    for how, status in ((signal.SIGTERM, 143), (signal.SIGINT, 130)):
        with subprocess.Popen([SCRIPT, "--minutes", "9", "--path", "node", "--programs", "random",
                               "--build", folder, "--results", results], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, start_new_session=True) as script:
            pid = written(number)
            script.send_signal(how)
            check(script.wait(60) == status, f"stop: {script.returncode}, not {status}")
        check(gone(pid), "stop: a process is left")
        check(not os.path.exists(results), "stop: an unfinished run is kept")
        os.remove(number)


def main():
    check_arguments()
    with tempfile.TemporaryDirectory() as where:
        folder = played(where)
        check_real(where)
        check_build(where)
        check_turns(where, folder)
        check_spaces(where, folder)
        check_beside(where)
        check_failure(where, folder)
        check_hang(where, folder)
        check_stop(where, folder)
    for text in failures:
        print(text)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
