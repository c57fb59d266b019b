# SPDX-License-Identifier: BSD-3-Clause
"""steppe-bench tune: writes a table for SHMEM_COLL_TABLE from jobs with each algorithm.

A round consists of one job with the built-in choice of algorithms, and one job with each algorithm,
which a table selects. The tool writes a line if an algorithm is better in every round, according to
the test of compare. If an algorithm cannot be used for a case, the library uses the built-in
choice, so this case shows no difference.
"""
import functools
import json
import os
import sys
import tempfile

from compare import compare
from options import installed_program, parser, positive, run_job
from result_file import ToolError, parse, write_text

THRESHOLD = 0.07  # an algorithm must be faster than the built-in choice by more than this
USAGE = "steppe-bench tune -n N [OPTION...] [-- ARGUMENTS of oshrun]"
DESCRIPTION = """Measure the algorithms of collectives between nodes and write a table for
SHMEM_COLL_TABLE. The jobs must have the placement and the provider that later jobs will have. The
table has a line for each case in which another algorithm is quicker than the built-in one by more
than 7 % in every round."""


@functools.cache
def operations():
    """Return {operation: list of algorithms}, as oshinfo reports them."""
    words = [os.path.join(os.path.dirname(installed_program()), "oshinfo"), "--json", "collectives"]
    algorithms = json.loads(run_job(words))["collectives"]
    return {name: names.split(", ") for name, names in algorithms.items()}


def measure(job, k, folder):
    """Run a job with the k-th algorithm of each operation, and return its Report.

    If `k` is None, the job uses the built-in choice.
    """
    words = ["env", "-u", "SHMEM_COLL_TABLE"] + job
    if k is not None:
        table = os.path.join(folder, f"table{k}")
        write_text(table, "".join(f"{name} * * * * {algorithms[k]}\n"
                                  for name, algorithms in operations().items()
                                  if k < len(algorithms)))
        words = ["env", f"SHMEM_COLL_TABLE={table}"] + job
    return parse(run_job(words), f"output of {' '.join(words)}")


def better(built_in, report, k):
    """Return {identity of a row: Change} for the rows in which the k-th algorithm is better."""
    return {(change.row["bench"], change.row["pes"], change.row["bytes"]): change
            for change in compare(built_in, report, THRESHOLD, "absolute")
            if change.verdict == "better" and k < len(operations()[change.row["bench"]])}


def run_rounds(job, rounds):
    """Run all rounds. Return a Report with the built-in choice, and the fastest algorithms.

    The algorithms are {identity of a row: (algorithm, Change)}.
    """
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds):
            print(f"round {number + 1} of {rounds}", file=sys.stderr, flush=True)
            built_in = measure(job, None, folder)
            for k in range(max(map(len, operations().values()))):
                better_rows = better(built_in, measure(job, k, folder), k)
                found[k] = {key: change for key, change in better_rows.items()
                            if number == 0 or key in found[k]}
    chosen = {}
    for k, changes in found.items():
        for key, change in changes.items():
            if key not in chosen or change.change < chosen[key][1].change:
                chosen[key] = (operations()[key[0]][k], change)
    return built_in, chosen


def nodes_of(report, members):
    """Return the number of nodes of the first PEs. members: number of these PEs."""
    if report.heading["all_path"] == "fabric":
        return members
    return len({place["host"] for place in report.heading["places"][:members]})


def line_of(name, provider, nodes, nbytes, algorithm, changes):
    times = ", ".join(f"{change.new:.4g}" for change in changes)
    return (f"{name:<9}  {provider:<8}  {nodes:<7}  *  {nbytes:<17}  {algorithm:<8}  "
            f"# {times} {changes[0].row['unit']}; built in: {changes[0].old:.4g}\n")


def lines_of(name, part, sizes, chosen):
    """Return [(range of bytes, algorithm, [Change])] for a collective of a team.

    part: number of PEs of the team. Successive sizes with the same algorithm share an entry.
    """
    runs = []
    for i, size in enumerate(sizes):
        algorithm, change = chosen.get((name, part, size), (None, None))
        end = str(sizes[i + 1] - 1) if i + 1 < len(sizes) else ""
        if runs and runs[-1][1] == algorithm:
            runs[-1] = (runs[-1][0], algorithm, runs[-1][2] + [change], end)
        else:
            runs.append((str(size if i else 0), algorithm, [change], end))
    if name == "collect":  # one line for all sizes or none: members do not know the sizes
        return [("*",) + run[1:3] for run in runs if len(runs) == 1 and run[1]]
    return [(f"{begin}-{end}", algorithm, changes) for begin, algorithm, changes, end in runs
            if algorithm]


def table_of(report, chosen, rounds):
    parts = {nodes_of(report, row["pes"]): row["pes"] for row in report.rows.values()}
    parts = sorted((nodes, pes) for nodes, pes in parts.items() if nodes > 1)
    if not parts:
        raise ToolError("all PEs are on one node, and only collectives between nodes have a choice "
                        "of algorithms: run on several hosts, or set SHMEM_NODE=off")
    provider = str(report.heading.get("provider", ""))
    text = (f"# Algorithms of collectives between nodes, for SHMEM_COLL_TABLE, by steppe-bench "
            f"tune:\n# {parts[-1][1]} PEs on {parts[-1][0]} nodes, {provider or 'no fabric'}, "
            f"{rounds} rounds. Everything else keeps the built-in choice.\n"
            "# operation  provider  nodes  members  bytes  algorithm\n")
    for name in operations():
        for i, (nodes, pes) in enumerate(parts):
            sizes = sorted({row["bytes"] for row in report.rows.values()
                            if (row["bench"], row["pes"]) == (name, pes)})
            last = str(parts[i + 1][0] - 1) if i + 1 < len(parts) else ""
            for nbytes, algorithm, changes in lines_of(name, pes, sizes, chosen):
                text += line_of(name, provider.split(";")[0] or "*", f"{nodes}-{last}", nbytes,
                                algorithm, changes)
    return text


def main(arguments):
    position = arguments.index("--") if "--" in arguments else len(arguments)
    options = parser("tune", USAGE, DESCRIPTION)
    options.add_argument("-n", type=positive, required=True, metavar="N", help="number of PEs")
    options.add_argument("-o", metavar="FILE",
                         help="write the output to FILE instead of standard output")
    options.add_argument("--max", default="4m", metavar="BYTES",
                         help="bytes of the largest vector, such as 64k (default: 4m)")
    options.add_argument("--rounds", type=positive, default=5, metavar="N",
                         help="number of jobs with each algorithm (default: 5)")
    options.add_argument("--seconds", default="0.1", metavar="S",
                         help="seconds that a row of a job takes at most (default: 0.1)")
    chosen = options.parse_args(arguments[:position])
    program = installed_program()
    job = [os.path.join(os.path.dirname(program), "oshrun"), "-n", str(chosen.n)]
    job += arguments[position + 1:] + [program, "--format", "json", "--sizes", f"8:{chosen.max}",
                                 "--seconds", chosen.seconds, "--until", "0", "--teams",
                                 f"{min(2, chosen.n)}:{chosen.n}"] + list(operations())
    text = table_of(*run_rounds(job, chosen.rounds), chosen.rounds)
    if chosen.o:
        write_text(chosen.o, text)
    else:
        sys.stdout.write(text)
    return 0
