#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check that scripts/list-sources.sh, by which scripts/gpu-check.sh builds without CMake, says what
CMake compiles: the files of each target, and the options that one file has and others have not.

usage: check_sources.py <source root> <build folder> <target>...
"""
import json
import pathlib
import shlex
import subprocess
import sys


def compiled(root, build, target):
    """What CMake compiles for a target: path -> the words of the command."""
    files = {}
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        words = shlex.split(entry["command"])
        if f"/{target}.dir/" not in "/" + words[words.index("-o") + 1]:
            continue
        name = pathlib.Path(entry["file"]).relative_to(root).as_posix()
        files[name] = [word for word in words if word.startswith("-")
                       and not word.startswith(("-D", "-Wframe-larger-than"))]
    return files


def listed(root, target):
    """The same by the script: path -> its own options."""
    out = subprocess.run([root / "scripts/list-sources.sh", target], capture_output=True,
                         text=True, check=True).stdout
    return {words[0]: words[1:] for words in map(str.split, out.splitlines())}


def differences(root, build, target):
    cmake, script = compiled(root, build, target), listed(root, target)
    if not cmake:
        yield f"{target}: CMake compiles nothing for it"
        return
    for name in sorted(cmake.keys() ^ script.keys()):
        yield f"{target}: {name}: only {'CMake' if name in cmake else 'the script'} has it"
    common = set.intersection(*map(set, cmake.values()))
    for name in sorted(cmake.keys() & script.keys()):
        own = {word for word in cmake[name] if word not in common}
        if own != set(script[name]):
            yield f"{target}: {name}: CMake adds {sorted(own)}, the script {script[name]}"


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    root, build = (pathlib.Path(name).resolve() for name in sys.argv[1:3])
    faults = [fault for target in sys.argv[3:] for fault in differences(root, build, target)]
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
