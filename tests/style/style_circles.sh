#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# style_circles.sh ARCHIVE
# style_circles.sh --selftest
#
# Files of a room call one way: no file uses what another defines that uses, directly or over
# others, what it defines itself. Asks the symbols of the room's archive, prints the files of every
# circle, and exits with 1 when there is any. The second form proves that it can fail. NM and CC
# name the tools.
set -eu
LC_ALL=C
export LC_ALL

# "USER OWNER" for every pair of members of an archive of which one uses a symbol of the other.
list_edges() {
    "${NM:-nm}" -A -P "$1" 2>/dev/null | awk '
        { file = $1; sub(/^.*\[/, "", file); sub(/\]:?$/, "", file); sub(/\.o(bj)?$/, "", file) }
        $3 ~ /^[TDRBCVW]$/ { owner[$2] = file; defined++ }
        $3 == "U" { n++; user[n] = file; used[n] = $2 }
        END {
            if (defined == 0) { print "no symbols are defined" >"/dev/stderr"; exit 1 }
            for (i = 1; i <= n; i++) {
                if (used[i] in owner && owner[used[i]] != user[i]) {
                    print user[i], owner[used[i]]
                }
            }
        }' | sort -u
}

check() {
    list_edges "$1" >"$work/edges"
    # tsort names the members of each circle on its standard error.
    tsort "$work/edges" >/dev/null 2>"$work/circles" || true
    if [ -s "$work/circles" ]; then
        sed -e 's/^tsort: .*: input contains a loop:$/a circle of calls:/' \
            -e 's/^tsort: /    /' "$work/circles"
        return 1
    fi
    [ -s "$work/edges" ] # a room whose files never call one another was not read
}

# Three files of which two call each other, and the same without the call back.
selftest() {
    for back in 'int one(void); int two(void) { return one(); }' 'int two(void) { return 2; }'; do
        echo 'int two(void); int one(void); int one(void) { return two(); }' >"$work/one.c"
        echo "int two(void); $back" >"$work/two.c"
        echo 'int one(void); int three(void); int three(void) { return one(); }' >"$work/three.c"
        rm -f "$work"/*.a
        for file in one two three; do
            "${CC:-cc}" -c "$work/$file.c" -o "$work/$file.o"
        done
        ar rc "$work/room.a" "$work/one.o" "$work/two.o" "$work/three.o"
        check "$work/room.a" >"$work/report" && found=no || found=yes
        printf '%s ' "$found"
    done >"$work/found"
    [ "$(cat "$work/found")" = "yes no " ]
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ "$1" = --selftest ]; then
    selftest
else
    check "$1"
fi
