#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copy this source tree into a clean system of another Debian or Ubuntu release, and run commands there.
#
# usage: scripts/in-debian.sh SUITE [COMMAND...]
#   SUITE    bookworm, trixie (Debian 12 and 13) or noble (Ubuntu 24.04)
#   COMMAND  a command of the shell, run in the copied tree as root (default: install the packages for
#            tests by setup.sh, and sshd, and run with-libfabric.sh with the libfabric of that release)
#
# debootstrap makes the system in build-SUITE/root, where it stays for later calls. The copied tree is
# build-SUITE/root/steppe. The exit status is that of the command, or 77 if this machine cannot make the
# system. Environment: DEBIAN_MIRROR, UBUNTU_MIRROR.
set -u

skip()
{
    echo "in-debian.sh: skipped: $*"
    exit 77
}

suite=${1-}
case $suite in
    bookworm | trixie) mirror=${DEBIAN_MIRROR-http://deb.debian.org/debian} parts=main ;;
    noble) mirror=${UBUNTU_MIRROR-http://archive.ubuntu.com/ubuntu} parts=main,universe ;;
    *) sed -n 's/^# \{0,1\}//; 3,12p' "$0" >&2; exit 2 ;;
esac
shift
[ $# -gt 0 ] || set -- "scripts/setup.sh --test && apt-get install -qqy openssh-server >/dev/null &&
    scripts/with-libfabric.sh system"
[ "$(id -u)" = 0 ] || skip "only root can create a clean system"
command -v debootstrap >/dev/null || skip "debootstrap is not installed: scripts/setup.sh --full"
unshare -mpf true 2>/dev/null || skip "namespaces are not allowed here"

source=$(cd "$(dirname "$0")/.." && pwd)
root=$source/build-$suite/root
if [ ! -e "$root/steppe" ]; then
    rm -rf --one-file-system "$root"
    mkdir -p "$root"
    # Debian's debootstrap may know neither the release of Ubuntu nor Ubuntu's key. The script "gutsy" is
    # the one for all releases since 2007, and apt-get checks signatures with the key in the new system.
    script=/usr/share/debootstrap/scripts/$suite check=
    [ -e "$script" ] || script=/usr/share/debootstrap/scripts/gutsy
    [ $suite != noble ] || [ -e /usr/share/keyrings/ubuntu-archive-keyring.gpg ] || check=--no-check-gpg
    # shellcheck disable=SC2086 # nothing or one word
    debootstrap $check --variant=minbase --components=$parts "$suite" "$root" "$mirror" "$script" \
        >"$root/../debootstrap.log" 2>&1 || {
        tail -5 "$root/../debootstrap.log" >&2
        grep -q 'Failed getting release\|Unable to\|Couldn.t download' "$root/../debootstrap.log" &&
            skip "the mirror $mirror cannot be reached"
        exit 1
    }
    mkdir "$root/steppe"
fi
cp /etc/resolv.conf "$root/etc/" 2>/dev/null
# Remove the sources of the last call, so that files that no longer exist are not tested.
find "$root/steppe" -mindepth 1 -maxdepth 1 ! -name 'build*' -exec rm -rf --one-file-system {} +
(cd "$source" && git ls-files -co --exclude-standard -z | tar -c --null -T - -f -) |
    tar -x -C "$root/steppe" -f - || exit 1

# The tests create namespaces and enter those of other processes, so the new system must be the root of
# its mount namespace, for which chroot is not enough.
unshare -mpf --kill-child /bin/sh -c 'mount --bind "$0" "$0" && mount --rbind /sys "$0/sys" && cd "$0" &&
    mkdir -p old-root && pivot_root . old-root || exit 77; exec chroot . "$@"' "$root" \
    /bin/sh -c 'mount -t proc proc /proc && umount -l /old-root &&
    mount -t tmpfs -o size=50% tmpfs /dev/shm && mount -t tmpfs tmpfs /run &&
    cd /steppe && export LC_ALL=C.UTF-8 && eval "$*"' sh "$@" </dev/null
