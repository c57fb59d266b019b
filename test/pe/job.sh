# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the scripts that run one program as many jobs and check how each job ends, with the
# script's arguments PROGRAM NP LAUNCHER [ARGUMENT...]. job() fails the test if a job runs longer
# than $limit seconds, or leaves processes or names in /dev/shm.

if [ $# -lt 3 ] || [ ! -x "$1" ]; then
    echo "usage: $0 PROGRAM NP LAUNCHER [ARGUMENT...]" >&2
    exit 2
fi
. "$(dirname "$0")/../endless.sh"
np=$2
last=$((np - 1))
limit=20        # seconds; a job that takes longer has hung
failed=0
dir=$(mktemp -d)
out=$dir/out
program=$dir/$(basename "$1") # a name of our own, so that what is left behind can be told
cp "$1" "$program"
trap 'rm -rf "$dir"' EXIT
fake=${FAKECUDA_DIR:-$(dirname "$3")/../lib/fakecuda}
shift 2
launcher=("$@")

# Only PE $ONE gets the variables of $ONE_ENV; the others those of $REST_ENV.
cat >"$dir/each" <<'END'
#!/bin/sh
if [ "${PMI_RANK:-0}" = "$ONE" ]; then exec env $ONE_ENV "$@"; else exec env $REST_ENV "$@"; fi
END
chmod +x "$dir/each"

fail()
{
    echo "FAIL $1: $2" >&2
    { head -20 "$out" | sed 's/^/    /'; echo; } >&2
    failed=1
}

shm_names()
{
    ls -A /dev/shm 2>/dev/null | sort
}

# Names in /dev/shm that were not there before and that no process maps: ours, left behind.
shm_left()
{
    local name
    sleep 0.2 # who maps is asked after who is there
    for name in $(shm_names | comm -13 "$dir/shm_before" -); do
        [ -d "/proc/${name%%:*}" ] && continue # its number is in the name, and it lives
        grep -qsF "/dev/shm/$name" /proc/[0-9]*/maps || [ ! -e "/dev/shm/$name" ] || echo "$name"
    done
}

left_behind()
{
    readlink /proc/[0-9]*/exe 2>/dev/null | grep -qxF "$program"
}

# Give the kernel time to reap what the launcher has just killed.
nobody_left()
{
    local try
    for try in 0.02 0.05 0.1 0.2 0.3 0.4 0.5 0.5 0.5 0.5; do
        left_behind || return 0
        sleep $try
    done
    return 1
}

# job NAME [VARIABLE=VALUE...] -- ARGUMENT...: run the program; sets $status. With ONE=<pe>, that
# PE gets $ONE_ENV in addition and the others $REST_ENV.
job()
{
    local name=$1 variables=() command=("$program")
    shift
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        variables+=("$1")
        shift
    done
    [ $# -gt 0 ] && shift
    [ -n "${ONE:-}" ] && command=("$dir/each" "$program")
    shm_names >"$dir/shm_before"
    env ${variables[@]+"${variables[@]}"} timeout -k 5 $limit "${launcher[@]}" -n "$np" \
        "${command[@]}" "$@" >"$out" 2>&1
    status=$?
    # A PE that is killed on purpose can give the job the status of a timeout.
    if [ $status -eq 124 ] || { [ $status -eq 137 ] && [ "$name" != kill ]; }; then
        fail "$name" "the job did not end within $limit seconds"
        return 1
    elif ! nobody_left; then
        fail "$name" "processes of $program are still running after the end of the job"
        return 1
    elif ! cmp -s "$dir/shm_before" <(shm_names) && [ -n "$(shm_left)" ]; then
        fail "$name" "the job left names in /dev/shm: $(shm_left)"
        return 1
    fi
    return 0
}

# says NAME TEXT...: each extended regular expression matches some line of the output.
says()
{
    local name=$1 text
    shift
    for text in "$@"; do
        if ! grep -Eq "$text" "$out"; then
            fail "$name" "no line of the output matches \"$text\" (status $status)"
            return 1
        fi
    done
    return 0
}
