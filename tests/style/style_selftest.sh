#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# style_selftest.sh CHECK
#
# Proves that a check of style_check.sh can fail: writes a small tree with known faults into a
# temporary folder, and compares what the check reports (file and line) with the list of faults.
# Each tree also holds lines that look alike and are allowed.
set -eu

check=$1
script=$(dirname "$0")/style_check.sh
case $script in
    /*) ;;
    *) script=$PWD/$script ;;
esac
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
cd "$tree"
mkdir kernels dyn models viz cli tests scripts

licence='/* SPDX-License-Identifier: GPL-3.0-or-later */'

# Prints a line of $1 characters x.
repeat() {
    awk -v n="$1" 'BEGIN { while (n-- > 0) { printf "x" } print "" }'
}

# Prints a function of $1 lines.
long_function() {
    echo 'static int long_one(void)'
    echo '{'
    awk -v n="$(($1 - 3))" 'BEGIN { while (n-- > 0) { print "    ;" } }'
    echo '}'
}

make_includes() {
    printf '#include "kernels/kern_a.h"\n#include "viz/viz_a.h"\n' >dyn/dyn_a.c
    printf '#include "kern_b.h"\n#include <stdio.h>\n#include "kernels/kern_b.h"\n' >kernels/kern_b.c
    printf '#include "kernels/kern_b_internal.h"\n' >viz/viz_b.c
    printf '#include "kernels/kern_b_internal.h"\n' >kernels/kern_c.c
    faults='dyn/dyn_a.c:2 kernels/kern_b.c:1 viz/viz_b.c:1'
}

make_libraries() {
    printf '#include <cairo.h>\n' >viz/viz_a.c
    printf '#include <cairo.h>\n#include <gsl/gsl_math.h>\n#include <SDL.h>\n' >viz/viz_c.c
    printf '#include <cairo.h>\n#include <gsl/gsl_math.h>\n#include <hdf5.h>\n' >models/model_a.c
    printf '#include <hdf5.h>\n#include <stdio.h>\n' >models/model_hdf5_a.c
    printf '#include <SDL.h>\n#include <cblas.h>\n' >viz/viz_b.c
    printf '#include <cblas.h>\n#include <dnnl.h>\n' >kernels/kern_blas_a.c
    printf '#include <gsl/gsl_math.h>\n#include <omp.h>\n#pragma omp parallel\n' >dyn/dyn_a.c
    printf '#include <omp.h>\n#pragma omp parallel\n' >kernels/kern_parallel.c
    printf '#include <arpack/arpack.h>\n' >kernels/kern_arpack_a.c
    printf '#include <arpack/arpack.h>\n' >kernels/kern_lapack_a.c
    faults='dyn/dyn_a.c:2 dyn/dyn_a.c:3 kernels/kern_lapack_a.c:1 models/model_a.c:1
        models/model_a.c:2 models/model_a.c:3 viz/viz_b.c:2 viz/viz_c.c:2 viz/viz_c.c:3'
}

make_calls() {
    printf 'x = snprintf(a);\nfprintf(stderr, b);\nexit(1);\nkern_exit(1);\n' >dyn/dyn_a.c
    printf 'printf(a);\nexit(1);\n' >cli/cli_a.c
    printf 'r = rand();\ny = printf_like(a);\n' >kernels/kern_a.c
    faults='dyn/dyn_a.c:2 dyn/dyn_a.c:3 kernels/kern_a.c:1'
}

make_licence() {
    echo "$licence" >kernels/kern_a.c
    printf '/* SPDX-License-Identifier: GPL-3.0-or-later\n *\n */\n' >kernels/kern_b.c
    printf '/* SPDX-License-Identifier: MIT */\n' >kernels/kern_c.c
    printf '#!/bin/sh\n# SPDX-License-Identifier: GPL-3.0-or-later\n' >scripts/good
    printf '#!/bin/sh\necho\n' >scripts/bad
    echo 'basin_room(dyn)' >dyn/CMakeLists.txt
    printf '\n%s\n' "$licence" >tests/test_a.c
    faults='dyn/CMakeLists.txt:1 kernels/kern_c.c:1 scripts/bad:2 tests/test_a.c:1'
}

make_length() {
    { long_function 60; echo; long_function 61; } >kernels/kern_a.c
    awk 'BEGIN { while (n++ < 800) { print "" } }' >kernels/kern_b.c
    printf '%16sif (a) {\n%20sfor (;;) {\n%20swork(a);\n' '' '' '' >kernels/kern_c.c
    awk 'BEGIN { while (n++ < 801) { print "" } }' >tests/test_a.c
    faults='kernels/kern_a.c:122 kernels/kern_c.c:2 tests/test_a.c:801'
}

make_columns() {
    { repeat 100; repeat 101; printf 'a\tb\n'; echo 'a '; } >kernels/kern_a.c
    awk 'BEGIN { while (n++ < 100) { printf "\303\227\314\204" } print "" }' >kernels/kern_b.c
    faults='kernels/kern_a.c:2 kernels/kern_a.c:3 kernels/kern_a.c:4'
}

make_headers() {
    printf '#ifndef BASIN_KERN_A_H\n#define BASIN_KERN_A_H\n#include <stddef.h>\n%s\n#endif\n' \
        'size_t kern_a(void);' >kernels/kern_a.h
    printf '#ifndef BASIN_KERN_B_H\n#define BASIN_KERN_B_H\n%s\n#endif\n' \
        'size_t kern_b(void);' >kernels/kern_b.h
    printf '#ifndef KERN_C_H\n#define KERN_C_H\n#endif\n' >kernels/kern_c.h
    printf '#ifndef BASIN_KERN_D_H\n#endif\nstruct kern_d { int d; };\n' >kernels/kern_d.h
    faults='kernels/kern_b.h:3 kernels/kern_c.h:1 kernels/kern_d.h:3'
}

make_words() {
    printf '/* TO%s: finish */\nchar t[] = "aXX%s";\n/* A Place%s. */\n' DO XXXX holder \
        >kernels/kern_a.c
    printf '# FIX%s\nhttps://example.org/to%s\n' ME do >scripts/a.sh
    faults='kernels/kern_a.c:1 kernels/kern_a.c:3 scripts/a.sh:1'
}

make_names() {
    touch kernels/kern_a.c kernels/kern_a.h dyn/kern_a.c tests/test_a.c
    faults='kernels/kern_a.c:1'
}

make_listed() {
    touch kernels/kern_a.c kernels/kern_ab.c kernels/kern_a.h tests/test_a.c
    printf 'basin_room(\n    kernels\n    SOURCES\n        kern_ab.c)\n' >kernels/CMakeLists.txt
    printf 'basin_test(test_a SOURCES test_a.c)\n' >tests/CMakeLists.txt
    faults='kernels/kern_a.c:1'
}

"make_$check"
status=0
"$script" "$check" "$tree" >report 2>&1 || status=$?
# shellcheck disable=SC2086
printf '%s\n' $faults >wanted
sed -n 's/^\([^ :]*:[0-9]*\):.*/\1/p' report | sort -u >found
if [ "$status" -ne 1 ] || ! cmp -s wanted found; then
    echo "style_selftest.sh: $check exited with $status; wanted these faults:"
    cat wanted
    echo "and it reported:"
    cat report
    exit 1
fi
