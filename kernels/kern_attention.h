/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shared by the forward, vjp and jvp of attention: where one head of one sequence lies, and how the
 * work is split. Compiled once per precision; not for other rooms.
 *
 * Rows of a score matrix are treated in blocks of KERN_ATTENTION_BLOCK, each against only the
 * columns its last row may see, so a causal mask costs little more than its own half.
 */
#ifndef BASIN_KERN_ATTENTION_H
#define BASIN_KERN_ATTENTION_H

#include "kernels/kern_op.h"
#include "kernels/kern_real.h"

enum { KERN_ATTENTION_BLOCK = 32 };

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
    kern_real *transposed; /* max(width, value_width) × N: keys or values, transposed */
    kern_real *dropped;    /* N × N: weights after dropout */
    kern_real *scores;     /* H × N × N */
} kern_attention_scratch;

/* Reals of one worker's scratch. */
static inline size_t kern_attention_scratch_size(size_t tokens, size_t heads, size_t width,
                                                 size_t value_width)
{
    const size_t widest = width > value_width ? width : value_width;
    return tokens * (widest + tokens + heads * tokens);
}

/* Part of a sequence: heads begin … end − 1, or columns begin … end − 1 of a sum over heads. */
typedef void kern_attention_body(const kern_call *call, const kern_attention_scratch *scratch,
                                 size_t sequence, size_t begin, size_t end);

/* How a pass over all sequences is done. `by_head` treats a range of heads of one sequence;
 * `by_column`, which may be NULL, follows it with a range of columns of what heads share. With
 * fewer sequences than workers, `scratch->scores` is common to all of them. */
typedef struct kern_attention_pass {
    kern_attention_body *by_head;
    kern_attention_body *by_column;
    size_t columns;
} kern_attention_pass;

#define kern_attention_run  KERN_NAME(kern_attention_run)
#define kern_attention_head KERN_NAME(kern_attention_head)
#define kern_attention_drop KERN_NAME(kern_attention_drop)
#define kern_attention_vjp  KERN_NAME(kern_attention_vjp)

void kern_attention_run(const kern_call *call, const kern_attention_pass *pass);

/* Panels of head `head` of sequence `sequence`, from the primal views (`views` = call->in, `output`
 * = call->out[0]) or from their derivatives (call->d_in, call->d_out[0]); a NULL view gives a NULL
 * panel. */
kern_head kern_attention_head(const kern_call *call, const kern_view *views, kern_view output,
                              size_t sequence, size_t head);

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

/* Multiplies the block of P that starts at `row` by the dropout factors of this head into `out`
 * (leading dimension N) and returns that; returns the block of P itself when the run drops nothing.
 */
const kern_real *kern_attention_drop(const kern_call *call, const kern_head *head, kern_real *out,
                                     size_t row);

/* The vjp of kern_attention_attr's formulas. */
void kern_attention_vjp(const kern_call *call);

#endif
