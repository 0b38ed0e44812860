/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the multipliers of one block say about its crossings: how many are past each, and which one
 * is nearest. What following a path needs to find events.
 */
#ifndef BASIN_DYN_PATH_SPECTRUM_H
#define BASIN_DYN_PATH_SPECTRUM_H

#include "dyn/dyn_map.h"
#include "dyn/dyn_multipliers.h"

#include <stdbool.h>
#include <stddef.h>

/* Ways across the unit circle: a real multiplier through −1, a complex pair, a real one through 1.
 */
typedef enum dyn_path_crossing {
    DYN_PATH_FLIP,
    DYN_PATH_PAIR,
    DYN_PATH_FOLD,
    DYN_PATH_CROSSINGS
} dyn_path_crossing;

typedef struct dyn_path_spectrum {
    double radius; /* spectral radius; NaN when the multipliers are not known */
    size_t outside[DYN_PATH_CROSSINGS]; /* multipliers, or pairs, past each crossing */
    double re[DYN_PATH_CROSSINGS];      /* the one nearest to each */
    double im[DYN_PATH_CROSSINGS];
    double gap[DYN_PATH_CROSSINGS]; /* and how near: |μ + 1|, ||μ| − 1|, |μ − 1|; ∞: none is */
} dyn_path_spectrum;

/* Of block `block` of `map` at `state`, a fixed point, or of every block with DYN_MULTIPLIERS_ALL:
 * one entry of `out` for each, at about the price of one, since tangents probe all diagonal blocks
 * together. Errors of dyn_multipliers_init. */
kern_status dyn_path_measure(dyn_path_spectrum *out, dyn_map *map, const double *state,
                             size_t block, kern_error *err);

/* No multiplier is past a crossing. */
bool dyn_path_is_stable(const dyn_path_spectrum *s);

/* The same counts past each crossing. */
bool dyn_path_agrees(const dyn_path_spectrum *a, const dyn_path_spectrum *b);

/* Where between two points with these spectra a crossing is expected, as a part of the way, from
 * how far the nearest multipliers are from it; NaN unless a single crossing changes, and by one. */
double dyn_path_guess(const dyn_path_spectrum *from, const dyn_path_spectrum *to);

#endif
