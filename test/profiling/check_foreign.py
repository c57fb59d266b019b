#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check that other languages can use shmem.h: parse it as they do, and run PEs in Python.

usage: check_foreign.py INCLUDE LIBRARY OSHRUN        the check: all forms, then 2 PEs
       check_foreign.py --pe INCLUDE LIBRARY          one PE

The header, preprocessed with SHMEM_IMPL_PLAIN, must be plain C without directives and words of
one compiler, and the same from each compiler. pycparser and cffi must read it, and PEs in Python
call the library through cffi. Needs a C compiler; exits with 77, after the check of the header,
when no Python here has cffi.
"""
import os
import re
import shutil
import subprocess
import sys


def plain(include, compiler="cc"):
    return subprocess.run([compiler, "-E", "-P", "-DSHMEM_IMPL_PLAIN", f"-I{include}",
                           os.path.join(include, "shmem.h")],
                          check=True, capture_output=True, text=True).stdout


def versions(include, compiler):
    """What a binding chooses by, before it reads the plain header."""
    text = subprocess.run([compiler, "-E", "-P", "-DSHMEM_IMPL_PLAIN", f"-I{include}", "-"],
                          check=True, capture_output=True, text=True, input="""
#include <shmem.h>
#if STEPPE_VERSION >= 100 && STEPPE_VERSION < 99 * 10000 && SHMEM_MAJOR_VERSION == 1
chosen STEPPE_MAJOR_VERSION STEPPE_MINOR_VERSION STEPPE_PATCH_VERSION
#endif
""").stdout
    return re.search(r"^chosen \d+ \d+ \d+$", text, re.M)


def constants(include):
    """The whole numbers that the header defines."""
    with open(os.path.join(include, "shmem.h"), encoding="utf-8") as f:
        return {name: int(value) for name, value in
                re.findall(r"^#define (SHMEM_\w+) (\d+)L?$", f.read(), re.M)}


def one_pe(include, library):
    import cffi  # pylint: disable=import-error
    ffi = cffi.FFI()
    ffi.cdef(plain(include))
    lib, const = ffi.dlopen(library), constants(include)
    lib.shmem_init()
    me, n = lib.shmem_my_pe(), lib.shmem_n_pes()
    box = ffi.cast("long *", lib.shmem_calloc(2, ffi.sizeof("long")))
    lib.shmem_long_put(box, ffi.new("long[]", [me + 100]), 1, (me + 1) % n)
    lib.shmem_barrier_all()
    lib.shmem_long_atomic_add(box + 1, me + 1, 0)
    if me == 0:
        lib.shmem_long_wait_until(box + 1, const["SHMEM_CMP_EQ"], n * (n + 1) // 2)
    lib.shmem_barrier_all()
    ok = box[0] == (me + n - 1) % n + 100
    print(f"pe {me} of {n}: {'ok' if ok else f'wrong: the word is {box[0]}'}", flush=True)
    lib.shmem_free(box)
    lib.shmem_finalize()
    return 0 if ok else 2


def check_text(include):
    """No compiler's plain form has anything but C in it, and all say the same."""
    texts = {c: plain(include, c) for c in ("cc", "gcc", "clang") if shutil.which(c)}
    for compiler, text in texts.items():
        strange = re.findall(r"#.*|\b__\w+|\b_Noreturn\b|\basm\b", text)
        if strange:
            sys.exit(f"{compiler}: the plain header contains words that are not plain C: "
                     f"{strange[:5]}")
        if len(re.findall(r"\bshmem_\w+\(", text)) < 1500:
            sys.exit(f"{compiler}: the plain header declares fewer than 1500 routines")
        if not versions(include, compiler):
            sys.exit(f"{compiler}: #if cannot use STEPPE_VERSION with SHMEM_IMPL_PLAIN")
    if len({"".join(text.split()) for text in texts.values()}) != 1:
        sys.exit(f"the plain header differs between {', '.join(texts)}")
    return texts["cc"]


def python_with_cffi():
    for python in (sys.executable, "/usr/bin/python3"):
        if os.path.exists(python) and subprocess.run(
                [python, "-c", "import cffi, pycparser"], capture_output=True,
                check=False).returncode == 0:
            return python
    return None


def main():
    if len(sys.argv) == 4 and sys.argv[1] == "--pe":
        sys.exit(one_pe(*sys.argv[2:]))
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    include, library, oshrun = sys.argv[1:]
    text = check_text(include)
    python = python_with_cffi()
    if python is None:
        print("skipped: the header is plain C, but no Python with cffi and pycparser is installed")
        sys.exit(77)
    subprocess.run([python, "-c", "import sys, pycparser\n"
                    "ast = pycparser.CParser().parse(sys.stdin.read())\n"
                    "sys.exit(len(ast.ext) < 1500)"], input=text, text=True, check=True)
    run = subprocess.run(["timeout", "-k", "5", "100", oshrun, "-n", "2", python, __file__, "--pe",
                          include, library], stdin=subprocess.DEVNULL, capture_output=True,
                         text=True, check=False)
    print(run.stdout + run.stderr, end="")
    if run.returncode != 0 or run.stdout.count("ok") != 2:
        sys.exit(f"the job of Python PEs must end with status 0 and print ok twice; status "
                 f"{run.returncode}")


main()
