#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Install what Steppe needs to be built and tested, by Debian package names. Does nothing, at
# once, when all of it is there. Needs root or sudo only when something is missing.
#
# usage: scripts/setup.sh [--full]
#   --full   also what some checks of the full matrix and some tools of contributors use; what
#            cannot be installed of it is named, and those checks are skipped
set -eu

packages="gcc g++ clang clang-format make cmake pkg-config python3 libc6-dev
    libfabric-dev libhwloc-dev mpich check
    libmpich-dev openmpi-bin libpmix-dev
    python3-cffi python3-pycparser groff-base mandoc"

extras="abigail-tools clang-tidy debhelper debootstrap dpkg-dev gcovr libclang-rt-dev
    libopenmpi-dev
    lintian munge slurm-wlm iproute2 gcc-aarch64-linux-gnu g++-aarch64-linux-gnu
    qemu-user reuse"

full=
case ${1-} in
    "") ;;
    --full) full=1 ;;
    *) sed -n 's/^# \{0,1\}//; 3,8p' "$0" >&2; exit 2 ;;
esac

# missing_packages PACKAGE...: those that are not installed
missing_packages()
{
    for package in "$@"; do
        state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) || state=
        [ "$state" = installed ] || printf '%s ' "$package"
    done
}

explain()
{
    cat >&2 <<END
setup.sh: $1
Please install, by whatever means your system has: a C11 and a C++ compiler (gcc 12 and clang 14
are tested), make, cmake 3.25, pkg-config, python3, libfabric 1.17 or later with headers, hwloc 2
with headers, Hydra's mpiexec.hydra (part of MPICH), and the Check unit test framework. MPICH with
headers, Open MPI's mpirun, libpmix with headers, Python's cffi, groff and mandoc are only tested
with: without them, their tests are skipped.
END
    exit 1
}

if ! command -v dpkg-query >/dev/null 2>&1; then
    for tool in cc c++ make cmake pkg-config python3 mpiexec.hydra; do
        command -v $tool >/dev/null 2>&1 || explain "no dpkg here, and $tool is missing"
    done
    for library in libfabric hwloc check; do
        pkg-config --exists $library || explain "no dpkg here, and $library is missing"
    done
    exit 0
fi

become_root()
{
    if [ "$(id -u)" -eq 0 ]; then
        as_root="env"
    elif command -v sudo >/dev/null 2>&1; then
        as_root="sudo env"
    else
        return 1
    fi
}

# install PACKAGE...
install()
{
    echo "setup.sh: installing $*"
    $as_root DEBIAN_FRONTEND=noninteractive apt-get update -q </dev/null &&
        $as_root DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
            "$@" </dev/null
}

# shellcheck disable=SC2086 # lists of words
missing=$(missing_packages $packages)
if [ -n "$missing" ]; then
    command -v apt-get >/dev/null 2>&1 || explain "no apt-get here; missing: $missing"
    become_root || explain "neither root nor sudo here; missing: $missing"
    # shellcheck disable=SC2086
    install $missing
fi

[ -n "$full" ] || exit 0
# shellcheck disable=SC2086
missing=$(missing_packages $extras)
[ -n "$missing" ] || exit 0
# shellcheck disable=SC2086
if ! { command -v apt-get >/dev/null 2>&1 && become_root && install $missing; }; then
    echo "setup.sh: not here, and what needs it is skipped: $missing" >&2
fi
