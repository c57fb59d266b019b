#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Installs to a new prefix, moves the prefix, and builds and runs a program against it by oshcc,
# oshc++, pkg-config and CMake. LD_LIBRARY_PATH is not set, because programs must find the library
# themselves. CC and CXX select the compilers.
#
# usage: check_install.sh <cmake> <build folder> <source folder>
set -eu

cmake=$1 build=$2 source=$3
unset LD_LIBRARY_PATH SHMEM_CC SHMEM_CXX
[ -z "${CC-}" ] || export SHMEM_CC="$CC"
[ -z "${CXX-}" ] || export SHMEM_CXX="$CXX"
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
prefix="$top/moved here"

fail()
{
    echo "check_install: $*" >&2
    exit 1
}

# Two PEs of a program under the installed oshrun; each must say who it is.
run()
{
    out=$(timeout -k 5 60 "$prefix/bin/oshrun" -n 2 "$@" </dev/null) ||
        fail "$1 with 2 PEs ended with status $?, expected 0"
    for pe in 0 1; do
        echo "$out" | grep -q "^pe $pe of 2," ||
            fail "$1: the output lacks the line of pe $pe: $out"
    done
}

"$cmake" --install "$build" --prefix "$top/first" >/dev/null
mv "$top/first" "$prefix"
# Where the build's install folders put them, below the prefix.
libdir=$(dirname "$(find "$prefix" -name libsteppe.so)")
for part in supervisor remote-shell; do
    [ -e "$libdir/steppe/oshrun-$part" ] || fail "steppe/oshrun-$part is not installed"
done
if [ -e "$prefix/bin/steppe-bench" ]; then
    python3 "$libdir/steppe/bench/main.py" compare --help >/dev/null ||
        fail "steppe-bench compare is not installed"
fi
for file in bin/oshcc bin/oshc++ bin/oshCC bin/oshcxx bin/oshrun bin/oshinfo include/shmem.h include/shmemx.h \
    include/pshmem.h include/mpp/shmem.h share/man/man1/oshcc.1; do
    [ -e "$prefix/$file" ] || fail "$file is not installed"
done
for page in man7/shmem.7 man7/steppe.7 man3/shmem_put.3 man3/shmem_ctx_uint64_put.3 man3/shmem_barrier_all.3 \
    man3/shmem_space_calloc.3 man3/_my_pe.3; do
    grep -q . "$prefix/share/man/$page" || fail "the manual page $page is not installed or empty"
done
if command -v mandoc >/dev/null; then
    grep -q 'href="shmem_get.3.html"' "$prefix/share/doc/"*/html/shmem_put.3.html ||
        fail "the HTML page of shmem_put has no link to shmem_get"
    [ -e "$(echo "$prefix/share/doc/"*/html/index.html)" ] ||
        fail "index.html of the HTML pages is not installed"
fi
bash "$source/test/install/check_shell.sh" "$prefix" || exit 1
pages=$(find "$prefix" -path '*/docs/guide/spaces.md')
[ -n "$pages" ] || fail "docs/guide/spaces.md is not installed"
python3 "$source/test/check_links.py" --installed "${pages%/docs/guide/spaces.md}" >"$top/links.txt" ||
    fail "links of the installed pages: $(cat "$top/links.txt")"
cd "$top"
cp "$source/test/install/program.c" program.c

"$prefix/bin/oshcc" -Wall -Werror program.c -o by_oshcc
run ./by_oshcc
cp program.c program.cc
"$prefix/bin/oshc++" -Wall -Werror program.cc -o by_oshcxx
run ./by_oshcxx
"$prefix/bin/oshcc" -c program.c -o program.o
"$prefix/bin/oshcc" program.o -o by_two_steps
run ./by_two_steps
eval "$("$prefix/bin/oshcc" -show program.c -o by_show)"
run ./by_show

# What other wrappers print when asked, one dash and two.
says()
{
    want=$1
    shift
    got=$("$prefix/bin/oshcc" "$@") || fail "oshcc $* ended with status $?, expected 0"
    [ "$got" = "$want" ] || fail "oshcc $* printed '$got', expected '$want'"
}
for dash in - --; do
    says "${CC:-cc}" ${dash}showme:command
    says my-cc -cc=my-cc ${dash}showme:command
    says "$prefix/include" ${dash}showme:incdirs
    says "$libdir" ${dash}showme:libdirs
    says steppe ${dash}showme:libs
    says "'-I$prefix/include'" ${dash}showme:compile
    says "'-L$libdir' '-L$libdir/steppe/compat' '-Wl,-rpath,$libdir' -lsteppe -lm" \
        ${dash}showme:link
    says "my-cc '-I$prefix/include'" -cc=my-cc ${dash}compile-info
    says "my-cc '-I$prefix/include' '-L$libdir' '-L$libdir/steppe/compat' '-Wl,-rpath,$libdir' -lsteppe -lm" \
        -cc=my-cc ${dash}link-info
    "$prefix/bin/oshCC" ${dash}showme:version | grep -q '^oshCC (Steppe) [0-9]' ||
        fail "oshCC ${dash}showme:version must print the name oshCC and the version"
done
"$prefix/bin/oshcxx" -V | grep -q '^oshcxx (Steppe) [0-9]' ||
    fail "oshcxx -V must print the name oshcxx and the version"
"$prefix/bin/oshcxx" -cxx=false program.cc && fail "oshcxx ignores the compiler of -cxx=CMD"
! "$prefix/bin/oshcc" -showme:nothing 2>/dev/null || fail "oshcc must refuse -showme:nothing"

# The library as an archive, an option of the build.
if [ -e "$libdir/libsteppe.a" ]; then
    "$prefix/bin/oshcc" -static-steppe program.c -o by_archive
    ldd by_archive | grep -q libsteppe && fail "-static-steppe links the shared library"
    run ./by_archive
else
    ! "$prefix/bin/oshcc" -static-steppe program.c -o by_archive 2>static.txt ||
        fail "oshcc -static-steppe must fail when libsteppe.a is not installed"
    grep -q STEPPE_STATIC static.txt ||
        fail "the message of oshcc -static-steppe must name STEPPE_STATIC: $(cat static.txt)"
fi

# Names that programs written for another OpenSHMEM ask for.
compat="$libdir/steppe/compat"
for other in sma oshmem openshmem; do
    ! [ -e "$libdir/lib$other.so" ] || fail "lib$other.so is installed on a default path"
    "$prefix/bin/oshcc" program.c -o by_other_name -l$other
    run ./by_other_name
    ${CC:-cc} program.c -o by_prefix "-I$compat/include" "-L$compat/lib" "-Wl,-rpath,$libdir" -l$other
    run ./by_prefix
done
for other in sma oshmem openshmem sandia-openshmem; do
    ! PKG_CONFIG_PATH="$libdir/pkgconfig" pkg-config --atleast-version=1.6 $other ||
        fail "pkg-config finds $other outside of steppe/compat"
    flags=$(PKG_CONFIG_PATH="$compat/pkgconfig" pkg-config --cflags --libs "$other >= 1.6")
    eval "${CC:-cc} program.c -o by_other_module $flags"
    run ./by_other_module
done

# A compiler that is the wrapper itself, by any path and behind another command.
ln -s "$prefix/bin/oshcc" linked
for own in oshcc oshc++ ./linked "env oshcc"; do
    SHMEM_CC=$own PATH="$prefix/bin:$PATH" timeout 60 "$prefix/bin/oshcc" program.c -o by_itself \
        2>itself.txt || fail "SHMEM_CC=$own: oshcc ended with status $?, expected 0"
    [ "$(grep -c "is a wrapper of Steppe" itself.txt)" = 1 ] ||
        fail "SHMEM_CC=$own: oshcc must say once that the compiler is a wrapper: $(cat itself.txt)"
done
run ./by_itself
printf '#!/bin/sh\nexec "%s" "$@"\n' "$prefix/bin/oshcc" >own_script
chmod +x own_script
SHMEM_CC=./own_script timeout 60 "$prefix/bin/oshcc" program.c -o by_script 2>itself.txt ||
    fail "SHMEM_CC is a script that runs oshcc: oshcc ended with status $?, expected 0"
# The mathematical library is linked, as by the wrappers of other libraries.
echo 'int main(int n, char **a) { (void)a; double sqrt(double); return sqrt(n) > 2; }' >root.c
"$prefix/bin/oshcc" root.c -o by_root || fail "oshcc does not link the mathematical library"
! "$prefix/bin/oshcc" no_such_file.c 2>/dev/null ||
    fail "oshcc exits with 0 although the compiler failed"

export PKG_CONFIG_PATH="$libdir/pkgconfig"
eval "${CC:-cc} program.c -o by_pkg_config $(pkg-config --cflags --libs steppe)"
run ./by_pkg_config

"$cmake" -S "$source/test/install" -B user -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
"$cmake" --build user >/dev/null
run user/by_cmake
"$cmake" -S "$source/test/install" -B other -DCMAKE_PREFIX_PATH="$compat" -DPACKAGE=OpenSHMEM >/dev/null
"$cmake" --build other >/dev/null
run other/by_cmake

"$prefix/bin/oshinfo" --json version | grep -q '"name": "Steppe"' ||
    fail "oshinfo --json version lacks the name Steppe"
if [ -e "$build/lib/steppe/ofi.so" ]; then
    SHMEM_NODE=off SHMEM_OFI_PROVIDER=tcp run ./by_oshcc
    if [ -e by_archive ]; then
        SHMEM_NODE=off SHMEM_OFI_PROVIDER=tcp run ./by_archive
    fi
fi
echo "the installation works"
