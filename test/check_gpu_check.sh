#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Run scripts/gpu-check.sh as on a machine that has next to nothing, with the fake driver: in a
# namespace without the headers and tools that such a machine lacks, and a PATH of a compiler, the
# shell and its usual tools. Looks at the results that it leaves behind, line by line.
#
# usage: check_gpu_check.sh SOURCE BUILD bare|plain
#   bare   no CMake, hwloc, libfabric, pkg-config, launcher nor Python: 1 PE
#   plain  no CMake and pkg-config alone: 2 PEs, the fabric and the benches too; one test hangs
# Skipped (77) where a user may not make namespaces.
set -eu

source=$1 build=$2 what=$3
work=$build/gpu-check-$what
hidden="/usr/include/hwloc.h /usr/include/rdma"
tools="as awk basename cat chmod cut date dirname env expr false find gcc grep head id kill ld ln
    mkdir mkfifo mktemp mv nproc printf pwd readlink rm sed sh sleep sort tail test timeout touch tr
    true uname uniq wc xargs"
[ "$what" = bare ] || { tools="$tools mpiexec.hydra hydra_pmi_proxy" hidden=; }

fail()
{
    echo "failed: $1"
    tail -n 60 "$work/log"
    exit 1
}

has()
{
    grep -q -e "$1" "$work/out.jsonl" || fail "no line of results has $1"
}

unshare -rm true 2>/dev/null || { echo "skipped: no namespaces for this user"; exit 77; }
rm -rf "$work"
mkdir -p "$work/bin" "$work/none"
echo "#error not on this machine" >"$work/none.h"
for tool in $tools; do
    path=$(command -v "$tool") && ln -s "$(readlink -f "$path")" "$work/bin/$tool"
done

export GPU_CHECK_ALLOW_FAKE=1 GPU_CHECK_BUILD="$work/build" OUT="$work/out.json" CC=gcc
export GPU_CHECK_CFLAGS="-O0" LD_LIBRARY_PATH="$build/lib/fakecuda" FAKECUDA_DELAY_US=0
unset SHMEM_LAUNCHER GPU_CHECK_DEPS
export GPU_CHECK_TESTS="test/pe/spaces/space_gpu.c test/pe/spaces/space_kernels.c
    test/pe/kernel/kernel_gpu.c"
if [ "$what" = bare ]; then
    set -- --quick --seconds 500 --no-bench
else
    set -- --quick --seconds 500
    export GPU_CHECK_TESTS="$GPU_CHECK_TESTS $work/hangs.c" GPU_CHECK_LIMIT=20 GPU_CHECK_PES=2
    cat >"$work/hangs.c" <<'END'
#include <signal.h>
#include <unistd.h>

/* Two processes that do not end when they are asked to. */
int main(void)
{
    signal(SIGTERM, SIG_IGN);
    if (fork() == 0) setsid();
    for (;;)
        pause();
}
END
fi
status=0
# shellcheck disable=SC2016 # for the inner shell
unshare -rm sh -c 'for path in $1; do
        [ ! -d "$path" ] || mount --bind "$2/none" "$path"
        [ ! -f "$path" ] || mount --bind "$2/none.h" "$path"
    done
    shift
    PATH=$1/bin; export PATH; shift; exec "$@"' sh "$hidden" "$work" \
    "$source/scripts/gpu-check.sh" "$@" >"$work/log" 2>&1 || status=$?

if [ "$what" = bare ]; then
    [ $status -eq 0 ] || fail "exit status $status"
    has '"test": "space_gpu", "path": "ipc", "pes": 1, "result": "pass"'
    has '"test": "space_gpu", "path": "ipc", "pes": 2, "result": "skip"'
    has '"test": "space_kernels", "path": "ipc", "pes": 1, "result": "pass"'
    has '"test": "kernel_gpu", "path": "ipc", "pes": 1, "result": "pass"'
    has '"row": "spin"'
    has '"row": "copy-in-pinned"'
    has '"missing": "cmake, pkg-config, libfabric, hwloc.h, mpiexec.hydra'
else
    # The test that hangs fails at its limit and nothing of it is left; all others pass.
    [ $status -eq 1 ] || fail "exit status $status with a test that hangs"
    has '"test": "hangs", "path": "ipc", "pes": 2, "result": "fail", "status": 1[23]'
    ! grep -v '"hangs"' "$work/out.jsonl" | grep '"result": "[fl]a' || fail "another test"
    # shellcheck disable=SC2046 # words
    ! grep -l -z -x "GPU_CHECK_BUILD=$GPU_CHECK_BUILD" \
        $(find /proc/[0-9]* -maxdepth 1 -name environ ! -path "/proc/$$/*" 2>/dev/null) \
        2>/dev/null || fail "processes are left behind"
    has '"test": "space_gpu", "path": "tcp", "pes": 2, "result": "pass"'
    has '"line": "bench", "way": "tcp"'
    has '"missing": "cmake, pkg-config'
fi
python3 - "$work/out.json" "$work/out.jsonl" <<'END' || fail "no JSON"
import json
import sys

json.load(open(sys.argv[1], encoding="utf-8"))
for line in open(sys.argv[2], encoding="utf-8"):
    json.loads(line)
END
tail -n 3 "$work/log"
