#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Checks the four environment variables of the standard and their old names, rule by rule (OpenSHMEM
# 1.6, section 8; rules R241-R249 of docs/reference/conformance.md). rules_env.c describes its
# arguments.
#
# usage: run_rules_env.sh PROGRAM NP LAUNCHER [ARGUMENT...]
set -u
. "$(dirname "$0")/../job.sh"
unset SHMEM_VERSION SHMEM_INFO SHMEM_DEBUG SHMEM_SYMMETRIC_SIZE
unset SMA_VERSION SMA_INFO SMA_DEBUG SMA_SYMMETRIC_SIZE
size=SHMEM_SYMMETRIC_SIZE old=SMA_SYMMETRIC_SIZE

# good NAME [VARIABLE=VALUE...] -- ARGUMENT...: all PEs succeed. No PE prints another line, except
# one PE about a block that does not fit into the heap, and PE 0 about text that is ignored.
good()
{
    local name=$1 lines full=0
    shift
    [[ " $* " == *" lacks "* ]] && full=1
    job "$name" "$@" || return
    lines=$(grep -Evc '^survived$|the text .* is ignored' "$out")
    if [ $status -ne 0 ]; then
        fail "$name" "the job ended with status $status, expected 0"
    elif [ "$(grep -Ec 'do not fit into the symmetric heap|there is no symmetric heap' "$out")" -ne $full ]; then
        fail "$name" "expected $full lines about a block that does not fit"
    elif [ "$lines" -ne $full ]; then
        fail "$name" "the job printed $lines lines besides \"survived\", expected $full"
    else
        echo "ok   $name"
    fi
}

# told NAME COUNT TEXT [VARIABLE=VALUE...]: the job goes well, and so many lines match TEXT; COUNT
# may be + for one or more.
told()
{
    local name=$1 count=$2 text=$3 lines
    shift 3
    job "$name" "$@" -- has 0 || return
    lines=$(grep -Ec "$text" "$out")
    if [ $status -ne 0 ]; then
        fail "$name" "the job ended with status $status, expected 0"
    elif [ "$count" = + ] && [ "$lines" -gt 0 ] || [ "$count" = "$lines" ]; then
        echo "ok   $name ($lines lines)"
    else
        fail "$name" "$lines lines match \"$text\", expected $count (+ is one or more)"
    fi
}

# bad NAME VALUE [VARIABLE=VALUE...]: with such a size neither init comes back with a library, and
# the line names variable and value.
bad()
{
    local name=$1 value=$2 mode
    shift 2
    for mode in has thread; do
        job "$name" "$size=$value" "$@" -- $mode || return
        if [ $status -eq 0 ] || grep -q survived "$out"; then
            fail "$name" "init with an invalid size succeeded in mode $mode (status $status)"
            return
        fi
        grep -qF "$size is '$value'" "$out" || { fail "$name" "no line of the output has \"$size is '$value'\""; return; }
    done
    echo "ok   $name (status $status)"
}

# ---- R241, R242: set is set, whatever the value; the new name and the old one --------------
version='^Steppe [0-9]+\.[0-9]+.*\(OpenSHMEM 1\.6\)$'
debug='^steppe: pe [0-9]+ \([^)]*\): '
good silent -- has 0
told version 1 "$version" SHMEM_VERSION=1
told version_zero 1 "$version" SHMEM_VERSION=0
told version_empty 1 "$version" SHMEM_VERSION=
told version_old 1 "$version" SMA_VERSION=no
told version_both 1 "$version" SMA_VERSION=1 SHMEM_VERSION=0
told info 4 '^ *SHMEM_(VERSION|INFO|DEBUG|SYMMETRIC_SIZE)$' SHMEM_INFO=0
told info_helps 1 'help +bytes of the symmetric heap' SHMEM_INFO=
told info_old 1 '^ *SHMEM_SYMMETRIC_SIZE$' SMA_INFO=off
told info_shows_old 1 'value +3m$' SHMEM_INFO=1 $old=3m
told debug_zero + "$debug" SHMEM_DEBUG=0
told debug_empty + "$debug" SHMEM_DEBUG=
told debug_old + "$debug" SMA_DEBUG=false

good size_old $old=20m -- has 20971520
good size_old_is_used $old=1m -- lacks 2097152
good size_new_wins $size=20m $old=1m -- has 20971520
good size_new_wins_below $size=1m $old=20m -- lacks 2097152
good size_loser_unread $size=1m $old=nonsense -- has 1048576
bad size_winner_read many $old=20m

# ---- R243, R244, R245: numbers, suffixes, rounding up -----------------------------------------
good size_20m $size=20m -- has 20971520
good size_3_1M $size=3.1M -- has 3250586
good size_half $size=.5m -- has 524288
good size_zero_half $size=0.5m -- has 524288
good size_bytes $size=1000000 -- has 1000000
good size_k $size=300k -- has 307200
good size_K $size=300K -- has 307200
good size_g $size=0.01g -- has 10737419
good size_G $size=0.01G -- has 10737419
good size_t $size=.00001t -- has 10995117
good size_T $size=.00001T -- has 10995117
good size_exponent $size=1.5e6 -- has 1500000
good size_20kk $size=20kk -- has 20480
good size_20kk_is_not_20m $size=20kk -- lacks 1048576
good size_mb $size=2MB -- has 2097152
told size_20kk_told 1 "$size is '20kk': the text 'k' is ignored" $size=20kk
told size_maximum_told 0 "is ignored" $size=1mb:2GiB

# ---- R246, R247: what is no size, and zero ---------------------------------------------------
bad negative -1
bad negative_fraction -0.5m
bad negative_zero -0
bad nan nan
bad inf inf
bad infinity infinity
bad empty ''
bad blank ' '
bad suffix_alone m
bad word plenty
bad not_a_suffix 12x
bad hexadecimal 0x100000
bad overflow 99999999999t
bad overflow_exponent 1e99
good zero $size=0 -- has 0
good zero_suffix $size=0.0g -- has 0
good zero_lacks $size=0 -- lacks 1048576

# ---- R248: the user's locale has no say --------------------------------------------------------
mkdir "$dir/locales"
cat >"$dir/comma" <<'LOCALE'
LC_NUMERIC
decimal_point ","
thousands_sep "."
grouping 3;3
END LC_NUMERIC
LOCALE
localedef -c -i "$dir/comma" "$dir/locales/comma" >"$dir/localedef" 2>&1
comma=(LOCPATH="$dir/locales" LC_NUMERIC=comma)
good locale_comma $size=3.1M "${comma[@]}" -- comma 3250586
bad locale_comma_written 3,1M "${comma[@]}"

# ---- R249: one size for all ----------------------------------------------------------------------
[ "$np" -lt 2 ] && exit $((failed * 2))
differs()
{
    export ONE=$last ONE_ENV="$size=5m"
    job differs $size=4m -- has 0 || return
    if [ $status -eq 0 ] || grep -q survived "$out"; then
        fail differs "PEs with different heap sizes started (status $status)"
    elif ! grep -Eq "PE ($last has another $size than PE 0|0 has another $size than PE $last)" "$out"
    then
        fail differs "no line of the output names the PE whose $size differs"
    else
        echo "ok   differs (status $status)"
    fi
}
differs
exit $((failed * 2))
