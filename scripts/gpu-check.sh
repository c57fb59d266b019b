#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Check and measure Steppe on a machine with an NVIDIA GPU: build, run the tests of GPU memory with
# 1, 2 and 4 PEs on every path there is, run the GPU benches beside the bare driver, and write one
# JSON report. Needs no network and no CUDA toolkit: a C compiler and the driver; makes do without
# CMake and libfabric, and takes what else is missing from a folder prepared elsewhere.
#
# usage: scripts/gpu-check.sh [--quick]
#        scripts/gpu-check.sh --fetch DIR     (on a Debian with network, after scripts/setup.sh)
#   --quick    short benches: a smoke test, not a measurement
#   --fetch    put the packages that a bare machine may lack into DIR
#
# Environment: GPU_CHECK_DEPS, such a folder; OUT, file or folder of the report (default:
# docs/results/gpu-DEVICE.json); GPU_CHECK_BUILD, build folder (build-gpu); JOBS.
# GPU_CHECK_ALLOW_FAKE=1 accepts the test double of test/fakecuda: the report goes to a temporary
# folder then, and says so. Exit status: 0, 77 without a GPU, 1 when anything failed, 2 for misuse.
set -eu

# Paths that the user gives are relative to where the user is.
absolute()
{
    case $1 in
        "" | /*) printf '%s' "$1" ;;
        *) printf '%s' "$start/$1" ;;
    esac
}

start=$PWD
cd "$(dirname "$0")/.."
root=$PWD
suite=test/pe/spaces
build=$(absolute "${GPU_CHECK_BUILD:-$root/build-gpu}")
carried=$(absolute "${GPU_CHECK_DEPS:-}")
out=$(absolute "${OUT:-}")
jobs=${JOBS:-$(nproc)}
cc=${CC:-cc}
quick=
missing=

say()
{
    printf '%s\n' "gpu-check: $*"
}

die()
{
    status=$1
    shift
    printf '%s\n' "gpu-check: $*" >&2
    exit "$status"
}

found()
{
    command -v "$1" >/dev/null 2>&1
}

# ---- packages for a machine without network ----------------------------------------------------

# Debian packages of the shared libraries that the given files load; not the C library's.
owners_of_libraries()
{
    ldd "$@" | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p' | sort -u | while read -r library; do
        library=$(readlink -f "$library")
        dpkg -S "$library" "/usr$library" "${library#/usr}" 2>/dev/null | sed 's/:.*//'
    done | sort -u | grep -v -x -e libc6 -e libgcc-s1 -e 'libstdc++6' -e libcrypt1
}

fetch()
{
    for tool in apt-get dpkg ldd mpiexec.hydra pkg-config; do
        found $tool || die 2 "--fetch needs $tool: a Debian after scripts/setup.sh"
    done
    mkdir -p "$1"
    fabric=$(pkg-config --variable=libdir libfabric)/libfabric.so
    pkg_config=$(command -v pkg-config)
    pkg_config=$(dpkg -S "$pkg_config" "$(readlink -f "$pkg_config")" | sed 's/:.*//')
    packages="mpich libhwloc-dev libfabric-dev libfabric1 $pkg_config
        $(owners_of_libraries "$(command -v mpiexec.hydra)" "$fabric" "$(command -v pkg-config)")"
    # shellcheck disable=SC2046,SC2086 # lists of words
    (cd "$1" && apt-get download $(printf '%s\n' $packages | sort -u))
    say "in $1:" && ls "$1"
}

# Unpack .deb files without installing; where dpkg is missing, as the archives that they are.
unpack_deb()
{
    if found dpkg; then
        dpkg -x "$1" "$2"
    else
        (cd "$2" && ar p "$1" "$(ar t "$1" | grep '^data\.tar')" | tar xaf - 2>/dev/null) ||
            (cd "$2" && ar p "$1" data.tar.xz | tar xJf -)
    fi
}

# What is here goes first; carried libraries last, lest they hide the machine's own.
use_deps()
{
    [ -n "$carried" ] || return 0
    [ -d "$carried" ] || die 2 "GPU_CHECK_DEPS=$carried: no such folder"
    deps=$build/deps
    mkdir -p "$deps"
    for deb in "$carried"/*.deb; do
        [ -f "$deb" ] || die 2 "GPU_CHECK_DEPS=$carried: no .deb files there"
        unpack_deb "$deb" "$deps"
    done
    libdir=$(dirname "$(find "$deps/usr/lib" -name 'libhwloc.so*' | head -n 1)")
    # links that Debian makes when it installs: update-alternatives, and pkg-config's name
    for library in "$deps"/usr/lib/libpsm1/lib*.so.*; do
        link=$libdir/$(basename "$library" | sed 's/\(\.so\.[0-9]*\).*/\1/')
        [ ! -f "$library" ] || ln -sf "$library" "$link"
    done
    found pkg-config || [ -e "$deps/usr/bin/pkg-config" ] || [ ! -e "$deps/usr/bin/pkgconf" ] ||
        ln -s pkgconf "$deps/usr/bin/pkg-config"
    mkdir -p "$deps/pkgconfig"
    for pc in "$libdir"/pkgconfig/*.pc; do
        [ -f "$pc" ] && sed "s|^prefix=.*|prefix=$deps/usr|" "$pc" >"$deps/pkgconfig/${pc##*/}"
    done
    PATH=$PATH:$deps/usr/bin
    PKG_CONFIG_PATH=${PKG_CONFIG_PATH:+$PKG_CONFIG_PATH:}$deps/pkgconfig
    LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$libdir:$deps/lib/${libdir##*/}
    CMAKE_PREFIX_PATH=${CMAKE_PREFIX_PATH:+$CMAKE_PREFIX_PATH:}$deps/usr
    CPATH=${CPATH:+$CPATH:}$deps/usr/include
    export PATH PKG_CONFIG_PATH LD_LIBRARY_PATH CMAKE_PREFIX_PATH CPATH
}

# ---- the machine -------------------------------------------------------------------------------

probe()
{
    found "$cc" || die 1 "no C compiler ($cc): nothing can be built"
    mkdir -p "$build"
    $cc -O1 -o "$build/gpu_probe" bench/gpu_probe.c bench/raw_cuda.c -ldl ||
        die 1 "bench/gpu_probe.c does not compile"
    status=0
    "$build/gpu_probe" >"$build/probe.txt" || status=$?
    [ $status -ne 77 ] || die 77 "no GPU here that the CUDA driver can use: nothing was checked"
    [ $status -eq 0 ] || die 1 "the probe of the GPU ended with status $status"
    device=$(sed -n 's/^gpu [0-9]*: //; 1p' "$build/probe.txt")
    cuda=$(sed -n 2p "$build/probe.txt")
    double=false
    [ "$(sed -n 3p "$build/probe.txt")" = real ] || double=true
}

refuse_double()
{
    [ $double = true ] || return 0
    [ "${GPU_CHECK_ALLOW_FAKE:-}" = 1 ] ||
        die 1 "libcuda.so.1 is the test double of test/fakecuda, no evidence about any GPU: take" \
            "it out of LD_LIBRARY_PATH, or set GPU_CHECK_ALLOW_FAKE=1 to try this script"
    say "TEST DOUBLE: what follows says nothing about any GPU"
}

driver_version()
{
    version=
    if [ $double = true ]; then
        version="test double"
    elif found nvidia-smi; then
        version=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null |
            head -n 1) || version=
    fi
    [ -n "$version" ] || version=$(sed -n 's/.*Module *\([0-9.]*\) .*/\1/p' \
        /proc/driver/nvidia/version 2>/dev/null | head -n 1) || version=
    printf '%s' "${version:-unknown}"
}

lacks()
{
    missing="$missing${missing:+, }$1"
    say "missing: $1${2:+ ($2)}"
}

has_header()
{
    echo "#include <$1>" | $cc -E - >/dev/null 2>&1
}

take_stock()
{
    fabric=OFF
    found cmake || lacks cmake "a plain build instead"
    if ! found pkg-config; then
        lacks pkg-config "no fabric"
    elif ! pkg-config --exists 'libfabric >= 1.17'; then
        lacks libfabric "no fabric: the paths of one node alone"
    else
        fabric=ON
    fi
    has_header hwloc.h || { lacks "hwloc.h"
        die 1 "hwloc's headers are needed: carry them, see --fetch and GPU_CHECK_DEPS"; }
    launcher=yes
    found mpiexec.hydra || [ -n "${SHMEM_LAUNCHER:-}" ] || { launcher=no
        lacks mpiexec.hydra "1 PE only: tests with more are skipped"; }
    found nvidia-smi || lacks nvidia-smi
}

# ---- build --------------------------------------------------------------------------------------

build_cmake()
{
    found cmake || return 1
    cmake -S . -B "$build" -DBUILD_TESTING=OFF -DSTEPPE_EXAMPLES=OFF -DSTEPPE_FABRIC=$fabric \
        >"$build/build.log" 2>&1 && cmake --build "$build" -j "$jobs" >>"$build/build.log" 2>&1
}

# compile FOLDER OPTION... : every file on standard input, $jobs at once, to objects in FOLDER.
compile()
{
    mkdir -p "$1"
    folder=$1
    shift
    # shellcheck disable=SC2016 # for the inner shell
    xargs -P "$jobs" -I FILE sh -c 'file=$1 folder=$2; shift 2
        exec "$@" -c "$file" -o "$folder/$(echo "$file" | tr / _).o"' sh FILE "$folder" "$cc" \
        -std=gnu11 -D_GNU_SOURCE -O2 -g -fPIC -fvisibility=hidden "$@"
}

build_plain()
{
    version=$(sed -n 's/^project(Steppe VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
    mkdir -p "$build/bin" "$build/lib/steppe" && rm -rf "$build/plain" &&
        find src pmi spaces -name '*.c' ! -path 'src/info/*' ! -path 'src/json/*' |
        compile "$build/plain/core" -Iinclude -Isrc -I. -DSTP_VERSION="\"$version\"" \
            -DSTP_BUILD_FLAGS='"-O2 -g (plain build)"' &&
        $cc -shared -pthread -Wl,-soname,libsteppe.so.0 -Wl,--no-undefined \
            -Wl,--version-script=cmake/libsteppe.map -o "$build/lib/libsteppe.so.0" \
            "$build"/plain/core/*.o -ldl -lm &&
        ln -sf libsteppe.so.0 "$build/lib/libsteppe.so" &&
        { find src/info -name '*.c' && printf '%s\n' src/base/limit.c src/base/text.c \
                src/json/json.c; } |
        compile "$build/plain/info" -Iinclude -Isrc -I. -DSTP_VERSION="\"$version\"" &&
        $cc -shared -pthread -Wl,--no-undefined -Wl,--version-script=cmake/libsteppe_info.map \
            -o "$build/lib/steppe/info.so" "$build"/plain/info/*.o -ldl &&
        sed "s/@PROJECT_VERSION@/$version/" tools/oshrun.in >"$build/bin/oshrun" &&
        chmod +x "$build/bin/oshrun" && program oshinfo tools/oshinfo.c || return 1
    printf '%s\n' bench/*.c bench/benches/*.c src/json/json.c | grep -v -e raw_ofi -e gpu_probe |
        compile "$build/plain/bench" -Iinclude -Isrc &&
        program steppe-bench "$build"/plain/bench/*.o || return 1
    [ $fabric = ON ] || return 0
    # shellcheck disable=SC2046 # options
    printf '%s\n' transport/ofi/*.c src/base/limit.c |
        compile "$build/plain/ofi" -Isrc -I. $(pkg-config --cflags libfabric) &&
        $cc -shared -pthread -Wl,-z,initfirst -Wl,--no-undefined \
            -Wl,--version-script=cmake/libsteppe_ofi.map \
            -o "$build/lib/steppe/ofi.so" "$build"/plain/ofi/*.o $(pkg-config --libs libfabric) &&
        $cc -shared -fPIC -D_GNU_SOURCE -O2 -o "$build/lib/steppe/steppe-bench-raw-ofi.so" \
            bench/raw_ofi.c $(pkg-config --cflags --libs libfabric)
}

# program NAME FILE... : a program in build/bin.
program()
{
    name=$1
    shift
    $cc -std=gnu11 -D_GNU_SOURCE -O2 -g -Iinclude -Itest/pe -o "$build/bin/$name" "$@" \
        -L"$build/lib" -Wl,-rpath,"$build/lib" -lsteppe -pthread -lm -ldl
}

build_all()
{
    say "building in $build, fabric $fabric"
    if ! build_cmake; then
        if found cmake; then
            tail -n 20 "$build/build.log" >&2
            say "no build with CMake (log above): a plain build instead"
        fi
        build_plain >"$build/build.log" 2>&1 || {
            tail -n 40 "$build/build.log" >&2
            die 1 "the library does not build"
        }
    fi
    for name in $tests; do
        program "pe_$name" "$suite/$name.c" || die 1 "$suite/$name.c does not build"
    done
}

# Programs of GPU memory; those with a script of their own are about jobs that fail.
list_tests()
{
    for file in "$suite"/space_*.c; do
        name=$(basename "$file" .c)
        [ -f "$suite/run_$name.sh" ] || printf '%s ' "$name"
    done
}

# ---- tests ---------------------------------------------------------------------------------------

json_string()
{
    printf '"%s"' "$(printf '%s' "$1" | tr -d '\000-\037' | sed 's/\\/\\\\/g; s/"/\\"/g')"
}

# Variables of a path.
path_env()
{
    case $1 in
        ipc) ;;
        no_ipc) echo SHMEM_GPU_IPC=off ;;
        tcp) echo SHMEM_NODE=off SHMEM_OFI_PROVIDER=tcp ;;
    esac
}

arguments_of()
{
    case $1 in
        space_leaks) echo gpu 20 ;;
    esac
}

# launch SECONDS PES PATH COMMAND...: with 1 PE a launcher is not needed.
launch()
{
    seconds=$1 n=$2 variables=$(path_env "$3")
    shift 3
    [ $launcher = no ] || set -- "$build/bin/oshrun" -n "$n" "$@"
    # shellcheck disable=SC2086 # words
    env $variables timeout -k 5 "$seconds" "$@" </dev/null
}

run_test()
{
    name=$1 n=$2 path=$3
    log=$build/test.$path.$name.np$n.log
    started=$(date +%s)
    status=0
    if [ $launcher = no ] && [ "$n" -gt 1 ]; then
        status=77
        echo "no launcher" >"$log"
    else
        # shellcheck disable=SC2046 # words
        launch 180 "$n" "$path" "$build/bin/pe_$name" $(arguments_of "$name") >"$log" 2>&1 ||
            status=$?
    fi
    case $status in
        0) result=pass n_passed=$((n_passed + 1)) ;;
        77) result=skip n_skipped=$((n_skipped + 1)) ;;
        *) result=fail n_failed=$((n_failed + 1)) ;;
    esac
    printf '%-5s %-7s %-16s %s PEs, %s s\n' $result "$path" "$name" "$n" \
        $(($(date +%s) - started))
    [ $result = pass ] || tail -n 15 "$log" | sed 's/^/      /'
    printf '%s\n    {"test": "%s", "path": "%s", "pes": %s, "result": "%s", "status": %s}' \
        "$comma" "$name" "$path" "$n" $result $status >>"$build/tests.json"
    comma=,
}

run_tests()
{
    n_passed=0 n_skipped=0 n_failed=0 comma=
    : >"$build/tests.json"
    for path in $paths; do
        for name in $tests; do
            for n in 1 2 4; do
                run_test "$name" $n "$path"
            done
        done
    done
    say "tests: $n_passed passed, $n_failed failed, $n_skipped skipped"
    [ $n_passed -gt 0 ] || n_failed=$((n_failed + 1))
    grep -q '"space_gpu".*"pass"' "$build/tests.json" || {
        say "no run of space_gpu passed: the library did not use the GPU"
        n_failed=$((n_failed + 1))
    }
}

# ---- benches -----------------------------------------------------------------------------------

# One line a bench: of a sweep its largest size.
print_rows()
{
    bench='"bench": "\([^"]*\)".*"unit": "\([^"]*\)".*"bytes": \([0-9]*\)'
    sides='"steppe": {"median": \([^,]*\),.*"raw": {"median": \([^,]*\),.*"ratio": \([^,}]*\)'
    sed -n "s|.*$bench.*$sides.*|\1 \3 \4 \2 \5 \6|p" "$1" | awk '
        $1 != last && line != "" { print line }
        { last = $1
          line = sprintf("      %-30s %8d B  %10s %-4s raw %10s  ratio %s", $1, $2, $3, $4,
                         $5, $6) }
        END { if (line != "") print line }'
}

# run_bench PATH OPTION...: a report of its own; all rows, or it failed.
run_bench()
{
    path=$1
    shift
    n_benches=$((n_benches + 1))
    report=$build/bench.$n_benches.json
    say "steppe-bench $* ($path)"
    status=0
    # shellcheck disable=SC2086 # a word or none
    launch 400 $bench_pes "$path" "$build/bin/steppe-bench" --raw $quick --format json \
        --output "$report" "$@" 2>"$report.log" || status=$?
    if [ $status -ne 0 ] || [ "$(tail -n 1 "$report" 2>/dev/null)" != "}" ]; then
        sed 's/^/      /' "$report.log"
        say "steppe-bench ended with status $status"
        n_failed=$((n_failed + 1))
        echo '{"results": []}' >"$report"
    elif grep '"skipped"' "$report"; then
        say "rows were skipped on a machine with a GPU"
        n_failed=$((n_failed + 1))
    fi
    print_rows "$report"
    {
        printf '%s\n    {"path": "%s", "report":\n' "$comma" "$path"
        cat "$report"
        printf '    }'
    } >>"$build/benches.json"
    comma=,
}

run_benches()
{
    n_benches=0 bench_pes=2 comma=
    : >"$build/benches.json"
    if [ $launcher = no ]; then
        bench_pes=1
        run_bench ipc --kind gpu spaces
        return
    fi
    run_bench ipc --sizes 4K:16M device
    run_bench no_ipc --sizes 64K:4M device
    [ $fabric = OFF ] || run_bench tcp --sizes 64K:1M device
    run_bench ipc --kind gpu spaces
    run_bench ipc --kind gpu --spaces 0:1 spaces-p spaces-put8
    run_bench ipc --kind cpu spaces
}

# ---- report ------------------------------------------------------------------------------------

report_file()
{
    name=gpu-$(printf '%s' "$device" | tr 'A-Z ' 'a-z-' | tr -cd 'a-z0-9.-').json
    if [ $double = true ]; then
        echo "$(mktemp -d)/$name"
    elif [ -n "$out" ] && [ -d "$out" ]; then
        echo "$out/$name"
    else
        echo "${out:-$root/docs/results/$name}"
    fi
}

write_report()
{
    {
        printf '{\n  "device": %s,\n' "$(json_string "$device")"
        printf '  "driver": %s,\n' "$(json_string "$(driver_version)")"
        printf '  "cuda": %s,\n' "$(json_string "$cuda")"
        printf '  "test_double": %s,\n' $double
        [ $double = false ] || printf '  "note": "test double: no evidence about any GPU",\n'
        printf '  "date": "%s",\n  "machine": %s,\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" \
            "$(json_string "$(uname -srm), $(nproc) cores")"
        printf '  "fabric": "%s",\n  "missing": %s,\n' $fabric "$(json_string "$missing")"
        printf '  "quick": %s,\n' "$([ -n "$quick" ] && echo true || echo false)"
        printf '  "passed": %s,\n  "failed": %s,\n  "skipped": %s,\n' $n_passed $n_failed $n_skipped
        printf '  "tests": ['
        cat "$build/tests.json"
        printf '\n  ],\n  "benches": ['
        cat "$build/benches.json"
        printf '\n  ]\n}\n'
    } >"$1"
}

case ${1-} in
    "") ;;
    --quick) quick=--quick ;;
    --fetch)
        [ $# -eq 2 ] || die 2 "--fetch DIR: the folder is missing"
        fetch "$(absolute "$2")"
        exit 0 ;;
    *) sed -n 's/^# \{0,1\}//; 3,16p' "$0" >&2; exit 2 ;;
esac

probe
refuse_double
use_deps
say "$device, driver $(driver_version), $cuda"
if [ $double = false ] && found nvidia-smi; then nvidia-smi || true; fi
take_stock
tests=$(list_tests)
build_all
"$build/bin/oshinfo" memory
paths="ipc no_ipc"
[ $fabric = OFF ] || paths="$paths tcp"
run_tests
run_benches
report=$(report_file)
write_report "$report"
say "report: $report"
[ $n_failed -eq 0 ] || die 1 "$n_failed failed"
say "nothing failed; $n_skipped tests were skipped"
