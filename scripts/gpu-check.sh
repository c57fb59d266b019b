#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Run the tests of GPU memory with the CUDA driver of this machine, and print a table of them and
# what the kernels of space_kernels measured. Needs a C compiler, CMake, the driver, and a launcher
# (oshrun says which), but no CUDA toolkit.
#
# usage: scripts/gpu-check.sh [PREFIX] [-- OPTION...]
#   PREFIX   where Steppe is installed; without it, Steppe is built and installed in build-gpu
#   OPTION   of ctest, such as -R space_gpu
#
# Environment: GPU_CHECK_BUILD, build folder (build-gpu); GPU_CHECK_LIMIT, seconds that a test may
# take (120); JOBS, parallel compilations; CC. GPU_CHECK_ALLOW_FAKE=1 accepts the test double of
# test/fakecuda. Exit status: 0, 77 without a GPU, 1 when anything failed, 2 for misuse.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
build=${GPU_CHECK_BUILD:-$root/build-gpu}
jobs=${JOBS:-$(nproc)}

die()
{
    status=$1
    shift
    printf '%s\n' "gpu-check: $*" >&2
    exit "$status"
}

# Prints what the driver says of itself; ends this script where there is no GPU.
probe()
{
    ${CC:-cc} -o "$build/gpu_probe" "$root/bench/steppe/gpu_probe.c" "$root/bench/steppe/raw_cuda_driver.c" -ldl ||
        die 1 "bench/steppe/gpu_probe.c does not compile"
    status=0
    "$build/gpu_probe" >"$build/probe.txt" || status=$?
    [ $status -ne 77 ] || die 77 "the CUDA driver finds no GPU that it can use: nothing was checked"
    [ $status -eq 0 ] || die 1 "bench/steppe/gpu_probe.c, which looks for GPUs, ended with status $status"
    cat "$build/probe.txt"
    [ "$(sed -n 3p "$build/probe.txt")" = real ] || [ "${GPU_CHECK_ALLOW_FAKE:-}" = 1 ] ||
        die 1 "libcuda.so.1 is the test double of test/fakecuda, and a check with it does not test a GPU:" \
            "remove it from LD_LIBRARY_PATH, or set GPU_CHECK_ALLOW_FAKE=1 to try this script"
}

# logged COMMAND...: run it, and print what it said only if it fails.
logged()
{
    "$@" >"$build/log" 2>&1 </dev/null || {
        tail -n 40 "$build/log" >&2
        die 1 "failed: $*"
    }
}

install_steppe()
{
    prefix=$build/prefix
    logged cmake -S "$root" -B "$build/steppe" -DBUILD_TESTING=OFF -DSTEPPE_EXAMPLES=OFF \
        -DCMAKE_INSTALL_PREFIX="$prefix"
    logged cmake --build "$build/steppe" -j "$jobs"
    logged cmake --install "$build/steppe"
}

# The table, from what ctest has printed: it is complete up to the test that was running.
table()
{
    awk '/ Test +#[0-9]+: / {
             name = $0; sub(/.*#[0-9]+: /, "", name); sub(/ .*/, "", name)
             result = /Passed/ ? "passed" : /Skipped/ ? "skipped" : "failed"
             printf "%-36s %-10s %8s s\n", name, result, $(NF - 1)
             n[result]++
         }
         END {
             printf "%d passed, %d failed, %d skipped\n", n["passed"], n["failed"], n["skipped"]
         }' "$build/ctest.log"
    cat "$GPU_ROWS"
}

case ${1-} in
    "" | --) prefix= ;;
    -*) sed -n 's/^# \{0,1\}//; 7,9p' "$0" >&2; exit 2 ;;
    *) prefix=$(cd "$1" && pwd) && shift ;;
esac
[ "${1-}" != -- ] || shift
mkdir -p "$build"
export GPU_ROWS="$build/rows.jsonl" # where space_kernels writes
: >"$GPU_ROWS"
: >"$build/ctest.log"
probe
[ -n "$prefix" ] || install_steppe
logged cmake -S "$root/test/gpu" -B "$build/tests" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DCMAKE_PREFIX_PATH="$prefix" -DGPU_CHECK_OSHRUN="$prefix/bin/oshrun" \
    -DGPU_CHECK_LIMIT="${GPU_CHECK_LIMIT:-120}"
logged cmake --build "$build/tests" -j "$jobs"
trap table EXIT
trap 'exit 1' INT TERM HUP
ctest --test-dir "$build/tests" -L gpu --output-on-failure --output-log "$build/ctest.log" "$@" ||
    exit 1
