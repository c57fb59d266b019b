#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check that each message of the index in the guide to debugging occurs in the sources.

usage: check_message_index.py <source root>

The index is the tables of docs/guide/debugging.md whose first column is "message".
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
    sources = re.sub(r'"\s*\n\s*"', "", sources)  # a string that goes on in the next line
    index = messages(root / "docs/guide/debugging.md")
    lost = [text for text in index if text not in sources]
    for text in lost:
        print(f"docs/guide/debugging.md: no source prints \"{text}\"")
    print(f"{len(index)} messages, {len(lost)} that nothing prints")
    sys.exit(1 if lost or len(index) < 40 else 0)


if __name__ == "__main__":
    main()
