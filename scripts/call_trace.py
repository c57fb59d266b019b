#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Which functions an operation enters on PE 0 of two, inline ones too.

usage: call_trace.py put|put_signal|get|reduce|space_create NBYTES [gpu] [VARIABLE=VALUE...]
  gpu              the object is in a space of GPU memory; the stand-in for the driver serves it
  VARIABLE=VALUE   for the job: SHMEM_NODE=off SHMEM_OFI_PROVIDER=tcp

Builds in build-trace, without optimization. Marks a function with * when a parameter is the address
of the symmetric object or what it was located as, and with r when it is the request of the fabric
module; prints how many there are from the routine of the API to the first call of libfabric.
docs/design/life-of-a-put.md says what they do. Of collectives all functions to their end are listed,
once each, with the number of files they are in.
"""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, "build-trace")
TARGET = re.compile(r"\b(dest|source|addr|sig_addr|target|word|offset|place|items?|load)\b")
DEFINITION = re.compile(r"^[A-Za-z_].*?\b(\w+)\(([^;{}]*?)\)\n\{", re.M)
SOURCE = re.compile(r"(const )?(void|char) \*source\b|source_")  # of a put: a buffer of the caller


def build():
    quiet = {"stdout": subprocess.DEVNULL, "check": True}
    subprocess.run(["cmake", "-S", ROOT, "-B", BUILD, "-DCMAKE_BUILD_TYPE=Debug",
                    "-DCMAKE_C_FLAGS=-O0 -g -finstrument-functions -Wno-format-truncation"], **quiet)
    subprocess.run(["cmake", "--build", BUILD, "-j", str(os.cpu_count()), "--target", "steppe",
                    "steppe_ofi", "steppe_supervisor", "fakecuda"], **quiet)
    subprocess.run([os.path.join(BUILD, "bin", "oshcc"), "-g", "-rdynamic",
                    os.path.join(ROOT, "test", "trace", "call_trace.c"), "-ldl", "-o",
                    os.path.join(BUILD, "call_trace")], check=True)


def run(arguments, variables):
    env = dict(os.environ, **dict(variable.split("=", 1) for variable in variables))
    if "gpu" in arguments:
        env["LD_LIBRARY_PATH"] = os.path.join(BUILD, "lib", "fakecuda")
    done = subprocess.run([os.path.join(BUILD, "bin", "oshrun"), "-n", "2",
                           os.path.join(BUILD, "call_trace"), *arguments], env=env, text=True,
                          stdout=subprocess.PIPE, check=True)
    return [line.split() for line in done.stdout.splitlines()]


def functions(calls):
    """(file, address) -> name and place in the sources, by debug information."""
    found = {}
    for file in {call[1] for call in calls}:
        addresses = sorted({call[2] for call in calls if call[1] == file})
        lines = subprocess.run(["addr2line", "-f", "-e", file, *addresses], text=True, check=True,
                               stdout=subprocess.PIPE).stdout.splitlines()
        for i, address in enumerate(addresses):
            found[file, address] = lines[2 * i], lines[2 * i + 1]
    return found


def definitions():
    """name of a function -> what stands between the parentheses where it is defined."""
    found = {}
    for folder in ("base", "src", "spaces", "transport", "pmi"):
        for path, _, files in os.walk(os.path.join(ROOT, folder)):
            for name in files:
                if name.endswith((".c", ".h")):
                    with open(os.path.join(path, name), encoding="utf-8") as file:
                        text = re.sub(r"__attribute__\(\(.*?\)\) ?", "", file.read())
                    found.update(DEFINITION.findall(text))
    return found


def print_all(known):
    """Of a collective: each function once, with its file."""
    ours = sorted({(os.path.relpath(place.rsplit(":", 1)[0], ROOT), name)
                   for name, place in known.values()
                   if place.startswith(ROOT + os.sep) and f"{os.sep}test{os.sep}" not in place})
    for file, name in ours:
        print(f"{file}  {name}")
    print(f"{len(ours)} functions in {len({file for file, _ in ours})} files")


def main():
    variables = [argument for argument in sys.argv[1:] if "=" in argument]
    arguments = [argument for argument in sys.argv[1:] if "=" not in argument]
    collective = arguments[:1] in (["reduce"], ["space_create"])
    if len(arguments) not in (2, 3) or not collective and arguments[0] not in ("put", "put_signal",
                                                                               "get"):
        sys.exit(__doc__)
    build()
    calls = run(arguments, variables)
    known = functions(calls)
    have = definitions()
    if collective:
        print_all(known)
        return
    marked = {"*": set(), "r": set(), " ": set()}
    for depth, file, address in calls:
        name, place = known[file, address]
        if name.startswith("fi_"):
            print("   " + "  " * int(depth) + name)
            break
        if f"{os.sep}test{os.sep}" in place:
            continue
        names = have.get(name, "")
        if arguments[0] != "get":
            names = SOURCE.sub("", names)
        mark = "*" if TARGET.search(names) else "r" if "stp_ofi_req *req" in names else " "
        marked[mark].add(name)
        print(mark + "  " + "  " * int(depth) + name + "  " +
              os.path.relpath(place.rsplit(":", 1)[0], ROOT))
    print(f"functions called after the API routine: {sum(map(len, marked.values()))}; with the object as "
          f"an argument: {len(marked['*'])}; only with the request: {len(marked['r'])}")


if __name__ == "__main__":
    main()
