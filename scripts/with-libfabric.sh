#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Build another libfabric and run the tests that depend on libfabric with it: with-libfabric.sh --help.
exec python3 -B "$(dirname "$0")/with_libfabric.py" "$@"
