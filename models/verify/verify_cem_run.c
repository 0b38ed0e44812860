/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/verify/verify_cem_run.h"

#include "models/model_layer_map.h"

#include <stdlib.h>
#include <string.h>

enum { TOKENS_EACH = 8 };

unsigned verify_cem_run_parts(const verify_subject *subject, unsigned wanted)
{
    const model_config *c = &subject->m->config;
    unsigned there = 0;
    there |= c->attn == MODEL_ATTN_CEM ? (unsigned)VERIFY_CEM_ATTN_PART : 0u;
    there |= c->ffn == MODEL_FFN_CEM ? (unsigned)VERIFY_CEM_MLP_PART : 0u;
    return there & wanted;
}

/* Where an instance is. */
typedef struct place {
    const verify_subject *subject;
    size_t layer;
    size_t prompt;
    model_layer_part part;
} place;

/* What is kept from one instance to the next. */
typedef struct kept {
    place at;
    double *h; /* tokens × D, the part's input */
    dyn_map *map;
    double *next;     /* tokens × D */
    double *energies; /* tokens */
} kept;

static void release(void *data)
{
    kept *k = data;
    if (k != NULL) {
        dyn_map_destroy(k->map);
        free(k->h);
        free(k);
    }
}

static kern_status make(kept *k, const place *at, kern_error *err)
{
    const verify_prompt *p = &at->subject->prompts[at->prompt];
    const size_t numbers = p->tokens * at->subject->width;
    k->h = calloc(2 * numbers + p->tokens, sizeof *k->h);
    if (k->h == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a prompt of %zu tokens", p->tokens);
    }
    k->next = k->h + numbers;
    k->energies = k->next + numbers;
    KERN_TRY(model_layer_input(at->subject->m, at->layer, at->part, p->ids, p->tokens, k->h, err));
    KERN_TRY(model_layer_map_create_at(&k->map, at->subject->m, at->layer, at->part, k->h,
                                       p->tokens, err));
    k->map->kind->step(k->map, k->map->start, k->next);
    k->map->kind->block_energies(k->map, k->map->start, k->energies);
    k->at = *at;
    return KERN_OK;
}

static kern_status fetch(kept **out, const place *at, verify_work *work, kern_error *err)
{
    kept *k = work->stash.data;
    if (k != NULL && k->at.subject == at->subject && k->at.layer == at->layer &&
        k->at.prompt == at->prompt && k->at.part == at->part) {
        *out = k;
        return KERN_OK;
    }
    verify_work_drop_stash(work);
    k = calloc(1, sizeof *k);
    if (k == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a layer's input");
    }
    work->stash.data = k;
    work->stash.release = release;
    const kern_status status = make(k, at, err);
    if (status != KERN_OK) {
        verify_work_drop_stash(work);
        return status;
    }
    *out = k;
    return KERN_OK;
}

kern_status verify_cem_draw_run(verify_record *record, const verify_subject *subject,
                                unsigned wanted, size_t trial, bool engine, verify_work *work,
                                kern_error *err)
{
    const unsigned parts = verify_cem_run_parts(subject, wanted);
    const size_t kinds = parts == (VERIFY_CEM_ATTN_PART | VERIFY_CEM_MLP_PART) ? 2 : 1;
    const size_t layers = subject->m->config.n_layer;
    const size_t group = trial / TOKENS_EACH;
    const size_t index = group / kinds / layers;
    const bool attention = kinds == 2 ? group % 2 == 0 : parts == VERIFY_CEM_ATTN_PART;
    const place at = {.subject = subject,
                      .layer = group / kinds % layers,
                      .prompt = index % subject->n_prompts,
                      .part = attention ? MODEL_LAYER_ATTN : MODEL_LAYER_FFN};
    const size_t tokens = subject->prompts[at.prompt].tokens;
    const size_t token = tokens - 1 - trial % TOKENS_EACH * tokens / TOKENS_EACH;
    kept *k = NULL;
    KERN_TRY(fetch(&k, &at, work, err));
    KERN_TRY(verify_cem_put_run(record, subject, at.layer, at.part, k->h, token, work, err));
    KERN_TRY(verify_record_put_number(record, "steps",
                                      (double)model_layer_map_steps(subject->m, at.part), err));
    KERN_TRY(verify_record_put_number(record, "layer", (double)at.layer, err));
    KERN_TRY(verify_record_put_number(record, "token", (double)token, err));
    KERN_TRY(verify_record_put_number(record, "prompt", (double)at.prompt, err));
    if (engine) {
        KERN_TRY(verify_record_put_copy(record, "engine_next", 1, subject->width,
                                        k->next + token * subject->width, err));
        KERN_TRY(verify_record_put_number(record, "engine_energy", k->energies[token], err));
    }
    return KERN_OK;
}
