/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/models/ref_nrgpt.h"

#include <math.h>
#include <string.h>

enum { MAX_WIDTH = 64, MAX_TOKENS = 32 };

void ref_nrgpt_embed(const ref_nrgpt *r, const int64_t *idx, double *x)
{
    for (size_t row = 0; row < r->batch * r->tokens; row++) {
        for (size_t i = 0; i < r->width; i++) {
            x[row * r->width + i] = r->embedding[(size_t)idx[row] * r->width + i] +
                                    r->position[row % r->tokens * r->width + i];
        }
    }
}

/* LayerNorm without gain. */
static void normalise(const double *x, size_t d, double *g)
{
    double mean = 0;
    double variance = 0;
    for (size_t i = 0; i < d; i++) {
        mean += x[i] / (double)d;
    }
    for (size_t i = 0; i < d; i++) {
        variance += (x[i] - mean) * (x[i] - mean) / (double)d;
    }
    for (size_t i = 0; i < d; i++) {
        g[i] = (x[i] - mean) / sqrt(variance + 1e-5);
    }
}

/* y = W x. */
static void apply(const double *w, const double *x, size_t rows, size_t cols, double *y)
{
    for (size_t i = 0; i < rows; i++) {
        y[i] = 0;
        for (size_t j = 0; j < cols; j++) {
            y[i] += w[i * cols + j] * x[j];
        }
    }
}

/* −log Σ_{B<A} exp(g_A · H g_B), its gradient added to `gradient`; 0 for the first token. */
static double head_energy(const ref_nrgpt *r, const double *h, const double *g, size_t a,
                          double *gradient)
{
    double keys[MAX_TOKENS][MAX_WIDTH];
    double scores[MAX_TOKENS];
    double largest = -(double)INFINITY;
    double sum = 0;
    if (a == 0) {
        return 0;
    }
    for (size_t b = 0; b < a; b++) {
        apply(h, g + b * r->width, r->width, r->width, keys[b]);
        scores[b] = 0;
        for (size_t i = 0; i < r->width; i++) {
            scores[b] += g[a * r->width + i] * keys[b][i];
        }
        largest = fmax(largest, scores[b]);
    }
    for (size_t b = 0; b < a; b++) {
        sum += exp(scores[b] - largest);
    }
    for (size_t b = 0; b < a; b++) {
        for (size_t i = 0; i < r->width; i++) {
            gradient[i] -= exp(scores[b] - largest) / sum * keys[b][i];
        }
    }
    return -largest - log(sum);
}

/* −|gelu(Wg + b)|², and s times its gradient added to `gradient`. */
static double ff_energy(const ref_nrgpt *r, const double *g, double *gradient)
{
    double energy = 0;
    for (size_t j = 0; j < r->hidden; j++) {
        double z = r->ff_bias[j];
        for (size_t i = 0; i < r->width; i++) {
            z += r->ff[j * r->width + i] * g[i];
        }
        const double below = 0.5 * erfc(-z / sqrt(2.0));
        const double density = exp(-0.5 * z * z) / sqrt(2.0 * 3.14159265358979323846);
        energy -= z * below * z * below;
        for (size_t i = 0; i < r->width; i++) {
            gradient[i] -=
                r->scale_ff * 2 * z * below * (below + z * density) * r->ff[j * r->width + i];
        }
    }
    return energy;
}

void ref_nrgpt_energy(const ref_nrgpt *r, const double *x, double *attention, double *ff,
                      double *gradient)
{
    const size_t d = r->width;
    double g[MAX_TOKENS * MAX_WIDTH];
    memset(gradient, 0, r->batch * r->tokens * d * sizeof *gradient);
    for (size_t s = 0; s < r->batch; s++) {
        for (size_t a = 0; a < r->tokens; a++) {
            const size_t row = s * r->tokens + a;
            normalise(x + row * d, d, g + a * d);
            for (size_t i = 0; i < d; i++) {
                g[a * d + i] += r->norm_bias[i];
            }
            attention[row] = 0;
            for (size_t h = 0; h < REF_HEADS; h++) {
                attention[row] += head_energy(r, r->heads[h], g, a, gradient + row * d);
            }
            ff[row] = ff_energy(r, g + a * d, gradient + row * d);
        }
    }
}

void ref_nrgpt_move(const ref_nrgpt *r, const double *gradient, double *x)
{
    double y[MAX_WIDTH];
    for (size_t row = 0; row < r->batch * r->tokens; row++) {
        apply(r->proj, gradient + row * r->width, r->width, r->width, y);
        for (size_t i = 0; i < r->width; i++) {
            x[row * r->width + i] -= y[i];
        }
    }
}

double ref_nrgpt_read(const ref_nrgpt *r, const double *x, const int64_t *targets, double *logits)
{
    const size_t rows = r->batch * r->tokens;
    double loss = 0;
    for (size_t row = 0; row < rows; row++) {
        double h[MAX_WIDTH];
        double *y = logits + row * r->vocab;
        double sum = 0;
        normalise(x + row * r->width, r->width, h);
        for (size_t i = 0; i < r->width; i++) {
            h[i] = r->final_gain[i] * h[i] + r->final_bias[i];
        }
        apply(r->readout, h, r->vocab, r->width, y);
        for (size_t v = 0; v < r->vocab; v++) {
            y[v] += r->readout_bias[v];
            sum += exp(y[v]);
        }
        loss += (log(sum) - y[targets[row]]) / (double)rows;
    }
    return loss;
}
