/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_forward.h"
#include "models/model_layer_private.h"
#include "models/model_stack.h"

#include <string.h>

kern_status model__layer_check(const model *m, size_t layer, size_t tokens, kern_error *err)
{
    if (!model_config_is_stack(&m->config)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a model of family %s has no layers to look at one by one; accepted are "
                          "llama, cem and hourglass",
                          model_config_family_name(&m->config));
    }
    if (m->backend->real_size != sizeof(double)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "a map needs a double-precision model");
    }
    if (layer >= m->config.n_layer) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "layer %zu is not within 0 to %zu", layer,
                          m->config.n_layer - 1);
    }
    return model_check_prompt(m, NULL, tokens, err);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

kern_status model__layer_begin(model_builder *b, const model *m, size_t tokens, bool energies,
                               kern_value *input, kern_error *err)
{
    *b = (model_builder){.config = &m->config,
                         .params = &m->params,
                         .batch = 1,
                         .tokens = tokens,
                         .energies = energies};
    KERN_TRY(kern_graph_create(&b->graph, err));
    *input = kern_graph_input(b->graph, (kern_shape){tokens, m->config.n_embed});
    return KERN_OK;
}

kern_status model__layer_run_init(model__layer_run *run, const model *m, kern_graph *graph,
                                  const kern_plan_options *options, kern_error *err)
{
    *run = (model__layer_run){.graph = graph};
    KERN_TRY(kern_graph_finish(graph, err));
    KERN_TRY(kern_plan_create(&run->plan, graph, options, err));
    return kern_exec_create(&run->exec, run->plan, m->backend, 1, err);
}

void model__layer_run_fini(model__layer_run *run)
{
    kern_exec_destroy(run->exec);
    kern_plan_destroy(run->plan);
    kern_graph_destroy(run->graph);
    *run = (model__layer_run){0};
}

kern_status model__layer_evaluate(const model *m, kern_graph *graph, kern_value input,
                                  const double *h, const kern_value *values, double *const *out,
                                  size_t n, kern_error *err)
{
    const kern_plan_options forward = {.mode = KERN_MODE_FORWARD};
    const kern_run binding = {.params = m->values};
    const kern_shape rows = kern_graph_value_info(graph, input)->shape;
    model__layer_run run;
    const kern_status status = model__layer_run_init(&run, m, graph, &forward, err);
    if (status == KERN_OK) {
        memcpy(kern_exec_value(run.exec, input), h, rows.rows * rows.cols * sizeof *h);
        kern_exec_forward(run.exec, &binding);
    }
    for (size_t i = 0; status == KERN_OK && i < n; i++) {
        if (out[i] != NULL && values[i] != KERN_NO_VALUE) {
            const kern_shape s = kern_graph_value_info(graph, values[i])->shape;
            memcpy(out[i], kern_exec_value(run.exec, values[i]), s.rows * s.cols * sizeof *h);
        }
    }
    model__layer_run_fini(&run);
    return status;
}

kern_status model__layer_adopt(model_map **out, model_builder *b, const model *m, kern_value input,
                               kern_value next, kern_error *err)
{
    kern_graph_keep(b->graph, next);
    const kern_status status = kern_graph_finish(b->graph, err);
    if (status != KERN_OK) {
        kern_graph_destroy(b->graph);
        return status;
    }
    return model_map_adopt(out, m, b->graph, input, next, b->tokens, err);
}

kern_status model__layer_part(model_map **out, const model *m, size_t layer, model_layer_part part,
                              size_t tokens, kern_error *err)
{
    model_builder b;
    kern_value input;
    KERN_TRY(model__layer_begin(&b, m, tokens, false, &input, err));
    const kern_value next = model_sublayer_get(&m->config, part)->build(&b, layer, input);
    return model__layer_adopt(out, &b, m, input, next, err);
}

/* ---- prompts ----------------------------------------------------------------------------------
 */

/* The feed-forward part reads what attention makes of the layer's input, in place. */
static kern_status apply_attention(const model *m, size_t layer, size_t tokens, double *h,
                                   kern_error *err)
{
    model_builder b;
    kern_value input;
    KERN_TRY(model__layer_begin(&b, m, tokens, false, &input, err));
    const kern_value out =
        model_sublayer_get(&m->config, MODEL_LAYER_ATTN)->build(&b, layer, input);
    kern_graph_keep(b.graph, out);
    return model__layer_evaluate(m, b.graph, input, h, &out, &h, 1, err);
}

kern_status model_layer_input(const model *m, size_t layer, model_layer_part part,
                              const int32_t *ids, size_t tokens, double *h, kern_error *err)
{
    KERN_TRY(model__layer_check(m, layer, tokens, err));
    KERN_TRY(model_check_prompt(m, ids, tokens, err));
    const model_graph_options options = {.batch = 1,
                                         .tokens = tokens,
                                         .steps = m->config.n_layer,
                                         .start = MODEL_START_TOKENS,
                                         .keep_steps = true};
    model_forward forward;
    KERN_TRY(model_forward_init(&forward, m, &options, 1, err));
    model_forward_run(&forward, 0, ids, NULL);
    memcpy(h, model_forward_value(&forward, 0, forward.graph.states[layer]),
           tokens * m->config.n_embed * sizeof *h);
    model_forward_fini(&forward);
    return part == MODEL_LAYER_FFN ? apply_attention(m, layer, tokens, h, err) : KERN_OK;
}

static kern_status apply_layer(const model *m, size_t layer, size_t tokens, double *h,
                               kern_error *err)
{
    model_builder b;
    kern_value input;
    KERN_TRY(model__layer_begin(&b, m, tokens, false, &input, err));
    const kern_value out = model_family_get(m->config.family)->build_step(&b, input, layer).state;
    kern_graph_keep(b.graph, out);
    return model__layer_evaluate(m, b.graph, input, h, &out, &h, 1, err);
}

kern_status model_layer_input_at(const model *m, size_t layer, model_layer_part part,
                                 const double *x, size_t tokens, double *h, kern_error *err)
{
    KERN_TRY(model__layer_check(m, layer, tokens, err));
    memmove(h, x, tokens * m->config.n_embed * sizeof *h);
    for (size_t l = 0; l < layer; l++) {
        KERN_TRY(apply_layer(m, l, tokens, h, err));
    }
    return part == MODEL_LAYER_FFN ? apply_attention(m, layer, tokens, h, err) : KERN_OK;
}

/* ---- words ------------------------------------------------------------------------------------
 */

const char *model_layer_part_word(model_layer_part part)
{
    return part == MODEL_LAYER_ATTN ? "attn" : "mlp";
}

kern_status model_layer_part_parse(model_layer_part *out, const char *word, kern_error *err)
{
    const bool attn = strcmp(word, "attn") == 0;
    if (!attn && strcmp(word, "ffn") != 0 && strcmp(word, "mlp") != 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "\"%s\" is no part of a layer; accepted are attn and mlp (or ffn)", word);
    }
    *out = attn ? MODEL_LAYER_ATTN : MODEL_LAYER_FFN;
    return KERN_OK;
}
