/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_contour.h"

#include "kernels/kern_size.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Vertices asked for at a time, and false positions before a vertex is given up: bisection, to
 * which false position falls back, halves an edge to nothing in fewer. */
enum { BATCH = 256, REFINE_STEPS = 60 };

#define DEFAULT_TOLERANCE 2.5e-7

#define NOBODY UINT32_MAX

/* A vertex on the edge from node `from` to the node behind it along x or y. */
typedef struct vertex {
    size_t edge;
    double t;         /* place on the edge, 0 … 1 */
    double low, high; /* bracket of t */
    double f_low, f_high;
    uint32_t next, previous;
    bool taken;
} vertex;

typedef struct tracer {
    const viz_lattice *lattice;
    const double *values;
    const viz_contour_options *o;
    viz_contours *out;
    size_t edges;     /* 2 × nx × ny; edge e < nx·ny runs along x from node e, others along y */
    uint32_t *at;     /* by edge: its vertex, or NOBODY; owned, as below */
    vertex *vertices; /* of one level */
    size_t n, room;
    size_t n_points, points_room; /* of out */
    size_t lines_room;
    double range;
    double level;
} tracer;

/* ---- Lattice ------------------------------------------------------------------------------ */

static double node_x(const viz_lattice *l, size_t i)
{
    return l->x0 + (double)i * (l->x1 - l->x0) / (double)(l->nx - 1);
}

static double node_y(const viz_lattice *l, size_t j)
{
    return l->y0 + (double)j * (l->y1 - l->y0) / (double)(l->ny - 1);
}

/* Nodes at the ends of an edge. */
static void ends_of(const tracer *t, size_t edge, size_t nodes[2])
{
    const size_t total = t->lattice->nx * t->lattice->ny;
    nodes[0] = edge % total;
    nodes[1] = nodes[0] + (edge < total ? 1 : t->lattice->nx);
}

static void place_of(const tracer *t, size_t edge, double at, double *x, double *y)
{
    const viz_lattice *l = t->lattice;
    size_t nodes[2];
    ends_of(t, edge, nodes);
    const double ax = node_x(l, nodes[0] % l->nx);
    const double ay = node_y(l, nodes[0] / l->nx);
    *x = ax + at * (node_x(l, nodes[1] % l->nx) - ax);
    *y = ay + at * (node_y(l, nodes[1] / l->nx) - ay);
}

static bool is_above(const tracer *t, size_t node)
{
    return t->values[node] >= t->level;
}

/* ---- Room --------------------------------------------------------------------------------- */

/* Makes room for `wanted` entries of `size` bytes; the room doubles. */
static kern_status grow(void **items, size_t *room, size_t wanted, size_t size, kern_error *err)
{
    size_t bytes;
    const size_t larger = kern_size_max(wanted, kern_size_max(2 * *room, 256));
    if (wanted <= *room) {
        return KERN_OK;
    }
    if (!kern_size_mul(larger, size, &bytes)) {
        return kern_raise(err, KERN_OVERFLOW, "contours of %zu points are too long", wanted);
    }
    void *moved = realloc(*items, bytes);
    if (moved == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for contours of %zu points", wanted);
    }
    *items = moved;
    *room = larger;
    return KERN_OK;
}

/* x and y grow together, so that one count of room serves both. */
static kern_status grow_points(tracer *t, size_t wanted, kern_error *err)
{
    viz_contours *c = t->out;
    size_t room = t->points_room;
    void *x = c->x;
    void *y = c->y;
    KERN_TRY(grow(&x, &room, wanted, sizeof *c->x, err));
    c->x = x;
    room = t->points_room;
    KERN_TRY(grow(&y, &room, wanted, sizeof *c->y, err));
    c->y = y;
    t->points_room = room;
    return KERN_OK;
}

static kern_status grow_lines(tracer *t, kern_error *err)
{
    viz_contours *c = t->out;
    size_t room = t->lines_room;
    void *first = c->first;
    void *level = c->level;
    KERN_TRY(grow(&first, &room, c->n_lines + 2, sizeof *c->first, err));
    c->first = first;
    room = t->lines_room;
    KERN_TRY(grow(&level, &room, c->n_lines + 2, sizeof *c->level, err));
    c->level = level;
    t->lines_room = room;
    return KERN_OK;
}

/* ---- Cells -------------------------------------------------------------------------------- */

/* The vertex of an edge, made when it is new. */
static kern_status vertex_of(tracer *t, size_t edge, uint32_t *index, kern_error *err)
{
    size_t nodes[2];
    if (t->at[edge] == NOBODY) {
        void *items = t->vertices;
        KERN_TRY(grow(&items, &t->room, t->n + 1, sizeof *t->vertices, err));
        t->vertices = items;
        ends_of(t, edge, nodes);
        const double f0 = t->values[nodes[0]] - t->level;
        const double f1 = t->values[nodes[1]] - t->level;
        t->vertices[t->n] = (vertex){.edge = edge,
                                     .t = f0 / (f0 - f1),
                                     .high = 1.0,
                                     .f_low = f0,
                                     .f_high = f1,
                                     .next = NOBODY,
                                     .previous = NOBODY};
        t->at[edge] = (uint32_t)t->n++;
    }
    *index = t->at[edge];
    return KERN_OK;
}

static kern_status add_segment(tracer *t, size_t from, size_t to, kern_error *err)
{
    uint32_t a;
    uint32_t b;
    KERN_TRY(vertex_of(t, from, &a, err));
    KERN_TRY(vertex_of(t, to, &b, err));
    t->vertices[a].next = b;
    t->vertices[b].previous = a;
    return KERN_OK;
}

/* True when the two corners that are above are joined through the middle. */
static bool middle_is_above(tracer *t, size_t node)
{
    const viz_lattice *l = t->lattice;
    const size_t corners[4] = {node, node + 1, node + 1 + l->nx, node + l->nx};
    double v = 0.0;
    t->out->n_saddles++;
    for (size_t k = 0; k < 4; k++) {
        v += 0.25 * t->values[corners[k]];
    }
    if (t->o->values != NULL) {
        const double x = 0.5 * (node_x(l, node % l->nx) + node_x(l, node % l->nx + 1));
        const double y = 0.5 * (node_y(l, node / l->nx) + node_y(l, node / l->nx + 1));
        double own;
        t->o->values(t->o->context, 1, &x, &y, &own);
        v = isfinite(own) ? own : v;
    }
    return v >= t->level;
}

/* Edges of a cell by number: bottom, right, top, left. Bit k of a cell's case says that corner k
 * (anticlockwise from the lower left) is above; a line enters by the first edge of a pair and
 * leaves by the second, with what is above on its left. Cases 5 and 10 have two lines, as here when
 * the middle is below and as in `joined` when it is above. */
enum { BOTTOM, RIGHT, TOP, LEFT, NONE };
typedef struct crossing {
    unsigned char pairs[4];
} crossing;

static const crossing crossings[16] = {
    {{NONE}},
    {{BOTTOM, LEFT, NONE}},
    {{RIGHT, BOTTOM, NONE}},
    {{RIGHT, LEFT, NONE}},
    {{TOP, RIGHT, NONE}},
    {{BOTTOM, LEFT, TOP, RIGHT}},
    {{TOP, BOTTOM, NONE}},
    {{TOP, LEFT, NONE}},
    {{LEFT, TOP, NONE}},
    {{BOTTOM, TOP, NONE}},
    {{RIGHT, BOTTOM, LEFT, TOP}},
    {{RIGHT, TOP, NONE}},
    {{LEFT, RIGHT, NONE}},
    {{BOTTOM, RIGHT, NONE}},
    {{LEFT, BOTTOM, NONE}},
    {{NONE}},
};
static const crossing joined[2] = {{{BOTTOM, RIGHT, TOP, LEFT}}, {{LEFT, BOTTOM, RIGHT, TOP}}};

static kern_status trace_cell(tracer *t, size_t node, kern_error *err)
{
    const viz_lattice *l = t->lattice;
    const size_t total = l->nx * l->ny;
    const size_t corners[4] = {node, node + 1, node + 1 + l->nx, node + l->nx};
    const size_t edges[4] = {node, total + node + 1, node + l->nx, total + node};
    unsigned which = 0;
    for (unsigned k = 0; k < 4; k++) {
        if (!isfinite(t->values[corners[k]])) {
            return KERN_OK;
        }
        which |= is_above(t, corners[k]) ? 1u << k : 0u;
    }
    const bool saddle = which == 5 || which == 10;
    const unsigned char *pairs = crossings[which].pairs;
    if (saddle && middle_is_above(t, node)) {
        pairs = joined[which == 5 ? 0 : 1].pairs;
    }
    for (size_t k = 0; k < 4 && pairs[k] != NONE; k += 2) {
        KERN_TRY(add_segment(t, edges[pairs[k]], edges[pairs[k + 1]], err));
    }
    return KERN_OK;
}

/* ---- Refinement --------------------------------------------------------------------------- */

/* Puts the value at t into the bracket, and the next t where the chord crosses. When the same end
 * has moved twice, the value at the other is halved, so that both ends move (Illinois). */
static void narrow(vertex *v, double f, int *last_side)
{
    const int side = (f >= 0.0) == (v->f_low >= 0.0) ? -1 : 1;
    if (side < 0) {
        v->low = v->t;
        v->f_low = f;
        v->f_high *= *last_side == side ? 0.5 : 1.0;
    } else {
        v->high = v->t;
        v->f_high = f;
        v->f_low *= *last_side == side ? 0.5 : 1.0;
    }
    *last_side = side;
    const double share = v->f_low / (v->f_low - v->f_high);
    v->t =
        share > 0.0 && share < 1.0 ? v->low + share * (v->high - v->low) : 0.5 * (v->low + v->high);
}

/* One batch of vertices in step with each other, so that the function is asked for many values at
 * a time. */
static void refine_batch(tracer *t, size_t begin, size_t n, double tolerance)
{
    size_t active[BATCH];
    int sides[BATCH] = {0};
    double x[BATCH], y[BATCH], f[BATCH];
    for (size_t i = 0; i < n; i++) {
        active[i] = begin + i;
    }
    for (int step = 0; n > 0 && step < REFINE_STEPS; step++) {
        size_t left = 0;
        for (size_t i = 0; i < n; i++) {
            const vertex *v = &t->vertices[active[i]];
            place_of(t, v->edge, v->t, &x[i], &y[i]);
        }
        t->o->values(t->o->context, n, x, y, f);
        for (size_t i = 0; i < n; i++) {
            const double off = f[i] - t->level;
            if (fabs(off) <= tolerance) {
                continue;
            }
            if (!isfinite(off)) {
                t->out->n_rough++;
                continue;
            }
            int side = sides[i];
            narrow(&t->vertices[active[i]], off, &side);
            active[left] = active[i];
            sides[left++] = side;
        }
        n = left;
    }
    t->out->n_rough += n;
}

static void refine(tracer *t)
{
    const double share = t->o->tolerance > 0.0 ? t->o->tolerance : DEFAULT_TOLERANCE;
    for (size_t begin = 0; t->o->values != NULL && begin < t->n; begin += BATCH) {
        refine_batch(t, begin, kern_size_min(BATCH, t->n - begin), share * t->range);
    }
}

/* ---- Chains ------------------------------------------------------------------------------- */

/* Appends a point unless it repeats the one before, as where a line passes through a node. */
static kern_status append(tracer *t, size_t start, const vertex *v, bool always, kern_error *err)
{
    viz_contours *c = t->out;
    double x;
    double y;
    place_of(t, v->edge, v->t, &x, &y);
    const size_t n = t->n_points;
    if (!always && n > start && c->x[n - 1] == x && c->y[n - 1] == y) {
        return KERN_OK;
    }
    KERN_TRY(grow_points(t, n + 1, err));
    t->out->x[n] = x;
    t->out->y[n] = y;
    t->n_points++;
    return KERN_OK;
}

/* The line that begins with vertex `start`. What shrinks to a point, around a node whose value is
 * the level, is no line. */
static kern_status follow(tracer *t, uint32_t start, kern_error *err)
{
    const size_t begin = t->n_points;
    viz_contours *c = t->out;
    uint32_t at = start;
    do {
        t->vertices[at].taken = true;
        KERN_TRY(append(t, begin, &t->vertices[at], false, err));
        at = t->vertices[at].next;
    } while (at != NOBODY && at != start);
    if (at == start && t->n_points - begin > 1) {
        const bool ends_meet =
            c->x[t->n_points - 1] == c->x[begin] && c->y[t->n_points - 1] == c->y[begin];
        KERN_TRY(ends_meet ? KERN_OK : append(t, begin, &t->vertices[start], true, err));
    }
    if (t->n_points - begin < 2) {
        t->n_points = begin;
        return KERN_OK;
    }
    KERN_TRY(grow_lines(t, err));
    c->level[c->n_lines++] = t->level;
    c->first[c->n_lines] = t->n_points;
    return KERN_OK;
}

static kern_status chain(tracer *t, kern_error *err)
{
    for (int closed = 0; closed < 2; closed++) { /* lines with an end begin there */
        for (size_t i = 0; i < t->n; i++) {
            const vertex *v = &t->vertices[i];
            if (!v->taken && (closed == 1 || v->previous == NOBODY)) {
                KERN_TRY(follow(t, (uint32_t)i, err));
            }
        }
    }
    return KERN_OK;
}

/* ---- Levels ------------------------------------------------------------------------------- */

static kern_status trace_level(tracer *t, double level, kern_error *err)
{
    const viz_lattice *l = t->lattice;
    t->level = level;
    for (size_t i = 0; i < t->n; i++) {
        t->at[t->vertices[i].edge] = NOBODY;
    }
    t->n = 0;
    for (size_t j = 0; j + 1 < l->ny; j++) {
        for (size_t i = 0; i + 1 < l->nx; i++) {
            KERN_TRY(trace_cell(t, j * l->nx + i, err));
        }
    }
    refine(t);
    return chain(t, err);
}

static double range_of(const double *values, size_t n)
{
    double low = (double)INFINITY;
    double high = -(double)INFINITY;
    for (size_t i = 0; i < n; i++) {
        if (isfinite(values[i])) {
            low = fmin(low, values[i]);
            high = fmax(high, values[i]);
        }
    }
    return high > low ? high - low : 0.0;
}

static kern_status check(const viz_lattice *l, const viz_contour_options *o, size_t *edges,
                         kern_error *err)
{
    const bool ordered = isfinite(l->x0) && isfinite(l->x1) && l->x0 < l->x1 && isfinite(l->y0) &&
                         isfinite(l->y1) && l->y0 < l->y1;
    if (l->nx < 2 || l->ny < 2 || !ordered) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "contours need at least 2 × 2 samples of an ordered range, not %zu × %zu "
                          "from (%g, %g) to (%g, %g)",
                          l->nx, l->ny, l->x0, l->y0, l->x1, l->y1);
    }
    if (!kern_size_mul(l->nx, l->ny, edges) || !kern_size_mul(*edges, 2, edges) ||
        *edges >= NOBODY) {
        return kern_raise(err, KERN_OVERFLOW, "contours of %zu × %zu samples are too many", l->nx,
                          l->ny);
    }
    for (size_t i = 0; i < o->n_levels; i++) {
        if (!isfinite(o->levels[i])) {
            return kern_raise(err, KERN_INVALID_ARGUMENT, "level %zu of the contours is not finite",
                              i);
        }
    }
    return KERN_OK;
}

kern_status viz_contours_init(viz_contours *out, const viz_lattice *lattice, const double *values,
                              const viz_contour_options *options, kern_error *err)
{
    tracer t = {.lattice = lattice, .values = values, .o = options, .out = out};
    *out = (viz_contours){0};
    KERN_TRY(check(lattice, options, &t.edges, err));
    KERN_TRY(grow_lines(&t, err));
    out->first[0] = 0;
    t.range = range_of(values, lattice->nx * lattice->ny);
    t.at = malloc(t.edges * sizeof *t.at);
    if (t.at == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for contours of %zu × %zu samples",
                          lattice->nx, lattice->ny);
    }
    memset(t.at, 0xff, t.edges * sizeof *t.at); /* NOBODY */
    kern_status status = KERN_OK;
    for (size_t i = 0; status == KERN_OK && i < options->n_levels; i++) {
        status = trace_level(&t, options->levels[i], err);
    }
    free(t.at);
    free(t.vertices);
    return status;
}

void viz_contours_fini(viz_contours *contours)
{
    free(contours->first);
    free(contours->x);
    free(contours->y);
    free(contours->level);
    *contours = (viz_contours){0};
}
