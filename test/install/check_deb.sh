#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds the Debian packages of the source tree, checks them with lintian, and uses them in a clean
# root. There they are installed after and before Open MPI's packages. A program is compiled and run
# by the commands in /usr/bin, by those of the environment module, and by pkg-config. Removal must
# leave no file. Skipped (77), with the reason, when a tool, root rights or the mirror is missing.
#
# usage: check_deb.sh <source folder>
set -u

source=$(cd "$1" && pwd)
suite=bookworm mirror=${DEBIAN_MIRROR-http://deb.debian.org/debian}

skip()
{
    echo "skipped: $*"
    exit 77
}

fail()
{
    echo "FAIL: $*" >&2
    exit 1
}

for tool in dpkg-buildpackage dh lintian debootstrap unshare; do
    command -v $tool >/dev/null || skip "$tool is not installed: scripts/setup.sh --full"
done
[ "$(id -u)" = 0 ] || skip "only root can create a clean root"
unshare -mpf true 2>/dev/null || skip "namespaces are not allowed here"
top=$(mktemp -d)
trap 'rm -rf --one-file-system "$top"' EXIT
root=$top/root

# ---- build ----------------------------------------------------------------------------------

mkdir "$top/steppe"
if ! git -C "$source" ls-files >/dev/null 2>&1; then
    skip "the packages are built from the files that git knows, and this is no checkout"
fi
(cd "$source" && git ls-files -co --exclude-standard -z | tar -c --null -T - -f -) |
    tar -x -C "$top/steppe" -f - || fail "the source tree cannot be copied"
(cd "$top/steppe" && dpkg-buildpackage -us -uc -b -j2) >"$top/build.log" 2>&1 </dev/null || {
    tail -30 "$top/build.log" >&2
    fail "dpkg-buildpackage failed, see the lines above"
}
# The maintainer's address is for whoever uploads.
lintian --allow-root --fail-on error,warning \
    --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog "$top"/*.changes ||
    fail "lintian reports errors or warnings, see above"
echo "ok   built, lintian clean"

# ---- a clean root -----------------------------------------------------------------------------

debootstrap --variant=minbase $suite "$root" "$mirror" >"$top/boot.log" 2>&1 || {
    grep -q 'Failed getting release\|Unable to\|Couldn.t download' "$top/boot.log" &&
        skip "the mirror $mirror cannot be reached"
    tail -5 "$top/boot.log" >&2
    fail "debootstrap failed, see the lines above"
}
cp /etc/resolv.conf "$root/etc/" 2>/dev/null

# inside COMMAND...: in the root, with processes of its own.
inside()
{
    unshare -mpf --kill-child chroot "$root" /bin/sh -c \
        'mount -t proc proc /proc && exec "$@"' sh "$@" </dev/null
}

apt()
{
    inside env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends "$@" \
        >"$top/apt.log" 2>&1 || {
        tail -20 "$top/apt.log" >&2
        fail "apt-get $* failed in the clean root, see the lines above"
    }
}

# All files but those that apt, dpkg and caches change.
files()
{
    (cd "$root" && find . -xdev \( -path ./proc -o -path ./dev -o -path ./tmp -o -path ./root -o -path ./trial -o -path ./packages \
        -o -path ./var/lib/apt -o -path ./var/cache -o -path ./var/log -o -path ./var/lib/dpkg \) \
        -prune -o -print | sort)
}

cat >"$top/hello.c" <<'END'
#include <shmem.h>
#include <stdio.h>
int main(void)
{
    shmem_init();
    printf("pe %d of %d, %s\n", shmem_my_pe(), shmem_n_pes(), SHMEM_VENDOR_STRING);
    shmem_finalize();
    return 0;
}
END
mkdir -p "$root/packages" "$root/trial"
cp "$top"/*.deb "$root/packages/"
cp "$top/hello.c" "$root/trial/"

# says WHAT COMMAND: the shell's output has both PEs of Steppe.
says()
{
    local what=$1 out pe
    shift
    out=$(inside timeout 60 sh -c "cd /trial && rm -f hello && $*" 2>&1)
    for pe in 0 1; do
        echo "$out" | grep -q "^pe $pe of 2, Steppe" ||
            fail "$what: the output lacks the line of pe $pe: $out"
    done
    echo "ok   $what"
}

use()
{
    local out
    says "$1: /usr/bin" 'oshcc.steppe hello.c -o hello && oshrun.steppe -n 2 ./hello'
    says "$1: the module's folder" \
        'PATH=/usr/lib/steppe/bin:$PATH; oshcc hello.c -o hello && oshrun -n 2 ./hello'
    says "$1: pkg-config" 'cc hello.c -o hello $(pkg-config --cflags --libs steppe) &&
        oshrun.steppe -n 2 ./hello'
    inside oshinfo version | grep -q 'Steppe' || fail "$1: oshinfo version does not print Steppe"
    out=$(inside dpkg -S /usr/bin/oshcc 2>&1)
    [[ $out == openmpi* ]] ||
        fail "$1: /usr/bin/oshcc must belong to Open MPI, but belongs to: $out"
    out=$(inside /usr/bin/oshcc --showme:version 2>&1)
    [[ $out == *"Open SHMEM"* ]] || fail "$1: /usr/bin/oshcc must be Open MPI's, but prints: $out"
}

# inside: packages of ours are these, dbgsym aside
ours=$(cd "$root/packages" && printf '/packages/%s ' $(ls | grep -v dbgsym))
apt install gcc libc6-dev pkg-config mpich
files >"$top/before"
apt install openmpi-bin libopenmpi-dev
files >"$top/open"
apt install $ours
use "after Open MPI"
apt purge steppe-bin libsteppe-dev libsteppe1
apt autoremove
files | comm -13 "$top/open" - >"$top/left"
[ ! -s "$top/left" ] || fail "purging the packages left files: $(head -5 "$top/left")"
echo "ok   removed without leftovers"
apt purge openmpi-bin libopenmpi-dev
apt autoremove
apt install $ours
apt install openmpi-bin libopenmpi-dev
use "before Open MPI"
