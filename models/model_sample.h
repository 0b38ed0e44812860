/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Drawing one token from logits.
 */
#ifndef BASIN_MODEL_SAMPLE_H
#define BASIN_MODEL_SAMPLE_H

#include "kernels/kern_rng.h"
#include "models/model_generate.h"

/* Room that drawing needs: one entry per token. */
typedef struct model_candidate {
    double logit;
    int32_t id;
} model_candidate;

/* KERN_INVALID_ARGUMENT, naming the setting, unless the settings fit a vocabulary of `vocab_size`.
 */
kern_status model_sampling_check(const model_sampling *s, size_t vocab_size, kern_error *err);

/* Token drawn with p_i ∝ exp(logit_i / temperature) among the `top_k` largest of the first `n`
 * logits (of equal ones the lower ids), or the largest one when greedy. One number is taken from
 * `rng` unless greedy. `room` holds n candidates. Returns −1 when a logit is NaN or infinite. */
int32_t model_sample(const model_sampling *s, const double *logits, size_t n, kern_rng *rng,
                     model_candidate *room);

#endif
