#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Build Steppe and show it at work on this machine: from a fresh clone, with nothing else done.
#
# usage: scripts/demo.sh
#
# Counts the words of real text with 4 PEs, by load and store and then through two libfabric
# providers, and compares each result with that of sort and uniq. Then it sorts integers, runs the
# programs for memory spaces, copies between the kinds of memory, and measures a few operations. Exits
# with a status other than 0 as soon as a check fails. Builds in build-demo/, without the tests.
# Environment: JOBS, parallel compilations (default: all processors).
set -eu

cd "$(dirname "$0")/.."
started=$(date +%s)
build=build-demo
bin=$build/bin
examples=$build/examples
n_checks=0
shown=
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
# Variables that the user has set for other jobs must not change this run.
unset SHMEM_FAM_PATH SHMEM_NODE SHMEM_OFI_PROVIDER SHMEM_OFI_FABRIC SHMEM_OFI_DOMAIN SHMEM_SYMMETRIC_SIZE

title()
{
    printf '\n== %s\n' "$*"
}

checked()
{
    n_checks=$((n_checks + 1))
    printf '   ok: %s\n' "$*"
}

# fail WHAT FILE...: print WHAT and the files to stderr, and end.
fail()
{
    printf 'demo.sh: FAILED: %s\n' "$1" >&2
    shift
    for file in "$@"; do
        sed 's/^/    | /' "$file" >&2
    done
    exit 1
}

# run WHAT COMMAND...: print the command, run it with a time limit and without input.
# Output: $work/out and $work/err.
run()
{
    what=$1
    shift
    printf '   $ %s\n' "${shown:-$*}"
    timeout -k 5 120 env "$@" >"$work/out" 2>"$work/err" </dev/null && return 0
    fail "$what: exit status $?" "$work/out" "$work/err"
}

# ---- build ---------------------------------------------------------------------------------

echo "demo.sh: builds Steppe without its tests in $build/, runs programs with 2 and 4 PEs on this machine and"
echo "demo.sh: checks their results: about two minutes on 2 idle cores, and longer if packages are missing"
scripts/setup.sh </dev/null || exit 1
title "building library, commands, examples and steppe-bench in $build/"
cmake -S . -B $build -DCMAKE_BUILD_TYPE=RelWithDebInfo -DBUILD_TESTING=OFF >"$work/log" 2>&1 </dev/null ||
    fail "cmake cannot configure the build" "$work/log"
python3 scripts/progress.py "   build" "$work/log" cmake --build $build -j"${JOBS:-$(nproc)}" </dev/null ||
    fail "the build failed"
built=$(date +%s)
checked "built in $((built - started)) s"

# ---- words ---------------------------------------------------------------------------------

title "counting words: 4 PEs, one hash table in a CPU space"
# Only regular files, because symbolic links give several licences a second name.
find /usr/share/common-licenses -type f 2>/dev/null | LC_ALL=C sort >"$work/files"
if [ -s "$work/files" ]; then
    printf '   text: %s files of /usr/share/common-licenses\n' "$(wc -l <"$work/files")"
else
    find README.md docs include src examples -type f \( -name '*.md' -o -name '*.[ch]' \) |
        LC_ALL=C sort >"$work/files"
    printf '   text: %s files of this repository\n' "$(wc -l <"$work/files")"
fi
newline='
'
# with_files COMMAND...: run the command with the names of the text files as further arguments.
with_files()
{
    IFS=$newline
    set -f
    # shellcheck disable=SC2046 # one file a line
    set -- "$@" $(cat "$work/files")
    set +f
    unset IFS
    "$@"
}
LC_ALL=C
export LC_ALL
# shellcheck disable=SC2018,SC2019 # the C locale
with_files cat | tr -cs 'A-Za-z' '\n' | tr 'A-Z' 'a-z' | grep . |
    sort | uniq -c | sort -k1,1nr -k2,2 | head -20 >"$work/expected"
[ "$(wc -l <"$work/expected")" -eq 20 ] || fail "the text has no 20 words" "$work/expected"

# count NAME PROVIDER ASSIGNMENT...: run wordcount with these variables. The table of spaces that it
# prints must name PROVIDER.
count()
{
    name=$1 provider=$2
    shift 2
    set -- "$@" $bin/oshrun -n 4 $examples/wordcount --verbose --spaces-table
    shown="$* FILES"
    with_files run "wordcount, $name" "$@"
    shown=
    diff "$work/expected" "$work/out" >"$work/diff" ||
        fail "wordcount, $name: the result differs from that of sort and uniq (<)" "$work/diff" "$work/err"
    sed 's/^/   /' "$work/err"
    checked "wordcount, $name: the same 20 lines as tr | sort | uniq -c"
    grep -q " user .* $provider" "$work/err" ||
        fail "wordcount, $name: its table of spaces does not name provider $provider" "$work/err"
    checked "its table of spaces names provider $provider"
}

count "by load and store" load/store
count "through libfabric over TCP" tcp SHMEM_NODE=off SHMEM_OFI_PROVIDER=tcp
count "through libfabric over shared memory" shm SHMEM_NODE=off SHMEM_OFI_PROVIDER=shm
printf '   the most frequent words:\n'
head -5 "$work/out" | sed 's/^/   /'

# ---- the other programs --------------------------------------------------------------------

title "sorting integers and using spaces: 4 PEs; each program checks its own results"
for path in "" SHMEM_NODE=off; do
    over=${path:+, through libfabric}
    # shellcheck disable=SC2086 # nothing or one word
    run "intsort$over" $path $bin/oshrun -n 4 $examples/intsort -n 250000
    sed 's/^/   /' "$work/out"
    checked "intsort$over: order, limits of the buckets, number and checksum of 1000000 keys"
    for program in space_teams space_alloc; do
        # shellcheck disable=SC2086
        run "$program$over" $path $bin/oshrun -n 4 $examples/$program
        checked "$program$over"
    done
done

# ---- kinds of memory -----------------------------------------------------------------------

title "kinds of memory: which of them this machine has, copies between them, and a log that two jobs write"
mkdir "$work/fam"
fam=SHMEM_FAM_PATH=$work/fam
run "oshinfo --spaces" "$fam" $bin/oshrun -n 2 $bin/oshinfo --spaces
sed 's/^/   /' "$work/out"
run "spaces_tour" "$fam" $bin/oshrun -n 2 $examples/spaces_tour
sed 's/^/   /' "$work/out"
checked "spaces_tour: copies between all kinds of memory of this machine"
run "fam_log, first job" "$fam" $bin/oshrun -n 2 $examples/fam_log append from the first job
run "fam_log, second job" "$fam" $bin/oshrun -n 2 $examples/fam_log append from the second job
run "fam_log, third job" "$fam" $bin/oshrun -n 2 $examples/fam_log show
sed 's/^/   /' "$work/out"
grep -q '^fam_log: 4 records$' "$work/out" || fail "fam_log: expected 4 records" "$work/out"
checked "fam_log: the third job reads the records of the other two"
run "heat2d, 1 PE" $bin/oshrun -n 1 $examples/heat2d --steps 50
cp "$work/out" "$work/heat"
run "heat2d, 4 PEs in FAM" "$fam" $bin/oshrun -n 4 $examples/heat2d --steps 50 --kind fam
sed 's/^/   /' "$work/out"
[ "$(grep -o 'checksum.*' "$work/out")" = "$(grep -o 'checksum.*' "$work/heat")" ] ||
    fail "heat2d: the checksum differs from that of 1 PE" "$work/heat" "$work/out"
checked "heat2d: the same checksum with 1 PE in host memory"

# ---- measurements --------------------------------------------------------------------------

title "a few measurements: 2 PEs on this machine"
run "steppe-bench" $bin/oshrun -n 2 $bin/steppe-bench --summary
sed 's/^/   /' "$work/out"

ended=$(date +%s)
printf '\ndemo.sh: all %d checks passed; %d s to build, %d s to run\n' "$n_checks" \
    $((built - started)) $((ended - built))
