#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the commands of steppe-bench that do not start the library: compare, plot, launch and tune.

usage: main.py compare|plot|launch|tune ARGUMENT...
Exit status: 0 on success, 1 if compare found a slower row, 2 for wrong usage or unreadable input.
"""
import sys

sys.dont_write_bytecode = True  # because the folder belongs to the installation

import compare  # noqa: E402
import launch_time  # noqa: E402
import plot  # noqa: E402
import tune  # noqa: E402
from result_file import ToolError  # noqa: E402

TOOLS = {"compare": compare.main, "plot": plot.main, "launch": launch_time.main,
         "tune": tune.main}


def main(arguments):
    if arguments[:1] in (["--help"], ["-h"]):
        print(f"usage: steppe-bench {'|'.join(TOOLS)} ARGUMENT...  (each has --help)")
        return 0
    if not arguments or arguments[0] not in TOOLS:
        complaint = f"{arguments[0]!r} is not a command" if arguments else "the command is missing"
        print(f"steppe-bench: {complaint}: use one of {', '.join(TOOLS)}", file=sys.stderr)
        return 2
    tool = arguments[0]
    try:
        return TOOLS[tool](arguments[1:])
    except ToolError as error:
        print(f"steppe-bench {tool}: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        sys.stderr.close()
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
