/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Ends of the spectrum of an energy's Hessian, by products alone (Lanczos 1950).
 *
 * Vectors are kept in coordinates s = √ω v, in which the plane's product is the plain one, so that
 * the operator W^−½ ∇²E W^−½ is symmetric there. New vectors are made orthogonal to all earlier
 * ones twice, which keeps the basis orthonormal to rounding; where the Krylov space is exhausted,
 * the eigenvalues of its tridiagonal matrix are exact.
 */
#include "dyn/dyn_plane_internal.h"

#include "dyn/dyn_vector.h"
#include "kernels/kern_lapack.h"
#include "kernels/kern_rng.h"
#include "kernels/kern_size.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_STEPS = 200, WORK_VECTORS = 5 };

/* Residual that counts as converged, relative to the largest eigenvalue seen: two decades above
 * the error of a difference of gradients. */
#define CONVERGED 1e-6

typedef struct lanczos {
    const dyn_plane__job *job;
    const dyn_plane *p;
    size_t n;
    size_t steps;       /* room */
    size_t used;        /* vectors of the basis */
    const double *away; /* a unit vector that the operator leaves out, or NULL */
    double *basis;      /* steps × n; owned, with all below */
    double *diagonal;   /* steps */
    double *beside;     /* steps: beside[j] couples vectors j and j + 1 */
    double *values;     /* steps */
    double *ritz;       /* steps × steps */
    double *x, *g, *h, *v, *w;
    double *shift; /* by block: c·∇E/R² on spheres, 0 on flat charts */
} lanczos;

static kern_status lanczos_init(lanczos *l, dyn_plane__job *job, kern_error *err)
{
    const dyn_plane *p = job->plane;
    const size_t wanted =
        job->recipe->lanczos_steps > 0 ? job->recipe->lanczos_steps : DEFAULT_STEPS;
    size_t movable = 0;
    for (size_t block = 0; block < p->block_count; block++) {
        const size_t normal =
            p->radius[block] > 0.0 ? 1 + (p->gauge == DYN_GAUGE_SCALE_SHIFT ? 1 : 0) : 0;
        movable += p->movable[block] && p->block_width > normal ? p->block_width - normal : 0;
    }
    *l = (lanczos){.job = job, .p = p, .n = p->size, .steps = kern_size_min(wanted, movable)};
    size_t reals;
    if (!kern_size_mul(l->steps + WORK_VECTORS, l->n, &reals)) {
        return kern_raise(err, KERN_OVERFLOW, "%zu vectors of %zu numbers are too many", l->steps,
                          l->n);
    }
    const size_t small = l->steps * (l->steps + 3) + p->block_count;
    l->basis = calloc(reals + small + 1, sizeof *l->basis);
    if (l->basis == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu vectors of %zu numbers", l->steps,
                          l->n);
    }
    l->x = l->basis + l->steps * l->n;
    l->g = l->x + l->n;
    l->h = l->g + l->n;
    l->v = l->h + l->n;
    l->w = l->v + l->n;
    l->diagonal = l->w + l->n;
    l->beside = l->diagonal + l->steps;
    l->values = l->beside + l->steps;
    l->ritz = l->values + l->steps;
    l->shift = l->ritz + l->steps * l->steps;
    return KERN_OK;
}

/* ---- The operator ------------------------------------------------------------------------- */

static void gradient(const lanczos *l, const double *x, double *g)
{
    const dyn_plane_energy *energy = l->job->recipe->energy;
    energy->gradient(energy->context, DYN_PLANE_ALL_TERMS, x, g);
}

/* Second derivative along geodesics has a part from their bending, which the gradient sees. */
static void note_bending(lanczos *l)
{
    const dyn_plane *p = l->p;
    gradient(l, p->centre, l->g);
    for (size_t block = 0; block < p->block_count; block++) {
        const size_t at = block * p->block_width;
        const double radius = p->radius[block];
        l->shift[block] = radius > 0.0 ? dyn_vector_dot(p->centre + at, l->g + at, p->block_width) /
                                             (radius * radius)
                                       : 0.0;
    }
}

static void leave_out(const lanczos *l, double *s)
{
    if (l->away != NULL) {
        dyn_vector_add(s, -dyn_vector_dot(l->away, s, l->n), l->away, l->n);
    }
}

/* w = the operator times s. The step of the difference moves the state by about ∛ε of its size. */
static void multiply(const lanczos *l, const double *s, double *w)
{
    const dyn_plane *p = l->p;
    for (size_t i = 0; i < l->n; i++) {
        l->v[i] = s[i] / sqrt(p->weight[i / p->block_width]);
    }
    const double size = dyn_vector_norm(p->centre, l->n);
    const double length = dyn_vector_norm(l->v, l->n);
    const double h = cbrt(DBL_EPSILON) * fmax(1.0, size) / length;
    for (int side = 0; side < 2; side++) {
        memcpy(l->x, p->centre, l->n * sizeof *l->x);
        dyn_vector_add(l->x, side == 0 ? h : -h, l->v, l->n);
        gradient(l, l->x, side == 0 ? l->g : l->h);
    }
    for (size_t i = 0; i < l->n; i++) {
        const size_t block = i / p->block_width;
        w[i] = (l->g[i] - l->h[i]) / (2.0 * h) - l->shift[block] * l->v[i];
    }
    dyn_plane_make_tangent(p, w);
    for (size_t i = 0; i < l->n; i++) {
        w[i] /= sqrt(p->weight[i / p->block_width]);
    }
    leave_out(l, w);
    l->job->notes->products++;
}

/* ---- The iteration ------------------------------------------------------------------------ */

static kern_status start(lanczos *l, double *s, kern_error *err)
{
    kern_rng *rng = kern_rng_create(l->job->recipe->seed, "plane-lanczos", 0);
    if (rng == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a random stream");
    }
    for (size_t i = 0; i < l->n; i++) {
        s[i] = kern_rng_normal(rng);
    }
    kern_rng_destroy(rng);
    dyn_plane_make_tangent(l->p, s);
    leave_out(l, s);
    const double length = dyn_vector_norm(s, l->n);
    for (size_t i = 0; i < l->n; i++) {
        s[i] /= length;
    }
    return length > 0.0 ? KERN_OK
                        : kern_raise(err, KERN_SINGULAR, "there is no direction to look along");
}

/* Eigenpairs of the tridiagonal matrix so far. */
static kern_status solve(lanczos *l, kern_error *err)
{
    const size_t m = l->used;
    memset(l->ritz, 0, m * m * sizeof *l->ritz);
    for (size_t j = 0; j < m; j++) {
        l->ritz[j * m + j] = l->diagonal[j];
        if (j > 0) {
            l->ritz[j * m + j - 1] = l->beside[j - 1];
        }
    }
    return kern_lapack_symmetric(m, l->ritz, l->values, err);
}

/* |H v − λ v| of Ritz pair i is what couples the last vector to the next, times its part in it. */
static double residual_of(const lanczos *l, size_t i)
{
    return fabs(l->beside[l->used - 1] * l->ritz[i * l->used + l->used - 1]);
}

static bool has_converged(const lanczos *l)
{
    const size_t last = l->used - 1;
    const double scale = fmax(fabs(l->values[0]), fabs(l->values[last]));
    return residual_of(l, 0) <= 0.01 * CONVERGED * scale &&
           residual_of(l, last) <= 0.01 * CONVERGED * scale;
}

/* One more vector; *ended when the space is exhausted: what is left is rounding of products. */
static kern_status advance(lanczos *l, bool *ended, kern_error *err)
{
    const size_t j = l->used;
    double *w = l->w;
    multiply(l, l->basis + j * l->n, w);
    const double size = dyn_vector_norm(w, l->n);
    if (!isfinite(size)) {
        return kern_raise(err, KERN_NAN, "a product with the Hessian of the energy is not finite");
    }
    l->diagonal[j] = dyn_vector_dot(w, l->basis + j * l->n, l->n);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i <= j; i++) {
            const double *q = l->basis + i * l->n;
            dyn_vector_add(w, -dyn_vector_dot(w, q, l->n), q, l->n);
        }
    }
    dyn_plane_make_tangent(l->p, w); /* rounding has put a part along the spheres' normals */
    l->beside[j] = dyn_vector_norm(w, l->n);
    l->used++;
    *ended = !(l->beside[j] > 1e-8 * size) || l->used == l->steps;
    for (size_t i = 0; !*ended && i < l->n; i++) {
        l->basis[l->used * l->n + i] = w[i] / l->beside[j];
    }
    return KERN_OK;
}

static kern_status iterate(lanczos *l, kern_error *err)
{
    bool ended = false;
    note_bending(l);
    KERN_TRY(start(l, l->basis, err));
    while (!ended) {
        KERN_TRY(advance(l, &ended, err));
        if (ended || l->used % 8 == 0) {
            KERN_TRY(solve(l, err));
            ended = ended || has_converged(l);
        }
    }
    return KERN_OK;
}

/* ---- Results ------------------------------------------------------------------------------ */

/* Ritz vector i as a direction of the plane's space. Curvature and residual of the axis are those
 * of one more product, not what the tridiagonal matrix promises: where products are noisy it
 * promises too much. */
static void take(const lanczos *l, size_t i, int axis, double *v)
{
    dyn_plane_notes *notes = l->job->notes;
    const double scale = fmax(fabs(l->values[0]), fabs(l->values[l->used - 1]));
    memset(v, 0, l->n * sizeof *v);
    for (size_t j = 0; j < l->used; j++) {
        dyn_vector_add(v, l->ritz[i * l->used + j], l->basis + j * l->n, l->n);
    }
    multiply(l, v, l->w);
    notes->curvature[axis] = dyn_vector_dot(v, l->w, l->n) / dyn_vector_dot(v, v, l->n);
    dyn_vector_add(l->w, -notes->curvature[axis], v, l->n);
    notes->residual[axis] = dyn_vector_norm(l->w, l->n);
    for (size_t k = 0; k < l->n; k++) {
        v[k] /= sqrt(l->p->weight[k / l->p->block_width]);
    }
    if (!(notes->residual[axis] <= CONVERGED * scale)) {
        notes->status = KERN_NOT_CONVERGED;
    }
}

kern_status dyn_plane__ends(dyn_plane__job *job, double *u, double *v, kern_error *err)
{
    lanczos l;
    KERN_TRY(lanczos_init(&l, job, err));
    kern_status status = iterate(&l, err);
    if (status == KERN_OK && l.used < 2) {
        status = kern_raise(err, KERN_SINGULAR,
                            "the Hessian is a multiple of the identity on what may move, so its "
                            "eigenvectors are no plane");
    }
    if (status == KERN_OK) {
        take(&l, 0, 0, u);
        take(&l, l.used - 1, 1, v);
    }
    free(l.basis);
    return status;
}

kern_status dyn_plane__largest_across(dyn_plane__job *job, const double *u, double *v,
                                      kern_error *err)
{
    lanczos l;
    const dyn_plane *p = job->plane;
    KERN_TRY(lanczos_init(&l, job, err));
    double *away = malloc((p->size + 1) * sizeof *away);
    kern_status status =
        away != NULL ? KERN_OK
                     : kern_raise(err, KERN_NO_MEMORY, "no memory for %zu numbers", p->size);
    if (status == KERN_OK) {
        const double length = sqrt(dyn_plane_product(p, u, u));
        for (size_t i = 0; i < p->size; i++) {
            away[i] = u[i] * sqrt(p->weight[i / p->block_width]) / length;
        }
        l.away = away;
        status = iterate(&l, err);
    }
    if (status == KERN_OK) {
        const size_t last = l.used - 1;
        take(&l, fabs(l.values[0]) > fabs(l.values[last]) ? 0 : last, 1, v);
    }
    free(away);
    free(l.basis);
    return status;
}
