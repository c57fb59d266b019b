#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check that the reports are a module of their own, and what is said where it cannot be used.

usage: check_info_module.py <nm> <libsteppe.so> <info.so> <oshinfo> <program of PEs>

Nothing of src/info is in the library. A library without a module beside it, with a file that is none,
or with one of another build, says so with the path and what to do; jobs go on.
"""
import ctypes
import errno
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

OWN = ("stp_info_", "stp_report_", "stp_doctor_", "stp_lib")  # what the files of src/info share
REMEDY = b"install both from one build"
failures = []


def check(ok, text):
    if not ok:
        failures.append(text)


def defined(nm, path):
    """Names that the object defines, hidden ones too."""
    text = subprocess.run([nm, "--defined-only", path], check=True, capture_output=True,
                          text=True).stdout
    return {line.split()[-1] for line in text.splitlines()}


def check_symbols(nm, library, module):
    of_library, of_module = defined(nm, library), defined(nm, module)
    own = {name for name in of_module if name.startswith(OWN)}
    if len(own) < 20 or "stp_rt" not in of_library:
        sys.exit("nm says too little: were the objects stripped?")
    check(not own & of_library, f"in the library: {', '.join(sorted(own & of_library))}")
    check("stp_rt" not in of_module, "the module has a state of the library of its own")


def run(folder, *command, **env):
    """Status, standard output and standard error with the library of that folder."""
    full = {**os.environ, "LD_LIBRARY_PATH": str(folder), "SHMEM_PMI": "single", **env}
    done = subprocess.run(command, env=full, stdin=subprocess.DEVNULL, capture_output=True,
                          check=False, timeout=60)
    return done.returncode, done.stdout, done.stderr


def check_refusal(folder, oshinfo, program, *words):
    """Neither prints a report; both say why, once, and what to do. The job does its work."""
    status, out, err = run(folder, oshinfo, "version")
    check(status == 1 and not out, f"oshinfo: status {status}, {out!r}")
    check(all(word in err for word in (*words, REMEDY)), f"oshinfo: wanted {words}: {err!r}")
    status, out, err = run(folder, program, SHMEM_INFO="1")
    check(status == 0 and b"survived" in out, f"the job: status {status}, {out!r}")
    check(all(err.count(word) == 1 for word in (*words, REMEDY)),
          f"the job: wanted {words}: {err!r}")


def check_refusals(library, oshinfo, program):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        module = folder / "steppe" / "info.so"
        shutil.copy(library, folder / "libsteppe.so.0")
        module.parent.mkdir()
        check_refusal(folder, oshinfo, program, b"no module of reports at " + os.fsencode(module))
        check(run(folder, oshinfo, "--version")[0] == 0, "oshinfo --version needs the module")
        module.write_text("no object\n", encoding="ascii")
        check_refusal(folder, oshinfo, program, os.fsencode(module))
        subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", module], check=True, text=True,
                       input=f"int stp_info_print(void) {{ return -{errno.ELIBBAD}; }}\n")
        check_refusal(folder, oshinfo, program, b"of another build than the library")


def check_stranger(module):
    """The module looks at the table: one of other structures is refused before it is used."""
    if {"ASAN_OPTIONS", "TSAN_OPTIONS"} & set(os.environ):
        print("not tried: the module in a process of its own (this one has no sanitizer)")
        return

    class Table(ctypes.Structure):
        _fields_ = [("layout", ctypes.c_uint64), ("version", ctypes.c_char_p)]

    entry = ctypes.CDLL(module).stp_info_print
    status = entry(ctypes.byref(Table(1, b"0.0.0")), 1, None, False)
    check(status == -errno.ELIBBAD, f"a table of another build: {status}")


def main():
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    nm, library, module, oshinfo, program = sys.argv[1:]
    check_symbols(nm, library, module)
    check_refusals(library, oshinfo, program)
    check_stranger(module)
    print("\n".join(failures + [f"{len(failures)} failures"]))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
