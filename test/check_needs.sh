#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Configures the sources with CMake where no dependency can be found. CMake must fail, and one
# message must name all Debian packages that are missing. Packages must require the libfabric of the
# build and recommend the hwloc that the library opens, because their tools see neither. Builds by a
# preset must not start an unlimited number of jobs.
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
grep -q "$want" "$top/out" || {
    echo "check_needs: CMake must print '$want'; it printed:"
    cat "$top/out"
    exit 1
}

status=0

# has FILE TEXT: a line of the file must have the text.
has()
{
    grep -qF -- "$2" "$source/$1" && return
    echo "check_needs: $1 must contain '$2'"
    status=1
}

source=$2
fabric=$(sed -n 's/.*libfabric>=\([0-9.]*\)).*/\1/p' "$source/cmake/SteppeNeeds.cmake")
hwloc=$(sed -n 's/.*"libhwloc\.so\.\([0-9]*\)".*/\1/p' "$source/spaces/hwloc_load.h")
has transport/ofi/ofi_internal.h "STP_OFI_VERSION FI_VERSION($(echo "$fabric" | sed 's/\./, /'))"
has debian/control "libfabric-dev (>= $fabric)"
has debian/control "Depends: libfabric1 (>= $fabric)"
has debian/control "Recommends: libhwloc$hwloc"
has packaging/steppe.spec "libfabric >= $fabric"
has packaging/steppe.spec "hwloc-libs"
has packaging/spack/package.py "libfabric@$fabric:"
has CMakePresets.json '{"name": "base", "hidden": true, "jobs": 4}'
grep '"configurePreset"' "$source/CMakePresets.json" | grep -v '"inherits": "base"' && {
    echo "check_needs: these build presets do not inherit the number of jobs"
    status=1
}
exit $status
