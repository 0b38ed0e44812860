/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A sub-MLP from inside, for the files that follow tokens through several of them.
 */
#ifndef BASIN_MODEL_SUB_PRIVATE_H
#define BASIN_MODEL_SUB_PRIVATE_H

#include "models/model_sub.h"

struct model_sub {
    size_t width;  /* D */
    size_t hidden; /* d_h */
    double alpha;
    double epsilon;
    bool norm_before;
    bool norm_behind;
    double *gate; /* d_h × D, and all that follows: owned, one block */
    double *up;   /* d_h × D */
    double *down; /* D × d_h */
    double *gain; /* D */
    double *n;    /* D: what the projections read */
    double *q;    /* D: what they give */
    double *u;    /* D × d_h */
    double *c;    /* d_h × D */
    double *core; /* d_h × d_h */
    int *pivots;  /* d_h, owned */
};

/* KERN_INVALID_ARGUMENT unless `m` is in double precision and has that sub-MLP. */
kern_status model__sub_check(const model *m, size_t layer, size_t k, kern_error *err);

/* Copies tensor `name`, `count` numbers; ones where the model has none of that name. */
void model__sub_load(double *to, const model *m, const char *name, size_t count);

/* I + C U into the core, with U and C at h in their places; f is left in n. */
void model__sub_make_core(model_sub *s, const double *h);

/* √(mean x² + ε), the norm's denominator. */
double model__sub_rms(const double *x, size_t n, double epsilon);

#endif
