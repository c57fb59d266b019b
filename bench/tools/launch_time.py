# SPDX-License-Identifier: BSD-3-Clause
"""steppe-bench launch: measures the time to start and end a job, for several numbers of PEs.

The tool runs two or three kinds of jobs in turn. In a job of steppe-bench --startup, each PE prints
the times of shmem_init and shmem_finalize. A job of the launcher with true(1) is the raw limit. A
job of steppe-bench --floor only loads libfabric and asks it once about a provider, which each job
on a fabric must do. The tool measures the time of the whole job from outside. For steps within a
job, it uses the time of the slowest PE of a run, because a job waits for the slowest PE.
"""
import json
import os
import platform
import sys
import time

from options import counts, installed_program, mirrored, parser, positive, run_job
from result_file import FORMAT, Report, ToolError, make_side, write_text

USAGE = ("steppe-bench launch [-n COUNTS] [--runs N] [--floor PROVIDER] [--format text|json] "
         "[-o FILE]")
DESCRIPTION = """Measure the time to start and end jobs, for several numbers of PEs.

The row launch is the time of the whole job, beside the time of the launcher alone with true(1). The
rows launch-init and launch-finalize are the times of the slowest PE. With --floor, the row
launch-floor is the time of the whole job beside the time of a job that only loads libfabric and
asks it once about PROVIDER, and the rows launch-load and launch-ask are its two steps. JSON has
times in us, the table in ms. Each run is one sample."""


def times_of(command, pes, steps):
    """Run one job. Return the times of the job and of the slowest PE in each step, in us."""
    start = time.perf_counter()
    text = run_job(command)
    job = 1e6 * (time.perf_counter() - start)
    found = []
    for line in text.splitlines():
        try:
            record = json.loads(line)
            found.append([record[step + "_ns"] / 1e3 for step in steps])
        except (ValueError, TypeError, KeyError):
            continue
    if steps and len(found) != pes:
        raise ToolError(f"{' '.join(command)}: only {len(found)} of {pes} PEs reported their times")
    return [job, *map(max, zip(*found))]


def measure(start, kinds, pes, runs):
    """Run the given number of jobs of each kind in turn. Return the samples of each kind."""
    found = [[] for _ in kinds]
    for words, steps in kinds:  # loads the programs and libraries into memory
        times_of(start + words, pes, steps)
    for _, kind in mirrored(range(len(kinds)), runs):
        words, steps = kinds[kind]
        found[kind].append(times_of(start + words, pes, steps))
    return found


def rows_of(pes, samples, limits, floors=()):
    columns = [*zip(("launch", "launch-init", "launch-finalize"), zip(*samples))]
    raw = {"launch": [limit for limit, in limits]}
    if floors:
        jobs, load, ask = zip(*floors)
        columns += [("launch-floor", columns[0][1]), ("launch-load", load), ("launch-ask", ask)]
        raw["launch-floor"] = jobs
    rows = []
    for name, values in columns:
        row = {"bench": name, "group": "launch", "metric": "latency", "unit": "us",
               "better": "lower", "bytes": 0, "parameter": "pes", "value": pes, "pes": pes,
               "measuring": pes, "ops": 1, "window": 1, "samples": len(values),
               "steppe": make_side(values, "lower")}
        if name in raw:
            row["raw"] = make_side(raw[name], "lower")
            row["ratio"] = row["steppe"]["median"] / row["raw"]["median"]
        rows.append(row)
    return rows


def cpu_name():
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.machine()


def heading_of(oshrun, arguments):
    """Return the heading of the report, as far as it is known without running the library."""
    version = run_job([oshrun, "--version"]).splitlines()
    launcher = [line.split(":", 1)[1].strip() for line in version if line.startswith("launcher:")]
    library = version[0].replace("oshrun (", "").replace(")", "") if version else ""
    return {"steppe_bench": FORMAT, "library": library,
            "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "command": " ".join(["steppe-bench", "launch"] + arguments),
            "kernel": f"{platform.system()} {platform.release()}", "cpu": cpu_name(),
            "host": platform.node(), "hosts": 1, "cores": len(os.sched_getaffinity(0)),
            "launcher": launcher[0] if launcher else ""}


def as_text(report):
    heading = report.heading
    lines = [f"{heading['library']}, {heading['launcher']}, {heading['host']}, "
             f"{heading['cores']} cores; median and slow end (p99) of "
             f"{next(iter(report.rows.values()))['samples']} runs",
             f"{'bench':<16} {'PEs':>5} {'ms':>10} {'p99':>10} {'raw ms':>10} {'p99':>10} "
             f"{'ratio':>6}"]
    for row in report.rows.values():
        line = f"{row['bench']:<16} {row['pes']:>5}"
        for side in ("steppe", "raw"):
            if side in row:
                line += f" {row[side]['median'] / 1e3:>10.2f} {row[side]['p99'] / 1e3:>10.2f}"
        if "ratio" in row:
            line += f" {row['ratio']:>6.2f}"
        lines.append(line)
    return "\n".join(lines) + "\n"


def as_json(report):
    return json.dumps(dict(report.heading, results=list(report.rows.values())), indent=1) + "\n"


FORMATS = {"text": as_text, "json": as_json}


def main(arguments):
    options = parser("launch", USAGE, DESCRIPTION)
    options.add_argument("-n", type=counts, default="1:4", metavar="COUNTS",
                         help="numbers of PEs: 1,2,6, or 1:64 for 1, 2, 4 ... 64 (default: 1:4)")
    options.add_argument("--runs", type=positive, default=10, metavar="N",
                         help="number of jobs of each kind with each number of PEs (default: 10)")
    options.add_argument("--floor", metavar="PROVIDER",
                         help="also run jobs that only load libfabric and ask it once about "
                              "PROVIDER, such as tcp")
    options.add_argument("--format", choices=sorted(FORMATS), default="text")
    options.add_argument("-o", metavar="FILE",
                         help="write the output to FILE instead of standard output")
    chosen = options.parse_args(arguments)
    program = installed_program()
    oshrun = os.path.join(os.path.dirname(program), "oshrun")
    kinds = [([program, "--startup"], ("init", "finalize")), (["true"], ())]
    if chosen.floor:
        kinds.append(([program, "--floor", chosen.floor], ("load", "ask")))
    report = Report("launch", heading_of(oshrun, arguments), {}, [])
    for pes in chosen.n:
        print(f"{pes} PEs: {chosen.runs} runs", file=sys.stderr, flush=True)
        start = [oshrun, "-n", str(pes)]
        for row in rows_of(pes, *measure(start, kinds, pes, chosen.runs)):
            report.rows[row["bench"], pes] = row
    text = FORMATS[chosen.format](report)
    if chosen.o:
        write_text(chosen.o, text)
    else:
        sys.stdout.write(text)
    return 0
