/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * basin info: what a run is made of.
 */
#include "cli/cli_commands.h"
#include "cli/cli_json.h"
#include "cli/cli_run.h"
#include "models/model_graph.h"
#include "models/model_training_json.h"

#include <stdlib.h>
#include <string.h>

typedef struct info_settings {
    const char *run;
    bool json;
} info_settings;

static const cli_option options[] = {
    CLI_OPTION_RUN(info_settings),
    CLI_OPTION_JSON(info_settings),
};

/* Operations per token of a forward pass over a full block, the loss included. */
static kern_status count_flops(const model *m, double *flops, kern_error *err)
{
    model_graph graph;
    const model_graph_options o = {.batch = 1,
                                   .tokens = m->config.block_size,
                                   .steps = m->config.n_layer,
                                   .start = MODEL_START_TOKENS,
                                   .loss = true};
    KERN_TRY(model_graph_init(&graph, m, &o, err));
    *flops = kern_graph_flops(graph.graph) / (double)o.tokens;
    model_graph_fini(&graph);
    return KERN_OK;
}

static void add_tensors(cli_json *json, const model_params *params)
{
    cJSON *tensors = cli_json_array(json, json->object, "tensors");
    for (size_t i = 0; i < params->count; i++) {
        const model_param *p = &params->items[i];
        cJSON *item = cli_json_child(json, tensors, NULL);
        cli_json_text(json, item, "name", p->name);
        cJSON *shape = cli_json_array(json, item, "shape");
        if (p->rank == 2) {
            cli_json_size(json, shape, NULL, p->rows);
        }
        cli_json_size(json, shape, NULL, p->cols);
        cli_json_size(json, item, "parameters", model_param_size(p));
        cli_json_bool(json, item, "trained", p->trained);
    }
}

static kern_status print_json(const cli_run *r, double flops, const char *config, kern_error *err)
{
    cli_json json;
    const model_run *run = &r->run;
    cli_json_init(&json);
    cli_json_text(&json, json.object, "family", model_config_family_name(&run->config));
    cli_json_raw(&json, json.object, "config", config);
    cli_json_size(&json, json.object, "parameters", r->m->params.elements);
    add_tensors(&json, &r->m->params);
    cJSON *per_token = cli_json_child(&json, json.object, "flops_per_token");
    cli_json_real(&json, per_token, "forward", flops);
    cli_json_real(&json, per_token, "training", 3.0 * flops);
    cli_json_size(&json, json.object, "steps", r->step);
    cJSON *tokenizer = cli_json_child(&json, json.object, "tokenizer");
    cli_json_text(&json, tokenizer, "kind", model_token_kind_word(run->tokenizer.kind));
    cli_json_size(&json, tokenizer, "vocab_size", run->tokenizer.vocab_size);
    cJSON *data = cli_json_child(&json, json.object, "data");
    cli_json_text(&json, data, "kind", run->data_kind);
    cli_json_text(&json, data, "path", run->data_path);
    return cli_json_print(&json, err);
}

/* Prints a JSON object of plain members as indented lines without its brackets and quotes. */
static void print_members(const char *text)
{
    cJSON *object = cJSON_Parse(text);
    for (const cJSON *item = object != NULL ? object->child : NULL; item != NULL;
         item = item->next) {
        char *value = cJSON_PrintUnformatted(item);
        const size_t n = value != NULL ? strlen(value) : 0;
        const bool quoted = n >= 2 && value[0] == '"';
        (void)printf("  %-16s %.*s\n", item->string, (int)(quoted ? n - 2 : n),
                     value != NULL ? value + (quoted ? 1 : 0) : "");
        free(value);
    }
    cJSON_Delete(object);
}

static void print_table(const model_params *params)
{
    (void)printf("\nparameters\n  %-44s %16s %12s\n", "name", "shape", "number");
    for (size_t i = 0; i < params->count; i++) {
        const model_param *p = &params->items[i];
        char shape[48];
        if (p->rank == 2) {
            (void)snprintf(shape, sizeof shape, "%zu x %zu", p->rows, p->cols);
        } else {
            (void)snprintf(shape, sizeof shape, "%zu", p->cols);
        }
        (void)printf("  %-44s %16s %12zu%s\n", p->name, shape, model_param_size(p),
                     p->trained ? "" : "  fixed");
    }
    (void)printf("  %-44s %16s %12zu\n", "all", "", params->elements);
}

static void print_text(const cli_run *r, double flops, const char *config)
{
    const model_run *run = &r->run;
    (void)printf("run      %s\nfamily   %s, %zu optimizer steps\n", run->folder,
                 model_config_family_name(&run->config), r->step);
    (void)printf("data     %s:%s, tokens of kind %s, %zu different\n", run->data_kind,
                 run->data_path, model_token_kind_word(run->tokenizer.kind),
                 run->tokenizer.vocab_size);
    (void)printf("\nconfiguration\n");
    print_members(config);
    print_table(&r->m->params);
    (void)printf("\nfloating-point operations per token (blocks of %zu tokens)\n"
                 "  forward  %14.0f\n  training %14.0f\n",
                 run->config.block_size, flops, 3.0 * flops);
}

static kern_status show(const cli_run *r, const info_settings *s, kern_error *err)
{
    double flops = 0;
    char *config = NULL;
    KERN_TRY(count_flops(r->m, &flops, err));
    KERN_TRY(model_config_to_json(&r->run.config, &config, err));
    kern_status status = KERN_OK;
    if (s->json) {
        status = print_json(r, flops, config, err);
    } else {
        print_text(r, flops, config);
    }
    free(config);
    return status;
}

static kern_status run(cli_call *call, const void *settings, kern_error *err)
{
    const info_settings *s = settings;
    cli_run r = {0};
    (void)call;
    kern_status status = cli_run_open(&r, s->run, &kern_backend_cpu_f32, err);
    if (status == KERN_OK) {
        status = show(&r, s, err);
    }
    cli_run_fini(&r);
    return status;
}

const cli_command cli_info = {
    .name = "info",
    .purpose = "configuration, parameter table and operations per token of a run",
    .description =
        "Shows what a run is made of: its configuration, data and tokens, every tensor with its "
        "shape, and the floating-point operations that one token of a full block costs; training "
        "costs three forward passes.",
    .example = "basin info run",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .settings_size = sizeof(info_settings),
    .run = run,
};
