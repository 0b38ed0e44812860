/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * basin trace: energies of every token while the trained block is applied again and again.
 */
#include "cli/cli_trace.h"
#include "cli/cli_commands.h"
#include "cli/cli_files.h"
#include "cli/cli_json.h"
#include "models/model_hdf5.h"
#include "viz/viz_energy_plot.h"
#include "viz/viz_export.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TRACE_STEPS_MAX = 1000000 };

static kern_status parse_part(void *member, const char *value, kern_error *err)
{
    return model_layer_part_parse(member, value, err);
}

static void show_part(const void *member, char out[CLI_VALUE_TEXT])
{
    (void)snprintf(out, CLI_VALUE_TEXT, "%s",
                   model_layer_part_word(*(const model_layer_part *)member));
}

static const cli_option options[] = {
    CLI_OPTION_RUN(cli_trace_settings),
    {.name = "prompt",
     .value = "TEXT",
     .kind = CLI_TEXT,
     .required = true,
     .offset = offsetof(cli_trace_settings, prompt),
     .help = "text whose tokens are traced"},
    {.name = "out",
     .value = "F.h5",
     .kind = CLI_TEXT,
     .required = true,
     .offset = offsetof(cli_trace_settings, out),
     .help = "HDF5 file to write"},
    {.name = "steps",
     .value = "T",
     .kind = CLI_SIZE,
     .low = 1,
     .high = TRACE_STEPS_MAX,
     .hide_default = true,
     .offset = offsetof(cli_trace_settings, steps),
     .help =
         "applications of the block, or steps of every CEM sub-layer, which hands on what it has "
         "after those of training (default: twice as many as in training)"},
    {.name = "layer",
     .value = "L",
     .kind = CLI_SIZE,
     .high = TRACE_STEPS_MAX,
     .offset = offsetof(cli_trace_settings, layer),
     .help = "layer of a cem model that the table, --json and --figure show; --out holds all"},
    {.name = "sublayer",
     .value = "PART",
     .kind = CLI_WORD,
     .accepted = "attn and mlp",
     .offset = offsetof(cli_trace_settings, part),
     .parse = parse_part,
     .show = show_part,
     .help = "its part: attn or mlp"},
    {.name = "figure",
     .value = "FILE",
     .kind = CLI_TEXT,
     .offset = offsetof(cli_trace_settings, figure),
     .help = "draw energy against step to this .pdf, .svg, .png or .csv file"},
    {.name = "dark",
     .kind = CLI_FLAG,
     .offset = offsetof(cli_trace_settings, dark),
     .help = "draw the figure on a dark page"},
    {.name = "states",
     .kind = CLI_FLAG,
     .offset = offsetof(cli_trace_settings, states),
     .help = "write the states x too, not only the normalised states g"},
    CLI_OPTION_JSON(cli_trace_settings),
};

static void tracing_fini(cli_tracing *t)
{
    model_trace_destroy(t->trace);
    free(t->recipe);
    free(t->texts);
    free(t->labels);
    free(t->ids);
    cli_run_fini(&t->run);
}

static kern_status label_tokens(cli_tracing *t, kern_error *err)
{
    t->labels = calloc(t->n, sizeof *t->labels);
    t->texts = calloc(t->n, sizeof *t->texts);
    if (t->labels == NULL || t->texts == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "not enough memory for %zu labels", t->n);
    }
    for (size_t i = 0; i < t->n; i++) {
        model_tokenizer_label(&t->run.run.tokenizer, t->ids[i], t->labels[i]);
        t->texts[i] = t->labels[i];
    }
    return KERN_OK;
}

/* What made the result, as JSON: it goes into the HDF5 file and into the figure. */
static kern_status write_recipe(cli_tracing *t, const cli_trace_settings *s, size_t steps,
                                kern_error *err)
{
    cli_json json;
    char *config = NULL;
    KERN_TRY(model_config_to_json(&t->run.run.config, &config, err));
    cli_json_init(&json);
    cli_json_text(&json, json.object, "command", "basin trace");
    cli_json_text(&json, json.object, "run", s->run);
    cli_json_text(&json, json.object, "family", model_config_family_name(&t->run.run.config));
    cli_json_raw(&json, json.object, "model", config);
    cli_json_size(&json, json.object, "trained_for", t->run.step);
    cli_json_text(&json, json.object, "prompt", s->prompt);
    cli_json_size(&json, json.object, "steps", steps);
    free(config);
    return cli_json_take(&json, &t->recipe, err);
}

static kern_status compute(cli_tracing *t, const cli_trace_settings *s, kern_error *err)
{
    KERN_TRY(cli_run_open(&t->run, s->run, &kern_backend_cpu_f64, err));
    const model_config *config = &t->run.run.config;
    const size_t steps = s->steps > 0 ? s->steps : 2 * config->n_layer;
    KERN_TRY(cli_run_encode_prompt(&t->run, s->prompt, config->block_size, &t->ids, &t->n, err));
    KERN_TRY(label_tokens(t, err));
    if (t->part_given && !model_config_is_stack(config)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "--layer and --sublayer are for models with layers; the block of a %s is "
                          "one",
                          model_config_family_name(config));
    }
    if (model_config_is_stack(config)) {
        const bool attn = s->part == MODEL_LAYER_ATTN;
        const size_t usual = 2 * (attn ? config->cem.t_attn : config->cem.t_mlp);
        return write_recipe(t, s, s->steps > 0 ? s->steps : usual, err);
    }
    KERN_TRY(write_recipe(t, s, steps, err));
    return model_trace_create(&t->trace, t->run.m, t->ids, t->n, steps, err);
}

/* ---- Results ----------------------------------------------------------------------------- */

static kern_status write_file(const cli_tracing *t, const cli_trace_settings *s, kern_error *err)
{
    const model_trace_labels labels = {
        .tokens = t->texts, .prompt = s->prompt, .recipe = t->recipe, .with_states = s->states};
    return model_trace_write(t->trace, &labels, s->out, err);
}

/* The trace calls a rise what exceeds 2⁻⁴⁰ of the energies' size; the figure marks the same. */
static double rise_tolerance(const model_trace *trace)
{
    double largest = 0;
    for (size_t i = 0; i < trace->tokens * (trace->steps + 1); i++) {
        if (isfinite(trace->energy[i])) {
            largest = fmax(largest, fabs(trace->energy[i]));
        }
    }
    return 0x1p-40 * (1.0 + 2.0 * largest);
}

static kern_status draw_figure(const cli_tracing *t, const cli_trace_settings *s, kern_error *err)
{
    const model_trace *trace = t->trace;
    const viz_energy_data data = {.n_tokens = trace->tokens,
                                  .n_steps = trace->steps,
                                  .trained_steps = trace->trained_steps,
                                  .token_labels = t->texts,
                                  .energy = trace->energy,
                                  .attention = trace->energy_attn,
                                  .feed_forward = trace->energy_ff,
                                  .rise_tolerance = rise_tolerance(trace)};
    const viz_energy_style style = {.theme = s->dark ? VIZ_DARK : VIZ_LIGHT};
    const viz_export_options export = {.session = t->recipe};
    viz_scene *scene = NULL;
    kern_status status = viz_energy_plot(&scene, NULL, &data, &style, err);
    if (status == KERN_OK) {
        status = viz_export(scene, s->figure, &export, err);
    }
    viz_scene_destroy(scene);
    return status;
}

static kern_status print_json(const cli_tracing *t, kern_error *err)
{
    cli_json json;
    const model_trace *trace = t->trace;
    cli_json_init(&json);
    cJSON *tokens = cli_json_array(&json, json.object, "tokens");
    for (size_t i = 0; i < t->n; i++) {
        cli_json_text(&json, tokens, NULL, t->texts[i]);
    }
    cli_json_size(&json, json.object, "steps", trace->steps);
    cJSON *energy = cli_json_array(&json, json.object, "energy");
    for (size_t i = 0; i < t->n; i++) {
        (void)cli_json_reals(&json, energy, NULL, trace->energy + i * (trace->steps + 1),
                             trace->steps + 1);
    }
    cli_json_real(&json, json.object, "rising_fraction", model_trace_rising_fraction(trace));
    return cli_json_print(&json, err);
}

static void print_table(const cli_tracing *t, const cli_trace_settings *s)
{
    const model_trace *trace = t->trace;
    (void)printf("%5s  %-12s %14s %14s %7s\n", "token", "text", "E at step 0", "E at the end",
                 "rises");
    for (size_t i = 0; i < trace->tokens; i++) {
        size_t rises = 0;
        for (size_t k = 0; k < trace->steps; k++) {
            rises += trace->rising[i * trace->steps + k] ? 1 : 0;
        }
        const double *energy = trace->energy + i * (trace->steps + 1);
        (void)printf("%5zu  %-12s %14.6g %14.6g %7zu\n", i, t->texts[i], energy[0],
                     energy[trace->steps], rises);
    }
    (void)printf("\nenergy in nats; %zu of %zu steps rise (%.1f %%)\nwritten: %s\n",
                 trace->n_rising, trace->tokens * trace->steps,
                 100.0 * model_trace_rising_fraction(trace), s->out);
    if (s->figure != NULL) {
        (void)printf("figure:  %s\n", s->figure);
    }
}

static kern_status trace_all(cli_tracing *t, const cli_trace_settings *s, kern_error *err)
{
    KERN_TRY(compute(t, s, err));
    if (t->trace == NULL) {
        return cli_trace_layers(t, s, err);
    }
    KERN_TRY(write_file(t, s, err));
    if (s->figure != NULL) {
        KERN_TRY(draw_figure(t, s, err));
    }
    if (s->json) {
        return print_json(t, err);
    }
    print_table(t, s);
    return KERN_OK;
}

/* Both results must have a place before anything is computed. */
static kern_status check_outputs(const cli_trace_settings *s, kern_error *err)
{
    kern_error why = {0};
    kern_status status = model_hdf5_check_path(s->out, &why);
    if (status != KERN_OK) {
        return kern_raise(err, status, "--out: %s", why.text);
    }
    if (s->figure == NULL) {
        return KERN_OK;
    }
    status = viz_export_check_path(s->figure, &why);
    if (status != KERN_OK) {
        return kern_raise(err, status, "--figure: %s", why.text);
    }
    return cli_files_check_distinct("out", s->out, "figure", s->figure, err);
}

static kern_status run(cli_call *call, const void *settings, kern_error *err)
{
    const cli_trace_settings *s = settings;
    cli_tracing t = {0};
    KERN_TRY(check_outputs(s, err));
    t.part_given = cli_args_given(call, "layer") || cli_args_given(call, "sublayer");
    const kern_status status = trace_all(&t, s, err);
    tracing_fini(&t);
    return status;
}

const cli_command cli_trace = {
    .name = "trace",
    .purpose = "energies of every token, step by step",
    .description =
        "Applies the trained block again and again to the tokens of a prompt, in double precision, "
        "and records for every token and step the energy and its two terms, the normalised state, "
        "the norm's denominator, the tangential gradient, and the change of energy as predicted "
        "to first order and as it came out. Of a cem model it follows the steps inside every part "
        "of "
        "every layer, with the inputs that the trained model gives them.",
    .example = "basin trace run --prompt \"max_10 ( 2 9 3 ) =\" --steps 12 --out trace.h5 "
               "--figure trace.pdf",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .settings_size = sizeof(cli_trace_settings),
    .run = run,
};
