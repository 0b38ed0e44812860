/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What an operation is: a description that does not depend on precision, and three functions per
 * precision that compute it.
 *
 * Every value is a row-major matrix rows × cols; rows count tokens (B·N of them, sequence by
 * sequence), parameters are out × in. For y = f(x):
 *   forward  y  = f(x)
 *   vjp      x̄ += (∂f/∂x)ᵀ ȳ      (cotangents; first contribution overwrites, see `accumulate`)
 *   jvp      ẏ  = (∂f/∂x) ẋ       (tangents)
 * The three agree to rounding: ⟨Jv, w⟩ = ⟨v, Jᵀw⟩ is a test of every operation.
 *
 * A kernel may not allocate, print or fail; shapes were checked when the graph was built.
 */
#ifndef BASIN_KERN_OP_H
#define BASIN_KERN_OP_H

#include "kernels/kern_status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Upper bounds over all operations. */
enum { KERN_MAX_IN = 5, KERN_MAX_OUT = 5 };

/* X(ID, id): one file kern_op_<id>.c and one description each. */
#define KERN_OP_LIST(X)                                                                            \
    X(EMBED, embed)                                                                                \
    X(NORM, norm)                                                                                  \
    X(NORM_PULL, norm_pull)                                                                        \
    X(LINEAR, linear)                                                                              \
    X(ATTENTION, attention)                                                                        \
    X(INTERACTION, interaction)                                                                    \
    X(CONTEXT, context)                                                                            \
    X(ROPE, rope)                                                                                  \
    X(HEAD_SCALE, head_scale)                                                                      \
    X(HEAD_GAIN, head_gain)                                                                        \
    X(HEAD_REPEAT, head_repeat)                                                                    \
    X(ACT, act)                                                                                    \
    X(ACT_ENERGY, act_energy)                                                                      \
    X(ACT_PAIR, act_pair)                                                                          \
    X(ACT_GATE, act_gate)                                                                          \
    X(ROW_DOT, row_dot)                                                                            \
    X(ROW_SUMSQ, row_sumsq)                                                                        \
    X(ROW_COMBINE, row_combine)                                                                    \
    X(AFFINE_ADD, affine_add)                                                                      \
    X(DROPOUT, dropout)                                                                            \
    X(CROSS_ENTROPY, cross_entropy)                                                                \
    X(SQUARED_ERROR, squared_error)

typedef enum kern_op_id {
#define KERN_OP_ENUM(ID, id) KERN_OP_##ID,
    KERN_OP_LIST(KERN_OP_ENUM)
#undef KERN_OP_ENUM
        KERN_OP_COUNT
} kern_op_id;

typedef struct kern_shape {
    size_t rows;
    size_t cols;
} kern_shape;

/* ---- attributes, one struct per operation ------------------------------------------------- */

/* x_r = table[id_r] + position[r mod N]. In: table V×D, position P×D (optional, P ≥ N).
 * Out: x rows×D. Ids come from index slot `slot`; negative ids give a zero row. */
typedef struct kern_embed_attr {
    size_t slot;
    size_t tokens; /* N: rows are sequences of N */
    size_t rows;   /* of the output: B·N */
} kern_embed_attr;

typedef enum kern_norm_kind { KERN_LAYERNORM, KERN_RMSNORM } kern_norm_kind;

/* g = γ ⊙ (x − μ)/σ + δ; LayerNorm: μ = mean, σ = √(var + ε), biased variance; RMSNorm: μ = 0,
 * σ = √(|x|²/D + ε). In: x, γ 1×D (optional), δ 1×D (optional). Out: g, σ rows×1; saved μ rows×1.
 */
typedef struct kern_norm_attr {
    kern_norm_kind kind;
    double epsilon;
} kern_norm_attr;

/* norm_pull: the transposed Jacobian of norm at x, applied to γ ⊙ f, which turns a gradient f with
 * respect to g into one with respect to x. With w = γ ⊙ f, x̂ = (x − μ)/σ and ⟨·⟩ the mean of a row,
 *   out = (w − ⟨w⟩ − x̂ ⟨w x̂⟩)/σ       (no ⟨w⟩ in RMSNorm).
 * In: x, γ 1×D (optional: 1), f like x. Out: like x. Attributes: kern_norm_attr. */

/* y = c + α·x·op(W) + b with op(W) = Wᵀ (W out×in), or W itself when `plain`.
 * In: x, W, b 1×out (optional), c rows×out (optional). Out: y. */
typedef struct kern_linear_attr {
    bool plain;
    double alpha;
} kern_linear_attr;

/* Masked attention with its log-sum-exp, for each sequence and head h:
 *   S_AB = β q_A·k_B for B < A (strict) or B ≤ A,   P = softmax_B S,   ℓ_A = log Σ_B exp S_AB,
 *   out_A = c_h Σ_B P_AB v_B.
 * In: q, k (rows × H·width), v (optional; absent: v = k). When `shared_query`, q is rows × width
 * and serves every head. Out: out (heads summed when `sum_heads`, else side by side), ℓ rows×H,
 * diagonal P_AA rows×H (zero when strict); saved P, (rows·H) × N, entries outside the mask zero.
 * An empty set (first token, strict) gives P = 0, out = 0, ℓ = 0. */
typedef struct kern_attention_attr {
    size_t tokens; /* N */
    size_t heads;  /* H */
    bool strict;
    bool shared_query;
    bool sum_heads;
    double beta;
    double scale;   /* c, the same for every head; −α for an energy's gradient */
    double dropout; /* probability that a weight P_AB is dropped, with 1/(1−p) rescaling */
    uint64_t salt;  /* distinguishes this node's dropout stream */
} kern_attention_attr;

/* interaction: attention whose scores have a diagonal part of full width D,
 *   S_AB = β (q_A·k_B + e_A·c_B),   m_A = c_h Σ_B P_AB c_B,
 * and all else as in attention. Either e is rows × D and one diagonal serves every head: then the
 * product e_A·c_B is formed once and m is rows × D, with P summed over the heads before it mixes;
 * or e is rows × H·D, one part per head, and so is m. (With e = u ⊙ d, the gradient of τ Σ_h ℓ with
 * respect to u gets d ⊙ m; J. Xu et al., arXiv 2605.07588, 2026.)
 * In: q, k, v (optional), e, c (rows × D). Out: out, ℓ, diagonal, saved P, m. Attributes:
 * kern_attention_attr; the output scale and dropout act on m too. */

/* context: attention of rows, each for itself, to T keys that are held and to its own: one token of
 * a sequence whose prefix is at rest, in as many states as there are rows,
 *   S_B = β q·k°_B for B < T and, unless strict, S_T = β q·k,   P = softmax S,   ℓ = log Σ exp S,
 *   out = c_h (Σ_B P_B k°_B + P_T k).
 * In: q (rows × H·width, or rows × width when `shared_query`), k (rows × H·width), held keys k° (T
 * rows as wide, optional: T = 0). Out: out, ℓ, diagonal P_T as attention's; saved P, (rows·H) × (T
 * + 1). Attributes: kern_attention_attr, of which `tokens` and dropout have no effect. */

/* Rotary position embedding (J. Su et al., arXiv 2104.09864, 2021). In each head of width d,
 * coordinates i and i + d/2 are turned by φ = p·base^(−2i/d), p = r mod N for row r:
 *   y_i = x_i cos φ − x_(i+d/2) sin φ,   y_(i+d/2) = x_(i+d/2) cos φ + x_i sin φ,
 * or by −φ when `inverse`. In: x rows × H·d, d even. Out: like x. */
typedef struct kern_rope_attr {
    size_t tokens; /* N */
    size_t heads;  /* H */
    double base;   /* positive */
    bool inverse;
} kern_rope_attr;

/* out_h = scale · d_h q_h, heads side by side. In: d rows×H, q rows × H·width, or rows × width when
 * `shared_query` (then every head scales the same q). Out: rows × H·width. */
typedef struct kern_head_scale_attr {
    size_t heads;
    bool shared_query;
    double scale;
} kern_head_scale_attr;

/* One gain vector per head, γ H×D: out_h = γ_h ⊙ x, heads side by side, x rows × D; or, when
 * `fold`, out = Σ_h γ_h ⊙ x_h, x rows × H·D. In: x, γ. Out: rows × H·D, or rows × D. */
typedef struct kern_head_gain_attr {
    size_t heads;
    bool fold;
} kern_head_gain_attr;

/* Heads shared by several: out_h = x_⌊h/times⌋, x rows × heads·width, out rows × times·heads·width.
 * Keys and values of an attention with fewer of them than queries (J. Ainslie et al., arXiv
 * 2305.13245, 2023). */
typedef struct kern_head_repeat_attr {
    size_t heads; /* of x */
    size_t times;
} kern_head_repeat_attr;

/* X(context, ID, id): elementwise functions. silu z = z/(1 + e^−z); relu has derivative 0 at 0. A
 * function whose name ends in _integral is the integral from 0 of the other: its derivative is the
 * function, so that act gives an energy's terms, and act_gate(z, t) = silu(z)·t the product of a
 * gated layer. silu_integral z = z ln(1 + e^z) + Li₂(−e^z) + π²/12, non-negative, π²/12 at −∞
 *   gelu_integral z = ½((z² − 1) Φ(z) + z φ(z)) + ¼,     non-negative, ¼ at −∞
 *   relu_integral z = ½ max(z, 0)²                                                            */
#define KERN_FN_LIST(X, context)                                                                   \
    X(context, GELU, gelu)                                                                         \
    X(context, RELU, relu)                                                                         \
    X(context, SOFTPLUS, softplus)                                                                 \
    X(context, SILU, silu)                                                                         \
    X(context, SILU_INTEGRAL, silu_integral)                                                       \
    X(context, GELU_INTEGRAL, gelu_integral)                                                       \
    X(context, RELU_INTEGRAL, relu_integral)

typedef enum kern_fn {
#define KERN_FN_ENUM(prefix, ID, id) prefix##ID,
    KERN_FN_LIST(KERN_FN_ENUM, KERN_FN_)
#undef KERN_FN_ENUM
        KERN_FN_COUNT
} kern_fn;

/* Elementwise, with f from the function table:
 *   act         y = f(z)                       saved f′
 *   act_energy  u = f(z) f′(z)                 saved f′² + f f″   (gradient of ½ f²)
 *   act_pair    (z, p) → a = f(z), r = f′(z)p  saved f′, f″p      (gradient of f(z)·p)
 *   act_gate    (z, t) → r = f′(z) t           saved f′, f″t
 * The saved outputs are the partial derivatives that vjp and jvp need. */
typedef struct kern_act_attr {
    kern_fn fn;
} kern_act_attr;

/* Per-row scalars (rows×1): row_dot e = c x·y; row_sumsq e = c |x|²; row_combine e = c Σ_j x_j. */
typedef struct kern_row_attr {
    double scale;
} kern_row_attr;

/* out = a + scale · s^power · (f ⊙ γ). In: a (optional: 0), f, s 1×1 (optional: 1), γ 1×D
 * (optional: 1). Out: like f. Power is 1 or 2. With `softplus`, the input is δ and γ = ln(1 + e^δ):
 * the diagonal of a preconditioner. */
typedef struct kern_affine_attr {
    double scale;
    int power;
    bool softplus;
} kern_affine_attr;

/* out = x ⊙ m/(1−p), m ~ Bernoulli(1−p) from the run's dropout key, `salt` and the element's index;
 * the identity when the run has no key. In: x. Out: like x. */
typedef struct kern_dropout_attr {
    double p;
    uint64_t salt;
} kern_dropout_attr;

/* Negative log likelihood of the target in index slot `slot`, per row: nll = ℓ − logit_target,
 * ℓ = log Σ exp. A negative target gives nll = 0 and no gradient. In: logits rows×V. Out: nll
 * rows×1; saved ℓ rows×1. */
typedef struct kern_cross_entropy_attr {
    size_t slot;
} kern_cross_entropy_attr;

/* squared_error, per row: e_r = c w_r |p_r − t_r|². A row of weight 0 is left out: its e is 0 and
 * no derivative passes it, whatever it holds, NaN included. In: predictions p rows×C, targets t
 * like p, weights w rows×1 (optional: 1). Out: e rows×1. Attributes: kern_row_attr. */

typedef union kern_attr {
    kern_embed_attr embed;
    kern_norm_attr norm;
    kern_linear_attr linear;
    kern_attention_attr attention;
    kern_rope_attr rope;
    kern_head_scale_attr head_scale;
    kern_head_gain_attr head_gain;
    kern_head_repeat_attr head_repeat;
    kern_act_attr act;
    kern_row_attr row;
    kern_affine_attr affine;
    kern_dropout_attr dropout;
    kern_cross_entropy_attr cross_entropy;
} kern_attr;

/* ---- what a kernel sees --------------------------------------------------------------------- */

/* `data` points to kern_real of the kernel's precision, or is NULL: an optional input that is
 * absent, an output nobody needs, a cotangent nobody wants, or a tangent that is zero. */
typedef struct kern_view {
    void *data;
    size_t rows;
    size_t cols;
} kern_view;

/* Bindings of one run, shared by all its kernels. Index slots hold one id per row. */
enum { KERN_INDEX_SLOTS = 2 };
typedef struct kern_bindings {
    const int32_t *index[KERN_INDEX_SLOTS];
    uint64_t dropout_key; /* 0: no dropout */
    /* jvp: a row's tangent acts on the same row of the output only; operations that treat rows one
     * by one have nothing to do for it. */
    bool own_rows;
} kern_bindings;

typedef struct kern_call {
    const kern_attr *attr;
    const kern_bindings *bindings;
    kern_view in[KERN_MAX_IN];
    kern_view out[KERN_MAX_OUT];
    /* Tangents of the same values in a jvp; cotangents in a vjp. In a vjp, a NULL cotangent of an
     * output is zero. */
    kern_view d_in[KERN_MAX_IN];
    kern_view d_out[KERN_MAX_OUT];
    /* vjp: add to d_in[i] (true) or overwrite it (false). Parameters always add. */
    bool accumulate[KERN_MAX_IN];
    /* kern_pack's copies of a parameter input, or NULL. */
    const void *packed[KERN_MAX_IN];
    void *scratch;         /* workers · scratch() reals, 64-byte aligned */
    size_t scratch_stride; /* reals per worker */
    int workers;           /* how many workers this call may use */
} kern_call;

typedef void kern_kernel(const kern_call *call);

/* One precision's functions for one operation. */
typedef struct kern_op_kernels {
    kern_kernel *forward;
    kern_kernel *vjp;
    kern_kernel *jvp;
} kern_op_kernels;

/* Precision-independent description of an operation. */
typedef struct kern_op {
    const char *name;
    size_t n_in;
    size_t n_out;
    unsigned optional_in; /* bit i: input i may be absent */
    unsigned saved_out;   /* bit j: output j exists for vjp and jvp only */
    /* Bits of the primal inputs and outputs that vjp reads; jvp reads the same ones. */
    unsigned reads_in;
    unsigned reads_out;
    /* Bit i: output 0 may take the memory of input i, when that dies here (elementwise operations).
     */
    unsigned inplace_in;
    /* Bit i: the cotangent of input i may take the memory of output 0's cotangent. */
    unsigned inplace_d_in;
    /* While no parameter moves, one jvp takes several tangents of d_in.rows / in.rows stacked. */
    bool stacks_tangents;
    /* Output shapes from input shapes (absent: 0×0); KERN_INVALID_ARGUMENT with a sentence on
     * mismatch. */
    kern_status (*infer)(const kern_attr *attr, const kern_shape *in, kern_shape *out,
                         kern_error *err);
    /* Floating-point operations of the forward product that the mathematics needs (a multiply-add
     * is two); 0 for elementwise operations. NULL: 0. */
    double (*flops)(const kern_attr *attr, const kern_shape *in, const kern_shape *out);
    /* Reals of scratch memory that each worker needs. NULL: none. */
    size_t (*scratch)(const kern_attr *attr, const kern_shape *in, const kern_shape *out);
} kern_op;

/* Description of an operation, from the one table of all operations. */
const kern_op *kern_op_get(kern_op_id id);

/* One description per operation (kern_op_table.c) and its kernels in both precisions. */
#define KERN_OP_DECLARE(ID, id)                                                                    \
    extern const kern_op kern_op_##id;                                                             \
    extern const kern_op_kernels kern_op_##id##_kernels_f32;                                       \
    extern const kern_op_kernels kern_op_##id##_kernels_f64;
KERN_OP_LIST(KERN_OP_DECLARE)
#undef KERN_OP_DECLARE

/* A backend is a table of kernels for one precision: the seam for other devices. */
typedef struct kern_backend {
    const char *name;
    size_t real_size; /* bytes */
    const kern_op_kernels *kernels[KERN_OP_COUNT];
    /* kern_pack of this precision: a weight (rows × cols) as right operands of products. */
    void (*pack)(void *out, const void *in, size_t rows, size_t cols, int workers);
} kern_backend;

extern const kern_backend kern_backend_cpu_f32;
extern const kern_backend kern_backend_cpu_f64;

#endif
