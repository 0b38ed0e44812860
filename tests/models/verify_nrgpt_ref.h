/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Energy of one token of an NRGPT from a record, after the formula, in extended precision: what
 * tests of models/verify/verify_nrgpt* and of its claims compare to. Nothing of Basin is used but
 * the record. Include after cmocka.h.
 */
#ifndef BASIN_VERIFY_NRGPT_REF_H
#define BASIN_VERIFY_NRGPT_REF_H

#include "models/verify/verify_record.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static inline const double *ref_array(const verify_record *r, const char *name)
{
    const verify_entry *entry = verify_record_find(r, name);
    return entry == NULL ? NULL : entry->values;
}

static inline double ref_number(const verify_record *r, const char *name)
{
    const double *value = ref_array(r, name);
    assert_non_null(value);
    return *value;
}

/* Element i of an array, widened. */
static inline long double ref_at(const verify_record *r, const char *name, size_t i)
{
    const double *values = ref_array(r, name);
    assert_non_null(values);
    return (long double)values[i];
}

static inline size_t ref_size(const verify_record *r, const char *name)
{
    return (size_t)ref_number(r, name);
}

static inline bool ref_is(const verify_record *r, const char *name, const char *word)
{
    return strcmp(verify_record_find(r, name)->word, word) == 0;
}

static inline long double ref_act(const verify_record *r, long double z)
{
    if (ref_is(r, "act", "relu")) {
        return z > 0 ? z : 0;
    }
    if (ref_is(r, "act", "softplus")) {
        return log1pl(expl(-fabsl(z))) + (z > 0 ? z : 0);
    }
    return z * 0.5L * erfcl(-z / sqrtl(2.0L));
}

static inline long double ref_attention(const verify_record *r, const long double *g)
{
    const size_t d = ref_size(r, "width");
    const size_t k = ref_size(r, "prefix");
    const size_t n = k + (ref_is(r, "mask", "inclusive") ? 1 : 0);
    const long double beta = ref_at(r, "beta", 0);
    long double energy = 0;
    for (size_t h = 0; h < ref_size(r, "heads") && n > 0; h++) {
        long double sum = 0;
        long double shift = 0;
        for (size_t b = 0; b < n; b++) {
            long double score = 0;
            for (size_t i = 0; i < d * d; i++) {
                const long double left = b < k ? ref_at(r, "context", b * d + i / d) : g[i / d];
                score += left * ref_at(r, "J", h * d * d + i) * g[i % d];
            }
            shift = b == 0 ? score : shift;
            sum += expl(beta * (score - shift));
        }
        energy -= ref_at(r, "alpha", h) / beta * (logl(sum) + beta * shift);
    }
    return energy;
}

static inline long double ref_energy(const verify_record *r, const long double *g)
{
    const size_t d = ref_size(r, "width");
    const size_t m = ref_size(r, "hidden");
    const bool wide = ref_is(r, "ff", "ff2w") && m > 0;
    long double energy = ref_attention(r, g);
    for (size_t j = 0; j < m; j++) {
        long double z = ref_at(r, "b1", j);
        long double p = 0;
        for (size_t i = 0; i < d; i++) {
            z += ref_at(r, "W1", j * d + i) * g[i];
            p += wide ? ref_at(r, "W2", i * m + j) * g[i] : 0;
        }
        energy -= ref_at(r, "scale_ff", 0) * ref_act(r, z) * (wide ? p : ref_act(r, z));
    }
    for (size_t i = 0; wide && i < d; i++) {
        energy -= ref_at(r, "scale_ff", 0) * ref_at(r, "b2", i) * g[i];
    }
    return energy;
}

/* g of the state x; σ. */
static inline long double ref_normalise(const verify_record *r, const double *x, long double *g)
{
    const size_t d = ref_size(r, "width");
    long double mean = 0;
    long double square = 0;
    for (size_t i = 0; i < d && ref_is(r, "norm", "layernorm"); i++) {
        mean += (long double)x[i] / (long double)d;
    }
    for (size_t i = 0; i < d; i++) {
        square += ((long double)x[i] - mean) * ((long double)x[i] - mean) / (long double)d;
    }
    const long double sigma =
        ref_is(r, "norm", "none") ? 1 : sqrtl(square + ref_at(r, "epsilon", 0));
    for (size_t i = 0; i < d; i++) {
        g[i] = ref_at(r, "gamma", i) * ((long double)x[i] - mean) / sigma + ref_at(r, "delta", i);
    }
    return sigma;
}

enum { REF_WIDTH = 128 };

static inline long double ref_energy_at(const verify_record *r, const double *x)
{
    long double g[REF_WIDTH];
    (void)ref_normalise(r, x, g);
    return ref_energy(r, g);
}

/* ∂E/∂g_i by a difference of fourth order. */
static inline long double ref_slope(const verify_record *r, const long double *g, size_t i)
{
    const long double h = 1e-4L;
    long double at[REF_WIDTH];
    long double e[4];
    memcpy(at, g, ref_size(r, "width") * sizeof *at);
    for (int k = 0; k < 4; k++) {
        at[i] = g[i] + (long double)(k < 2 ? k - 2 : k - 1) * h;
        e[k] = ref_energy(r, at);
    }
    return (e[0] - 8 * e[1] + 8 * e[2] - e[3]) / (12 * h);
}

#endif
