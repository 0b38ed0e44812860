/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Axis ticks: round positions inside a range, minor ticks between them, and their labels.
 *
 * Linear steps are 1, 2 or 5 times a power of ten (integers only, when asked). Logarithmic ticks
 * sit at decades (every k-th when there are many), at 1-2-5 multiples when the range holds fewer
 * than three decades, and fall back to linear ticks below two such positions. Labels are Pango
 * markup with a true minus sign (U+2212); numbers at or above 10⁶, or with steps below 10⁻⁴, are
 * written m×10<sup>e</sup>.
 */
#ifndef BASIN_VIZ_TICKS_H
#define BASIN_VIZ_TICKS_H

#include "kernels/kern_status.h"

#include <stdbool.h>
#include <stddef.h>

enum { VIZ_TICKS_MAJOR_MAX = 24, VIZ_TICKS_MINOR_MAX = 160, VIZ_TICKS_TEXT = 64 };

typedef struct viz_ticks {
    size_t n_major;
    size_t n_minor;
    double step; /* distance of the major ticks; 0 for logarithmic ticks */
    double major[VIZ_TICKS_MAJOR_MAX];
    double minor[VIZ_TICKS_MINOR_MAX];
    char label[VIZ_TICKS_MAJOR_MAX][VIZ_TICKS_TEXT]; /* Pango markup of each major tick */
} viz_ticks;

/* Ticks in [lo, hi], at most `target` (2 … 20) major ones where the 1-2-5 rule allows.
 * KERN_INVALID_ARGUMENT unless lo < hi are finite with a finite difference. */
kern_status viz_ticks_linear(viz_ticks *ticks, double lo, double hi, size_t target, bool integer,
                             kern_error *err);

/* As above on a logarithmic axis; lo must be positive. */
kern_status viz_ticks_log(viz_ticks *ticks, double lo, double hi, size_t target, kern_error *err);

/* Ticks for s(v) = sign(v) ln(1 + |v|/threshold): 0 and powers of ten of either sign from the
 * threshold on, every k-th when there are many; linear ticks when fewer than two of them lie in the
 * range. `threshold` must be positive. */
kern_status viz_ticks_symlog(viz_ticks *ticks, double lo, double hi, double threshold,
                             size_t target, kern_error *err);

/* Writes `value` with as few digits after the point (at most 6) as tell all n `values` exactly to
 * a millionth of their spread; as m×10<sup>e</sup> where labels of ticks would be. */
void viz_ticks_number(char out[VIZ_TICKS_TEXT], double value, const double *values, size_t n);

/* Smallest 1-2-5 step that is ≥ raw; raw must be positive and finite. */
double viz_ticks_nice_step(double raw);

/* Widens [*lo, *hi] by `margin` of its length on both sides. A range shorter than 10⁻⁹ of its
 * magnitude is constant data: it becomes the value ± 10 % of its magnitude, or ± 1 about 0. Both
 * values must be finite. */
void viz_ticks_pad(double *lo, double *hi, double margin);

#endif
