#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Look at what is about to be committed: the form of changed lines of C, SPDX lines, blanks at the
# ends of lines, includes. Says each fault with its file; status 1 if there is any, 2 for misuse.
#
# usage: scripts/pre-commit.sh [--install | FILE...]
#   --install   run it before each commit of this clone, as its hook
#   FILE...     look at these files whole, in place of what is staged
set -eu

root=$(git -C "$(dirname "$0")" rev-parse --show-toplevel)
faults=0

fault()
{
    printf 'pre-commit: %s\n' "$*" >&2
    faults=$((faults + 1))
}

install_hook()
{
    hook=$(git rev-parse --git-path hooks)/pre-commit
    if [ -e "$hook" ] && ! grep -q scripts/pre-commit.sh "$hook"; then
        echo "pre-commit: $hook exists already and was not changed: remove it first" >&2
        exit 2
    fi
    mkdir -p "$(dirname "$hook")"
    printf '#!/bin/sh\nexec "$(git rev-parse --show-toplevel)/scripts/pre-commit.sh"\n' >"$hook"
    chmod +x "$hook"
    echo "pre-commit: installed as $hook"
}

# What others made or machines write, and bytes.
is_ours()
{
    case $1 in
        LICENSE | LICENSES/* | debian/changelog | debian/control | .gitignore | *.json | test/fuzz/corpus/* | docs/results/*) return 1 ;;
    esac
}

# content FILE: as it will be committed, or as it is
content()
{
    if [ -n "$staged" ]; then
        git show ":$1"
    else
        cat "$1"
    fi
}

look_at()
{
    is_ours "$1" || return 0
    content "$1" | head -n 5 | grep -q 'SPDX-License-Identifier: BSD-3-Clause' ||
        case $1 in
            *.md | *.md.in | docs/man/* | *.pc.in) ;;
            *) fault "$1: the first five lines lack 'SPDX-License-Identifier: BSD-3-Clause'" ;;
        esac
    lines=$(content "$1" | grep -n '[[:blank:]]$' | cut -d: -f1 | head -n 3 | tr '\n' ' ')
    [ -z "$lines" ] || fault "$1: these lines end with blanks: $lines"
}

# The changed lines as clang-format wants them; whole files where files were named.
look_at_form()
{
    if ! command -v clang-format >/dev/null 2>&1; then
        echo "pre-commit: clang-format is not installed: the format of C files was not checked" >&2
        return 0
    fi
    for file in "$@"; do
        case $file in
            *.tmpl.h | include/shmem.h | include/pshmem.h | src/api/gen/*) continue ;;
            *.c | *.h | *.cpp) ;;
            *) continue ;;
        esac
        ranges=
        if [ -n "$staged" ]; then
            ranges=$(git diff --cached -U0 --no-color -- "$file" |
                sed -n 's/^@@ [^+]*+\([0-9]*\),*\([0-9]*\) @@.*/\1 \2/p' |
                while read -r from n; do
                    n=${n:-1}
                    [ "$n" -eq 0 ] || printf '%s ' "--lines=$from:$((from + n - 1))"
                done)
            [ -n "$ranges" ] || continue
        fi
        content "$file" >"$work/now"
        # shellcheck disable=SC2086 # words
        clang-format --style=file --assume-filename="$root/$file" $ranges <"$work/now" >"$work/want"
        if ! diff "$work/now" "$work/want" >"$work/diff"; then
            fault "$file: clang-format formats this file differently (<: now, >: wanted)"
            head -n 20 "$work/diff" >&2
        fi
    done
}

case ${1-} in
    --install)
        cd "$root"
        install_hook
        exit 0
        ;;
    -*)
        sed -n 's/^# \{0,1\}//; 3,8p' "$0" >&2
        exit 2
        ;;
esac

staged=
if [ $# -eq 0 ]; then
    staged=1
else
    for file in "$@"; do
        if [ ! -f "$file" ]; then
            echo "pre-commit: $file: this file does not exist" >&2
            exit 2
        fi
        set -- "$@" "$(realpath --relative-to="$root" "$file")"
        shift
    done
fi
cd "$root"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -n "$staged" ]; then
    # Names with blanks are not in this tree, and are refused.
    names=$(git diff --cached --name-only --diff-filter=ACMR)
    case $names in
        *[[:blank:]]* | *\"*) fault "names of files must not contain blanks or quotes" ;;
    esac
    # shellcheck disable=SC2086 # words
    set -- $names
fi
[ $# -gt 0 ] || exit 0
for file in "$@"; do
    [ -h "$file" ] || look_at "$file"
done
look_at_form "$@"
python3 -B test/check_includes.py . >"$work/includes" ||
    fault "includes: $(grep -v ' files, ' "$work/includes")"
[ $faults -eq 0 ] || {
    echo "pre-commit: number of faults: $faults; git commit --no-verify skips these checks" >&2
    exit 1
}
