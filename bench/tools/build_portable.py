# SPDX-License-Identifier: BSD-3-Clause
"""Build the portable part of steppe-bench with the compiler of any OpenSHMEM or MPI library.

usage: build_portable.py [mpi:]COMPILER,LAUNCHER FOLDER      build FOLDER/steppe-bench
"""
import glob
import os
import shlex
import subprocess
import sys

from result_file import ToolError

SOURCES = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "portable")
MPI = ("mpi bench_registry option_values options output output_json output_text parameter_value_lists plan "
       "result_names_and_ratios stats_clock").split()
FLAGS = ["-std=gnu11", "-O2", "-Wall", "-D_GNU_SOURCE"]


def build(side, folder):
    """Build the program of a side. Return the words of the launcher command and the program.

    side: COMPILER,LAUNCHER or mpi:COMPILER,LAUNCHER.
    """
    mpi = side.startswith("mpi:")
    compiler, launcher = map(shlex.split, side[4 * mpi:].split(",", 1))
    if not compiler or not launcher:
        raise ToolError(f"{side}: the value must be COMPILER,LAUNCHER, such as oshcc,oshrun")
    sources = [os.path.join(SOURCES, f"{name}.c") for name in MPI]
    if not mpi:
        sources = sorted(set(glob.glob(os.path.join(SOURCES, "**", "*.c"), recursive=True)) -
                         {os.path.join(SOURCES, "mpi.c")})
    if not sources or not os.path.exists(sources[0]):
        raise ToolError(f"{side}: the sources of steppe-bench are missing in {SOURCES}: use the "
                        f"steppe-bench of a build folder")
    os.makedirs(folder, exist_ok=True)
    program = os.path.join(folder, "steppe-bench")
    words = compiler + FLAGS + ["-DBENCH_MPI" if mpi else "-DBENCH_PORTABLE"] + sources
    try:
        result = subprocess.run(words + ["-lm", "-o", program], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    except OSError as error:
        raise ToolError(f"{compiler[0]}: {error.strerror}")
    if result.returncode != 0:
        errors = [line for line in result.stdout.decode(errors="replace").splitlines()
                if "error" in line] or ["the compiler prints no error"]
        raise ToolError(f"{side}: cannot compile steppe-bench: {errors[0]}")
    return launcher, program


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        build(*sys.argv[1:])
    except ToolError as problem:
        sys.exit(f"build_portable.py: {problem}")
