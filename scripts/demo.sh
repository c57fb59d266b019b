#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Build Steppe and show it at work on this machine: from a fresh clone, with nothing else done.
#
# usage: scripts/demo.sh
#
# Counts the words of real text with 4 PEs, by load and store and then through two libfabric
# providers, and compares each result with sort and uniq; sorts integers; runs the programs for
# memory spaces and goes through the kinds of memory; ends with a few measurements. Exits nonzero as
# soon as a check fails. Builds in a folder of its own, without the tests.
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
# What is set for other runs must not bend this one.
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

# fail WHAT FILE...: say so, show the files, end.
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

title "building library, commands, examples and steppe-bench in $build/ (RelWithDebInfo)"
scripts/setup.sh >"$work/log" 2>&1 </dev/null || fail "scripts/setup.sh" "$work/log"
{
    cmake -S . -B $build -DCMAKE_BUILD_TYPE=RelWithDebInfo -DBUILD_TESTING=OFF &&
        cmake --build $build -j"${JOBS:-$(nproc)}"
} >"$work/log" 2>&1 </dev/null || fail "the build" "$work/log"
built=$(date +%s)
checked "built in $((built - started)) s"

# ---- words ---------------------------------------------------------------------------------

title "counting words: 4 PEs, one hash table in a CPU space"
# Regular files alone: the licences are there under several names, as symbolic links.
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
# with_files COMMAND...: run it with the files as further arguments.
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

# count NAME PROVIDER ASSIGNMENT...: wordcount with this environment; PROVIDER is what the table of
# the spaces must name.
count()
{
    name=$1 provider=$2
    shift 2
    set -- "$@" $bin/oshrun -n 4 $examples/wordcount --verbose --spaces-table
    shown="$* FILES"
    with_files run "wordcount, $name" "$@"
    shown=
    diff "$work/expected" "$work/out" >"$work/diff" ||
        fail "wordcount, $name: not what sort and uniq say (<)" "$work/diff" "$work/err"
    sed 's/^/   /' "$work/err"
    checked "wordcount, $name: the 20 lines of tr | sort | uniq -c, to the byte"
    grep -q " user .* $provider" "$work/err" ||
        fail "wordcount, $name: no space in the table with provider $provider" "$work/err"
    checked "its space is there, with provider $provider"
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
    checked "intsort$over: order, bucket limits, number and checksum of 1000000 keys"
    for program in space_teams space_alloc; do
        # shellcheck disable=SC2086
        run "$program$over" $path $bin/oshrun -n 4 $examples/$program
        checked "$program$over"
    done
done

# ---- kinds of memory -----------------------------------------------------------------------

title "kinds of memory: what this machine has, copies between all of them, and a log two jobs share"
mkdir "$work/fam"
fam=SHMEM_FAM_PATH=$work/fam
run "oshinfo --spaces" "$fam" $bin/oshrun -n 2 $bin/oshinfo --spaces
sed 's/^/   /' "$work/out"
run "spaces_tour" "$fam" $bin/oshrun -n 2 $examples/spaces_tour
sed 's/^/   /' "$work/out"
checked "spaces_tour: every copy between the kinds that are here"
run "fam_log, first job" "$fam" $bin/oshrun -n 2 $examples/fam_log append from the first job
run "fam_log, second job" "$fam" $bin/oshrun -n 2 $examples/fam_log append from the second job
run "fam_log, third job" "$fam" $bin/oshrun -n 2 $examples/fam_log show
sed 's/^/   /' "$work/out"
grep -q '^fam_log: 4 records$' "$work/out" || fail "fam_log: not the 4 records" "$work/out"
checked "fam_log: the third job reads what the other two left"
run "heat2d, 1 PE" $bin/oshrun -n 1 $examples/heat2d --steps 50
cp "$work/out" "$work/heat"
run "heat2d, 4 PEs in FAM" "$fam" $bin/oshrun -n 4 $examples/heat2d --steps 50 --kind fam
sed 's/^/   /' "$work/out"
[ "$(grep -o 'checksum.*' "$work/out")" = "$(grep -o 'checksum.*' "$work/heat")" ] ||
    fail "heat2d: another checksum with 1 PE" "$work/heat" "$work/out"
checked "heat2d: the same checksum with 1 PE in host memory"

# ---- measurements --------------------------------------------------------------------------

title "a few measurements: 2 PEs on this machine"
run "steppe-bench" $bin/oshrun -n 2 $bin/steppe-bench --summary
sed 's/^/   /' "$work/out"

ended=$(date +%s)
printf '\ndemo.sh: all %d checks passed; %d s to build, %d s to run\n' "$n_checks" \
    $((built - started)) $((ended - built))
