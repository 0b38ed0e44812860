/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_hourglass_variant.h"

#include <stdio.h>
#include <string.h>

static kern_status check(const model *m, size_t layer, kern_error *err)
{
    const model_config *c = &m->config;
    if (!model_config_is_stack(c) || c->ffn != MODEL_FFN_HOURGLASS) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a model of family %s has no hourglass; accepted are models whose ffn is "
                          "hourglass",
                          model_config_family_name(c));
    }
    if (layer >= c->n_layer) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "layer %zu is not within 0 to %zu", layer,
                          c->n_layer - 1);
    }
    return KERN_OK;
}

static kern_status check_order(const size_t *order, size_t k, kern_error *err)
{
    bool seen[MODEL_WIDTHS_MAX] = {false};
    for (size_t i = 0; i < k; i++) {
        if (order[i] >= k || seen[order[i]]) {
            return kern_raise(err, KERN_INVALID_ARGUMENT,
                              "the order of %zu sub-MLPs has %zu at place %zu; accepted are "
                              "permutations",
                              k, order[i], i);
        }
        seen[order[i]] = true;
    }
    return KERN_OK;
}

/* Widths of the reordered model, written out for every layer where they differ. */
static kern_status reorder_widths(model_config *to, const model_config *from, size_t layer,
                                  const size_t *order, kern_error *err)
{
    const size_t k = from->hourglass.k;
    if (from->hourglass.widths.count == 0) {
        return KERN_OK;
    }
    if (k * from->n_layer > MODEL_WIDTHS_MAX) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "%zu widths of sub-MLPs would have to be listed; accepted are up to %d",
                          k * from->n_layer, MODEL_WIDTHS_MAX);
    }
    to->hourglass.widths.count = k * from->n_layer;
    for (size_t l = 0; l < from->n_layer; l++) {
        for (size_t i = 0; i < k; i++) {
            to->hourglass.widths.at[l * k + i] =
                model_config_sub_width(from, l, l == layer ? order[i] : i);
        }
    }
    return KERN_OK;
}

/* Name of the tensor of `m` that becomes `name`: itself, unless it belongs to a sub-MLP that moved.
 */
static void find_source(char source[MODEL_PARAM_NAME], const model *m, const char *name,
                        size_t layer, const size_t *order)
{
    char prefix[MODEL_PARAM_NAME];
    for (size_t k = 0; k < m->config.hourglass.k; k++) {
        const int n = snprintf(prefix, sizeof prefix, "layers.%zu.hg.%zu.", layer, k);
        if (strncmp(name, prefix, (size_t)n) != 0) {
            continue;
        }
        if (m->config.hourglass.norm != MODEL_SANDGLASS_B || strcmp(name + n, "norm") != 0) {
            (void)snprintf(source, MODEL_PARAM_NAME, "layers.%zu.hg.%zu.%s", layer, order[k],
                           name + n);
            return;
        }
    }
    (void)snprintf(source, MODEL_PARAM_NAME, "%s", name);
}

static kern_status copy_tensors(model *to, const model *m, size_t layer, const size_t *order,
                                kern_error *err)
{
    for (size_t i = 0; i < to->params.count; i++) {
        const model_param *p = &to->params.items[i];
        char source[MODEL_PARAM_NAME];
        find_source(source, m, p->name, layer, order);
        const model_param *q = model_params_find(&m->params, source);
        if (q == NULL || model_param_size(q) != model_param_size(p)) {
            return kern_raise(err, KERN_INVALID_ARGUMENT, "%s does not fit %s", source, p->name);
        }
        for (size_t k = 0; k < model_param_size(p); k++) {
            model_value_set(to, p->offset + k, model_value_get(m, q->offset + k));
        }
    }
    return KERN_OK;
}

kern_status model_hourglass_reorder(model **out, const model *m, size_t layer, const size_t *order,
                                    kern_error *err)
{
    model_config c = m->config;
    *out = NULL;
    KERN_TRY(check(m, layer, err));
    KERN_TRY(check_order(order, c.hourglass.k, err));
    KERN_TRY(reorder_widths(&c, &m->config, layer, order, err));
    KERN_TRY(model_create(out, &c, m->backend, err));
    const kern_status status = copy_tensors(*out, m, layer, order, err);
    if (status != KERN_OK) {
        model_destroy(*out);
        *out = NULL;
    }
    return status;
}

/* Without what leads out of it a sub-MLP adds 0, also through a norm behind. */
kern_status model_hourglass_drop(model **out, const model *m, size_t layer, size_t k,
                                 kern_error *err)
{
    char name[MODEL_PARAM_NAME];
    *out = NULL;
    KERN_TRY(check(m, layer, err));
    (void)snprintf(name, sizeof name, "layers.%zu.hg.%zu.w_down", layer, k);
    const model_param *p = model_params_find(&m->params, name);
    if (p == NULL) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "sub-MLP %zu is not within 0 to %zu", k,
                          m->config.hourglass.k - 1);
    }
    KERN_TRY(model_convert(out, m, m->backend, err));
    for (size_t i = 0; i < model_param_size(p); i++) {
        model_value_set(*out, p->offset + i, 0.0);
    }
    return KERN_OK;
}

kern_status model_hourglass_parallelise(model **out, const model *m, kern_error *err)
{
    *out = NULL;
    KERN_TRY(check(m, 0, err));
    KERN_TRY(model_convert(out, m, m->backend, err));
    (*out)->config.hourglass.parallel = true;
    return KERN_OK;
}
