/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sums and combinations over one row, for norm and its pull-back. Included by kernel sources, in
 * the precision of the unit.
 */
#ifndef BASIN_KERN_NORM_ROW_H
#define BASIN_KERN_NORM_ROW_H

#include "kernels/kern_op.h"
#include "kernels/kern_real.h"
#include "kernels/kern_simd.h"

enum { KERN_NORM_LANES = 16 };

/* Row r of a view, or NULL. */
KERN_INLINE const kern_real *kern_norm_row(kern_view view, size_t r, size_t cols)
{
    return view.data == NULL ? NULL : (const kern_real *)view.data + r * cols;
}

/* Σ w and Σ w (x − μ) of one row, w = gain ⊙ g. One loop for each: the compiler keeps the partial
 * sums of a loop in registers when they are one array. */
KERN_INLINE void kern_norm_moments(const kern_real *x, const kern_real *g, const kern_real *gain,
                                   double mu, size_t cols, double moments[2])
{
    double sum[KERN_NORM_LANES] = {0};
    double product[KERN_NORM_LANES] = {0};
    const size_t whole = cols - cols % KERN_NORM_LANES;
    for (size_t j = 0; j < whole; j += KERN_NORM_LANES) {
        for (size_t l = 0; l < KERN_NORM_LANES; l++) {
            sum[l] += (double)(gain == NULL ? g[j + l] : g[j + l] * gain[j + l]);
        }
    }
    for (size_t j = 0; j < whole; j += KERN_NORM_LANES) {
        for (size_t l = 0; l < KERN_NORM_LANES; l++) {
            const kern_real w = gain == NULL ? g[j + l] : g[j + l] * gain[j + l];
            product[l] += (double)w * ((double)x[j + l] - mu);
        }
    }
    for (size_t j = whole; j < cols; j++) {
        const kern_real w = gain == NULL ? g[j] : g[j] * gain[j];
        sum[j - whole] += (double)w;
        product[j - whole] += (double)w * ((double)x[j] - mu);
    }
    moments[0] = 0;
    moments[1] = 0;
    for (size_t l = 0; l < KERN_NORM_LANES; l++) {
        moments[0] += sum[l];
        moments[1] += product[l];
    }
}

/* out (+)= p gain ⊙ g − q − s (x − μ) over one row. */
typedef struct kern_norm_mix {
    kern_real p;
    kern_real q;
    kern_real s;
    kern_real mu;
} kern_norm_mix;

KERN_INLINE void kern_norm_mix_row(kern_real *out, const kern_real *x, const kern_real *g,
                                   const kern_real *gain, kern_norm_mix m, size_t cols, bool add)
{
    KERN_IVDEP
    for (size_t j = 0; j < cols; j++) {
        const kern_real w = gain == NULL ? g[j] : g[j] * gain[j];
        const kern_real value = m.p * w - m.q - m.s * (x[j] - m.mu);
        out[j] = add ? out[j] + value : value;
    }
}

#endif
