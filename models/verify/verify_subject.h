/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What claims about a trained run draw from: its parameters in double precision, some prompts, and
 * the states its tokens pass through on the trained steps and beyond.
 *
 * A subject does not change once it is made and is read by all workers at once. Claims copy what
 * they need into the record, so that it is self-contained.
 */
#ifndef BASIN_VERIFY_SUBJECT_H
#define BASIN_VERIFY_SUBJECT_H

#include "kernels/kern_status.h"
#include "models/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A sequence of tokens and its orbit x(0) … x(steps) under the model's block. */
typedef struct verify_prompt {
    const int32_t *ids; /* tokens ids */
    size_t tokens;
    const double *states; /* (steps + 1) × tokens × D, all of them finite or NaN where the orbit
                           * was lost; NULL for a model whose blocks differ */
} verify_prompt;

typedef struct verify_subject {
    const char *name; /* the run as the user named it; owned */
    const model *m;   /* in double precision, borrowed */
    size_t width;     /* D */
    size_t steps;     /* of every orbit: twice the trained number */
    size_t n_prompts; /* at least 1 */
    bool lost;        /* some state of an orbit is not finite */
    verify_prompt *prompts;

    /* Of an NRGPT; NULL for other families. */
    double *gamma; /* D, the block norm's gain γ */
    double *delta; /* D, its bias δ */
    double *eta; /* D × D, row-major: the matrix η of the update x′ = x − η ∂E/∂g in whatever form
                  * it is trained */
    void *memory; /* private */
} verify_subject;

/* A subject of `m`, which is in double precision and outlives it, with `n_prompts` sequences: ids
 * one sequence after another, `tokens` their lengths (each at least 1 and at most block_size). All
 * but `m` is copied. KERN_INVALID_ARGUMENT for a token outside the vocabulary, a length out of
 * range or no sequence; KERN_NO_MEMORY. Cost: steps · n_prompts applications of the block. */
kern_status verify_subject_create(verify_subject **out, const model *m, const char *name,
                                  size_t n_prompts, const size_t *tokens, const int32_t *ids,
                                  kern_error *err);

/* NULL is ignored. */
void verify_subject_destroy(verify_subject *subject);

/* State of token `token` of prompt `prompt` after `step` steps: D numbers, or NULL for a model
 * whose blocks differ. */
const double *verify_subject_state(const verify_subject *subject, size_t prompt, size_t step,
                                   size_t token);

/* Values of the tensor `name` (model_params.h), rows × cols, or NULL when the model has none such.
 * The shape goes to *rows and *cols, which may be NULL. */
const double *verify_subject_tensor(const verify_subject *subject, const char *name, size_t *rows,
                                    size_t *cols);

/* For `applies`: NULL when the model is an NRGPT, else the sentence that says that its family has
 * no energy, or is not the one meant. */
const char *verify_subject_needs_nrgpt(const verify_subject *subject);
const char *verify_subject_needs_cem(const verify_subject *subject);
const char *verify_subject_needs_hourglass(const verify_subject *subject);

#endif
