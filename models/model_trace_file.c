/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A trace as an HDF5 file; see model_trace.h.
 */
#include "models/model_hdf5.h"
#include "models/model_trace.h"

#include <stddef.h>

enum { OVER_STATES, OVER_STEPS, OVER_VECTORS };

/* Every array of doubles in the file. */
static const struct {
    const char *name;
    const char *units;
    const char *description;
    int kind;
    size_t member;
} arrays[] = {
    {"energy/attention", "nat", "E_AT of each token at g(t)", OVER_STATES,
     offsetof(model_trace, energy_attn)},
    {"energy/feed_forward", "nat", "s E_FF of each token at g(t)", OVER_STATES,
     offsetof(model_trace, energy_ff)},
    {"energy/total", "nat", "E_AT + s E_FF of each token at g(t)", OVER_STATES,
     offsetof(model_trace, energy)},
    {"sigma", "1", "denominator of the norm", OVER_STATES, offsetof(model_trace, sigma)},
    {"gradient_norm", "nat", "|P Γ v|, v the gradient of the token's own energy", OVER_STATES,
     offsetof(model_trace, gradient_norm)},
    {"change/self", "nat", "first-order change by the token's own move, v·(ΓP/σ)Δx", OVER_STEPS,
     offsetof(model_trace, self_change)},
    {"change/cross", "nat", "first-order change by the moving prefix", OVER_STEPS,
     offsetof(model_trace, cross_change)},
    {"change/actual", "nat", "E(t+1) − E(t)", OVER_STEPS, offsetof(model_trace, actual_change)},
    {"g", "1", "normalised state", OVER_VECTORS, offsetof(model_trace, g)},
};

static kern_status put_array(model_hdf5_writer *w, const model_trace *t, size_t i, kern_error *err)
{
    static const char *const dims[][3] = {
        {"token", "state", NULL}, {"token", "step", NULL}, {"token", "state", "feature"}};
    const int kind = arrays[i].kind;
    const model_hdf5_shape shape = {
        .rank = kind == OVER_VECTORS ? 3 : 2,
        .size = {t->tokens, kind == OVER_STEPS ? t->steps : t->steps + 1, t->width}};
    const model_hdf5_meta meta = {
        .units = arrays[i].units, .description = arrays[i].description, .dims = dims[kind]};
    double *values;
    /* The table names members of the struct by offset; each is a pointer to double. */
    values = *(double *const *)(const void *)((const char *)t + arrays[i].member);
    return model_hdf5_put_doubles(w, arrays[i].name, values, &shape, &meta, err);
}

static kern_status put_labels(model_hdf5_writer *w, const model_trace *t,
                              const model_trace_labels *labels, kern_error *err)
{
    static const char *const token_dim[] = {"token"};
    static const char *const step_dims[] = {"token", "step"};
    const model_hdf5_meta tokens = {.description = "text of each token", .dims = token_dim};
    const model_hdf5_meta rising = {.description = "the energy rises by more than rounding",
                                    .dims = step_dims};
    const model_hdf5_shape vector = {.rank = 1, .size = {t->tokens}};
    const model_hdf5_shape matrix = {.rank = 2, .size = {t->tokens, t->steps}};
    KERN_TRY(model_hdf5_put_strings(w, "tokens", labels->tokens, &vector, &tokens, err));
    KERN_TRY(model_hdf5_put_bools(w, "rising", t->rising, &matrix, &rising, err));
    KERN_TRY(model_hdf5_put_attr_string(w, "/", "format", "basin-trace-1", err));
    KERN_TRY(model_hdf5_put_attr_string(w, "/", "prompt", labels->prompt, err));
    KERN_TRY(model_hdf5_put_attr_string(w, "/", "recipe", labels->recipe, err));
    KERN_TRY(model_hdf5_put_attr_int64(w, "/", "steps", (int64_t)t->steps, err));
    KERN_TRY(model_hdf5_put_attr_int64(w, "/", "trained_steps", (int64_t)t->trained_steps, err));
    KERN_TRY(model_hdf5_put_attr_doubles(w, "/", "scale_ff", &t->scale_ff, 1, err));
    const double fraction = model_trace_rising_fraction(t);
    return model_hdf5_put_attr_doubles(w, "/", "rising_fraction", &fraction, 1, err);
}

static kern_status put_states(model_hdf5_writer *w, const model_trace *t, kern_error *err)
{
    static const char *const dims[] = {"token", "state", "feature"};
    const model_hdf5_meta meta = {
        .units = "1", .description = "state before the norm", .dims = dims};
    const model_hdf5_shape shape = {.rank = 3, .size = {t->tokens, t->steps + 1, t->width}};
    return model_hdf5_put_doubles(w, "x", t->x, &shape, &meta, err);
}

static kern_status put_all(model_hdf5_writer *w, const model_trace *t,
                           const model_trace_labels *labels, kern_error *err)
{
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        KERN_TRY(put_array(w, t, i, err));
    }
    if (labels->with_states) {
        KERN_TRY(put_states(w, t, err));
    }
    return put_labels(w, t, labels, err);
}

kern_status model_trace_write(const model_trace *trace, const model_trace_labels *labels,
                              const char *path, kern_error *err)
{
    model_hdf5_writer *writer = NULL;
    KERN_TRY(model_hdf5_writer_create(&writer, path, err));
    kern_status status = put_all(writer, trace, labels, err);
    if (status == KERN_OK) {
        status = model_hdf5_writer_commit(writer, err);
    }
    model_hdf5_writer_destroy(writer);
    return status;
}
