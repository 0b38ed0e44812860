/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_schedule.h"

#include <math.h>
#include <string.h>

static const char *const schedule_words[] = {
    [MODEL_SCHEDULE_CONSTANT] = "constant",
    [MODEL_SCHEDULE_COSINE] = "cosine",
    [MODEL_SCHEDULE_EXPONENTIAL] = "exponential",
};

enum { SCHEDULE_COUNT = sizeof schedule_words / sizeof *schedule_words };

double model_schedule_rate(const model_schedule *s, size_t step)
{
    const double pi = 3.14159265358979323846;
    if (step < s->warmup) {
        return s->peak * (double)(step + 1) / (double)s->warmup;
    }
    const size_t span = s->total > s->warmup ? s->total - s->warmup : 1;
    const double u = fmin(1.0, (double)(step - s->warmup) / (double)span);
    switch (s->kind) {
    case MODEL_SCHEDULE_COSINE:
        return s->floor + (s->peak - s->floor) * 0.5 * (1.0 + cos(pi * u));
    case MODEL_SCHEDULE_EXPONENTIAL:
        return s->peak * pow(s->floor / s->peak, u);
    case MODEL_SCHEDULE_CONSTANT:
    default:
        return s->peak;
    }
}

kern_status model_schedule_check(const model_schedule *s, kern_error *err)
{
    if (!(s->peak > 0.0) || !isfinite(s->peak)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a learning rate of %g is not a positive number", s->peak);
    }
    if (!(s->floor >= 0.0) || !(s->floor <= s->peak)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a final learning rate of %g is not between 0 and the peak %g", s->floor,
                          s->peak);
    }
    if (s->kind == MODEL_SCHEDULE_EXPONENTIAL && !(s->floor > 0.0)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "an exponential schedule needs a final learning rate above 0, not %g",
                          s->floor);
    }
    if (s->warmup > s->total) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a warm-up of %zu steps is longer than the run of %zu", s->warmup,
                          s->total);
    }
    return KERN_OK;
}

const char *model_schedule_word(model_schedule_kind kind)
{
    return (size_t)kind < SCHEDULE_COUNT ? schedule_words[kind] : "unknown";
}

kern_status model_schedule_parse(model_schedule_kind *out, const char *word, kern_error *err)
{
    for (size_t i = 0; i < SCHEDULE_COUNT; i++) {
        if (strcmp(word, schedule_words[i]) == 0) {
            *out = (model_schedule_kind)i;
            return KERN_OK;
        }
    }
    return kern_raise(err, KERN_INVALID_ARGUMENT,
                      "\"%s\" is no schedule; accepted are constant, cosine, exponential", word);
}
