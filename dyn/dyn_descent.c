/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_descent.h"

#include "dyn/dyn_descent_internal.h"
#include "dyn/dyn_vector.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* Squares of numbers down to this are not subnormal. */
static const double TAU_MIN = 0x1p-500;

const char *dyn_descent_verdict_word(dyn_descent_verdict verdict)
{
    static const char *const words[DYN_DESCENT_VERDICTS] = {"certified", "within_rounding",
                                                            "violated"};
    return verdict < DYN_DESCENT_VERDICTS ? words[verdict] : "unknown";
}

/* ---- Checks --------------------------------------------------------------------------------- */

static kern_status check_finite(const double *a, size_t n, const char *name, kern_error *err)
{
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(a[i])) {
            return kern_raise(err, KERN_NAN, "entry %zu of %s is not finite", i, name);
        }
    }
    return KERN_OK;
}

kern_status dyn_descent_check(const dyn_descent_system *s, kern_error *err)
{
    if (s->width == 0 || dyn_descent_work_size(s->width) == SIZE_MAX) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "a width of %zu is not accepted", s->width);
    }
    if (!(s->epsilon >= 0) || !isfinite(s->epsilon)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "ε = %g is not accepted, it must be ≥ 0",
                          s->epsilon);
    }
    if (!(s->unit >= 0 && s->unit < 1)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a rounding unit of %g is not accepted, it must be in [0, 1)", s->unit);
    }
    KERN_TRY(check_finite(s->gamma, s->width, "γ", err));
    return check_finite(s->eta, s->width * s->width, "η", err);
}

/* ---- Norms ---------------------------------------------------------------------------------- */

/* ‖η₋‖_F/‖η₊‖_F. */
static double skew_ratio(const double *eta, size_t d)
{
    double plus = 0;
    double minus = 0;
    for (size_t i = 0; i < d; i++) {
        for (size_t j = 0; j < d; j++) {
            const double even = eta[i * d + j] + eta[j * d + i];
            const double odd = eta[i * d + j] - eta[j * d + i];
            plus += even * even;
            minus += odd * odd;
        }
    }
    return minus > 0 ? sqrt(minus / plus) : 0.0;
}

/* ‖Γη‖_F of the scaled arrays. */
static double product_norm(const dyn_descent_residual *r)
{
    double sum = 0;
    for (size_t i = 0; i < r->width; i++) {
        const double row = r->gamma[i] * dyn_vector_norm(r->eta + i * r->width, r->width);
        sum += row * row;
    }
    return sqrt(sum);
}

/* ---- The witness ---------------------------------------------------------------------------- */

double dyn_descent_reject(double *a, const double *n, size_t d)
{
    for (size_t pass = 0; pass < 2; pass++) {
        const double part = dyn_vector_dot(a, n, d);
        for (size_t i = 0; i < d; i++) {
            a[i] -= part * n[i];
        }
    }
    const double length = dyn_vector_norm(a, d);
    for (size_t i = 0; length > 0 && i < d; i++) {
        a[i] /= length;
    }
    return length;
}

void dyn_descent_any_direction(double *a, const double *n, size_t d, bool centre)
{
    size_t least = 0;
    for (size_t i = 0; i < d; i++) {
        a[i] = centre ? -1.0 / (double)d : 0.0;
        least = fabs(n[i]) < fabs(n[least]) ? i : least;
    }
    a[least] += 1;
    (void)dyn_descent_reject(a, n, d);
}

/* The bisector û of p and q into out->x, with n ∝ p/|p| − q/|q| in r->rv: with s = |q| − c|p|,
 * q/|q| − p/|p| = (Rv·τ − s p/|p|)/|q|, in which nothing cancels that is not small anyway. */
static void bisect(dyn_descent_residual *r, double violation_at, dyn_descent_certificate *out)
{
    const size_t d = r->width;
    const double p = dyn_vector_norm(r->p, d);
    const double q = dyn_vector_norm(r->q, d);
    for (size_t i = 0; i < d; i++) {
        r->rv[i] = violation_at * r->p[i] - r->rv[i];
        out->x[i] = r->p[i] / p + (q > 0 ? r->q[i] / q : 0.0);
    }
    const double part = dyn_vector_norm(r->rv, d);
    for (size_t i = 0; i < d; i++) {
        r->rv[i] /= part;
    }
    if (!(dyn_descent_reject(out->x, r->rv, d) > sqrt(DBL_EPSILON))) {
        dyn_descent_any_direction(out->x, r->rv, d, r->centre);
    }
    out->cosine = dyn_vector_dot(r->p, r->q, d) / (p * q);
}

/* The scale of x: sqrt(D) for ε = 0, else such that the 1 − ρ ≤ ε/var left of the dissipation along
 * û, m = (p·q + |p||q|)/2 times it, costs less than V/256. `ratio` is m/V. */
static double scale_of(const dyn_descent_system *s, double ratio)
{
    if (!(s->epsilon > 0)) {
        return sqrt((double)s->width);
    }
    const double variance = s->epsilon * fmax(256 * ratio, 1.0);
    return sqrt((double)s->width * variance);
}

/* From the gradient in out->v; its V, in the units of the scaled system, is `violation`. */
static void build_witness(const dyn_descent_system *s, dyn_descent_residual *r, double violation,
                          dyn_descent_certificate *out)
{
    const size_t d = r->width;
    double at;
    const dyn_descent_cut cut = dyn_descent_residual_apply(r, out->v);
    (void)dyn_descent_residual_violation(r, cut, &at);
    bisect(r, at, out);
    const double both = dyn_vector_norm(r->p, d) * dyn_vector_norm(r->q, d);
    const double along = fmax(both - violation, 0.0); /* (p·q + |p||q|)/2 */
    const double scale = scale_of(s, along / violation);
    for (size_t i = 0; i < d; i++) {
        out->x[i] *= scale;
        out->share[i] = r->rv[i] * r->rv[i];
    }
    out->least_rho = along > 0 ? fmax((both - 2 * violation) / along, 0.0) : 0.0;
}

/* The form at the witness, with which nothing of the search is shared. */
static kern_status confirm(const dyn_descent_system *s, const dyn_descent_residual *r,
                           dyn_descent_certificate *out, kern_error *err)
{
    const double size = dyn_vector_dot(out->v, out->v, s->width);
    const double product = ldexp(product_norm(r), r->gamma_shift + r->eta_shift);
    KERN_TRY(dyn_descent_form(s, out->x, out->v, &out->smallest, &out->error, err));
    out->smallest /= size;
    out->error /= size;
    out->confirmed = out->smallest + out->error < 0;
    out->relative = product > 0 ? out->smallest / product : 0.0;
    return KERN_OK;
}

/* ---- Rank one ------------------------------------------------------------------------------- */

/* P = (1 − ρ)ûûᵀ with one û: the form is (1 − ρ)(a·v)(b·v), a = Γû, b = ηᵀû, least for v along
 * a/|a| − b/|b|, and at x = 0, where ρ = 0, where it is (a·b − |a||b|)/2. */
static kern_status decide_line(const dyn_descent_system *s, dyn_descent_residual *r,
                               dyn_descent_certificate *out, kern_error *err)
{
    const size_t d = s->width;
    const double u[2] = {s->centre ? sqrt(0.5) : 1.0, -sqrt(0.5)};
    for (size_t j = 0; j < d; j++) {
        r->p[j] = u[j] * r->gamma[j];
        r->rv[j] = u[0] * r->r[j] + (s->centre ? u[1] * r->r[d + j] : 0.0);
        r->q[j] = r->c * r->p[j] + r->tau * r->rv[j];
    }
    const dyn_descent_cut cut = {.pp = dyn_vector_dot(r->p, r->p, d),
                                 .rp = dyn_vector_dot(r->rv, r->p, d),
                                 .rr = dyn_vector_dot(r->rv, r->rv, d)};
    double at;
    const double violation = dyn_descent_residual_violation(r, cut, &at);
    for (size_t j = 0; j < d; j++) {
        out->v[j] = at * r->p[j] - r->rv[j];
        out->share[j] = u[j] * u[j];
    }
    const double length = dyn_vector_norm(out->v, d);
    for (size_t j = 0; j < d && length > 0; j++) {
        out->v[j] /= length;
    }
    out->bound = ldexp(violation * r->tau * r->tau, r->gamma_shift + r->eta_shift);
    out->cosine = -1.0;
    return confirm(s, r, out, err);
}

/* ---- The decision --------------------------------------------------------------------------- */

static kern_status decide_plane(const dyn_descent_system *s, dyn_descent_residual *r,
                                dyn_descent_certificate *out, kern_error *err)
{
    dyn_descent_worst worst;
    KERN_TRY(dyn_descent_search(r, out->v, &worst, err));
    const double units = r->tau * r->tau;
    const int shift = r->gamma_shift + r->eta_shift;
    out->iterations = worst.iterations;
    out->gap = 1 - worst.violation / worst.bound;
    out->status = out->gap <= 1e-6 ? KERN_OK : KERN_NOT_CONVERGED;
    out->bound = ldexp(units * worst.bound, shift);
    out->worst_c = ldexp(worst.c, r->eta_shift - r->gamma_shift);
    if (!(worst.violation > 0)) {
        memset(out->v, 0, s->width * sizeof *out->v);
        return KERN_OK;
    }
    build_witness(s, r, units * worst.violation, out);
    return confirm(s, r, out, err);
}

/* A c > 0 to form the residual with: that of least squares, or, where this is not positive or too
 * small for R to be small, the ratio of norms. */
static double first_c(const dyn_descent_residual *r)
{
    const size_t d = r->width;
    double fit = 0;
    const double gamma = dyn_vector_norm(r->gamma, d);
    const double eta = dyn_vector_norm(r->eta, d * d);
    for (size_t j = 0; j < d; j++) {
        double mean = 0;
        for (size_t i = 0; r->centre && i < d; i++) {
            mean += r->eta[i * d + j] / (double)d;
        }
        fit += r->gamma[j] * (r->eta[j * d + j] - mean);
    }
    fit /= gamma * gamma * (r->centre ? 1 - 1.0 / (double)d : 1.0);
    return fit > 1e-3 * eta / gamma ? fit : eta / gamma;
}

static void clear(const dyn_descent_system *s, dyn_descent_certificate *out)
{
    double *const b = out->b;
    double *const x = out->x;
    double *const v = out->v;
    double *const share = out->share;
    double *const all[] = {b, x, v, share};
    *out = (dyn_descent_certificate){.b = b,
                                     .x = x,
                                     .v = v,
                                     .share = share,
                                     .worst_c = (double)NAN,
                                     .cosine = 1,
                                     .skew_ratio = skew_ratio(s->eta, s->width)};
    for (size_t i = 0; i < 4; i++) {
        memset(all[i], 0, s->width * sizeof *all[i]);
    }
}

kern_status dyn_descent_decide(const dyn_descent_system *system, void *work,
                               dyn_descent_certificate *out, kern_error *err)
{
    dyn_descent_residual r;
    KERN_TRY(dyn_descent_check(system, err));
    const size_t rank = system->width - (system->centre ? 1 : 0);
    clear(system, out);
    dyn_descent_residual_init(&r, system, work);
    if (!(dyn_vector_norm(r.gamma, r.width) > 0)) {
        out->ground = DYN_DESCENT_BY_NO_GAIN;
        return KERN_OK;
    }
    if (rank == 0 || (rank == 1 && !(system->epsilon > 0))) {
        out->ground = DYN_DESCENT_BY_NO_MOVE;
        return KERN_OK;
    }
    dyn_descent_residual_fill(&r, first_c(&r));
    dyn_descent_family_fit(system, &r, out);
    if (dyn_descent_family_holds(system)) {
        return KERN_OK;
    }
    out->verdict =
        dyn_descent_family_nearly(system) ? DYN_DESCENT_WITHIN_ROUNDING : DYN_DESCENT_VIOLATED;
    /* A residual along ΠΓ is the rounding of c. */
    if (!(r.tau >= TAU_MIN) || !(ldexp(out->distance, -r.eta_shift) > 1e-8 * r.tau)) {
        return KERN_OK;
    }
    return rank == 1 ? decide_line(system, &r, out, err) : decide_plane(system, &r, out, err);
}

kern_status dyn_descent_bound(const dyn_descent_system *system, double c, void *work, double *bound,
                              kern_error *err)
{
    dyn_descent_residual r;
    KERN_TRY(dyn_descent_check(system, err));
    if (!(c > 0) || !isfinite(c)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "c = %g is not accepted, it must be > 0", c);
    }
    dyn_descent_residual_init(&r, system, work);
    dyn_descent_residual_fill(&r, ldexp(c, r.gamma_shift - r.eta_shift));
    *bound = 0;
    if (r.tau > 0) {
        KERN_TRY(dyn_descent_search_here(&r, bound, err));
        *bound = ldexp(*bound * r.tau * r.tau, r.gamma_shift + r.eta_shift);
    }
    return KERN_OK;
}
