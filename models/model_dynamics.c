/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_dynamics.h"

#include "kernels/kern_size.h"
#include "models/model_family.h"
#include "models/model_forward.h"
#include "models/model_map.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* States of the workspace: tangents that a scaled update takes at a time, whole groups. */
enum { WORK_STATES = 2 * DYN_MAP_GROUP };

_Static_assert((int)DYN_MAP_GROUP % (int)MODEL_MAP_GROUP == 0,
               "splits that dyn/ allows itself must suit the block");

/* What a map owns. The kind is its own: name and energy depend on the family. */
typedef struct dynamics {
    dyn_map_kind kind;
    const model *m;
    model_map *block;
    model_forward energy; /* energies at a state; unused for families without */
    double scale_ff;
    double *work;      /* WORK_STATES states */
    double *by_tokens; /* one energy per token, behind `work` */
} dynamics;

static const dyn_param dynamics_params[] = {
    {"step_scale", 1.0, "factor of the update; 1 is the trained block"}};

static void dynamics_destroy(dynamics *d)
{
    if (d != NULL) {
        model_map_destroy(d->block);
        if (d->kind.energy != NULL) {
            model_forward_fini(&d->energy);
        }
        free(d->work);
        free(d);
    }
}

/* ---- The map's functions ----------------------------------------------------------------------
 */

/* to = from + s (to − from). Scale 1 is left alone, so that the block's own bits come through. */
static void scale_update(const dyn_map *map, const double *from, double *to)
{
    const double s = map->params[0];
    for (size_t i = 0; s != 1.0 && i < map->size; i++) {
        to[i] = from[i] + s * (to[i] - from[i]);
    }
}

static size_t bytes(const dyn_map *map)
{
    return map->size * sizeof(double);
}

static void step(dyn_map *map, const double *x, double *y)
{
    const dynamics *d = map->data;
    model_map_step(d->block, x, d->work);
    scale_update(map, x, d->work);
    memcpy(y, d->work, bytes(map));
}

/* Tangents of x + s (F(x) − x): v + s (J v − v), through the workspace since jv may be v. y comes
 * last, since it may be x. */
static void push(dyn_map *map, const double *x, size_t k, const double *v, bool own_tokens,
                 double *y, double *jv)
{
    const dynamics *d = map->data;
    const double s = map->params[0];
    if (s == 1.0) {
        model_map_jvp_many(d->block, x, k, v, own_tokens, y, jv);
        return;
    }
    for (size_t first = 0; first < k; first += WORK_STATES) {
        const size_t count = kern_size_min(WORK_STATES, k - first);
        const double *from = v + first * map->size;
        double *to = jv + first * map->size;
        model_map_jvp_many(d->block, x, count, from, own_tokens, NULL, d->work);
        for (size_t i = 0; i < count * map->size; i++) {
            to[i] = from[i] + s * (d->work[i] - from[i]);
        }
    }
    if (y != NULL) {
        step(map, x, y);
    }
}

static void jvp(dyn_map *map, const double *x, const double *v, double *y, double *jv)
{
    push(map, x, 1, v, false, y, jv);
}

static void jvp_many(dyn_map *map, const double *x, size_t k, const double *v, double *y,
                     double *jv)
{
    push(map, x, k, v, false, y, jv);
}

static void jvp_blocks(dyn_map *map, const double *x, size_t k, const double *v, double *y,
                       double *jv)
{
    push(map, x, k, v, true, y, jv);
}

static void vjp(dyn_map *map, const double *x, const double *w, double *jtw)
{
    const dynamics *d = map->data;
    model_map_vjp(d->block, x, w, d->work);
    scale_update(map, w, d->work);
    memcpy(jtw, d->work, bytes(map));
}

static void block_energies(dyn_map *map, const double *x, double *energies)
{
    const dynamics *d = map->data;
    const model_graph *graph = &d->energy.graph;
    memcpy(model_forward_value(&d->energy, 0, graph->input), x, bytes(map));
    model_forward_run(&d->energy, 0, NULL, NULL);
    const double *attention = model_forward_value(&d->energy, 0, graph->steps[0].energy_attn);
    const double *forward = model_forward_value(&d->energy, 0, graph->steps[0].energy_ff);
    for (size_t i = 0; i < map->block_count; i++) {
        energies[i] = attention[i] + d->scale_ff * forward[i];
    }
}

static double energy(dyn_map *map, const double *x)
{
    const dynamics *d = map->data;
    double sum = 0;
    block_energies(map, x, d->by_tokens);
    for (size_t i = 0; i < map->block_count; i++) {
        sum += d->by_tokens[i];
    }
    return sum;
}

static void fini(dyn_map *map)
{
    dynamics_destroy(map->data);
}

/* ---- Construction -----------------------------------------------------------------------------
 */

static kern_status clone(dyn_map **out, const dyn_map *map, kern_error *err);

static kern_status build_energy(dynamics *d, size_t tokens, kern_error *err)
{
    const model_graph_options options = {.batch = 1,
                                         .tokens = tokens,
                                         .start = MODEL_START_STATE,
                                         .energies = true,
                                         .keep_steps = true};
    const model_param *scale = model_params_find(&d->m->params, "blocks.scale_ff");
    d->scale_ff = scale != NULL ? model_value_get(d->m, scale->offset) : 1.0;
    KERN_TRY(model_forward_init(&d->energy, d->m, &options, 1, err));
    d->kind.energy = energy;
    d->kind.block_energies = block_energies;
    return KERN_OK;
}

static kern_status build(dynamics *d, const model *m, size_t tokens, kern_error *err)
{
    d->m = m;
    d->kind = (dyn_map_kind){.name = model_config_family_name(&m->config),
                             .formula = "x + step_scale (F(x) - x), F the trained block",
                             .step = step,
                             .jvp = jvp,
                             .jvp_many = jvp_many,
                             .jvp_blocks = jvp_blocks,
                             .vjp = vjp,
                             .clone = clone,
                             .fini = fini};
    KERN_TRY(model_map_create(&d->block, m, tokens, err));
    d->work = malloc((WORK_STATES * model_map_size(d->block) + tokens) * sizeof *d->work);
    if (d->work == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a state of %zu tokens", tokens);
    }
    d->by_tokens = d->work + WORK_STATES * model_map_size(d->block);
    if (model_family_get(m->config.family)->build_energy == NULL) {
        return KERN_OK;
    }
    return build_energy(d, tokens, err);
}

/* Norms stand in front of every update of these families; with ε > 0 the scale is gauge up to
 * ε/σ², which the pinned scale of a chart takes care of. */
static dyn_gauge find_gauge(const model_config *c)
{
    switch (c->family) {
    case MODEL_NRGPT:
        return c->norm == MODEL_RMSNORM ? DYN_GAUGE_SCALE : DYN_GAUGE_SCALE_SHIFT;
    case MODEL_GPT:
        return DYN_GAUGE_SCALE_SHIFT;
    default:
        return DYN_GAUGE_NONE;
    }
}

/* A map of `tokens` tokens whose start is not set yet. */
static kern_status make(dyn_map **out, const model *m, size_t tokens, kern_error *err)
{
    *out = NULL;
    dynamics *d = calloc(1, sizeof *d);
    if (d == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a map");
    }
    kern_status status = build(d, m, tokens, err);
    if (status == KERN_OK) {
        status = dyn_map_create(out, &d->kind, model_map_size(d->block), dynamics_params, 1, err);
    }
    if (status != KERN_OK) {
        dynamics_destroy(d);
        return status;
    }
    (*out)->data = d;
    (*out)->block_count = tokens;
    (*out)->block_width = m->config.n_embed;
    (*out)->gauge = find_gauge(&m->config);
    return KERN_OK;
}

static kern_status clone(dyn_map **out, const dyn_map *map, kern_error *err)
{
    const dynamics *d = map->data;
    KERN_TRY(make(out, d->m, map->block_count, err));
    memcpy((*out)->start, map->start, bytes(map));
    (*out)->params[0] = map->params[0];
    return KERN_OK;
}

static kern_status check_prompt(const model *m, const int32_t *ids, size_t tokens, kern_error *err)
{
    const model_config *c = &m->config;
    if (tokens == 0 || tokens > c->block_size) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a prompt of %zu tokens is not within 1 to the model's block of %zu",
                          tokens, c->block_size);
    }
    for (size_t i = 0; i < tokens; i++) {
        if (ids[i] < 0 || (size_t)ids[i] >= c->vocab_size) {
            return kern_raise(err, KERN_INVALID_ARGUMENT,
                              "token %zu has id %d, accepted are 0 to %zu", i, (int)ids[i],
                              c->vocab_size - 1);
        }
    }
    return KERN_OK;
}

static kern_status embed(dyn_map *map, const model *m, const int32_t *ids, kern_error *err)
{
    const model_graph_options options = {
        .batch = 1, .tokens = map->block_count, .start = MODEL_START_TOKENS, .keep_steps = true};
    model_forward forward;
    KERN_TRY(model_forward_init(&forward, m, &options, 1, err));
    model_forward_run(&forward, 0, ids, NULL);
    memcpy(map->start, model_forward_value(&forward, 0, forward.graph.states[0]), bytes(map));
    model_forward_fini(&forward);
    return KERN_OK;
}

kern_status model_dynamics_create(dyn_map **out, const model *m, const int32_t *ids, size_t tokens,
                                  kern_error *err)
{
    *out = NULL;
    KERN_TRY(check_prompt(m, ids, tokens, err));
    KERN_TRY(make(out, m, tokens, err));
    const kern_status status = embed(*out, m, ids, err);
    if (status != KERN_OK) {
        dyn_map_destroy(*out);
        *out = NULL;
    }
    return status;
}

void model_dynamics_trained_state(dyn_map *map, double *x)
{
    const dynamics *d = map->data;
    const double scale = map->params[0];
    map->params[0] = 1.0;
    dyn_map_iterate(map, map->start, d->m->config.n_layer, x);
    map->params[0] = scale;
}

/* True when γ is 1, trained or not. */
static bool has_unit_gain(const model *m)
{
    const model_param *gain = model_params_find(&m->params, "blocks.ln.weight");
    for (size_t i = 0; gain != NULL && i < model_param_size(gain); i++) {
        if (model_value_get(m, gain->offset + i) != 1.0) {
            return false;
        }
    }
    return gain != NULL;
}

double model_dynamics_scalar_eta(const model *m)
{
    const model_eta form = m->config.eta;
    const model_param *eta = model_params_find(&m->params, "blocks.eta");
    if (m->config.family != MODEL_NRGPT || eta == NULL ||
        (form != MODEL_ETA_GAMMA && !has_unit_gain(m))) {
        return (double)NAN;
    }
    const double value = model_value_get(m, eta->offset);
    return form == MODEL_ETA_SQUARE ? value * value : value;
}
