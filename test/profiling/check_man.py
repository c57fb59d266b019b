#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check that the manual pages are complete, and that groff and mandoc accept them.

usage: check_man.py SOURCE MAN      MAN is the folder of man1, man3 and man7

Every routine of shmem.h and shmemx.h is on exactly one page, and man(1) finds every routine of
shmem.h by its name. Pages to which a page refers exist, and neither formatter warns. No line
with alternating fonts (.BR and the like) joins two words, because its arguments are printed
without a space between them. In the formatted text, each backslash belongs to an escape of C,
and each line of code in a source is a line of its own. A formatter that is not installed is left
out; without both, the exit status is 77.
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


def joined(page, text):
    """Lines whose neighbouring arguments would be printed as one word, such as `.BR 0 when`."""
    wrong = []
    for line in re.findall(r"^\.(?:BR|IR|BI|RB|RI|IB) .*", text.replace("\\\n", ""), flags=re.M):
        plain = re.sub(r"\\(f.|.)", "-", line)  # an escape, such as \- or \fB, is not a letter
        words = [a or b for a, b in re.findall(r'"([^"]*)"|([^\s"]+)', plain)][1:]
        wrong += [f"{page}: {a} and {b} are printed without a space: {line}"
                  for a, b in zip(words, words[1:]) if a and b and a[-1].isalnum() and b[0].isalnum()]
    return wrong


def code_lines(page):
    """The lines of code of the page's source; empty for a page without a source."""
    name = os.path.basename(page).removesuffix(".3") + ".txt"
    source = os.path.join(sys.argv[1], "docs", "man", "src", name)
    if not os.path.exists(source):
        return []
    with open(source, encoding="utf-8") as f:
        return [line.strip() for line in f if line.startswith("    ") and line.strip()]


def rendered(page, text):
    """What is wrong with the text that groff made, as a reader sees it."""
    lines = [line.strip() for line in text.splitlines()]
    stray = [line for line in lines if re.search(r"\\(?![n0])", line)]
    lost = [line for line in code_lines(page) if line not in lines]
    return [f"{page}: the formatted text has a stray backslash: {line}" for line in stray] + [
        f"{page}: this line of code is not a line of its own in the formatted text: "
        f"{line}" for line in lost]


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


def tool(name, option):
    """The lines that a script of tools/ prints, and one more when it fails."""
    path = os.path.join(sys.argv[1], "tools", name)
    result = subprocess.run([sys.executable, "-B", path, option], stdout=subprocess.PIPE, text=True,
                            check=False)
    return result.stdout.splitlines() + [f"{name} {option} exits with "
                                         f"{result.returncode}"] * (result.returncode != 0)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    found = sorted(glob.glob(os.path.join(sys.argv[2], "man[137]", "*")))
    pages = [page for page in found if not os.path.islink(page)]
    known = {tuple(os.path.basename(page).rsplit(".", 1)) for page in found if os.path.exists(page)}
    wrong = tool("gen_man.py", "--check")
    wrong += [f"man(1) does not find the routine {name}: there is no page with this name"
              for name in tool("gen_api.py", "--names")
              if (name, "3") not in known]
    for page in pages:
        wrong += formatters(page)
        with open(page, encoding="utf-8") as f:
            text = f.read()
        wrong += joined(page, text)
        wrong += [f"{page}: refers to {name}({section}), which does not exist"
                  for name, section in sorted(referred(text)) if (name, section) not in known]
    print("\n".join(wrong + [f"{len(pages)} pages (at least 60 expected), {len(wrong)} faults"]))
    if wrong or len(pages) < 60:
        sys.exit(1)
    if not shutil.which("groff") and not shutil.which("mandoc"):
        sys.exit(77)


main()
