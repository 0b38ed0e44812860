/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/view/view_attention.h"

#include "kernels/kern_size.h"
#include "models/model_attention.h"

#include <stdlib.h>
#include <string.h>

/* Numbers of tokens 0 to `token` − 1 of a state: the mask is causal. */
static size_t below(size_t token)
{
    return token * (token + 1) / 2;
}

static kern_status reserve(view_attention *a, size_t states, kern_error *err)
{
    const size_t each = below(a->tokens);
    a->states = kern_size_min(states, VIEW_ATTENTION_MOST / each);
    a->means = malloc((a->states * each + 1) * sizeof *a->means);
    return a->means != NULL ? KERN_OK
                            : kern_raise(err, KERN_NO_MEMORY,
                                         "no memory for the weights of %zu "
                                         "states",
                                         a->states);
}

/* Of one state, by way of `square`, tokens × tokens. */
static void take(const view_attention *a, size_t state, const double *square)
{
    double *to = a->means + state * below(a->tokens);
    for (size_t token = 0; token < a->tokens; token++) {
        memcpy(to + below(token), square + token * a->tokens, (token + 1) * sizeof *to);
    }
}

static kern_status fill(view_attention *a, const view_landscape *l, dyn_map *map,
                        view_cancelled *cancelled, void *context, kern_error *err)
{
    double *square = malloc((a->tokens * a->tokens + 1) * sizeof *square);
    kern_status status = KERN_OK;
    if (square == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for the weights of %zu tokens",
                          a->tokens);
    }
    for (size_t t = 0; t < a->states && status == KERN_OK; t++) {
        model_attention_means(map, l->path.states + t * map->size, square);
        take(a, t, square);
        if (cancelled != NULL && cancelled(context)) {
            status = kern_raise(err, KERN_INTERRUPTED, "stopped before all weights were known");
        }
    }
    free(square);
    return status;
}

kern_status view_attention_create(view_attention **out, const view_landscape *landscape,
                                  view_cancelled *cancelled, void *context, kern_error *err)
{
    const dyn_map *whole = landscape->subject->map;
    view_attention *a = calloc(1, sizeof *a);
    dyn_map *map = NULL;
    *out = NULL;
    if (a == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for the weights of attention");
    }
    a->settings = landscape->settings;
    a->tokens = whole->block_count;
    a->heads = model_attention_heads(whole);
    kern_status status = KERN_OK;
    if (a->heads > 0) {
        status = reserve(a, landscape->path.n, err);
        status = status == KERN_OK ? whole->kind->clone(&map, whole, err) : status;
        status = status == KERN_OK ? fill(a, landscape, map, cancelled, context, err) : status;
    }
    dyn_map_destroy(map);
    if (status != KERN_OK) {
        view_attention_destroy(a);
        return status;
    }
    *out = a;
    return KERN_OK;
}

void view_attention_destroy(view_attention *attention)
{
    if (attention != NULL) {
        free(attention->means);
        free(attention);
    }
}

const double *view_attention_of(const view_attention *attention, size_t state, size_t token)
{
    const view_attention *a = attention;
    return state < a->states && token < a->tokens
               ? a->means + state * below(a->tokens) + below(token)
               : NULL;
}

size_t view_attention_top(const double *weights, size_t token, size_t most, size_t *top)
{
    size_t n = 0;
    for (size_t i = 0; i <= token; i++) {
        size_t at = n;
        if (!(weights[i] > 0.0)) {
            continue;
        }
        for (; at > 0 && weights[i] > weights[top[at - 1]]; at--) {
            if (at < most) {
                top[at] = top[at - 1];
            }
        }
        if (at < most) {
            top[at] = i;
            n += n < most ? 1 : 0;
        }
    }
    return n;
}
