#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measure Steppe on this machine and write the pages of docs/results, or check their age.

usage: results.py [--build DIR] [node|tcp|peers|ends]...     default: all four pages
       results.py --check

node   2 PEs that share memory beside the raw limit of the machine, 16 PEs on its cores, and the time of
       launches; also draws docs/results/pictures/node-bandwidth.svg, which README.md shows
tcp    2 PEs of this machine through the providers tcp and net, beside a loop of libfabric calls
peers  Open MPI's OSHMEM, Open MPI and MPICH in turn with Steppe, on the node and over TCP; a peer that is
       not installed is left out
ends   jobs with a PE that ends early: exit status, the line that says why, and the time until the end

DIR is a build folder with the tests (default: build). Nothing else may run on the machine. --check prints
how many commits each page is behind HEAD, names those that are more than 100 behind, and exits with 1 if a
page does not say when, at which commit, on which machine and by which command it was measured.
"""
import argparse
import datetime
import os
import pathlib
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results"
sys.path.insert(0, str(ROOT / "bench" / "tools"))
import launch_time  # noqa: E402  pylint: disable=wrong-import-position
from result_file import describe, read  # noqa: E402  pylint: disable=wrong-import-position

OLD = 100  # commits
LIMIT = 600  # seconds that a command may take before the script gives up
RUNS = 5  # jobs for each line of the page ends
WORDS = ("commit", "date", "machine", "command")
TCP = {"SHMEM_NODE": "off", "SHMEM_OFI_PROVIDER": "tcp"}
NET = {"SHMEM_NODE": "off", "SHMEM_OFI_PROVIDER": "net"}
SMALL_AND_LARGE = "8:256K"
NODE = ["p", "g", "put-latency", "get-latency", "put-bandwidth", "get-bandwidth", "put-bibw", "put-rate", "get-rate",
        "put-rate-blocking", "atomic-add", "atomic-fetch-add", "atomic-cswap", "put-signal", "signal-round-trip",
        "flag-round-trip", "wait-until-any", "iput", "iget", "passive-get", "lock", "malloc", "ctx-create",
        "space-create", "space-alloc", "barrier", "broadcast", "reduce", "fcollect", "collect", "alltoall"]
FABRIC = ["p", "g", "put-latency", "get-latency", "put-bandwidth", "get-bandwidth", "put-rate", "get-rate",
          "batch-p", "batch-put-rate", "atomic-add", "atomic-fetch-add", "put-signal", "flag-round-trip", "passive-get",
          "idle-cpu", "overlap-put", "barrier", "broadcast", "reduce", "fcollect", "alltoall"]
PEERS = ["put-latency", "get-latency", "put-bandwidth", "get-bandwidth", "put-rate", "atomic-add", "atomic-fetch-add",
         "flag-round-trip", "barrier"]
ONLY_SHMEM, ONLY_MPI = ["p"], ["broadcast", "reduce", "fcollect", "alltoall"]  # OpenSHMEM 1.4 has no teams
SIZES = (0, 8, 64 << 10, 256 << 10)  # of the rows that a page shows
OPEN_MPI_TCP = "env UCX_TLS=tcp,self OMPI_MCA_pml=ucx OMPI_MCA_osc=ucx OMPI_MCA_pml_ucx_tls=any " \
    "OMPI_MCA_pml_ucx_devices=any "
OPEN_MPI_RUN = " --allow-run-as-root --oversubscribe"

# ---- running ------------------------------------------------------------------------------------


class Job:
    """Runs commands of a build folder, and keeps them as a reader would type them."""

    def __init__(self, build):
        self.build, self.commands = pathlib.Path(build).resolve(), []
        self.is_changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs/results") != ""
        self.bin = self.build / "bin"
        if not os.access(self.bin / "steppe-bench", os.X_OK):
            sys.exit(f"results.py: {self.bin}/steppe-bench does not exist: build with scripts/test.sh first")

    def run(self, words, env=None, check=True):
        shown = [f"{key}={value}" for key, value in (env or {}).items()] + [
            str(word).replace(f"{self.bin}/", "") for word in words]
        self.commands.append(" ".join(shown))
        print("results.py:", self.commands[-1], flush=True)
        return subprocess.run([str(word) for word in words], env={**os.environ, **(env or {})}, check=check,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT)

    def bench(self, pes, options, env=None):
        """The Report of one run of steppe-bench."""
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            self.run([self.bin / "oshrun", "-n", pes, self.bin / "steppe-bench", "-f", "json", "-o", file.name,
                      *options], env)
            self.commands[-1] = self.commands[-1].replace(file.name, "FILE.json")
            return read(file.name)


def first_line(*words):
    """The first line of the output of a command, or '' if it cannot be run."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return (done.stdout + done.stderr).strip().splitlines()[0] if done.stdout + done.stderr else ""


def machine():
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 30
    system = re.search(r'PRETTY_NAME="(.*)"', pathlib.Path("/etc/os-release").read_text(encoding="utf-8"))
    libfabric = first_line("pkg-config", "--modversion", "libfabric")
    return (f"{launch_time.cpu_name()}, {os.cpu_count()} cores, {memory} GiB; {system[1] if system else ''}, Linux "
            f"{platform.release().split('-')[0]}, {first_line('gcc', '--version')}, libfabric {libfabric}")


def git(*words):
    return subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=False).stdout.strip()


# ---- writing ------------------------------------------------------------------------------------


def short(value, unit):
    """A value with a unit that suits it, to three digits: 12.3 us, 45.6 GB/s."""
    steps = {"ns": ((1e9, "s"), (1e6, "ms"), (1e3, "us")), "us": ((1e6, "s"), (1e3, "ms")),
             "MB/s": ((1e3, "GB/s"),)}.get(unit, ())
    for factor, name in steps:
        if value >= factor:
            return f"{value / factor:.3g} {name}"
    return f"{value:.3g} {unit}"


def table(heads, rows):
    return "\n".join(["| " + " | ".join(heads) + " |", "|---" + "|---:" * (len(heads) - 1) + "|",
                      *("| " + " | ".join(row) + " |" for row in rows)]) + "\n"


def name_of(row):
    name = f"{row['bench']} {describe(row)}".replace(f", {row['pes']} PEs", "").replace(f"{row['pes']} PEs", "").rstrip()
    return re.sub(r"(\d)([KM]) bytes", r"\1 \2iB", name)


def shown(report):
    """(identity, row) of the rows that a page shows: some sizes, and all rows of benches with one size."""
    sizes = {}
    for row in report.rows.values():
        sizes.setdefault(row["bench"], set()).add(row["bytes"])
    return [(key, row) for key, row in report.rows.items() if "steppe" in row and row.get("value", 0) in (0, 2, 64)
            and (row["bytes"] in SIZES or len(sizes[row["bench"]]) == 1)]


def cells(row, with_raw=True):
    """The cells of a row: median, slow end, raw limit, ratio; empty cells for a row that does not exist."""
    if row is None:
        return [""] * (4 if with_raw else 2)
    steppe, raw = row["steppe"], row.get("raw")
    out = [short(steppe["median"], row["unit"]), short(steppe["p99"], row["unit"])]
    if with_raw:
        plain = ", plain loop" if raw and row.get("raw_note") == "plain loop" else ""
        out += [short(raw["median"], row["unit"]), f"{row['ratio']:.2f}{plain}"] if raw and "ratio" in row else ["", ""]
    return out


def wrapped(text):
    return textwrap.fill(" ".join(text.split()), 110, break_on_hyphens=False, break_long_words=False)


def write(name, title, about, job, body):
    dirty = " with local changes" if job.is_changed else ""
    commands = "\n".join(f"    {command}" for command in dict.fromkeys(job.commands))
    text = f"""<!-- SPDX-License-Identifier: BSD-3-Clause -->
# {title}

{wrapped(f"Written by `scripts/results.py {name}`. {about}")}

| | |
|---|---|
| date | {datetime.date.today()} |
| commit | `{git('rev-parse', '--short=12', 'HEAD')}`{dirty} |
| machine | {machine()} |
| command | `scripts/results.py {name}`, which runs the commands at the end of this page |

{body}
## Commands

{commands}
"""
    (RESULTS / f"{name}.md").write_text(text, encoding="utf-8")
    print(f"results.py: wrote docs/results/{name}.md", flush=True)


# ---- the pages ----------------------------------------------------------------------------------

ABOUT_BENCH = """Each value is a median; "slow end" is the 99th percentile. "Raw" is the same transfer without
Steppe, in the same run, and "ratio" is Steppe divided by raw. The machine is a virtual one whose host others share, so
that ratios mean more than times. In a row with "plain loop", Steppe sends several operations in one message, and
the raw side sends each of them alone. [The design of the benchmark](../design/bench.md) says what each raw side is."""


def node(build):
    job = Job(build)
    report = job.bench(2, ["--raw", "--seconds", "0.2", "--sizes", SMALL_AND_LARGE, *NODE])
    body = "## Two PEs\n\n" + table(
        ["bench", "Steppe", "slow end", "raw", "ratio"],
        [[name_of(row), *cells(row)] for _, row in shown(report)])
    crowd = job.bench(16, ["--seconds", "0.5", "--sizes", "8:8", "barrier", "reduce", "alltoall"])
    body += f"\n## 16 PEs on {os.cpu_count()} cores\n\n" + table(
        ["bench", "Steppe", "slow end"],
        [[name_of(row), *cells(row, False)] for row in crowd.rows.values() if "steppe" in row])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "launch.json")
        job.run([job.bin / "steppe-bench", "launch", "-n", "1,2,16,64", "--runs", 10, "--format", "json", "-o", path])
        job.commands[-1] = job.commands[-1].replace(path, "FILE.json")
        launches = read(path)
        full = os.path.join(folder, "node.json")
        job.run([job.bin / "oshrun", "-n", 2, job.bin / "steppe-bench", "-f", "json", "-o", full, "--raw", "--seconds",
                 "0.2", "--sizes", "8:4M", "put-bandwidth", "get-bandwidth"])
        job.run([job.bin / "steppe-bench", "plot", full, "-o", folder])
        job.commands[-2:] = [command.replace(full, "FILE.json").replace(folder, "FOLDER")
                             for command in job.commands[-2:]]
        shutil.copy(os.path.join(folder, "rma-bandwidth.svg"), RESULTS / "pictures" / "node-bandwidth.svg")
    body += "\n## Launches\n\nThe raw side is the launcher alone with `true`.\n\n" + table(
        ["PEs, what", "Steppe", "slow end", "raw", "ratio"],
        [[f"{row['pes']} PEs, {row['bench']}", *cells(row)] for row in launches.rows.values()])
    write("node", "PEs on one node", ABOUT_BENCH, job, body)


def tcp(build):
    job = Job(build)
    options = ["--raw", "--seconds", "0.2", "--sizes", SMALL_AND_LARGE, *FABRIC]
    reports = [job.bench(2, options, env) for env in (TCP, NET)]
    names = [report.heading["provider"] for report in reports]
    rows = [[name_of(row), *cells(row), *cells(reports[1].rows.get(key))]
            for key, row in shown(reports[0])]
    body = table(["bench", names[0], "slow end", "raw", "ratio", names[1], "slow end", "raw", "ratio"], rows)
    write("tcp", "Two PEs through libfabric's tcp and net",
          ABOUT_BENCH + " No network was measured: both PEs are on this machine.", job, body)


def peer_sides():
    """[(name, transport, side of steppe-bench compare, variables of Steppe)] of the installed peers."""
    out = []
    oshcc, mpicc = shutil.which("oshcc.openmpi") or "/usr/bin/oshcc", shutil.which("mpicc.openmpi")
    version = re.search(r"(\d+\.\d+\.\d+)", first_line("mpirun.openmpi", "--version"))
    if mpicc and version:
        for transport, prefix, env in (("node", "", {}), ("tcp", OPEN_MPI_TCP, TCP)):
            if os.path.exists(oshcc):
                out.append((f"Open MPI {version[1]}, OSHMEM", transport,
                            f"{oshcc},{prefix}/usr/bin/oshrun{OPEN_MPI_RUN}", env))
            out.append((f"Open MPI {version[1]}, MPI", transport,
                        f"mpi:{mpicc},{prefix}mpirun.openmpi{OPEN_MPI_RUN}", env))
    mpich = re.search(r"(\d+\.\d+[.\d]*)", first_line("mpichversion"))
    if mpich and shutil.which("mpicc.mpich"):
        out.append((f"MPICH {mpich[1]}, MPI", "node", "mpi:mpicc.mpich,mpiexec.hydra", {}))
    return out


def peers(build):
    job = Job(build)
    body = ""
    for name, transport, side, env in peer_sides():
        with tempfile.TemporaryDirectory() as folder:
            files = [os.path.join(folder, file) for file in ("steppe.json", "peer.json")]
            options = ["--seconds", "0.05", "--sizes", SMALL_AND_LARGE, *PEERS,
                       *(ONLY_MPI if side.startswith("mpi:") else ONLY_SHMEM)]
            done = job.run([job.bin / "steppe-bench", "compare", "--ab", job.build, side, "--runs", 9, "--absolute",
                            "--save", *files, "--", *options], env, check=False)
            job.commands[-1] = re.sub(r"--ab \S+ (.*) --runs (.*) --save \S+ \S+",
                                      r"--ab PREFIX '\1' --runs \2 --save STEPPE.json PEER.json", job.commands[-1])
            body += f"## {name}, {'shared memory' if transport == 'node' else 'TCP'}\n\n"
            if not os.path.exists(files[1]):
                body += "The comparison failed: " + (done.stderr.strip().splitlines() or ["no output"])[-1] + "\n\n"
                continue
            mine, theirs = read(files[0]), read(files[1])
            rows = []
            for key, row in shown(mine):
                other = theirs.rows.get(key)
                if other is None:
                    continue
                ratio = row["steppe"]["median"] / other["steppe"]["median"]
                behind = ratio >= 1.005 if row["better"] == "lower" else ratio < 0.995
                rows.append([name_of(row), short(row["steppe"]["median"], row["unit"]),
                             short(other["steppe"]["median"], row["unit"]),
                             f"**{ratio:.2f}**" if behind else f"{ratio:.2f}"])
            body += table(["bench", "Steppe", name, "Steppe / peer"], rows) + "\n"
    write("peers", "Beside other libraries",
          """Both sides run in turn, nine times each; a value is the median of the medians of the runs. Bold ratios are
those where the peer is faster: below 1 is better for times, above 1 for bandwidths and rates. An operation of
MPI is MPI_Put or the like with a flush. Rows without a fetched result, such as p, put-rate and atomic-add, are the time of
one call in a loop, with one completion for all calls of a sample. Times of Steppe differ between the tables because
the machine changes between the runs. The OSHMEM of Open MPI goes through UCX, which is confined to TCP sockets in the tables of
TCP. No network was measured: both PEs are on this machine.""", job, body)


EVENTS = {"kill": "`kill -9`", "exit": "`_exit(3)`", "segv": "segmentation fault", "turn": "runs another program"}


def ends(build):
    job = Job(build)
    rows = []
    for path, env in (("node", {}), ("tcp", TCP), ("net", NET), ("shm", {**TCP, "SHMEM_OFI_PROVIDER": "shm"})):
        for event, what in EVENTS.items():  # of test/fault/peer.c
            seconds, statuses, lines = [], set(), set()
            for _ in range(RUNS):
                started = time.monotonic()
                done = job.run([job.bin / "oshrun", "-n", 4, job.bin / "fault_peer", event, "wait"],
                               env, check=False)
                seconds.append(time.monotonic() - started)
                statuses.add(str(done.returncode))
                said = [line for line in done.stderr.splitlines() if line.startswith(("steppe:", "oshrun:"))]
                lines.add(re.sub(r"\b(process|pid|after) [\d.]+", r"\1 N", said[0])[:150] if said else "")
            rows.append([path, what, ", ".join(sorted(statuses)), f"{statistics.median(seconds):.1f} s",
                         f"{max(seconds):.1f} s", "; ".join(f"`{line}`" if line else "None" for line in sorted(lines)[:2])])
    body = table(["path", "what PE 3 of 4 does", "exit status", "median", "longest", "first line of Steppe"], rows)
    write("ends", "Jobs with a PE that ends early",
          f"""PE 3 of 4 ends 0.3 s after all PEs are connected, while the other PEs wait for a flag from it; {RUNS} jobs for each line,
under Hydra on this machine. The times are those of the whole job. A line of `oshrun` names a PE that printed nothing itself; it is printed after the job. The tests `fault.*` check the same endings.""", job, body)


# ---- age ----------------------------------------------------------------------------------------


def check():
    wrong, pages = [], [RESULTS / f"{name}.md" for name in PAGES]
    for page in pages:
        text = page.read_text(encoding="utf-8") if page.exists() else ""
        wrong += [f"{page.relative_to(ROOT)}: the table at its start has no {word}" for word in WORDS
                  if not re.search(rf"^\| {word} \| \S", text, flags=re.M)]
        commit = re.search(r"^\| commit \| `(\w+)`", text, flags=re.M)
        behind = commit and git("rev-list", "--count", f"{commit[1]}..HEAD")
        if behind:
            print(f"{page.relative_to(ROOT)}: {behind} commits behind HEAD"
                  f"{': measure again' if int(behind) > OLD else ''}")
        elif commit and git("rev-parse", "--is-shallow-repository") == "false":
            wrong.append(f"{page.relative_to(ROOT)}: commit {commit[1]} is not in the history")
    print("\n".join(wrong + [f"{len(pages)} pages, {len(wrong)} faults"]))
    sys.exit(1 if wrong else 0)


PAGES = {"node": node, "tcp": tcp, "peers": peers, "ends": ends}


def main():
    parser = argparse.ArgumentParser(usage="results.py [--build DIR] [PAGE]... | --check", allow_abbrev=False)
    parser.add_argument("--build", default=str(ROOT / "build"))
    parser.add_argument("--check", action="store_true")
    parser.add_argument("pages", nargs="*", metavar="PAGE", help=", ".join(PAGES))
    arguments = parser.parse_args()
    if unknown := set(arguments.pages) - set(PAGES):
        parser.error(f"there is no page {', '.join(sorted(unknown))}: the pages are {', '.join(PAGES)}")
    if arguments.check:
        check()
    for name in arguments.pages or PAGES:
        PAGES[name](arguments.build)


if __name__ == "__main__":
    main()
