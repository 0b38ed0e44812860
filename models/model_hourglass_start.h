/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Where the sub-MLPs of a part begin: its input, or that normalised under variants B and C. For the
 * files of models/ only.
 */
#ifndef BASIN_MODEL_HOURGLASS_START_H
#define BASIN_MODEL_HOURGLASS_START_H

#include "models/model.h"

/* z_0 of the part's input h, D numbers each. Under variants B and C `gain` receives the gain of the
 * norm in front, and the norm's denominator σ is returned; else z_0 is h and σ is 1. */
double model__hourglass_start(const model *m, size_t layer, const double *h, double *gain,
                              double *z);

/* Row w of a matrix goes through the Jacobian of the norm at h: w diag(g) (I − hhᵀ/(Dσ²))/σ. */
void model__norm_pull_row(size_t d, const double *h, double sigma, const double *gain, double *w);

#endif
