/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/verify/verify_nrgpt_instance.h"

#include <math.h>
#include <string.h>

enum {
    WIDTH_MAX = 4096,
    COUNT_MAX = 65536,
    DRAW_WIDTH_MIN = 3,
    DRAW_WIDTH_MAX = 16,
    DRAW_PREFIX_MAX = 5,
    DRAW_HEADS_MAX = 3
};

static const char *const norm_words[] = {"layernorm", "rmsnorm", "none", NULL};
static const char *const mask_words[] = {"strict", "inclusive", NULL};
static const char *const ff_words[] = {"ff1", "ff2w", NULL};
static const char *const act_words[] = {"gelu", "relu", "softplus", NULL};

/* ---- Reading ------------------------------------------------------------------------------- */

static kern_status read_shape(verify_nrgpt *q, const verify_record *r, kern_error *err)
{
    KERN_TRY(verify_record_get_size(r, "width", 1, WIDTH_MAX, &q->width, err));
    KERN_TRY(verify_record_get_size(r, "heads", 0, COUNT_MAX, &q->heads, err));
    KERN_TRY(verify_record_get_size(r, "prefix", 0, COUNT_MAX, &q->prefix, err));
    return verify_record_get_size(r, "hidden", 0, COUNT_MAX, &q->hidden, err);
}

static kern_status read_words(verify_nrgpt *q, const verify_record *r, kern_error *err)
{
    size_t norm;
    size_t mask;
    size_t ff;
    size_t act;
    KERN_TRY(verify_record_get_word(r, "norm", norm_words, &norm, err));
    KERN_TRY(verify_record_get_word(r, "mask", mask_words, &mask, err));
    KERN_TRY(verify_record_get_word(r, "ff", ff_words, &ff, err));
    KERN_TRY(verify_record_get_word(r, "act", act_words, &act, err));
    q->norm = (verify_nrgpt_norm)norm;
    q->inclusive = mask == 1;
    q->ff = (verify_nrgpt_ff)ff;
    q->act = &verify_nrgpt_acts[act];
    return KERN_OK;
}

static kern_status read_matrices(verify_nrgpt *q, const verify_record *r, kern_error *err)
{
    const size_t d = q->width;
    const bool wide = q->hidden > 0 && q->ff == VERIFY_NRGPT_FF2W;
    const struct {
        const char *name;
        size_t rows, cols;
        const double **values;
        bool there;
    } entries[] = {
        {"alpha", 1, q->heads, &q->alpha, q->heads > 0},
        {"J", q->heads * d, d, &q->j, q->heads > 0},
        {"context", q->prefix, d, &q->context, q->prefix > 0},
        {"W1", q->hidden, d, &q->w1, q->hidden > 0},
        {"b1", 1, q->hidden, &q->b1, q->hidden > 0},
        {"W2", d, q->hidden, &q->w2, wide},
        {"b2", 1, d, &q->b2, wide},
        {"gamma", 1, d, &q->gamma, true},
        {"delta", 1, d, &q->delta, true},
        {"x", 1, d, &q->x, true},
    };
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        if (entries[i].there) {
            KERN_TRY(verify_record_get(r, entries[i].name, entries[i].rows, entries[i].cols,
                                       entries[i].values, err));
        }
    }
    return KERN_OK;
}

static kern_status read_numbers(verify_nrgpt *q, const verify_record *r, kern_error *err)
{
    KERN_TRY(verify_record_get_number(r, "beta", &q->beta, err));
    KERN_TRY(verify_record_get_number(r, "scale_ff", &q->scale_ff, err));
    KERN_TRY(verify_record_get_number(r, "epsilon", &q->epsilon, err));
    if (!(q->beta > 0.0)) {
        return kern_raise(err, KERN_BAD_INPUT, "beta is %g, accepted is more than 0", q->beta);
    }
    if (!(q->epsilon >= 0.0)) {
        return kern_raise(err, KERN_BAD_INPUT, "epsilon is %g, accepted is 0 or more", q->epsilon);
    }
    return KERN_OK;
}

/* J_hᵀ g_B of every head and token of the prefix. */
static void fill_keys(verify_nrgpt *q)
{
    const size_t d = q->width;
    memset(q->keys, 0, q->heads * q->prefix * d * sizeof *q->keys);
    for (size_t h = 0; h < q->heads; h++) {
        for (size_t b = 0; b < q->prefix; b++) {
            double *key = q->keys + (h * q->prefix + b) * d;
            for (size_t i = 0; i < d; i++) {
                const double *row = q->j + (h * d + i) * d;
                for (size_t k = 0; k < d; k++) {
                    key[k] += q->context[b * d + i] * row[k];
                }
            }
        }
    }
}

void verify_nrgpt_hold(verify_nrgpt *q, size_t prefix, const double *context)
{
    q->prefix = prefix;
    q->context = context;
    fill_keys(q);
}

static void fill_sizes(verify_nrgpt *q)
{
    for (size_t i = 0; i < q->width; i++) {
        q->gain = fabs(q->gamma[i]) > q->gain ? fabs(q->gamma[i]) : q->gain;
    }
    for (size_t j = 0; j < q->hidden; j++) {
        double square = 0.0;
        for (size_t i = 0; i < q->width; i++) {
            square += q->w1[j * q->width + i] * q->w1[j * q->width + i];
        }
        q->sizes[j] = sqrt(square);
    }
}

kern_status verify_nrgpt_read(verify_nrgpt *q, const verify_record *record, verify_work *work,
                              kern_error *err)
{
    *q = (verify_nrgpt){0};
    KERN_TRY(read_shape(q, record, err));
    KERN_TRY(read_words(q, record, err));
    KERN_TRY(read_numbers(q, record, err));
    KERN_TRY(read_matrices(q, record, err));
    const size_t keys = q->heads * q->prefix * q->width;
    KERN_TRY(
        verify_work_take(work, keys + 5 * q->hidden + q->prefix + 1 + 2 * q->width, &q->keys, err));
    q->sizes = q->keys + keys;
    q->z = q->sizes + q->hidden;
    q->scores = q->z + 4 * q->hidden;
    q->own = q->scores + q->prefix + 1;
    fill_keys(q);
    fill_sizes(q);
    return KERN_OK;
}

/* ---- Drawing ------------------------------------------------------------------------------- */

static bool toss(kern_rng *rng)
{
    return kern_rng_below(rng, 2) == 0;
}

/* e to a uniform power between the logarithms of both. */
static double draw_between(kern_rng *rng, double low, double high)
{
    return low * pow(high / low, kern_rng_uniform(rng));
}

static kern_status put_normals(verify_record *record, const char *name, size_t rows, size_t cols,
                               double scale, kern_rng *rng, kern_error *err)
{
    double *values = NULL;
    if (rows * cols == 0) {
        return KERN_OK;
    }
    KERN_TRY(verify_record_put(record, name, rows, cols, &values, err));
    for (size_t i = 0; i < rows * cols; i++) {
        values[i] = scale * kern_rng_normal(rng);
    }
    return KERN_OK;
}

/* What is drawn before the matrices are. */
typedef struct shape {
    size_t width, heads, prefix, hidden;
    size_t norm, mask, ff, act;
} shape;

static kern_status put_shape(verify_record *record, const shape *s, kern_error *err)
{
    KERN_TRY(verify_record_put_word(record, "norm", norm_words[s->norm], err));
    KERN_TRY(verify_record_put_word(record, "mask", mask_words[s->mask], err));
    KERN_TRY(verify_record_put_word(record, "ff", ff_words[s->ff], err));
    KERN_TRY(verify_record_put_word(record, "act", act_words[s->act], err));
    KERN_TRY(verify_record_put_number(record, "width", (double)s->width, err));
    KERN_TRY(verify_record_put_number(record, "heads", (double)s->heads, err));
    KERN_TRY(verify_record_put_number(record, "prefix", (double)s->prefix, err));
    return verify_record_put_number(record, "hidden", (double)s->hidden, err);
}

/* The smaller of two, since costs grow with the cube. */
static size_t draw_width(kern_rng *rng)
{
    const uint32_t a = kern_rng_below(rng, DRAW_WIDTH_MAX - DRAW_WIDTH_MIN + 1);
    const uint32_t b = kern_rng_below(rng, DRAW_WIDTH_MAX - DRAW_WIDTH_MIN + 1);
    return DRAW_WIDTH_MIN + (a < b ? a : b);
}

static shape draw_shape(kern_rng *rng, const verify_nrgpt_kinds *kinds)
{
    shape s = {.width = draw_width(rng)};
    s.heads = kern_rng_below(rng, DRAW_HEADS_MAX + 1);
    s.prefix = kern_rng_below(rng, DRAW_PREFIX_MAX + 1);
    s.hidden = s.heads == 0 || kern_rng_below(rng, 4) > 0
                   ? 1 + kern_rng_below(rng, (uint32_t)(2 * s.width))
                   : 0;
    s.norm = kinds->no_norm ? VERIFY_NRGPT_NO_NORM : kern_rng_below(rng, 2);
    s.mask = kinds->concave || kinds->strict ? 0 : kinds->inclusive ? 1 : kern_rng_below(rng, 2);
    s.ff = kinds->concave || kinds->no_ff2w ? 0 : kern_rng_below(rng, 2);
    s.act = kern_rng_below(rng, VERIFY_NRGPT_ACTS);
    if (kinds->tokens > 0) {
        s.width = 10;
        s.heads = 1 + s.heads % 2;
        s.prefix = kinds->tokens - 1;
    }
    if (kinds->folded) {
        s.heads = 0;
        s.hidden = s.hidden > 0 ? s.hidden : s.width;
        s.ff = VERIFY_NRGPT_FF2W;
    }
    if (s.hidden == 0 && s.mask == 0 && s.prefix == 0) {
        s.prefix = 1; /* there is to be an energy */
    }
    if (kinds->concave) {
        s.act = 1 + s.act % 2;
    } else if (kinds->smooth && s.ff == VERIFY_NRGPT_FF2W && s.act == 1) {
        s.act = 0;
    }
    return s;
}

/* γ: 1, positive or of either sign; δ: 0 or small. */
static kern_status put_gain(verify_record *record, kern_rng *rng, const verify_nrgpt_kinds *kinds,
                            size_t d, kern_error *err)
{
    double *gamma = NULL;
    const uint32_t kind = kinds->no_norm ? 0 : kern_rng_below(rng, kinds->folded ? 2 : 3);
    const bool bias = !kinds->no_norm && !kinds->folded && toss(rng);
    KERN_TRY(verify_record_put(record, "gamma", 1, d, &gamma, err));
    for (size_t i = 0; i < d; i++) {
        const double sign = kind == 2 && toss(rng) ? -1.0 : 1.0;
        gamma[i] = kind == 0 ? 1.0 : sign * draw_between(rng, 0.2, 2.0);
    }
    return put_normals(record, "delta", 1, d, bias ? 0.5 : 0.0, rng, err);
}

/* The prefix as a model has it: normalised, times γ, plus δ. */
static kern_status put_context(verify_record *record, kern_rng *rng, const shape *s,
                               kern_error *err)
{
    const double *gamma = verify_record_find(record, "gamma")->values;
    const double *delta = verify_record_find(record, "delta")->values;
    const size_t d = s->width;
    double *context = NULL;
    if (s->prefix == 0) {
        return KERN_OK;
    }
    KERN_TRY(verify_record_put(record, "context", s->prefix, d, &context, err));
    for (size_t b = 0; b < s->prefix; b++) {
        double *row = context + b * d;
        double square = 0.0;
        for (size_t i = 0; i < d; i++) {
            row[i] = kern_rng_normal(rng);
            square += row[i] * row[i];
        }
        for (size_t i = 0; i < d; i++) {
            row[i] = gamma[i] * row[i] * sqrt((double)d / square) + delta[i];
        }
    }
    return KERN_OK;
}

static kern_status put_attention(verify_record *record, kern_rng *rng, const shape *s,
                                 const verify_nrgpt_kinds *kinds, kern_error *err)
{
    double *alpha = NULL;
    const double scale = draw_between(rng, 0.03, 2.0) / sqrt((double)s->width);
    const bool signs = !kinds->concave && kern_rng_below(rng, 4) == 0;
    KERN_TRY(verify_record_put_number(record, "beta", draw_between(rng, 0.1, 4.0), err));
    if (s->heads == 0) {
        return KERN_OK;
    }
    KERN_TRY(verify_record_put(record, "alpha", 1, s->heads, &alpha, err));
    for (size_t h = 0; h < s->heads; h++) {
        alpha[h] = draw_between(rng, 0.2, 3.0) * (signs && toss(rng) ? -1.0 : 1.0);
    }
    return put_normals(record, "J", s->heads * s->width, s->width, scale, rng, err);
}

/* W₂ = −W₁ᵀ. */
static void fold(verify_record *record, const shape *s)
{
    const double *w1 = verify_record_find(record, "W1")->values;
    double *w2 = verify_record_find(record, "W2")->values;
    for (size_t i = 0; i < s->width * s->hidden; i++) {
        w2[i] = -w1[i % s->hidden * s->width + i / s->hidden];
    }
}

static kern_status put_forward(verify_record *record, kern_rng *rng, const shape *s,
                               const verify_nrgpt_kinds *kinds, kern_error *err)
{
    const double scale = draw_between(rng, 0.05, 1.5) / sqrt((double)s->width);
    const bool signs = !kinds->concave && !kinds->folded;
    const double sign = signs && kern_rng_below(rng, 4) == 0 ? -1.0 : 1.0;
    const double bias = kinds->folded ? 0.0 : 0.5;
    KERN_TRY(verify_record_put_number(record, "scale_ff", sign * draw_between(rng, 0.1, 3.0), err));
    KERN_TRY(put_normals(record, "W1", s->hidden, s->width, scale, rng, err));
    KERN_TRY(put_normals(record, "b1", s->hidden > 0, s->hidden, bias, rng, err));
    if (s->ff != VERIFY_NRGPT_FF2W || s->hidden == 0) {
        return KERN_OK;
    }
    KERN_TRY(put_normals(record, "W2", s->width, s->hidden, scale, rng, err));
    if (kinds->folded) {
        fold(record, s);
    }
    return put_normals(record, "b2", 1, s->width, bias, rng, err);
}

/* A state of any scale, with a mean of up to three standard deviations. */
static kern_status put_state(verify_record *record, kern_rng *rng, size_t d, kern_error *err)
{
    double *x = NULL;
    const double scale = draw_between(rng, 0.1, 10.0);
    const double mean = 6.0 * kern_rng_uniform(rng) - 3.0;
    KERN_TRY(verify_record_put(record, "x", 1, d, &x, err));
    for (size_t i = 0; i < d; i++) {
        x[i] = scale * (mean + kern_rng_normal(rng));
    }
    return KERN_OK;
}

kern_status verify_nrgpt_draw(verify_record *record, kern_rng *rng, const verify_nrgpt_kinds *kinds,
                              kern_error *err)
{
    static const double epsilons[] = {0.0, 1e-5, 0.5};
    const shape s = draw_shape(rng, kinds);
    KERN_TRY(put_shape(record, &s, err));
    KERN_TRY(verify_record_put_number(record, "epsilon", epsilons[kern_rng_below(rng, 3)], err));
    KERN_TRY(put_gain(record, rng, kinds, s.width, err));
    KERN_TRY(put_context(record, rng, &s, err));
    KERN_TRY(put_attention(record, rng, &s, kinds, err));
    KERN_TRY(put_forward(record, rng, &s, kinds, err));
    return put_state(record, rng, s.width, err);
}

/* Both halves of W: ±w(1 − 2uuᵀ/|u|²). */
static void fill_reflections(double *w, size_t d, double scale, kern_rng *rng)
{
    double u[DRAW_WIDTH_MAX];
    double square = 0.0;
    for (size_t i = 0; i < d; i++) {
        u[i] = kern_rng_normal(rng);
        square += u[i] * u[i];
    }
    for (size_t i = 0; i < d * d; i++) {
        w[i] = scale * ((i / d == i % d ? 1.0 : 0.0) - 2.0 * u[i / d] * u[i % d] / square);
        w[d * d + i] = -w[i];
    }
}

/* Units come in pairs ±w, so that their linear parts cancel but for what the biases differ by. */
kern_status verify_nrgpt_draw_sharp(verify_record *record, kern_rng *rng, kern_error *err)
{
    const verify_nrgpt_kinds kinds = {.no_norm = true};
    shape s = {.width = draw_width(rng), .norm = VERIFY_NRGPT_RMSNORM, .act = 1};
    const size_t d = s.width;
    const double scale = draw_between(rng, 0.1, 1.5);
    const double lean = draw_between(rng, 0.02, 1.0);
    double *w = NULL;
    double *b = NULL;
    s.hidden = 2 * d;
    KERN_TRY(put_shape(record, &s, err));
    KERN_TRY(verify_record_put_number(record, "epsilon", 0.0, err));
    KERN_TRY(put_gain(record, rng, &kinds, d, err));
    KERN_TRY(verify_record_put_number(record, "beta", 1.0, err));
    KERN_TRY(verify_record_put_number(record, "scale_ff", -draw_between(rng, 0.1, 3.0), err));
    KERN_TRY(verify_record_put(record, "W1", 2 * d, d, &w, err));
    KERN_TRY(verify_record_put(record, "b1", 1, 2 * d, &b, err));
    fill_reflections(w, d, scale, rng);
    for (size_t i = 0; i < d; i++) {
        const double gap = lean * (2.0 * kern_rng_uniform(rng) - 1.0);
        b[i] = scale * (1.01 * sqrt((double)d) + 1.0 + gap);
        b[d + i] = scale * (1.01 * sqrt((double)d) + 1.0 - gap);
    }
    return put_state(record, rng, d, err);
}
