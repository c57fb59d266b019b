#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check that docs/design/orderings.md has each atomic word, file and memory order of the library.

usage: check_orderings.py [--list] <source root>

A word is the last name in the address that a call of __atomic_...() gets, `fence` for one without.
A row of the page names words in its first cell, and in its second each file with the orders that
the words of the row have there; "given" is an order that the caller chooses. A call whose word,
file and order are in no row is a fault, and so is what a row has and the file has not. --list
prints what the sources have, as rows.
"""
import collections
import pathlib
import re
import sys

PAGE = "docs/design/orderings.md"
FOLDERS = ("src", "spaces", "transport", "pmi")
CALL = re.compile(r"\b(?:__atomic_|atomic_)([a-z_]+)\(")
ORDERS = {"relaxed", "acquire", "release", "acq_rel", "seq_cst", "given"}


def arguments(text, at):
    """Those of a call whose parenthesis opens before `at`."""
    words, depth = [""], 1
    while True:
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth == 0:
            return words
        if depth == 1 and text[at] == ",":
            words.append("")
        else:
            words[-1] += text[at]
        at += 1


def word_of(address):
    """ctx->queues[id] is queues, (uint64_t *)there is there, f(x) is f."""
    address = re.sub(r"\([^()]*\*+\)", "", address)
    while re.search(r"\[[^\[\]]*\]|\([^()]*\)", address):
        address = re.sub(r"\[[^\[\]]*\]|\([^()]*\)", "", address)
    return re.findall(r"\w+", address)[-1]


def calls(root):
    """Sets of orders by word and file."""
    found = collections.defaultdict(set)
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.[ch]")):
            text = re.sub(r"/\*.*?\*/", " ", path.read_text(), flags=re.S)
            for match in CALL.finditer(text):
                words = arguments(text, match.end())
                fence = match[1] in ("thread_fence", "signal_fence")
                orders = {order.lower() for order in re.findall(r"__ATOMIC_(\w+)", " ".join(words))}
                key = ("fence" if fence else word_of(words[0]), path.relative_to(root).as_posix())
                found[key] |= orders or {"given"}
    return found


def rows(page):
    """(word, file): orders, of all rows; words and files of a row belong together."""
    claimed = collections.defaultdict(set)
    for line in page.splitlines():
        cells = line.strip("|").split("|")
        files = re.findall(r"`([\w./]+)` ([a-z_, ]+)", cells[1]) if len(cells) > 2 else []
        for word in re.findall(r"`(\w+)`", cells[0]) if line.startswith("|") else []:
            for path, orders in files:
                claimed[word, path] |= ORDERS & set(re.findall(r"\w+", orders))
    return claimed


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    root = pathlib.Path(sys.argv[-1])
    found = calls(root)
    if "--list" in sys.argv:
        for (word, path), orders in sorted(found.items()):
            print(f"| `{word}` | `{path}` {', '.join(sorted(orders))} | |")
        return
    claimed = rows((root / PAGE).read_text())
    faults = []
    for word, path in sorted(found):
        for order in sorted(found[word, path] - claimed[word, path]):
            faults.append(f"{path}: {word}: {order} has no row in {PAGE}")
    for (word, path), orders in sorted(claimed.items()):
        if orders and (word, path) not in found:
            faults.append(f"{PAGE}: {path} has no atomic word {word}")
        for order in sorted(orders - found.get((word, path), orders)):
            faults.append(f"{PAGE}: {path}: {word} is nowhere {order}")
    print("\n".join(faults + [f"{len(found)} words in files, {len(faults)} faults"]))
    sys.exit(1 if faults or len(found) < 100 else 0)


main()
