/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The families: their defaults and their names. Stands below the other files of model_config.
 */
#include "models/model_config_fields.h"
#include "models/model_utf8.h"

/* ---- Defaults ---------------------------------------------------------------------------- */

static model_ffn family_ffn(model_family family)
{
    return family == MODEL_CEM         ? MODEL_FFN_CEM
           : family == MODEL_HOURGLASS ? MODEL_FFN_HOURGLASS
                                       : MODEL_FFN_LLAMA;
}

model_config model_config_default(model_family family)
{
    return (model_config){
        .family = family,
        .n_embed = 64,
        .n_head = 1,
        .vocab_size = 20,
        .block_size = 128,
        .n_layer = 5,
        .ff_hid_factor = 4,
        .norm_eps = 1e-5,
        .dropout = 0.0,
        .ff = MODEL_FF2W,
        .activation = MODEL_GELU,
        .norm = MODEL_LAYERNORM,
        .eta = MODEL_ETA_FULL,
        .update = MODEL_UPDATE_PUBLISHED,
        .strict_mask = true,
        .gamma_trained = false,
        .rank = 0,
        .beta = 1.0,
        .alpha = 1.0,
        .eta_init = 1.0,
        .recurrent = false,
        .parallel = false,
        .n_hidden = family == MODEL_HOURGLASS ? 44 : 176,
        .attn = family == MODEL_CEM ? MODEL_ATTN_CEM : MODEL_ATTN_LLAMA,
        .ffn = family_ffn(family),
        .rope = MODEL_ROPE_EXACT,
        .cem = {.p_rank = 8, .t_attn = 2, .t_mlp = 2, .eta = 1.0},
        .hourglass = {.k = 4, .alpha = 1.0},
    };
}

/* ---- Family names ------------------------------------------------------------------------ */

typedef struct config_family {
    const char *name;
    model_family family;
    bool recurrent, parallel;
} config_family;

static const config_family config_families[] = {
    {"nrgpt", MODEL_NRGPT, false, false},         {"gpt", MODEL_GPT, false, false},
    {"gpt-rec", MODEL_GPT, true, false},          {"gpt-rec-parallel", MODEL_GPT, true, true},
    {"llama", MODEL_LLAMA, false, false},         {"cem", MODEL_CEM, false, false},
    {"hourglass", MODEL_HOURGLASS, false, false},
};

enum { CONFIG_FAMILIES = sizeof config_families / sizeof config_families[0] };

const char *model_config_family_name(const model_config *config)
{
    for (size_t i = 0; i < CONFIG_FAMILIES; i++) {
        const config_family *row = &config_families[i];
        const bool same = row->recurrent == config->recurrent && row->parallel == config->parallel;
        if (row->family == config->family && (same || row->family != MODEL_GPT)) {
            return row->name;
        }
    }
    return "unknown";
}

kern_status model_config_set_family(model_config *config, const char *name, kern_error *err)
{
    char accepted[MODEL__TEXT] = "";
    for (size_t i = 0; i < CONFIG_FAMILIES; i++) {
        const config_family *row = &config_families[i];
        if (strcmp(name, row->name) == 0) {
            const model_config usual = model_config_default(row->family);
            config->family = row->family;
            config->recurrent = row->recurrent;
            config->parallel = row->parallel;
            config->attn = usual.attn;
            config->ffn = usual.ffn;
            return KERN_OK;
        }
        model__append_word(accepted, row->name);
    }
    char shown[MODEL_UTF8_QUOTE];
    model_utf8_quote(shown, name, strlen(name));
    return kern_raise(err, KERN_INVALID_ARGUMENT, "the model family is \"%s\"; accepted are %s",
                      shown, accepted);
}

bool model_config_is_stack(const model_config *config)
{
    return (FOR_STACK >> (unsigned)config->family & 1) != 0;
}

bool model_config_has_layers(const model_config *config)
{
    return model_config_is_stack(config) || (config->family == MODEL_GPT && !config->recurrent);
}
