/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_plane_kinds.h"

#include "dyn/dyn_plane_internal.h"
#include "dyn/dyn_vector.h"
#include "kernels/kern_lapack.h"
#include "kernels/kern_rng.h"
#include "kernels/kern_size.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef kern_status fill_axes(dyn_plane__job *job, double *u, double *v, kern_error *err);

struct dyn_plane_kind {
    const char *name;
    const char *help;
    const char *axes[2];
    size_t least_vectors;
    size_t needs_terms; /* SIZE_MAX: no energy at all */
    fill_axes *fill;
};

/* ---- Random directions -------------------------------------------------------------------- */

static kern_status draw(const dyn_plane *p, uint64_t seed, uint64_t axis, double *v,
                        kern_error *err)
{
    kern_rng *rng = kern_rng_create(seed, "plane", axis);
    if (rng == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a random stream");
    }
    for (size_t i = 0; i < p->size; i++) {
        v[i] = kern_rng_normal(rng);
    }
    kern_rng_destroy(rng);
    dyn_plane_make_tangent(p, v);
    return KERN_OK;
}

static kern_status fill_random(dyn_plane__job *job, double *u, double *v, kern_error *err)
{
    KERN_TRY(draw(job->plane, job->recipe->seed, 0, u, err));
    return draw(job->plane, job->recipe->seed, 1, v, err);
}

/* Every block's part of v gets the length that the block has at the centre, without its mean where
 * the norm takes that away. */
static void scale_blocks(const dyn_plane *p, double *v)
{
    const size_t n = p->block_width;
    for (size_t block = 0; block < p->block_count; block++) {
        const double *c = p->centre + block * n;
        double *part = v + block * n;
        double mean = 0.0;
        double square = 0.0;
        for (size_t i = 0; p->gauge == DYN_GAUGE_SCALE_SHIFT && i < n; i++) {
            mean += c[i] / (double)n;
        }
        for (size_t i = 0; i < n; i++) {
            square += (c[i] - mean) * (c[i] - mean);
        }
        const double length = dyn_vector_norm(part, n);
        for (size_t i = 0; length > 0.0 && i < n; i++) {
            part[i] *= sqrt(square) / length;
        }
    }
}

static kern_status fill_relative(dyn_plane__job *job, double *u, double *v, kern_error *err)
{
    KERN_TRY(fill_random(job, u, v, err));
    scale_blocks(job->plane, u);
    scale_blocks(job->plane, v);
    return KERN_OK;
}

static void keep_block(const dyn_plane *p, double *v, size_t block)
{
    for (size_t i = 0; i < p->size; i++) {
        v[i] = i / p->block_width == block ? v[i] : 0.0;
    }
}

static kern_status fill_tokens(dyn_plane__job *job, double *u, double *v, kern_error *err)
{
    const dyn_plane *p = job->plane;
    const size_t *tokens = job->recipe->tokens;
    for (int i = 0; i < 2; i++) {
        if (tokens[i] >= p->block_count || !p->movable[tokens[i]]) {
            return kern_raise(err, KERN_INVALID_ARGUMENT,
                              "token %zu of the plane is not one of those that may move, of %zu",
                              tokens[i], p->block_count);
        }
    }
    if (tokens[0] == tokens[1]) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "both axes are of token %zu; accepted are two different tokens",
                          tokens[0]);
    }
    KERN_TRY(fill_random(job, u, v, err));
    keep_block(p, u, tokens[0]);
    keep_block(p, v, tokens[1]);
    return KERN_OK;
}

/* ---- Given states and directions ---------------------------------------------------------- */

/* In the chart's own coordinates, in which the plane then passes through the state; where it has
 * none, along the geodesic. */
static void point_at(const dyn_plane *p, const double *x, double *w)
{
    bool has = true;
    dyn_plane_locate(p, x, w);
    for (size_t i = 0; i < p->size; i++) {
        has = has && isfinite(w[i]);
    }
    if (!has) {
        dyn_plane_lift(p, x, w);
    }
}

static kern_status fill_points(dyn_plane__job *job, double *u, double *v, kern_error *err)
{
    (void)err;
    point_at(job->plane, job->recipe->vectors, u);
    point_at(job->plane, job->recipe->vectors + job->plane->size, v);
    return KERN_OK;
}

static kern_status fill_custom(dyn_plane__job *job, double *u, double *v, kern_error *err)
{
    (void)err;
    memcpy(u, job->recipe->vectors, job->plane->size * sizeof *u);
    memcpy(v, job->recipe->vectors + job->plane->size, job->plane->size * sizeof *v);
    return KERN_OK;
}

/* With displacements w_t as rows of W, W Wᵀ = Q Λ Qᵀ and the principal directions are the rows of
 * Λ^−½ Qᵀ W. Their scale is left to the plane. The sign, which eigenvectors do not have, is that in
 * which the trajectory begins. */
static void combine(const dyn_plane *p, const double *w, const double *q, size_t n, double *axis)
{
    const double sign = q[0] < 0.0 ? -1.0 : 1.0;
    memset(axis, 0, p->size * sizeof *axis);
    for (size_t t = 0; t < n; t++) {
        dyn_vector_add(axis, sign * q[t], w + t * p->size, p->size);
    }
}

static kern_status analyse(dyn_plane__job *job, double *w, double *gram, double *values, double *u,
                           double *v, kern_error *err)
{
    const dyn_plane *p = job->plane;
    const size_t n = job->recipe->n_vectors;
    double sum = 0.0;
    for (size_t t = 0; t < n; t++) {
        dyn_plane_lift(p, job->recipe->vectors + t * p->size, w + t * p->size);
        for (size_t s = 0; s <= t; s++) {
            gram[t * n + s] = dyn_plane_product(p, w + t * p->size, w + s * p->size);
        }
    }
    KERN_TRY(kern_lapack_symmetric(n, gram, values, err));
    for (size_t t = 0; t < n; t++) {
        sum += fmax(values[t], 0.0);
    }
    /* Half the digits of the Gram matrix are those of the displacements' lengths. */
    if (!(values[n - 2] > DBL_EPSILON * (double)n * values[n - 1])) {
        return kern_raise(err, KERN_SINGULAR,
                          "the %zu states of the trajectory lie on a line through the centre, so "
                          "its principal directions are no plane",
                          n);
    }
    for (int i = 0; i < 2; i++) {
        const size_t row = n - 1 - (size_t)i;
        combine(p, w, gram + row * n, n, i == 0 ? u : v);
        job->notes->explained[i] = values[row] / sum;
    }
    return KERN_OK;
}

static kern_status fill_pca(dyn_plane__job *job, double *u, double *v, kern_error *err)
{
    const size_t n = job->recipe->n_vectors;
    size_t reals;
    size_t square;
    if (!kern_size_mul(n, job->plane->size, &reals) || !kern_size_mul(n, n + 1, &square) ||
        !kern_size_add(reals, square, &reals)) {
        return kern_raise(err, KERN_OVERFLOW, "a trajectory of %zu states is too long", n);
    }
    double *w = calloc(reals, sizeof *w);
    if (w == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a trajectory of %zu states", n);
    }
    double *gram = w + n * job->plane->size;
    const kern_status status = analyse(job, w, gram, gram + n * n, u, v, err);
    free(w);
    return status;
}

/* ---- Gradients ---------------------------------------------------------------------------- */

/* v = −∇ of a term at the centre. */
static kern_status descend(dyn_plane__job *job, size_t term, double *v, kern_error *err)
{
    const dyn_plane *p = job->plane;
    const dyn_plane_energy *energy = job->recipe->energy;
    energy->gradient(energy->context, term, p->centre, v);
    for (size_t i = 0; i < p->size; i++) {
        v[i] = -v[i] / p->weight[i / p->block_width];
    }
    dyn_plane_make_tangent(p, v);
    return dyn_plane_product(p, v, v) > 0.0
               ? KERN_OK
               : kern_raise(err, KERN_SINGULAR,
                            "the gradient of the energy is zero or not a number at the centre");
}

static kern_status fill_gradient(dyn_plane__job *job, double *u, double *v, kern_error *err)
{
    KERN_TRY(descend(job, DYN_PLANE_ALL_TERMS, u, err));
    return dyn_plane__largest_across(job, u, v, err);
}

static kern_status fill_hessian(dyn_plane__job *job, double *u, double *v, kern_error *err)
{
    return dyn_plane__ends(job, u, v, err);
}

static kern_status fill_terms(dyn_plane__job *job, double *u, double *v, kern_error *err)
{
    KERN_TRY(descend(job, 0, u, err));
    return descend(job, 1, v, err);
}

/* ---- The table ---------------------------------------------------------------------------- */

static const dyn_plane_kind kinds[] = {
    {"random",
     "two random directions",
     {"random direction 1", "random direction 2"},
     0,
     SIZE_MAX,
     fill_random},
    {"relative",
     "random directions whose part in every token has that token's length",
     {"relative random direction 1", "relative random direction 2"},
     0,
     SIZE_MAX,
     fill_relative},
    {"pca", "principal directions of the trajectory", {"PC 1", "PC 2"}, 2, SIZE_MAX, fill_pca},
    {"points",
     "through two more states of the trajectory",
     {"towards the first of them", "towards the second"},
     2,
     SIZE_MAX,
     fill_points},
    {"tokens",
     "a random direction of one token against one of another",
     {"random direction of the first token", "random direction of the second token"},
     0,
     SIZE_MAX,
     fill_tokens},
    {"gradient",
     "steepest descent, and the strongest curvature across it",
     {"steepest descent", "strongest curvature across"},
     0,
     0,
     fill_gradient},
    {"hessian",
     "the least and the largest curvature",
     {"least curvature", "largest curvature"},
     0,
     0,
     fill_hessian},
    {"terms",
     "steepest descents of the energy's two terms",
     {"descent of the first term", "descent of the second term"},
     0,
     2,
     fill_terms},
    {"custom", "two given vectors", {"axis 1", "axis 2"}, 2, SIZE_MAX, fill_custom},
};

size_t dyn_plane_kind_count(void)
{
    return sizeof kinds / sizeof *kinds;
}

const dyn_plane_kind *dyn_plane_kind_at(size_t i)
{
    return &kinds[i];
}

const char *dyn_plane_kind_name(const dyn_plane_kind *kind)
{
    return kind->name;
}

const char *dyn_plane_kind_help(const dyn_plane_kind *kind)
{
    return kind->help;
}

const char *dyn_plane_kind_axis(const dyn_plane_kind *kind, int axis)
{
    return kind->axes[axis];
}

kern_status dyn_plane_kind_find(const dyn_plane_kind **out, const char *name, kern_error *err)
{
    for (size_t i = 0; i < dyn_plane_kind_count(); i++) {
        if (strcmp(kinds[i].name, name) == 0) {
            *out = &kinds[i];
            return KERN_OK;
        }
    }
    return kern_raise(err, KERN_INVALID_ARGUMENT,
                      "\"%.40s\" is no plane; accepted are random, relative, pca, points, tokens, "
                      "gradient, hessian, terms and custom",
                      name);
}

/* ---- Making ------------------------------------------------------------------------------- */

static kern_status check_recipe(const dyn_plane_recipe *r, kern_error *err)
{
    const dyn_plane_kind *k = r->kind;
    if (r->n_vectors < k->least_vectors || (k->least_vectors > 0 && r->vectors == NULL)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a plane of kind %s has %zu vectors to be made of, it needs %zu", k->name,
                          r->n_vectors, k->least_vectors);
    }
    if (k->needs_terms == SIZE_MAX) {
        return KERN_OK;
    }
    if (r->energy == NULL || r->energy->n_terms < k->needs_terms) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          k->needs_terms > 0 ? "a plane of kind %s needs an energy of %zu terms"
                                             : "a plane of kind %s needs the gradient of an energy",
                          k->name, k->needs_terms);
    }
    return KERN_OK;
}

kern_status dyn_plane_make(dyn_plane *plane, const dyn_plane_recipe *recipe, dyn_plane_notes *notes,
                           kern_error *err)
{
    dyn_plane_notes own;
    dyn_plane__job job = {.plane = plane, .recipe = recipe, .notes = notes != NULL ? notes : &own};
    const double none = (double)NAN;
    *job.notes = (dyn_plane_notes){.explained = {none, none},
                                   .curvature = {none, none},
                                   .residual = {none, none},
                                   .status = KERN_OK};
    KERN_TRY(check_recipe(recipe, err));
    double *u = calloc(2 * plane->size, sizeof *u);
    if (u == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for axes of %zu numbers", plane->size);
    }
    double *v = u + plane->size;
    kern_status status = recipe->kind->fill(&job, u, v, err);
    if (status == KERN_OK) {
        status = dyn_plane_set_axes(plane, u, v, recipe->oblique, err);
    }
    free(u);
    return status;
}
