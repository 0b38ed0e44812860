/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/kernels/op_run.h"

#include "kernels/kern_pack.h"

#include "kernels/kern_pack.h"
#include "kernels/kern_rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- problems and results ---------------------------------------------------------------------
 */

static double *new_numbers(size_t n)
{
    double *numbers = malloc((n == 0 ? 1 : n) * sizeof *numbers);
    assert_non_null(numbers);
    for (size_t i = 0; i < n; i++) {
        numbers[i] = (double)NAN;
    }
    return numbers;
}

/* Normal deviates, rounded to single precision, at least `margin` away from 0. */
static double *random_numbers(kern_rng *rng, size_t n, double margin)
{
    double *numbers = new_numbers(n);
    for (size_t i = 0; i < n; i++) {
        const double z = kern_rng_normal(rng);
        numbers[i] = (double)(float)(z + copysign(margin, z));
    }
    return numbers;
}

op_problem *op_problem_create(const op_case *c, uint64_t seed)
{
    op_problem *p = calloc(1, sizeof *p);
    kern_rng *rng = kern_rng_create(seed, c->name, 0);
    kern_error err = {0};
    assert_non_null(p);
    assert_non_null(rng);
    p->c = c;
    p->op = kern_op_get(c->op);
    p->bindings.dropout_key = c->dropout_key;
    memcpy(p->bindings.index, c->index, sizeof c->index);
    if (p->op->infer(&c->attr, c->in, p->out_shape, &err) != KERN_OK) {
        fail_msg("%s: %s", c->name, err.text);
    }
    for (size_t i = 0; i < KERN_MAX_IN; i++) {
        p->in_count[i] = c->in[i].rows * c->in[i].cols;
        p->out_count[i] = i < p->op->n_out ? p->out_shape[i].rows * p->out_shape[i].cols : 0;
        p->x[i] = random_numbers(rng, p->in_count[i], c->margin);
        p->v[i] = random_numbers(rng, p->in_count[i], 0);
        p->base[i] = random_numbers(rng, p->in_count[i], 0);
        p->w[i] = random_numbers(rng, p->out_count[i], 0);
    }
    kern_rng_destroy(rng);
    return p;
}

void op_problem_destroy(op_problem *p)
{
    for (size_t i = 0; i < KERN_MAX_IN; i++) {
        free(p->x[i]);
        free(p->v[i]);
        free(p->base[i]);
        free(p->w[i]);
    }
    free(p);
}

op_result *op_result_create(const op_problem *p)
{
    op_result *r = calloc(1, sizeof *r);
    assert_non_null(r);
    for (size_t i = 0; i < KERN_MAX_IN; i++) {
        r->out[i] = new_numbers(p->out_count[i]);
        r->d_out[i] = new_numbers(p->out_count[i]);
        r->d_in[i] = new_numbers(p->in_count[i]);
    }
    return r;
}

void op_result_destroy(op_result *r)
{
    for (size_t i = 0; i < KERN_MAX_IN; i++) {
        free(r->out[i]);
        free(r->d_out[i]);
        free(r->d_in[i]);
    }
    free(r);
}

/* ---- guarded buffers --------------------------------------------------------------------------
 */

/* GUARD bytes of a pattern, then the array at 64-byte alignment, then GUARD bytes. */
enum { GUARD = 256, PATTERN = 0xA5, UNWRITTEN = 0xFF };

typedef struct buffer {
    unsigned char *block;
    size_t bytes;
    size_t real;
} buffer;

/* Array of n numbers, NaN bit for bit until set. */
static buffer new_buffer(size_t n, size_t real)
{
    buffer b = {.bytes = n * real, .real = real};
    const size_t total = (2 * GUARD + b.bytes + 63) / 64 * 64;
    b.block = aligned_alloc(64, total);
    assert_non_null(b.block);
    memset(b.block, PATTERN, total);
    memset(b.block + GUARD, UNWRITTEN, b.bytes);
    return b;
}

static void *buffer_data(const buffer *b)
{
    return b->block + GUARD;
}

static void buffer_set(buffer *b, const double *numbers)
{
    for (size_t i = 0; i < b->bytes / b->real; i++) {
        if (b->real == sizeof(float)) {
            ((float *)buffer_data(b))[i] = (float)numbers[i];
        } else {
            ((double *)buffer_data(b))[i] = numbers[i];
        }
    }
}

static void buffer_get(const buffer *b, double *numbers)
{
    for (size_t i = 0; i < b->bytes / b->real; i++) {
        numbers[i] = b->real == sizeof(float) ? (double)((const float *)buffer_data(b))[i]
                                              : ((const double *)buffer_data(b))[i];
    }
}

static void free_buffer(buffer *b, const op_problem *p, const char *what, size_t which)
{
    for (size_t i = 0; i < GUARD; i++) {
        if (b->block[i] != PATTERN || b->block[GUARD + b->bytes + i] != PATTERN) {
            fail_msg("%s: memory around %s %zu was written", p->c->name, what, which);
        }
    }
    free(b->block);
}

/* ---- one run ----------------------------------------------------------------------------------
 */

typedef struct run {
    const op_problem *p;
    const op_options *o;
    const kern_backend *backend;
    buffer in[KERN_MAX_IN];
    buffer out[KERN_MAX_OUT];
    buffer d_in[KERN_MAX_IN];
    buffer d_out[KERN_MAX_OUT];
    buffer scratch;
    buffer packed;
    kern_call call;
} run;

static bool has_bit(unsigned mask, size_t i)
{
    return (mask >> i & 1U) != 0;
}

static void set_inputs(run *r)
{
    const op_problem *p = r->p;
    for (size_t i = 0; i < KERN_MAX_IN; i++) {
        double *x = new_numbers(p->in_count[i]);
        for (size_t k = 0; k < p->in_count[i]; k++) {
            x[k] = p->x[i][k] + r->o->shift * p->v[i][k];
        }
        r->in[i] = new_buffer(p->in_count[i], r->backend->real_size);
        buffer_set(&r->in[i], x);
        free(x);
        r->call.in[i] = (kern_view){p->in_count[i] == 0 ? NULL : buffer_data(&r->in[i]),
                                    p->c->in[i].rows, p->c->in[i].cols};
    }
}

static void set_outputs(run *r)
{
    const op_problem *p = r->p;
    for (size_t j = 0; j < KERN_MAX_OUT; j++) {
        r->out[j] = new_buffer(p->out_count[j], r->backend->real_size);
        const bool absent =
            p->out_count[j] == 0 || (r->o->phase == OP_FORWARD && has_bit(r->o->no_out, j));
        r->call.out[j] = (kern_view){absent ? NULL : buffer_data(&r->out[j]), p->out_shape[j].rows,
                                     p->out_shape[j].cols};
    }
    for (size_t i = 0; r->o->phase == OP_FORWARD && i < KERN_MAX_IN; i++) {
        if (has_bit(r->o->alias, i)) {
            r->call.out[0].data = r->call.in[i].data;
        }
    }
}

/* Tangents of inputs for a jvp; bases of their cotangents for a vjp. */
static void set_input_derivatives(run *r)
{
    const op_problem *p = r->p;
    for (size_t i = 0; i < KERN_MAX_IN; i++) {
        r->d_in[i] = new_buffer(p->in_count[i], r->backend->real_size);
        r->call.accumulate[i] = has_bit(r->o->accumulate, i);
        if (r->o->phase == OP_JVP) {
            buffer_set(&r->d_in[i], p->v[i]);
            if (has_bit(r->o->zero_d_in, i)) {
                memset(buffer_data(&r->d_in[i]), 0, r->d_in[i].bytes);
            }
        } else if (r->call.accumulate[i]) {
            buffer_set(&r->d_in[i], p->base[i]);
        } else if (has_bit(p->c->params, i)) {
            r->call.accumulate[i] = true;
            memset(buffer_data(&r->d_in[i]), 0, r->d_in[i].bytes);
        }
        const bool absent = p->in_count[i] == 0 || has_bit(r->o->no_d_in, i);
        r->call.d_in[i] = (kern_view){absent ? NULL : buffer_data(&r->d_in[i]), p->c->in[i].rows,
                                      p->c->in[i].cols};
    }
}

/* Cotangents of outputs for a vjp; saved outputs have none. */
static void set_output_derivatives(run *r)
{
    const op_problem *p = r->p;
    for (size_t j = 0; j < KERN_MAX_OUT; j++) {
        r->d_out[j] = new_buffer(p->out_count[j], r->backend->real_size);
        if (r->o->phase == OP_VJP) {
            buffer_set(&r->d_out[j], p->w[j]);
            if (has_bit(r->o->zero_d_out, j)) {
                memset(buffer_data(&r->d_out[j]), 0, r->d_out[j].bytes);
            }
        }
        const bool absent =
            p->out_count[j] == 0 || has_bit(p->op->saved_out, j) || has_bit(r->o->no_d_out, j);
        r->call.d_out[j] = (kern_view){absent ? NULL : buffer_data(&r->d_out[j]),
                                       p->out_shape[j].rows, p->out_shape[j].cols};
    }
    for (size_t i = 0; r->o->phase == OP_VJP && i < KERN_MAX_IN; i++) {
        if (has_bit(r->o->alias, i)) {
            r->call.d_in[i].data = r->call.d_out[0].data;
        }
    }
}

static void set_workspace(run *r)
{
    const op_problem *p = r->p;
    const size_t needed =
        p->op->scratch == NULL ? 0 : p->op->scratch(&p->c->attr, p->c->in, p->out_shape);
    r->call.scratch_stride = (needed + 15) / 16 * 16;
    r->scratch = new_buffer(r->call.scratch_stride * (size_t)r->o->workers, r->backend->real_size);
    r->call.scratch = needed == 0 ? NULL : buffer_data(&r->scratch);
    r->packed =
        new_buffer(kern_pack_size(p->c->in[1].rows, p->c->in[1].cols), r->backend->real_size);
    if (r->o->packed) {
        r->backend->pack(buffer_data(&r->packed), r->call.in[1].data, p->c->in[1].rows,
                         p->c->in[1].cols, 1);
        r->call.packed[1] = buffer_data(&r->packed);
    }
}

/* Copies what the kernel wrote, wherever it was told to write. */
static void collect(const run *r, op_result *result)
{
    for (size_t i = 0; i < KERN_MAX_IN; i++) {
        const bool aliased = has_bit(r->o->alias, i);
        buffer_get(aliased && r->o->phase == OP_VJP ? &r->d_out[0] : &r->d_in[i], result->d_in[i]);
    }
    for (size_t j = 0; j < KERN_MAX_OUT; j++) {
        const buffer *out = &r->out[j];
        for (size_t i = 0; j == 0 && r->o->phase == OP_FORWARD && i < KERN_MAX_IN; i++) {
            out = has_bit(r->o->alias, i) ? &r->in[i] : out;
        }
        buffer_get(out, result->out[j]);
        buffer_get(&r->d_out[j], result->d_out[j]);
    }
}

/* A kernel may write to an input only where output 0 was put there. */
static void expect_inputs_untouched(const run *r)
{
    for (size_t i = 0; i < KERN_MAX_IN; i++) {
        double *found = new_numbers(r->p->in_count[i]);
        buffer_get(&r->in[i], found);
        for (size_t k = 0; k < r->p->in_count[i] && !has_bit(r->o->alias, i); k++) {
            const double x = r->p->x[i][k] + r->o->shift * r->p->v[i][k];
            if (!(found[k] == x || (r->o->single && found[k] == (double)(float)x))) {
                fail_msg("%s: input %zu was changed", r->p->c->name, i);
            }
        }
        free(found);
    }
}

void op_run(const op_problem *p, const op_options *o, op_result *result)
{
    run r = {.p = p,
             .o = o,
             .backend = o->single ? &kern_backend_cpu_f32 : &kern_backend_cpu_f64,
             .call = {.attr = &p->c->attr, .bindings = &p->bindings, .workers = o->workers}};
    set_inputs(&r);
    set_outputs(&r);
    set_input_derivatives(&r);
    set_output_derivatives(&r);
    set_workspace(&r);
    const kern_op_kernels *kernels = r.backend->kernels[p->c->op];
    kernels->forward(&r.call);
    if (o->phase == OP_VJP) {
        kernels->vjp(&r.call);
    } else if (o->phase == OP_JVP) {
        kernels->jvp(&r.call);
    }
    collect(&r, result);
    expect_inputs_untouched(&r);
    for (size_t i = 0; i < KERN_MAX_IN; i++) {
        free_buffer(&r.in[i], p, "input", i);
        free_buffer(&r.out[i], p, "output", i);
        free_buffer(&r.d_in[i], p, "the derivative of input", i);
        free_buffer(&r.d_out[i], p, "the derivative of output", i);
    }
    free_buffer(&r.scratch, p, "scratch", 0);
    free_buffer(&r.packed, p, "the packed copy", 0);
}
