/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a trained CEM does with its energies.
 *
 * cem-monotone: (property) none of the steps that its sub-layers take raises the token's energy.
 * The record holds the token's state at the input of a sub-layer, and the check takes the trained
 * number of steps of verify_cem_instance.h from there. A rise counts when it is larger than what
 * the energies before and after may be off by; each state is taken as computed, so that roundings
 * do not add up over steps.
 *
 * cem-engine: the first of these steps, and the energy before it, are those of the graph engine.
 * Both are off by what verify_cem_instance.h bounds; the engine's vectorised functions are as good
 * as the C library's to a few units in the last place, which the terms n there leave room for. So
 * the two are apart by at most twice that.
 */
#include "models/verify/verify_cem_run.h"
#include "models/verify/verify_table.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { STEPS_MAX = 1 << 12 };

#define BOTH (VERIFY_CEM_ATTN_PART | VERIFY_CEM_MLP_PART)

/* ---- the trained steps ------------------------------------------------------------------------
 */

static kern_status draw(const verify_subject *subject, kern_rng *rng, size_t trial,
                        verify_work *work, verify_record *record, kern_error *err)
{
    (void)rng;
    return verify_cem_draw_run(record, subject, BOTH, trial, false, work, err);
}

typedef struct walk {
    double largest; /* rise of a step, less what it may be off by */
    double rise;    /* of that step */
    double off;
    double rising; /* number of steps that rise */
} walk;

static void follow(verify_cem *q, verify_cem_point points[2], size_t steps, walk *w)
{
    *w = (walk){.largest = -HUGE_VAL};
    for (size_t t = 0; t < steps; t++) {
        verify_cem_point *from = &points[t % 2];
        verify_cem_point *to = &points[(t + 1) % 2];
        from->moved_rounding = 0.0;
        verify_cem_visit(q, from);
        verify_cem_step(q, from, to);
        const double rise = to->at.energy - from->at.energy;
        const double off = to->rounding + from->rounding;
        w->rising += rise <= off ? 0.0 : 1.0;
        if (!(rise - off <= w->largest)) {
            w->largest = rise - off;
            w->rise = rise;
            w->off = off;
        }
    }
}

static kern_status check_monotone(const verify_record *record, verify_work *work,
                                  verify_outcome *outcome, kern_error *err)
{
    verify_cem q;
    verify_cem_point points[2];
    size_t steps = 0;
    walk w;
    KERN_TRY(verify_cem_read(&q, record, work, err));
    KERN_TRY(verify_record_get_size(record, "steps", 1, STEPS_MAX, &steps, err));
    KERN_TRY(verify_cem_point_init(&points[0], &q, work, err));
    KERN_TRY(verify_cem_point_init(&points[1], &q, work, err));
    memcpy(points[0].x, q.x, q.width * sizeof *q.x);
    verify_cem_visit(&q, &points[0]);
    const double start = points[0].at.energy;
    follow(&q, points, steps, &w);
    outcome->left = w.rise;
    outcome->right = 0.0;
    outcome->tolerance = w.off;
    outcome->scale = 1.0 + fabs(start);
    const bool attention = q.kind == VERIFY_CEM_ATTENTION;
    const double rising = w.rising / (double)steps;
    verify_outcome_add(outcome, "rising", rising);
    verify_outcome_add(outcome, "rising_attn", attention ? rising : (double)NAN);
    verify_outcome_add(outcome, "rising_mlp", attention ? (double)NAN : rising);
    verify_outcome_add(outcome, "fall", start - points[steps % 2].at.energy);
    return KERN_OK;
}

const verify_claim verify_cem_monotone = {
    .name = "cem-monotone",
    .kind = VERIFY_PROPERTY,
    .needs = VERIFY_RUN,
    .statement = "None of the steps that the run's sub-layers take raises the energy of the token.",
    .source = "docs/theory.md, section 14: not guaranteed unless P = c diag(gamma)",
    .measured = "left: the largest rise of a step; right: 0",
    .trials = 512,
    .applies = verify_cem_applies,
    .draw = draw,
    .check = check_monotone,
};

/* ---- the engine -------------------------------------------------------------------------------
 */

static kern_status draw_engine(const verify_subject *subject, kern_rng *rng, size_t trial,
                               verify_work *work, verify_record *record, kern_error *err)
{
    (void)rng;
    return verify_cem_draw_run(record, subject, BOTH, trial, true, work, err);
}

static kern_status check_engine(const verify_record *record, verify_work *work,
                                verify_outcome *outcome, kern_error *err)
{
    verify_cem q;
    verify_cem_point from;
    verify_cem_point to;
    const double *next = NULL;
    double energy = 0.0;
    double square = 0.0;
    KERN_TRY(verify_cem_read(&q, record, work, err));
    KERN_TRY(verify_record_get(record, "engine_next", 1, q.width, &next, err));
    KERN_TRY(verify_record_get_number(record, "engine_energy", &energy, err));
    KERN_TRY(verify_cem_first_step(&q, &from, &to, work, err));
    for (size_t i = 0; i < q.width; i++) {
        square += (to.x[i] - next[i]) * (to.x[i] - next[i]);
    }
    outcome->left =
        fmax(sqrt(square) / to.moved_rounding, fabs(from.at.energy - energy) / from.rounding);
    outcome->left = isnan(square + energy) ? (double)NAN : outcome->left;
    outcome->right = 2.0;
    outcome->scale = 1.0;
    return KERN_OK;
}

const verify_claim verify_cem_engine = {
    .name = "cem-engine",
    .kind = VERIFY_THEOREM,
    .needs = VERIFY_RUN,
    .statement = "The steps and energies of the run's CEM sub-layers, as the graph engine computes "
                 "them, are those of the formulas that the claims about CEM check.",
    .source = "J. Xu et al. 2026 (arXiv 2605.07588); docs/theory.md, sections 13 to 16",
    .measured =
        "left: the larger difference of state and energy, over what one side may be off by; "
        "right: 2",
    .trials = 256,
    .applies = verify_cem_applies,
    .draw = draw_engine,
    .check = check_engine,
};
