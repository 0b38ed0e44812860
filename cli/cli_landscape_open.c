/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The model, its trajectory, and the plane of basin landscape.
 */
#include "cli/cli_landscape.h"

#include "dyn/dyn_assignment.h"
#include "models/model_dynamics.h"
#include "models/model_file.h"
#include "models/model_layer_map.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { AXES_FILE = 1 << 26 };

/* ---- Model and trajectory ----------------------------------------------------------------------
 */

static kern_status open_map(cli_landscape_job *l, kern_error *err)
{
    const cli_landscape_settings *s = l->s;
    const model *m = l->run.m;
    if (!model_config_is_stack(&m->config)) {
        if (cli_args_given(l->call, "layer") || cli_args_given(l->call, "sublayer")) {
            return kern_raise(
                err, KERN_INVALID_ARGUMENT,
                "--layer and --sublayer are for models with layers; the block of a %s "
                "is one",
                model_config_family_name(&m->config));
        }
        l->trained = m->config.n_layer;
        return model_dynamics_create(&l->map, m, l->ids, l->n, err);
    }
    l->h = malloc((l->n * m->config.n_embed + 1) * sizeof *l->h);
    if (l->h == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu tokens", l->n);
    }
    l->trained = model_layer_map_steps(m, s->part);
    KERN_TRY(model_layer_input(m, s->layer, s->part, l->ids, l->n, l->h, err));
    return model_layer_map_create_at(&l->map, m, s->layer, s->part, l->h, l->n, err);
}

static kern_status read_token(cli_landscape_job *l, kern_error *err)
{
    uint64_t value;
    if (strcmp(l->s->token, "all") == 0) {
        l->token = MODEL_SLICE_SUM;
        return KERN_OK;
    }
    if (cli_args_read_u64(&value, l->s->token, NULL) != KERN_OK || value >= l->n) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "--token is \"%.40s\"; accepted are 0 to %zu, the tokens of the prompt, "
                          "and all",
                          l->s->token, l->n - 1);
    }
    l->token = (size_t)value;
    return KERN_OK;
}

static kern_status reserve_states(cli_landscape_job *l, kern_error *err)
{
    l->at = cli_args_given(l->call, "at") ? l->s->at : l->trained;
    l->n_states = (l->s->steps > 0 ? l->s->steps : 2 * l->trained) + 1;
    l->n_states = l->at + 1 > l->n_states ? l->at + 1 : l->n_states;
    l->states = calloc(l->n_states, l->map->size * sizeof *l->states);
    l->energy = calloc(l->n_states, 6 * sizeof *l->energy);
    if (l->states == NULL || l->energy == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu states of %zu numbers",
                          l->n_states, l->map->size);
    }
    l->on_plane = l->energy + l->n_states;
    l->a = l->on_plane + l->n_states;
    l->b = l->a + l->n_states;
    l->distance = l->b + l->n_states;
    l->residual = l->distance + l->n_states;
    return KERN_OK;
}

/* The token alone, with the others where they are at the centre's step. */
static void follow_frozen(cli_landscape_job *l)
{
    const size_t size = l->map->size;
    const size_t width = l->map->block_width;
    const size_t own = l->token * width;
    const double *centre = l->states + l->at * size;
    double *held = l->plane->work;
    memcpy(held, centre, size * sizeof *held);
    for (size_t t = 0; t < l->n_states; t++) {
        double *x = l->states + t * size;
        const double *token =
            t == 0 ? l->map->start : x; /* x holds the image of the state before */
        memcpy(held + own, token + own, width * sizeof *held);
        memcpy(x, held, size * sizeof *x);
        if (t + 1 < l->n_states) {
            l->map->kind->step(l->map, x, x + size);
        }
    }
}

static void follow(cli_landscape_job *l)
{
    const size_t size = l->map->size;
    memcpy(l->states, l->map->start, size * sizeof *l->states);
    for (size_t t = 1; t < l->n_states; t++) {
        l->map->kind->step(l->map, l->states + (t - 1) * size, l->states + t * size);
    }
}

static kern_status find_energies(cli_landscape_job *l, kern_error *err)
{
    double *by_tokens = malloc(l->n * sizeof *by_tokens);
    if (by_tokens == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu energies", l->n);
    }
    for (size_t t = 0; t < l->n_states; t++) {
        const double *x = l->states + t * l->map->size;
        if (l->token == MODEL_SLICE_SUM) {
            l->energy[t] = l->map->kind->energy(l->map, x);
        } else {
            l->map->kind->block_energies(l->map, x, by_tokens);
            l->energy[t] = by_tokens[l->token];
        }
    }
    free(by_tokens);
    return KERN_OK;
}

/* ---- Plane ----------------------------------------------------------------------------------- */

/* Two lines of numbers separated by commas: of the whole state, or of the token that moves. */
static kern_status place_axis(const cli_landscape_job *l, const char *line, double *axis,
                              kern_error *err)
{
    kern_error why = {0};
    double *values = NULL;
    size_t n = 0;
    const kern_status status = dyn_read_numbers(line, &values, &n, &why);
    if (status != KERN_OK) {
        return kern_raise(err, status, "--axes: %s", why.text);
    }
    const size_t width = l->map->block_width;
    const bool own = l->token != MODEL_SLICE_SUM && n == width;
    if (own || n == l->map->size) {
        memcpy(axis + (own ? l->token * width : 0), values, n * sizeof *values);
    }
    free(values);
    return own || n == l->map->size
               ? KERN_OK
               : kern_raise(err, KERN_BAD_INPUT,
                            "--axes has a line of %zu numbers; accepted are %zu, those of a token, "
                            "and %zu, those of all",
                            n, width, l->map->size);
}

static kern_status read_axes(const cli_landscape_job *l, double *axes, kern_error *err)
{
    char *text = NULL;
    size_t size = 0;
    KERN_TRY(model_file_read(l->s->axes, AXES_FILE, &text, &size, err));
    char *second = strchr(text, '\n');
    kern_status status = KERN_OK;
    if (second == NULL) {
        status = kern_raise(err, KERN_BAD_INPUT,
                            "--axes has one line; accepted are two lines of numbers separated by "
                            "commas");
    } else {
        *second++ = '\0';
        char *end = strchr(second, '\n');
        if (end != NULL) {
            *end = '\0';
        }
        status = place_axis(l, text, axes, err);
        status = status == KERN_OK ? place_axis(l, second, axes + l->map->size, err) : status;
    }
    free(text);
    return status;
}

/* The tokens that move: the one asked about, a second with it, or all. */
static kern_status create_plane(cli_landscape_job *l, const double *centre, kern_error *err)
{
    const cli_landscape_settings *s = l->s;
    const bool two = strcmp(dyn_plane_kind_name(s->plane), "tokens") == 0;
    const bool normed = l->map->gauge != DYN_GAUGE_NONE;
    const bool sphere = s->chart >= 0 ? s->chart == DYN_PLANE_SPHERE : normed;
    const size_t pair[2] = {s->with < l->token ? s->with : l->token,
                            s->with < l->token ? l->token : s->with};
    if (two && l->token == MODEL_SLICE_SUM) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "--plane tokens is of --token and --with; --token is all");
    }
    const dyn_plane_frame frame = {.block_count = l->map->block_count,
                                   .block_width = l->map->block_width,
                                   .gauge = l->map->gauge,
                                   .centre = centre,
                                   .movable = l->token == MODEL_SLICE_SUM ? NULL
                                              : two                       ? pair
                                                                          : &l->token,
                                   .n_movable = two ? 2 : 1,
                                   .chart = sphere ? DYN_PLANE_SPHERE : DYN_PLANE_FLAT,
                                   .norm = s->norm >= 0 ? (dyn_plane_norm)s->norm
                                           : sphere     ? DYN_PLANE_RELATIVE
                                                        : DYN_PLANE_EUCLIDEAN};
    return dyn_plane_create(&l->plane, &frame, err);
}

/* What gradients and curvatures are taken of: the model's own gradient where it has one. */
typedef struct plane_energy {
    dyn_plane_energy energy;
    model_gradient *gradient;
    dyn_plane_difference difference;
    double *work;
} plane_energy;

static kern_status prepare_energy(cli_landscape_job *l, plane_energy *e, kern_error *err)
{
    if (l->h == NULL && l->token != MODEL_SLICE_SUM) {
        KERN_TRY(model_gradient_create(&e->gradient, l->run.m, l->n, l->token, err));
        e->energy = (dyn_plane_energy){
            .context = e->gradient, .n_terms = MODEL_GRADIENT_TERMS, .gradient = model_gradient_at};
        return KERN_OK;
    }
    e->work = calloc(l->map->size + l->n, sizeof *e->work);
    if (e->work == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu numbers", l->map->size);
    }
    e->difference = (dyn_plane_difference){.map = l->map,
                                           .plane = l->plane,
                                           .block = l->token,
                                           .x = e->work,
                                           .energies = e->work + l->map->size};
    e->energy =
        (dyn_plane_energy){.context = &e->difference, .gradient = dyn_plane_difference_gradient};
    return KERN_OK;
}

/* The two of the first, the last and the middle state that are not the centre's, which would leave
 * an axis without a direction. */
static kern_status pick_points(cli_landscape_job *l, kern_error *err)
{
    const size_t candidates[] = {0, l->n_states - 1, l->n_states / 2};
    size_t n = 0;
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates && n < 2; i++) {
        if (candidates[i] != l->at && (n == 0 || candidates[i] != l->points[0])) {
            l->points[n++] = candidates[i];
        }
    }
    return n == 2 ? KERN_OK
                  : kern_raise(err, KERN_INVALID_ARGUMENT,
                               "--plane points is through three states; the trajectory has %zu, "
                               "and --steps makes it longer",
                               l->n_states);
}

static kern_status make_axes(cli_landscape_job *l, dyn_plane_recipe *recipe, double *vectors,
                             kern_error *err)
{
    const char *kind = dyn_plane_kind_name(l->s->plane);
    const size_t size = l->map->size;
    plane_energy energy = {0};
    recipe->vectors = l->states;
    recipe->n_vectors = l->n_states;
    if (strcmp(kind, "points") == 0) {
        KERN_TRY(pick_points(l, err));
        memcpy(vectors, l->states + l->points[0] * size, size * sizeof *vectors);
        memcpy(vectors + size, l->states + l->points[1] * size, size * sizeof *vectors);
        recipe->vectors = vectors;
    } else if (strcmp(kind, "custom") == 0) {
        if (l->s->axes == NULL) {
            return kern_raise(err, KERN_INVALID_ARGUMENT,
                              "--plane custom is given without --axes, a file of two vectors");
        }
        KERN_TRY(read_axes(l, vectors, err));
        recipe->vectors = vectors;
    }
    kern_status status = prepare_energy(l, &energy, err);
    if (status == KERN_OK) {
        recipe->energy = &energy.energy;
        status = dyn_plane_make(l->plane, recipe, &l->notes, err);
    }
    model_gradient_destroy(energy.gradient);
    free(energy.work);
    return status;
}

static kern_status make_plane(cli_landscape_job *l, kern_error *err)
{
    dyn_plane_recipe recipe = {.kind = l->s->plane,
                               .seed = l->s->seed,
                               .tokens = {l->token, l->s->with},
                               .oblique = l->s->oblique};
    double *vectors = calloc(2 * l->map->size, sizeof *vectors);
    if (vectors == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for axes of %zu numbers", l->map->size);
    }
    const kern_status status = make_axes(l, &recipe, vectors, err);
    free(vectors);
    return status;
}

static void project(cli_landscape_job *l)
{
    for (size_t t = 0; t < l->n_states; t++) {
        dyn_plane_shadow shadow;
        dyn_plane_project(l->plane, l->states + t * l->map->size, &shadow);
        l->a[t] = shadow.a;
        l->b[t] = shadow.b;
        l->distance[t] = shadow.distance;
        l->residual[t] = shadow.residual;
        l->held = fmax(l->held, shadow.held);
    }
}

/* ---- Energies ---------------------------------------------------------------------------------
 */

/* The reduced form where there is one, and the map's own energy otherwise. */
static kern_status make_source(cli_landscape_job *l, kern_error *err)
{
    const model *m = l->run.m;
    const cli_landscape_settings *s = l->s;
    const kern_status status =
        l->h == NULL ? model_slice_create(&l->slice, m, l->plane, l->token, s->threads, NULL)
                     : model_slice_create_layer(&l->slice, m, s->layer, s->part, l->h, l->plane,
                                                l->token, s->threads, NULL);
    if (status == KERN_OK) {
        l->source = model_slice_source(l->slice, false);
        return KERN_OK;
    }
    KERN_TRY(dyn_slice_map_create(&l->slice_map, l->map, l->plane, l->token, s->threads, err));
    l->source = dyn_slice_map_source(l->slice_map);
    return KERN_OK;
}

kern_status cli_landscape_open(cli_landscape_job *l, kern_error *err)
{
    KERN_TRY(cli_run_open(&l->run, l->s->run, &kern_backend_cpu_f64, err));
    KERN_TRY(cli_run_encode_prompt(&l->run, l->s->prompt, l->run.run.config.block_size, &l->ids,
                                   &l->n, err));
    KERN_TRY(read_token(l, err));
    KERN_TRY(open_map(l, err));
    if (l->map->kind->block_energies == NULL) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a %s has no energy of its tokens; accepted are nrgpt and the layers of "
                          "cem",
                          model_config_family_name(&l->run.run.config));
    }
    KERN_TRY(reserve_states(l, err));
    follow(l);
    KERN_TRY(create_plane(l, l->states + l->at * l->map->size, err));
    if (l->s->frozen) {
        follow_frozen(l);
    }
    KERN_TRY(make_plane(l, err));
    KERN_TRY(find_energies(l, err));
    project(l);
    KERN_TRY(make_source(l, err));
    l->source.energies(l->source.context, 0, l->n_states, l->a, l->b, l->on_plane);
    return KERN_OK;
}
