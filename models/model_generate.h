/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Continuing prompts with a model of any family, token by token.
 *
 * As in the published code nothing is cached: every token is computed from the last block_size
 * tokens afresh. A causal model needs no mask for what is not there yet, so one graph of N tokens
 * serves every shorter sequence, with anything behind its end; N is the next of 16, 32, 64, …,
 * block_size. Only the last token's state is read out.
 *
 * Prompt number i draws from the random stream (seed, "generate", first_index + i) and is computed
 * by one thread with graphs that depend on its own length alone. A continuation therefore does not
 * depend on the other prompts, on how they are split into calls, or on the number of threads.
 */
#ifndef BASIN_MODEL_GENERATE_H
#define BASIN_MODEL_GENERATE_H

#include "models/model.h"
#include "models/model_data.h"

#include <stdbool.h>

typedef struct model_sampling {
    bool greedy; /* most probable token, of equal ones the first; temperature, top_k unused */
    double temperature; /* logits are divided by it; finite and > 0 */
    size_t top_k;       /* draw among the k most probable tokens only; 0: all */
    size_t vocab;       /* draw among ids below this (a padded vocabulary); 0: all */
    size_t max_new;     /* tokens at most, ≥ 1 */
    int32_t eos;        /* stop after this token; negative: none */
    uint64_t seed;
    uint64_t first_index; /* index of the first prompt's random stream */
} model_sampling;

/* Temperature 1 over the whole vocabulary, at most 60 tokens, no end token, seed 1. */
model_sampling model_sampling_default(void);

/* What a model added to a prompt. */
typedef struct model_continuation {
    int32_t *ids; /* [n], owned; the end token is included */
    size_t n;
    bool ended; /* the end token came */
} model_continuation;

/* Called now and then with how many of `total` are done; false stops the work. */
typedef bool model_progress(void *context, size_t done, size_t total);

/* Continues `n` ≥ 1 prompts into out[n], with up to `threads` threads; `progress` may be NULL.
 * KERN_INVALID_ARGUMENT for settings outside their domain; KERN_BAD_INPUT for an empty prompt or a
 * token outside the model's vocabulary, with the prompt's number, from 1; KERN_NAN when a logit is
 * not finite; KERN_INTERRUPTED when progress said so; KERN_NO_MEMORY. On failure `out` is zeroed.
 * Cost: one forward pass of up to N tokens per new token. */
kern_status model_generate_batch(const model *m, const model_sampling *sampling,
                                 const model_prompts *prompts, int threads,
                                 model_progress *progress, void *context, model_continuation *out,
                                 kern_error *err);

/* Continues one prompt; the same as a batch of one. */
kern_status model_generate(const model *m, const model_sampling *sampling, const int32_t *prompt,
                           size_t n, model_continuation *out, kern_error *err);

/* Releases `n` continuations; safe on zeroed ones and when called twice. */
void model_continuations_fini(model_continuation *items, size_t n);

#endif
