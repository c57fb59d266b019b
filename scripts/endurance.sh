#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Random programs and stress programs for minutes or hours on each path: endurance.sh --help.
exec python3 -B "$(dirname "$0")/endurance.py" "$@"
