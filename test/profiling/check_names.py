#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check the names that the public headers bring into a program.

usage: check_names.py SOURCE

shmem.h: routines that begin with shmem_ and old ones, constants from the list below, generics, and
what begins with shmem_impl_ or SHMEM_IMPL_. pshmem.h adds twins, shmemx.h names that begin with
shmemx_ or SHMEMX_ and their twins. Nothing else. Needs cc.
"""
import os
import re
import subprocess
import sys

# Chapters 6 and 7 of the standard, then the spaces proposal.
SUFFIXES = """MAJOR_VERSION MINOR_VERSION MAX_NAME_LEN VENDOR_STRING CMP_EQ CMP_NE CMP_LT CMP_LE
    CMP_GT CMP_GE SYNC_VALUE BARRIER_SYNC_SIZE BCAST_SYNC_SIZE COLLECT_SYNC_SIZE REDUCE_SYNC_SIZE
    REDUCE_MIN_WRKDATA_SIZE""".split()
CONSTANTS = {f"{p}SHMEM_{s}" for p in ("", "_") for s in SUFFIXES} | {"SHMEM_" + s for s in """
    THREAD_SINGLE THREAD_FUNNELED THREAD_SERIALIZED THREAD_MULTIPLE SIGNAL_SET SIGNAL_ADD
    MALLOC_ATOMICS_REMOTE MALLOC_SIGNAL_REMOTE TEAM_NUM_CONTEXTS CTX_SERIALIZED CTX_PRIVATE
    CTX_NOSTORE CTX_SESSION_BATCH CTX_SESSION_TOTAL_OPS SYNC_SIZE ALLTOALL_SYNC_SIZE
    ALLTOALLS_SYNC_SIZE TEAM_INVALID TEAM_WORLD TEAM_SHARED CTX_INVALID CTX_DEFAULT
    SPACE_INVALID SPACE_DEFAULT SPACE_CPU SPACE_GPU SPACE_HBM SPACE_FAM TEAM_CPU TEAM_GPU TEAM_HBM
    TEAM_FAM SPACE_FLAG_DEFAULT SPACE_CAP_RMA SPACE_CAP_COLLECTIVES SPACE_CAP_ATOMICS
    SPACE_CAP_DIRECT_ACCESS SPACE_CAP_WORLD_ACCESS SPACE_CAP_IDENT_ADDR DEVICE_CPU DEVICE_GPU
    DEVICE_HBM DEVICE_FAM""".split()}
TYPES = {"shmem_team_t", "shmem_ctx_t", "shmem_team_config_t", "shmem_ctx_session_config_t",
         "shmem_device_type_t", "shmem_space_config_t", "shmem_space_t", "shmem_space_cap_t"}

OLD = "start_pes|_my_pe|_num_pes|shmalloc|shfree|shrealloc|shmemalign"
ROUTINE = {"shmem.h": rf"shmem_(?!impl_)\w+|{OLD}", "pshmem.h": rf"pshmem_\w+|p(?:{OLD})",
           "shmemx.h": r"p?shmemx_\w+"}


def preprocessed(include, header, *options):
    """What header itself says, without the headers that it includes."""
    text = subprocess.run(["cc", "-std=c11", "-E", *options, f"-I{include}",
                           os.path.join(include, header)], check=True, capture_output=True,
                          text=True).stdout
    own, inside = [], False
    for line in text.splitlines():
        mark = re.match(r'# \d+ "(.*?)"', line)
        if mark:
            inside = mark.group(1).endswith("/" + header)
        elif inside:
            own.append(line)
    return "\n".join(own)


def strays(include, header):
    text = preprocessed(include, header, "-dD")
    macros = set(re.findall(r"^#define (\w+)", text, re.M))
    code = re.sub(r"^#.*$", "", text, flags=re.M)
    types = set(re.findall(r"\}\s*(\w+);|typedef [^{};()]*?(\w+);", code))
    types = {name for pair in types for name in pair if name}
    enums = {name for body in re.findall(r"enum \{(.*?)\}", code, re.S)
             for name in re.findall(r"\b([A-Z]\w+)", body)}
    code = re.sub(r"(struct|enum) \{.*?\}", "", code, flags=re.S)
    functions = set(re.findall(r"\b(\w+)\s*\(", code))
    ours = re.compile(r"SHMEM_IMPL_\w+|shmem_impl_\w+|\w*SHMEMX?_H|SHMEMX_\w+|shmemx_\w+_t")
    if header == "shmem.h":
        ours = re.compile(r"SHMEM_IMPL_\w+|shmem_impl_\w+|SHMEM_H")
    bad = {n for n in functions if not re.fullmatch(ROUTINE[header], n)}
    allowed = CONSTANTS | TYPES | (functions if header == "shmem.h" else set())
    generic = re.compile(r"shmem_[a-z]\w*") if header == "shmem.h" else re.compile(r"(?!)")
    bad |= {n for n in macros | types | enums
            if n not in allowed and not ours.fullmatch(n) and not generic.fullmatch(n)}
    return len(functions), len(macros), sorted(bad)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    wrong = 0
    for header in ROUTINE:
        n_functions, n_macros, bad = strays(os.path.join(sys.argv[1], "include"), header)
        print(f"{header}: {n_functions} routines, {n_macros} macros", *bad)
        wrong += len(bad) + (n_functions < 10)
    sys.exit(1 if wrong else 0)


main()
