#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Unpacks Debian packages of another architecture into a folder, for a cross compiler and qemu: what
# the library and its tests need there. It changes nothing on this system, because apt keeps its
# lists, its cache and an empty list of installed packages in that folder. It does nothing when the
# folder is complete.
#
# usage: sysroot.sh ARCHITECTURE FOLDER [PACKAGE...]
set -eu

[ $# -ge 2 ] || { sed -n 's/^# \{0,1\}//; 3,8p' "$0" >&2; exit 2; }
arch=$1
folder=$2
shift 2
[ $# -gt 0 ] || set -- libc6-dev libfabric-dev libhwloc-dev check

done=$folder/.complete
[ "$(cat "$done" 2>/dev/null)" != "$arch $*" ] || exit 0
rm -rf "$folder"
mkdir -p "$folder/apt/lists/partial" "$folder/apt/archives/partial" "$folder/root"
folder=$(cd "$folder" && pwd)
: >"$folder/apt/status"

for word in "APT::Architecture=$arch" "APT::Architectures=$arch" "Dir::State=$folder/apt" \
    "Dir::State::lists=$folder/apt/lists" "Dir::State::status=$folder/apt/status" \
    "Dir::Cache=$folder/apt" "Dir::Cache::archives=$folder/apt/archives" Debug::NoLocking=1 \
    APT::Sandbox::User=root; do
    echo "$word" | sed 's/^\([^=]*\)=\(.*\)/\1 "\2";/'
done >"$folder/apt/conf"
export APT_CONFIG="$folder/apt/conf"

apt-get -q update
apt-get -q -y --no-install-recommends --download-only install "$@"
for package in "$folder"/apt/archives/*.deb; do
    dpkg-deb -x "$package" "$folder/root"
done
# links with absolute targets would lead out of the folder
find "$folder/root" -type l -lname '/*' | while read -r link; do
    ln -sfr "$folder/root$(readlink "$link")" "$link"
done
rm -rf "$folder/apt"
echo "$arch $*" >"$done"
