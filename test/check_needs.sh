#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Configures the sources with CMake where no dependency can be found. CMake must fail, and one
# message must name all Debian packages that are missing.
#
# usage: check_needs.sh <cmake> <source folder> <C compiler>
set -u

top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
mkdir "$top/empty"

PKG_CONFIG_LIBDIR="$top/empty" PKG_CONFIG_PATH="$top/empty" "$1" -S "$2" -B "$top/build" \
    -DCMAKE_C_COMPILER="$3" -DCMAKE_MAKE_PROGRAM="$(command -v make)" \
    -DCMAKE_IGNORE_PATH="/usr/include;/usr/local/include;/usr/bin;/bin;/usr/local/bin" \
    -DCMAKE_DISABLE_FIND_PACKAGE_Python3=ON \
    -DPKG_CONFIG_EXECUTABLE="$(command -v pkg-config)" >"$top/out" 2>&1 && {
    echo "check_needs: CMake must fail without dependencies, but it succeeded"
    exit 1
}
want="apt install libhwloc-dev libfabric-dev check python3 mpich"
grep -q "$want" "$top/out" && exit 0
echo "check_needs: CMake must print '$want'; it printed:"
cat "$top/out"
exit 1
