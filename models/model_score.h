/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How good a model is: its loss over a text, and its answers to ListOps questions.
 */
#ifndef BASIN_MODEL_SCORE_H
#define BASIN_MODEL_SCORE_H

#include "models/model.h"
#include "models/model_data.h"
#include "models/model_generate.h"

/* Right answers of a guesser: one digit of ten. */
#define MODEL_SCORE_CHANCE 0.1

typedef struct model_loss {
    double loss;       /* mean negative log likelihood, nats per token */
    double perplexity; /* exp(loss) */
    size_t n;          /* tokens predicted */
} model_loss;

typedef struct model_loss_options {
    model_part part;
    size_t window; /* tokens a window holds; 0: block_size */
    int threads;
    model_progress *progress; /* counts windows; may be NULL */
    void *context;
} model_loss_options;

/* Loss over every token of a part but its first, each predicted once. The part is cut into windows
 * of `window` inputs, one behind the other, so a token sees what precedes it in its window; the
 * last window may be shorter. Nothing is random, and the result does not depend on the number of
 * threads. KERN_INVALID_ARGUMENT for a window above block_size; KERN_BAD_INPUT for a part of fewer
 * than two tokens or a vocabulary larger than the model's; KERN_NAN when the loss is not finite;
 * KERN_INTERRUPTED when progress said so; KERN_NO_MEMORY. */
kern_status model_score_loss(const model *m, const model_stream *stream,
                             const model_loss_options *options, model_loss *out, kern_error *err);

/* Tells whether a whole text, prompt and continuation, is a valid chain of reductions. */
typedef bool model_score_judge(void *context, const int32_t *ids, size_t n);

typedef struct model_scoring {
    model_sampling sampling; /* the end token must be set */
    int threads;
    model_progress *progress; /* may be NULL */
    model_score_judge *judge; /* may be NULL */
    void *context;            /* for both */
} model_scoring;

/* The published metric: temperature 1, at most 60 tokens, end token `eos`. */
model_scoring model_scoring_default(int32_t eos);

typedef struct model_accuracy {
    size_t n;        /* prompts */
    size_t correct;  /* right answers */
    size_t ended;    /* continuations with an end token */
    size_t valid;    /* chains that the judge accepted; 0 without one */
    double accuracy; /* correct / n */
} model_accuracy;

/* Token that counts as the answer: the one before the first end token, the last one when there is
 * none, -1 when the end token comes first. */
int32_t model_score_answer(const model_continuation *c);

/* Continues every prompt and compares answers (Dehmamy et al. 2025, arXiv 2512.16762). Steps in
 * between are not scored, except by the judge. Errors of model_generate_batch, and
 * KERN_INVALID_ARGUMENT without an end token. */
kern_status model_score_listops(const model *m, const model_prompts *prompts,
                                const model_scoring *scoring, model_accuracy *out, kern_error *err);

#endif
