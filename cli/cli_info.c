/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * basin info: what a run is made of, or a model of basin gp.
 */
#include "cli/cli_commands.h"
#include "cli/cli_json.h"
#include "cli/cli_run.h"
#include "models/model_graph.h"
#include "models/model_training_json.h"
#include "synthetic/syn_gp_model.h"

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

typedef struct subject {
    const char *path;
    const model *m;
    size_t step;             /* optimizer steps behind it */
    const model_run *run;    /* NULL for a model of basin gp */
    const syn_gp_task *task; /* NULL for a run */
    char *config;            /* JSON, owned */
    double flops;            /* of a token, forward */
} subject;

/* Operations per token of a forward pass over a full block, for a run with embedding and loss, else
 * through the layers alone. */
static kern_status count_flops(const model *m, bool tokens, double *flops, kern_error *err)
{
    model_graph graph;
    const model_graph_options o = {.batch = 1,
                                   .tokens = m->config.block_size,
                                   .steps = m->config.n_layer,
                                   .start = tokens ? MODEL_START_TOKENS : MODEL_START_STATE,
                                   .loss = tokens};
    KERN_TRY(model_graph_init(&graph, m, &o, err));
    *flops = kern_graph_flops(graph.graph) / (double)o.tokens;
    model_graph_fini(&graph);
    return KERN_OK;
}

/* Tensors of one number, such as a trained η, are shown with it. */
static bool is_scalar(const model_param *p)
{
    return model_param_size(p) == 1;
}

static void add_tensors(cli_json *json, const model *m)
{
    cJSON *tensors = cli_json_array(json, json->object, "tensors");
    for (size_t i = 0; i < m->params.count; i++) {
        const model_param *p = &m->params.items[i];
        cJSON *item = cli_json_child(json, tensors, NULL);
        cli_json_text(json, item, "name", p->name);
        cJSON *shape = cli_json_array(json, item, "shape");
        if (p->rank == 2) {
            cli_json_size(json, shape, NULL, p->rows);
        }
        cli_json_size(json, shape, NULL, p->cols);
        cli_json_size(json, item, "parameters", model_param_size(p));
        if (is_scalar(p)) {
            cli_json_real(json, item, "value", model_value_get(m, p->offset));
        }
        cli_json_bool(json, item, "trained", p->trained);
    }
}

static void add_data(cli_json *json, const subject *s)
{
    cJSON *data = NULL;
    if (s->run == NULL) {
        data = cli_json_child(json, json->object, "data");
        cli_json_text(json, data, "kind", "gp");
        cli_json_text(json, data, "task", s->task->name);
        return;
    }
    cJSON *tokenizer = cli_json_child(json, json->object, "tokenizer");
    cli_json_text(json, tokenizer, "kind", model_token_kind_word(s->run->tokenizer.kind));
    cli_json_size(json, tokenizer, "vocab_size", s->run->tokenizer.vocab_size);
    data = cli_json_child(json, json->object, "data");
    cli_json_text(json, data, "kind", s->run->data_kind);
    cli_json_text(json, data, "path", s->run->data_path);
}

static kern_status print_json(const subject *s, kern_error *err)
{
    cli_json json;
    cli_json_init(&json);
    cli_json_text(&json, json.object, "family", model_config_family_name(&s->m->config));
    cli_json_raw(&json, json.object, "config", s->config);
    cli_json_size(&json, json.object, "parameters", s->m->params.elements);
    add_tensors(&json, s->m);
    cJSON *per_token = cli_json_child(&json, json.object, "flops_per_token");
    cli_json_real(&json, per_token, "forward", s->flops);
    cli_json_real(&json, per_token, "training", 3.0 * s->flops);
    cli_json_size(&json, json.object, "steps", s->step);
    add_data(&json, s);
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

static void print_tensor(const model *m, const model_param *p)
{
    char shape[48];
    char value[32] = "";
    if (p->rank == 2) {
        (void)snprintf(shape, sizeof shape, "%zu x %zu", p->rows, p->cols);
    } else {
        (void)snprintf(shape, sizeof shape, "%zu", p->cols);
    }
    if (is_scalar(p)) {
        (void)snprintf(value, sizeof value, "  = %.6g", model_value_get(m, p->offset));
    }
    (void)printf("  %-44s %16s %12zu%s%s\n", p->name, shape, model_param_size(p), value,
                 p->trained ? "" : "  fixed");
}

static void print_table(const model *m)
{
    (void)printf("\nparameters\n  %-44s %16s %12s\n", "name", "shape", "number");
    for (size_t i = 0; i < m->params.count; i++) {
        print_tensor(m, &m->params.items[i]);
    }
    (void)printf("  %-44s %16s %12zu\n", "all", "", m->params.elements);
}

static void print_data(const subject *s)
{
    if (s->run == NULL) {
        (void)printf("data     Gaussian process %s: %s\n", s->task->name, s->task->gloss);
    } else if (s->run->data_path[0] == '\0') { /* a file of weights does not say */
        (void)printf("data     not known, tokens are numbers\n");
    } else {
        (void)printf("data     %s:%s, tokens of kind %s, %zu different\n", s->run->data_kind,
                     s->run->data_path, model_token_kind_word(s->run->tokenizer.kind),
                     s->run->tokenizer.vocab_size);
    }
}

static void print_text(const subject *s)
{
    (void)printf("run      %s\nfamily   %s, %zu optimizer steps\n", s->path,
                 model_config_family_name(&s->m->config), s->step);
    print_data(s);
    (void)printf("\nconfiguration\n");
    print_members(s->config);
    print_table(s->m);
    (void)printf("\nfloating-point operations per token (blocks of %zu tokens%s)\n"
                 "  forward  %14.0f\n  training %14.0f\n",
                 s->m->config.block_size, s->run == NULL ? "; of the layers" : "", s->flops,
                 3.0 * s->flops);
}

static kern_status show(subject *s, bool json, kern_error *err)
{
    kern_status status = KERN_OK;
    KERN_TRY(count_flops(s->m, s->run != NULL, &s->flops, err));
    KERN_TRY(model_config_to_json(&s->m->config, &s->config, err));
    if (json) {
        status = print_json(s, err);
    } else {
        print_text(s);
    }
    free(s->config);
    return status;
}

static kern_status show_regressor(const info_settings *s, kern_error *err)
{
    syn_gp_model g = {0};
    kern_status status = syn_gp_model_init(&g, s->run, err);
    if (status == KERN_OK) {
        subject what = {.path = s->run, .m = g.m, .step = g.step, .task = g.task};
        status = show(&what, s->json, err);
    }
    syn_gp_model_fini(&g);
    return status;
}

static kern_status show_run(const info_settings *s, kern_error *err)
{
    cli_run r = {0};
    kern_status status = cli_run_open(&r, s->run, &kern_backend_cpu_f32, err);
    if (status == KERN_OK) {
        subject what = {.path = r.run.folder, .m = r.m, .step = r.step, .run = &r.run};
        status = show(&what, s->json, err);
    }
    cli_run_fini(&r);
    return status;
}

static kern_status run(cli_call *call, const void *settings, kern_error *err)
{
    const info_settings *s = settings;
    (void)call;
    return syn_gp_model_is(s->run) ? show_regressor(s, err) : show_run(s, err);
}

const cli_command cli_info = {
    .name = "info",
    .purpose = "configuration, parameter table and operations per token of a run",
    .description =
        "Shows what a run, or a model of basin gp, is made of: its configuration, data and tokens, "
        "every tensor with its shape, or its value where it is one number, and the floating-point "
        "operations that one token of a full block costs; training costs three forward passes.",
    .example = "basin info run",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .settings_size = sizeof(info_settings),
    .run = run,
};
