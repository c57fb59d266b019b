#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Install the Debian packages that Steppe needs. Does nothing, at once, if all of them are installed,
# and needs root or sudo only if one is missing. Without root and sudo, prints the command to run.
#
# usage: scripts/setup.sh [--test | --full]
#   (none)   what building, installing and running Steppe needs
#   --test   also what scripts/test.sh needs
#   --full   also what scripts/test.sh --full and the contributors' tools use; packages that cannot be
#            installed are named, and the tests that use them are skipped
set -eu

for_running="gcc libc6-dev make cmake pkg-config python3 libfabric-dev libhwloc-dev mpich"
for_tests="g++ clang clang-format check iproute2 libmpich-dev libpmix-dev python3-cffi python3-pycparser groff-base mandoc"
for_full="openmpi-bin libopenmpi-dev abigail-tools clang-tidy debhelper debootstrap dpkg-dev gcovr
    libclang-rt-dev lintian munge slurm-wlm openssh-server gcc-aarch64-linux-gnu
    g++-aarch64-linux-gnu qemu-user reuse"

packages=$for_running
extras=
case ${1-} in
    "") ;;
    --test) packages="$packages $for_tests" ;;
    --full) packages="$packages $for_tests" extras=$for_full ;;
    *) sed -n 's/^# \{0,1\}//; 3,10p' "$0" >&2; exit 2 ;;
esac

# give_up REASON: print what Steppe needs on a system without Debian's packages, and end.
give_up()
{
    cat >&2 <<END
setup.sh: $1
Please install these by the means of your system: a C11 compiler (gcc 12 and clang 14 are tested),
make, cmake 3.25, pkg-config, python3, libfabric 1.17 or later and hwloc 2 with their headers, and for
jobs of several PEs Hydra's mpiexec.hydra (part of MPICH), Slurm or Open MPI's mpirun.
The tests also need a C++ compiler and the Check unit test framework. Tests that use MPICH's or PMIx's
headers, Python's cffi, groff or mandoc are skipped without them.
END
    exit 1
}

# missing_packages PACKAGE...: print those that are not installed.
missing_packages()
{
    for package in "$@"; do
        state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) || state=
        [ "$state" = installed ] || printf '%s ' "$package"
    done
}

# install PACKAGE...: with apt-get, as root or by sudo. Fails if this user can do neither.
install()
{
    if [ "$(id -u)" -eq 0 ]; then
        as_root="env"
    elif command -v sudo >/dev/null 2>&1; then
        as_root="sudo env"
    else
        echo "setup.sh: run this as root, or ask your administrator: apt-get install $*" >&2
        return 1
    fi
    echo "setup.sh: installing $*"
    $as_root DEBIAN_FRONTEND=noninteractive apt-get update -q </dev/null &&
        $as_root DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
            "$@" </dev/null
}

if ! command -v dpkg-query >/dev/null 2>&1 || ! command -v apt-get >/dev/null 2>&1; then
    for tool in cc make cmake pkg-config python3; do
        command -v $tool >/dev/null 2>&1 || give_up "this system has no apt-get, and $tool is missing"
    done
    for library in libfabric hwloc; do
        pkg-config --exists $library || give_up "this system has no apt-get, and $library is missing"
    done
    exit 0
fi

# shellcheck disable=SC2086 # lists of words
missing=$(missing_packages $packages)
# shellcheck disable=SC2086
[ -z "$missing" ] || install $missing || exit 1

# shellcheck disable=SC2086
missing=$(missing_packages $extras)
# shellcheck disable=SC2086
if [ -n "$missing" ] && ! install $missing; then
    echo "setup.sh: these packages are missing, and tests that use them are skipped: $missing" >&2
fi
