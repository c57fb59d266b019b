#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check that shmem.h declares all names of OpenSHMEM 1.6 and no others.

usage: check_names.py <compiler> <source directory>

This script derives the names from the types and rules of the standard, independently of the
generator that writes the header: routines, constants, aliases, generics. In addition the header
may have the names of the spaces proposal, names with the prefix SHMEM_IMPL_ or shmem_impl_, and
the few in STEPPE. The functions below have the names of the rules that they check.
"""
import pathlib
import re
import subprocess
import sys

AMO = "int long longlong uint ulong ulonglong int32 int64 uint32 uint64 size ptrdiff".split()
EXT = ["float", "double"] + AMO
BIT = "uint ulong ulonglong int32 int64 uint32 uint64".split()
RMA = ("float double longdouble char schar short int long longlong uchar ushort uint ulong ulonglong "
       "int8 int16 int32 int64 uint8 uint16 uint32 uint64 size ptrdiff").split()
SUM = RMA + ["complexd", "complexf"]
REDUCE_BIT = ("uchar ushort uint ulong ulonglong int8 int16 int32 int64 uint8 uint16 uint32 uint64 "
              "size").split()
OLD = "int long longlong".split()
OLD_EXT = ["float", "double"] + OLD
OLD_REDUCE = "short int long longlong".split()
OLD_ORDER = OLD_REDUCE + "float double longdouble".split()
OLD_SUM = OLD_ORDER + ["complexd", "complexf"]
SIZES = "8 16 32 64 128".split()

SPACES = set("""
    shmem_space_create shmem_space_destroy shmem_space_malloc shmem_space_calloc shmem_space_free
    shmem_space_get_team shmem_space_get_device_type shmem_space_get_caps shmem_get_space
    shmem_team_get_space shmem_team_is_valid shmem_device_type_t shmem_space_config_t shmem_space_t
    shmem_space_cap_t SHMEM_DEVICE_CPU SHMEM_DEVICE_GPU SHMEM_DEVICE_HBM SHMEM_DEVICE_FAM
    SHMEM_SPACE_INVALID SHMEM_SPACE_DEFAULT SHMEM_SPACE_CPU SHMEM_SPACE_GPU SHMEM_SPACE_HBM
    SHMEM_SPACE_FAM SHMEM_TEAM_CPU SHMEM_TEAM_GPU SHMEM_TEAM_HBM SHMEM_TEAM_FAM
    SHMEM_SPACE_FLAG_DEFAULT SHMEM_SPACE_CAP_RMA SHMEM_SPACE_CAP_COLLECTIVES
    SHMEM_SPACE_CAP_ATOMICS SHMEM_SPACE_CAP_DIRECT_ACCESS SHMEM_SPACE_CAP_WORLD_ACCESS
    SHMEM_SPACE_CAP_IDENT_ADDR""".split())

# The old names of constants, and those that never had any (R256, R258).
ALIASED = """MAJOR_VERSION MINOR_VERSION MAX_NAME_LEN VENDOR_STRING CMP_EQ CMP_NE CMP_LT CMP_LE
    CMP_GT CMP_GE SYNC_VALUE BARRIER_SYNC_SIZE BCAST_SYNC_SIZE COLLECT_SYNC_SIZE REDUCE_SYNC_SIZE
    REDUCE_MIN_WRKDATA_SIZE""".split()
CONSTANTS = ALIASED + """THREAD_SINGLE THREAD_FUNNELED THREAD_SERIALIZED THREAD_MULTIPLE
    SIGNAL_SET SIGNAL_ADD MALLOC_ATOMICS_REMOTE MALLOC_SIGNAL_REMOTE TEAM_NUM_CONTEXTS
    CTX_SERIALIZED CTX_PRIVATE CTX_NOSTORE CTX_SESSION_BATCH CTX_SESSION_TOTAL_OPS SYNC_SIZE
    ALLTOALL_SYNC_SIZE ALLTOALLS_SYNC_SIZE TEAM_INVALID TEAM_WORLD TEAM_SHARED CTX_INVALID
    CTX_DEFAULT""".split()
TYPES = "shmem_team_t shmem_ctx_t shmem_team_config_t shmem_ctx_session_config_t".split()

PLAIN = """
    init my_pe n_pes finalize query_initialized global_exit pe_accessible addr_accessible ptr
    team_ptr info_get_version info_get_name init_thread query_thread malloc free realloc align
    malloc_with_hints calloc team_my_pe team_n_pes team_get_config team_translate_pe
    team_split_strided team_split_2d team_destroy ctx_create team_create_ctx ctx_destroy
    ctx_get_team signal_add ctx_signal_add signal_set ctx_signal_set signal_fetch
    signal_wait_until barrier_all team_sync sync_all fence ctx_fence quiet ctx_quiet pe_quiet
    ctx_pe_quiet pcontrol wait wait_until alltoallmem alltoallsmem broadcastmem collectmem
    fcollectmem set_lock clear_lock test_lock ctx_session_start ctx_session_stop""".split()
# Beyond the standard: what Steppe is, and for programs that use these with other libraries.
STEPPE = {f"STEPPE_{part}VERSION" for part in ("", "MAJOR_", "MINOR_", "PATCH_")}
STEPPE |= {f"shmemx_{name}_{wait}_{which}{tail}" for name in ("short", "ushort")
           for wait in ("wait_until", "test") for which in ("all", "any", "some")
           for tail in ("", "_vector")}
NOT_SHMEM = "start_pes _my_pe _num_pes shmalloc shfree shrealloc shmemalign".split()
ACTIVE_SETS = (
    ["barrier", "sync"]
    + [f"{op}{bits}" for op in "alltoall alltoalls broadcast collect fcollect".split()
       for bits in (32, 64)]
    + [f"{name}_{op}_to_all" for name in OLD_REDUCE for op in ("and", "or", "xor")]
    + [f"{name}_{op}_to_all" for name in OLD_ORDER for op in ("max", "min")]
    + [f"{name}_{op}_to_all" for name in OLD_SUM for op in ("sum", "prod")])
TYPED = [  # with a form for contexts: types, operations
    (RMA, "put p iput ibput get g iget ibget put_nbi get_nbi put_signal put_signal_nbi"),
    (EXT, "atomic_fetch atomic_set atomic_swap atomic_fetch_nbi atomic_swap_nbi"),
    (AMO, "atomic_compare_swap atomic_fetch_inc atomic_inc atomic_fetch_add atomic_add "
          "atomic_compare_swap_nbi atomic_fetch_inc_nbi atomic_fetch_add_nbi"),
    (BIT, "atomic_fetch_and atomic_and atomic_fetch_or atomic_or atomic_fetch_xor atomic_xor "
          "atomic_fetch_and_nbi atomic_fetch_or_nbi atomic_fetch_xor_nbi"),
]
TYPED_ALONE = [  # without
    (RMA, "alltoall alltoalls broadcast collect fcollect max_reduce min_reduce"),
    (REDUCE_BIT, "and_reduce or_reduce xor_reduce"),
    (SUM, "sum_reduce prod_reduce sum_inscan sum_exscan"),
    (AMO + ["short", "ushort"], "wait_until test"),
    (AMO, "wait_until_all wait_until_any wait_until_some wait_until_all_vector "
          "wait_until_any_vector wait_until_some_vector test_all test_any test_some "
          "test_all_vector test_any_vector test_some_vector"),
    (OLD_EXT, "fetch set swap"),
    (OLD, "cswap finc inc fadd add"),
    (OLD_REDUCE, "wait"),
]
SIZED = "put iput ibput get iget ibget".split()
SIZED_TAILS = [("put", "_nbi"), ("get", "_nbi"), ("put", "_signal"), ("put", "_signal_nbi")]
MEM = "putmem getmem putmem_nbi getmem_nbi putmem_signal putmem_signal_nbi".split()
GENERIC_ALONE = "signal_add signal_set sync".split()


def routines():
    names = [f"{ctx}{name}_{op}" for types, ops in TYPED for op in ops.split() for name in types
             for ctx in ("", "ctx_")]
    names += [f"{name}_{op}" for types, ops in TYPED_ALONE for op in ops.split() for name in types]
    names += [f"{ctx}{op}{bits}{tail}" for op, tail in [(op, "") for op in SIZED] + SIZED_TAILS
              for bits in SIZES for ctx in ("", "ctx_")]
    names += [f"{ctx}{op}" for op in MEM for ctx in ("", "ctx_")]
    return {"shmem_" + name for name in names + PLAIN + ACTIVE_SETS} | set(NOT_SHMEM)


def generics():
    """All that go by type, R227: not fence, quiet and pe_quiet; the oldest wait is no generic."""
    ops = [op for _, ops in TYPED + TYPED_ALONE for op in ops.split() if op != "wait"]
    return {"shmem_" + op for op in ops + GENERIC_ALONE}


class Header:
    """Names that shmem.h itself defines and declares, as the compiler sees it in this language."""

    def __init__(self, compiler, root, language):
        text = subprocess.run([compiler, "-E", "-dD", *language, f"-I{root}/include",
                               f"{root}/include/shmem.h"], check=True, capture_output=True,
                              text=True).stdout
        here, lines = False, []
        self.macros, self.function_macros = set(), set()
        for line in text.splitlines():
            marker = re.match(r'# \d+ "([^"]*)"', line)
            if marker:
                here = marker.group(1).endswith("include/shmem.h")
            elif here and line.startswith("#define"):
                name, call = re.match(r"#define (\w+)(\(?)", line).groups()
                (self.function_macros if call else self.macros).add(name)
            elif here and not line.startswith("#"):
                lines.append(line)
        self.routines, self.others = set(), set()
        self.declarations("\n".join(lines))

    def declarations(self, text):
        text = re.sub(r'extern "C" \{', "", text)
        for body, name in re.findall(r"typedef (?:struct|enum) \{([^}]*)\} (\w+);", text):
            self.others.add(name)
            if ";" not in body:
                self.others |= {item.split("=")[0].strip() for item in body.split(",")}
        text = re.sub(r"typedef (?:struct|enum) \{[^}]*\} \w+;", "", text)
        for statement in text.split(";"):
            typedef = re.search(r"\btypedef\b.*?(\w+)\s*$", statement, re.S)
            routine = re.search(r"(\w+)\)?\s*\(", statement)
            if typedef:
                self.others.add(typedef.group(1))
            elif routine:
                self.routines.add(routine.group(1))
            elif statement.strip(" \n}"):
                sys.exit(f"check_names.py: shmem.h has a declaration of an unknown form: "
                         f"{statement!r}")


def own(name):
    return name.startswith(("SHMEM_IMPL_", "shmem_impl_")) or name in SPACES | STEPPE \
        or name == "SHMEM_H"


def only_names_of_the_standard(header, want):
    """R250: no routine, type, constant beyond; R113, R128, R168, R179, R271 follow."""
    have = header.routines | header.others | header.macros | header.function_macros
    return [f"the header has {name}, which is not in OpenSHMEM 1.6"
            for name in sorted(have - want) if not own(name)]


def all_names_of_the_standard(header, want):
    """R108, R123, R124, R127, R180, R181, R188, R215, R254: each type that has it, has it."""
    have = header.routines | header.others | header.macros
    return [f"the header lacks {name}" for name in sorted(want - have)]


def constants_have_their_aliases(header):
    """R256, R258."""
    have = {name for name in header.macros if name.startswith("_SHMEM_")}
    return [f"the constant {name} must have an old name if and only if the standard has it"
            for name in sorted(have ^ {"_SHMEM_" + name for name in ALIASED})]


def generics_are_those_of_the_standard(header):
    """R227; in C++ and before C11 there are none."""
    want = generics()
    have = {name for name in header.function_macros if not own(name)}
    return [f"{name} must be generic if and only if it is in the standard"
            for name in sorted(want ^ have)]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    compiler, root = sys.argv[1], pathlib.Path(sys.argv[2])
    want = routines()
    names = want | set(TYPES) | {"SHMEM_" + name for name in CONSTANTS} | \
        {"_SHMEM_" + name for name in ALIASED}
    faults = []
    for language in (["-x", "c", "-std=c99"], ["-x", "c", "-std=c11"], ["-x", "c++"]):
        header = Header(compiler, root, language)
        found = only_names_of_the_standard(header, names | generics())
        found += all_names_of_the_standard(header, names)
        found += constants_have_their_aliases(header)
        if language[-1] == "-std=c11":
            found += generics_are_those_of_the_standard(header)
        else:
            found += [f"{name} is a macro, but must be a function"
                      for name in sorted(header.function_macros)
                      if not own(name)]
        faults += [f"{language[-1]}: {fault}" for fault in found]
    print("\n".join(faults + [f"{len(want)} routines, {len(CONSTANTS)} constants, "
                              f"{len(generics())} generics, {len(faults)} faults"]))
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
