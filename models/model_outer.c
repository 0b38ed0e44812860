/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The tensors outside the layers, by name.
 */
#include "models/model_family.h"

const model_outer model_outer_gpt = {.embedding = "token_embedding_table.weight",
                                     .position = "position_embedding_table.weight",
                                     .norm_gain = "ln_f.weight",
                                     .norm_bias = "ln_f.bias",
                                     .head = "lm_head.weight",
                                     .head_bias = "lm_head.bias",
                                     .norm = KERN_LAYERNORM};

const model_outer model_outer_stack = {
    .embedding = "embed", .norm_gain = "norm_f", .head = "head", .norm = KERN_RMSNORM};
