#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compile the public headers, and programs that use them, by each installed compiler and standard.

usage: check_headers.py INCLUDE

Warnings are errors. Compiled are: each header alone and twice; the headers with inlined operations,
and inside of the program's own extern "C"; all constants, handles and types; the generics of C11 and
the overloads of C++ with const objects, arrays and contexts; calls in C99 and C++; programs that
define routines themselves. INCLUDE is passed by -I, because -isystem
would hide warnings. The compilers are gcc, g++, clang and clang++. One that is not installed is
reported and left out; without any, the exit status is 77. Nothing is linked or run.
"""
import re
import shutil
import subprocess
import sys

HEADERS = ("shmem.h", "pshmem.h", "shmemx.h", "mpp/shmem.h", "mpp/shmemx.h")
# Compiled in the GNU dialects of C and in C++, because these headers use compiler extensions.
EXTENDED = ("shmemx_device.h", "shmemx_inline.h")
WARN = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wundef", "-Wcast-qual",
        "-Wsign-conversion", "-Wredundant-decls", "-pedantic-errors", "-Werror"]
WARN_C = ["-Wstrict-prototypes", "-Wmissing-prototypes"]
WARN_CXX = ["-Wold-style-cast", "-Wzero-as-null-pointer-constant", "-Woverloaded-virtual"]
C_STANDARDS = ("c99", "c11", "c17", "gnu99", "gnu11", "gnu2x")
CXX_STANDARDS = ("c++11", "c++14", "c++17", "c++20")

ALONE = "#include <{0}>\n#include <{0}>\n"

# C++ programs put headers of C libraries into extern "C", often without knowing that it is not needed.
IN_EXTERN_C = 'extern "C" {\n' + "".join(ALONE.format(h) for h in HEADERS) + "}\n"

# Integer constants in a switch, handles and spaces in static initialisers.
CONSTANTS = """
#if STEPPE_VERSION < 100 || SHMEM_MAJOR_VERSION * 100 + SHMEM_MINOR_VERSION < 106
#error the preprocessor cannot choose
#endif
static shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
static shmemx_space_info_t info = SHMEMX_SPACE_INFO_INITIALIZER;
static shmem_team_t teams[] = {SHMEM_TEAM_INVALID, SHMEM_TEAM_WORLD, SHMEM_TEAM_SHARED,
    SHMEM_TEAM_CPU, SHMEM_TEAM_GPU, SHMEM_TEAM_HBM, SHMEM_TEAM_FAM};
static shmem_ctx_t ctxs[] = {SHMEM_CTX_INVALID, SHMEM_CTX_DEFAULT};
static shmem_space_t spaces[] = {SHMEM_SPACE_INVALID, SHMEM_SPACE_DEFAULT, SHMEM_SPACE_CPU};
static long sync_value[SHMEM_SYNC_SIZE] = {SHMEM_SYNC_VALUE};
static const char vendor[] = SHMEM_VENDOR_STRING;
int use(int n);
int use(int n)
{
    shmem_team_config_t config = {0};
    shmem_ctx_session_config_t session = {0};
    shmem_space_config_t space = {SHMEM_DEVICE_GPU, 1, SHMEM_SPACE_FLAG_DEFAULT};
    shmem_space_cap_t caps = SHMEM_SPACE_CAP_RMA | SHMEM_SPACE_CAP_COLLECTIVES
        | SHMEM_SPACE_CAP_ATOMICS | SHMEM_SPACE_CAP_DIRECT_ACCESS | SHMEM_SPACE_CAP_WORLD_ACCESS
        | SHMEM_SPACE_CAP_IDENT_ADDR;
    long options = SHMEM_CTX_SERIALIZED | SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE
        | SHMEM_CTX_SESSION_BATCH | SHMEM_CTX_SESSION_TOTAL_OPS | SHMEM_TEAM_NUM_CONTEXTS
        | SHMEM_MALLOC_ATOMICS_REMOTE | SHMEM_MALLOC_SIGNAL_REMOTE;
    switch (n) {
    case SHMEM_CMP_EQ: case SHMEM_CMP_NE: case SHMEM_CMP_LT: return CAST(int, options);
    case SHMEM_CMP_LE: case SHMEM_CMP_GT: case SHMEM_CMP_GE: return config.num_contexts;
    case 10 + SHMEM_SIGNAL_SET: case 10 + SHMEM_SIGNAL_ADD: return CAST(int, session.total_ops);
    case 20 + SHMEM_THREAD_SINGLE: case 20 + SHMEM_THREAD_MULTIPLE: return CAST(int, sync_value[0]);
    }
    return attr.device == -1 && info.struct_size == sizeof info && space.size != caps && attr.parent == SHMEM_TEAM_WORLD
        && teams[0] == SHMEM_TEAM_INVALID && ctxs[0] == SHMEM_CTX_INVALID && vendor[0] != 0
        && spaces[0] == SHMEM_SPACE_INVALID;
}
"""

# What C11 programs write; every class of types, both places of the key, with and without context.
GENERICS = """
struct pair { int a, b; };
static int four[4];
void use(shmem_ctx_t ctx, shmem_team_t team, const double *in, double *out, long *counter,
         unsigned *bits, float _Complex *z, size_t *sizes, uint64_t *word, unsigned short *shorts);
void use(shmem_ctx_t ctx, shmem_team_t team, const double *in, double *out, long *counter,
         unsigned *bits, float _Complex *z, size_t *sizes, uint64_t *word, unsigned short *shorts)
{
    int here[4] = {1, 2, 3, 4}, status[4] = {0};
    size_t indices[4];
    shmem_put(four, here, 4, 0);
    shmem_put(four, ((int[4]){1, 2, 3, 4}), 4, 0);
    shmem_put(ctx, out, in, 1, 0);
    shmem_p(out, 1, 0);
    shmem_p(ctx, four + 1, here[0], 0);
    out[0] = shmem_g(in, 0) + shmem_g(ctx, in, 0);
    shmem_iput(ctx, out, in, 1, 1, 1, 0);
    shmem_ibget(out, in, 2, 2, 1, 1, 0);
    shmem_get_nbi(ctx, sizes, sizes, 1, 0);
    shmem_atomic_add(counter, 1, 0);
    *counter += shmem_atomic_fetch_inc(ctx, counter, 0) + shmem_atomic_fetch(counter, 0);
    shmem_atomic_fetch_add_nbi(counter, counter, 1, 0);
    shmem_atomic_or(ctx, bits, 4u, 0);
    shmem_atomic_xor(here, 1, 0);
    shmem_put_signal(ctx, out, in, 1, word, 1, SHMEM_SIGNAL_SET, 0);
    shmem_signal_add(word, 1, 0);
    shmem_signal_set(ctx, word, 1, 0);
    (void)shmem_sum_reduce(team, z, z, 1);
    (void)shmem_max_reduce(team, out, in, 1);
    (void)shmem_and_reduce(team, bits, bits, 1);
    (void)shmem_broadcast(team, out, in, 1, 0);
    (void)shmem_alltoalls(team, out, in, 1, 1, 1);
    (void)shmem_sync(team);
    shmem_wait_until(four, SHMEM_CMP_EQ, 1);
    if (shmem_test(counter, SHMEM_CMP_GE, 1))
        indices[0] = shmem_wait_until_some(four, 4, indices, status, SHMEM_CMP_NE, 0);
    indices[1] = shmem_test_any_vector(four, 4, NULL, SHMEM_CMP_EQ, here);
    shmem_wait_until_all(shorts, 4, NULL, SHMEM_CMP_LT, 1);
    indices[2] = shmem_test_any(shorts + 1, 2, status, SHMEM_CMP_GT, shorts[0]);
    shmem_atomic_set(out, 1, 0);
    *out = shmem_atomic_swap(out, 2, 0) + shmem_atomic_fetch(ctx, out, 0);
    *counter = shmem_atomic_compare_swap(ctx, counter, 1, 2, 0) + shmem_fadd(counter, 1, 0);
    (void)shmem_sum_inscan(team, z, z, 1);
    (void)shmem_fcollect(team, shorts, shorts, 1);
    (void)indices;
}
"""

# The same by the overloads of C++.
OVERLOADS = re.sub(r"    shmem_put\(four, \(\(int.*\n", "", GENERICS).replace(
    "float _Complex", "shmem_impl_complexf").replace("NULL", "nullptr")

# A program that has overloads of its own.
OWN_OVERLOADS = """#define SHMEMX_NO_OVERLOADS
#include <shmem.h>
inline void shmem_put(long *dest, const long *source, size_t nelems, int pe)
{
    shmem_long_put(dest, source, nelems, pe);
}
int shmem_sync(shmem_team_t team);
int shmem_sync(shmem_team_t team) { return shmem_team_sync(team); }
void (*const plain)(uint64_t *, uint64_t, int) = shmem_signal_add;
void use(long *l);
void use(long *l)
{
    shmem_put(l, l + 1, 1, 0);
    plain(nullptr, 0, 0);
}
"""

# What programs call in each language: the typed functions, teams, contexts, spaces, old names.
CALLS = """
void call(short *s, long *l, const double *in, double *out, uint64_t *word, size_t *at);
void call(short *s, long *l, const double *in, double *out, uint64_t *word, size_t *at)
{
    shmem_team_t team = SHMEM_TEAM_INVALID;
    shmem_ctx_t ctx = SHMEM_CTX_INVALID;
    shmem_space_t space = SHMEM_SPACE_INVALID;
    shmem_space_config_t config = {SHMEM_DEVICE_CPU, 4096, SHMEM_SPACE_FLAG_DEFAULT};
    shmem_impl_complexd *z;
    int provided;
    if (shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) != 0) shmem_global_exit(1);
    z = CAST(shmem_impl_complexd *, shmem_calloc(2, sizeof *z));
    (void)shmem_complexd_sum_reduce(SHMEM_TEAM_WORLD, z, z, 1);
    (void)shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 2, nothing, 0, &team);
    (void)shmem_team_create_ctx(team, SHMEM_CTX_PRIVATE, &ctx);
    (void)shmem_space_create(&config, &space, &team);
    shmem_double_put(out, in, 1, 0);
    shmem_ctx_double_put(ctx, out, in, 1, 0);
    shmem_putmem_signal(out, in, sizeof *out, word, 1, SHMEM_SIGNAL_ADD, 0);
    l[0] = shmem_long_atomic_fetch_add(l, 1, 0);
    shmem_long_wait_until(l, SHMEM_CMP_NE, 0);
    at[0] = shmemx_short_wait_until_some(s, 2, at, nothing, SHMEM_CMP_EQ, 1);
    at[1] = shmemx_short_test_any_vector(s, 2, &provided, SHMEM_CMP_EQ, s);
    if (shmem_test_lock(l) == 0) shmem_clear_lock(l);
    shmem_ctx_quiet(ctx);
    shmem_barrier(0, 0, shmem_n_pes(), l);
    shmem_pcontrol(1);
    shmem_free(z);
    shmem_finalize();
}
"""
WORDS_C = "#define CAST(type, value) ((type)(value))\n#define nothing NULL\n"
WORDS_CXX = "#define CAST(type, value) static_cast<type>(value)\n#define nothing nullptr\n"

# A tool: names that are macros are defined in parentheses.
TOOL = """
extern "C" {
void (shmem_long_put)(long *dest, const long *source, size_t nelems, int pe)
{
    pshmem_long_put(dest, source, nelems, pe);
}
void (shmem_wait_until)(long *ivar, int cmp, long cmp_value)
{
    pshmem_wait_until(ivar, cmp, cmp_value);
}
void (shmem_pcontrol)(int level, ...)
{
    pshmem_pcontrol(level, "on");
}
int (_my_pe)(void)
{
    return p_my_pe();
}
}
"""


def sources(cxx, alone, extended):
    """Yield the name and the text of each program that a standard compiles.

    alone: also each header by itself. extended: also the headers that use compiler extensions.
    """
    tool = TOOL if cxx else re.sub(r'^extern "C" \{\n|^\}\n(?=\Z)', "", TOOL, flags=re.M)
    every = "".join(ALONE.format(h) for h in HEADERS)
    every += WORDS_CXX if cxx else WORDS_C
    yield "all headers, constants, calls, a tool", every + CONSTANTS + CALLS + tool
    for header in HEADERS + (EXTENDED if extended else ()) if alone else ():
        yield header, ALONE.format(header)
    if extended:
        yield "inlined operations", "#define SHMEMX_INLINE\n" + every + CONSTANTS + CALLS


def compile_one(command, name, text):
    """What is wrong, as a list of none or one."""
    result = subprocess.run(command + ["-fsyntax-only", "-"], input=text, capture_output=True,
                            text=True, check=False)
    if result.returncode == 0 and not result.stderr:
        return []
    head = "\n".join(result.stderr.splitlines()[:6])
    return [f"{' '.join(command)}: {name}:\n{head}"]


def texts_for(standard, cxx):
    """Headers by themselves for the first and the last standard only."""
    texts = list(sources(cxx, standard in ("c99", "c++11", "gnu2x", "c++20"),
                         cxx or standard.startswith("gnu")))
    if not cxx and standard not in ("c99", "gnu99"):
        texts.append(("generics", "#include <shmem.h>\n" + GENERICS))
    if cxx:
        texts.append(("overloads", "#include <shmem.h>\n" + OVERLOADS))
        texts.append(("overloads of its own", OWN_OVERLOADS))
        for define in ("", "#define SHMEMX_INLINE\n"):
            texts.append(("headers in extern C", define + IN_EXTERN_C + OVERLOADS))
    return texts


def try_all(compiler, include, cxx):
    count, wrong = 0, []
    for standard in CXX_STANDARDS if cxx else C_STANDARDS:
        command = [compiler, "-x", "c++" if cxx else "c", f"-std={standard}", *WARN,
                   *(WARN_CXX if cxx else WARN_C), f"-I{include}"]
        for name, text in texts_for(standard, cxx):
            count += 1
            wrong += compile_one(command, name, text)
    return count, wrong


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    total, wrong, found = 0, [], []
    for compiler, cxx in (("gcc", False), ("clang", False), ("g++", True), ("clang++", True)):
        if shutil.which(compiler) is None:
            print(f"{compiler} is not installed: its compilations are left out")
            continue
        found.append(compiler)
        count, faults = try_all(compiler, sys.argv[1], cxx)
        total += count
        wrong += faults
    print("\n".join(wrong + [f"{total} compilations by {', '.join(found)}, {len(wrong)} faults"]))
    sys.exit(1 if wrong else 0 if total else 77)


main()
