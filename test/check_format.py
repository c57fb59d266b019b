#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check that the C sources have the format of .clang-format, and that lines are not too long.

usage: check_format.py <source folder> [clang-format]

Lines of C have at most 100 columns. In Markdown, lines of text have at most 110 characters and cells of
tables at most 200, except those of the conformance pages, which list tests, and of generated results.

Without clang-format 14 only the width is checked and the result is 77, because other versions
format differently. Of templates (*.tmpl.h) only the width is checked, because clang-format
misreads their macros. Generated files are not checked at all.
"""
import pathlib
import re
import shutil
import subprocess
import sys

VERSION = "14"
COLUMNS = 100
TEXT, CELL = 110, 200  # characters of Markdown
PAGES = ["*.md", "docs/**/*.md", "examples/*.md", "test/**/*.md", ".github/**/*.md"]
LISTS = re.compile(r"docs/(reference/conformance|results/).*")
FOLDERS = ["base", "bench", "examples", "include", "pmi", "spaces", "src", "test", "tools", "transport"]
GENERATED = re.compile(r"include/(p?shmem|shmem_cxx)\.h|src/api/gen/.*")


def sources(root):
    """Paths relative to the root, all that are C."""
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.[ch]")):
            yield path.relative_to(root).as_posix()


def too_wide(root, name):
    lines = (root / name).read_text(encoding="utf-8").splitlines()
    return [f"{name}:{number}: the line has {len(line)} columns, at most {COLUMNS} are allowed"
            for number, line in enumerate(lines, 1) if len(line) > COLUMNS]


def too_wide_page(root, name):
    """Lines of text and cells of tables that are too long. Lines of code may have any length."""
    text = re.sub(r"^```.*?^```", lambda code: "\n" * code[0].count("\n"),
                  (root / name).read_text(encoding="utf-8"), flags=re.M | re.S)
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("|"):
            longest = max(len(cell.strip()) for cell in line.split("|"))
            if longest > CELL and not LISTS.fullmatch(name):
                yield f"{name}:{number}: a cell has {longest} characters, at most {CELL} are allowed"
        elif len(line) > TEXT and not line.startswith("    "):
            yield f"{name}:{number}: the line has {len(line)} characters, at most {TEXT} are allowed"


def is_free(name):
    return name.endswith(".tmpl.h") or GENERATED.fullmatch(name)


def misformatted(root, tool, names):
    """The first place of each file that the tool would change, as the tool tells it."""
    told = subprocess.run([tool, "--style=file", "--dry-run", "-ferror-limit=1", *names], cwd=root,
                          capture_output=True, text=True, check=True).stderr
    return [line for line in told.splitlines() if "clang-format-violations" in line]


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    root = pathlib.Path(sys.argv[1]).resolve()
    tool = shutil.which(sys.argv[2] if len(sys.argv) == 3 else "clang-format")
    names = list(sources(root))
    wide = [fault for name in names if not GENERATED.fullmatch(name)
            for fault in too_wide(root, name)]
    pages = sorted({path.relative_to(root).as_posix() for pattern in PAGES for path in root.glob(pattern)})
    wide += [fault for page in pages for fault in too_wide_page(root, page)]
    print("\n".join(wide))
    version = subprocess.run([tool, "--version"], capture_output=True, text=True,
                             check=True).stdout if tool else "not found"
    if f"version {VERSION}." not in version:
        print(f"skipped: the format needs clang-format {VERSION}, found: {version.strip()}")
        return 1 if wide else 77
    faults = misformatted(root, tool, [name for name in names if not is_free(name)])
    print("\n".join(faults))
    print(f"{len(names)} files, {len(pages)} pages, {len(wide)} lines too wide, {len(faults)} files to be formatted")
    return 1 if wide or faults or not names else 0


if __name__ == "__main__":
    sys.exit(main())
