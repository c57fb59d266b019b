#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write an HTML version of the manual pages with mandoc.

usage: gen_man_html.py MAN HTML

MAN is the folder that contains man1, man3 and man7. The script removes the folder HTML and creates
it again. HTML gets a file NAME.SECTION.html for each page, a symbolic link for each further name of
a page, and index.html, which is a link to shmem(7). References in bold, such as shmem_put(3),
become links if the page exists.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

REFERENCE = re.compile(r"<b>([\w.+-]+)</b>\((\d)\)")
STYLE = """body { max-width: 50em; margin: 2em auto; padding: 0 1em; font-family: sans-serif; line-height: 1.5 }
pre, code, b { font-family: monospace } pre { background: #f3f3f3; padding: 0.5em; overflow-x: auto }
table.head, table.foot { width: 100%; color: #666 } table { border-spacing: 1em 0 }
"""


def html_of(page, known):
    """Return the page as HTML, with links to the pages that exist."""
    result = subprocess.run(["mandoc", "-Thtml", "-Ostyle=style.css", str(page)], capture_output=True,
                            text=True, check=True)

    def link(found):
        name = f"{found[1]}.{found[2]}"
        return f'<a href="{name}.html">{found[0]}</a>' if name in known else found[0]
    return REFERENCE.sub(link, result.stdout)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    man, html = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    pages = sorted(man.glob("man[137]/*.[137]"))
    known = {page.name for page in pages}
    shutil.rmtree(html, ignore_errors=True)
    html.mkdir(parents=True)
    (html / "style.css").write_text(STYLE, encoding="utf-8")
    for page in pages:
        target = html / f"{page.name}.html"
        if page.is_symlink():
            target.symlink_to(f"{os.readlink(page)}.html")
        else:
            target.write_text(html_of(page, known), encoding="utf-8")
    (html / "index.html").symlink_to("shmem.7.html")


if __name__ == "__main__":
    main()
