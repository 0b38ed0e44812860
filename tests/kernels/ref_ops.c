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

/* Adds c Σ_B P_AB v_B to the output; `weight_row` names the row of P for dropout. */
static void attention_mix(const ref_call *c, size_t first, size_t token, size_t head,
                          const double *p, size_t weight_row)
{
    const kern_attention_attr *a = &c->attr->attention;
    const size_t values = c->in[2] == NULL ? 1 : 2;
    const size_t width = c->in_shape[values].cols / a->heads;
    const kern_dropout_row mask =
        kern_dropout_start(c->bindings->dropout_key, a->salt, weight_row, a->dropout);
    const bool dropped = c->bindings->dropout_key != 0 && a->dropout > 0;
    for (size_t b = 0; b < a->tokens; b++) {
        const double weight = dropped ? p[b] * kern_dropout_factor(&mask, b) : p[b];
        for (size_t j = 0; j < width; j++) {
            const size_t col = a->sum_heads ? j : head * width + j;
            c->out[0][(first + token) * c->out_shape[0].cols + col] +=
                a->scale * weight * element(c, values, first + b, head * width + j);
        }
    }
}

static void ref_attention(const ref_call *c)
{
    const kern_attention_attr *a = &c->attr->attention;
    for (size_t i = 0; i < c->out_shape[0].rows * c->out_shape[0].cols; i++) {
        c->out[0][i] = 0;
    }
    for (size_t first = 0; first < c->in_shape[0].rows; first += a->tokens) {
        for (size_t head = 0; head < a->heads; head++) {
            for (size_t token = 0; token < a->tokens; token++) {
                const size_t row = first * a->heads + head * a->tokens + token;
                double *p = c->out[3] + row * a->tokens;
                attention_weights(c, first, token, head, p);
                attention_mix(c, first, token, head, p, row);
            }
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

/* ---- activations ----------------------------------------------------------------------------- */

typedef struct derivatives {
    double f;
    double d1;
    double d2;
} derivatives;

static derivatives activation(kern_fn fn, double z)
{
    const double pi = acos(-1);
    const double cdf = 0.5 * erfc(-z / sqrt(2));
    const double density = exp(-z * z / 2) / sqrt(2 * pi);
    const double logistic = 1 / (1 + exp(-z));
    switch (fn) {
    case KERN_FN_GELU:
        return (derivatives){z * cdf, cdf + z * density, density * (2 - z * z)};
    case KERN_FN_RELU:
        return (derivatives){fmax(z, 0), z > 0, 0};
    case KERN_FN_SOFTPLUS:
    case KERN_FN_COUNT:
    default:
        return (derivatives){fmax(z, 0) + log1p(exp(-fabs(z))), logistic,
                             logistic * (1 - logistic)};
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
    const size_t cols = c->in_shape[0].cols;
    const double s = c->in[2] == NULL ? 1 : c->in[2][0];
    const double k = c->attr->affine.scale * pow(s, c->attr->affine.power);
    for (size_t r = 0; r < c->in_shape[0].rows; r++) {
        for (size_t j = 0; j < cols; j++) {
            const double gain = c->in[3] == NULL ? 1 : c->in[3][j];
            c->out[0][r * cols + j] = element(c, 0, r, j) + k * element(c, 1, r, j) * gain;
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

void ref_forward(kern_op_id id, const ref_call *call)
{
    switch (id) {
    case KERN_OP_EMBED:
        ref_embed(call);
        break;
    case KERN_OP_NORM:
        ref_norm(call);
        break;
    case KERN_OP_LINEAR:
        ref_linear(call);
        break;
    case KERN_OP_ATTENTION:
        ref_attention(call);
        break;
    case KERN_OP_HEAD_SCALE:
        ref_head_scale(call);
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
    case KERN_OP_COUNT:
    default:
        break;
    }
}
