/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_bottleneck.h"

#include "dyn/dyn_vector.h"
#include "models/model_hourglass_start.h"
#include "models/model_sub_private.h"

#include <stdlib.h>
#include <string.h>

struct model_bottleneck {
    const model *m;
    size_t layer;
    size_t width; /* D */
    size_t rank;  /* S */
    size_t k;
    model_sub **subs; /* k, owned */
    double *h;        /* the state; owned, and what follows lies behind it */
    double *f;        /* what a sub-MLP adds */
    double *z;        /* state that it reads */
    double *gain;     /* of the norm in front */
    double *factors;  /* C_k U_j for one row */
};

size_t model_bottleneck_rank(const model_config *c, size_t layer)
{
    size_t rank = 0;
    if (!model_config_is_stack(c) || c->ffn != MODEL_FFN_HOURGLASS || layer >= c->n_layer ||
        c->hourglass.norm == MODEL_SANDGLASS_C) {
        return 0;
    }
    for (size_t k = 0; k < c->hourglass.k; k++) {
        rank += model_config_sub_width(c, layer, k);
    }
    return rank;
}

void model_bottleneck_destroy(model_bottleneck *b)
{
    if (b != NULL) {
        for (size_t k = 0; b->subs != NULL && k < b->k; k++) {
            model_sub_destroy(b->subs[k]);
        }
        free(b->subs);
        free(b->h);
        free(b);
    }
}

static kern_status reserve(model_bottleneck *b, kern_error *err)
{
    b->subs = calloc(b->k, sizeof *b->subs);
    b->h = calloc(4 * b->width + b->rank, sizeof *b->h);
    if (b->subs == NULL || b->h == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu sub-MLPs", b->k);
    }
    b->f = b->h + b->width;
    b->z = b->f + b->width;
    b->gain = b->z + b->width;
    b->factors = b->gain + b->width;
    for (size_t k = 0; k < b->k; k++) {
        KERN_TRY(model_sub_create(&b->subs[k], b->m, b->layer, k, err));
    }
    return KERN_OK;
}

kern_status model_bottleneck_create(model_bottleneck **out, const model *m, size_t layer,
                                    kern_error *err)
{
    const size_t rank = model_bottleneck_rank(&m->config, layer);
    *out = NULL;
    if (rank == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "layer %zu of this model of family %s has no bottleneck; accepted are "
                          "layers with an hourglass whose norms are A, B or D",
                          layer, model_config_family_name(&m->config));
    }
    model_bottleneck *b = calloc(1, sizeof *b);
    if (b == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a bottleneck");
    }
    *b = (model_bottleneck){.m = m,
                            .layer = layer,
                            .width = m->config.n_embed,
                            .rank = rank,
                            .k = m->config.hourglass.k};
    const kern_status status = reserve(b, err);
    if (status != KERN_OK) {
        model_bottleneck_destroy(b);
        return status;
    }
    *out = b;
    return KERN_OK;
}

/* The columns of U_k into theirs of U. */
static void place_columns(const model_bottleneck *b, const model_sub *s, size_t first, double *u)
{
    for (size_t j = 0; j < b->width; j++) {
        memcpy(u + j * b->rank + first, s->u + j * s->hidden, s->hidden * sizeof *u);
    }
}

/* Rows `first` and on of C, which hold C_k: adds (C_k U_j) C̃_j of all sub-MLPs before. */
static void chain_rows(const model_bottleneck *b, size_t first, size_t hidden, const double *u,
                       double *c)
{
    for (size_t i = first; i < first + hidden; i++) {
        double *row = c + i * b->width;
        memset(b->factors, 0, first * sizeof *b->factors);
        for (size_t j = 0; j < b->width; j++) {
            dyn_vector_add(b->factors, row[j], u + j * b->rank, first);
        }
        for (size_t l = 0; l < first; l++) {
            dyn_vector_add(row, b->factors[l], c + l * b->width, b->width);
        }
    }
}

void model_bottleneck_evaluate(model_bottleneck *b, const double *h, double *u, double *c)
{
    const model_hourglass *o = &b->m->config.hourglass;
    const size_t d = b->width;
    size_t first = 0;
    const double sigma = model__hourglass_start(b->m, b->layer, h, b->gain, b->h);
    memcpy(b->z, b->h, d * sizeof *b->z);
    for (size_t k = 0; k < b->k; k++) {
        model_sub *s = b->subs[k];
        model_sub_evaluate(s, b->z, b->f, s->u, c + first * d);
        place_columns(b, s, first, u);
        if (!o->parallel) {
            chain_rows(b, first, s->hidden, u, c);
            dyn_vector_add(b->z, 1.0, b->f, d);
        }
        first += s->hidden;
    }
    for (size_t i = 0; o->norm == MODEL_SANDGLASS_B && i < b->rank; i++) {
        model__norm_pull_row(d, h, sigma, b->gain, c + i * d);
    }
}
