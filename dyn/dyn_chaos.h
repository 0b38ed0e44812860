/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a test for chaos says about an orbit.
 */
#ifndef BASIN_DYN_CHAOS_H
#define BASIN_DYN_CHAOS_H

/* X(name, word). */
#define DYN_CHAOS_LIST(X)                                                                          \
    X(UNDECIDED, "undecided")                                                                      \
    X(REGULAR, "regular")                                                                          \
    X(CHAOTIC, "chaotic")

typedef enum dyn_chaos {
#define DYN_CHAOS_ENUM(name, word) DYN_CHAOS_##name,
    DYN_CHAOS_LIST(DYN_CHAOS_ENUM)
#undef DYN_CHAOS_ENUM
        DYN_CHAOS_COUNT
} dyn_chaos;

/* Word of a verdict; "unknown" for a value outside the list. */
const char *dyn_chaos_word(dyn_chaos verdict);

#endif
