/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_sample.h"

#include <math.h>
#include <stdlib.h>

kern_status model_sampling_check(const model_sampling *s, size_t vocab_size, kern_error *err)
{
    if (!s->greedy && (!(s->temperature > 0.0) || !isfinite(s->temperature))) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the temperature is %g; a finite number above 0 is accepted, and greedy "
                          "stands for the limit 0",
                          s->temperature);
    }
    if (s->max_new == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "0 new tokens were asked for; at least 1 is accepted");
    }
    if (s->vocab > vocab_size) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "%zu tokens to draw from are more than the %zu of the model", s->vocab,
                          vocab_size);
    }
    if (s->eos >= 0 && (size_t)s->eos >= vocab_size) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the end token %d is outside the model's vocabulary of %zu", (int)s->eos,
                          vocab_size);
    }
    return KERN_OK;
}

static int compare_candidates(const void *a, const void *b)
{
    const model_candidate *left = a;
    const model_candidate *right = b;
    if (left->logit < right->logit || left->logit > right->logit) {
        return left->logit < right->logit ? 1 : -1;
    }
    return (left->id > right->id) - (left->id < right->id);
}

/* Position in `room` of the candidate in whose share the number falls. Every share is at most 1. */
static size_t draw(const model_sampling *s, const model_candidate *room, size_t n, double largest,
                   kern_rng *rng)
{
    double total = 0;
    for (size_t i = 0; i < n; i++) {
        total += exp((room[i].logit - largest) / s->temperature);
    }
    const double target = kern_rng_uniform(rng) * total;
    double sum = 0;
    size_t last = 0;
    for (size_t i = 0; i < n; i++) {
        const double share = exp((room[i].logit - largest) / s->temperature);
        sum += share;
        if (target < sum) {
            return i;
        }
        last = share > 0.0 ? i : last;
    }
    return last; /* the product rounded up to the total */
}

int32_t model_sample(const model_sampling *s, const double *logits, size_t n, kern_rng *rng,
                     model_candidate *room)
{
    size_t best = 0;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(logits[i])) {
            return -1;
        }
        best = logits[i] > logits[best] ? i : best;
        room[i] = (model_candidate){logits[i], (int32_t)i};
    }
    if (s->greedy) {
        return (int32_t)best;
    }
    if (s->top_k > 0 && s->top_k < n) {
        qsort(room, n, sizeof *room, compare_candidates);
        n = s->top_k;
    }
    return room[draw(s, room, n, logits[best], rng)].id;
}
