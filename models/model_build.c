/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Operations in the vocabulary of models: thin, linear code over kern_graph_apply.
 */
#include "models/model_family.h"

static kern_value add_param_value(model_builder *b, const char *name, size_t count)
{
    const model_param *row = model_params_find(b->params, name);
    if (row == NULL) {
        /* A shape that no graph accepts puts the failure into the graph's sticky status. */
        return kern_graph_param(b->graph, 0, (kern_shape){SIZE_MAX, SIZE_MAX});
    }
    return kern_graph_param(b->graph, row->offset, (kern_shape){row->rows * count, row->cols});
}

kern_value model_build_param(model_builder *b, const char *name)
{
    return add_param_value(b, name, 1);
}

kern_value model_build_stack(model_builder *b, const char *name, size_t count)
{
    return add_param_value(b, name, count);
}

kern_value model_build_linear(model_builder *b, kern_value x, kern_value w, kern_value bias,
                              kern_value c)
{
    const kern_attr attr = {.linear = {.plain = false, .alpha = 1.0}};
    const kern_value in[] = {x, w, bias, c};
    return kern_graph_apply(b->graph, KERN_OP_LINEAR, &attr, in, NULL);
}

kern_value model_build_linear_plain(model_builder *b, kern_value x, kern_value w, kern_value c)
{
    const kern_attr attr = {.linear = {.plain = true, .alpha = 1.0}};
    const kern_value in[] = {x, w, KERN_NO_VALUE, c};
    return kern_graph_apply(b->graph, KERN_OP_LINEAR, &attr, in, NULL);
}

kern_value model_build_affine(model_builder *b, kern_value a, kern_value f, kern_value s,
                              kern_value gamma, kern_affine_attr affine)
{
    const kern_attr attr = {.affine = affine};
    const kern_value in[] = {a, f, s, gamma};
    return kern_graph_apply(b->graph, KERN_OP_AFFINE_ADD, &attr, in, NULL);
}

kern_value model_build_dropout(model_builder *b, kern_value x)
{
    if (b->config->dropout <= 0.0) {
        return x;
    }
    const kern_attr attr = {.dropout = {.p = b->config->dropout, .salt = b->salt++}};
    return kern_graph_apply(b->graph, KERN_OP_DROPOUT, &attr, &x, NULL);
}

kern_value model_build_norm(model_builder *b, kern_value x, const char *weight, const char *bias,
                            kern_norm_attr norm, kern_value *sigma)
{
    const kern_attr attr = {.norm = norm};
    const kern_value in[] = {x, weight != NULL ? model_build_param(b, weight) : KERN_NO_VALUE,
                             bias != NULL ? model_build_param(b, bias) : KERN_NO_VALUE};
    kern_value out[KERN_MAX_OUT];
    (void)kern_graph_apply(b->graph, KERN_OP_NORM, &attr, in, out);
    if (sigma != NULL) {
        *sigma = out[1];
    }
    return out[0];
}
