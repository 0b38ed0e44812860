/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "synthetic/syn_gp_score.h"

#include <math.h>

static const syn_gp_span spans[] = {
    {"1-63", 1, 63}, {"8-63", 8, 63}, {"8", 8, 8}, {"16", 16, 16}, {"32", 32, 32}, {"63", 63, 63},
};

const syn_gp_span *syn_gp_span_at(size_t index)
{
    return index < sizeof spans / sizeof spans[0] ? &spans[index] : NULL;
}

/* Mean over sequences of the mean of squared − floor over the span, and its standard error, in one
 * pass (Welford 1962). */
static void pool(double *mean, double *error, const double *squared, const double *floor,
                 size_t sequences, size_t points, const syn_gp_span *span)
{
    double scatter = 0.0;
    *mean = 0.0;
    for (size_t b = 0; b < sequences; b++) {
        double sum = 0.0;
        for (size_t i = b * points + span->first; i <= b * points + span->last; i++) {
            sum += squared[i] - (floor != NULL ? floor[i] : 0.0);
        }
        const double one = sum / (double)(span->last - span->first + 1);
        const double off = one - *mean;
        *mean += off / (double)(b + 1);
        scatter += off * (one - *mean);
    }
    *error = sqrt(scatter / ((double)sequences - 1.0) / (double)sequences);
}

static kern_status score_span(syn_gp_score *score, const double *squared, const double *floor,
                              size_t sequences, size_t points, const syn_gp_span *span,
                              kern_error *err)
{
    double mean;
    double error;
    if (sequences == 0 || span->first > span->last || span->last >= points) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "points %zu to %zu of %zu sequences of %zu points cannot be scored; at "
                          "least one sequence and spans within the points are accepted",
                          span->first, span->last, sequences, points);
    }
    pool(&mean, &error, squared, floor, sequences, points, span);
    score->value = copysign(sqrt(fabs(mean)), mean);
    score->error = error / (2.0 * fabs(score->value));
    return KERN_OK;
}

kern_status syn_gp_score_rms(syn_gp_score *score, const double *squared, size_t sequences,
                             size_t points, const syn_gp_span *span, kern_error *err)
{
    return score_span(score, squared, NULL, sequences, points, span, err);
}

kern_status syn_gp_score_excess(syn_gp_score *score, const double *squared, const double *floor,
                                size_t sequences, size_t points, const syn_gp_span *span,
                                kern_error *err)
{
    return score_span(score, squared, floor, sequences, points, span, err);
}
