#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check the manual pages: up to date, complete, and clean for groff and mandoc.

usage: check_man.py SOURCE

Every routine of shmem.h and shmemx.h is on exactly one page, generated pages are what
tools/gen_man.py makes, pages that a page refers to exist, and neither formatter warns. As a reader
sees it, no page has a backslash that is no escape of C's, and each line of code in a source stands
on a line of its own. A formatter that is not installed is left out; with neither, exit 77.
"""
import glob
import os
import re
import shutil
import subprocess
import sys

# Pages carry the version; a date would change them with nothing else changed.
ACCEPTED = ("missing date", "STYLE")


def referred(text):
    """(name, section) of what stands in bold, as references do."""
    text = re.sub(r"^\.BR? (\S+) \((\d)\)", r"\\fB\1\\fP(\2)", text, flags=re.M)
    text = text.replace("\\-", "-")
    return set(re.findall(r"\\fB((?:shmemx?|steppe|osh)[\w+-]*)\\fP\((\d)\)", text))


def names(source):
    """All (name, section) that man(1) finds once this is installed."""
    man = os.path.join(source, "docs", "man", "*.[137]")
    found = {tuple(os.path.basename(page).rsplit(".", 1)) for page in glob.glob(man)}
    for listing in ("SteppeManLinks.cmake", "SteppeInstall.cmake"):
        with open(os.path.join(source, "cmake", listing), encoding="utf-8") as f:
            found |= {(word, "3") for word in re.findall(r"\bshmemx?_\w+", f.read())}
    return found


def code_lines(page):
    """The lines of code of the page's source, none for a page without one."""
    source = os.path.join(os.path.dirname(page), "src", os.path.basename(page))
    source = (source if page.endswith(".7") else source.removesuffix(".3")) + ".txt"
    if not os.path.exists(source):
        return []
    with open(source, encoding="utf-8") as f:
        return [line.strip() for line in f if line.startswith("    ") and line.strip()]


def rendered(page, text):
    """What is wrong with the text that groff made, as a reader sees it."""
    lines = [line.strip() for line in text.splitlines()]
    stray = [line for line in lines if re.search(r"\\(?![n0])", line)]
    lost = [line for line in code_lines(page) if line not in lines]
    return [f"{page}: a stray backslash: {line}" for line in stray] + [
        f"{page}: not on a line of its own: {line}" for line in lost]


def formatters(page):
    out = []
    if shutil.which("groff"):
        result = subprocess.run(["groff", "-ww", "-man", "-Tutf8", "-P-cbou", "-rLL=110n", page],
                                capture_output=True, text=True, check=False)
        out += result.stderr.splitlines() + rendered(page, result.stdout)
    if shutil.which("mandoc"):
        lint = subprocess.run(["mandoc", "-Tlint", "-Wwarning", page], capture_output=True,
                              text=True, check=False).stdout.splitlines()
        out += [line for line in lint if not any(word in line for word in ACCEPTED)]
    return out


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    man = os.path.join(sys.argv[1], "docs", "man")
    pages, known = sorted(glob.glob(os.path.join(man, "*.[137]"))), names(sys.argv[1])
    wrong = []
    if subprocess.run([sys.executable, os.path.join(sys.argv[1], "tools", "gen_man.py"), "--check"],
                      check=False).returncode != 0:
        wrong.append("tools/gen_man.py --check fails: see above")
    for page in pages:
        wrong += formatters(page)
        with open(page, encoding="utf-8") as f:
            for name, section in sorted(referred(f.read())):
                if (name, section) not in known:
                    wrong.append(f"{page}: there is no page {name}({section})")
    print("\n".join(wrong + [f"{len(pages)} pages, {len(wrong)} faults"]))
    if wrong or len(pages) < 40:
        sys.exit(1)
    if not shutil.which("groff") and not shutil.which("mandoc"):
        sys.exit(77)


main()
