/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_spectrum_operator.h"

#include <string.h>

bool dyn_spectrum_operator_go_on(const dyn_spectrum_operator *op)
{
    return op->progress == NULL || op->progress(op->context, op->done, op->total);
}

/* Products with the whole Jacobian of what is supported on the block, of which the block is read.
 */
static bool apply_block(void *context, const double *x, double *y)
{
    dyn_spectrum_operator *op = context;
    dyn_map *map = op->map;
    const size_t width = map->block_width;
    double *support = op->tangent + op->block * width;
    memcpy(y, x, width * sizeof *y);
    for (size_t t = 0; t < op->period; t++) {
        memset(op->tangent, 0, map->size * sizeof *op->tangent);
        memcpy(support, y, width * sizeof *y);
        map->kind->jvp(map, op->states + t * map->size, op->tangent, NULL, op->tangent);
        memcpy(y, support, width * sizeof *y);
    }
    return dyn_spectrum_operator_go_on(op);
}

static bool apply_union(void *context, const double *x, double *y)
{
    dyn_spectrum_operator *op = context;
    dyn_map *map = op->map;
    memcpy(y, x, map->size * sizeof *y);
    for (size_t t = 0; t < op->period; t++) {
        dyn_map_jvp_blocks(map, op->states + t * map->size, 1, y, NULL, y, op->work);
    }
    return dyn_spectrum_operator_go_on(op);
}

static bool apply_whole(void *context, const double *x, double *y)
{
    dyn_spectrum_operator *op = context;
    dyn_map *map = op->map;
    memcpy(y, x, map->size * sizeof *y);
    for (size_t t = 0; t < op->period; t++) {
        map->kind->jvp(map, op->states + t * map->size, y, NULL, y);
    }
    return dyn_spectrum_operator_go_on(op);
}

static const struct {
    const char *word;
    bool by_block;
    kern_arpack_apply *apply;
} scopes[DYN_SPECTRUM_SCOPE_COUNT] = {
    [DYN_SPECTRUM_BLOCKS] = {"blocks", true, apply_block},
    [DYN_SPECTRUM_UNION] = {"union", false, apply_union},
    [DYN_SPECTRUM_WHOLE] = {"whole", false, apply_whole},
};

const char *dyn_spectrum_scope_word(dyn_spectrum_scope scope)
{
    return scopes[scope].word;
}

bool dyn_spectrum_operator_by_block(dyn_spectrum_scope scope)
{
    return scopes[scope].by_block;
}

size_t dyn_spectrum_operator_size(const dyn_map *map, dyn_spectrum_scope scope)
{
    return scopes[scope].by_block ? map->block_width : map->size;
}

kern_arpack_apply *dyn_spectrum_operator_apply(dyn_spectrum_scope scope)
{
    return scopes[scope].apply;
}
