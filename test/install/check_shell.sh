#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Checks what an installation provides for shells: completion of the commands, and the environment
# module, whose paths must exist. check_install.sh runs this script.
#
# usage: check_shell.sh <prefix>
set -u

prefix=$1 failed=0
completions=$prefix/share/bash-completion/completions

fail()
{
    echo "check_shell: $*" >&2
    failed=1
}

# completes LINE WORD: the last word of the line becomes WORD, among others.
completes()
{
    local line=$1 want=$2 name
    read -ra COMP_WORDS <<<"$line"
    [[ $line == *' ' ]] && COMP_WORDS+=("")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    name=${COMP_WORDS[0]}
    COMPREPLY=()
    _steppe "$prefix/bin/$name" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
    printf '%s\n' "${COMPREPLY[@]}" | grep -qx -- "$want" ||
        fail "the completion of \"$line\" lacks $want: ${COMPREPLY[*]:0:8}"
}

for name in oshcc oshc++ oshCC oshcxx oshrun oshinfo steppe-bench; do
    [ -e "$completions/$name" ] || fail "the completion file $completions/$name is not installed"
done
. "$completions/oshrun" || fail "bash cannot read $completions/oshrun"
complete -p oshrun oshcc steppe-bench >/dev/null ||
    fail "the completion file does not register oshrun, oshcc and steppe-bench"
completes "oshrun --out" --output-filename
completes "oshcc --inl" --inline
completes "oshinfo --do" --doctor
completes "oshinfo prov" providers
if [ -e "$prefix/bin/steppe-bench" ]; then
    completes "steppe-bench put-lat" put-latency
    completes "steppe-bench --summ" --summary
    completes "steppe-bench comp" compare
fi

module=$prefix/share/modules/modulefiles/steppe
for what in PATH MANPATH PKG_CONFIG_PATH; do
    path=$(sed -n "s/^prepend-path $what \[file join \$prefix \(.*\)\]$/\1/p" "$module" | tr ' ' /)
    [ -n "$path" ] && [ -d "$prefix/$path" ] ||
        fail "the environment module sets $what to $prefix/$path, which is no folder"
done
if command -v tclsh >/dev/null; then
    got=$(printf '%s\n' 'proc module-whatis args { puts whatis }' \
        'proc conflict name { puts "conflict $name" }' \
        'proc prepend-path {name path} { puts "$name $path" }' \
        'proc append-path {name path} { puts "$name behind ($path)" }' \
        "set ModulesCurrentModulefile {$module}" "source {$module}" | tclsh)
    for want in whatis "conflict steppe" "PATH $prefix/bin" "MANPATH behind ()" \
        "CMAKE_PREFIX_PATH $prefix"; do
        echo "$got" | grep -qxF "$want" || fail "the environment module lacks '$want'; it has: $got"
    done
    for what in MANPATH PKG_CONFIG_PATH; do
        path=$(echo "$got" | sed -n "s/^$what \(\/.*\)/\1/p")
        ls "$path"/man1/oshrun.1* "$path/steppe.pc" 2>/dev/null | grep -q . ||
            fail "the environment module sets $what to $path, which has no file of Steppe"
    done
fi
exit $failed
