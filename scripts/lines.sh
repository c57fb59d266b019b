#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Count the lines of the tracked files, by part.
#
# usage: scripts/lines.sh [REVISION]
#   REVISION   count the files of this commit; default: the tracked files of the working tree
#
# C is counted without comments and blank lines, as the preprocessor sees it; Python, shell and
# CMake without blank lines and lines that are only a comment; other text by its lines. Files that
# a script of the tree writes are not counted in the library and the public headers.
set -eu

case ${1-} in
    -*) sed -n 's/^# \{0,1\}//; 4,9p' "$0" >&2; exit 2 ;;
esac
cd "$(dirname "$0")/.."
if [ $# -gt 0 ]; then
    tree=$(mktemp -d)
    trap 'rm -rf "$tree"' EXIT
    git archive "$1" | tar -x -C "$tree"
    files=$(git ls-tree -r --name-only "$1")
    cd "$tree"
else
    files=$(git ls-files)
fi

# count_c, count_script, count_text: read file names, print the number of lines of all of them.
count_c()
{
    xargs -r -d '\n' -n 1 gcc -fpreprocessed -dD -E -P -x c 2>/dev/null | grep -c '[^[:space:]]' || :
}

count_script()
{
    xargs -r -d '\n' cat | grep -vcE '^[[:space:]]*(#|$)' || :
}

count_text()
{
    xargs -r -d '\n' cat | wc -l
}

c='\.(c|h|h\.in|inc|cpp|cu)$'
script='\.(py|sh|cmake)$|(^|/)CMakeLists\.txt$|(^|/)(oshrun|oshcc)\.in$'

# part NAME FOLDERS EXCEPT: one line of the table. FOLDERS and EXCEPT are extended expressions.
part()
{
    chosen=$(printf '%s\n' "$files" | grep -E "$2" | grep -vE "${3:-^$}" |
        while read -r file; do [ ! -f "$file" ] || [ -L "$file" ] || echo "$file"; done)
    n_c=$(printf '%s\n' "$chosen" | grep -E "$c" | count_c)
    n_script=$(printf '%s\n' "$chosen" | grep -E "$script" | count_script)
    n_text=$(printf '%s\n' "$chosen" | grep -vE "$c|$script" | grep . | count_text)
    printf '%-36s %8d %8d %8d %8d\n' "$1" "$n_c" "$n_script" "$n_text" \
        $((n_c + n_script + n_text))
}

printf '%-36s %8s %8s %8s %8s\n' part C script text all
part 'library' '^(base|src|spaces|pmi|transport)/' '^src/api/gen/|_ptx\.inc$'
part 'public headers' '^include/'
part 'bench' '^bench/'
part 'tests, scripts, tools, cmake' '^(test|scripts|tools|cmake|CMake)' '\.ptx$'
part 'examples' '^examples/'
part 'docs' '^docs/'
