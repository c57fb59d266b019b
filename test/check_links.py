#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check that the pages and headings to which pages and sources refer exist.

usage: check_links.py <source root>
       check_links.py --installed <installed documentation directory>

In pages (*.md), the file and the heading of each relative link are checked. In sources, scripts
and CMake files, the pages under docs/ that they name are checked. In an installation, all pages of the
documentation directory are checked, and their links must stay in this directory. Links to other sites are
not followed. Prints each fault, and their number; status 1 if there is a fault, or no page at all.
"""
import functools
import pathlib
import re
import sys

FOLDERS = ("base", "docs", "test", "bench", "examples", "scripts", "src", "spaces", "transport", "pmi", "tools",
           "include", "cmake")
CODE_BLOCK = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.S | re.M)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.M)
PAGE = re.compile(r"(?<![\w./-])docs/[\w./-]+\.md\b")
SOURCES = {".c", ".h", ".cc", ".py", ".sh", ".in", ".txt", ".cmake"}


def prose(path):
    return CODE_BLOCK.sub("", path.read_text())


@functools.lru_cache(None)
def anchors(path):
    """Names of the headings of a page, as the places that show pages make them."""
    names = set()
    for heading in HEADING.findall(prose(path)):
        name = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        name = re.sub(r"[^\w\- ]", "", name).replace(" ", "-")
        n = 0
        while (f"{name}-{n}" if n else name) in names:
            n += 1
        names.add(f"{name}-{n}" if n else name)
    return names


def faults_of_page(root, path):
    for link in LINK.findall(re.sub(r"`[^`\n]*`", "", prose(path))):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, anchor = link.partition("#")
        to = (path.parent / file).resolve() if file else path
        if not to.exists():
            yield f"the link {link} leads to a file that does not exist"
        elif not to.is_relative_to(root):
            yield f"the link {link} leads out of {root}"
        elif anchor and anchor not in anchors(to):
            yield f"the link {link} leads to a heading that does not exist"


def faults_of_source(root, path):
    for page in sorted(set(PAGE.findall(path.read_text(errors="replace")))):
        if not (root / page).exists():
            yield f"the page {page} does not exist"


def main():
    installed = len(sys.argv) == 3 and sys.argv[1] == "--installed"
    if len(sys.argv) != 2 and not installed:
        sys.exit(__doc__)
    root = pathlib.Path(sys.argv[-1]).resolve()
    if installed:
        files = sorted(root.rglob("*.md"))
    else:
        files = [path for folder in FOLDERS for path in sorted((root / folder).rglob("*"))]
        files += sorted(root.glob("*.*"))
    pages = [path for path in files if path.suffix == ".md"]
    faults = [f"{path.relative_to(root)}: {fault}" for path in pages for fault in faults_of_page(root, path)]
    faults += [f"{path.relative_to(root)}: {fault}" for path in files
               if path.suffix in SOURCES and path.is_file() for fault in faults_of_source(root, path)]
    print("\n".join(faults + [f"{len(pages)} pages, {len(faults)} faults"]))
    return 1 if faults or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
