/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _POSIX_C_SOURCE 200809L
#include "kernels/kern_exec.h"

#include "kernels/kern_arena.h"
#include "kernels/kern_size.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct kern_exec {
    const kern_plan *plan;
    const kern_backend *backend;
    int workers;
    kern_arena arena;
    unsigned char *buffer;
    void *scratch;
    size_t scratch_stride;
};

static kern_status reserve(kern_exec *exec, kern_error *err)
{
    const size_t real = exec->backend->real_size;
    const size_t buffer = kern_plan_buffer_size(exec->plan);
    exec->scratch_stride = kern_plan_scratch_size(exec->plan);
    size_t scratch;
    size_t total;
    if (!kern_size_mul(exec->scratch_stride, (size_t)exec->workers, &scratch) ||
        !kern_size_add(kern_arena_cost(buffer, real), kern_arena_cost(scratch, real), &total)) {
        return kern_raise(err, KERN_NO_MEMORY, "the model needs more memory than can be addressed");
    }
    KERN_TRY(kern_arena_init(&exec->arena, total, err));
    exec->buffer = kern_arena_alloc(&exec->arena, buffer, real);
    exec->scratch = kern_arena_alloc(&exec->arena, scratch, real);
    if (exec->buffer == NULL || exec->scratch == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a plan of %zu numbers", buffer);
    }
    return KERN_OK;
}

/* A `wrt` input that no seed depends on keeps a zero cotangent: nothing else ever uses its slot. */
static void clear_input_derivatives(const kern_exec *exec)
{
    const kern_graph *graph = kern_plan_graph(exec->plan);
    for (kern_value v = 0; v < kern_graph_value_count(graph); v++) {
        const kern_value_info *info = kern_graph_value_info(graph, v);
        void *derivative = kern_exec_derivative(exec, v);
        if (info->role == KERN_ROLE_INPUT && derivative != NULL) {
            memset(derivative, 0,
                   info->shape.rows * info->shape.cols * kern_plan_tangents(exec->plan) *
                       exec->backend->real_size);
        }
    }
}

kern_status kern_exec_create(kern_exec **out, const kern_plan *plan, const kern_backend *backend,
                             int workers, kern_error *err)
{
    *out = NULL;
    if (workers < 1) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "%d workers cannot run anything, use 1 or more", workers);
    }
    kern_exec *exec = calloc(1, sizeof *exec);
    if (exec == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for an execution");
    }
    exec->plan = plan;
    exec->backend = backend;
    exec->workers = workers;
    const kern_status status = reserve(exec, err);
    if (status != KERN_OK) {
        kern_exec_destroy(exec);
        return status;
    }
    clear_input_derivatives(exec);
    *out = exec;
    return KERN_OK;
}

void kern_exec_destroy(kern_exec *exec)
{
    if (exec != NULL) {
        kern_arena_fini(&exec->arena);
        free(exec);
    }
}

static void *at(const kern_exec *exec, size_t offset)
{
    return offset == KERN_NO_SLOT ? NULL : exec->buffer + offset * exec->backend->real_size;
}

void *kern_exec_value(const kern_exec *exec, kern_value value)
{
    return at(exec, kern_plan_value_offset(exec->plan, value));
}

void *kern_exec_derivative(const kern_exec *exec, kern_value value)
{
    return at(exec, kern_plan_derivative_offset(exec->plan, value));
}

/* Start of a parameter's part of a vector that is laid out like the parameters. */
static void *slice(const kern_exec *exec, const void *vector, size_t offset)
{
    if (vector == NULL) {
        return NULL;
    }
    const unsigned char *start = (const unsigned char *)vector + offset * exec->backend->real_size;
    void *data;
    memcpy(&data, &start, sizeof data); /* a view holds data to read and data to write alike */
    return data;
}

static void bind_inputs(const kern_exec *exec, const kern_run *run, const kern_instruction *x,
                        const kern_node *node, kern_call *call)
{
    const kern_graph *graph = kern_plan_graph(exec->plan);
    for (size_t i = 0; i < KERN_MAX_IN; i++) {
        if (node->in[i] == KERN_NO_VALUE) {
            continue;
        }
        const kern_value_info *info = kern_graph_value_info(graph, node->in[i]);
        call->in[i] = (kern_view){at(exec, x->in[i]), info->shape.rows, info->shape.cols};
        call->d_in[i] = (kern_view){at(exec, x->d_in[i]), info->shape.rows, info->shape.cols};
        call->accumulate[i] = x->accumulate[i];
        if (info->role == KERN_ROLE_PARAM) {
            call->in[i].data = slice(exec, run->params, info->param_offset);
            if (info->pack_offset != SIZE_MAX) {
                call->packed[i] = slice(exec, run->packed, info->pack_offset);
            }
        }
        if (x->param_d_in[i]) {
            const void *vector =
                x->phase == KERN_PHASE_VJP ? run->param_gradients : run->param_tangents;
            call->d_in[i].data = slice(exec, vector, info->param_offset);
        }
    }
}

static void bind_outputs(const kern_exec *exec, const kern_instruction *x, const kern_node *node,
                         kern_call *call)
{
    const kern_graph *graph = kern_plan_graph(exec->plan);
    for (size_t j = 0; j < KERN_MAX_OUT; j++) {
        if (node->out[j] != KERN_NO_VALUE) {
            const kern_shape shape = kern_graph_value_info(graph, node->out[j])->shape;
            call->out[j] = (kern_view){at(exec, x->out[j]), shape.rows, shape.cols};
            call->d_out[j] = (kern_view){at(exec, x->d_out[j]), shape.rows, shape.cols};
        }
    }
}

static kern_kernel *kernel_of(const kern_exec *exec, const kern_instruction *x, kern_op_id op)
{
    const kern_op_kernels *kernels = exec->backend->kernels[op];
    switch (x->phase) {
    case KERN_PHASE_VJP:
        return kernels->vjp;
    case KERN_PHASE_JVP:
        return kernels->jvp;
    case KERN_PHASE_FORWARD:
    default:
        return kernels->forward;
    }
}

static double seconds_now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Moves on to the next of the tangents that lie one after another. */
static void shift_view(const kern_exec *exec, kern_view *view)
{
    if (view->data != NULL) {
        view->data =
            (unsigned char *)view->data + view->rows * view->cols * exec->backend->real_size;
    }
}

static bool moves_params(const kern_instruction *x)
{
    for (size_t i = 0; i < KERN_MAX_IN; i++) {
        if (x->param_d_in[i]) {
            return true;
        }
    }
    return false;
}

/* Calls a kernel for `count` tangents: at once where the operation can, else one by one. */
static void call_tangents(const kern_exec *exec, const kern_instruction *x, kern_call *call,
                          kern_kernel *kernel, size_t count)
{
    const kern_op *op = kern_op_get(kern_graph_node(kern_plan_graph(exec->plan), x->node)->op);
    const bool stacked = op->stacks_tangents && !moves_params(x);
    for (size_t i = 0; stacked && i < KERN_MAX_IN; i++) {
        call->d_in[i].rows *= count;
    }
    for (size_t j = 0; stacked && j < KERN_MAX_OUT; j++) {
        call->d_out[j].rows *= count;
    }
    kernel(call);
    for (size_t t = 1; !stacked && t < count; t++) {
        for (size_t i = 0; i < KERN_MAX_IN; i++) {
            if (!x->param_d_in[i]) {
                shift_view(exec, &call->d_in[i]);
            }
        }
        for (size_t j = 0; j < KERN_MAX_OUT; j++) {
            shift_view(exec, &call->d_out[j]);
        }
        kernel(call);
    }
}

/* `tangents` counts in a jvp and is 1 otherwise. */
static void run_instruction(const kern_exec *exec, const kern_run *run, const kern_instruction *x,
                            size_t tangents)
{
    const kern_node *node = kern_graph_node(kern_plan_graph(exec->plan), x->node);
    kern_call call = {.attr = &node->attr,
                      .bindings = &run->bindings,
                      .scratch = exec->scratch,
                      .scratch_stride = exec->scratch_stride,
                      .workers = exec->workers};
    bind_inputs(exec, run, x, node, &call);
    bind_outputs(exec, x, node, &call);
    kern_kernel *kernel = kernel_of(exec, x, node->op);
    if (run->profile == NULL) {
        call_tangents(exec, x, &call, kernel, tangents);
        return;
    }
    const double start = seconds_now();
    call_tangents(exec, x, &call, kernel, tangents);
    run->profile->seconds[node->op][x->phase] += seconds_now() - start;
    run->profile->calls[node->op][x->phase]++;
}

static void run_range(const kern_exec *exec, const kern_run *run, size_t begin, size_t end,
                      size_t tangents)
{
    size_t count;
    const kern_instruction *instructions = kern_plan_instructions(exec->plan, &count);
    for (size_t k = begin; k < end; k++) {
        run_instruction(exec, run, &instructions[k], tangents);
    }
}

void kern_exec_forward(kern_exec *exec, const kern_run *run)
{
    run_range(exec, run, 0, kern_plan_forward_count(exec->plan), 1);
}

static void run_derivatives(kern_exec *exec, const kern_run *run, size_t tangents)
{
    size_t count;
    (void)kern_plan_instructions(exec->plan, &count);
    run_range(exec, run, kern_plan_forward_count(exec->plan), count, tangents);
}

void kern_exec_tangents(kern_exec *exec, const kern_run *run, size_t count)
{
    run_derivatives(exec, run, count);
}

void kern_exec_backward(kern_exec *exec, const kern_run *run)
{
    run_derivatives(exec, run, 1);
}
