/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_attention.h"

#include "models/model_scaled.h"

#include <string.h>

static model_map *block_of(const dyn_map *map)
{
    return ((const model_scaled *)map->data)->block;
}

size_t model_attention_heads(const dyn_map *map)
{
    return model_map_heads(block_of(map));
}

void model_attention_weights(dyn_map *map, const double *x, size_t token, double *weights)
{
    const size_t n = map->block_count;
    const size_t heads = model_attention_heads(map);
    const double *p = model_map_attention(block_of(map), x);
    for (size_t h = 0; h < heads; h++) {
        memcpy(weights + h * n, p + (h * n + token) * n, n * sizeof *weights);
    }
}

void model_attention_means(dyn_map *map, const double *x, double *means)
{
    const size_t n = map->block_count;
    const size_t heads = model_attention_heads(map);
    const double *p = model_map_attention(block_of(map), x);
    for (size_t i = 0; i < n * n; i++) {
        double sum = 0.0;
        for (size_t h = 0; h < heads; h++) {
            sum += p[h * n * n + i];
        }
        means[i] = sum / (double)heads;
    }
}
