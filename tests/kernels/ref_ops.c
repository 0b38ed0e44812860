/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/kernels/ref_ops.h"

#include "kernels/kern_dropout.h"

#include <math.h>

static double element(const ref_call *c, size_t input, size_t row, size_t col)
{
    return c->in[input][row * c->in_shape[input].cols + col];
}

/* ---- embedding, norm, products --------------------------------------------------------------- */

static void ref_embed(const ref_call *c)
{
    const kern_embed_attr *a = &c->attr->embed;
    const size_t cols = c->out_shape[0].cols;
    for (size_t r = 0; r < c->out_shape[0].rows; r++) {
        const int32_t id = c->bindings->index[a->slot][r];
        for (size_t j = 0; j < cols; j++) {
            double value = 0;
            if (id >= 0) {
                value = element(c, 0, (size_t)id, j);
                value += c->in[1] == NULL ? 0 : element(c, 1, r % a->tokens, j);
            }
            c->out[0][r * cols + j] = value;
        }
    }
}

static void ref_norm(const ref_call *c)
{
    const size_t cols = c->in_shape[0].cols;
    for (size_t r = 0; r < c->in_shape[0].rows; r++) {
        double mu = 0;
        double variance = 0;
        for (size_t j = 0; j < cols && c->attr->norm.kind == KERN_LAYERNORM; j++) {
            mu += element(c, 0, r, j) / (double)cols;
        }
        for (size_t j = 0; j < cols; j++) {
            variance += pow(element(c, 0, r, j) - mu, 2) / (double)cols;
        }
        const double sigma = sqrt(variance + c->attr->norm.epsilon);
        for (size_t j = 0; j < cols; j++) {
            const double gain = c->in[1] == NULL ? 1 : c->in[1][j];
            const double shift = c->in[2] == NULL ? 0 : c->in[2][j];
            c->out[0][r * cols + j] = gain * (element(c, 0, r, j) - mu) / sigma + shift;
        }
        c->out[1][r] = sigma;
        c->out[2][r] = mu;
    }
}

/* norm_pull, from the Jacobian's elements. */
static void ref_norm_pull(const ref_call *c)
{
    const size_t cols = c->in_shape[0].cols;
    const double count = (double)cols;
    const bool centred = c->attr->norm.kind == KERN_LAYERNORM;
    for (size_t r = 0; r < c->in_shape[0].rows; r++) {
        double mu = 0;
        double variance = 0;
        for (size_t j = 0; j < cols; j++) {
            mu += centred ? element(c, 0, r, j) / count : 0;
        }
        for (size_t j = 0; j < cols; j++) {
            variance += pow(element(c, 0, r, j) - mu, 2) / count;
        }
        const double sigma = sqrt(variance + c->attr->norm.epsilon);
        for (size_t i = 0; i < cols; i++) {
            double sum = 0;
            for (size_t j = 0; j < cols; j++) {
                const double gain = c->in[1] == NULL ? 1 : c->in[1][j];
                const double own = (i == j) - (centred ? 1 / count : 0);
                const double turned = (element(c, 0, r, i) - mu) / sigma *
                                      ((element(c, 0, r, j) - mu) / sigma) / count;
                sum += (own - turned) / sigma * gain * element(c, 2, r, j);
            }
            c->out[0][r * cols + i] = sum;
        }
    }
}

static void ref_linear(const ref_call *c)
{
    const kern_shape y = c->out_shape[0];
    for (size_t r = 0; r < y.rows; r++) {
        for (size_t j = 0; j < y.cols; j++) {
            double sum = 0;
            for (size_t k = 0; k < c->in_shape[0].cols; k++) {
                const double w = c->attr->linear.plain ? element(c, 1, k, j) : element(c, 1, j, k);
                sum += element(c, 0, r, k) * w;
            }
            const double bias = c->in[2] == NULL ? 0 : c->in[2][j];
            const double addend = c->in[3] == NULL ? 0 : element(c, 3, r, j);
            c->out[0][r * y.cols + j] = addend + c->attr->linear.alpha * sum + bias;
        }
    }
}

/* ---- attention ------------------------------------------------------------------------------- */

static double attention_score(const ref_call *c, size_t head, size_t row, size_t other)
{
    const kern_attention_attr *a = &c->attr->attention;
    const size_t width = c->in_shape[1].cols / a->heads;
    double sum = 0;
    for (size_t j = 0; j < width; j++) {
        sum += element(c, 0, row, a->shared_query ? j : head * width + j) *
               element(c, 1, other, head * width + j);
    }
    for (size_t j = 0; c->in[4] != NULL && j < c->in_shape[4].cols; j++) {
        const bool shared = c->in_shape[3].cols == c->in_shape[4].cols;
        sum += element(c, 3, row, shared ? j : head * c->in_shape[4].cols + j) *
               element(c, 4, other, j);
    }
    return a->beta * sum;
}

/* Weights of token `token` of a sequence that starts at row `first`, its ℓ and its diagonal. */
static void attention_weights(const ref_call *c, size_t first, size_t token, size_t head, double *p)
{
    const kern_attention_attr *a = &c->attr->attention;
    const size_t visible = a->strict ? token : token + 1;
    double largest = -HUGE_VAL;
    double total = 0;
    for (size_t b = 0; b < a->tokens; b++) {
        p[b] = b < visible ? attention_score(c, head, first + token, first + b) : -HUGE_VAL;
        largest = fmax(largest, p[b]);
    }
    for (size_t b = 0; b < a->tokens; b++) {
        p[b] = b < visible ? exp(p[b] - largest) : 0;
        total += p[b];
    }
    for (size_t b = 0; b < visible; b++) {
        p[b] /= total;
    }
    const size_t at = (first + token) * a->heads + head;
    c->out[1][at] = visible == 0 ? 0 : largest + log(total);
    c->out[2][at] = p[token];
}

/* Adds c Σ_B P_AB c_B, or its share, to m. */
static void interaction_mix(const ref_call *c, size_t first, size_t row, size_t head,
                            const double *p)
{
    const kern_attention_attr *a = &c->attr->attention;
    const size_t width = c->in_shape[4].cols;
    const size_t column = c->out_shape[4].cols == width ? 0 : head * width;
    for (size_t b = 0; b < a->tokens; b++) {
        for (size_t j = 0; j < width; j++) {
            c->out[4][row * c->out_shape[4].cols + column + j] +=
                a->scale * p[b] * element(c, 4, first + b, j);
        }
    }
}

/* Adds c Σ_B P_AB v_B to the output; `weight_row` names the row of P for dropout. */
static void attention_mix(const ref_call *c, size_t first, size_t token, size_t head,
                          const double *p)
{
    const kern_attention_attr *a = &c->attr->attention;
    const size_t values = c->in[2] == NULL ? 1 : 2;
    const size_t width = c->in_shape[values].cols / a->heads;
    for (size_t b = 0; b < a->tokens; b++) {
        for (size_t j = 0; j < width; j++) {
            const size_t col = a->sum_heads ? j : head * width + j;
            c->out[0][(first + token) * c->out_shape[0].cols + col] +=
                a->scale * p[b] * element(c, values, first + b, head * width + j);
        }
    }
}

/* Weights after dropout; `row` is the place of p among the rows of P. */
static void drop_weights(const ref_call *c, const double *p, size_t row, double *dropped)
{
    const kern_attention_attr *a = &c->attr->attention;
    const kern_dropout_row mask =
        kern_dropout_start(c->bindings->dropout_key, a->salt, row, a->dropout);
    const bool drops = c->bindings->dropout_key != 0 && a->dropout > 0;
    for (size_t b = 0; b < a->tokens; b++) {
        dropped[b] = drops ? p[b] * kern_dropout_factor(&mask, b) : p[b];
    }
}

static void clear_output(const ref_call *c, size_t j)
{
    for (size_t i = 0; i < c->out_shape[j].rows * c->out_shape[j].cols; i++) {
        c->out[j][i] = 0;
    }
}

/* Attention, and interaction with inputs 3 and 4. */
static void ref_attention(const ref_call *c)
{
    enum { MOST_TOKENS = 128 };
    const kern_attention_attr *a = &c->attr->attention;
    double dropped[MOST_TOKENS] = {0};
    clear_output(c, 0);
    clear_output(c, 4);
    for (size_t first = 0; first < c->in_shape[0].rows; first += a->tokens) {
        for (size_t head = 0; head < a->heads; head++) {
            for (size_t token = 0; token < a->tokens; token++) {
                const size_t row = first * a->heads + head * a->tokens + token;
                double *p = c->out[3] + row * a->tokens;
                attention_weights(c, first, token, head, p);
                drop_weights(c, p, row, dropped);
                attention_mix(c, first, token, head, dropped);
                if (c->in[4] != NULL) {
                    interaction_mix(c, first, first + token, head, dropped);
                }
            }
        }
    }
}

/* Score of row r with key b of a context of `held`, whose last one is the row's own. */
static double context_score(const ref_call *c, size_t r, size_t head, size_t b, size_t held)
{
    const kern_attention_attr *a = &c->attr->attention;
    const size_t width = c->in_shape[1].cols / a->heads;
    double sum = 0;
    for (size_t j = 0; j < width; j++) {
        const size_t col = head * width + j;
        const double key = b < held ? element(c, 2, b, col) : element(c, 1, r, col);
        sum += element(c, 0, r, a->shared_query ? j : col) * key;
    }
    return a->beta * sum;
}

static void context_row(const ref_call *c, size_t r, size_t head, size_t held)
{
    const kern_attention_attr *a = &c->attr->attention;
    const size_t width = c->in_shape[1].cols / a->heads;
    const size_t seen = held + (a->strict ? 0 : 1);
    double *p = c->out[3] + (r * a->heads + head) * (held + 1);
    double total = 0;
    p[held] = 0;
    for (size_t b = 0; b < seen; b++) {
        p[b] = exp(context_score(c, r, head, b, held));
        total += p[b];
    }
    for (size_t b = 0; b < seen; b++) {
        p[b] /= total;
        for (size_t j = 0; j < width; j++) {
            const size_t col = head * width + j;
            const double key = b < held ? element(c, 2, b, col) : element(c, 1, r, col);
            c->out[0][r * c->out_shape[0].cols + (a->sum_heads ? j : col)] += a->scale * p[b] * key;
        }
    }
    c->out[1][r * a->heads + head] = seen == 0 ? 0 : log(total);
    c->out[2][r * a->heads + head] = p[held];
}

static void ref_context(const ref_call *c)
{
    const size_t held = c->in[2] == NULL ? 0 : c->in_shape[2].rows;
    clear_output(c, 0);
    for (size_t r = 0; r < c->in_shape[0].rows; r++) {
        for (size_t head = 0; head < c->attr->attention.heads; head++) {
            context_row(c, r, head, held);
        }
    }
}

static void ref_rope(const ref_call *c)
{
    const kern_rope_attr *a = &c->attr->rope;
    const size_t cols = c->in_shape[0].cols;
    const size_t width = cols / a->heads;
    for (size_t r = 0; r < c->in_shape[0].rows; r++) {
        for (size_t k = 0; k < cols; k++) {
            const size_t i = k % width % (width / 2);
            const bool low = k % width < width / 2;
            const size_t other = low ? k + width / 2 : k - width / 2;
            const double angle =
                (double)(r % a->tokens) * pow(a->base, -2.0 * (double)i / (double)width);
            const double turn = (low ? -1 : 1) * (a->inverse ? -1 : 1) * sin(angle);
            c->out[0][r * cols + k] =
                cos(angle) * element(c, 0, r, k) + turn * element(c, 0, r, other);
        }
    }
}

static void ref_head_gain(const ref_call *c)
{
    const size_t cols = c->in_shape[1].cols;
    clear_output(c, 0);
    for (size_t r = 0; r < c->in_shape[0].rows; r++) {
        for (size_t k = 0; k < c->in_shape[1].rows * cols; k++) {
            const bool fold = c->attr->head_gain.fold;
            const double x = element(c, 0, r, fold ? k : k % cols);
            c->out[0][r * c->out_shape[0].cols + (fold ? k % cols : k)] += c->in[1][k] * x;
        }
    }
}

static void ref_head_repeat(const ref_call *c)
{
    const kern_head_repeat_attr *a = &c->attr->head_repeat;
    const size_t width = c->in_shape[0].cols / a->heads;
    for (size_t r = 0; r < c->out_shape[0].rows; r++) {
        for (size_t k = 0; k < c->out_shape[0].cols; k++) {
            const size_t head = k / width / a->times;
            c->out[0][r * c->out_shape[0].cols + k] = element(c, 0, r, head * width + k % width);
        }
    }
}

static void ref_head_scale(const ref_call *c)
{
    const kern_head_scale_attr *a = &c->attr->head_scale;
    const size_t cols = c->out_shape[0].cols;
    const size_t width = cols / a->heads;
    for (size_t r = 0; r < c->out_shape[0].rows; r++) {
        for (size_t i = 0; i < cols; i++) {
            const double q = element(c, 1, r, a->shared_query ? i % width : i);
            c->out[0][r * cols + i] = a->scale * element(c, 0, r, i / width) * q;
        }
    }
}

static void ref_heads(kern_op_id id, const ref_call *c)
{
    if (id == KERN_OP_HEAD_GAIN) {
        ref_head_gain(c);
    } else if (id == KERN_OP_HEAD_REPEAT) {
        ref_head_repeat(c);
    } else {
        ref_head_scale(c);
    }
}

/* ---- activations ----------------------------------------------------------------------------- */

typedef struct derivatives {
    double f;
    double d1;
    double d2;
} derivatives;

/* ∫ silu from 0 to z by Li₂'s power series, summed from e^−|z| with its alternating terms paired by
 * Euler's transformation in w = e/(1 + e): −Li₂(−e) = Li₂(w) + ½ ln²(1 + e) (Landen). */
static double silu_integral(double z)
{
    const double e = exp(-fabs(z));
    const double w = e / (1 + e);
    double power = 1;
    double sum = 0;
    for (int k = 1; k <= 60; k++) {
        power *= w;
        sum += power / (k * k);
    }
    const double log1 = log1p(e);
    const double below = acos(-1) * acos(-1) / 12 - sum - log1 * log1 / 2 - fabs(z) * log1;
    return z > 0 ? z * z / 2 - below : below;
}

static derivatives activation(kern_fn fn, double z)
{
    const double cdf = 0.5 * erfc(-z / sqrt(2));
    const double density = exp(-z * z / 2) / sqrt(2 * acos(-1));
    const double logistic = 1 / (1 + exp(-z));
    const double slope = logistic * (1 - logistic);
    const derivatives gelu = {z * cdf, cdf + z * density, density * (2 - z * z)};
    const derivatives silu = {z * logistic, logistic + z * slope,
                              slope * (2 + z * (1 - 2 * logistic))};
    switch (fn) {
    case KERN_FN_GELU:
        return gelu;
    case KERN_FN_RELU:
        return (derivatives){fmax(z, 0), z > 0, 0};
    case KERN_FN_SILU:
        return silu;
    case KERN_FN_SILU_INTEGRAL:
        return (derivatives){silu_integral(z), silu.f, silu.d1};
    case KERN_FN_GELU_INTEGRAL:
        return (derivatives){((z * z - 1) * cdf + z * density) / 2 + 0.25, gelu.f, gelu.d1};
    case KERN_FN_RELU_INTEGRAL:
        return (derivatives){fmax(z, 0) * fmax(z, 0) / 2, fmax(z, 0), z > 0};
    case KERN_FN_SOFTPLUS:
    case KERN_FN_COUNT:
    default:
        return (derivatives){fmax(z, 0) + log1p(exp(-fabs(z))), logistic, slope};
    }
}

static void ref_activation(kern_op_id id, const ref_call *c)
{
    for (size_t i = 0; i < c->in_shape[0].rows * c->in_shape[0].cols; i++) {
        const derivatives v = activation(c->attr->act.fn, c->in[0][i]);
        const double other = c->in[1] == NULL ? 0 : c->in[1][i];
        if (id == KERN_OP_ACT) {
            c->out[0][i] = v.f;
            c->out[1][i] = v.d1;
        } else if (id == KERN_OP_ACT_ENERGY) {
            c->out[0][i] = v.f * v.d1;
            c->out[1][i] = v.d1 * v.d1 + v.f * v.d2;
        } else if (id == KERN_OP_ACT_PAIR) {
            c->out[0][i] = v.f;
            c->out[1][i] = v.d1 * other;
            c->out[2][i] = v.d1;
            c->out[3][i] = v.d2 * other;
        } else {
            c->out[0][i] = v.d1 * other;
            c->out[1][i] = v.d1;
            c->out[2][i] = v.d2 * other;
        }
    }
}

/* ---- rows, sums, losses ---------------------------------------------------------------------- */

static void ref_row(kern_op_id id, const ref_call *c)
{
    for (size_t r = 0; r < c->in_shape[0].rows; r++) {
        double sum = 0;
        for (size_t j = 0; j < c->in_shape[0].cols; j++) {
            const double x = element(c, 0, r, j);
            const double factor = id == KERN_OP_ROW_DOT     ? element(c, 1, r, j)
                                  : id == KERN_OP_ROW_SUMSQ ? x
                                                            : 1;
            sum += x * factor;
        }
        c->out[0][r] = c->attr->row.scale * sum;
    }
}

static void ref_affine_add(const ref_call *c)
{
    const size_t cols = c->in_shape[1].cols;
    const double s = c->in[2] == NULL ? 1 : c->in[2][0];
    const double k = c->attr->affine.scale * pow(s, c->attr->affine.power);
    for (size_t r = 0; r < c->in_shape[1].rows; r++) {
        for (size_t j = 0; j < cols; j++) {
            const double plain = c->in[3] == NULL ? 1 : c->in[3][j];
            const double gain = c->attr->affine.softplus ? log1p(exp(plain)) : plain;
            const double a = c->in[0] == NULL ? 0 : element(c, 0, r, j);
            c->out[0][r * cols + j] = a + k * element(c, 1, r, j) * gain;
        }
    }
}

static void ref_dropout(const ref_call *c)
{
    const kern_dropout_attr *a = &c->attr->dropout;
    const size_t cols = c->in_shape[0].cols;
    for (size_t r = 0; r < c->in_shape[0].rows; r++) {
        const kern_dropout_row mask =
            kern_dropout_start(c->bindings->dropout_key, a->salt, r, a->p);
        for (size_t j = 0; j < cols; j++) {
            const double factor = c->bindings->dropout_key == 0 ? 1 : kern_dropout_factor(&mask, j);
            c->out[0][r * cols + j] = element(c, 0, r, j) * factor;
        }
    }
}

static void ref_cross_entropy(const ref_call *c)
{
    const size_t cols = c->in_shape[0].cols;
    for (size_t r = 0; r < c->in_shape[0].rows; r++) {
        const int32_t target = c->bindings->index[c->attr->cross_entropy.slot][r];
        double largest = -HUGE_VAL;
        double total = 0;
        for (size_t j = 0; j < cols; j++) {
            largest = fmax(largest, element(c, 0, r, j));
        }
        for (size_t j = 0; j < cols; j++) {
            total += exp(element(c, 0, r, j) - largest);
        }
        c->out[1][r] = largest + log(total);
        c->out[0][r] = target < 0 ? 0 : c->out[1][r] - element(c, 0, r, (size_t)target);
    }
}

static void ref_squared_error(const ref_call *c)
{
    for (size_t r = 0; r < c->in_shape[0].rows; r++) {
        const double weight = c->in[2] == NULL ? 1 : c->in[2][r];
        double sum = 0;
        for (size_t j = 0; j < c->in_shape[0].cols; j++) {
            sum += pow(element(c, 0, r, j) - element(c, 1, r, j), 2);
        }
        c->out[0][r] = c->attr->row.scale * weight * sum;
    }
}

void ref_forward(kern_op_id id, const ref_call *call)
{
    switch (id) {
    case KERN_OP_EMBED:
        ref_embed(call);
        break;
    case KERN_OP_NORM:
        ref_norm(call);
        break;
    case KERN_OP_NORM_PULL:
        ref_norm_pull(call);
        break;
    case KERN_OP_LINEAR:
        ref_linear(call);
        break;
    case KERN_OP_ATTENTION:
    case KERN_OP_INTERACTION:
        ref_attention(call);
        break;
    case KERN_OP_CONTEXT:
        ref_context(call);
        break;
    case KERN_OP_ROPE:
        ref_rope(call);
        break;
    case KERN_OP_HEAD_GAIN:
    case KERN_OP_HEAD_REPEAT:
    case KERN_OP_HEAD_SCALE:
        ref_heads(id, call);
        break;
    case KERN_OP_ACT:
    case KERN_OP_ACT_ENERGY:
    case KERN_OP_ACT_PAIR:
    case KERN_OP_ACT_GATE:
        ref_activation(id, call);
        break;
    case KERN_OP_ROW_DOT:
    case KERN_OP_ROW_SUMSQ:
    case KERN_OP_ROW_COMBINE:
        ref_row(id, call);
        break;
    case KERN_OP_AFFINE_ADD:
        ref_affine_add(call);
        break;
    case KERN_OP_DROPOUT:
        ref_dropout(call);
        break;
    case KERN_OP_CROSS_ENTROPY:
        ref_cross_entropy(call);
        break;
    case KERN_OP_SQUARED_ERROR:
        ref_squared_error(call);
        break;
    case KERN_OP_COUNT:
    default:
        break;
    }
}
