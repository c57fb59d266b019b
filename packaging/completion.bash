# SPDX-License-Identifier: BSD-3-Clause
# Bash completion of oshcc, oshc++ and its other names, oshrun, oshinfo and steppe-bench: options are
# those that the command's own --help names, then benches, launched programs or files.

_steppe_options()
{
    "$1" --help 2>/dev/null | grep -oE -- '(^|[[:space:],[])--?[A-Za-z][A-Za-z0-9-]*' |
        tr -d ' \t,['
}

# Groups and benches are the first two words of each line.
_steppe_benches()
{
    "$1" --list 2>/dev/null | awk '{ print $1; print $2 }' | sort -u
}

# The indented words that are no options.
_steppe_sections()
{
    "$1" --help 2>/dev/null | sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p'
}

_steppe()
{
    local command=$1 word=$2 name=${1##*/}

    COMPREPLY=()
    if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_steppe_options "$command")" -- "$word")
    elif [[ $name == steppe-bench* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_steppe_benches "$command") compare plot launch tune all" \
            -- "$word")
    elif [[ $name == oshinfo* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_steppe_sections "$command")" -- "$word")
    elif [[ $name == oshrun* ]]; then
        mapfile -t COMPREPLY < <(compgen -c -- "$word"; compgen -f -- "$word")
    fi
}

complete -o default -F _steppe oshcc oshc++ oshCC oshcxx oshrun oshinfo steppe-bench \
    oshcc.steppe oshc++.steppe oshrun.steppe
