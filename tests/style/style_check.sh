#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# style_check.sh CHECK ROOT
#
# Holds the sources below ROOT to one rule of CONTRIBUTING.md. Prints one line per violation,
# `file:line: what`, and exits with 1 when there is any. style_selftest.sh proves for each check
# that it can fail. CC and STYLE_HEADER_FLAGS name the compiler and its flags for `headers`.
set -eu
LC_ALL=C
export LC_ALL

check=$1
cd "$2"

rooms="kernels dyn models synthetic viz cli notebooks_c"

# C files of the rooms; with an argument, of the rooms and of the folders it names.
list_c() {
    for folder in $rooms "$@"; do
        if [ -d "$folder" ]; then
            find "$folder" -name '*.[ch]'
        fi
    done | sort
}

# Everything that carries a licence line.
list_sources() {
    list_c tests
    for folder in $rooms tests scripts .ci; do
        if [ -d "$folder" ]; then
            find "$folder" -type f \( -name '*.sh' -o -name CMakeLists.txt -o -name '*.cmake' \
                -o -path 'scripts/*' -o -path '.ci/*' \)
        fi
    done | sort -u
    if [ -f CMakeLists.txt ]; then
        echo CMakeLists.txt
    fi
}

# Runs an awk program over the files named on standard input; it reports with bad(what). The
# program's END block is `finish`.
awk_files() {
    files=$(cat)
    [ -z "$files" ] && return 0
    # File names of this project hold no blanks, which the unquoted list relies on.
    # shellcheck disable=SC2086
    awk "
        function bad(what) { print FILENAME \":\" FNR \": \" what }
        $1" $files </dev/null
}

# Data flows one way through the rooms, and a room's internal headers stay inside it.
check_includes() {
    list_c | awk_files '
        BEGIN {
            n = split("kernels dyn models synthetic viz cli", order, " ")
            for (i = 1; i <= n; i++) { rank[order[i]] = i }
            rank["notebooks_c"] = n
        }
        /^[ \t]*#[ \t]*include[ \t]*"/ {
            split($0, quoted, "\"")
            split(quoted[2], to, "/")
            split(FILENAME, from, "/")
            if (!(to[1] in rank)) {
                bad("\"" quoted[2] "\" is not a path from the repository root into a room")
            } else if (to[1] != from[1] && rank[to[1]] >= rank[from[1]]) {
                bad(from[1] " may not include " to[1])
            } else if (to[1] != from[1] && quoted[2] ~ /_internal\.h$/) {
                bad("\"" quoted[2] "\" is internal to " to[1])
            }
        }'
}

# Each outside library is known to few files, so that replacing one touches few.
check_libraries() {
    list_c | awk_files '
        function only(library, place) {
            if (FILENAME !~ place) { bad(library " is not used here") }
        }
        function one(library) {
            if (!(library in owner)) { owner[library] = FILENAME }
            if (owner[library] != FILENAME) {
                bad(library " is used in " owner[library] " already, and in one file only")
            }
        }
        /^[ \t]*#[ \t]*include[ \t]*</ {
            if ($0 ~ /<(cairo|pango)/) { only("cairo", "^viz/") }
            if ($0 ~ /<gsl\//) { only("GSL", "^(kernels|dyn)/") }
            if ($0 ~ /<(cblas|lapacke|openblas)/) { only("BLAS", "^kernels/kern_(blas|lapack)") }
            if ($0 ~ /<arpack/) { only("ARPACK", "^kernels/kern_arpack") }
            if ($0 ~ /<(oneapi\/)?dnnl/) { only("oneDNN", "^kernels/kern_blas") }
            if ($0 ~ /<libxsmm/) { only("libxsmm", "^kernels/kern_blas") }
            if ($0 ~ /<omp\.h>/) { only("OpenMP", "^kernels/kern_parallel\\.c$") }
            if ($0 ~ /<hdf5/) { only("HDF5", "^models/model_hdf5") }
            if ($0 ~ /<SDL/) { one("SDL") }
            if ($0 ~ /<mpi\.h>/) { one("MPI") }
        }
        /^[ \t]*#[ \t]*pragma[ \t]+omp/ { only("OpenMP", "^kernels/kern_parallel\\.c$") }'
}

# Below cli/, errors are returned; nothing prints, stops the program or keeps a hidden generator.
check_calls() {
    list_c | grep -v -e '^cli/' -e '^notebooks_c/' | awk_files '
        /(^|[^A-Za-z0-9_])(printf|vprintf|puts|putchar|perror|exit|_exit|abort|rand|srand)\(/ {
            bad("a call that belongs in cli/ only")
        }
        /(^|[^A-Za-z0-9_])(stdout|stderr)([^A-Za-z0-9_]|$)/ { bad("a stream of the user") }'
}

# The licence is the first line; scripts have theirs after the interpreter.
check_licence() {
    list_sources | awk_files '
        FNR == 1 { shift = ($0 ~ /^#!/) ? 1 : 0 }
        FNR == 1 + shift {
            mark = FILENAME ~ /\.[ch]$/ ? "/\\*" : "#"
            if ($0 !~ "^" mark " SPDX-License-Identifier: GPL-3.0-or-later( \\*/)?$") {
                bad("the licence line is missing")
            }
        }'
}

# Files and functions stay short and shallow. Formatted code has a function body between braces in
# column 0, and indents each level by 4.
check_length() {
    list_c tests | awk_files '
        FNR == 1 { start = 0 }
        FNR == 801 { bad("the file has more than 800 lines") }
        /^[A-Za-z_]/ && !inside { start = FNR; split($0, head, "("); name = head[1] }
        /^\{$/ { inside = 1 }
        /^ *(if|for|while|switch|do) / && match($0, /^ */) && RLENGTH > 16 {
            bad("control statements are nested " RLENGTH / 4 " deep, more than 4")
        }
        /^\}$/ && inside {
            inside = 0
            sub(/.*[ *]/, "", name)
            if (FNR - start + 1 > 60) {
                bad("the function " name " has " FNR - start + 1 " lines, more than 60")
            }
        }'
}

# Lines are at most 100 columns wide. In UTF-8, combining marks (U+0300 to U+036F) and the bytes
# that continue a character take no column.
check_columns() {
    list_c tests | awk_files '
        /\t/ { bad("a tab") }
        /[ \r]$/ { bad("a blank at the end of the line") }
        {
            gsub(/\314[\200-\277]|\315[\200-\257]/, "")
            gsub(/[\200-\277]/, "")
            if (length($0) > 100) { bad("the line has " length($0) " columns, more than 100") }
        }'
}

# Every header compiles alone, twice over, and its guard is named after the file.
check_headers() {
    list_c | grep '\.h$' | while read -r header; do
        guard=BASIN_$(basename "$header" .h | tr 'a-z' 'A-Z')_H
        grep -q "^#ifndef $guard\$" "$header" || echo "$header:1: the include guard is not $guard"
        # shellcheck disable=SC2086
        printf '#include "%s"\n#include "%s"\nextern int style_unused;\n' "$header" "$header" |
            ${CC:-cc} -std=c17 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I. \
                ${STYLE_HEADER_FLAGS:-} -x c - 2>&1 | grep ' error: ' | sed 's|^\./||' || true
    done
}

# Unfinished work is not shipped. The words are spelt in two halves to keep this file clean.
check_words() {
    { list_sources; find . -maxdepth 1 -name '*.md' | sed 's,^\./,,'; } | awk_files '
        BEGIN {
            word = "TO" "DO|FIX" "ME|XX" "X|HA" "CK"
            phrase = "place" "holder|not (yet )?imple" "mented|coming" " soon|lorem" " ipsum"
        }
        $0 ~ "(^|[^A-Za-z])(" word ")([^A-Za-z]|$)" { bad("a note about unfinished work"); next }
        tolower($0) ~ phrase { bad("a note about unfinished work") }'
}

# A file name says which file is meant, without its folder.
check_names() {
    list_c tests | awk -F / '
        $NF in first { print $0 ":1: the name is taken by " first[$NF]; next }
        { first[$NF] = $0 }'
}

# Every C file is part of the build.
check_listed() {
    list_c tests | grep '\.c$' | while read -r file; do
        folder=${file%%/*}
        [ -f "$folder/CMakeLists.txt" ] || continue
        name=${file#*/}
        tr -s ' ()' '\n' <"$folder/CMakeLists.txt" | grep -qxF "$name" ||
            echo "$file:1: not listed in $folder/CMakeLists.txt"
    done
}

case $check in
    includes | libraries | calls | licence | length | columns | headers | words | names | listed)
        found=$("check_$check")
        ;;
    *)
        echo "style_check.sh: unknown check '$check'" >&2
        exit 2
        ;;
esac
if [ -n "$found" ]; then
    printf '%s\n' "$found"
    exit 1
fi
