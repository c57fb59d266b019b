#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Measure Steppe and other implementations of OpenSHMEM side by side: see bench/peer/README.md.
set -eu
exec python3 "$(dirname "$0")/peer/peer.py" "$@"
