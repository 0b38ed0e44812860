/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Membership in the certified family {cΓ} or {cΓ + 1bᵀ}, c ≥ 0: exactly, to rounding, and the
 * nearest member.
 *
 * Exactly: with a_j = η_jj − b_j, b_j the common value of the others in column j (0 for RMSNorm),
 * and k the channel of the largest |γ|, a_j γ_k = a_k γ_j for all j, and a_k γ_k ≥ 0. Every product
 * of two doubles is a sum of two, so the difference is a sum of eight, whose sign an expansion
 * gives (Shewchuk 1997): exact unless a product underflows.
 */
#include "dyn/dyn_descent_internal.h"

#include <float.h>
#include <math.h>

/* A sum as components that do not overlap, so that it is zero only if all of them are. */
typedef struct expansion {
    double part[8];
    size_t count;
} expansion;

static void grow(expansion *e, double b)
{
    for (size_t i = 0; i < e->count; i++) {
        const double a = e->part[i];
        const double sum = a + b;
        const double shift = sum - a;
        e->part[i] = (a - (sum - shift)) + (b - shift);
        b = sum;
    }
    e->part[e->count++] = b;
}

/* Adds the product a·b, exactly. */
static void grow_product(expansion *e, double a, double b)
{
    const double product = a * b;
    grow(e, fma(a, b, -product));
    grow(e, product);
}

/* −1, 0 or 1: the sign of the largest component that is not zero. */
static int sign_of(const expansion *e)
{
    for (size_t i = e->count; i-- > 0;) {
        if (e->part[i] != 0) {
            return e->part[i] > 0 ? 1 : -1;
        }
    }
    return 0;
}

/* An entry of column j off the diagonal; 0 for RMSNorm. */
static double other_of(const dyn_descent_system *s, size_t j)
{
    return s->centre && s->width > 1 ? s->eta[(j + 1) % s->width * s->width + j] : 0.0;
}

/* Adds a_j · by, exactly. */
static void grow_diagonal(expansion *e, const dyn_descent_system *s, size_t j, double by)
{
    grow_product(e, s->eta[j * s->width + j], by);
    grow_product(e, -other_of(s, j), by);
}

static size_t largest_gain(const dyn_descent_system *s)
{
    size_t k = 0;
    for (size_t j = 1; j < s->width; j++) {
        k = fabs(s->gamma[j]) > fabs(s->gamma[k]) ? j : k;
    }
    return k;
}

bool dyn_descent_family_holds(const dyn_descent_system *system)
{
    const size_t d = system->width;
    const size_t k = largest_gain(system);
    expansion sign = {.count = 0};
    grow_diagonal(&sign, system, k, system->gamma[k]);
    if (sign_of(&sign) < 0) {
        return false;
    }
    for (size_t j = 0; j < d; j++) {
        const double other = other_of(system, j);
        expansion e = {.count = 0};
        for (size_t i = 0; i < d; i++) {
            if (i != j && system->eta[i * d + j] != other) {
                return false;
            }
        }
        grow_diagonal(&e, system, j, system->gamma[k]);
        grow_diagonal(&e, system, k, -system->gamma[j]);
        if (sign_of(&e) != 0) {
            return false;
        }
    }
    return true;
}

/* Half the sum of the largest and the smallest entry of column j off the diagonal. */
static double middle_of(const dyn_descent_system *s, size_t j)
{
    const size_t d = s->width;
    double low = other_of(s, j);
    double high = low;
    for (size_t i = 0; s->centre && i < d; i++) {
        low = i == j ? low : fmin(low, s->eta[i * d + j]);
        high = i == j ? high : fmax(high, s->eta[i * d + j]);
    }
    return low + 0.5 * (high - low);
}

/* The c that fits the diagonal best, given b. */
static double fit_diagonal(const dyn_descent_system *s)
{
    double above = 0;
    double below = 0;
    for (size_t j = 0; j < s->width; j++) {
        above += s->gamma[j] * (s->eta[j * s->width + j] - middle_of(s, j));
        below += s->gamma[j] * s->gamma[j];
    }
    return above / below;
}

/* Whether the entries of column j off the diagonal are b to rounding. */
static bool column_is_even(const dyn_descent_system *s, size_t j, double b, double unit)
{
    for (size_t i = 0; i < s->width; i++) {
        if (i != j && !(fabs(s->eta[i * s->width + j] - b) <= 2 * unit * fabs(b))) {
            return false;
        }
    }
    return true;
}

/* Every channel admits an interval of c; they must have a c ≥ 0 in common. */
bool dyn_descent_family_nearly(const dyn_descent_system *system)
{
    const double unit = system->unit > 0 ? system->unit : 0.5 * DBL_EPSILON;
    const double c = fit_diagonal(system);
    double low = 0;
    double high = (double)INFINITY;
    for (size_t j = 0; j < system->width; j++) {
        const double b = middle_of(system, j);
        const double gain = system->gamma[j];
        const double entry = system->eta[j * system->width + j] - b;
        const double room = 3 * unit * (fabs(c * gain) + fabs(b));
        if (!column_is_even(system, j, b, unit) || (gain == 0 && !(fabs(entry) <= room))) {
            return false;
        }
        if (gain != 0) {
            low = fmax(low, entry / gain - room / fabs(gain));
            high = fmin(high, entry / gain + room / fabs(gain));
        }
    }
    return low <= high;
}

/* ---- Least squares ------------------------------------------------------------------------- */

/* ‖R − tA‖_F² with A = ΠΓ, in the units of R. */
static double distance_at(const dyn_descent_residual *r, double t)
{
    const size_t d = r->width;
    double sum = 0;
    for (size_t i = 0; i < d; i++) {
        for (size_t j = 0; j < d; j++) {
            const double a =
                r->gamma[j] * ((i == j ? 1.0 : 0.0) - (r->centre ? 1.0 / (double)d : 0.0));
            const double entry = r->r[i * d + j] - t * a;
            sum += entry * entry;
        }
    }
    return sum;
}

/* The offset of the best c from r->c, in units of τ: <R, A>/‖A‖², where <R, A> = Σ γ_j R_jj. */
static double best_offset(const dyn_descent_residual *r)
{
    const size_t d = r->width;
    double above = 0;
    double below = 0;
    for (size_t j = 0; j < d; j++) {
        above += r->gamma[j] * r->r[j * d + j];
        below += r->gamma[j] * r->gamma[j];
    }
    return above / (below * (r->centre ? 1.0 - 1.0 / (double)d : 1.0));
}

void dyn_descent_family_fit(const dyn_descent_system *system, dyn_descent_residual *r,
                            dyn_descent_certificate *out)
{
    const size_t d = r->width;
    double size = 0;
    if (r->tau > 0) {
        const double low = -r->c / r->tau;
        const double offset = fmax(best_offset(r), low);
        out->c = offset > low ? r->c + r->tau * offset : 0.0;
        out->distance = r->tau * sqrt(distance_at(r, offset));
    } else {
        out->c = r->c;
        out->distance = 0;
    }
    for (size_t i = 0; i < d * d; i++) {
        size += r->eta[i] * r->eta[i];
    }
    out->relative_distance = size > 0 ? out->distance / sqrt(size) : 0.0;
    out->distance = ldexp(out->distance, r->eta_shift);
    out->c = ldexp(out->c, r->eta_shift - r->gamma_shift);
    for (size_t j = 0; j < d; j++) {
        double mean = 0;
        for (size_t i = 0; i < d; i++) {
            mean += system->eta[i * d + j] / (double)d;
        }
        out->b[j] = r->centre ? mean - out->c * system->gamma[j] / (double)d : 0.0;
    }
}

void dyn_descent_project(const dyn_descent_system *system, double c, const double *b, double *out)
{
    const size_t d = system->width;
    for (size_t i = 0; i < d; i++) {
        for (size_t j = 0; j < d; j++) {
            out[i * d + j] = (system->centre ? b[j] : 0.0) + (i == j ? c * system->gamma[j] : 0.0);
        }
    }
}
