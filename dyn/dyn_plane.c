/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_plane.h"

#include "dyn/dyn_plane_chart.h"
#include "dyn/dyn_vector.h"
#include "kernels/kern_size.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Numbers and flags that a block has besides its coordinates. */
enum { BLOCK_REALS = 5, BLOCK_PRODUCTS = 3 };

const char *dyn_plane_norm_word(dyn_plane_norm norm)
{
    static const char *const words[] = {[DYN_PLANE_EUCLIDEAN] = "euclidean",
                                        [DYN_PLANE_RMS] = "rms",
                                        [DYN_PLANE_RELATIVE] = "relative"};
    return (unsigned)norm < DYN_PLANE_NORM_COUNT ? words[norm] : NULL;
}

/* Whether blocks stay on their spheres. */
static bool is_curved(const dyn_plane *p)
{
    return dyn_plane_chart_is_curved(p->chart);
}

/* ---- Vectors ------------------------------------------------------------------------------ */

static double *block_of(const dyn_plane *p, double *x, size_t block)
{
    return x + block * p->block_width;
}

static const double *block_in(const dyn_plane *p, const double *x, size_t block)
{
    return x + block * p->block_width;
}

static double block_dot(const dyn_plane *p, const double *v, const double *w, size_t block)
{
    return dyn_vector_dot(block_in(p, v, block), block_in(p, w, block), p->block_width);
}

double dyn_plane_product(const dyn_plane *plane, const double *v, const double *w)
{
    double sum = 0.0;
    for (size_t block = 0; block < plane->block_count; block++) {
        sum += plane->weight[block] * block_dot(plane, v, w, block);
    }
    return sum;
}

static void take_mean_away(double *x, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += x[i];
    }
    for (size_t i = 0; i < n; i++) {
        x[i] -= sum / (double)n;
    }
}

static bool all_finite(const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(x[i])) {
            return false;
        }
    }
    return true;
}

/* ---- Creation ----------------------------------------------------------------------------- */

static kern_status reserve(dyn_plane *p, kern_error *err)
{
    size_t reals;
    size_t extra;
    if (!kern_size_mul(p->block_count, p->block_width, &p->size) ||
        !kern_size_mul(p->size, 4, &reals) || !kern_size_mul(p->block_count, BLOCK_REALS, &extra) ||
        !kern_size_add(reals, extra, &reals)) {
        return kern_raise(err, KERN_OVERFLOW,
                          "a plane among %zu blocks of %zu numbers is too large", p->block_count,
                          p->block_width);
    }
    p->centre = calloc(reals + 1, sizeof *p->centre);
    p->movable = calloc(2 * p->block_count + 1, sizeof *p->movable);
    if (p->centre == NULL || p->movable == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a plane among %zu numbers", p->size);
    }
    p->axes[0] = p->centre + p->size;
    p->axes[1] = p->axes[0] + p->size;
    p->work = p->axes[1] + p->size;
    p->weight = p->work + p->size;
    p->radius = p->weight + p->block_count;
    p->products = p->radius + p->block_count;
    p->moves = p->movable + p->block_count;
    return KERN_OK;
}

static kern_status choose_movable(dyn_plane *p, const dyn_plane_frame *frame, kern_error *err)
{
    for (size_t i = 0; i < (frame->movable != NULL ? frame->n_movable : p->block_count); i++) {
        const size_t block = frame->movable != NULL ? frame->movable[i] : i;
        if (block >= p->block_count) {
            return kern_raise(err, KERN_INVALID_ARGUMENT, "token %zu is not within 0 to %zu", block,
                              p->block_count - 1);
        }
        p->movable[block] = true;
    }
    return KERN_OK;
}

/* The size of a block's centre, without its mean where the norm does not see that. What is left of
 * a constant block is rounding of its mean, which has no direction either. */
static kern_status measure_block(dyn_plane *p, size_t block, double *size, kern_error *err)
{
    double *c = block_of(p, p->work, block);
    memcpy(c, block_in(p, p->centre, block), p->block_width * sizeof *c);
    const double whole = dyn_vector_norm(c, p->block_width);
    if (p->gauge == DYN_GAUGE_SCALE_SHIFT) {
        take_mean_away(c, p->block_width);
    }
    *size = dyn_vector_norm(c, p->block_width);
    if (!(*size > 4.0 * DBL_EPSILON * whole)) {
        return kern_raise(
            err, KERN_INVALID_ARGUMENT,
            "token %zu is %s at the centre and has no direction; accepted there are a "
            "flat chart with euclidean or rms lengths",
            block, whole > 0.0 ? "constant" : "zero");
    }
    return KERN_OK;
}

static kern_status measure_blocks(dyn_plane *p, kern_error *err)
{
    for (size_t block = 0; block < p->block_count; block++) {
        double size = 1.0;
        const bool wanted = is_curved(p) || p->norm == DYN_PLANE_RELATIVE;
        if (wanted && p->movable[block]) {
            KERN_TRY(measure_block(p, block, &size, err));
        }
        p->weight[block] = p->norm == DYN_PLANE_RMS        ? 1.0 / (double)p->block_width
                           : p->norm == DYN_PLANE_RELATIVE ? 1.0 / (size * size)
                                                           : 1.0;
        if (is_curved(p) && p->movable[block]) {
            memcpy(block_of(p, p->centre, block), block_of(p, p->work, block),
                   p->block_width * sizeof *p->centre);
            p->radius[block] = size;
        }
    }
    return KERN_OK;
}

static kern_status build(dyn_plane *p, const dyn_plane_frame *frame, kern_error *err)
{
    if ((unsigned)frame->chart >= DYN_PLANE_CHART_COUNT ||
        (unsigned)frame->norm >= DYN_PLANE_NORM_COUNT || frame->block_count == 0 ||
        frame->block_width == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "chart %d and norm %d among %zu blocks of %zu numbers are no plane",
                          (int)frame->chart, (int)frame->norm, frame->block_count,
                          frame->block_width);
    }
    KERN_TRY(reserve(p, err));
    KERN_TRY(choose_movable(p, frame, err));
    if (!all_finite(frame->centre, p->size)) {
        return kern_raise(err, KERN_NAN, "the centre of a plane is not finite");
    }
    memcpy(p->centre, frame->centre, p->size * sizeof *p->centre);
    return measure_blocks(p, err);
}

kern_status dyn_plane_create(dyn_plane **out, const dyn_plane_frame *frame, kern_error *err)
{
    *out = NULL;
    dyn_plane *p = calloc(1, sizeof *p);
    if (p == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a plane");
    }
    p->block_count = frame->block_count;
    p->block_width = frame->block_width;
    p->gauge = frame->gauge;
    p->chart = frame->chart;
    p->norm = frame->norm;
    const kern_status status = build(p, frame, err);
    if (status != KERN_OK) {
        dyn_plane_destroy(p);
        return status;
    }
    *out = p;
    return KERN_OK;
}

void dyn_plane_destroy(dyn_plane *plane)
{
    if (plane != NULL) {
        free(plane->centre);
        free(plane->movable);
        free(plane);
    }
}

/* ---- Axes --------------------------------------------------------------------------------- */

/* Zeros in the blocks that may not move. */
static void hold_blocks(const dyn_plane *p, double *v)
{
    for (size_t block = 0; block < p->block_count; block++) {
        if (!p->movable[block]) {
            memset(block_of(p, v, block), 0, p->block_width * sizeof *v);
        }
    }
}

void dyn_plane_make_tangent(const dyn_plane *plane, double *v)
{
    hold_blocks(plane, v);
    for (size_t block = 0; block < plane->block_count; block++) {
        double *part = block_of(plane, v, block);
        if (plane->movable[block] && is_curved(plane)) {
            const double *c = block_in(plane, plane->centre, block);
            const double square = plane->radius[block] * plane->radius[block];
            if (plane->gauge == DYN_GAUGE_SCALE_SHIFT) {
                take_mean_away(part, plane->block_width);
            }
            for (int pass = 0; pass < 2; pass++) { /* the second removes the first one's rounding */
                dyn_vector_add(part, -dyn_vector_dot(part, c, plane->block_width) / square, c,
                               plane->block_width);
            }
        }
    }
}

static void scale(double *v, double factor, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        v[i] *= factor;
    }
}

/* A direction that the plane's space has nothing of leaves rounding behind, not zeros: it is
 * measured against what was given in the blocks that may move. */
static kern_status take_axis(dyn_plane *p, int which, const double *given, double *length,
                             kern_error *err)
{
    const char *where = is_curved(p) ? " and along their spheres" : "";
    double *axis = p->axes[which];
    if (!all_finite(given, p->size)) {
        return kern_raise(err, KERN_NAN, "axis %d of a plane is not finite", which + 1);
    }
    memcpy(axis, given, p->size * sizeof *axis);
    hold_blocks(p, axis);
    const double whole = sqrt(dyn_plane_product(p, axis, axis));
    dyn_plane_make_tangent(p, axis);
    *length = sqrt(dyn_plane_product(p, axis, axis));
    if (!(whole > 0.0) || !isfinite(*length)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "axis %d of the plane is %s in the tokens that may move", which + 1,
                          whole > 0.0 ? "too long" : "zero");
    }
    if (!(*length > sqrt(DBL_EPSILON) * whole)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "axis %d of the plane is only rounding in the tokens that may move%s: "
                          "%.2g of its length is left, accepted is more than %.2g",
                          which + 1, where, *length / whole, sqrt(DBL_EPSILON));
    }
    return KERN_OK;
}

/* Unit axes in place; *sine of the angle between them by what is left of the second. */
static void orthonormalise(dyn_plane *p, const double length[2], double *sine)
{
    double *u = p->axes[0];
    double *v = p->axes[1];
    scale(u, 1.0 / length[0], p->size);
    scale(v, 1.0 / length[1], p->size);
    const double cosine = dyn_plane_product(p, u, v);
    for (int pass = 0; pass < 2; pass++) {
        dyn_vector_add(v, -dyn_plane_product(p, u, v), u, p->size);
    }
    *sine = sqrt(dyn_plane_product(p, v, v));
    p->angle = atan2(*sine, cosine);
}

static void note_products(dyn_plane *p)
{
    const double *u = p->axes[0];
    const double *v = p->axes[1];
    p->gram[0] = dyn_plane_product(p, u, u);
    p->gram[1] = dyn_plane_product(p, u, v);
    p->gram[2] = dyn_plane_product(p, v, v);
    for (size_t block = 0; block < p->block_count; block++) {
        double *three = p->products + BLOCK_PRODUCTS * block;
        three[0] = block_dot(p, u, u, block);
        three[1] = block_dot(p, u, v, block);
        three[2] = block_dot(p, v, v, block);
        p->moves[block] = three[0] > 0.0 || three[2] > 0.0;
    }
}

kern_status dyn_plane_set_axes(dyn_plane *plane, const double *u, const double *v, bool oblique,
                               kern_error *err)
{
    double length[2];
    double sine;
    KERN_TRY(take_axis(plane, 0, u, &length[0], err));
    KERN_TRY(take_axis(plane, 1, v, &length[1], err));
    orthonormalise(plane, length, &sine);
    if (!(sine > sqrt(DBL_EPSILON))) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the axes of the plane are parallel: the sine of their angle is %.2g, "
                          "accepted is more than %.2g",
                          sine, sqrt(DBL_EPSILON));
    }
    plane->oblique = oblique;
    if (oblique) {
        memcpy(plane->axes[0], u, plane->size * sizeof *u);
        memcpy(plane->axes[1], v, plane->size * sizeof *v);
        dyn_plane_make_tangent(plane, plane->axes[0]);
        dyn_plane_make_tangent(plane, plane->axes[1]);
    } else {
        scale(plane->axes[1], 1.0 / sine, plane->size);
        dyn_plane_make_tangent(plane, plane->axes[1]); /* what rounding has brought in */
    }
    note_products(plane);
    return KERN_OK;
}

/* ---- Points ------------------------------------------------------------------------------- */

/* s = |w|²/R² of a block that moves on a sphere. */
static double square_of(const dyn_plane *p, size_t block, double a, double b)
{
    const double *m = p->products + BLOCK_PRODUCTS * block;
    const double square = a * a * m[0] + 2.0 * a * b * m[1] + b * b * m[2];
    return fmax(square, 0.0) / (p->radius[block] * p->radius[block]);
}

/* The largest s of a block; 0 on flat charts. */
static double largest_square(const dyn_plane *p, double a, double b)
{
    double most = 0.0;
    for (size_t block = 0; is_curved(p) && block < p->block_count; block++) {
        const double s = p->moves[block] ? square_of(p, block, a, b) : 0.0;
        most = s <= most ? most : s; /* NaN stays */
    }
    return most;
}

bool dyn_plane_has(const dyn_plane *plane, double a, double b)
{
    const double edge = dyn_plane_chart_at(plane->chart)->edge;
    const double s = largest_square(plane, a, b);
    return isfinite(a) && isfinite(b) && isfinite(s) && s <= edge * edge;
}

double dyn_plane_rim(const dyn_plane *plane, double a, double b)
{
    return dyn_plane_chart_at(plane->chart)->edge / sqrt(largest_square(plane, a, b));
}

void dyn_plane_weights(const dyn_plane *plane, size_t block, double a, double b, double k[3])
{
    k[0] = 1.0;
    k[1] = a;
    k[2] = b;
    if (is_curved(plane) && plane->moves[block]) {
        double q;
        dyn_plane_chart_at(plane->chart)->weights(square_of(plane, block, a, b), &k[0], &q);
        k[1] *= q;
        k[2] *= q;
    }
}

void dyn_plane_point(const dyn_plane *plane, double a, double b, double *x)
{
    const bool has = dyn_plane_has(plane, a, b);
    for (size_t block = 0; block < plane->block_count; block++) {
        double k[3];
        dyn_plane_weights(plane, block, a, b, k);
        for (size_t i = block * plane->block_width; i < (block + 1) * plane->block_width; i++) {
            const double moved =
                k[0] * plane->centre[i] + k[1] * plane->axes[0][i] + k[2] * plane->axes[1][i];
            x[i] = !has ? (double)NAN : plane->moves[block] ? moved : plane->centre[i];
        }
    }
}

double dyn_plane_angle(const dyn_plane *plane, double a, double b)
{
    double angle = dyn_plane_has(plane, a, b) ? 0.0 : (double)NAN;
    for (size_t block = 0; is_curved(plane) && block < plane->block_count; block++) {
        double k[3];
        dyn_plane_weights(plane, block, a, b, k);
        angle = plane->moves[block] && !(acos(k[0]) <= angle) ? acos(k[0]) : angle;
    }
    return angle;
}

/* Makes w the part of itself across the block's centre, `reach` long, where `inverse` says how far
 * that is in units of the radius. */
static void lift_block(const dyn_plane *p, size_t block, const dyn_plane_chart_kind *chart,
                       double *w)
{
    const size_t n = p->block_width;
    const double *c = block_in(p, p->centre, block);
    const double radius = p->radius[block];
    if (p->gauge == DYN_GAUGE_SCALE_SHIFT) {
        take_mean_away(w, n);
    }
    const double whole = dyn_vector_norm(w, n);
    const double along = dyn_vector_dot(w, c, n) / radius;
    dyn_vector_add(w, -along / radius, c, n);
    dyn_vector_add(w, -dyn_vector_dot(w, c, n) / (radius * radius), c, n);
    const double across = dyn_vector_norm(w, n);
    const double reach = radius * chart->inverse(along, across, (double)n * DBL_EPSILON * whole);
    scale(w, across > 0.0 ? reach / across : 0.0 * reach, n);
}

static void lift(const dyn_plane *plane, const dyn_plane_chart_kind *chart, const double *x,
                 double *w)
{
    for (size_t block = 0; block < plane->block_count; block++) {
        double *part = block_of(plane, w, block);
        const double *from = block_in(plane, x, block);
        if (!plane->movable[block]) {
            memset(part, 0, plane->block_width * sizeof *part);
            continue;
        }
        memmove(part, from, plane->block_width * sizeof *part);
        if (chart->inverse != NULL) {
            lift_block(plane, block, chart, part);
        } else {
            dyn_vector_add(part, -1.0, block_in(plane, plane->centre, block), plane->block_width);
        }
    }
}

void dyn_plane_lift(const dyn_plane *plane, const double *x, double *w)
{
    lift(plane, dyn_plane_chart_at(is_curved(plane) ? DYN_PLANE_SPHERE : plane->chart), x, w);
}

void dyn_plane_locate(const dyn_plane *plane, const double *x, double *w)
{
    lift(plane, dyn_plane_chart_at(plane->chart), x, w);
}

/* Distance over the blocks that are held. */
static double held_distance(const dyn_plane *p, const double *x)
{
    double sum = 0.0;
    for (size_t block = 0; block < p->block_count; block++) {
        const double *from = block_in(p, x, block);
        const double *c = block_in(p, p->centre, block);
        for (size_t i = 0; !p->movable[block] && i < p->block_width; i++) {
            sum += p->weight[block] * (from[i] - c[i]) * (from[i] - c[i]);
        }
    }
    return sqrt(sum);
}

void dyn_plane_project(dyn_plane *plane, const double *x, dyn_plane_shadow *shadow)
{
    const double *g = plane->gram;
    double *w = plane->work;
    shadow->held = held_distance(plane, x);
    dyn_plane_locate(plane, x, w);
    shadow->distance = sqrt(dyn_plane_product(plane, w, w));
    const double p = dyn_plane_product(plane, w, plane->axes[0]);
    const double q = dyn_plane_product(plane, w, plane->axes[1]);
    const double det = g[0] * g[2] - g[1] * g[1];
    shadow->a = (g[2] * p - g[1] * q) / det;
    shadow->b = (g[0] * q - g[1] * p) / det;
    dyn_vector_add(w, -shadow->a, plane->axes[0], plane->size);
    dyn_vector_add(w, -shadow->b, plane->axes[1], plane->size);
    shadow->residual = sqrt(dyn_plane_product(plane, w, w));
}
