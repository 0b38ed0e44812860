/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_vectors.h"

#include "kernels/kern_memory.h"
#include "models/model_vectors_private.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading -------------------------------------------------------------------------------- */

static kern_status read_ids(const model__checker *c, const char *name, size_t limit, int32_t **ids)
{
    const size_t shape[] = {c->batch, c->tokens};
    const model_safetensors_entry *entry;
    KERN_TRY(model_safetensors_require(c->file, name, 2, shape, &entry, c->err));
    int64_t *wide = malloc((entry->count + 1) * sizeof *wide);
    *ids = calloc(entry->count + 1, sizeof **ids);
    kern_status status = KERN_OK;
    if (wide == NULL || *ids == NULL) {
        status = kern_raise(c->err, KERN_NO_MEMORY, "no memory for tensor %s", name);
    } else {
        status = model_safetensors_read_i64(c->file, entry, wide, entry->count, c->err);
    }
    for (size_t i = 0; status == KERN_OK && i < entry->count; i++) {
        if (wide[i] < 0 || wide[i] >= (int64_t)limit) {
            status =
                kern_raise(c->err, KERN_BAD_INPUT, "entry %zu of %s is %lld, accepted are 0 to %zu",
                           i, name, (long long)wide[i], limit - 1);
        }
        (*ids)[i] = (int32_t)wide[i];
    }
    free(wide);
    return status;
}

static kern_status read_weights(model__checker *c)
{
    for (size_t i = 0; i < c->m->params.count; i++) {
        const model_param *p = &c->m->params.items[i];
        char name[MODEL_PARAM_NAME + 8];
        double *values;
        (void)snprintf(name, sizeof name, "param/%s", p->name);
        KERN_TRY(model__checker_read(c, name, model_param_size(p), &values));
        for (size_t k = 0; k < model_param_size(p); k++) {
            model_value_set(c->m, p->offset + k, values[k]);
        }
        free(values);
    }
    return model_check_finite(c->m, c->err);
}

/* ---- checks by name ------------------------------------------------------------------------- */

/* A check of tensor `entry`, whose name ends in `tail` after the prefix of the table. */
typedef kern_status entry_check(model__checker *c, const model_safetensors_entry *entry,
                                const char *tail);

static kern_status check_state(model__checker *c, const model_safetensors_entry *entry,
                               const char *tail)
{
    const size_t t = model__checker_number(tail, c->graph.n_steps);
    return t == SIZE_MAX ? model__checker_no_step(c, entry)
                         : model__checker_compare_value(c, entry, c->graph.states[t]);
}

static kern_status check_energy_attn(model__checker *c, const model_safetensors_entry *entry,
                                     const char *tail)
{
    const size_t t = model__checker_number(tail, c->graph.n_steps);
    return t == SIZE_MAX ? model__checker_no_step(c, entry)
                         : model__checker_compare_value(c, entry, c->graph.steps[t].energy_attn);
}

static kern_status check_energy_ff(model__checker *c, const model_safetensors_entry *entry,
                                   const char *tail)
{
    const size_t t = model__checker_number(tail, c->graph.n_steps);
    return t == SIZE_MAX ? model__checker_no_step(c, entry)
                         : model__checker_compare_value(c, entry, c->graph.steps[t].energy_ff);
}

static kern_status check_logits(model__checker *c, const model_safetensors_entry *entry,
                                const char *tail)
{
    (void)tail;
    return model__checker_compare_value(c, entry, c->graph.logits);
}

static kern_status check_loss(model__checker *c, const model_safetensors_entry *entry,
                              const char *tail)
{
    const double *nll = kern_exec_value(c->exec, c->graph.nll);
    const size_t rows = c->batch * c->tokens;
    double loss = 0;
    (void)tail;
    for (size_t i = 0; i < rows; i++) {
        loss += nll[i] / (double)rows;
    }
    return model__checker_compare(c, entry, &loss, 1, MODEL_VECTORS_TOLERANCE);
}

static kern_status check_gradient(model__checker *c, const model_safetensors_entry *entry,
                                  const char *tail)
{
    const model_param *p = model_params_find(&c->m->params, tail);
    if (p == NULL) {
        return kern_raise(c->err, KERN_BAD_INPUT, "tensor %s is no parameter of this model",
                          entry->name);
    }
    return model__checker_compare(c, entry, c->gradients + p->offset, model_param_size(p),
                                  MODEL_VECTORS_GRADIENT_TOLERANCE);
}

/* Parameters are inputs: that each is known and complete is all there is to check. One that this
 * model does not have may stand in the file as long as the reference does not use it either, which
 * shows in its having no gradient (the norms of sub-MLPs under a norm in front of them). */
static kern_status check_param(model__checker *c, const model_safetensors_entry *entry,
                               const char *tail)
{
    char gradient[MODEL_PARAM_NAME + 8];
    (void)snprintf(gradient, sizeof gradient, "grad/%s", tail);
    if (model_params_find(&c->m->params, tail) == NULL &&
        model_safetensors_find(c->file, gradient) != NULL) {
        return kern_raise(c->err, KERN_BAD_INPUT, "tensor %s is no parameter of this model",
                          entry->name);
    }
    return KERN_OK;
}

static kern_status check_input(model__checker *c, const model_safetensors_entry *entry,
                               const char *tail)
{
    (void)c;
    (void)entry;
    (void)tail;
    return KERN_OK;
}

/* ---- the file ------------------------------------------------------------------------------- */

/* Names ending in '/' or '.' are prefixes. */
static const struct {
    const char *name;
    entry_check *check;
} entry_checks[] = {
    {"state/", check_state},
    {"energy_attn/", check_energy_attn},
    {"energy_ff/", check_energy_ff},
    {"logits", check_logits},
    {"loss", check_loss},
    {"param/", check_param},
    {"grad/", check_gradient},
    {"grad_g_published/", model__check_published},
    {"grad_g_exact/", model__check_exact},
    {"trace/layers.", model__check_trace},
    {"jvp_in", check_input},
    {"vjp_in", check_input},
    {"idx", check_input},
    {"targets", check_input},
    {"jvp_out", model__check_jvp},
    {"vjp_out", model__check_vjp},
    {"jac_token_blocks", model__check_blocks},
    {"jac_eig_abs_sorted", model__check_spectrum},
};

static kern_status check_entry(model__checker *c, const model_safetensors_entry *entry)
{
    for (size_t i = 0; i < sizeof entry_checks / sizeof *entry_checks; i++) {
        const char *name = entry_checks[i].name;
        const size_t length = strlen(name);
        const bool prefix = name[length - 1] == '/' || name[length - 1] == '.';
        if (prefix ? strncmp(entry->name, name, length) == 0 : strcmp(entry->name, name) == 0) {
            return entry_checks[i].check(c, entry, entry->name + length);
        }
    }
    return kern_raise(c->err, KERN_BAD_INPUT, "tensor %s has no known meaning", entry->name);
}

static kern_status run_model(model__checker *c)
{
    const bool energies = model_family_get(c->m->config.family)->build_energy != NULL ||
                          model_config_is_stack(&c->m->config);
    const model_graph_options options = {.batch = c->batch,
                                         .tokens = c->tokens,
                                         .steps = c->m->config.n_layer,
                                         .start = MODEL_START_TOKENS,
                                         .readout = true,
                                         .loss = true,
                                         .energies = energies,
                                         .keep_steps = true,
                                         .keep_inner = true};
    KERN_TRY(model_graph_init(&c->graph, c->m, &options, c->err));
    const kern_plan_options plan = {
        .mode = KERN_MODE_VJP, .params = true, .seeds = &c->graph.nll, .n_seeds = 1};
    KERN_TRY(kern_plan_create(&c->plan, c->graph.graph, &plan, c->err));
    KERN_TRY(kern_exec_create(&c->exec, c->plan, c->m->backend, 1, c->err));
    c->packed = kern_memory_create(kern_graph_pack_count(c->graph.graph), sizeof(double));
    c->gradients = calloc(c->m->params.length, sizeof *c->gradients);
    if (c->packed == NULL || c->gradients == NULL) {
        return kern_raise(c->err, KERN_NO_MEMORY, "no memory for the gradients");
    }
    kern_graph_pack(c->graph.graph, c->m->backend, c->packed, c->m->values, 1);
    const kern_run run = {.params = c->m->values,
                          .packed = c->packed,
                          .param_gradients = c->gradients,
                          .bindings = {.index = {c->idx, c->targets}}};
    kern_exec_forward(c->exec, &run);
    double *seed = kern_exec_derivative(c->exec, c->graph.nll);
    for (size_t i = 0; i < c->batch * c->tokens; i++) {
        seed[i] = 1.0 / (double)(c->batch * c->tokens);
    }
    kern_exec_backward(c->exec, &run);
    return KERN_OK;
}

static kern_status load(model__checker *c, model_family family)
{
    const char *text = model_safetensors_metadata(c->file, "config");
    const model_safetensors_entry *idx = model_safetensors_find(c->file, "idx");
    model_config config;
    if (text == NULL || idx == NULL || idx->rank != 2 || idx->count == 0) {
        return kern_raise(
            c->err, KERN_BAD_INPUT,
            "reference vectors need a \"config\" in the metadata and token ids \"idx\" "
            "of shape (B, N)");
    }
    KERN_TRY(model_config_from_json(&config, family, text, c->err));
    c->batch = idx->shape[0];
    c->tokens = idx->shape[1];
    KERN_TRY(model_create(&c->m, &config, &kern_backend_cpu_f64, c->err));
    KERN_TRY(read_ids(c, "idx", config.vocab_size, &c->idx));
    KERN_TRY(read_ids(c, "targets", config.vocab_size, &c->targets));
    KERN_TRY(read_weights(c));
    return run_model(c);
}

static void checker_fini(model__checker *c)
{
    kern_exec_destroy(c->exec);
    kern_plan_destroy(c->plan);
    if (c->graph.graph != NULL) {
        model_graph_fini(&c->graph);
    }
    model_destroy(c->m);
    free(c->idx);
    free(c->targets);
    free(c->packed);
    free(c->gradients);
}

/* A file without results would pass by having nothing to compare. */
static kern_status require_results(const model__checker *c)
{
    char last[32];
    (void)snprintf(last, sizeof last, "state/%zu", c->graph.n_steps);
    const char *const names[] = {"logits", "loss", last};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (model_safetensors_find(c->file, names[i]) == NULL) {
            return kern_raise(c->err, KERN_BAD_INPUT,
                              "the file has no tensor %s; reference vectors hold at least logits, "
                              "loss and states",
                              names[i]);
        }
    }
    return KERN_OK;
}

static kern_status check_file(model__checker *c)
{
    model_family family;
    const char *word = model_safetensors_metadata(c->file, "family");
    if (word == NULL) {
        return kern_raise(c->err, KERN_BAD_INPUT, "the metadata names no family");
    }
    (void)snprintf(c->report->family, sizeof c->report->family, "%s", word);
    if (!model_family_find(word, &family)) {
        return KERN_OK;
    }
    c->report->known_family = true;
    KERN_TRY(load(c, family));
    for (size_t i = 0; i < model_safetensors_count(c->file); i++) {
        KERN_TRY(check_entry(c, model_safetensors_at(c->file, i)));
    }
    return require_results(c);
}

kern_status model_vectors_check(const char *path, model_vectors_report *report, kern_error *err)
{
    model_safetensors *file = NULL;
    *report = (model_vectors_report){0};
    KERN_TRY(model_safetensors_create(&file, path, err));
    model__checker c = {.file = file, .report = report, .err = err};
    const kern_status status = check_file(&c);
    checker_fini(&c);
    model_safetensors_destroy(file);
    return status;
}
