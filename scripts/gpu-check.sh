#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Check and measure Steppe on a machine with an NVIDIA GPU: build, run the tests of GPU memory with
# 1, 2 and 4 PEs on every path there is, run the GPU benches beside the bare driver, and write one
# JSON report. Needs no network and no CUDA toolkit: a C compiler and the driver; makes do without
# CMake, hwloc, pkg-config, libfabric and a launcher, and takes what is missing from a folder
# prepared elsewhere.
#
# usage: scripts/gpu-check.sh [--quick] [--seconds N] [--no-bench]
#        scripts/gpu-check.sh --fetch DIR     (on a Debian with network, after scripts/setup.sh)
#   --quick      short benches: a smoke test, not a measurement
#   --seconds N  end after N seconds: what matters most comes first, what had no time left is
#                recorded as such, and does not count as failed
#   --no-bench   tests alone
#   --fetch      put the packages that a bare machine may lack into DIR
#
# Environment: GPU_CHECK_DEPS, such a folder; OUT, file or folder of the report (default:
# docs/results/gpu-DEVICE.json); GPU_CHECK_BUILD, build folder (build-gpu); JOBS; CC;
# GPU_CHECK_CFLAGS, of builds without CMake (-O2 -g -DNDEBUG); GPU_CHECK_TESTS, files of tests
# (those of GPUs in test/pe); GPU_CHECK_PES, numbers of PEs (1 2 4); GPU_CHECK_LIMIT, seconds that a
# test may take (180).
# Beside the report a file of the same name with .jsonl gets each result, a line of JSON, as soon as
# there is one: what a run that was cut short leaves behind.
# GPU_CHECK_ALLOW_FAKE=1 accepts the test double of test/fakecuda: the report goes to a temporary
# folder, or to OUT, and says so. Exit status: 0, 77 without a GPU, 1 when anything failed, 2 for
# misuse.
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
cflags=${GPU_CHECK_CFLAGS:--O2 -g -DNDEBUG}
pes=${GPU_CHECK_PES:-1 2 4}
test_limit=${GPU_CHECK_LIMIT:-180}
quick=
benches=yes
missing=
began=$(date +%s)
budget=

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

# Seconds that are left, never less than 0; many without --seconds.
left()
{
    [ -n "$budget" ] || { echo 100000; return; }
    rest=$((budget - $(date +%s) + began))
    [ $rest -gt 0 ] && echo $rest || echo 0
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

links()
{
    echo "int main(void) { return 0; }" | $cc -x c -o "$build/links" - "$@" 2>/dev/null
}

# Options for the compiler and the linker, of libfabric where it is.
find_fabric()
{
    fabric_flags='' fabric_libs=-lfabric
    if found pkg-config && pkg-config --exists 'libfabric >= 1.17'; then
        fabric_flags=$(pkg-config --cflags libfabric)
        fabric_libs=$(pkg-config --libs libfabric)
    else
        has_header rdma/fi_ext.h && links -lfabric
    fi
}

# With one the node's PEs are several; oshrun takes it from SHMEM_LAUNCHER.
find_launcher()
{
    launcher=hydra
    ! found mpiexec.hydra || return 0
    launcher=given
    [ -z "${SHMEM_LAUNCHER:-}" ] || return 0
    launcher=no
    if found python3; then
        launcher=pmi1.py
        export SHMEM_LAUNCHER="python3 $root/test/hosts/pmi1.py --timeout 300"
        lacks mpiexec.hydra "test/hosts/pmi1.py instead"
    else
        lacks mpiexec.hydra "1 PE only: tests with more are skipped"
    fi
}

take_stock()
{
    fabric=ON
    found cmake || lacks cmake "a plain build instead"
    found pkg-config || lacks pkg-config
    find_fabric || { fabric=OFF
        lacks libfabric "the paths of one node alone"; }
    has_header hwloc.h || lacks hwloc.h "no module of reports"
    find_launcher
    found nvidia-smi || lacks nvidia-smi
}

# ---- build --------------------------------------------------------------------------------------

build_cmake()
{
    found cmake || return 1
    cmake -S . -B "$build" -DBUILD_TESTING=OFF -DSTEPPE_EXAMPLES=OFF -DSTEPPE_FABRIC=$fabric \
        -DSTEPPE_BENCH="$([ $benches = yes ] && echo ON || echo OFF)" \
        >"$build/build.log" 2>&1 && cmake --build "$build" -j "$jobs" >>"$build/build.log" 2>&1
}

# compile FOLDER OPTION... : the files on standard input, a line each with options of its own,
# $jobs at once, to objects in FOLDER.
compile()
{
    mkdir -p "$1"
    folder=$1
    shift
    # shellcheck disable=SC2016,SC2086 # for the inner shell; words
    FOLDER=$folder COMPILE="$cc -std=gnu11 -D_GNU_SOURCE $cflags -fPIC -fvisibility=hidden \
-include $build/plain/defines.h $*" xargs -P "$jobs" -L 1 sh -c 'file=$1; shift
        exec $COMPILE "$@" -c "$file" -o "$FOLDER/$(echo "$file" | tr / _).o"' sh
}

# link NAME LIBRARY OPTION...: the objects of a folder as a shared library.
link()
{
    name=$1 library=$2
    shift 2
    $cc -shared -pthread -Wl,--no-undefined -Wl,--as-needed -o "$build/lib/$library" \
        "$build/plain/$name"/*.o "$@"
}

# The lists of files are CMake's: scripts/list-sources.sh reads them.
build_plain()
{
    version=$(sed -n 's/^project(Steppe VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
    rm -rf "$build/plain"
    mkdir -p "$build/bin" "$build/lib/steppe" "$build/plain"
    printf '#define STP_VERSION "%s"\n#define STP_BUILD_FLAGS "%s (plain build)"\n' "$version" \
        "$cflags" >"$build/plain/defines.h"
    ! has_header hwloc.h || echo '#define STP_HAVE_HWLOC' >>"$build/plain/defines.h"
    scripts/list-sources.sh steppe_core | compile "$build/plain/core" -Iinclude -Isrc -I. &&
        link core libsteppe.so.0 -Wl,-soname,libsteppe.so.0 -Wl,-Bsymbolic-functions \
            -Wl,-z,nodelete -Wl,--version-script=cmake/libsteppe.map -ldl -lm &&
        ln -sf libsteppe.so.0 "$build/lib/libsteppe.so" &&
        sed "s/@PROJECT_VERSION@/$version/; s|@OSHRUN_LIBDIR@|\$bindir/../lib|" tools/oshrun.in \
            >"$build/bin/oshrun" &&
        chmod +x "$build/bin/oshrun" &&
        scripts/list-sources.sh steppe_job | compile "$build/plain/job" -Iinclude -Isrc -I. &&
        $cc -o "$build/lib/steppe/job" "$build/plain/job"/*.o && program oshinfo tools/oshinfo.c || return 1
    rm -f "$build/lib/steppe/ofi.so"
    if [ $benches = yes ]; then
        scripts/list-sources.sh steppe-bench | compile "$build/plain/bench" -Iinclude -Isrc \
            '-DBENCH_MODULE_DIR="../lib/steppe"' &&
            program steppe-bench "$build"/plain/bench/*.o || return 1
    fi
    [ $fabric = ON ] || return 0
    # shellcheck disable=SC2086 # options
    scripts/list-sources.sh steppe_ofi |
        compile "$build/plain/ofi" -Isrc -I. $fabric_flags &&
        link ofi steppe/ofi.so -Wl,-z,initfirst -Wl,--version-script=cmake/libsteppe_ofi.map \
            $fabric_libs &&
        $cc -shared -fPIC -D_GNU_SOURCE $cflags $fabric_flags \
            -o "$build/lib/steppe/steppe-bench-raw-ofi.so" bench/raw_ofi.c $fabric_libs
}

# program NAME FILE... : a program in build/bin.
program()
{
    name=$1
    shift
    # shellcheck disable=SC2086 # options
    $cc -std=gnu11 -D_GNU_SOURCE $cflags -Iinclude -Itest/pe -o "$build/bin/$name" "$@" \
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
    for file in $test_files; do
        program "pe_$(basename "$file" .c)" "$file" || die 1 "$file does not build"
    done
}

# Programs of GPU memory; those with a script of their own are about jobs that fail, two of them
# only when they are told to.
list_tests()
{
    printf '%s ' "$suite/../kernel/kernel_gpu.c" "$suite/space_streams.c"
    for file in "$suite"/space_*.c; do
        [ -f "$suite/run_$(basename "$file" .c).sh" ] || printf '%s ' "$file"
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
        space_kernels) echo "$root/test/gpu/kernels.ptx" ;;
        kernel_gpu) echo "$root/test/gpu/handle.ptx" ;;
        space_pinned) echo works ;;
        space_leaks) echo gpu 20 ;;
    esac
}

# launch SECONDS PES PATH COMMAND...: with 1 PE a launcher is not needed. What a command that had to
# be ended leaves behind is ended too: found by a variable that all its processes have.
launch()
{
    seconds=$1 n=$2 variables=$(path_env "$3") ended=0
    shift 3
    n_launched=$((n_launched + 1))
    tag=GPU_CHECK_RUN=$$.$n_launched
    [ $launcher = no ] || set -- "$build/bin/oshrun" -n "$n" "$@"
    # shellcheck disable=SC2086 # words
    env $tag $variables timeout -k 2 "$seconds" "$@" <>"$build/endless" || ended=$?
    case $ended in 124 | 137) end_leftovers ;; esac
    return $ended
}

end_leftovers()
{
    for process in /proc/[0-9]*; do # some of which end meanwhile
        if grep -q -z -x "$tag" "$process/environ"; then
            kill -KILL "${process#/proc/}" || true
        fi
    done 2>/dev/null
}

# record NAME FORMAT VALUE...: a result, to the lines and to the list of the report.
record()
{
    list=$1 format=$2
    shift 2
    # shellcheck disable=SC2059 # the format is ours
    result_line=$(printf "$format" "$@")
    printf '{"line": "%s", %s}\n' "$list" "$result_line" >>"$lines"
    printf '%s{%s}' "$(cat "$build/$list.comma")" "$result_line" >>"$build/$list.json"
    printf ',\n    ' >"$build/$list.comma"
}

open_list()
{
    : >"$build/$1.json"
    printf '\n    ' >"$build/$1.comma"
}

run_test()
{
    path=$1 name=$2 n=$3 status=0
    log=$build/test.$path.$name.np$n.log
    started=$(date +%s)
    limit=$(left)
    [ "$limit" -lt "$test_limit" ] || limit=$test_limit
    if [ $launcher = no ] && [ "$n" -gt 1 ]; then
        status=77
        echo "no launcher" >"$log"
    elif [ "$limit" -lt 2 ]; then
        status=late
    else
        # shellcheck disable=SC2046 # words
        launch "$limit" "$n" "$path" "$build/bin/pe_$name" $(arguments_of "$name") >"$log" 2>&1 ||
            status=$?
        # ended for the budget's sake, not because it hung
        [ $status != 124 ] || [ "$limit" -eq "$test_limit" ] || [ "$(left)" -gt 0 ] || status=late
    fi
    case $status in
        0) result=pass n_passed=$((n_passed + 1)) ;;
        77) result=skip n_skipped=$((n_skipped + 1)) ;;
        late) result=late status=null n_late=$((n_late + 1)) ;;
        *) result=fail n_failed=$((n_failed + 1)) ;;
    esac
    took=$(($(date +%s) - started))
    printf '%-5s %-7s %-16s %s PEs, %s s\n' $result "$path" "$name" "$n" $took
    case $result in pass | late) ;; *) tail -n 15 "$log" | sed 's/^/      /' ;; esac
    record test '"test": "%s", "path": "%s", "pes": %s, "result": "%s", "status": %s, "s": %s' \
        "$name" "$path" "$n" $result $status $took
    case $result.$name in pass.space_gpu) gpu_used=yes ;; esac
}

# The tests in the order of what they tell: does a GPU work at all, between PEs, on each path; do
# kernels beside our operations; then every other test with two PEs; then the numbers of PEs that
# take hardly any other way.
order_tests()
{
    for name in $tests; do
        for path in $paths; do
            for n in $pes; do
                case $n:$name in
                    2:space_gpu) first=1 ;;
                    ?:space_gpu) first=2 ;;
                    2:space_kernels | 2:kernel_gpu) first=3 ;;
                    ?:space_kernels | ?:kernel_gpu) first=4 ;;
                    2:*) first=5 ;;
                    *) first=6 ;;
                esac
                echo "$first $path $name $n"
            done
        done
    done | sort -s -k 1,1n | sed 's/^. //'
}

# run_tests FIRST LAST: lines of that order, but for what runs by itself.
run_tests()
{
    order_tests | sed -n "$1,$2p" >"$build/order"
    while read -r path name n <&3; do
        run_test "$path" "$name" "$n"
    done 3<"$build/order"
}

sum_up_tests()
{
    say "tests: $n_passed passed, $n_failed failed, $n_skipped skipped, $n_late had no time"
    [ $gpu_used = yes ] || {
        say "no run of space_gpu passed: the library did not use the GPU"
        n_failed=$((n_failed + 1))
    }
}

# ---- benches -----------------------------------------------------------------------------------

# One line a bench: of a sweep its largest size.
print_rows()
{
    bench='"bench": "\([^"]*\)".*"unit": "\([^"]*\)".*"bytes": \([0-9]*\)'
    steppe='"steppe": {"median": \([^,]*\),'
    raw='"raw": {"median": \([^,]*\),.*"ratio": \([^,}]*\)'
    sed -n -e "s|.*$bench.*$steppe.*$raw.*|\1 \3 \4 \2 \5 \6|p; t" \
        -e "s|.*$bench.*$steppe.*|\1 \3 \4 \2 - -|p" "$1" | awk '
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
    limit=$(left)
    [ "$limit" -lt 400 ] || limit=400
    if [ "$limit" -lt 5 ]; then
        say "no time left for steppe-bench $* ($path)"
        n_late=$((n_late + 1))
        record late '"path": "%s", "bench": "%s"' "$path" "$*"
        return
    fi
    n_benches=$((n_benches + 1))
    report=$build/bench.$n_benches.json
    say "steppe-bench $* ($path)"
    status=0
    # shellcheck disable=SC2086 # a word or none
    launch "$limit" $bench_pes "$path" "$build/bin/steppe-bench" --raw $quick --format json \
        --output "$report" "$@" 2>"$report.log" || status=$?
    if [ $status -eq 124 ] && [ "$(left)" -eq 0 ]; then
        say "no time was left for all of it"
        n_late=$((n_late + 1))
        echo '{"results": []}' >"$report"
    elif [ $status -ne 0 ] || [ "$(tail -n 1 "$report" 2>/dev/null)" != "}" ]; then
        sed 's/^/      /' "$report.log"
        say "steppe-bench ended with status $status"
        n_failed=$((n_failed + 1))
        echo '{"results": []}' >"$report"
    elif grep '"skipped"' "$report"; then
        say "rows were skipped on a machine with a GPU"
        n_failed=$((n_failed + 1))
    fi
    print_rows "$report"
    sed -n "s/^ *{\(\"bench\":.*\)}*,*\$/{\"line\": \"bench\", \"way\": \"$path\", \1/p" \
        "$report" | sed 's/, *$//' >>"$lines"
    {
        printf '%s\n    {"path": "%s", "report":\n' "$comma" "$path"
        cat "$report"
        printf '    }'
    } >>"$build/benches.json"
    comma=,
}

# Benches of memory that the library pins for the GPU, where this steppe-bench has them.
pinned_benches()
{
    "$build/bin/steppe-bench" --list 2>/dev/null | awk '$2 ~ /pinned/ { print $2 }'
}

run_benches()
{
    bench_pes=2
    if [ $launcher = no ]; then
        bench_pes=1
        run_bench ipc --kind gpu spaces
        return
    fi
    run_bench ipc --sizes 4K:16M device
    for bench in $(pinned_benches); do
        run_bench ipc "$bench"
    done
    run_bench no_ipc --sizes 64K:4M device
    [ $fabric = OFF ] || run_bench tcp --sizes 64K:1M device
    run_bench ipc --kind gpu spaces
    run_bench ipc --kind cpu spaces
}

# ---- report ------------------------------------------------------------------------------------

report_file()
{
    name=gpu-$(printf '%s' "$device" | tr 'A-Z ' 'a-z-' | tr -cd 'a-z0-9.-').json
    if [ -n "$out" ] && [ -d "$out" ]; then
        echo "$out/$name"
    elif [ $double = true ] && [ -z "$out" ]; then
        echo "$(mktemp -d)/$name"
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
        printf '  "launcher": "%s",\n  "seconds": %s,\n' $launcher $(($(date +%s) - began))
        printf '  "passed": %s,\n  "failed": %s,\n' $n_passed $n_failed
        printf '  "skipped": %s,\n  "late": %s,\n' $n_skipped $n_late
        printf '  "tests": ['
        cat "$build/test.json"
        printf '\n  ],\n  "kernels": [\n'
        sed -n '/^{"line": "kernel", /{ s/"line": "kernel", //; s/$/,/; p; }' "$lines" |
            sed '$s/,$//'
        printf '  ],\n  "benches": ['
        cat "$build/benches.json"
        printf '\n  ]\n}\n'
    } >"$1"
}

usage()
{
    sed -n 's/^# \{0,1\}//; 9,16p' "$0" >&2
    exit 2
}

while [ $# -gt 0 ]; do
    case $1 in
        --quick) quick=--quick ;;
        --no-bench) benches=no ;;
        --seconds)
            case ${2-} in "" | 0* | *[!0-9]*) usage ;; esac
            budget=$2
            shift ;;
        --fetch)
            [ $# -eq 2 ] || die 2 "--fetch DIR: the folder is missing"
            fetch "$(absolute "$2")"
            exit 0 ;;
        *) usage ;;
    esac
    shift
done

probe
refuse_double
use_deps
say "$device, driver $(driver_version), $cuda"
if [ $double = false ] && found nvidia-smi; then nvidia-smi || true; fi
take_stock
target=$(report_file)
mkdir -p "$(dirname "$target")"
lines=${target%.json}.jsonl
: >"$lines"
export GPU_ROWS="$lines" # space_kernels writes there itself
say "results as they come: $lines"
n_passed=0 n_skipped=0 n_failed=0 n_late=0 n_launched=0 n_benches=0 gpu_used=no comma=
: >"$build/benches.json"
open_list machine
open_list test
open_list late
# What jobs read: hydra passes the end of its own input on.
rm -f "$build/endless" && mkfifo "$build/endless"
record machine '"device": %s, "driver": %s, "cuda": %s, "test_double": %s, "missing": %s' \
    "$(json_string "$device")" "$(json_string "$(driver_version)")" "$(json_string "$cuda")" \
    $double "$(json_string "$missing")"
test_files=${GPU_CHECK_TESTS:-$(list_tests)}
tests=$(for file in $test_files; do basename "$file" .c; done)
build_all
"$build/bin/oshinfo" memory || say "oshinfo ended with status $?"
paths="ipc no_ipc"
[ $fabric = OFF ] || paths="$paths tcp"
n_first=0
for name in $tests; do
    case $name in space_gpu | space_kernels | kernel_gpu) n_first=$((n_first + 1)) ;; esac
done
n_first=$((n_first * $(echo "$paths" | wc -w) * $(echo "$pes" | wc -w)))
[ $n_first -eq 0 ] || run_tests 1 $n_first
[ $benches = no ] || run_benches
run_tests $((n_first + 1)) '$'
sum_up_tests
write_report "$target"
say "report: $target"
[ $n_failed -eq 0 ] || die 1 "$n_failed failed"
say "nothing failed; $n_skipped tests were skipped, $n_late had no time"
