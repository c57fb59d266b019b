#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compare what programs were compiled against with what the library and its headers have now.

usage: check_abi.py [--write] <cc> <libsteppe.so> <include directory> <dump>
  --write   write the dump in place of comparing

The dump has a line for each exported symbol with its version node and its prototype, each field of a public structure with
offset and size, each constant with its value, and the name that programs ask the loader for. What is
gone or has changed is a fault; what is new is one too, until it is in the dump. A profiling twin pf is
checked by its symbol alone, its node and prototype are those of f. Status 1 if there is any fault.
"""
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile

HEADERS = "#include <shmem.h>\n#include <shmemx.h>\n#include <pshmem.h>\n"
OUR_NAME = r"(?:p?shmemx?_\w+|p?start_pes|p?_my_pe|p?_num_pes|p?shmalloc|p?shfree|p?shrealloc|p?shmemalign)"
PROTOTYPE = re.compile(rf"^(?P<type>[\w\s*]*?)\b(?P<name>{OUR_NAME})\s*\((?P<args>.*)\)$", re.S)
STRUCT = re.compile(r"^typedef struct \{(?P<fields>.*)\} (?P<name>shmemx?_\w+)$", re.S)
ENUM = re.compile(r"^typedef enum \{(?P<names>.*)\} (?P<name>shmemx?_\w+)$", re.S)
# What configures a header, or tells the version, which is to change.
NO_CONSTANT = re.compile(r"SHMEMX?_(H|IMPL_\w+|VENDOR_STRING)|STEPPE_\w*VERSION")


def run(*command, **options):
    return subprocess.run(command, check=True, text=True, capture_output=True, **options).stdout


def preprocess(cc, include, *options):
    return run(cc, "-E", "-P", *options, f"-I{include}", "-x", "c", "-", input=HEADERS)


def statements(text):
    """What stands between semicolons outside of braces, blanks made one."""
    depth, begin = 0, 0
    text = re.sub(r"^\s*#.*$", "", text, flags=re.M)
    for at, char in enumerate(text):
        depth += (char == "{") - (char == "}")
        if char == ";" and depth == 0:
            yield " ".join(text[begin:at].split())
            begin = at + 1


def without_attributes(text):
    return re.sub(r"__attribute__ ?\(\(.*?\)\)|\bextern\b|__extension__|_Noreturn", "", text).strip()


def argument(text):
    """The type of a parameter: names may change, but for those of pointers to functions."""
    text = text.strip()
    if "(" in text:
        return text
    arrays = "".join(re.findall(r"\[.*?\]", text))
    words = re.sub(r"\[.*?\]", "", text)
    if re.fullmatch(r"[\w ]*[*][\w *]*|[\w ]+ \w+", words) and len(re.findall(r"\w+", words)) > 1:
        words = re.sub(r"\b(?!const\b|restrict\b|int\b|long\b|short\b|char\b|double\b)\w+$", "",
                       words)
    return " ".join((words + arrays).replace("*", " * ").split())


def split_arguments(text):
    depth, begin, found = 0, 0, []
    for at, char in enumerate(text):
        depth += (char in "([") - (char in ")]")
        if char == "," and depth == 0:
            found.append(text[begin:at])
            begin = at + 1
    return found + [text[begin:]]


def read_header(cc, include):
    """(name -> prototype, structure -> names of fields, names of constants)"""
    prototypes, structs, constants = {}, {}, []
    for text in map(without_attributes, statements(preprocess(cc, include))):
        if match := STRUCT.match(text):
            structs[match["name"]] = [re.search(r"(\w+)\s*(?:\[.*)?$", field.strip())[1]
                                      for field in match["fields"].split(";") if field.strip()]
        elif match := ENUM.match(text):
            constants += [name.split("=")[0].strip() for name in match["names"].split(",")]
        elif match := PROTOTYPE.match(text):
            args = ", ".join(map(argument, split_arguments(match["args"])))
            type_ = " ".join(match["type"].replace("*", " * ").split())
            prototypes[match["name"]] = f"{type_} ({args})"
    for line in preprocess(cc, include, "-dM").splitlines():
        match = re.match(r"#define ((?:SHMEMX?|STEPPE)_\w+) (.+)", line)
        if match and not NO_CONSTANT.fullmatch(match[1]) and not match[2].startswith("{"):
            constants.append(match[1])
    return prototypes, structs, sorted(constants)


def probe(cc, include, structs, constants):
    """Lines of a program that prints offsets, sizes and values, as the compiler has them."""
    lines = []
    for name, fields in sorted(structs.items()):
        lines.append(f'printf("struct {name} size %zu align %zu\\n", sizeof({name}), '
                     f"_Alignof({name}));")
        for field in fields:
            lines.append(f'printf("field {name}.{field} at %zu size %zu\\n", '
                         f"offsetof({name}, {field}), sizeof((({name} *)0)->{field}));")
    for name in constants:
        lines.append(f'printf("constant {name} %lld size %zu\\n", (long long){name}, '
                     f"sizeof({name}));")
    program = HEADERS + "#include <stddef.h>\n#include <stdio.h>\nint main(void)\n{\n" + \
        "\n".join(lines) + "\nreturn 0;\n}\n"
    with tempfile.TemporaryDirectory() as folder:
        binary = os.path.join(folder, "probe")
        run(cc, "-w", f"-I{include}", "-x", "c", "-", "-o", binary, input=program)
        return run(binary).splitlines()


def exported(library):
    """name -> (version node, type letter of nm); the nodes themselves are left out."""
    rows = [line.split()[-2:] for line in run("nm", "-D", "--defined-only", library).splitlines()]
    parts = [(name.partition("@@"), kind) for kind, name in rows if kind != "A"]
    return {name: (node or "unversioned", kind) for (name, _, node), kind in parts}


def soname(library):
    match = re.search(r"SONAME.*\[(.*)\]", run("readelf", "-d", library))
    return match[1] if match else "none"


def dump(cc, library, include):
    prototypes, structs, constants = read_header(cc, include)
    symbols = exported(library)
    lines = [f"library {soname(library)}"]
    for name, (node, kind) in sorted(symbols.items()):
        base = name[1:] if name.startswith("p") and name[1:] in symbols else None
        kind = {"W": "weak", "T": "strong"}.get(kind, kind)
        says = f"twin of {base}" if base else prototypes.get(name, "undeclared")
        if base and prototypes.get(name) != prototypes.get(base):
            says = prototypes.get(name, "undeclared")
        if base and says.startswith("twin") and (node, kind) == (symbols[base][0], "strong"):
            continue  # what is said of f says it
        twin = ", twin" if "p" + name in symbols else ""
        lines.append(f"symbol {name} {node} {kind}{twin}: {says}")
    return lines + probe(cc, include, structs, constants)


def key(line):
    return " ".join(line.split()[:2]) if not line.startswith("library") else "library"


def compare(old, new):
    old, new = {key(line): line for line in old}, {key(line): line for line in new}
    faults = [f"gone: {old[name]}" for name in sorted(old.keys() - new.keys())]
    faults += [f"new, not in the dump: {new[name]}" for name in sorted(new.keys() - old.keys())]
    for name in sorted(old.keys() & new.keys()):
        if old[name] != new[name]:
            faults.append(f"changed: {old[name]}\n     to: {new[name]}")
    return faults


def main():
    args = sys.argv[1:]
    write = args[:1] == ["--write"]
    args = args[write:]
    if len(args) != 4:
        sys.exit(__doc__)
    cc, library, include, path = args
    if platform.machine() != "x86_64":
        print(f"the dump is of x86_64, this is {platform.machine()}")
        sys.exit(77)
    lines, path = dump(cc, library, include), pathlib.Path(path)
    if len(lines) < 1000:
        sys.exit(f"only {len(lines)} lines found: the headers were not understood")
    if write:
        path.write_text("\n".join(["# What programs are compiled against: written by test/"
                                   "check_abi.py --write, see docs/releasing.md."] + lines) + "\n")
        return
    old = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    faults = compare(old, lines)
    print("\n".join(faults[:40] + ["..."] * (len(faults) > 40)))
    print(f"{len(old)} lines in the dump, {len(faults)} faults" +
          ("; meant? docs/releasing.md, ABI" if faults else ""))
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
