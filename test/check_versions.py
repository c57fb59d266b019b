#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check that the version nodes of the library do not break old programs and tools.

usage: check_versions.py <cc> <libsteppe.so> <include directory>

A program is linked with a stub that has no version nodes, as before their introduction, and with
the library. Both programs run as one PE, alone and with a preloaded library that defines its own
shmem_putmem without a node, which must replace the library's. Only the second program may
require a version node. Needs readelf.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

STUB = """
void shmem_init(void) {}
void shmem_finalize(void) {}
void shmem_malloc(void) {}
void shmem_putmem(void) {}
"""
PROGRAM = """
#include <shmem.h>
#include <stdio.h>
int main(void)
{
    shmem_init();
    int *to = shmem_malloc(sizeof(int)), from = 7;
    *to = 0;
    shmem_putmem(to, &from, sizeof(from), 0);
    printf("got %d\\n", *to);
    shmem_finalize();
    return 0;
}
"""
TOOL = """
#include <pshmem.h>
void shmem_putmem(void *dest, const void *source, size_t nelems, int pe)
{
    int twice = *(const int *)source * 2;
    pshmem_putmem(dest, nelems == sizeof(twice) ? &twice : source, nelems, pe);
}
"""


def build(cc, text, output, *options):
    subprocess.run([cc, "-w", "-x", "c", "-", "-x", "none", "-o", output, *options], check=True,
                   text=True, input=text)
    return output


def wants_node(program):
    text = subprocess.run(["readelf", "-W", "--dyn-syms", program], check=True, text=True,
                          capture_output=True).stdout
    return "shmem_putmem@STEPPE_" in text


def says(program, library, preload=""):
    """What a program prints, on both streams: the loader's complaints count."""
    env = {**os.environ, "LD_LIBRARY_PATH": str(library.parent), "LD_PRELOAD": str(preload)}
    done = subprocess.run([program], env=env, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
    return f"{done.stdout.strip()}, status {done.returncode}"


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    cc, library, include = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
    soname = re.search(r"SONAME.*\[(.*)\]", subprocess.run(
        ["readelf", "-d", library], check=True, text=True, capture_output=True).stdout)[1]
    headers, faults = f"-I{include}", []
    with tempfile.TemporaryDirectory() as folder:
        top = pathlib.Path(folder)
        stub = build(cc, STUB, top / "stub.so", "-shared", "-fPIC", f"-Wl,-soname,{soname}")
        tool = build(cc, TOOL, top / "tool.so", headers, "-shared", "-fPIC")
        old = build(cc, PROGRAM, top / "old", headers, stub)
        new = build(cc, PROGRAM, top / "new", headers, library)
        if wants_node(old) or not wants_node(new):
            faults.append(f"requires a version node: old program {wants_node(old)} (expected "
                          "False), "
                          f"new program {wants_node(new)} (expected True)")
        for program in (old, new):
            for preload, want in (("", "got 7, status 0"), (tool, "got 14, status 0")):
                found = says(program, library, preload)
                if found != want:
                    faults.append(f"{program.name}, preloaded '{preload}': printed {found}, "
                                  f"expected {want}")
    print("\n".join(faults + [f"2 programs, alone and with a tool: {len(faults)} faults"]))
    sys.exit(1 if faults else 0)


main()
