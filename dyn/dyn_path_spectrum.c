/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_path_spectrum.h"

#include <math.h>

/* Enters a multiplier that is `gap` away from a crossing, `outside` or not. */
static void enter(dyn_path_spectrum *s, dyn_path_crossing crossing, double re, double im,
                  double gap, bool outside)
{
    s->outside[crossing] += outside;
    if (fabs(gap) < s->gap[crossing]) {
        s->gap[crossing] = fabs(gap);
        s->re[crossing] = re;
        s->im[crossing] = im;
    }
}

static void fill(dyn_path_spectrum *s, const dyn_multipliers_block *b)
{
    *s = (dyn_path_spectrum){.gap = {(double)INFINITY, (double)INFINITY, (double)INFINITY}};
    s->radius = b->spectral_radius;
    for (size_t j = 0; j < b->n && b->status == KERN_OK; j++) {
        const double re = b->re[j];
        const double im = b->im[j];
        const double modulus = hypot(re, im);
        if (im == 0.0) {
            enter(s, DYN_PATH_FLIP, re, 0.0, re + 1.0, re < -1.0);
            enter(s, DYN_PATH_FOLD, re, 0.0, re - 1.0, re > 1.0);
        } else if (im > 0.0) {
            enter(s, DYN_PATH_PAIR, re, im, modulus - 1.0, modulus > 1.0);
        }
    }
}

kern_status dyn_path_measure(dyn_path_spectrum *out, dyn_map *map, const double *state,
                             size_t block, kern_error *err)
{
    dyn_multipliers_options o = dyn_multipliers_options_default();
    dyn_multipliers m;
    o.horizon = 0;
    o.block = block;
    KERN_TRY(dyn_multipliers_init(&m, map, state, &o, err));
    for (size_t i = 0; i < m.n_blocks; i++) {
        fill(&out[i], &m.blocks[i]);
    }
    dyn_multipliers_fini(&m);
    return KERN_OK;
}

bool dyn_path_is_stable(const dyn_path_spectrum *s)
{
    return s->radius <= 1.0;
}

bool dyn_path_agrees(const dyn_path_spectrum *a, const dyn_path_spectrum *b)
{
    for (size_t k = 0; k < DYN_PATH_CROSSINGS; k++) {
        if (a->outside[k] != b->outside[k]) {
            return false;
        }
    }
    return true;
}

double dyn_path_guess(const dyn_path_spectrum *from, const dyn_path_spectrum *to)
{
    double guess = (double)NAN;
    for (size_t k = 0; k < DYN_PATH_CROSSINGS; k++) {
        const size_t a = from->outside[k];
        const size_t b = to->outside[k];
        if (a == b) {
            continue;
        }
        if (!isnan(guess) || (a + 1 != b && b + 1 != a)) {
            return (double)NAN;
        }
        guess = from->gap[k] / (from->gap[k] + to->gap[k]);
    }
    return guess;
}
