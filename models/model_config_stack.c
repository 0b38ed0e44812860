/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the fields of a stack of layers must be to each other.
 */
#include "models/model_config_fields.h"

/* ---- Widths ------------------------------------------------------------------------------ */

size_t model_config_hidden(size_t n_embed)
{
    return (n_embed + 2) / 3 * 8;
}

size_t model_config_attention_width(const model_config *config)
{
    return config->d_attn != 0 ? config->d_attn : config->n_embed;
}

size_t model_config_head_width(const model_config *config)
{
    return model_config_attention_width(config) / config->n_head;
}

size_t model_config_kv_width(const model_config *config)
{
    return config->d_kv != 0 ? config->d_kv : model_config_attention_width(config);
}

size_t model_config_sub_width(const model_config *config, size_t layer, size_t sub)
{
    const model_widths *list = &config->hourglass.widths;
    if (list->count == 0) {
        return config->n_hidden;
    }
    const size_t at = layer * config->hourglass.k + sub;
    return list->at[list->count == config->hourglass.k ? sub : at];
}

/* ---- Parameters -------------------------------------------------------------------------- */

/* Parameters of P and η of one sub-layer. */
static double count_step(const model_config *c)
{
    const double d = (double)c->n_embed;
    const double p = c->cem.precond == MODEL_PRECOND_DLR ? d + 2 * d * (double)c->cem.p_rank : 0;
    return p + (c->cem.eta_trained ? 1 : 0);
}

static double count_attention(const model_config *c)
{
    const double d = (double)c->n_embed;
    const double wide = (double)model_config_attention_width(c);
    if (c->attn == MODEL_ATTN_LLAMA) {
        const double kv = (double)model_config_kv_width(c);
        return d + 2 * d * wide + 2 * d * kv + (c->qk_norm ? wide + kv : 0);
    }
    const double diagonals[] = {
        [MODEL_DIAG_SHARED] = 1, [MODEL_DIAG_NONE] = 0, [MODEL_DIAG_PER_HEAD] = (double)c->n_head};
    return d + 2 * d * wide + diagonals[c->cem.diag] * d + count_step(c);
}

/* Upper bound of an hourglass's norms: one vector for each sub-MLP and one more. */
static double count_hourglass(const model_config *c, size_t layer)
{
    const double d = (double)c->n_embed;
    double units = 0;
    for (size_t k = 0; k < c->hourglass.k; k++) {
        units += (double)model_config_sub_width(c, layer, k);
    }
    return 3 * d * units + d * (double)(c->hourglass.k + 1);
}

double model__count_stack(const model_config *c)
{
    const double d = (double)c->n_embed;
    const double f = (double)c->n_hidden;
    const double layers = (double)c->n_layer;
    double total = layers * count_attention(c);
    if (c->ffn == MODEL_FFN_LLAMA) {
        return total + layers * (d + 3 * d * f);
    }
    if (c->ffn == MODEL_FFN_CEM) {
        return total + layers * (d + 2 * d * f + count_step(c));
    }
    if (c->hourglass.widths.count <= c->hourglass.k) {
        return total + layers * count_hourglass(c, 0);
    }
    for (size_t l = 0; l < c->n_layer; l++) {
        total += count_hourglass(c, l);
    }
    return total;
}

/* ---- Checks ------------------------------------------------------------------------------ */

static kern_status check_parts(const model_config *c, kern_error *err)
{
    const bool cem = c->attn == MODEL_ATTN_CEM || c->ffn == MODEL_FFN_CEM;
    const bool hourglass = c->ffn == MODEL_FFN_HOURGLASS;
    const bool fits = c->family == MODEL_HOURGLASS ? hourglass
                      : c->family == MODEL_CEM     ? cem
                                                   : !cem && !hourglass;
    if (!fits) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a model of family %s has \"attn\" %s and \"ffn\" %s; accepted are llama "
                          "with both llama, cem with one of them cem, hourglass with ffn hourglass",
                          model_config_family_name(c), model_attn_word(c->attn),
                          model_ffn_word(c->ffn));
    }
    return KERN_OK;
}

static kern_status check_heads(const model_config *c, kern_error *err)
{
    const size_t wide = model_config_attention_width(c);
    const size_t head = model_config_head_width(c);
    const size_t kv = model_config_kv_width(c);
    const char *name = c->d_attn != 0 ? "d_attn" : "n_embed";
    if (wide % c->n_head != 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "\"%s\" is %zu, which %zu heads do not divide; accepted are multiples of "
                          "n_head",
                          name, wide, c->n_head);
    }
    if (c->rope != MODEL_ROPE_NONE && head % 2 != 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "\"rope\" turns pairs of coordinates and a head is %zu wide (%s %zu, "
                          "n_head %zu); accepted are even widths, or rope none",
                          head, name, wide, c->n_head);
    }
    if (c->attn == MODEL_ATTN_CEM && kv != wide) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "\"d_kv\" is %zu and the heads are %zu wide; CEM attention ties keys and "
                          "values to them and accepts the same width only",
                          kv, wide);
    }
    if (kv % head != 0 || c->n_head % (kv / head) != 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "\"d_kv\" is %zu; accepted are multiples of the head width %zu whose "
                          "number divides the %zu heads",
                          kv, head, c->n_head);
    }
    return KERN_OK;
}

static kern_status check_step(const model_config *c, kern_error *err)
{
    if (c->cem.precond == MODEL_PRECOND_DLR && c->cem.p_rank > c->n_embed) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "\"p_rank\" is %zu; accepted are 1 to n_embed = %zu", c->cem.p_rank,
                          c->n_embed);
    }
    if (c->cem.precond == MODEL_PRECOND_DLR && c->cem.eta_trained) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "\"eta_trained\" is true and \"precond\" is dlr, whose diagonal scales "
                          "the step already; accepted are a fixed eta, or precond none or gamma");
    }
    return KERN_OK;
}

static kern_status check_tied(const model_config *c, kern_error *err)
{
    if (c->spread != MODEL_SPREAD_CONSTANT) {
        return kern_raise(
            err, KERN_INVALID_ARGUMENT,
            "\"init\" is %s, and a CEM sub-layer leads in and out through one matrix, "
            "which cannot have two deviations; accepted is constant",
            model_spread_word(c->spread));
    }
    if (c->qk_norm && c->attn == MODEL_ATTN_CEM) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "\"qk_norm\" is true with CEM attention, whose energy has no norm there; "
                          "accepted is false, or attn llama");
    }
    return KERN_OK;
}

static kern_status check_widths(const model_config *c, kern_error *err)
{
    const size_t count = c->hourglass.widths.count;
    const size_t k = c->hourglass.k;
    if (count != 0 && count != k && (count % k != 0 || count / k != c->n_layer)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "\"hourglass_widths\" has %zu entries; accepted are none, %zu for every "
                          "layer alike, or %zu for each of %zu layers",
                          count, k, k, c->n_layer);
    }
    return KERN_OK;
}

kern_status model__check_stack(const model_config *c, kern_error *err)
{
    KERN_TRY(check_parts(c, err));
    KERN_TRY(check_heads(c, err));
    if (c->attn == MODEL_ATTN_CEM || c->ffn == MODEL_FFN_CEM) {
        KERN_TRY(check_step(c, err));
        KERN_TRY(check_tied(c, err));
    }
    return c->ffn == MODEL_FFN_HOURGLASS ? check_widths(c, err) : KERN_OK;
}
