# SPDX-License-Identifier: BSD-3-Clause
"""What peer.py writes: the runs of a row put together, one JSON object of format version 2 for
each implementation, and the table that compares them."""
import csv
import json
import os
import pathlib
import platform
import re
import statistics
import sys
import time

AHEAD = 1.05  # a peer is called ahead from this ratio on


# ---- the machine --------------------------------------------------------------------------------

def read_line(path):
    try:
        return pathlib.Path(path).read_text().splitlines()[0]
    except (OSError, IndexError):
        return ""


def cpu_name():
    try:
        found = re.search(r"model name\s*:\s*(.*)", pathlib.Path("/proc/cpuinfo").read_text())
    except OSError:
        found = None
    return found.group(1) if found else platform.machine()


def cpu_times():
    """Ticks of all cores so far: in all, and stolen by the host of a virtual machine."""
    try:
        ticks = [int(word) for word in read_line("/proc/stat").split()[1:9]]
        load = os.getloadavg()[0]
    except (ValueError, OSError):
        return None
    return {"all": sum(ticks), "steal": ticks[7] if len(ticks) > 7 else 0, "load": load}


def disturbance(before, options):
    """What else the cores had to do, or an empty string."""
    after = cpu_times()
    found = []
    if not before or not after:
        return ""
    steal = (after["steal"] - before["steal"]) / max(1, after["all"] - before["all"])
    if steal >= 0.01:
        found.append(f"steal {100 * steal:.0f} %")
    if before["load"] >= 0.5:
        found.append(f"load average {before['load']:.1f} before the first run")
    if options.n > len(os.sched_getaffinity(0)):
        found.append(f"{options.n} PEs on {len(os.sched_getaffinity(0))} cores")
    return ", ".join(found)


# ---- the runs of a row put together -------------------------------------------------------------

def interval(blocks):
    """Half the width of the 95 % confidence interval of the median, as a share of it."""
    n = len(blocks)
    reach = int(0.98 * n ** 0.5 + 0.5)  # by the binomial distribution
    low, high = max(0, (n - 1) // 2 - reach), min(n - 1, n // 2 + reach)
    ordered = sorted(blocks)
    return (ordered[high] - ordered[low]) / 2 / statistics.median(blocks)


def merge_side(sides, lower_is_better, noisy_above):
    """Medians of the numbers of the runs; blocks of all of them."""
    merged = {key: statistics.median(side[key] for side in sides)
              for key in sides[0] if isinstance(sides[0][key], float)
              or (isinstance(sides[0][key], int) and not isinstance(sides[0][key], bool))}
    best = [side["best"] for side in sides]
    merged["best"] = min(best) if lower_is_better else max(best)
    merged["noisy"] = merged["noise"] > noisy_above
    merged["blocks"] = [block for side in sides for block in side["blocks"]]
    if "slowest_pe" in merged:
        merged["slowest_pe"] = max(sides, key=lambda side: side["pe_max"])["slowest_pe"]
    return merged


def merge(rows, noisy_above):
    lower = rows[0]["better"] == "lower"
    merged = dict(rows[0])
    merged["steppe"] = merge_side([row["steppe"] for row in rows], lower, noisy_above)
    merged["run_medians"] = [row["steppe"]["median"] for row in rows]
    merged["samples"] = sum(row["samples"] for row in rows)
    merged["interval"] = round(interval(merged["steppe"]["blocks"]), 4)
    raws = [row["raw"] for row in rows if "raw" in row]
    if raws:
        merged["raw"] = merge_side(raws, lower, noisy_above)
        merged["ratio"] = float(f"{merged['steppe']['median'] / merged['raw']['median']:.4g}")
    return merged


def failure_text(reasons):
    return f"failed in {count(len(reasons), 'run')}: {reasons[-1]}"


def rows_of(one):
    """Rows of an implementation in order, keyed by what they measure."""
    rows = {}
    for number, planned in sorted(one.plan.items()):
        key = (planned["bench"], planned["bytes"])
        row = {name: planned[name] for name in ("bench", "group", "metric", "unit", "bytes")}
        if one.results.get(number):
            row = merge(one.results[number], one.heading.get("noisy_above", 2))
            if one.failures.get(number):
                row["disturbed"] = failure_text(one.failures[number])
        elif one.failures.get(number):
            row["skipped"] = failure_text(one.failures[number])
        else:
            row["skipped"] = one.failed or "not run"
        rows[key] = row
    return rows


def document(one, rows, options, disturbed):
    """One implementation as steppe-bench would tell it: what is measured is called steppe."""
    heading = {
        "steppe_bench": 2, "library": one.label, "libfabric": "",
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "command": " ".join(["bench/peer.sh"] + sys.argv[1:]),
        "kernel": f"{platform.system()} {platform.release()}", "cpu": cpu_name(),
        "governor": read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "provider": "", "domain": "", "raw_provider": "", "raw_domain": "", "raw_note": "",
        "gpu": "", "gpu_driver": "", "test_double": False, "pair_path": "none",
        "all_path": "none", "pes": options.n}
    heading.update(one.heading)
    heading.update({
        "implementation": one.label, "compiler": " ".join(one.compiler),
        "launcher": " ".join(one.launcher), "notes": one.notes, "runs": options.runs,
        "options": {"cold": False, "verify": False, "buffers": 1, "align": 4096,
                    "offset_local": 0, "offset_remote": 0, "barrier": False, "seconds": 0.5},
        "disturbed": disturbed, "results": list(rows.values())})
    if one.heading and one.label not in one.heading["library"]:
        heading["library"] = f"{one.label}: {one.heading['library']}"
    if one.failed:
        heading["failed"] = one.failed
    return heading


# ---- the table ----------------------------------------------------------------------------------

def pretty_size(nbytes):
    units = ["B", "KiB", "MiB", "GiB"]
    unit = 0
    while nbytes >= 1024 and nbytes % 1024 == 0 and unit < 3:
        nbytes //= 1024
        unit += 1
    return f"{nbytes} {units[unit]}"


def count(number, thing):
    return f"{number} {thing}{'' if number == 1 else 's'}"


def row_name(row):
    sized = row["group"] == "coll" or row["bench"].endswith(("-latency", "-bandwidth", "-bibw"))
    return f"{row['bench']} {pretty_size(row['bytes'])}" if sized else row["bench"]


def pretty(value, unit):
    chain = {"ns": ["ns", "us", "ms", "s"], "MB/s": ["MB/s", "GB/s", "TB/s"]}.get(unit, [unit])
    at = 0
    while value >= 1000 and at + 1 < len(chain):
        value /= 1000
        at += 1
    digits = 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:.{digits}f} {chain[at]}"


def is_measured(row):
    return row is not None and "steppe" in row


def cell(row, side="steppe"):
    if row is None:
        return "-"
    if side not in row:
        return "-" if side == "raw" else "failed" if "failed" in row["skipped"] else "-"
    return pretty(row[side]["median"], row["unit"])


def ratio_of(ours, theirs):
    return ours["steppe"]["median"] / theirs["steppe"]["median"]


def advantage(ours, theirs):
    """How many times quicker the peer is."""
    ratio = ratio_of(ours, theirs)
    return ratio if ours["better"] == "lower" else 1 / ratio


def may_be_noise(ours, theirs):
    """Do the confidence intervals of both medians meet?"""
    low, high = sorted((ours, theirs), key=lambda row: row["steppe"]["median"])
    return (low["steppe"]["median"] * (1 + low["interval"]) >=
            high["steppe"]["median"] * (1 - high["interval"]))


def compare(one, ours, theirs):
    """The ratio of a peer's row, and what is to be said of it."""
    if not is_measured(ours) or not is_measured(theirs):
        return "-", ""
    quicker = advantage(ours, theirs)
    remark = ""
    if quicker > AHEAD:
        doubt = ", within the noise" if may_be_noise(ours, theirs) else ""
        remark = f"{one.label} ahead by {100 * (quicker - 1):.0f} %{doubt}"
    return f"{ratio_of(ours, theirs):.2f}", remark


def remarks_of(ours, all_rows, key):
    noisy = [one.label for one, rows in all_rows if is_measured(rows.get(key))
             and rows[key]["steppe"]["noisy"]]
    found = ["noisy: " + ", ".join(noisy)] if noisy else []
    return [compare(one, ours, rows.get(key))[1] for one, rows in all_rows[1:]
            if compare(one, ours, rows.get(key))[1]] + found


def keys_of(all_rows):
    """Steppe's rows, then what only others have."""
    keys = list(all_rows[0][1])
    for _, rows in all_rows[1:]:
        keys += [key for key in rows if key not in keys]
    return keys


def table_of(all_rows):
    """Lines of cells; the first is the heading."""
    head = ["", all_rows[0][0].label, "raw"]
    for one, _ in all_rows[1:]:
        head += [one.label, "ratio"]
    lines = [head + [""]]
    for key in keys_of(all_rows):
        ours = all_rows[0][1].get(key)
        some = next(rows[key] for _, rows in all_rows if key in rows)
        line = [row_name(some), cell(ours), cell(ours, "raw")]
        for one, rows in all_rows[1:]:
            line += [cell(rows.get(key)), compare(one, ours, rows.get(key))[0]]
        lines.append(line + ["; ".join(remarks_of(ours, all_rows, key))])
    return lines


def scale_of(all_rows):
    """Did all meet the same machine? The raw limit of each beside that of Steppe's runs."""
    lines = []
    ours = all_rows[0][1]
    for one, rows in all_rows[1:]:
        ratios = [rows[key]["raw"]["median"] / ours[key]["raw"]["median"] for key in rows
                  if key in ours and "raw" in rows[key] and "raw" in ours[key]
                  and rows[key]["better"] == "lower"]
        if ratios:
            lines.append(f"raw times met by {one.label} / by Steppe: median "
                         f"{statistics.median(ratios):.2f}, {min(ratios):.2f} to "
                         f"{max(ratios):.2f} over {len(ratios)} rows")
        elif one.results:
            lines.append(f"{one.label}: no raw side, so nothing tells whether it met the same "
                         "machine")
    return lines


def failures_of(all_rows):
    lines = []
    for one, rows in all_rows:
        if one.failed:
            lines.append(f"{one.label}: no results: {one.failed}")
            continue
        lines += [f"{one.label}: {note}" for note in one.notes]
        for row in rows.values():
            text = row.get("skipped") or row.get("disturbed")
            if text:
                lines.append(f"{one.label}: {row_name(row)}: {text}")
    return lines


def heading_of(all_rows, options, disturbed):
    first = next((one.heading for one, _ in all_rows if one.heading), {})
    bound = "bound to one core each by the program" if first.get("bound") else "not bound"
    lines = [f"{count(options.n, 'PE')} on {count(first.get('hosts', 1), 'host')}, "
             f"{count(first.get('cores', 0), 'core')} of {cpu_name()}, PEs {bound}",
             f"{count(options.runs, 'run')} of each in turns; medians; ratio: Steppe / peer, above "
             "1 is slower for times, faster for MB/s and Mmsg/s",
             "remarks: who is ahead of Steppe by more than 5 %; noisy: p99 above twice the median"]
    lines += [f"{one.label}: {one.heading['library']}" for one, _ in all_rows if one.heading]
    paths = {one.label: one.heading["pair_path"] for one, _ in all_rows
             if one.heading.get("pair_path", "none") != "none"}
    if len(set(paths.values())) > 1:
        lines.append("THE PATHS DIFFER: " + ", ".join(f"{a}: {b}" for a, b in paths.items()))
    if disturbed:
        lines.append(f"DISTURBED: {disturbed}")
    return lines


def write_text(out, all_rows, options, disturbed):
    lines = table_of(all_rows)
    width = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    print("\n".join(heading_of(all_rows, options, disturbed)) + "\n", file=out)
    for line in lines:
        cells = [line[0].ljust(width[0])]
        cells += [text.rjust(wide) for text, wide in zip(line[1:-1], width[1:-1])]
        print("  ".join(cells + [line[-1]]).rstrip(), file=out)
    print("", file=out)
    for line in scale_of(all_rows) + failures_of(all_rows):
        print(line, file=out)


def write_markdown(out, all_rows, options, disturbed):
    lines = table_of(all_rows)
    for line in heading_of(all_rows, options, disturbed):
        print(f"- {line}", file=out)
    print("", file=out)
    for number, line in enumerate(lines):
        print("| " + " | ".join(line) + " |", file=out)
        if number == 0:
            print("|---" + "|---:" * (len(line) - 2) + "|---|", file=out)
    print("", file=out)
    for line in scale_of(all_rows) + failures_of(all_rows):
        print(f"- {line}", file=out)


def write_csv(out, all_rows):
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["implementation", "bench", "bytes", "unit", "median", "p1", "p99", "best",
                     "interval", "raw_median", "steppe_ratio", "skipped"])
    ours = all_rows[0][1]
    for one, rows in all_rows:
        for key, row in rows.items():
            side, raw = row.get("steppe", {}), row.get("raw", {})
            ratio = compare(one, ours.get(key), row)[0]
            writer.writerow([one.label, row["bench"], row["bytes"], row["unit"]]
                            + [side.get(name, "") for name in ("median", "p1", "p99", "best")]
                            + [row.get("interval", ""), raw.get("median", ""),
                               "" if ratio == "-" else ratio, row.get("skipped", "")])


def write_files(prefix, documents, all_rows, options, disturbed):
    for found in documents:
        name = re.sub(r"[^A-Za-z0-9.]+", "-", found["implementation"]).strip("-").lower()
        with open(f"{prefix}-{name}.json", "w", encoding="utf-8") as out:
            json.dump(found, out, indent=1)
            out.write("\n")
    with open(f"{prefix}.md", "w", encoding="utf-8") as out:
        write_markdown(out, all_rows, options, disturbed)


def report(found, options, disturbed):
    all_rows = [(one, rows_of(one)) for one in found]
    documents = [document(one, rows, options, disturbed) for one, rows in all_rows]
    if options.output:
        write_files(options.output, documents, all_rows, options, disturbed)
    if options.format == "json":
        json.dump({"steppe_bench_peers": 1, "implementations": documents}, sys.stdout, indent=1)
        print()
    elif options.format == "csv":
        write_csv(sys.stdout, all_rows)
    else:
        write_text(sys.stdout, all_rows, options, disturbed)
