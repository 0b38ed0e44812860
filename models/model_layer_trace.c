/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_layer_trace.h"

#include "kernels/kern_size.h"
#include "models/model_cem.h"
#include "models/model_forward.h"
#include "models/model_hdf5.h"
#include "models/model_layer_map.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_descent(const model_config *c, unsigned part)
{
    return model_cem_energy_of(c, (model_layer_part)part) != NULL;
}

static kern_status check(const model *m, const int32_t *ids, size_t tokens, kern_error *err)
{
    const model_config *c = &m->config;
    if (!model_config_is_stack(c) ||
        (!is_descent(c, MODEL_LAYER_ATTN) && !is_descent(c, MODEL_LAYER_FFN))) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a model of family %s has no energy to trace; accepted are nrgpt and cem",
                          model_config_family_name(c));
    }
    return model_check_prompt(m, ids, tokens, err);
}

static kern_status reserve(model_layer_trace *t, const model_config *c, const size_t steps[2],
                           kern_error *err)
{
    for (unsigned part = 0; part < MODEL_LAYER_PARTS; part++) {
        size_t states;
        size_t numbers;
        if (!is_descent(c, part)) {
            continue;
        }
        t->states[part] = steps[part] + 1;
        if (kern_size_mul(t->layers * t->tokens, t->states[part], &states) &&
            kern_size_mul(states, t->width, &numbers)) {
            t->energy[part] = calloc(states, sizeof(double));
            t->x[part] = calloc(numbers, sizeof(double));
        }
        if (t->energy[part] == NULL || t->x[part] == NULL) {
            return kern_raise(err, KERN_NO_MEMORY, "no memory for a trace of %zu tokens, %zu steps",
                              t->tokens, steps[part]);
        }
    }
    return KERN_OK;
}

/* From tokens × cols at one state into (layers, tokens, states, cols). */
static void store(const model_layer_trace *t, double *array, const double *rows, size_t layer,
                  unsigned part, size_t state, size_t cols)
{
    for (size_t i = 0; i < t->tokens; i++) {
        const size_t at = (layer * t->tokens + i) * t->states[part] + state;
        memcpy(array + at * cols, rows + i * cols, cols * sizeof *rows);
    }
}

static void collect(model_layer_trace *t, const model_forward *f)
{
    for (size_t l = 0; l < t->layers; l++) {
        for (unsigned part = 0; part < MODEL_LAYER_PARTS; part++) {
            const model_inner *inner = &f->graph.inner[l * MODEL_LAYER_PARTS + part];
            for (size_t k = 0; k < t->states[part]; k++) {
                store(t, t->x[part], model_forward_value(f, 0, inner->x[k]), l, part, k, t->width);
                store(t, t->energy[part], model_forward_value(f, 0, inner->energy[k]), l, part, k,
                      1);
            }
        }
    }
}

const model_energy_unit *model_layer_energy_unit(model_layer_part part)
{
    static const model_energy_unit score = {"score", "scores",
                                            "the scores, sqrt(head width) of which are one nat"};
    static const model_energy_unit gated = {"gate*preactivation^2", "gate × z²",
                                            "gate times squared preactivation"};
    return part == MODEL_LAYER_ATTN ? &score : &gated;
}

/* Energies are sums of terms no larger than themselves by orders of magnitude, so 2⁻⁴⁰ of their
 * size is four thousand roundings. */
bool model_layer_trace_rises(double before, double after)
{
    return after - before > 0x1p-40 * (1.0 + fabs(before) + fabs(after));
}

static void count_rises(model_layer_trace *t)
{
    for (unsigned part = 0; part < MODEL_LAYER_PARTS; part++) {
        const size_t n = t->layers * t->tokens * t->states[part];
        for (size_t i = 0; i + 1 < n; i++) {
            if ((i + 1) % t->states[part] != 0) {
                t->n_steps++;
                t->n_rising += model_layer_trace_rises(t->energy[part][i], t->energy[part][i + 1]);
            }
        }
    }
}

static kern_status run(model_layer_trace *t, const model *m, const int32_t *ids,
                       const size_t steps[2], kern_error *err)
{
    model *wide = NULL;
    model_forward forward = {0};
    const model_graph_options options = {.batch = 1,
                                         .tokens = t->tokens,
                                         .steps = m->config.n_layer,
                                         .start = MODEL_START_TOKENS,
                                         .energies = true,
                                         .keep_inner = true,
                                         .inner_attn = steps[MODEL_LAYER_ATTN],
                                         .inner_mlp = steps[MODEL_LAYER_FFN]};
    KERN_TRY(model_convert(&wide, m, &kern_backend_cpu_f64, err));
    const kern_status status = model_forward_init(&forward, wide, &options, 1, err);
    if (status == KERN_OK) {
        model_forward_run(&forward, 0, ids, NULL);
        collect(t, &forward);
        count_rises(t);
    }
    model_forward_fini(&forward);
    model_destroy(wide);
    return status;
}

kern_status model_layer_trace_create(model_layer_trace **out, const model *m, const int32_t *ids,
                                     size_t tokens, size_t attn, size_t mlp, kern_error *err)
{
    const model_cem *cem = &m->config.cem;
    const size_t steps[] = {[MODEL_LAYER_ATTN] = attn != 0 ? attn : cem->t_attn,
                            [MODEL_LAYER_FFN] = mlp != 0 ? mlp : cem->t_mlp};
    *out = NULL;
    KERN_TRY(check(m, ids, tokens, err));
    model_layer_trace *t = calloc(1, sizeof *t);
    if (t == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a trace");
    }
    *t = (model_layer_trace){
        .layers = m->config.n_layer, .tokens = tokens, .width = m->config.n_embed};
    for (unsigned part = 0; part < MODEL_LAYER_PARTS; part++) {
        t->trained[part] = part == MODEL_LAYER_ATTN ? cem->t_attn : cem->t_mlp;
    }
    kern_status status = reserve(t, &m->config, steps, err);
    if (status == KERN_OK) {
        status = run(t, m, ids, steps, err);
    }
    if (status != KERN_OK) {
        model_layer_trace_destroy(t);
        return status;
    }
    *out = t;
    return KERN_OK;
}

void model_layer_trace_destroy(model_layer_trace *t)
{
    if (t != NULL) {
        for (unsigned part = 0; part < MODEL_LAYER_PARTS; part++) {
            free(t->energy[part]);
            free(t->x[part]);
        }
        free(t);
    }
}

const double *model_layer_trace_energy(const model_layer_trace *t, size_t layer,
                                       model_layer_part part)
{
    return t->states[part] > 0 ? t->energy[part] + layer * t->tokens * t->states[part] : NULL;
}

/* ---- the file ---------------------------------------------------------------------------------
 */

static kern_status put_part(model_hdf5_writer *w, const model_layer_trace *t, unsigned part,
                            bool with_states, kern_error *err)
{
    static const char *const dims[] = {"layer", "token", "state", "feature"};
    const model_hdf5_shape energies = {.rank = 3, .size = {t->layers, t->tokens, t->states[part]}};
    const model_hdf5_shape states = {.rank = 4,
                                     .size = {t->layers, t->tokens, t->states[part], t->width}};
    const model_hdf5_meta energy = {.units = model_layer_energy_unit((model_layer_part)part)->key,
                                    .description =
                                        "conditional energy of each token at step t; the part "
                                        "hands on what it has after its trained steps",
                                    .dims = dims};
    const model_hdf5_meta x = {.units = "1",
                               .description =
                                   "iterate of each token at step t; normalised under norm = once",
                               .dims = dims};
    char name[64];
    (void)snprintf(name, sizeof name, "layers/%s/energy",
                   model_layer_part_word((model_layer_part)part));
    KERN_TRY(model_hdf5_put_doubles(w, name, t->energy[part], &energies, &energy, err));
    if (!with_states) {
        return KERN_OK;
    }
    (void)snprintf(name, sizeof name, "layers/%s/x", model_layer_part_word((model_layer_part)part));
    return model_hdf5_put_doubles(w, name, t->x[part], &states, &x, err);
}

static kern_status put_all(model_hdf5_writer *w, const model_layer_trace *t,
                           const model_trace_labels *labels, kern_error *err)
{
    static const char *const token_dim[] = {"token"};
    const model_hdf5_meta tokens = {.description = "text of each token", .dims = token_dim};
    const model_hdf5_shape vector = {.rank = 1, .size = {t->tokens}};
    const double fraction = t->n_steps > 0 ? (double)t->n_rising / (double)t->n_steps : 0;
    for (unsigned part = 0; part < MODEL_LAYER_PARTS; part++) {
        if (t->states[part] > 0) {
            KERN_TRY(put_part(w, t, part, labels->with_states, err));
        }
    }
    KERN_TRY(model_hdf5_put_strings(w, "tokens", labels->tokens, &vector, &tokens, err));
    KERN_TRY(model_hdf5_put_attr_string(w, "/", "format", "basin-layer-trace-1", err));
    KERN_TRY(model_hdf5_put_attr_string(w, "/", "prompt", labels->prompt, err));
    KERN_TRY(model_hdf5_put_attr_string(w, "/", "recipe", labels->recipe, err));
    return model_hdf5_put_attr_doubles(w, "/", "rising_fraction", &fraction, 1, err);
}

kern_status model_layer_trace_write(const model_layer_trace *t, const model_trace_labels *labels,
                                    const char *path, kern_error *err)
{
    model_hdf5_writer *writer = NULL;
    KERN_TRY(model_hdf5_writer_create(&writer, path, err));
    kern_status status = put_all(writer, t, labels, err);
    if (status == KERN_OK) {
        status = model_hdf5_writer_commit(writer, err);
    }
    model_hdf5_writer_destroy(writer);
    return status;
}
