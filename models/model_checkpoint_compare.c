/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Whether settings continue what others began.
 */
#include "models/model_checkpoint_private.h"

#include "models/model_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static kern_status raise_setting(const char *name, const char *saved, const char *now,
                                 kern_error *err)
{
    return kern_raise(err, KERN_INVALID_ARGUMENT,
                      "%s is %s but the run was trained with %s; resuming accepts no change of it",
                      name, now, saved);
}

static kern_status compare_size(const char *name, uint64_t saved, uint64_t now, kern_error *err)
{
    if (saved == now) {
        return KERN_OK;
    }
    char a[MODEL_JSON_NUMBER];
    char b[MODEL_JSON_NUMBER];
    (void)snprintf(a, sizeof a, "%" PRIu64, saved);
    (void)snprintf(b, sizeof b, "%" PRIu64, now);
    return raise_setting(name, a, b, err);
}

static kern_status compare_real(const char *name, double saved, double now, kern_error *err)
{
    if (saved >= now && saved <= now) {
        return KERN_OK;
    }
    char a[MODEL_JSON_NUMBER];
    char b[MODEL_JSON_NUMBER];
    (void)model_json_format_real(a, saved);
    (void)model_json_format_real(b, now);
    return raise_setting(name, a, b, err);
}

static kern_status compare_adamw(const model_adamw *a, const model_adamw *b, kern_error *err)
{
    KERN_TRY(compare_real("AdamW's beta1", a->beta1, b->beta1, err));
    KERN_TRY(compare_real("AdamW's beta2", a->beta2, b->beta2, err));
    KERN_TRY(compare_real("AdamW's epsilon", a->epsilon, b->epsilon, err));
    KERN_TRY(compare_real("the weight decay", a->weight_decay, b->weight_decay, err));
    KERN_TRY(compare_real("the clipping norm", a->clip, b->clip, err));
    return compare_size("the decay of vectors", a->decay_vectors, b->decay_vectors, err);
}

/* A constant rate does not depend on the total, so that one may grow; under any other schedule a
 * new total would bend the curve that the run has followed so far. */
static kern_status compare_schedule(const model_schedule *a, const model_schedule *b,
                                    kern_error *err)
{
    if (a->kind != b->kind) {
        return raise_setting("the schedule", model_schedule_word(a->kind),
                             model_schedule_word(b->kind), err);
    }
    KERN_TRY(compare_real("the learning rate", a->peak, b->peak, err));
    KERN_TRY(compare_size("the warm-up", a->warmup, b->warmup, err));
    if (a->kind == MODEL_SCHEDULE_CONSTANT) {
        return KERN_OK;
    }
    KERN_TRY(compare_real("the final learning rate", a->floor, b->floor, err));
    if (a->total != b->total) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "%zu steps in all would change the %s schedule of the %zu steps that the "
                          "run was started with; only a constant schedule can be extended",
                          b->total, model_schedule_word(a->kind), a->total);
    }
    return KERN_OK;
}

kern_status model__checkpoint_compare(const model_training *saved, const model_training *now,
                                      char note[MODEL_CHECKPOINT_NOTE], kern_error *err)
{
    note[0] = '\0';
    KERN_TRY(compare_size("the batch", saved->batch, now->batch, err));
    KERN_TRY(compare_size("the window", saved->window, now->window, err));
    KERN_TRY(compare_size("the seed", saved->seed, now->seed, err));
    KERN_TRY(compare_adamw(&saved->adamw, &now->adamw, err));
    KERN_TRY(compare_schedule(&saved->schedule, &now->schedule, err));
    if (saved->threads != now->threads || saved->micro_batch != now->micro_batch) {
        (void)snprintf(note, MODEL_CHECKPOINT_NOTE,
                       "the run continues with %d threads and %zu windows at once where it had %d "
                       "and %zu, so rounding will differ from a run without a break",
                       now->threads, now->micro_batch, saved->threads, saved->micro_batch);
    }
    return KERN_OK;
}
