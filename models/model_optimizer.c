/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_optimizer.h"

#include "kernels/kern_parallel.h"
#include "kernels/kern_simd.h"
#include "kernels/kern_size.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Elements per chunk: small enough for a cache, large enough to amortise a call. */
enum { CHUNK = 16384 };

kern_status model_optimizer_init(model_optimizer *o, const model_params *params,
                                 const model_adamw *settings, kern_error *err)
{
    *o = (model_optimizer){.settings = *settings, .params = params};
    o->n_chunks = (params->length + CHUNK - 1) / CHUNK;
    o->m = calloc(params->length, sizeof *o->m);
    o->v = calloc(params->length, sizeof *o->v);
    o->chunk_sums = calloc(o->n_chunks + 1, sizeof *o->chunk_sums);
    if (o->m == NULL || o->v == NULL || o->chunk_sums == NULL) {
        model_optimizer_fini(o);
        return kern_raise(err, KERN_NO_MEMORY, "no memory for the moments of %zu parameters",
                          params->elements);
    }
    return KERN_OK;
}

void model_optimizer_fini(model_optimizer *o)
{
    free(o->m);
    free(o->v);
    free(o->chunk_sums);
    *o = (model_optimizer){0};
}

/* ---- gradients: lanes into one, and its norm ------------------------------------------------ */

typedef struct step_task {
    model_optimizer *o;
    float *weights;
    float *const *gradients;
    size_t lanes;
    float clip_factor;
    float rate;
    float correction; /* √(1 − β₂ᵗ): divides √v */
    float step_size;  /* lr / (1 − β₁ᵗ) */
} step_task;

KERN_HOT static void add_lane(float *restrict total, float *restrict lane, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        total[i] += lane[i];
        lane[i] = 0.0F;
    }
}

KERN_HOT static double square_sum(const float *x, size_t n)
{
    double partial[8] = {0};
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        for (size_t k = 0; k < 8; k++) {
            partial[k] += (double)x[i + k] * (double)x[i + k];
        }
    }
    for (; i < n; i++) {
        partial[0] += (double)x[i] * (double)x[i];
    }
    double sum = 0;
    for (size_t k = 0; k < 8; k++) {
        sum += partial[k];
    }
    return sum;
}

static void reduce_worker(void *context, int worker, int workers)
{
    const step_task *task = context;
    const size_t length = task->o->params->length;
    size_t begin;
    size_t end;
    kern_parallel_share(task->o->n_chunks, 1, worker, workers, &begin, &end);
    for (size_t c = begin; c < end; c++) {
        const size_t first = c * CHUNK;
        const size_t n = kern_size_min(CHUNK, length - first);
        for (size_t lane = 1; lane < task->lanes; lane++) {
            add_lane(task->gradients[0] + first, task->gradients[lane] + first, n);
        }
        task->o->chunk_sums[c] = square_sum(task->gradients[0] + first, n);
    }
}

/* Frozen tensors have no gradient: what the graph computed for them must not count. */
static void clear_frozen(const step_task *task)
{
    const model_params *params = task->o->params;
    for (size_t i = 0; i < params->count; i++) {
        const model_param *p = &params->items[i];
        for (size_t lane = 0; !p->trained && lane < task->lanes; lane++) {
            memset(task->gradients[lane] + p->offset, 0, model_param_size(p) * sizeof(float));
        }
    }
}

static double gradient_norm(const step_task *task, int workers)
{
    step_task copy = *task;
    clear_frozen(task);
    kern_parallel_run(workers, reduce_worker, &copy);
    double sum = 0;
    for (size_t c = 0; c < task->o->n_chunks; c++) {
        sum += task->o->chunk_sums[c];
    }
    return sqrt(sum);
}

/* ---- update --------------------------------------------------------------------------------- */

KERN_HOT static void update_range(const step_task *task, size_t begin, size_t end, float decay)
{
    const model_adamw *s = &task->o->settings;
    const float beta1 = (float)s->beta1;
    const float beta2 = (float)s->beta2;
    const float epsilon = (float)s->epsilon;
    const float factor = task->clip_factor;
    const float keep = 1.0F - task->rate * decay;
    const float step_size = task->step_size;
    const float scale = 1.0F / task->correction;
    float *restrict w = task->weights;
    float *restrict g = task->gradients[0];
    float *restrict m = task->o->m;
    float *restrict v = task->o->v;
    for (size_t i = begin; i < end; i++) {
        const float gi = g[i] * factor;
        const float mi = beta1 * m[i] + (1.0F - beta1) * gi;
        const float vi = beta2 * v[i] + (1.0F - beta2) * gi * gi;
        m[i] = mi;
        v[i] = vi;
        w[i] = keep * w[i] - step_size * mi / (sqrtf(vi) * scale + epsilon);
        g[i] = 0.0F;
    }
}

static void update_worker(void *context, int worker, int workers)
{
    const step_task *task = context;
    const model_params *params = task->o->params;
    const model_adamw *s = &task->o->settings;
    for (size_t i = 0; i < params->count; i++) {
        const model_param *p = &params->items[i];
        const bool decays = (p->rank >= 2 && !p->undecayed) || s->decay_vectors;
        size_t begin;
        size_t end;
        kern_parallel_share(model_param_size(p), 1024, worker, workers, &begin, &end);
        if (p->trained && begin < end) {
            update_range(task, p->offset + begin, p->offset + end,
                         decays ? (float)s->weight_decay : 0.0F);
        }
    }
}

kern_status model_optimizer_step(model_optimizer *o, float *weights, float *const *gradients,
                                 size_t lanes, double lr, int workers, double *norm,
                                 kern_error *err)
{
    const model_adamw *s = &o->settings;
    const double t = (double)(o->steps + 1);
    step_task task = {.o = o, .weights = weights, .gradients = gradients, .lanes = lanes};
    *norm = gradient_norm(&task, workers);
    if (!isfinite(*norm)) {
        /* The other lanes have been added to this one and are zero already. */
        memset(gradients[0], 0, o->params->length * sizeof(float));
        return kern_raise(err, KERN_NAN, "the gradient is not finite after %zu steps", o->steps);
    }
    const bool clipped = s->clip > 0.0 && *norm > s->clip;
    task.clip_factor = clipped ? (float)(s->clip / *norm) : 1.0F;
    task.rate = (float)lr;
    task.step_size = (float)(lr / (1.0 - pow(s->beta1, t)));
    task.correction = (float)sqrt(1.0 - pow(s->beta2, t));
    kern_parallel_run(workers, update_worker, &task);
    o->steps++;
    return KERN_OK;
}
