/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The hourglass feed-forward stack (Liao, Chen, Yi, Shiu, arXiv 2602.06471, 2026): K residual gated
 * sub-MLPs of hidden width d_h < D,
 *   f_k(h) = U_k (silu(G_k N_k(h)) ⊙ V_k N_k(h)),   h_k = h_{k−1} + α f_k(h_{k−1}).
 * The paper's public text leaves the place of the norms open; this is variant A, and
 *   B  z_0 = N(h), z_k = z_{k−1} + α f̃_k(z_{k−1}) without norms inside, out = h + (z_K − z_0)
 *   C  out = h + A(N(h)), which adds N(h) to the stream as well
 *   D  h_k = h_{k−1} + α N_k(f̃_k(h_{k−1})).
 * Evaluated in parallel, every f_k reads h_0: the same weights as one gated layer of width Σ d_h.
 */
#include "models/model_stack.h"

#include <stdio.h>

typedef struct sub_name {
    char text[MODEL_PARAM_NAME / 2];
} sub_name;

static sub_name name_of(size_t k, const char *rest)
{
    sub_name name;
    (void)snprintf(name.text, sizeof name.text, "hg.%zu%s", k, rest);
    return name;
}

/* ---- gains ---------------------------------------------------------------------------------- */

/* Variants B and C have a norm in front of the stack, whose gain is norm2 in C; in B, which has no
 * other, it is the one of the first sub-MLP. The shared gain of variants A, C and D is hg.norm. */
static bool has_outer(const model_config *c)
{
    return c->hourglass.norm == MODEL_SANDGLASS_B || c->hourglass.norm == MODEL_SANDGLASS_C;
}

static sub_name outer_gain(const model_config *c)
{
    const sub_name norm2 = {"norm2"};
    return c->hourglass.norm == MODEL_SANDGLASS_B ? name_of(0, ".norm") : norm2;
}

static bool has_inner(const model_config *c)
{
    return c->hourglass.norm != MODEL_SANDGLASS_B;
}

static kern_value outer_norm(model_builder *b, size_t layer, kern_value x)
{
    const bool gain = b->config->hourglass.gain != MODEL_GAIN_NONE;
    const sub_name name = outer_gain(b->config);
    return model_layer_norm(b, layer, gain ? name.text : NULL, x);
}

static kern_value inner_norm(model_builder *b, size_t layer, size_t k, kern_value x)
{
    const sub_name own = name_of(k, ".norm");
    const char *const names[] = {
        [MODEL_GAIN_PER_SUB] = own.text, [MODEL_GAIN_SHARED] = "hg.norm", [MODEL_GAIN_NONE] = NULL};
    return model_layer_norm(b, layer, names[b->config->hourglass.gain], x);
}

/* ---- parameters ----------------------------------------------------------------------------- */

static kern_status add_gain(model_params *params, const model_config *c, size_t layer,
                            const char *name, kern_error *err)
{
    const model_layer_tensor gain = {.name = name, .cols = c->n_embed, .constant = 1};
    return model_layer_add(params, layer, &gain, 1, err);
}

static kern_status hourglass_params(model_params *params, const model_config *c, size_t layer,
                                    kern_error *err)
{
    const model_gain gain = c->hourglass.gain;
    if (has_outer(c) && gain != MODEL_GAIN_NONE) {
        KERN_TRY(add_gain(params, c, layer, outer_gain(c).text, err));
    }
    if (has_inner(c) && gain == MODEL_GAIN_SHARED) {
        KERN_TRY(add_gain(params, c, layer, "hg.norm", err));
    }
    for (size_t k = 0; k < c->hourglass.k; k++) {
        const size_t hidden = model_config_sub_width(c, layer, k);
        if (has_inner(c) && gain == MODEL_GAIN_PER_SUB) {
            KERN_TRY(add_gain(params, c, layer, name_of(k, ".norm").text, err));
        }
        KERN_TRY(model_layer_add_swiglu(params, c, layer, name_of(k, "").text, hidden, err));
    }
    return KERN_OK;
}

/* ---- graph ---------------------------------------------------------------------------------- */

/* sum + α f_k(h), with the norm of sub-MLP k where the variant has it. */
static kern_value add_branch(model_builder *b, size_t layer, size_t k, kern_value h, kern_value sum)
{
    const double alpha = b->config->hourglass.alpha;
    const sub_name prefix = name_of(k, "");
    if (b->config->hourglass.norm == MODEL_SANDGLASS_D) {
        const kern_value f = model_layer_swiglu(b, layer, prefix.text, 1.0, h, KERN_NO_VALUE);
        return model_build_affine(b, sum, inner_norm(b, layer, k, f), KERN_NO_VALUE, KERN_NO_VALUE,
                                  (kern_affine_attr){.scale = alpha, .power = 1});
    }
    const kern_value n = has_inner(b->config) ? inner_norm(b, layer, k, h) : h;
    return model_layer_swiglu(b, layer, prefix.text, alpha, n, sum);
}

/* All sub-MLPs; each is a segment, of which only its input is kept. */
static kern_value run_stack(model_builder *b, size_t layer, kern_value start)
{
    kern_value h = start;
    for (size_t k = 0; k < b->config->hourglass.k; k++) {
        if (k > 0) {
            kern_graph_begin_segment(b->graph);
        }
        model_layer_record(b, MODEL_LAYER_FFN, h, KERN_NO_VALUE);
        h = add_branch(b, layer, k, b->config->hourglass.parallel ? start : h, h);
    }
    return h;
}

static kern_value add(model_builder *b, kern_value a, kern_value x, double scale)
{
    return model_build_affine(b, a, x, KERN_NO_VALUE, KERN_NO_VALUE,
                              (kern_affine_attr){.scale = scale, .power = 1});
}

static kern_value hourglass_build(model_builder *b, size_t layer, kern_value x)
{
    if (!has_outer(b->config)) {
        return run_stack(b, layer, x);
    }
    const kern_value start = outer_norm(b, layer, x);
    const kern_value end = add(b, x, run_stack(b, layer, start), 1.0);
    return b->config->hourglass.norm == MODEL_SANDGLASS_B ? add(b, end, start, -1.0) : end;
}

const model_sublayer model_sublayer_hourglass = {.add_params = hourglass_params,
                                                 .build = hourglass_build};
