/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_params.h"

#include "kernels/kern_size.h"

#include <stdlib.h>
#include <string.h>

/* Tensors start on a cache line in either precision. */
enum { PARAM_ALIGN = 16 };

#define PARAM_LIMIT ((size_t)1 << 34)

static kern_status make_room(model_params *params, kern_error *err)
{
    if (params->count < params->room) {
        return KERN_OK;
    }
    const size_t room = params->room == 0 ? 32 : 2 * params->room;
    model_param *items = realloc(params->items, room * sizeof *items);
    if (items == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a table of %zu parameters", room);
    }
    params->items = items;
    params->room = room;
    return KERN_OK;
}

kern_status model_params_add(model_params *params, const model_param *param, size_t *offset,
                             kern_error *err)
{
    size_t size;
    KERN_TRY(make_room(params, err));
    if (!kern_size_mul(param->rows, param->cols, &size) || size > PARAM_LIMIT ||
        params->length + size > PARAM_LIMIT) {
        return kern_raise(err, KERN_OVERFLOW,
                          "parameter %s of %zu × %zu makes the model larger than %zu numbers",
                          param->name, param->rows, param->cols, PARAM_LIMIT);
    }
    if (!params->in_stack) {
        params->length = kern_size_round_up(params->length, PARAM_ALIGN);
    }
    model_param *row = &params->items[params->count++];
    *row = *param;
    row->offset = params->length;
    params->length += size;
    params->elements += size;
    if (offset != NULL) {
        *offset = row->offset;
    }
    return KERN_OK;
}

void model_params_begin_stack(model_params *params)
{
    params->length = kern_size_round_up(params->length, PARAM_ALIGN);
    params->in_stack = true;
}

void model_params_end_stack(model_params *params)
{
    params->in_stack = false;
}

const model_param *model_params_find(const model_params *params, const char *name)
{
    for (size_t i = 0; i < params->count; i++) {
        if (strcmp(params->items[i].name, name) == 0) {
            return &params->items[i];
        }
    }
    return NULL;
}

size_t model_param_size(const model_param *param)
{
    return param->rows * param->cols;
}

void model_params_fini(model_params *params)
{
    free(params->items);
    *params = (model_params){0};
}
