/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/view/view_landscape_plane.h"

#include "dyn/dyn_assignment.h"
#include "models/model_file.h"
#include "models/model_gradient.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { AXES_FILE = 1 << 26 };

static const dyn_plane_kind *kind_of(const view_landscape *l)
{
    return dyn_plane_kind_at((size_t)l->settings.plane);
}

static bool is_kind(const view_landscape *l, const char *name)
{
    return strcmp(dyn_plane_kind_name(kind_of(l)), name) == 0;
}

/* ---- The frame ------------------------------------------------------------------------------- */

kern_status view_landscape_frame(view_landscape *l, const double *centre, kern_error *err)
{
    const view_settings *s = &l->settings;
    const dyn_map *map = l->subject->map;
    const bool two = is_kind(l, "tokens");
    const bool normed = map->gauge != DYN_GAUGE_NONE;
    const dyn_plane_chart chart = s->chart >= 0 ? (dyn_plane_chart)s->chart
                                  : normed      ? DYN_PLANE_SPHERE
                                                : DYN_PLANE_FLAT;
    const size_t pair[2] = {s->with < l->token ? s->with : l->token,
                            s->with < l->token ? l->token : s->with};
    if (two && l->token == MODEL_SLICE_SUM) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "plane tokens is of a token and the one called with; token is all");
    }
    if (two && s->with >= map->block_count) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "with is %zu, not within 0 to %zu", s->with,
                          map->block_count - 1);
    }
    const dyn_plane_frame frame = {.block_count = map->block_count,
                                   .block_width = map->block_width,
                                   .gauge = map->gauge,
                                   .centre = centre,
                                   .movable = l->token == MODEL_SLICE_SUM ? NULL
                                              : two                       ? pair
                                                                          : &l->token,
                                   .n_movable = two ? 2 : 1,
                                   .chart = chart,
                                   .norm = s->norm >= 0              ? (dyn_plane_norm)s->norm
                                           : chart == DYN_PLANE_FLAT ? DYN_PLANE_EUCLIDEAN
                                                                     : DYN_PLANE_RELATIVE};
    return dyn_plane_create(&l->plane, &frame, err);
}

/* ---- Custom axes ----------------------------------------------------------------------------- */

/* Two lines of numbers separated by commas: of the whole state, or of the token that moves. */
static kern_status place_axis(const view_landscape *l, const char *line, double *axis,
                              kern_error *err)
{
    kern_error why = {0};
    double *values = NULL;
    size_t n = 0;
    const kern_status status = dyn_read_numbers(line, &values, &n, &why);
    if (status != KERN_OK) {
        return kern_raise(err, status, "axes: %s", why.text);
    }
    const size_t width = l->plane->block_width;
    const bool own = l->token != MODEL_SLICE_SUM && n == width;
    if (own || n == l->plane->size) {
        memcpy(axis + (own ? l->token * width : 0), values, n * sizeof *values);
    }
    free(values);
    if (own || n == l->plane->size) {
        return KERN_OK;
    }
    if (l->token == MODEL_SLICE_SUM) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "axes has a line of %zu numbers; accepted are %zu, those of all tokens, "
                          "because token is all",
                          n, l->plane->size);
    }
    return kern_raise(err, KERN_BAD_INPUT,
                      "axes has a line of %zu numbers; accepted are %zu, those of a token, and "
                      "%zu, those of all",
                      n, width, l->plane->size);
}

static kern_status read_axes(const view_landscape *l, double *axes, kern_error *err)
{
    char *text = NULL;
    size_t size = 0;
    if (l->settings.axes[0] == '\0') {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "axes is empty; plane custom is made of a file of two vectors");
    }
    KERN_TRY(model_file_read(l->settings.axes, AXES_FILE, &text, &size, err));
    char *second = strchr(text, '\n');
    kern_status status = KERN_OK;
    if (strlen(text) != size) {
        status = kern_raise(err, KERN_BAD_INPUT,
                            "axes holds the byte NUL at offset %zu; accepted are two lines of "
                            "numbers separated by commas",
                            strlen(text));
    } else if (second == NULL) {
        status = kern_raise(err, KERN_BAD_INPUT,
                            "axes has one line; accepted are two lines of numbers separated by "
                            "commas");
    } else {
        *second++ = '\0';
        text[strcspn(text, "\r")] = '\0'; /* lines may end as on Windows */
        const char *rest = second + strcspn(second, "\r\n");
        const bool more = rest[strspn(rest, " \t\r\n")] != '\0';
        second[strcspn(second, "\r\n")] = '\0';
        status = more ? kern_raise(err, KERN_BAD_INPUT,
                                   "axes goes on behind its second line; accepted are two lines "
                                   "of numbers separated by commas")
                      : place_axis(l, text, axes, err);
        status = status == KERN_OK ? place_axis(l, second, axes + l->plane->size, err) : status;
    }
    free(text);
    return status;
}

/* ---- The axes -------------------------------------------------------------------------------- */

/* What gradients and curvatures are taken of. */
static kern_status prepare_gradient(const view_landscape *l, model_gradient **out, kern_error *err)
{
    const view_subject *v = l->subject;
    return v->h == NULL ? model_gradient_create(out, v->run.m, v->n, l->token, err)
                        : model_gradient_create_layer(out, v->run.m, v->layer, v->part, v->h, v->n,
                                                      l->token, err);
}

/* The two of the first, the last and the middle state that are not the centre's, which would leave
 * an axis without a direction. */
static kern_status pick_points(view_landscape *l, kern_error *err)
{
    const size_t candidates[] = {0, l->path.n - 1, l->path.n / 2};
    size_t n = 0;
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates && n < 2; i++) {
        if (candidates[i] != l->at && (n == 0 || candidates[i] != l->points[0])) {
            l->points[n++] = candidates[i];
        }
    }
    return n == 2 ? KERN_OK
                  : kern_raise(err, KERN_INVALID_ARGUMENT,
                               "plane points is through three states; the trajectory has %zu, and "
                               "more steps make it longer",
                               l->path.n);
}

/* Every so many states of a long trajectory, the first among them. */
static kern_status thin_out(view_landscape *l, dyn_plane_recipe *recipe, double **owned,
                            kern_error *err)
{
    const size_t size = l->plane->size;
    l->stride = (l->path.n + VIEW_PCA_STATES - 1) / VIEW_PCA_STATES;
    recipe->vectors = l->path.states;
    recipe->n_vectors = l->path.n;
    if (l->stride <= 1) {
        return KERN_OK;
    }
    recipe->n_vectors = (l->path.n + l->stride - 1) / l->stride;
    *owned = malloc(recipe->n_vectors * size * sizeof **owned);
    if (*owned == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu states", recipe->n_vectors);
    }
    for (size_t k = 0; k < recipe->n_vectors; k++) {
        memcpy(*owned + k * size, l->path.states + k * l->stride * size, size * sizeof **owned);
    }
    recipe->vectors = *owned;
    return KERN_OK;
}

/* Vectors that the kind is made of. */
static kern_status gather(view_landscape *l, dyn_plane_recipe *recipe, double **owned,
                          kern_error *err)
{
    const size_t size = l->plane->size;
    const bool points = is_kind(l, "points");
    if (is_kind(l, "pca")) {
        return thin_out(l, recipe, owned, err);
    }
    if (!points && !is_kind(l, "custom")) {
        return KERN_OK;
    }
    *owned = calloc(2 * size, sizeof **owned);
    if (*owned == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for axes of %zu numbers", size);
    }
    recipe->vectors = *owned;
    recipe->n_vectors = 2;
    if (!points) {
        return read_axes(l, *owned, err);
    }
    KERN_TRY(pick_points(l, err));
    for (size_t i = 0; i < 2; i++) {
        memcpy(*owned + i * size, l->path.states + l->points[i] * size, size * sizeof **owned);
    }
    return KERN_OK;
}

/* Orthonormal axes stay so: (u, v) becomes (u cos + v sin, v cos − u sin). */
static kern_status turn(view_landscape *l, kern_error *err)
{
    dyn_plane *p = l->plane;
    const double c = cos(l->settings.turn);
    const double s = sin(l->settings.turn);
    const double angle = p->angle;
    if (l->settings.turn == 0.0) {
        return KERN_OK;
    }
    if (p->oblique) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "turn is %g; oblique axes are not turned within their plane",
                          l->settings.turn);
    }
    double *axes = malloc(2 * p->size * sizeof *axes);
    if (axes == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for axes of %zu numbers", p->size);
    }
    for (size_t i = 0; i < p->size; i++) {
        axes[i] = c * p->axes[0][i] + s * p->axes[1][i];
        axes[p->size + i] = c * p->axes[1][i] - s * p->axes[0][i];
    }
    const kern_status status = dyn_plane_set_axes(p, axes, axes + p->size, false, err);
    p->angle = angle;
    free(axes);
    return status;
}

kern_status view_landscape_axes(view_landscape *l, kern_error *err)
{
    model_gradient *gradient = NULL;
    dyn_plane_energy energy;
    double *owned = NULL;
    dyn_plane_recipe recipe = {.kind = kind_of(l),
                               .seed = l->settings.seed,
                               .tokens = {l->token, l->settings.with},
                               .energy = &energy,
                               .oblique = l->settings.oblique};
    kern_status status = gather(l, &recipe, &owned, err);
    if (status == KERN_OK) {
        status = prepare_gradient(l, &gradient, err);
    }
    if (status == KERN_OK) {
        energy = model_gradient_energy(gradient);
        status = dyn_plane_make(l->plane, &recipe, &l->notes, err);
    }
    model_gradient_destroy(gradient);
    free(owned);
    return status == KERN_OK ? turn(l, err) : status;
}
