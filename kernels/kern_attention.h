/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shared by the forward, vjp and jvp of attention and interaction: where one head of one sequence
 * lies, and how the work is split. Compiled once per precision; not for other rooms.
 *
 * Interaction is attention with two more inputs and one more output; the kernels are the same, and
 * take its diagonal part as one more head, with queries e, keys and values c, and output m. When
 * all heads share it, its scores are formed once, added to every head's on the way to the softmax,
 * and its weights are the sum of the heads'.
 *
 * Rows of a score matrix are treated in blocks of KERN_ATTENTION_BLOCK, each against only the
 * columns its last row may see, so a causal mask costs little more than its own half.
 */
#ifndef BASIN_KERN_ATTENTION_H
#define BASIN_KERN_ATTENTION_H

#include "kernels/kern_op.h"
#include "kernels/kern_pack.h"
#include "kernels/kern_real.h"

enum { KERN_ATTENTION_BLOCK = 32 };

/* Inputs and outputs, in the order of kern_op.h. */
enum { KERN_ATTENTION_Q, KERN_ATTENTION_K, KERN_ATTENTION_V, KERN_ATTENTION_E, KERN_ATTENTION_C };
enum {
    KERN_ATTENTION_OUT,
    KERN_ATTENTION_LSE,
    KERN_ATTENTION_OWN,
    KERN_ATTENTION_P,
    KERN_ATTENTION_M
};

/* What a call's diagonal part is. */
typedef enum kern_attention_part {
    KERN_ATTENTION_PLAIN,  /* there is none */
    KERN_ATTENTION_SHARED, /* one for all heads */
    KERN_ATTENTION_EACH    /* one for each head */
} kern_attention_part;

/* A matrix inside a larger one: `ld` reals from row to row. */
typedef struct kern_panel {
    kern_real *data;
    size_t ld;
} kern_panel;

/* One head of one sequence. Panels have N rows; `p` holds the weights (N×N). */
typedef struct kern_head {
    size_t tokens;
    size_t first_row;   /* its first row among the (rows·H) × N weights */
    size_t width;       /* of queries and keys */
    size_t value_width; /* of values and output */
    kern_panel q;
    kern_panel k;
    kern_panel v;
    kern_panel out;
    kern_panel p;
} kern_head;

/* Scratch of one worker. Widths are those of one head. */
typedef struct kern_attention_scratch {
    kern_real *turned; /* max(width, value_width) × N: a head's keys or values, turned */
    kern_real *block;  /* KERN_ATTENTION_BLOCK × N: weights of a block of rows that nobody keeps */
    kern_real *dropped; /* N × N: weights after dropout */
    kern_real *scores;  /* H × N × N */
    /* With a diagonal part of width D: */
    kern_real *base; /* N × N: its part of the scores or of what they are made from; later a sum
                        over heads */
    kern_real *sums; /* N × N: sum of the heads' weights */
    kern_real *wide; /* D × N: c, turned */
} kern_attention_scratch;

/* Reals of one worker's scratch. */
static inline size_t kern_attention_scratch_size(size_t tokens, size_t heads, size_t width,
                                                 size_t value_width)
{
    const size_t widest = width > value_width ? width : value_width;
    return tokens * (widest + KERN_ATTENTION_BLOCK + tokens + heads * tokens);
}

/* Reals that a diagonal part of width `width` adds to one worker's scratch. */
static inline size_t kern_attention_diagonal_scratch_size(size_t tokens, size_t width)
{
    return tokens * (2 * tokens + width);
}

/* Part of a sequence: items begin … end − 1 of a stage. */
typedef void kern_attention_body(const kern_call *call, const kern_attention_scratch *scratch,
                                 size_t sequence, size_t begin, size_t end);

/* One stage of the pass over a sequence, over heads, columns, panels of rows, or pairs of blocks of
 * rows. With fewer sequences than workers, the items are split among these, and `scores`, `base`,
 * `sums` and `wide` are common to all of them. A stage without a body is left out. */
typedef struct kern_attention_stage {
    kern_attention_body *body;
    size_t items;
} kern_attention_stage;

#define kern_attention_run           KERN_NAME(kern_attention_run)
#define kern_attention_kind          KERN_NAME(kern_attention_kind)
#define kern_attention_head          KERN_NAME(kern_attention_head)
#define kern_attention_diagonal      KERN_NAME(kern_attention_diagonal)
#define kern_attention_turn_diagonal KERN_NAME(kern_attention_turn_diagonal)
#define kern_attention_scores        KERN_NAME(kern_attention_scores)
#define kern_attention_mix           KERN_NAME(kern_attention_mix)
#define kern_attention_drop          KERN_NAME(kern_attention_drop)
#define kern_attention_add_rows      KERN_NAME(kern_attention_add_rows)
#define kern_attention_sum_weights   KERN_NAME(kern_attention_sum_weights)
#define kern_attention_forward       KERN_NAME(kern_attention_forward)
#define kern_attention_vjp           KERN_NAME(kern_attention_vjp)
#define kern_attention_jvp           KERN_NAME(kern_attention_jvp)

void kern_attention_run(const kern_call *call, const kern_attention_stage *stages, size_t count);

kern_attention_part kern_attention_kind(const kern_call *call);

/* Panels of head `head` of sequence `sequence`, from the primal views (`views` = call->in, `output`
 * = call->out[0]) or from their derivatives (call->d_in, call->d_out[0]); a NULL view gives a NULL
 * panel. */
kern_head kern_attention_head(const kern_call *call, const kern_view *views, kern_view output,
                              size_t sequence, size_t head);

/* The diagonal part of a head, or the one of all heads, as a head of its own with that head's
 * weights; `output` is call->out[KERN_ATTENTION_M] or its derivative. */
kern_head kern_attention_diagonal(const kern_call *call, const kern_view *views, kern_view output,
                                  size_t sequence, size_t head);

/* A first stage, over panels of KERN_PANEL rows: the transpose of c into scratch->wide, in panels
 * as kern_pack.h says. */
void kern_attention_turn_diagonal(const kern_call *call, const kern_attention_scratch *scratch,
                                  size_t sequence, size_t begin, size_t end);

/* Scores of a block of rows: left·rightᵀ, where `turned` holds panels of rightᵀ. */
typedef struct kern_scores {
    size_t tokens;
    size_t width;
    kern_panel left;
    const kern_real *turned;
    double scale;
} kern_scores;

/* Block of rows that starts at r (leading dimension N): (+)= scale · left·rightᵀ. */
void kern_attention_scores(const kern_scores *s, kern_real *block, size_t r, bool accumulate);

/* Number of panels of rows. */
static inline size_t kern_attention_panels(size_t tokens)
{
    return (tokens + KERN_PANEL - 1) / KERN_PANEL;
}

/* Number of columns that row `row` may attend. */
static inline size_t kern_attention_visible(const kern_attr *attr, size_t row)
{
    return attr->attention.strict ? row : row + 1;
}

/* End of the block that starts at `row`: its rows, and the columns any of them may attend. */
static inline size_t kern_attention_block_end(size_t tokens, size_t row)
{
    return row + KERN_ATTENTION_BLOCK < tokens ? row + KERN_ATTENTION_BLOCK : tokens;
}

/* Blocks of rows are shared out in pairs, the first with the last and so on, since a causal mask
 * makes later ones longer. Number of pairs; and the first row of block `k` of those that pairs
 * begin … end − 1 hold, 2·begin ≤ k < 2·end, or N where an odd number of blocks leaves a gap. */
static inline size_t kern_attention_pairs(size_t tokens)
{
    return (tokens + 2 * KERN_ATTENTION_BLOCK - 1) / (2 * KERN_ATTENTION_BLOCK);
}

static inline size_t kern_attention_paired_row(size_t tokens, size_t k)
{
    const size_t blocks = (tokens + KERN_ATTENTION_BLOCK - 1) / KERN_ATTENTION_BLOCK;
    const size_t mirrored = blocks - 1 - k / 2;
    if (k % 2 == 0) {
        return k / 2 * KERN_ATTENTION_BLOCK;
    }
    return mirrored == k / 2 ? tokens : mirrored * KERN_ATTENTION_BLOCK;
}

/* Multiplies `block`, the block of P that starts at `row`, by the dropout factors of this head into
 * `out` (both of leading dimension N) and returns that; returns `block` itself when the run drops
 * nothing. */
const kern_real *kern_attention_drop(const kern_call *call, const kern_head *head,
                                     const kern_real *block, kern_real *out, size_t row);

/* Rows of the block that starts at r: to->out (+)= c left·right, where `left` is that block of an N
 * × N matrix. */
void kern_attention_mix(const kern_call *call, const kern_head *to, const kern_real *left,
                        kern_panel right, size_t r, bool accumulate);

/* Block of rows that starts at `row`, of N×N matrices: to = from, or to += from. Only columns that
 * the block may attend count. */
void kern_attention_add_rows(kern_real *to, const kern_real *from, size_t tokens, size_t row,
                             bool add);

/* Block of `to` (N×N) that starts at `row`: Σ_h P after dropout, from the weights that were kept.
 */
void kern_attention_sum_weights(const kern_call *call, const kern_attention_scratch *scratch,
                                size_t sequence, size_t row, kern_real *to);

/* The kernels of both operations. */
void kern_attention_forward(const kern_call *call);
void kern_attention_vjp(const kern_call *call);
void kern_attention_jvp(const kern_call *call);

#endif
