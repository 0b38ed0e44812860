/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_trace.h"

#include "kernels/kern_exec.h"
#include "kernels/kern_size.h"
#include "models/model_graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A graph with one plan and one execution. */
typedef struct machine {
    model_graph graph;
    kern_plan *plan;
    kern_exec *exec;
} machine;

typedef struct tracer {
    model *m;      /* f64, the model itself */
    model *exact;  /* f64, with the exact update: its force is −v */
    machine block; /* one step from a given state, with its energies */
    machine local; /* energies and force at a given g, with tangents */
    model_trace *trace;
    kern_error *err;
} tracer;

static void machine_fini(machine *k)
{
    kern_exec_destroy(k->exec);
    kern_plan_destroy(k->plan);
    if (k->graph.graph != NULL) {
        model_graph_fini(&k->graph);
    }
}

static kern_status machine_init(machine *k, const model *m, const model_graph_options *options,
                                kern_mode mode, kern_error *err)
{
    KERN_TRY(model_graph_init(&k->graph, m, options, err));
    const kern_plan_options plan = {
        .mode = mode, .wrt = &k->graph.input, .n_wrt = mode == KERN_MODE_JVP ? 1 : 0};
    KERN_TRY(kern_plan_create(&k->plan, k->graph.graph, &plan, err));
    return kern_exec_create(&k->exec, k->plan, m->backend, 1, err);
}

static const double *value(const machine *k, kern_value v)
{
    return kern_exec_value(k->exec, v);
}

static const double *tangent(const machine *k, kern_value v)
{
    return kern_exec_derivative(k->exec, v);
}

/* ---- construction --------------------------------------------------------------------------- */

static kern_status check(const model *m, const int32_t *ids, size_t tokens, size_t steps,
                         kern_error *err)
{
    const model_config *c = &m->config;
    if (model_family_get(c->family)->build_energy == NULL) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a %s model has no energy to trace; accepted is nrgpt",
                          model_config_family_name(c));
    }
    if (steps == 0 || steps > 1000000) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "%zu steps are not within 1 to 1000000",
                          steps);
    }
    return model_check_prompt(m, ids, tokens, err);
}

static double *doubles(size_t a, size_t b, size_t c)
{
    return calloc(a * b * c + 1, sizeof(double));
}

static kern_status allocate(model_trace **out, const model *m, size_t tokens, size_t steps,
                            kern_error *err)
{
    model_trace *t = calloc(1, sizeof *t);
    *out = t;
    if (t == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a trace");
    }
    const size_t width = m->config.n_embed;
    const size_t states = steps + 1;
    t->tokens = tokens;
    t->steps = steps;
    t->trained_steps = m->config.n_layer;
    t->width = width;
    t->energy_attn = doubles(tokens, states, 1);
    t->energy_ff = doubles(tokens, states, 1);
    t->energy = doubles(tokens, states, 1);
    t->sigma = doubles(tokens, states, 1);
    t->gradient_norm = doubles(tokens, states, 1);
    t->self_change = doubles(tokens, steps, 1);
    t->cross_change = doubles(tokens, steps, 1);
    t->actual_change = doubles(tokens, steps, 1);
    t->rising = calloc(tokens * steps, sizeof *t->rising);
    t->g = doubles(tokens, states, width);
    t->x = doubles(tokens, states, width);
    const void *const blocks[] = {t->energy_attn,
                                  t->energy_ff,
                                  t->energy,
                                  t->sigma,
                                  t->gradient_norm,
                                  t->self_change,
                                  t->cross_change,
                                  t->actual_change,
                                  t->rising,
                                  t->g,
                                  t->x};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        if (blocks[i] == NULL) {
            return kern_raise(err, KERN_NO_MEMORY, "no memory for a trace of %zu tokens, %zu steps",
                              tokens, steps);
        }
    }
    return KERN_OK;
}

void model_trace_destroy(model_trace *t)
{
    if (t != NULL) {
        double *const blocks[] = {
            t->energy_attn, t->energy_ff,    t->energy,        t->sigma, t->gradient_norm,
            t->self_change, t->cross_change, t->actual_change, t->g,     t->x};
        for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
            free(blocks[i]);
        }
        free(t->rising);
        free(t);
    }
}

double model_trace_rising_fraction(const model_trace *trace)
{
    return (double)trace->n_rising / (double)(trace->tokens * trace->steps);
}

/* ---- orbit: states, σ, energies ------------------------------------------------------------- */

/* Copies rows × cols (token-major) of step t into an array (tokens, states, cols). */
static void store(double *array, const double *rows, const model_trace *t, size_t step, size_t cols)
{
    for (size_t a = 0; a < t->tokens; a++) {
        memcpy(array + (a * (t->steps + 1) + step) * cols, rows + a * cols, cols * sizeof *rows);
    }
}

/* x^(0) into the input of the block's machine. */
static kern_status start_orbit(tracer *tr, const int32_t *ids)
{
    const model_graph_options options = {
        .batch = 1, .tokens = tr->trace->tokens, .start = MODEL_START_TOKENS};
    const size_t size = tr->trace->tokens * tr->trace->width;
    machine embedding = {0};
    kern_status status = machine_init(&embedding, tr->m, &options, KERN_MODE_FORWARD, tr->err);
    if (status == KERN_OK) {
        const kern_run run = {.params = tr->m->values, .bindings = {.index = {ids, ids}}};
        kern_exec_forward(embedding.exec, &run);
        memcpy(kern_exec_value(tr->block.exec, tr->block.graph.input),
               value(&embedding, embedding.graph.states[0]), size * sizeof(double));
    }
    machine_fini(&embedding);
    return status;
}

/* What the block knows of state k before it moves on. */
static void collect_state(tracer *tr, size_t k)
{
    model_trace *t = tr->trace;
    const model_step *step = &tr->block.graph.steps[0];
    store(t->x, value(&tr->block, tr->block.graph.input), t, k, t->width);
    store(t->g, value(&tr->block, step->g), t, k, t->width);
    store(t->sigma, value(&tr->block, step->sigma), t, k, 1);
    store(t->energy_attn, value(&tr->block, step->energy_attn), t, k, 1);
    store(t->energy_ff, value(&tr->block, step->energy_ff), t, k, 1);
}

static void add_up_energies(tracer *tr)
{
    model_trace *t = tr->trace;
    const model_param *s = model_params_find(&tr->m->params, "blocks.scale_ff");
    t->scale_ff = model_value_get(tr->m, s->offset);
    for (size_t i = 0; i < t->tokens * (t->steps + 1); i++) {
        t->energy_ff[i] *= t->scale_ff;
        t->energy[i] = t->energy_attn[i] + t->energy_ff[i];
    }
}

static kern_status run_orbit(tracer *tr, const int32_t *ids)
{
    model_trace *t = tr->trace;
    const model_graph_options options = {.batch = 1,
                                         .tokens = t->tokens,
                                         .steps = 1,
                                         .start = MODEL_START_STATE,
                                         .energies = true,
                                         .keep_steps = true};
    KERN_TRY(machine_init(&tr->block, tr->m, &options, KERN_MODE_FORWARD, tr->err));
    KERN_TRY(start_orbit(tr, ids));
    const kern_run run = {.params = tr->m->values};
    double *x = kern_exec_value(tr->block.exec, tr->block.graph.input);
    for (size_t k = 0; k <= t->steps; k++) {
        kern_exec_forward(tr->block.exec, &run);
        collect_state(tr, k);
        memcpy(x, value(&tr->block, tr->block.graph.states[1]), t->tokens * t->width * sizeof *x);
    }
    add_up_energies(tr);
    return KERN_OK;
}

/* ---- energy balance ------------------------------------------------------------------------- */

/* P w in place: w minus its part along x̂ (scaled by the norm's exact rank-one coefficient) and, for
 * LayerNorm, minus its mean. With x̂ = (x − μ)/σ, P w = w − mean(w) − x̂ (x̂·w)/D holds for every ε.
 */
static void project(double *w, const double *x, size_t d, double sigma, bool layer_norm)
{
    double mean_x = 0;
    double mean_w = 0;
    double along = 0;
    for (size_t i = 0; layer_norm && i < d; i++) {
        mean_x += x[i] / (double)d;
        mean_w += w[i] / (double)d;
    }
    for (size_t i = 0; i < d; i++) {
        along += (x[i] - mean_x) / sigma * w[i] / (double)d;
    }
    for (size_t i = 0; i < d; i++) {
        w[i] -= mean_w + (x[i] - mean_x) / sigma * along;
    }
}

/* Token A at state k: |PΓv|, and, when a next state exists, the self part v·(ΓP/σ)Δx = (PΓv)·Δx/σ.
 */
static void token_balance(tracer *tr, size_t a, size_t k, const double *force, double *w)
{
    model_trace *t = tr->trace;
    const size_t d = t->width;
    const size_t at = a * (t->steps + 1) + k;
    const model_param *gamma = model_params_find(&tr->m->params, "blocks.ln.weight");
    const double *x = t->x + at * d;
    for (size_t i = 0; i < d; i++) {
        w[i] = -force[a * d + i] * model_value_get(tr->m, gamma->offset + i);
    }
    project(w, x, d, t->sigma[at], tr->m->config.norm == MODEL_LAYERNORM);
    double square = 0;
    double self = 0;
    for (size_t i = 0; i < d; i++) {
        square += w[i] * w[i];
        self += k < t->steps ? w[i] * (x[d + i] - x[i]) / t->sigma[at] : 0.0;
    }
    t->gradient_norm[at] = sqrt(square);
    if (k < t->steps) {
        t->self_change[a * t->steps + k] = self;
    }
}

/* First-order change of E_A along Δg of all tokens, minus the part along Δg_A. */
static double cross_part(const tracer *tr, size_t a, size_t k, const double *force)
{
    const model_trace *t = tr->trace;
    const model_step *step = &tr->local.graph.steps[0];
    const double *g = t->g + (a * (t->steps + 1) + k) * t->width;
    const double total = tangent(&tr->local, step->energy_attn)[a] +
                         t->scale_ff * tangent(&tr->local, step->energy_ff)[a];
    double own = 0;
    for (size_t i = 0; i < t->width; i++) {
        own -= force[a * t->width + i] * (g[t->width + i] - g[i]);
    }
    return total - own;
}

/* Loads g(k) and, as tangent, g(k+1) − g(k), and evaluates. */
static void run_local(tracer *tr, size_t k)
{
    const model_trace *t = tr->trace;
    const size_t d = t->width;
    double *g = kern_exec_value(tr->local.exec, tr->local.graph.input);
    double *dot = kern_exec_derivative(tr->local.exec, tr->local.graph.input);
    for (size_t a = 0; a < t->tokens; a++) {
        const double *now = t->g + (a * (t->steps + 1) + k) * d;
        for (size_t i = 0; i < d; i++) {
            g[a * d + i] = now[i];
            dot[a * d + i] = k < t->steps ? now[d + i] - now[i] : 0.0;
        }
    }
    const kern_run run = {.params = tr->exact->values};
    kern_exec_forward(tr->local.exec, &run);
    kern_exec_tangents(tr->local.exec, &run, 1);
}

static kern_status run_balance(tracer *tr)
{
    model_trace *t = tr->trace;
    const model_graph_options options = {
        .batch = 1, .tokens = t->tokens, .start = MODEL_START_G, .energies = true};
    KERN_TRY(machine_init(&tr->local, tr->exact, &options, KERN_MODE_JVP, tr->err));
    double *w = malloc((t->width + 1) * sizeof *w);
    if (w == NULL) {
        return kern_raise(tr->err, KERN_NO_MEMORY, "no memory for a trace");
    }
    for (size_t k = 0; k <= t->steps; k++) {
        run_local(tr, k);
        const double *force = value(&tr->local, tr->local.graph.steps[0].force);
        for (size_t a = 0; a < t->tokens; a++) {
            token_balance(tr, a, k, force, w);
            if (k < t->steps) {
                t->cross_change[a * t->steps + k] = cross_part(tr, a, k, force);
            }
        }
    }
    free(w);
    return KERN_OK;
}

/* A rise must exceed what rounding can do: energies are sums of terms no larger than themselves by
 * orders of magnitude, so 2⁻⁴⁰ of their size is four thousand roundings. */
static void mark_rises(model_trace *t)
{
    for (size_t a = 0; a < t->tokens; a++) {
        for (size_t k = 0; k < t->steps; k++) {
            const double before = t->energy[a * (t->steps + 1) + k];
            const double after = t->energy[a * (t->steps + 1) + k + 1];
            const double rounding = 0x1p-40 * (1.0 + fabs(before) + fabs(after));
            t->actual_change[a * t->steps + k] = after - before;
            t->rising[a * t->steps + k] = after - before > rounding;
            t->n_rising += t->rising[a * t->steps + k];
        }
    }
}

static kern_status run_all(tracer *tr, const model *m, const int32_t *ids)
{
    KERN_TRY(model_convert(&tr->m, m, &kern_backend_cpu_f64, tr->err));
    KERN_TRY(model_convert(&tr->exact, m, &kern_backend_cpu_f64, tr->err));
    tr->exact->config.update = MODEL_UPDATE_EXACT;
    tr->m->config.dropout = 0.0;
    tr->exact->config.dropout = 0.0;
    KERN_TRY(run_orbit(tr, ids));
    KERN_TRY(run_balance(tr));
    mark_rises(tr->trace);
    return KERN_OK;
}

kern_status model_trace_create(model_trace **out, const model *m, const int32_t *ids, size_t tokens,
                               size_t steps, kern_error *err)
{
    *out = NULL;
    KERN_TRY(check(m, ids, tokens, steps, err));
    tracer tr = {.err = err};
    kern_status status = allocate(out, m, tokens, steps, err);
    if (status == KERN_OK) {
        tr.trace = *out;
        status = run_all(&tr, m, ids);
    }
    machine_fini(&tr.block);
    machine_fini(&tr.local);
    model_destroy(tr.m);
    model_destroy(tr.exact);
    if (status != KERN_OK) {
        model_trace_destroy(*out);
        *out = NULL;
    }
    return status;
}
