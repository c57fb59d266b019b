#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check that each message that a table of the guides or of the pages for administrators lists occurs in the
sources.

usage: check_message_index.py <source root>

The tables are those of docs/guide/*.md and docs/admin/*.md whose first column is "message". "..." in a
message stands for a part that differs. Status 1 if a message occurs in no source. Whether a
program can still print the message is not checked.
"""
import pathlib
import re
import sys

FOLDERS = ("base", "pmi", "spaces", "src", "tools", "transport")


def messages(page):
    """Texts in the first column of the tables of messages."""
    inside, out = False, []
    for line in page.read_text(encoding="utf-8").splitlines():
        if not line.startswith("|"):
            inside = False
        elif line.startswith("| message |"):
            inside = True
        elif inside and line.startswith("| `"):
            out.append(re.match(r"\| `([^`]+)`", line)[1])
    return out


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = pathlib.Path(sys.argv[1])
    files = [path for folder in FOLDERS for path in (root / folder).rglob("*")
             if path.is_file() and path.suffix in (".c", ".h", ".in", ".sh")]
    sources = "\n".join(path.read_text(encoding="utf-8") for path in files)
    sources = re.sub(r"/\*.*?\*/", "", sources, flags=re.S)
    sources = re.sub(r'"\s*\n\s*"', "", sources)  # a string that goes on in the next line
    pages = [page for folder in ("guide", "admin") for page in sorted((root / "docs" / folder).glob("*.md"))]
    index = [(page, text) for page in pages for text in messages(page)]
    lost = [(page, text) for page, text in index
            if not all(part in sources for part in text.split("..."))]
    for page, text in lost:
        print(f"{page.relative_to(root)} lists the message \"{text}\", which no source contains")
    print(f"{len(index)} messages on the pages (at least 60 expected), {len(lost)} in no source")
    sys.exit(1 if lost or len(index) < 60 else 0)


if __name__ == "__main__":
    main()
