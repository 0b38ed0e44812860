/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * norm-monotone: the lemma behind every statement on step sizes.
 *
 * With u = x (RMSNorm) or x − mean(x)·1 (LayerNorm), σ = sqrt(|u|²/D + ε) and x̂ = u/σ,
 *   (x′ − x)·(x̂′ − x̂) − ((σ + σ′)/2)|x̂′ − x̂|² = ((σ′ − σ)/2)(|x̂′|² − |x̂|²) ≥ 0,
 * since |x̂|² = D(1 − ε/σ²) grows with σ; equality at ε = 0, so that the constant cannot be better.
 *
 * Rounding. A sum of n products is off by at most n·u times the sum of magnitudes, u the unit
 * roundoff (N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 3.1). With
 * c = D + 8: the mean is subtracted with an error of c·u|x|, however small what remains, so σ is
 * off by c·u(|x| + σ) and x̂ by e = c·u(|x|/σ + |x̂|). To first order and with the square of e, which
 * counts where a state is nearly constant, the two sides are off by no more than
 *   (|x′ − x| + (σ + σ′)|x̂′ − x̂|)(e + e′) + ½(σ + σ′)(e + e′)² + ½c·u(|x| + |x′| + σ + σ′)|x̂′ − x̂|²
 *   + c·u(|x′ − x|(|x̂| + |x̂′|) + ½(σ + σ′)(|x̂|² + |x̂′|²)),
 * and the tolerance is twice that.
 */
#include "models/verify/verify_table.h"

#include "dyn/dyn_vector.h"

#include <float.h>
#include <math.h>

static const char *const norms[] = {"layernorm", "rmsnorm", NULL};

enum { WIDTH_MIN = 2, WIDTH_MAX = 16 };

static kern_status draw(const verify_subject *subject, kern_rng *rng, size_t trial,
                        verify_work *work, verify_record *record, kern_error *err)
{
    static const double epsilons[] = {0.0, 1e-5, 0.5};
    const size_t d = WIDTH_MIN + kern_rng_below(rng, WIDTH_MAX - WIDTH_MIN + 1);
    double *x = NULL;
    double *y = NULL;
    (void)subject;
    (void)work;
    KERN_TRY(verify_record_put_word(record, "norm", norms[trial % 2], err));
    KERN_TRY(verify_record_put_number(record, "epsilon", epsilons[trial / 2 % 3], err));
    KERN_TRY(verify_record_put_number(record, "width", (double)d, err));
    KERN_TRY(verify_record_put(record, "x", 1, d, &x, err));
    KERN_TRY(verify_record_put(record, "x_next", 1, d, &y, err));
    const double mean = 10.0 * (2.0 * kern_rng_uniform(rng) - 1.0);
    const double scale = exp(4.0 * kern_rng_uniform(rng) - 2.0);
    const double step = pow(10.0, 4.0 * kern_rng_uniform(rng) - 3.0);
    for (size_t i = 0; i < d; i++) {
        x[i] = scale * (mean + kern_rng_normal(rng));
        y[i] = x[i] + scale * step * kern_rng_normal(rng);
    }
    return KERN_OK;
}

/* x̂ into `unit`, and σ. */
static double normalise(const double *x, size_t d, bool centre, double epsilon, double *unit)
{
    double mean = 0.0;
    double square = 0.0;
    for (size_t i = 0; i < d && centre; i++) {
        mean += x[i] / (double)d;
    }
    for (size_t i = 0; i < d; i++) {
        square += (x[i] - mean) * (x[i] - mean);
    }
    const double sigma = sqrt(square / (double)d + epsilon);
    for (size_t i = 0; i < d; i++) {
        unit[i] = (x[i] - mean) / sigma;
    }
    return sigma;
}

static double distance(const double *x, const double *y, size_t d)
{
    double square = 0.0;
    for (size_t i = 0; i < d; i++) {
        square += (y[i] - x[i]) * (y[i] - x[i]);
    }
    return sqrt(square);
}

static kern_status check(const verify_record *record, verify_work *work, verify_outcome *outcome,
                         kern_error *err)
{
    size_t d = 0;
    size_t norm = 0;
    double epsilon = 0.0;
    const double *x = NULL;
    const double *y = NULL;
    double *xn = NULL;
    double *yn = NULL;
    KERN_TRY(verify_record_get_size(record, "width", 1, VERIFY_SIZE_MAX, &d, err));
    KERN_TRY(verify_record_get_word(record, "norm", norms, &norm, err));
    KERN_TRY(verify_record_get_number(record, "epsilon", &epsilon, err));
    KERN_TRY(verify_record_get(record, "x", 1, d, &x, err));
    KERN_TRY(verify_record_get(record, "x_next", 1, d, &y, err));
    KERN_TRY(verify_work_take(work, d, &xn, err));
    KERN_TRY(verify_work_take(work, d, &yn, err));
    const double sx = normalise(x, d, norm == 0, epsilon, xn);
    const double sy = normalise(y, d, norm == 0, epsilon, yn);
    const double a = dyn_vector_norm(xn, d);
    const double b = dyn_vector_norm(yn, d);
    double moved = 0.0;
    double turned = 0.0;
    for (size_t i = 0; i < d; i++) {
        moved += (y[i] - x[i]) * (yn[i] - xn[i]);
        turned += (yn[i] - xn[i]) * (yn[i] - xn[i]);
    }
    outcome->left = 0.5 * (sx + sy) * turned;
    outcome->right = moved;
    outcome->scale = 0.5 * (sx + sy) * (a * a + b * b);
    const double unit = ((double)d + 8.0) * DBL_EPSILON; /* twice c·u */
    const double off = unit * (dyn_vector_norm(x, d) / sx + a + dyn_vector_norm(y, d) / sy + b);
    const double size = dyn_vector_norm(x, d) + dyn_vector_norm(y, d) + sx + sy;
    const double gap = distance(x, y, d);
    outcome->tolerance = (gap + (sx + sy) * sqrt(turned)) * off + 0.5 * (sx + sy) * off * off +
                         0.5 * unit * size * turned + unit * (gap * (a + b) + outcome->scale);
    return KERN_OK;
}

const verify_claim verify_norm_monotone = {
    .name = "norm-monotone",
    .kind = VERIFY_THEOREM,
    .needs = VERIFY_RANDOM,
    .statement = "For LayerNorm and RMSNorm with any epsilon >= 0 and any two states with sigma > "
                 "0, (x' - x).(xn' - xn) >= ((sigma + sigma')/2) |xn' - xn|^2, xn the normalised "
                 "state without gain and bias.",
    .source = "docs/theory.md, section 2: the normaliser is the gradient of a convex function",
    .measured = "left: ((sigma + sigma')/2) |xn' - xn|^2; right: (x' - x).(xn' - xn)",
    .trials = 100000,
    .draw = draw,
    .check = check,
};
