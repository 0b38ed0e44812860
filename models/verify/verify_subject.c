/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/verify/verify_subject.h"

#include "dyn/dyn_map.h"
#include "kernels/kern_arena.h"
#include "kernels/kern_size.h"
#include "models/model_dynamics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a subject owns. */
typedef struct subject_memory {
    kern_arena arena;
} subject_memory;

static bool is_nrgpt(const model *m)
{
    return m->config.family == MODEL_NRGPT;
}

/* ---- η in one matrix ------------------------------------------------------------------------ */

static const double *tensor(const model *m, const char *name)
{
    const model_param *param = model_params_find(&m->params, name);
    return param != NULL ? (const double *)m->values + param->offset : NULL;
}

/* diag(scale · gain); a NULL gain is 1. */
static void fill_diagonal(double *eta, size_t d, double scale, const double *gain)
{
    for (size_t i = 0; i < d; i++) {
        eta[i * d + i] = gain != NULL ? scale * gain[i] : scale;
    }
}

/* S Sᵀ + A − Aᵀ; a NULL A is 0. */
static void fill_psd(double *eta, size_t d, const double *s, const double *a)
{
    for (size_t i = 0; i < d; i++) {
        for (size_t j = 0; j < d; j++) {
            double sum = a != NULL ? a[i * d + j] - a[j * d + i] : 0.0;
            for (size_t k = 0; k < d; k++) {
                sum += s[i * d + k] * s[j * d + k];
            }
            eta[i * d + j] = sum;
        }
    }
}

static void fill_eta(verify_subject *subject)
{
    const model *m = subject->m;
    const size_t d = subject->width;
    switch (m->config.eta) {
    case MODEL_ETA_FULL:
        memcpy(subject->eta, tensor(m, "blocks.proj.weight"), d * d * sizeof(double));
        break;
    case MODEL_ETA_GAMMA:
        fill_diagonal(subject->eta, d, tensor(m, "blocks.eta")[0], subject->gamma);
        break;
    case MODEL_ETA_SCALAR:
        fill_diagonal(subject->eta, d, tensor(m, "blocks.eta")[0], NULL);
        break;
    case MODEL_ETA_SQUARE: {
        const double w = tensor(m, "blocks.eta")[0];
        fill_diagonal(subject->eta, d, w * w, NULL);
        break;
    }
    case MODEL_ETA_PSD:
    case MODEL_ETA_PSD_SKEW:
        fill_psd(subject->eta, d, tensor(m, "blocks.eta_s.weight"),
                 tensor(m, "blocks.eta_a.weight"));
        break;
    }
}

/* ---- making one ----------------------------------------------------------------------------- */

static kern_status check_prompts(const model *m, size_t n_prompts, const size_t *tokens,
                                 kern_error *err)
{
    if (n_prompts == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "there is no prompt; one or more are needed");
    }
    for (size_t i = 0; i < n_prompts; i++) {
        if (tokens[i] == 0 || tokens[i] > m->config.block_size) {
            return kern_raise(err, KERN_INVALID_ARGUMENT,
                              "prompt %zu has %zu tokens; 1 to %zu are accepted", i, tokens[i],
                              m->config.block_size);
        }
    }
    return KERN_OK;
}

/* Bytes of everything, KERN_OVERFLOW when they do not fit. */
static kern_status measure(const verify_subject *subject, const size_t *tokens, size_t *bytes,
                           kern_error *err)
{
    const size_t d = subject->width;
    size_t sum = kern_arena_cost(subject->n_prompts, sizeof(verify_prompt)) +
                 kern_arena_cost(strlen(subject->name) + 1, 1) +
                 2 * kern_arena_cost(d, sizeof(double));
    bool fits = true;
    size_t square = 0;
    fits = fits && kern_size_mul(d, d, &square) &&
           kern_size_add(sum, kern_arena_cost(square, sizeof(double)), &sum);
    for (size_t i = 0; i < subject->n_prompts && fits; i++) {
        size_t states = 0;
        fits = kern_size_mul(subject->steps + 1, tokens[i], &states) &&
               kern_size_mul(states, d, &states) &&
               kern_size_add(sum, kern_arena_cost(states, sizeof(double)), &sum) &&
               kern_size_add(sum, kern_arena_cost(tokens[i], sizeof(int32_t)), &sum);
    }
    if (!fits) {
        return kern_raise(err, KERN_OVERFLOW, "the states of %zu prompts do not fit size_t",
                          subject->n_prompts);
    }
    *bytes = sum;
    return KERN_OK;
}

/* Orbit of one prompt. Its tokens are checked here, by the constructor of the map. */
static kern_status run_prompt(verify_subject *subject, verify_prompt *prompt, double *states,
                              kern_error *err)
{
    dyn_map *map = NULL;
    KERN_TRY(model_dynamics_create(&map, subject->m, prompt->ids, prompt->tokens, err));
    memcpy(states, map->start, map->size * sizeof *states);
    for (size_t t = 0; t < subject->steps; t++) {
        map->kind->step(map, states + t * map->size, states + (t + 1) * map->size);
    }
    for (size_t i = 0; i < (subject->steps + 1) * map->size; i++) {
        subject->lost = subject->lost || !isfinite(states[i]);
    }
    prompt->states = states;
    dyn_map_destroy(map);
    return KERN_OK;
}

static kern_status check_ids(const model *m, const int32_t *ids, size_t n, kern_error *err)
{
    for (size_t i = 0; i < n; i++) {
        if (ids[i] < 0 || (size_t)ids[i] >= m->config.vocab_size) {
            return kern_raise(err, KERN_INVALID_ARGUMENT,
                              "token %zu of a prompt is %d; the model accepts 0 to %zu", i,
                              (int)ids[i], m->config.vocab_size - 1);
        }
    }
    return KERN_OK;
}

static kern_status fill_prompts(verify_subject *subject, const size_t *tokens, const int32_t *ids,
                                kern_error *err)
{
    kern_arena *arena = &((subject_memory *)subject->memory)->arena;
    for (size_t i = 0; i < subject->n_prompts; i++) {
        verify_prompt *prompt = &subject->prompts[i];
        const size_t n = tokens[i];
        int32_t *copy = kern_arena_alloc(arena, n, sizeof *copy);
        KERN_TRY(check_ids(subject->m, ids, n, err));
        memcpy(copy, ids, n * sizeof *copy);
        *prompt = (verify_prompt){.ids = copy, .tokens = n};
        if (!model_config_has_layers(&subject->m->config)) {
            double *states =
                kern_arena_alloc(arena, (subject->steps + 1) * n * subject->width, sizeof *states);
            KERN_TRY(run_prompt(subject, prompt, states, err));
        }
        ids += n;
    }
    return KERN_OK;
}

static void fill_parameters(verify_subject *subject)
{
    kern_arena *arena = &((subject_memory *)subject->memory)->arena;
    const size_t d = subject->width;
    subject->gamma = kern_arena_alloc(arena, d, sizeof(double));
    subject->delta = kern_arena_alloc(arena, d, sizeof(double));
    subject->eta = kern_arena_calloc(arena, d * d, sizeof(double));
    memcpy(subject->gamma, tensor(subject->m, "blocks.ln.weight"), d * sizeof(double));
    memcpy(subject->delta, tensor(subject->m, "blocks.ln.bias"), d * sizeof(double));
    fill_eta(subject);
}

static kern_status build(verify_subject *subject, const char *name, const size_t *tokens,
                         const int32_t *ids, kern_error *err)
{
    size_t bytes = 0;
    subject->name = name;
    KERN_TRY(check_prompts(subject->m, subject->n_prompts, tokens, err));
    KERN_TRY(measure(subject, tokens, &bytes, err));
    subject_memory *memory = calloc(1, sizeof *memory);
    if (memory == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for what is verified");
    }
    subject->memory = memory;
    KERN_TRY(kern_arena_init(&memory->arena, bytes, err));
    char *text = kern_arena_alloc(&memory->arena, strlen(name) + 1, 1);
    memcpy(text, name, strlen(name) + 1);
    subject->name = text;
    subject->prompts =
        kern_arena_calloc(&memory->arena, subject->n_prompts, sizeof *subject->prompts);
    if (is_nrgpt(subject->m)) {
        fill_parameters(subject);
    }
    return fill_prompts(subject, tokens, ids, err);
}

kern_status verify_subject_create(verify_subject **out, const model *m, const char *name,
                                  size_t n_prompts, const size_t *tokens, const int32_t *ids,
                                  kern_error *err)
{
    verify_subject *subject = calloc(1, sizeof *subject);
    *out = NULL;
    if (subject == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for what is verified");
    }
    *subject = (verify_subject){
        .m = m, .width = m->config.n_embed, .steps = 2 * m->config.n_layer, .n_prompts = n_prompts};
    const kern_status status = build(subject, name, tokens, ids, err);
    if (status != KERN_OK) {
        verify_subject_destroy(subject);
        return status;
    }
    *out = subject;
    return KERN_OK;
}

void verify_subject_destroy(verify_subject *subject)
{
    if (subject == NULL) {
        return;
    }
    subject_memory *memory = subject->memory;
    if (memory != NULL) {
        kern_arena_fini(&memory->arena);
        free(memory);
    }
    free(subject);
}

/* ---- looking at one ------------------------------------------------------------------------- */

const double *verify_subject_state(const verify_subject *subject, size_t prompt, size_t step,
                                   size_t token)
{
    const verify_prompt *p = &subject->prompts[prompt];
    return p->states != NULL ? p->states + (step * p->tokens + token) * subject->width : NULL;
}

const double *verify_subject_tensor(const verify_subject *subject, const char *name, size_t *rows,
                                    size_t *cols)
{
    const model_param *param = model_params_find(&subject->m->params, name);
    if (param == NULL) {
        return NULL;
    }
    if (rows != NULL) {
        *rows = param->rows;
    }
    if (cols != NULL) {
        *cols = param->cols;
    }
    return (const double *)subject->m->values + param->offset;
}

const char *verify_subject_needs_nrgpt(const verify_subject *subject)
{
    switch (subject->m->config.family) {
    case MODEL_NRGPT:
        return NULL;
    case MODEL_GPT:
        return "a GPT has no energy that its update could lower";
    case MODEL_LLAMA:
        return "a Llama has no energy that its update could lower";
    case MODEL_CEM:
        return "is about NRGPT; the claims on CEM are those named cem-...";
    case MODEL_HOURGLASS:
        return "an hourglass has no energy that its update could lower";
    }
    return "is about NRGPT";
}

/* The sentence for a family whose claims do not concern `subject`. */
static const char *needs_family(const verify_subject *subject, model_family family,
                                const char *sentence)
{
    return subject->m->config.family == family ? NULL : sentence;
}

const char *verify_subject_needs_cem(const verify_subject *subject)
{
    return needs_family(subject, MODEL_CEM, "is about the layers of CEM, which this model lacks");
}

const char *verify_subject_needs_hourglass(const verify_subject *subject)
{
    return needs_family(subject, MODEL_HOURGLASS,
                        "is about hourglass stacks, which this model lacks");
}
