/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model.h"

#include "kernels/kern_memory.h"
#include "kernels/kern_rng.h"
#include "models/model_family.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const model_family_ops *const families[] = {
    [MODEL_NRGPT] = &model_family_nrgpt,         [MODEL_GPT] = &model_family_gpt,
    [MODEL_LLAMA] = &model_family_llama,         [MODEL_CEM] = &model_family_cem,
    [MODEL_HOURGLASS] = &model_family_hourglass,
};

const model_family_ops *model_family_get(model_family family)
{
    return families[family];
}

const char *model_family_head(const model_config *config)
{
    const model_outer *outer = model_family_get(config->family)->outer;
    const bool tied = model_config_is_stack(config) && config->tied_head;
    return tied ? outer->embedding : outer->head;
}

bool model_family_find(const char *word, model_family *out)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        if (strcmp(word, families[i]->word) == 0) {
            *out = (model_family)i;
            return true;
        }
    }
    return false;
}

/* A tensor outside the blocks. */
typedef struct outer_tensor {
    const char *name;
    size_t rank;
    size_t rows;
    size_t cols;
    double constant;
} outer_tensor;

static kern_status add_outer(model_params *params, outer_tensor t, kern_error *err)
{
    if (t.name == NULL) {
        return KERN_OK;
    }
    const bool matrix = t.rank == 2;
    model_param row = {.rank = t.rank,
                       .rows = t.rows,
                       .cols = t.cols,
                       .init = matrix ? MODEL_INIT_NORMAL : MODEL_INIT_CONSTANT,
                       .value = matrix ? 0.02 : t.constant,
                       .trained = true};
    (void)snprintf(row.name, sizeof row.name, "%s", t.name);
    return model_params_add(params, &row, NULL, err);
}

static kern_status build_table(model_params *params, const model_config *c, kern_error *err)
{
    const model_family_ops *family = model_family_get(c->family);
    const model_outer *o = family->outer;
    const char *head = model_family_head(c);
    const outer_tensor before[] = {
        {o->embedding, 2, c->vocab_size, c->n_embed, 0},
        {o->position, 2, c->block_size, c->n_embed, 0},
    };
    const outer_tensor after[] = {
        {o->norm_gain, 1, 1, c->n_embed, 1},
        {o->norm_bias, 1, 1, c->n_embed, 0},
        {head == o->head ? head : NULL, 2, c->vocab_size, c->n_embed, 0},
        {o->head_bias, 1, 1, c->vocab_size, 0},
    };
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        KERN_TRY(add_outer(params, before[i], err));
    }
    KERN_TRY(family->add_params(params, c, err));
    for (size_t i = 0; i < sizeof after / sizeof *after; i++) {
        KERN_TRY(add_outer(params, after[i], err));
    }
    return KERN_OK;
}

kern_status model_create(model **out, const model_config *config, const kern_backend *backend,
                         kern_error *err)
{
    *out = NULL;
    KERN_TRY(model_config_check(config, err));
    model *m = calloc(1, sizeof *m);
    if (m == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a model");
    }
    m->config = *config;
    m->backend = backend;
    kern_status status = build_table(&m->params, config, err);
    if (status == KERN_OK) {
        m->values = kern_memory_zeroed(m->params.length, backend->real_size);
        if (m->values == NULL) {
            status =
                kern_raise(err, KERN_NO_MEMORY, "no memory for %zu parameters", m->params.elements);
        }
    }
    if (status != KERN_OK) {
        model_destroy(m);
        return status;
    }
    *out = m;
    return KERN_OK;
}

void model_destroy(model *m)
{
    if (m != NULL) {
        model_params_fini(&m->params);
        free(m->values);
        free(m);
    }
}

double model_value_get(const model *m, size_t index)
{
    return m->backend->real_size == sizeof(float) ? (double)((const float *)m->values)[index]
                                                  : ((const double *)m->values)[index];
}

void model_value_set(model *m, size_t index, double value)
{
    if (m->backend->real_size == sizeof(float)) {
        ((float *)m->values)[index] = (float)value;
    } else {
        ((double *)m->values)[index] = value;
    }
}

kern_status model_init_values(model *m, uint64_t seed, kern_error *err)
{
    for (size_t i = 0; i < m->params.count; i++) {
        const model_param *p = &m->params.items[i];
        const bool normal = p->init == MODEL_INIT_NORMAL;
        kern_rng *rng = kern_rng_create(seed, "init", i);
        if (rng == NULL) {
            return kern_raise(err, KERN_NO_MEMORY, "no memory for a random stream");
        }
        for (size_t k = 0; k < model_param_size(p); k++) {
            model_value_set(m, p->offset + k, normal ? p->value * kern_rng_normal(rng) : p->value);
        }
        kern_rng_destroy(rng);
    }
    return KERN_OK;
}

kern_status model_convert(model **out, const model *m, const kern_backend *backend, kern_error *err)
{
    KERN_TRY(model_create(out, &m->config, backend, err));
    for (size_t i = 0; i < m->params.length; i++) {
        model_value_set(*out, i, model_value_get(m, i));
    }
    return KERN_OK;
}

kern_status model_check_finite(const model *m, kern_error *err)
{
    for (size_t i = 0; i < m->params.count; i++) {
        const model_param *p = &m->params.items[i];
        for (size_t k = 0; k < model_param_size(p); k++) {
            const double value = model_value_get(m, p->offset + k);
            if (!isfinite(value)) {
                return kern_raise(err, KERN_BAD_INPUT,
                                  "weight %zu of %s is %f, all weights must be finite numbers", k,
                                  p->name, value);
            }
        }
    }
    return KERN_OK;
}

kern_status model_check_prompt(const model *m, const int32_t *ids, size_t tokens, kern_error *err)
{
    const model_config *c = &m->config;
    if (tokens == 0 || tokens > c->block_size) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a prompt of %zu tokens is not within 1 to the model's block of %zu",
                          tokens, c->block_size);
    }
    for (size_t i = 0; ids != NULL && i < tokens; i++) {
        if (ids[i] < 0 || (size_t)ids[i] >= c->vocab_size) {
            return kern_raise(err, KERN_INVALID_ARGUMENT,
                              "token %zu has id %d, accepted are 0 to %zu", i, (int)ids[i],
                              c->vocab_size - 1);
        }
    }
    return KERN_OK;
}
