#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Print the sources of a target of CMake, as the CMakeLists.txt say it, for builds without CMake:
# a line each, the path and the file's own compiler options. tree.sources holds the answer against
# what CMake compiles.
#
# usage: scripts/list-sources.sh TARGET      (steppe_core, steppe_job, steppe_ofi, ...)
set -eu

[ $# -eq 1 ] || { sed -n 's/^# \{0,1\}//; 7p' "$0" >&2; exit 2; }
cd "$(dirname "$0")/.."

# shellcheck disable=SC2016 # a program of awk
find src pmi spaces transport bench -name CMakeLists.txt | sort | xargs \
    awk -v target="$1" -v machine="$(uname -m)" '
    FNR == 1 { text[++n_files] = ""; dir[n_files] = FILENAME; sub("/[^/]*$", "", dir[n_files]) }
    { sub(/#.*/, ""); text[n_files] = text[n_files] " " $0 }

    # The words of the list in words[], which CMake separates by blanks, or by semicolons in quotes.
    function split_words(list) {
        gsub(/["\t;]/, " ", list)
        return split(list, words, " ")
    }

    function path(word) {
        if (sub(/^\$\{PROJECT_SOURCE_DIR\}\//, "", word)) return word
        return dir[file] "/" word
    }

    function add_sources(n, from) {
        for (i = from; i <= n; i++) {
            if (words[i] ~ /\.c$/ && !((path(words[i])) in known)) {
                known[path(words[i])] = 1
                order[++n_sources] = path(words[i])
            }
        }
    }

    function add_options(n, take) {
        for (i = 1; i <= n && words[i] !~ /PROPERTY|PROPERTIES|TARGET_DIRECTORY/; i++)
            if (words[i] ~ /\.c$/) affected[path(words[i])] = 1
        take = 0
        for (; i <= n; i++) {
            if (take) for (name in affected) options[name] = options[name] " " words[i]
            if (words[i] == "COMPILE_OPTIONS") take = 1
        }
        split("", affected)
    }

    function command(name, list, n) {
        n = split_words(list)
        if (name == "if") {
            depth++
            if (!skipped && list !~ /^STEPPE_FABRIC$/ &&
                !(list ~ /CMAKE_SYSTEM_PROCESSOR STREQUAL/ && words[3] == machine)) skipped = depth
        } else if (name == "endif") {
            if (skipped == depth) skipped = 0
            depth--
        } else if (skipped) {
            return
        } else if (name ~ /^(target_sources|add_library|add_executable)$/ && words[1] == target) {
            add_sources(n, 2)
        } else if (name == "set_source_files_properties" || name == "set_property") {
            add_options(n)
        }
    }

    END {
        for (file = 1; file <= n_files; file++) {
            rest = text[file]
            while (match(rest, /[a-z_]+[ ]*\(/)) {
                name = substr(rest, RSTART, RLENGTH - 1)
                rest = substr(rest, RSTART + RLENGTH)
                end = index(rest, ")")
                command(name, substr(rest, 1, end - 1))
                rest = substr(rest, end + 1)
            }
        }
        for (i = 1; i <= n_sources; i++) print order[i] options[order[i]]
        exit n_sources == 0
    }'
