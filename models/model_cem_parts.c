/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_cem.h"

const model_cem_energy *model_cem_energy_of(const model_config *c, model_layer_part part)
{
    if (part == MODEL_LAYER_ATTN) {
        return c->attn == MODEL_ATTN_CEM ? &model_cem_interaction : NULL;
    }
    return c->ffn == MODEL_FFN_CEM ? &model_cem_elementwise : NULL;
}
