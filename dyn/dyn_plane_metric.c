/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Lengths and their change over a chart. Axis k has the derivative s_k of s in a block, and the
 * block the products m of the axes; what dyn_plane_chart.h says of the first fundamental form G
 * gives, with ∂_k s_i = 2 m_ik/R² and h′ as there,
 *
 *   ½(∂_i G_jk + ∂_j G_ik − ∂_k G_ij)
 *     = ½ Q′ (s_i m_jk + s_j m_ik − s_k m_ij) + ½ R² h′ s_i s_j s_k + 2 h m_ij s_k,
 *
 * the Christoffel symbols of the first kind, of which a block gives ω times this.
 */
#include "dyn/dyn_plane_chart.h"

#include <math.h>

enum { AXES = 2, PAIRS = 3, BLOCK_PRODUCTS = 3 };

/* Place of a pair of axes among aa, ab, bb. */
static int pair_of(int i, int j)
{
    return i + j;
}

/* A block's share of G and of the symbols of the first kind, by axis k. */
static void add_block(const dyn_plane *p, size_t block, double a, double b, double gram[PAIRS],
                      double first[AXES][PAIRS])
{
    const double *m = p->products + BLOCK_PRODUCTS * block;
    const double square = p->radius[block] * p->radius[block];
    const double w[AXES] = {a * m[0] + b * m[1], a * m[1] + b * m[2]};
    const double slope[AXES] = {2.0 * w[0] / square, 2.0 * w[1] / square};
    dyn_plane_chart_form f;
    dyn_plane_chart_at(p->chart)->form(fmax(a * w[0] + b * w[1], 0.0) / square, &f);
    for (int i = 0; i < AXES; i++) {
        for (int j = i; j < AXES; j++) {
            const double ij = m[pair_of(i, j)];
            gram[pair_of(i, j)] +=
                p->weight[block] * (f.across * ij + square * f.along * slope[i] * slope[j]);
            for (int k = 0; k < AXES; k++) {
                const double turn =
                    slope[i] * m[pair_of(j, k)] + slope[j] * m[pair_of(i, k)] - slope[k] * ij;
                const double stretch = square * f.along_slope * slope[i] * slope[j] * slope[k];
                first[k][pair_of(i, j)] +=
                    p->weight[block] *
                    (0.5 * f.across_slope * turn + 0.5 * stretch + 2.0 * f.along * ij * slope[k]);
            }
        }
    }
}

void dyn_plane_measure(const dyn_plane *plane, double a, double b, dyn_plane_metric *metric)
{
    double first[AXES][PAIRS] = {{0.0}};
    double *g = metric->gram;
    if (!dyn_plane_chart_is_curved(plane->chart)) {
        *metric = (dyn_plane_metric){.gram = {plane->gram[0], plane->gram[1], plane->gram[2]}};
        return;
    }
    *metric = (dyn_plane_metric){.gram = {0.0}};
    for (size_t block = 0; block < plane->block_count; block++) {
        if (plane->moves[block]) {
            add_block(plane, block, a, b, g, first);
        }
    }
    const double det = g[0] * g[2] - g[1] * g[1];
    for (int ij = 0; ij < PAIRS; ij++) {
        metric->bend[0][ij] = (g[2] * first[0][ij] - g[1] * first[1][ij]) / det;
        metric->bend[1][ij] = (g[0] * first[1][ij] - g[1] * first[0][ij]) / det;
    }
}
