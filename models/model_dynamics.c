/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_dynamics.h"

#include "models/model_family.h"
#include "models/model_forward.h"
#include "models/model_scaled.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct dynamics {
    model_scaled base; /* first: what the shared functions see */
    const model *m;
    model_forward energy; /* energies at a state; unused for families without */
    double scale_ff;
} dynamics;

static void dynamics_destroy(dynamics *d)
{
    if (d != NULL) {
        if (d->base.kind.energy != NULL) {
            model_forward_fini(&d->energy);
        }
        model_scaled_fini(&d->base);
        free(d);
    }
}

static void block_energies(dyn_map *map, const double *x, double *energies)
{
    const dynamics *d = map->data;
    const model_graph *graph = &d->energy.graph;
    memcpy(model_forward_value(&d->energy, 0, graph->input), x, map->size * sizeof *x);
    model_forward_run(&d->energy, 0, NULL, NULL);
    const double *attention = model_forward_value(&d->energy, 0, graph->steps[0].energy_attn);
    const double *forward = model_forward_value(&d->energy, 0, graph->steps[0].energy_ff);
    for (size_t i = 0; i < map->block_count; i++) {
        energies[i] = attention[i] + d->scale_ff * forward[i];
    }
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
    model_scaled_add_energy(&d->base, block_energies);
    return KERN_OK;
}

static kern_status build(dynamics *d, const model *m, size_t tokens, kern_error *err)
{
    d->m = m;
    d->base.trained = m->config.n_layer;
    model_scaled_init(&d->base, model_config_family_name(&m->config),
                      "x + step_scale (F(x) - x), F the trained block");
    d->base.kind.clone = clone;
    d->base.kind.fini = fini;
    KERN_TRY(model_map_create(&d->base.block, m, tokens, err));
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
        status = model_scaled_create(out, &d->base, tokens, m->config.n_embed, err);
    }
    if (status != KERN_OK) {
        dynamics_destroy(d);
        return status;
    }
    (*out)->gauge = find_gauge(&m->config);
    return KERN_OK;
}

static kern_status clone(dyn_map **out, const dyn_map *map, kern_error *err)
{
    const dynamics *d = map->data;
    KERN_TRY(make(out, d->m, map->block_count, err));
    model_scaled_copy(*out, map);
    return KERN_OK;
}

static kern_status embed(dyn_map *map, const model *m, const int32_t *ids, kern_error *err)
{
    const model_graph_options options = {
        .batch = 1, .tokens = map->block_count, .start = MODEL_START_TOKENS, .keep_steps = true};
    model_forward forward;
    KERN_TRY(model_forward_init(&forward, m, &options, 1, err));
    model_forward_run(&forward, 0, ids, NULL);
    memcpy(map->start, model_forward_value(&forward, 0, forward.graph.states[0]),
           map->size * sizeof *map->start);
    model_forward_fini(&forward);
    return KERN_OK;
}

kern_status model_dynamics_create(dyn_map **out, const model *m, const int32_t *ids, size_t tokens,
                                  kern_error *err)
{
    *out = NULL;
    KERN_TRY(model_check_prompt(m, ids, tokens, err));
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
    const model_scaled *s = map->data;
    const double scale = map->params[0];
    map->params[0] = 1.0;
    dyn_map_iterate(map, map->start, s->trained, x);
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
