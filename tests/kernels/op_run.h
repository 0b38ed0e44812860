/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One operation with random numbers, and running it through kern_call under chosen conditions. All
 * numbers are kept in double and are exact in single precision; buffers in the precision of the run
 * are made for each run, surrounded by guard bytes that are verified, and filled with NaN where
 * the kernel is to write.
 */
#ifndef BASIN_OP_RUN_H
#define BASIN_OP_RUN_H

#include "tests/kernels/op_check.h"

/* A case with its numbers: inputs x, tangents v, cotangents w, and what cotangents of inputs hold
 * before they are added to. Arrays of absent inputs are empty. */
typedef struct op_problem {
    const op_case *c;
    const kern_op *op;
    kern_bindings bindings;
    kern_shape out_shape[KERN_MAX_OUT];
    size_t in_count[KERN_MAX_IN];
    size_t out_count[KERN_MAX_OUT];
    double *x[KERN_MAX_IN];
    double *v[KERN_MAX_IN];
    double *w[KERN_MAX_OUT];
    double *base[KERN_MAX_IN];
} op_problem;

typedef enum op_phase { OP_FORWARD, OP_VJP, OP_JVP } op_phase;

/* Conditions of a run; bit i of a mask is input or output i. */
typedef struct op_options {
    op_phase phase; /* the forward always runs first */
    bool single;    /* f32 */
    int workers;
    double shift;        /* inputs are x + shift · v */
    unsigned no_out;     /* outputs passed as NULL to the forward (OP_FORWARD only) */
    unsigned no_d_in;    /* cotangents or tangents of inputs passed as NULL */
    unsigned no_d_out;   /* the same for outputs */
    unsigned zero_d_in;  /* tangents of inputs set to zero */
    unsigned zero_d_out; /* cotangents of outputs set to zero */
    unsigned accumulate; /* cotangents of inputs that add to the base */
    unsigned alias;      /* output 0 in the memory of this input, or (OP_VJP) the cotangents */
    bool packed;         /* pass the packed copies of input 1 */
} op_options;

/* What a run wrote, in double; arrays not written hold NaN. */
typedef struct op_result {
    double *out[KERN_MAX_OUT];
    double *d_in[KERN_MAX_IN];
    double *d_out[KERN_MAX_OUT];
} op_result;

op_problem *op_problem_create(const op_case *c, uint64_t seed);
void op_problem_destroy(op_problem *p);

op_result *op_result_create(const op_problem *p);
void op_result_destroy(op_result *r);

/* Runs under `o` and fills `r`. Failures (guards, shapes, memory) are cmocka failures. */
void op_run(const op_problem *p, const op_options *o, op_result *r);

#endif
