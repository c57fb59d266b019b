#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check oshinfo: its sections, its JSON, `--spaces` and `--doctor`.

usage: check_oshinfo.py <oshinfo>

The JSON must parse and report what the script has set up: hostile values of variables, jobs of
several PEs, kinds of memory (GPUs on the fake driver), low limits, missing networks, two hosts.
The oshrun of the same folder starts the jobs. A part that this machine does not allow is left
out, and the script prints "not tried".
"""
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile

SECTIONS = ["version", "conduits", "providers", "launcher", "topology", "memory", "environment",
            "collectives"]
with open(os.path.join(os.path.dirname(__file__), "..", "include", "shmem.h"), encoding="utf-8") as header:
    KINDS = [name.lower() for name in re.findall(r"^    SHMEM_DEVICE_(\w+)", header.read(), re.M)]
failures = []


def check(ok, text):
    if not ok:
        failures.append(text)


def run(*args, env=None):
    """Status, standard output and standard error of one run, all environment in bytes."""
    full = {**os.environb, **(env or {})}
    done = subprocess.run([sys.argv[1], *args], env=full, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def report(*args, env=None):
    status, out, err = run("--json", *args, env=env)
    check(status == 0, f"--json {args}: status {status}, expected 0: {err!r}")
    return json.loads(out.decode("utf-8", errors="strict"))


def check_all():
    everything = report()
    check(list(everything) == SECTIONS,
          f"--json has the sections {list(everything)}, expected {SECTIONS}")
    check(everything["version"]["name"] == "Steppe", "the section version lacks the name Steppe")
    check(everything["topology"]["threads"] >= 1, "the section topology reports no processor")
    check({"tree", "doubling", "shares"} <= set(everything["collectives"]["reduce"].split(", ")),
          f"the algorithms of reduce lack tree, doubling or shares: {everything['collectives']}")
    kinds = {kind["kind"]: kind for kind in everything["memory"]["kinds"]}
    check(list(kinds) == KINDS, f"the kinds of memory are {list(kinds)}, expected {KINDS}")
    check(kinds["cpu"]["usable"] is True,
          "the section memory reports that host memory is not usable")
    providers = everything["providers"]
    if "offered" in providers:
        check(all(row["reason"] for row in providers["offered"]),
              "the section providers has a provider without a reason")
        used = [row for row in providers["offered"] if row["used"]]
        check(bool(used) == providers["usable"],
              "providers: usable must be true if and only if a provider is used")
    else:
        check(providers["why_not"], "the section providers has neither providers nor a reason")


def check_launcher():
    told = report("launcher", env={b"SHMEM_PMI": b"single"})["launcher"]
    check(told["client"] == "single" and told["why"] == "SHMEM_PMI=single",
          f"launcher with SHMEM_PMI=single: {told}")
    check(told["libpmix"] is True or told["libpmix_why_not"],
          f"launcher with SHMEM_PMI=single: {told}")
    told = json.loads(job(1, "--json", "launcher", env={b"SHMEM_PMI": b"auto"}))["launcher"]
    check(told["client"] in ("pmi1", "pmi2", "pmix"),
          f"launcher of a job: expected the client pmi1, pmi2 or pmix: {told}")


def check_environment():
    value = b'quote " backslash \\ tab \t bytes \xff\xc3\xa9\xed\xa0\x80 \xf0\x9f\x90\x8e'
    rows = report("environment", env={b"SHMEM_OFI_DOMAIN": value, b"SHMEM_SYMMETRIC_SIZE": b"3m"})
    check(list(rows) == ["environment"],
          "environment was requested, but other sections were printed")
    variables = {row["name"]: row for row in rows["environment"]["variables"]}
    domain = variables["SHMEM_OFI_DOMAIN"]
    check(domain["set"] and "\u00e9" in domain["value"] and "\U0001f40e" in domain["value"],
          f"SHMEM_OFI_DOMAIN must be set and keep its valid characters: {domain}")
    check(variables["SHMEM_SYMMETRIC_SIZE"]["set"],
          "SHMEM_SYMMETRIC_SIZE is set, but reported as not set")
    check(not variables["SHMEM_NODE"]["set"] or b"SHMEM_NODE" in os.environb,
          "SHMEM_NODE is not set, but reported as set")
    check(all(row["help"] for row in variables.values()),
          "the section environment has a variable without a help text")


def check_command_line():
    check(list(report("memory", "version")) == ["version", "memory"],
          "`memory version` must print the sections version and memory")
    status, out, _ = run("version")
    check(status == 0 and b"OpenSHMEM 1.6" in out,
          f"`version` must exit with 0 and print OpenSHMEM 1.6: {status}: {out!r}")
    for wrong in (["--no-such-option"], ["no-such-section"], ["version", "no-such-section"], [""]):
        status, out, err = run(*wrong)
        check(status == 2 and not out and b"usage" in err,
              f"{wrong}: status {status}, expected 2 and a usage on stderr only: {out!r}")
    closed = subprocess.run(["sh", "-c", 'exec "$0" version >&-', sys.argv[1]], check=False,
                            stdin=subprocess.DEVNULL, capture_output=True, text=True)
    check(closed.returncode == 1 and "oshinfo: " in closed.stderr,
          f"with a closed standard output: status {closed.returncode}, expected 1: {closed.stderr}")
    status, out, _ = run("--help")
    named = SECTIONS + ["spaces", "doctor"]
    check(status == 0 and all(name.encode() in out for name in named),
          f"--help must exit with 0 and name all sections: status {status}: {out!r}")


def job(n, *args, env=None):
    """Output of oshinfo as a job of n PEs, by the oshrun beside it."""
    oshrun = os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "oshrun")
    command = [oshrun, "-n", str(n), sys.argv[1], *args]
    done = subprocess.run(["timeout", "-k", "5", "60", *command], stdin=subprocess.DEVNULL,
                          env={**os.environb, **(env or {})}, capture_output=True)
    check(done.returncode == 0,
          f"{n} PEs, {args}: status {done.returncode}, expected 0: {done.stderr!r}")
    check(not done.stderr, f"{n} PEs, {args}: stderr must be empty: {done.stderr!r}")
    return done.stdout.decode("utf-8")


def spaces_by_kind(text, n):
    told = json.loads(text)
    check(list(told) == ["spaces"], f"spaces was requested, but printed are {list(told)}")
    check(told["spaces"]["pes"] == n, f"spaces reports {told['spaces']['pes']} PEs instead of {n}")
    return {kind["kind"]: kind for kind in told["spaces"]["kinds"]}


def numbers(text):
    """The PEs of "0-2, 5"."""
    for part in text.split(", "):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def matrix(rows, n):
    """The path from each PE to each, from rows that PEs share."""
    paths = [[None] * n for _ in range(n)]
    for row in rows:
        for a in numbers(row["from"]):
            for path, to in row.items():
                for b in numbers(to) if path != "from" else ():
                    paths[a][b] = path
    return paths


def check_kind(kind, members, n, way):
    """Members are those given, they reach each other by way, and nobody else is reached."""
    name = kind["kind"]
    check(kind["members"] == len(members) and kind["usable"] == bool(members),
          f"{name}: expected the members {list(members)}: {kind}")
    if len(members) < n:
        check(all(row["why"] for row in kind["without"]),
              f"{name}: a PE without this memory has no reason: {kind['without']}")
    if members:
        wanted = [[way if a in members and b in members else "none" for b in range(n)]
                  for a in range(n)]
        check(matrix(kind["paths"], n) == wanted,
              f"{name}: the paths are {kind['paths']}, expected {wanted}")
        check({"rma", "atomics", "collectives"} <= set(kind["capabilities"]),
              f"{name}: a capability is missing: {kind}")
        check(("world_access" in kind["capabilities"]) == (len(members) == n),
              f"{name}: world_access must be listed if and only if all PEs are members: {kind}")
        check(all(row["where"] for row in kind["parts"]),
              f"{name}: a part has no place: {kind['parts']}")


def check_attributes(kind, atomics, attributes, lacks=None):
    """What spaces of a kind may have, who does atomics on them, and (attribute, PE, words)."""
    name = kind["kind"]
    check(kind["atomics"] == atomics, f"{name}: atomics are {kind['atomics']}, expected {atomics}")
    check(kind["attributes"] == attributes.split(),
          f"{name}: attributes are {kind['attributes']}, expected {attributes}")
    told = [(row["attribute"], row["pe"], row["why"]) for row in kind.get("not_here", [])]
    if lacks is None:
        check(not told, f"{name}: all attributes must be available, but not: {told}")
    else:
        check(len(told) == 1 and told[0][:2] == lacks[:2] and lacks[2] in told[0][2],
              f"{name}: unavailable attributes are {told}, expected {lacks}")


def check_hbm(clean):
    """On a host whose node 0 is called HBM; and where hwloc was told of another host."""
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "topology")
    told = {**clean, b"HWLOC_XMLFILE": os.fsencode(os.path.join(folder, "here.xml"))}
    del told[b"HWLOC_SYNTHETIC"]
    kind = spaces_by_kind(job(2, "--spaces", "--json", env=told), 2)["hbm"]
    check_kind(kind, [0, 1], 2, "load/store")
    check(kind["parts"][0]["where"].startswith("HBM, NUMA node 0, "),
          f"hbm: the first part must be on NUMA node 0: {kind['parts']}")
    check(kind["devices"][0]["numa_node"] == 0,
          f"hbm: the first device must be NUMA node 0: {kind['devices']}")
    check_attributes(kind, "host", "max_size page_size numa_node",
                     ("pinned", 0, "SHMEM_GPU is off"))
    told[b"HWLOC_XMLFILE"] = os.fsencode(os.path.join(folder, "knl.xml"))
    told[b"HWLOC_THISSYSTEM"] = b"0"
    kind = spaces_by_kind(job(1, "--spaces", "--json", env=told), 1)["hbm"]
    check_kind(kind, [], 1, "none")
    check("another host" in kind["without"][0]["why"],
          f"hbm: the reason must name another host: {kind['without']}")


def check_fabric(clean, fake):
    """Why the fabric does not take device memory: not offered, no endpoint with it, or it does."""
    shim = os.path.join(fake, "../provider/libprovshim.so")
    if not os.path.exists(os.path.join(fake, "libcuda.so.1")) or not os.path.exists(shim):
        return
    for extra, way, says in (
            ({b"SHMEM_OFI_PROVIDER": b"tcp"}, "staged", "does not support device memory"),
            ({b"LD_PRELOAD": os.fsencode(shim), b"PROVSHIM": b"hmem,hmem_no_endpoint"}, "staged",
             "tcp;ofi_rxm cannot open an endpoint: staged"),
            ({b"LD_PRELOAD": os.fsencode(shim), b"PROVSHIM": b"hmem"}, "fabric", None)):
        env = {b"SHMEM_OFI_PROVIDER": b"tcp;ofi_rxm", **clean, b"SHMEM_GPU": b"on",
               b"LD_LIBRARY_PATH": os.fsencode(fake), b"SHMEM_NODE": b"off", **extra}
        kind = spaces_by_kind(job(2, "--spaces", "--json", env=env), 2)["gpu"]
        check(matrix(kind["paths"], 2)[0][1] == way,
              f"gpu over the fabric: the paths are {kind['paths']}, expected {way}")
        told = kind.get("fabric")
        check(told == says or says and told and says in told,
              f"gpu over the fabric: the reason is {told}, expected {says}")


def check_spaces():
    fake = os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "../lib/fakecuda")
    clean = {b"SHMEM_FAM_PATH": b"", b"SHMEM_GPU": b"off", b"SHMEM_NODE": b"on",
             b"HWLOC_SYNTHETIC": b"node:2 pu:2", b"HWLOC_THISSYSTEM": b"1"}
    for n in (1, 3):
        kinds = spaces_by_kind(job(n, "--json", "--spaces", env=clean), n)
        check(list(kinds) == KINDS, f"the kinds of memory are {list(kinds)}, expected {KINDS}")
        check_kind(kinds["cpu"], range(n), n, "load/store")
        check_attributes(kinds["cpu"], "host", "max_size page_size numa_node numa_policy buffer",
                         ("pinned", 0, "SHMEM_GPU is off"))
        for name in ("gpu", "hbm", "fam"):
            check_kind(kinds[name], [], n, "none")
        why = kinds["hbm"]["without"][0]["why"]
        check(why.startswith("no NUMA node has high bandwidth (nodes: 2):"),
              f"hbm: the reason must count the 2 NUMA nodes: {why}")
    check_hbm(clean)
    check_fabric(clean, fake)
    with tempfile.TemporaryDirectory() as folder:
        rich = {**clean, b"SHMEM_FAM_PATH": os.fsencode(folder), b"SHMEM_GPU": b"on",
                b"LD_LIBRARY_PATH": os.fsencode(fake), b"FAKECUDA_RANKS": b"0,2"}
        kinds = spaces_by_kind(job(3, "spaces", "--json", env=rich), 3)
        check_kind(kinds["fam"], range(3), 3, "load/store")
        check_attributes(kinds["fam"], "host", "name")
        if os.path.exists(os.path.join(fake, "libcuda.so.1")):
            check_kind(kinds["gpu"], [0, 2], 3, "device")
            check_attributes(kinds["gpu"], "owner", "buffer")
            pinned = ("pinned", 1, "no device")  # all have to have it
            check_attributes(kinds["cpu"], "host",
                             "max_size page_size numa_node numa_policy buffer", pinned)
        text = job(3, "--spaces", env=rich)
        check(text.count("cpu\n") == 1, "spaces of 3 PEs must be printed once")
        check(max(map(len, text.splitlines())) <= 80,
              "spaces prints a line of more than 80 columns")
        text = job(26, "--spaces", env=clean)
        check(re.search(r"from PE 0-25\n *load/store +0-25$", text, re.M) is not None,
              "spaces must print the paths of 26 PEs as ranges")
        check(not os.listdir(folder), f"oshinfo left files in SHMEM_FAM_PATH: {os.listdir(folder)}")
    status, out, _ = run("--json", "--spaces", env=clean)
    check(status == 0, f"--spaces without a launcher: status {status}, expected 0")
    check_kind(spaces_by_kind(out, 1)["cpu"], [0], 1, "load/store")


# ---- the doctor ----------------------------------------------------------------------------

HEALTHS = ["ok", "note", "warning", "problem"]
# What the one who runs this may have set must not decide.
PLAIN = {b"SHMEM_PMI": b"single", b"SHMEM_NODE": b"on", b"SHMEM_SYMMETRIC_SIZE": b"64m"}
WISHES = (b"PROVIDER", b"FABRIC", b"DOMAIN", b"INTERFACE")


def limit(which, value):
    """For a child: lower a limit, the hard one too."""
    return lambda: resource.setrlimit(which, (value, value))


def doctor(env=None, before=None, wrap=()):
    """Exit status and checks by name of the doctor in a process of its own."""
    full = {**os.environb, **PLAIN, **(env or {})}
    for wish in WISHES:
        if b"SHMEM_OFI_" + wish not in (env or {}):
            full.pop(b"SHMEM_OFI_" + wish, None)
    done = subprocess.run([*wrap, sys.argv[1], "--json", "--doctor"], env=full, timeout=60,
                          stdin=subprocess.DEVNULL, capture_output=True, preexec_fn=before)
    told = json.loads(done.stdout.decode("utf-8"))["doctor"]
    check_doctor(told, done.returncode)
    return done.returncode, {row["check"]: row for row in told["checks"]}


def check_doctor(told, status):
    """What holds of every report: complete rows, and counts and status that agree with them."""
    rows = told["checks"]
    check(all(row["status"] in HEALTHS and row["found"] and row["why"] for row in rows),
          f"doctor: a check lacks a valid status, found or why: {rows}")
    check(all(row["do"] for row in rows if row["status"] == "problem"),
          "doctor: a check with the status problem has no advice (do)")
    for status_name in ("warning", "problem"):
        n = sum(row["status"] == status_name for row in rows)
        check(told[status_name + "s"] == n,
              f"doctor: {n} {status_name}s, but the report counts {told[status_name + 's']}")
    check(status == (3 if told["problems"] else 0),
          f"doctor: status {status}, but {told['problems']} problems: {told['verdict']}")
    check("missing" not in told, f"doctor: the report is incomplete: {told.get('missing')}")


def expect(rows, name, healths, *words, field="found"):
    row = rows.get(name)
    check(row is not None and row["status"] in healths.split() and
          all(word in str(row[field]) for word in words),
          f"doctor: {name}: expected {healths} with {words} in {field}, got {row}")


def doctor_of_this_host():
    """As things are: every topic is looked at, and the providers are those of the other section."""
    _, rows = doctor()
    for name in ("launcher", "node sharing", "fabric", "libfabric", "interfaces",
                 "interface choice", "locked memory", "descriptors", "threads", "/dev/shm", "gpu",
                 "memory", "address space"):
        check(name in rows, f"doctor: the check '{name}' is missing")
    listed = {row["provider"] for row in report("providers", env=PLAIN)["providers"]["offered"]}
    told = {name.split(" ", 1)[1] for name in rows if name.startswith("provider ")}
    check(told == listed,
          f"doctor: the providers are {told}, but the section providers lists {listed}")
    expect(rows, "node sharing", "ok note", "can open the memory of this process: yes")
    status, out, _ = run("doctor", env=PLAIN)
    check(status in (0, 3) and out.rstrip().splitlines()[-1].startswith(b"  verdict"),
          f"doctor: the last line must be the verdict: {out[-200:]!r}")
    full = run("--doctor", "--verbose", env=PLAIN)[1].decode()
    check(max(map(len, full.splitlines())) <= 100,
          "doctor: --verbose prints a line of more than 100 columns")
    check("ok: launcher" in full, "doctor: --verbose must print checks that are ok")
    short = out.decode()
    check("ok: " not in short and "note: " not in short and "--verbose" in short and
          len(short) < len(full) / 2, f"doctor: without --verbose no ok and no note may be "
                                      f"printed: {short}")
    return rows


def doctor_of_wishes():
    status, rows = doctor({b"SHMEM_OFI_PROVIDER": b"nosuch"})
    check(status == 3, f"doctor: a provider that does not exist: status {status}, expected 3")
    expect(rows, "fabric", "problem", "nosuch")
    expect(rows, "fabric", "problem", "unset SHMEM_OFI_PROVIDER", field="do")
    expect(rows, "provider tcp;ofi_rxm", "note", "SHMEM_OFI_PROVIDER")
    status, rows = doctor({b"SHMEM_SYMETRIC_SIZE": b"1g", b"SHMEM_CC": b"cc"})
    expect(rows, "variables", "warning", "SHMEM_SYMETRIC_SIZE (did you mean SHMEM_SYMMETRIC_SIZE?)")
    check("SHMEM_CC" not in rows["variables"]["found"],
          "doctor: SHMEM_CC is a known variable, but the doctor warns of it")
    status, rows = doctor({b"SHMEM_OFI_INTERFACE": b"nosuch0", b"SHMEM_OFI_PROVIDER": b"tcp"})
    check(status == 3, f"doctor: an interface that does not exist: status {status}, expected 3")
    expect(rows, "interface choice", "problem", "nosuch0", "no interface")
    expect(rows, "interface choice", "problem", "SHMEM_OFI_INTERFACE", field="do")
    status, rows = doctor({b"SHMEM_SYMMETRIC_SIZE": b"64t"})
    check(status == 3, f"doctor: a heap of 64 TiB: status {status}, expected 3")
    expect(rows, "memory", "problem", "64 TiB")
    expect(rows, "memory", "problem", "SHMEM_SYMMETRIC_SIZE=", field="do")
    status, rows = doctor({b"SHMEM_PMI": b"auto", b"PMI_FD": b"999"})
    check(status == 3, f"doctor: a launcher that is gone: status {status}, expected 3")
    expect(rows, "launcher", "problem", "PMI_FD=999")
    for env, status_name in ({}, "problem"), ({b"SHMEM_LAUNCHER": b"mine"}, "ok"), \
                            ({b"SHMEM_PMI": b"single"}, "ok"):
        status, rows = doctor({b"SHMEM_PMI": b"auto", b"PATH": b"/nosuch", **env})
        check((env or status == 3) and rows["launcher"]["status"] == status_name,
              f"doctor: no launcher in PATH, {env}: status {status}: {rows['launcher']}")
        if not env:
            expect(rows, "launcher", "problem", "mpiexec.hydra", "srun", "mpirun")
    batch = {b"SHMEM_PMI": b"auto", b"SLURM_JOB_ID": b"7", b"SLURM_PROCID": b"0",
             b"SLURM_NTASKS": b"4"}
    _, rows = doctor(batch)
    check(rows["launcher"]["status"] == "ok",
          f"doctor: a script of sbatch must be ok: {rows['launcher']}")
    _, rows = doctor({**batch, b"SLURM_STEP_ID": b"0"})
    check(rows["launcher"]["status"] == "problem",
          f"doctor: srun --mpi=none must be a problem: {rows['launcher']}")


def told_at_start():
    """PE 0 warns of what has no effect, of a provider too that one node does not need."""
    env = {**PLAIN, b"SHMEM_GPU": b"off", b"SHMEM_SYMETRIC_SIZE": b"1g"}
    for name, told in ((b"nosuch", b"name that no provider of libfabric has;"), (b"tcp", b""),
                       (b"^tpc", b"has (did you mean tcp?);"), (b"TCP;ofi_rxm", b"")):
        status, _, err = run("--spaces", env={**env, b"SHMEM_OFI_PROVIDER": name})
        check(status == 0 and told in err and (b"name that no provider" in err) == bool(told),
              f"start with SHMEM_OFI_PROVIDER={name}: status {status}, warning expected: {told}: "
              f"{err}")
    check(err.count(b"SHMEM_SYMETRIC_SIZE is set") == 1,
          f"start: expected one warning about SHMEM_SYMETRIC_SIZE: {err}")


def doctor_of_left_files():
    """A file of a process that has ended is listed, and the printed command removes only this file."""
    ended = subprocess.Popen(["true"])
    ended.wait()
    uid = os.geteuid()
    left, held = f"{ended.pid}:{uid}:7", f"{os.getpid()}:{uid}:7"
    wrap = ["unshare", "--mount", *(["--map-root-user"] if uid else []), "sh", "-c",
            f"mount -t tmpfs none /dev/shm && cd /dev/shm && touch {left} {held} && \"$@\"", "sh"]
    if subprocess.run([*wrap, "true"], capture_output=True, check=False).returncode != 0:
        print("not tried: files that remain in /dev/shm (unshare --mount is not allowed)")
        return
    _, rows = doctor(wrap=wrap)
    expect(rows, "files in /dev/shm", "warning", f"left by processes that have ended: {left}")
    command = rows["files in /dev/shm"]["do"]
    names = subprocess.run([*wrap, "sh", "-c", command + "; ls"], capture_output=True, text=True,
                           check=True).stdout.split()
    check(names == [held], f"doctor: '{command}' must remove {left} only, but {names} remain")


def told_of_wrong_provider():
    """A job that needs a fabric says in few lines that no provider has the name, and a similar one."""
    if "offered" not in report("providers")["providers"]:
        return
    oshrun = os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "oshrun")
    done = subprocess.run(
        ["timeout", "-k", "5", "60", oshrun, "-n", "2", sys.argv[1], "--spaces"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        env={**os.environ, "SHMEM_NODE": "off", "SHMEM_OFI_PROVIDER": "tpc", "SHMEM_GPU": "off"})
    lines = [line for line in done.stderr.splitlines() if line.startswith("steppe: pe 0")]
    check(done.returncode != 0 and len(lines) <= 3 and "(did you mean tcp?)" in done.stderr,
          f"a job with SHMEM_OFI_PROVIDER=tpc: status {done.returncode}, expected a failure with "
          f"at most 3 lines of PE 0 that propose tcp: {done.stderr}")


def old_libfabric():
    """A libfabric that is too old for the fabric module: job and doctor give both versions."""
    with tempfile.TemporaryDirectory() as folder:
        library, nodes = os.path.join(folder, "libfabric.so.1"), os.path.join(folder, "nodes.map")
        with open(nodes, "w", encoding="ascii") as out:
            out.write("FABRIC_1.0 { global: fi_version; local: *; };\n")
        built = subprocess.run(
            ["cc", "-shared", "-fPIC", "-Wl,-soname,libfabric.so.1,--version-script=" + nodes,
             "-x", "c", "-", "-o", library], text=True, check=False, capture_output=True,
            input="unsigned fi_version(void) { return 1u << 16 | 5; }\n")
        if built.returncode != 0:
            print(f"not tried: an old libfabric ({built.stderr})")
            return
        found = f"libfabric 1.5 ({library}) was found, but the module was built with libfabric "
        status, rows = doctor({b"LD_LIBRARY_PATH": folder.encode()})
        check(status == 3, f"doctor: an old libfabric: status {status}, expected 3")
        expect(rows, "fabric", "problem", found, "and needs its FABRIC_1.")
        expect(rows, "fabric", "problem", "LD_LIBRARY_PATH, or build Steppe again", field="do")
        oshrun = os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "oshrun")
        done = subprocess.run(
            ["timeout", "-k", "5", "60", oshrun, "-n", "2", sys.argv[1], "--spaces"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
            env={**os.environ, "SHMEM_NODE": "off", "SHMEM_GPU": "off", "LD_LIBRARY_PATH": folder})
        check(done.returncode != 0 and found in done.stderr and "; install libfabric" in done.stderr,
              f"a job with an old libfabric: status {done.returncode}: {done.stderr}")


def doctor_of_limits(healthy):
    status, rows = doctor(before=limit(resource.RLIMIT_NOFILE, 12))
    check(status == 3, f"doctor: 12 descriptors: status {status}, expected 3")
    expect(rows, "descriptors", "problem", "ulimit -n: 12")
    expect(rows, "descriptors", "problem", "ulimit -n 4096", field="do")
    expect(rows, "provider tcp;ofi_rxm", "warning", "too few file descriptors")
    expect(rows, "provider tcp;ofi_rxm", "warning", "ulimit -n", field="do")
    _, rows = doctor(before=limit(resource.RLIMIT_NOFILE, 16))
    expect(rows, "descriptors", "warning problem", "ulimit -n: 16")
    _, rows = doctor(before=limit(resource.RLIMIT_MEMLOCK, 65536))
    if "exempt" in rows["locked memory"]["found"]:
        expect(rows, "locked memory", "ok", "64 KiB", "CAP_IPC_LOCK")
    else:
        expect(rows, "locked memory", "note warning problem", "64 KiB")
        expect(rows, "locked memory", "note warning problem", "ulimit -l unlimited", field="do")
    if "ASAN_OPTIONS" in os.environ:
        print("not tried: 700 MiB of addresses (the sanitizer needs more)")
    elif "ulimit -v: unlimited" in healthy["address space"]["found"]:
        status, rows = doctor({b"SHMEM_SYMMETRIC_SIZE": b"512m"},
                              before=limit(resource.RLIMIT_AS, 700 << 20))
        check(status == 3, f"doctor: 700 MiB of addresses: status {status}, expected 3")
        expect(rows, "address space", "problem", "700 MiB")
        expect(rows, "address space", "problem", "ulimit -v unlimited", field="do")
    status, rows = doctor(before=limit(resource.RLIMIT_FSIZE, 1 << 20))
    check(status == 3, f"doctor: files of at most 1 MiB: status {status}, expected 3")
    expect(rows, "address space", "problem", "ulimit -f: 1 MiB")


def doctor_without_network():
    wrap = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--net", "--map-root-user"]
    if not shutil.which("unshare") or \
            subprocess.run([*wrap, "true"], capture_output=True, check=False).returncode != 0:
        print("not tried: a host without interfaces (unshare --net is not allowed)")
        return
    _, rows = doctor(wrap=wrap)
    expect(rows, "interfaces", "warning", "no interface except loopback is up and has an address")
    expect(rows, "interfaces", "warning", "ip link set", field="do")
    expect(rows, "provider tcp;ofi_rxm", "warning", "Network is unreachable")
    expect(rows, "provider tcp;ofi_rxm", "warning", "ip link set", field="do")
    expect(rows, "fabric", "warning problem")


def doctor_of_hidden_memory():
    """A process that is not dumpable: others may not open its memory, unless they are root."""
    wrap = []
    with tempfile.TemporaryDirectory() as folder:
        library = os.path.join(folder, "hide.so")
        built = subprocess.run(
            ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", library], text=True, check=False,
            input="#include <sys/prctl.h>\n__attribute__((constructor)) static void hide(void)\n"
                  "{ prctl(PR_SET_DUMPABLE, 0); }\n", capture_output=True)
        os.chmod(folder, 0o755)
        if os.geteuid() == 0:
            wrap = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--reuid=65534",
                    "--regid=65534", "--clear-groups"]
        can = subprocess.run([*wrap, "env", "LD_PRELOAD=" + library, sys.argv[1], "--version"],
                             capture_output=True, check=False) if built.returncode == 0 else built
        if can.returncode != 0 or can.stderr:
            print(f"not tried: a process that hides its memory ({can.stderr!r})")
            return
        status, rows = doctor(wrap=[*wrap, "env", "LD_PRELOAD=" + library])
    check(status == 3, f"doctor: hidden memory: status {status}, expected 3")
    expect(rows, "node sharing", "problem", "Permission denied", "dumpable: 0")
    expect(rows, "node sharing", "problem", "SHMEM_NODE=off", field="do")


def doctor_of_a_job():
    env = {**PLAIN, b"SHMEM_PMI": b"auto"}
    told = json.loads(job(3, "--json", "doctor", env=env))["doctor"]
    check_doctor(told, 3 if told["problems"] else 0)
    rows = {row["check"]: row for row in told["checks"]}
    check(told["pes"] == 3 and told["hosts"] == 1,
          f"doctor: expected 3 PEs on 1 host: {told['verdict']}")
    expect(rows, "launcher", "ok", "3 PEs on 1 host", "fragments of at most")
    expect(rows, "node sharing", "ok note", "PE 0 opened the memory of 2 of 2 other PEs")
    rows = {row["check"]: row for row in json.loads(
        job(2, "--json", "doctor", env={**env, b"SHMEM_PMI": b"1"}))["doctor"]["checks"]}
    expect(rows, "launcher", "ok", "pmi1", "keys may have 64 characters and its values 1024")


def doctor_of_two_hosts():
    """The first PE of each host prints what that host found, and has a status of its own."""
    hosts = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hosts", "hosts.py")
    done = subprocess.run(
        ["timeout", "-k", "5", "100", sys.executable, hosts, "--pes", "1,1", "--host-env",
         "1:SHMEM_OFI_PROVIDER=nosuch", os.path.abspath(sys.argv[1]), "--doctor", "--verbose"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode == 77:
        print("not tried: a job on two hosts: " + done.stdout.strip())
        return
    rows = [" ".join(row.split()) for row in done.stdout.splitlines()]
    check(done.returncode == 3,
          f"doctor: two hosts: status {done.returncode}, expected 3: {done.stderr}")
    starts = [i for i, row in enumerate(rows) if row == "doctor-verbose"]
    blocks = {rows[at + 1]: rows[at:end] for at, end in zip(starts, starts[1:] + [len(rows)])}
    check(sorted(blocks) == ["host h0", "host h1"],
          f"doctor: two hosts: reports of {sorted(blocks)}, expected h0 and h1")
    for host, words in (("host h0", ["hosts 2", "ok: fabric", "problems 0"]),
                        ("host h1", ["hosts 2", "problem: fabric"])):
        told = blocks.get(host, [])
        check(all(word in told for word in words),
              f"doctor: two hosts: the report of {host} lacks one of {words}: {told}")
        check("10.77.0." in " ".join(told) and "reaches all hosts" in " ".join(told),
              f"doctor: two hosts: the report of {host} names no network that reaches all hosts")


def check_doctors():
    healthy = doctor_of_this_host()
    # psm3 of libfabric 2 takes seconds to close an endpoint, so only the first doctor tests it.
    os.environb.setdefault(b"FI_PROVIDER", b"^psm3")
    doctor_of_wishes()
    doctor_of_left_files()
    told_at_start()
    told_of_wrong_provider()
    if "offered" in report("providers")["providers"]:
        old_libfabric()
    doctor_of_limits(healthy)
    doctor_without_network()
    doctor_of_hidden_memory()
    doctor_of_a_job()
    doctor_of_two_hosts()


check_all()
check_launcher()
check_environment()
check_command_line()
check_spaces()
check_doctors()
print("\n".join(failures) or "oshinfo: all checks passed")
sys.exit(bool(failures))
