/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/verify/verify_report.h"

#include "dyn/dyn_scan.h"
#include "kernels/kern_arena.h"
#include "models/model_trace.h"
#include "models/verify/verify_nrgpt_instance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a report owns. */
typedef struct report_memory {
    kern_arena arena;
} report_memory;

/* ---- η and γ -------------------------------------------------------------------------------- */

static void look_at_gamma(verify_report *r, const verify_subject *subject)
{
    r->gamma_least = subject->gamma[0];
    r->gamma_greatest = subject->gamma[0];
    for (size_t i = 0; i < subject->width; i++) {
        const double gamma = subject->gamma[i];
        r->gamma_least = fmin(r->gamma_least, gamma);
        r->gamma_greatest = fmax(r->gamma_greatest, gamma);
        r->gamma_zeros += gamma == 0.0;
        r->gamma_negative += gamma < 0.0;
    }
}

/* The channels of largest share, by selection: there are few. */
static void rank_channels(verify_report *r, size_t width)
{
    const double *share = r->certificate.share;
    while (r->n_channels < VERIFY_REPORT_CHANNELS && r->n_channels < width) {
        size_t best = width;
        for (size_t i = 0; i < width; i++) {
            bool taken = false;
            for (size_t k = 0; k < r->n_channels; k++) {
                taken = taken || r->channels[k] == i;
            }
            if (!taken && (best == width || share[i] > share[best])) {
                best = i;
            }
        }
        if (!(share[best] > 0.0)) {
            return;
        }
        r->channels[r->n_channels++] = best;
    }
}

static kern_status decide(verify_report *r, const verify_subject *subject, kern_error *err)
{
    kern_arena *arena = &((report_memory *)r->memory)->arena;
    const size_t d = subject->width;
    const dyn_descent_system system = {.width = d,
                                       .centre = subject->m->config.norm == MODEL_LAYERNORM,
                                       .epsilon = subject->m->config.norm_eps,
                                       .gamma = subject->gamma,
                                       .eta = subject->eta,
                                       .unit = 0x1p-24}; /* weights are stored as f32 */
    dyn_descent_certificate *c = &r->certificate;
    c->b = kern_arena_calloc(arena, d, sizeof(double));
    c->x = kern_arena_calloc(arena, d, sizeof(double));
    c->v = kern_arena_calloc(arena, d, sizeof(double));
    c->share = kern_arena_calloc(arena, d, sizeof(double));
    void *work = kern_arena_alloc(arena, dyn_descent_work_size(d), 1);
    KERN_TRY(dyn_descent_decide(&system, work, c, err));
    rank_channels(r, d);
    return KERN_OK;
}

/* ---- orbits --------------------------------------------------------------------------------- */

static void count_changes(verify_report *r, const model_trace *trace)
{
    for (size_t token = 0; token < trace->tokens; token++) {
        for (size_t t = 0; t < trace->steps; t++) {
            const size_t at = token * trace->steps + t;
            if (!isfinite(trace->actual_change[at])) {
                continue;
            }
            const size_t rises = trace->rising[at] ? 1 : 0;
            r->pairs++;
            r->rising += rises;
            r->first_pairs += token == 0;
            r->first_rising += token == 0 ? rises : 0;
            r->late_pairs += t >= trace->trained_steps;
            r->late_rising += t >= trace->trained_steps ? rises : 0;
        }
    }
}

static kern_status look_at_orbits(verify_report *r, const verify_subject *subject, kern_error *err)
{
    size_t tokens = 0;
    r->steps = subject->steps;
    for (size_t i = 0; i < subject->n_prompts; i++) {
        const verify_prompt *p = &subject->prompts[i];
        model_trace *trace = NULL;
        KERN_TRY(model_trace_create(&trace, subject->m, p->ids, p->tokens, subject->steps, err));
        count_changes(r, trace);
        for (size_t k = 0; k < trace->tokens; k++) {
            r->sigma_first += trace->sigma[k * (trace->steps + 1)];
            r->sigma_last += trace->sigma[k * (trace->steps + 1) + trace->steps];
        }
        tokens += trace->tokens;
        model_trace_destroy(trace);
    }
    r->sigma_first /= (double)tokens;
    r->sigma_last /= (double)tokens;
    return KERN_OK;
}

/* ---- reach of the step bound ---------------------------------------------------------------- */

typedef struct reach_lane {
    verify_work work;
    verify_record record;
} reach_lane;

typedef struct reach_job {
    const verify_subject *subject;
    verify_report *report;
    uint64_t seed;
    reach_lane *lanes;
    int n_lanes;
} reach_job;

/* State `item`: a random token of a prompt on one of the trained steps. */
static kern_status draw_state(const reach_job *job, reach_lane *lane, size_t item, kern_error *err)
{
    const verify_subject *s = job->subject;
    kern_rng *rng = kern_rng_create(job->seed, "verify-report", item);
    if (rng == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a random stream");
    }
    const size_t prompt = item % s->n_prompts;
    const size_t token = kern_rng_below(rng, (uint32_t)s->prompts[prompt].tokens);
    const size_t step = kern_rng_below(rng, (uint32_t)(s->steps / 2 + 1));
    kern_rng_destroy(rng);
    verify_work_reset(&lane->work);
    verify_record_reset(&lane->record);
    return verify_nrgpt_put_run(&lane->record, s, prompt, step, token, &lane->work, err);
}

static kern_status find_reach(void *context, dyn_map *map, int worker, size_t item, kern_error *err)
{
    const reach_job *job = context;
    reach_lane *lane = &job->lanes[worker];
    (void)map;
    KERN_TRY(draw_state(job, lane, item, err));
    verify_work_reset(&lane->work);
    return verify_descent_find_reach(&lane->record, &job->report->reaches[item], &lane->work, err);
}

/* The curve around the state of smallest reach: from a hundredth of where it is covered to ten
 * times where it rises, or to the last size looked at. */
static kern_status draw_curve(reach_job *job, kern_error *err)
{
    verify_report *r = job->report;
    reach_lane *lane = &job->lanes[0];
    for (size_t i = 1; i < r->n_reaches; i++) {
        r->curve_state =
            r->reaches[i].rises < r->reaches[r->curve_state].rises ? i : r->curve_state;
    }
    const verify_descent_reach *reach = &r->reaches[r->curve_state];
    const double high = isfinite(reach->rises) ? 10.0 * reach->rises : reach->limit;
    double low = isfinite(reach->covered) ? 0.1 * reach->covered : 1e-3 * high;
    low = r->step > 0.0 ? fmin(low, 0.5 * r->step) : low;
    for (size_t i = 0; i < VERIFY_REPORT_CURVE; i++) {
        r->c[i] = low * pow(fmax(high, 2.0 * r->step) / low,
                            (double)i / (double)(VERIFY_REPORT_CURVE - 1));
    }
    KERN_TRY(draw_state(job, lane, r->curve_state, err));
    verify_work_reset(&lane->work);
    return verify_descent_curve(&lane->record, VERIFY_REPORT_CURVE, r->c, r->curve, &lane->work,
                                err);
}

static void count_reaches(verify_report *r)
{
    for (size_t i = 0; i < r->n_reaches; i++) {
        r->n_covered += r->step <= r->reaches[i].covered;
        r->n_never += isinf(r->reaches[i].rises) != 0;
    }
}

static kern_status look_at_reach(verify_report *r, const verify_subject *subject,
                                 const verify_report_options *o, kern_error *err)
{
    r->step = r->certificate.c;
    r->no_reach = verify_nrgpt_applies(subject);
    if (r->no_reach != NULL) {
        return KERN_OK;
    }
    reach_job job = {.subject = subject, .report = r, .seed = o->seed};
    const dyn_scan_options scan = {.items = VERIFY_REPORT_REACHES, .workers = o->workers};
    job.n_lanes = dyn_scan_workers(&scan);
    job.lanes = calloc((size_t)job.n_lanes, sizeof *job.lanes);
    if (job.lanes == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a report");
    }
    kern_status status = dyn_scan_run(NULL, &scan, find_reach, &job, err);
    if (status == KERN_OK) {
        r->n_reaches = VERIFY_REPORT_REACHES;
        count_reaches(r);
        status = draw_curve(&job, err);
    }
    for (int i = 0; i < job.n_lanes; i++) {
        verify_work_fini(&job.lanes[i].work);
        verify_record_fini(&job.lanes[i].record);
    }
    free(job.lanes);
    return status;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static kern_status build(verify_report *r, const verify_subject *subject,
                         const verify_report_options *options, kern_error *err)
{
    const size_t d = subject->width;
    report_memory *memory = calloc(1, sizeof *memory);
    if (memory == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a report");
    }
    r->memory = memory;
    KERN_TRY(kern_arena_init(&memory->arena,
                             4 * kern_arena_cost(d, sizeof(double)) +
                                 kern_arena_cost(dyn_descent_work_size(d), 1),
                             err));
    look_at_gamma(r, subject);
    KERN_TRY(decide(r, subject, err));
    KERN_TRY(look_at_orbits(r, subject, err));
    return look_at_reach(r, subject, options, err);
}

kern_status verify_report_create(verify_report **out, const verify_subject *subject,
                                 const verify_report_options *options, kern_error *err)
{
    *out = NULL;
    if (subject->eta == NULL) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a report is on an NRGPT, and the run is of family %s",
                          model_config_family_name(&subject->m->config));
    }
    verify_report *r = calloc(1, sizeof *r);
    if (r == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a report");
    }
    const kern_status status = build(r, subject, options, err);
    if (status != KERN_OK) {
        verify_report_destroy(r);
        return status;
    }
    *out = r;
    return KERN_OK;
}

void verify_report_destroy(verify_report *report)
{
    if (report == NULL) {
        return;
    }
    report_memory *memory = report->memory;
    if (memory != NULL) {
        kern_arena_fini(&memory->arena);
        free(memory);
    }
    free(report);
}

kern_status verify_report_project(model **out, const model *m, double c, kern_error *err)
{
    model_config config = m->config;
    *out = NULL;
    if (config.family != MODEL_NRGPT) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "only an NRGPT has an η, and the run is of family %s",
                          model_config_family_name(&config));
    }
    config.eta = MODEL_ETA_GAMMA;
    KERN_TRY(model_create(out, &config, m->backend, err));
    for (size_t i = 0; i < (*out)->params.count; i++) {
        const model_param *to = &(*out)->params.items[i];
        const model_param *from = model_params_find(&m->params, to->name);
        const bool is_eta = strcmp(to->name, "blocks.eta") == 0;
        for (size_t k = 0; k < model_param_size(to); k++) {
            model_value_set(*out, to->offset + k,
                            is_eta || from == NULL ? c : model_value_get(m, from->offset + k));
        }
    }
    return KERN_OK;
}
