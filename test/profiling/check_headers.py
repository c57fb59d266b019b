#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compile the public headers, and programs that use them, by every compiler and standard at hand.

usage: check_headers.py INCLUDE

Warnings are errors. Each header alone and twice; all constants, handles and types; the generics of
C11 with const objects, arrays and contexts; C++ as a C interface; programs that define
routines themselves. gcc, g++, clang and clang++ are tried, those that are installed; one at least.
"""
import re
import shutil
import subprocess
import sys

HEADERS = ("shmem.h", "pshmem.h", "shmemx.h", "mpp/shmem.h", "mpp/shmemx.h")
WARN = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wundef", "-Wcast-qual",
        "-pedantic-errors", "-Werror"]
C_STANDARDS = ("c99", "c11", "c17", "gnu99", "gnu11", "gnu2x")
CXX_STANDARDS = ("c++11", "c++14", "c++17", "c++20")

ALONE = "#include <{0}>\n#include <{0}>\n"

# Integer constants in a switch, handles and spaces in static initialisers.
CONSTANTS = """
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
    long options = SHMEM_CTX_SERIALIZED | SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE
        | SHMEM_CTX_SESSION_BATCH | SHMEM_CTX_SESSION_TOTAL_OPS | SHMEM_TEAM_NUM_CONTEXTS
        | SHMEM_MALLOC_ATOMICS_REMOTE | SHMEM_MALLOC_SIGNAL_REMOTE;
    switch (n) {
    case SHMEM_CMP_EQ: case SHMEM_CMP_NE: case SHMEM_CMP_LT: return (int)options;
    case SHMEM_CMP_LE: case SHMEM_CMP_GT: case SHMEM_CMP_GE: return config.num_contexts;
    case 10 + SHMEM_SIGNAL_SET: case 10 + SHMEM_SIGNAL_ADD: return (int)session.total_ops;
    case 20 + SHMEM_THREAD_SINGLE: case 20 + SHMEM_THREAD_MULTIPLE: return (int)sync_value[0];
    }
    return teams[0] == SHMEM_TEAM_INVALID && ctxs[0] == SHMEM_CTX_INVALID && vendor[0] != 0
        && spaces[0] == SHMEM_SPACE_INVALID;
}
"""

# What C11 programs write; every class of types, both places of the key, with and without context.
GENERICS = """
struct pair { int a, b; };
static int four[4];
void use(shmem_ctx_t ctx, shmem_team_t team, const double *in, double *out, long *counter,
         unsigned *bits, float _Complex *z, size_t *sizes, uint64_t *word);
void use(shmem_ctx_t ctx, shmem_team_t team, const double *in, double *out, long *counter,
         unsigned *bits, float _Complex *z, size_t *sizes, uint64_t *word)
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
    (void)indices;
}
"""

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


def sources(cxx, alone):
    """(name, text) of what each standard compiles; alone: also each header by itself."""
    tool = TOOL if cxx else re.sub(r'^extern "C" \{\n|^\}\n(?=\Z)', "", TOOL, flags=re.M)
    every = "".join(ALONE.format(h) for h in HEADERS)
    yield "all headers, constants, a tool", every + CONSTANTS + tool
    for header in HEADERS if alone else ():
        yield header, ALONE.format(header)


def compile_one(command, name, text):
    """What is wrong, as a list of none or one."""
    result = subprocess.run(command + ["-fsyntax-only", "-"], input=text, capture_output=True,
                            text=True, check=False)
    if result.returncode == 0 and not result.stderr:
        return []
    head = "\n".join(result.stderr.splitlines()[:6])
    return [f"{' '.join(command)}: {name}:\n{head}"]


def texts_for(standard, cxx):
    """Headers by themselves for the first standard only."""
    texts = list(sources(cxx, standard in ("c99", "c++11")))
    if not cxx and standard not in ("c99", "gnu99"):
        texts.append(("generics", "#include <shmem.h>\n" + GENERICS))
    return texts


def try_all(compiler, include, cxx):
    count, wrong = 0, []
    for standard in CXX_STANDARDS if cxx else C_STANDARDS:
        command = [compiler, "-x", "c++" if cxx else "c", f"-std={standard}", *WARN,
                   f"-I{include}"]
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
            continue
        found.append(compiler)
        count, faults = try_all(compiler, sys.argv[1], cxx)
        total += count
        wrong += faults
    print("\n".join(wrong + [f"{total} compilations by {', '.join(found)}, {len(wrong)} faults"]))
    sys.exit(1 if wrong or total < 20 else 0)


main()
