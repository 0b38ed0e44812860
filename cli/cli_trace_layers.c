/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * basin trace for models with CEM sub-layers: all of them go into the file, one is shown.
 */
#include "cli/cli_json.h"
#include "cli/cli_trace.h"
#include "models/model_layer_trace.h"
#include "viz/viz_energy_plot.h"
#include "viz/viz_export.h"

#include <math.h>
#include <stdio.h>

/* The part that is shown. */
typedef struct shown {
    const model_layer_trace *trace;
    const cli_tracing *tracing;
    const cli_trace_settings *settings;
    const double *energy; /* tokens × states */
    size_t states;
    size_t rises;
} shown;

static kern_status choose(shown *v, kern_error *err)
{
    const model_layer_trace *t = v->trace;
    const size_t layer = v->settings->layer;
    const model_layer_part part = v->settings->part;
    if (layer >= t->layers) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "--layer is %zu; this model has the layers 0 to %zu", layer,
                          t->layers - 1);
    }
    if (t->states[part] == 0) {
        return kern_raise(
            err, KERN_INVALID_ARGUMENT, "--sublayer %s has no energy in this model; accepted is %s",
            model_layer_part_word(part),
            model_layer_part_word(part == MODEL_LAYER_ATTN ? MODEL_LAYER_FFN : MODEL_LAYER_ATTN));
    }
    v->energy = model_layer_trace_energy(t, layer, part);
    v->states = t->states[part];
    for (size_t i = 0; i < t->tokens * v->states; i++) {
        v->rises +=
            (i + 1) % v->states != 0 && model_layer_trace_rises(v->energy[i], v->energy[i + 1]);
    }
    return KERN_OK;
}

static double rising_fraction(const shown *v)
{
    return (double)v->rises / (double)(v->trace->tokens * (v->states - 1));
}

static kern_status draw(const shown *v, kern_error *err)
{
    char title[96];
    char label[96];
    double largest = 0;
    const model_layer_part part = v->settings->part;
    for (size_t i = 0; i < v->trace->tokens * v->states; i++) {
        largest = isfinite(v->energy[i]) ? fmax(largest, fabs(v->energy[i])) : largest;
    }
    (void)snprintf(title, sizeof title, "Conditional energies, layer %zu, %s", v->settings->layer,
                   model_layer_part_word(part));
    (void)snprintf(label, sizeof label, "energy <i>ε</i>  (%s)",
                   model_layer_energy_unit(part)->label);
    const viz_energy_data data = {.n_tokens = v->trace->tokens,
                                  .n_steps = v->states - 1,
                                  .trained_steps = v->trace->trained[part],
                                  .token_labels = v->tracing->texts,
                                  .energy = v->energy,
                                  .title = title,
                                  .energy_label = label,
                                  .rise_tolerance = 0x1p-40 * (1.0 + 2.0 * largest)};
    const viz_energy_style style = {.theme = v->settings->dark ? VIZ_DARK : VIZ_LIGHT};
    const viz_export_options export = {.session = v->tracing->recipe};
    viz_scene *scene = NULL;
    kern_status status = viz_energy_plot(&scene, NULL, &data, &style, err);
    if (status == KERN_OK) {
        status = viz_export(scene, v->settings->figure, &export, err);
    }
    viz_scene_destroy(scene);
    return status;
}

static kern_status print_json(const shown *v, kern_error *err)
{
    cli_json json;
    cli_json_init(&json);
    cJSON *tokens = cli_json_array(&json, json.object, "tokens");
    for (size_t i = 0; i < v->trace->tokens; i++) {
        cli_json_text(&json, tokens, NULL, v->tracing->texts[i]);
    }
    cli_json_size(&json, json.object, "steps", v->states - 1);
    cli_json_size(&json, json.object, "layer", v->settings->layer);
    cli_json_text(&json, json.object, "sublayer", model_layer_part_word(v->settings->part));
    cli_json_text(&json, json.object, "energy_unit",
                  model_layer_energy_unit(v->settings->part)->key);
    cJSON *energy = cli_json_array(&json, json.object, "energy");
    for (size_t i = 0; i < v->trace->tokens; i++) {
        (void)cli_json_reals(&json, energy, NULL, v->energy + i * v->states, v->states);
    }
    cli_json_real(&json, json.object, "rising_fraction", rising_fraction(v));
    cli_json_real(&json, json.object, "rising_fraction_all",
                  (double)v->trace->n_rising / (double)v->trace->n_steps);
    return cli_json_print(&json, err);
}

static void print_table(const shown *v)
{
    const model_layer_trace *t = v->trace;
    (void)printf("layer %zu, %s\n%5s  %-12s %14s %14s %7s\n", v->settings->layer,
                 model_layer_part_word(v->settings->part), "token", "text", "E at step 0",
                 "E at the end", "rises");
    for (size_t i = 0; i < t->tokens; i++) {
        const double *energy = v->energy + i * v->states;
        size_t rises = 0;
        for (size_t k = 0; k + 1 < v->states; k++) {
            rises += model_layer_trace_rises(energy[k], energy[k + 1]);
        }
        (void)printf("%5zu  %-12s %14.6g %14.6g %7zu\n", i, v->tracing->texts[i], energy[0],
                     energy[v->states - 1], rises);
    }
    (void)printf("\nenergy in units of %s; %zu of %zu steps rise here (%.1f %%), %zu of %zu in all "
                 "layers\nwritten: %s\n",
                 model_layer_energy_unit(v->settings->part)->meaning, v->rises,
                 t->tokens * (v->states - 1), 100.0 * rising_fraction(v), t->n_rising, t->n_steps,
                 v->settings->out);
    if (v->settings->figure != NULL) {
        (void)printf("figure:  %s\n", v->settings->figure);
    }
}

static kern_status show(shown *v, kern_error *err)
{
    const model_trace_labels labels = {.tokens = v->tracing->texts,
                                       .prompt = v->settings->prompt,
                                       .recipe = v->tracing->recipe,
                                       .with_states = v->settings->states};
    KERN_TRY(choose(v, err));
    KERN_TRY(model_layer_trace_write(v->trace, &labels, v->settings->out, err));
    if (v->settings->figure != NULL) {
        KERN_TRY(draw(v, err));
    }
    if (v->settings->json) {
        return print_json(v, err);
    }
    print_table(v);
    return KERN_OK;
}

kern_status cli_trace_layers(const cli_tracing *t, const cli_trace_settings *s, kern_error *err)
{
    const model_cem *cem = &t->run.run.config.cem;
    model_layer_trace *trace = NULL;
    const size_t attn = s->steps > 0 ? s->steps : 2 * cem->t_attn;
    const size_t mlp = s->steps > 0 ? s->steps : 2 * cem->t_mlp;
    KERN_TRY(model_layer_trace_create(&trace, t->run.m, t->ids, t->n, attn, mlp, err));
    shown v = {.trace = trace, .tracing = t, .settings = s};
    const kern_status status = show(&v, err);
    model_layer_trace_destroy(trace);
    return status;
}
