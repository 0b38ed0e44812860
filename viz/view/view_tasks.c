/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What is computed when the settings change, and what becomes of it.
 */
#include "viz/view/view_jobs.h"
#include "viz/view/view_number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the trajectories of fields that are kept for scrubbing. */
#define CACHE_BYTES 0x1p28

/* ---- What a change touches ------------------------------------------------------------------- */

/* Where one looks counts only as far as the field follows it. */
static bool differ(const view *v, const view_settings *a, const view_settings *b, view_stage *stage)
{
    bool found = view_settings_differ(a, b, stage);
    if (view_field_step(v->subject, a) != view_field_step(v->subject, b) &&
        (!found || *stage > VIEW_STAGE_LANDSCAPE)) {
        *stage = VIEW_STAGE_LANDSCAPE;
        found = true;
    }
    return found;
}

static bool differ_up_to(const view *v, const view_settings *a, const view_settings *b,
                         view_stage most)
{
    view_stage stage;
    return differ(v, a, b, &stage) && stage <= most;
}

/* What follows orbits has a fineness of its own, which the settings bound; the others do not
 * depend on theirs. */
static bool is_finer(const view *v, size_t slot)
{
    const bool follows = slot == VIEW_SLOT_ORBIT || slot == VIEW_SLOT_BASINS;
    return follows && v->picture != NULL &&
           view_job_columns(slot, v->picture->landscape, &v->s, NULL) !=
               view_job_columns(slot, v->picture->landscape, &v->asked[slot], NULL);
}

/* Whether two settings follow the same trajectory to the same plane, wherever one looks at it. */
static bool same_path(const view *v, const view_settings *a, const view_settings *b)
{
    view_settings now = *b;
    now.columns = a->columns;
    now.levels = a->levels;
    now.follow = a->follow;
    now.step = a->step;
    return !differ_up_to(v, a, &now, VIEW_STAGE_LANDSCAPE);
}

/* Whether two settings have the same orbit strip and landmarks, but for the rates it covers: they
 * are of the trained rate and of the centre (view_jobs.h), whatever else is drawn. */
static bool same_rest(const view *v, const view_settings *a, const view_settings *b)
{
    view_settings now = *b;
    now.rate = a->rate;
    now.n_seeds = a->n_seeds;
    memcpy(now.seeds, a->seeds, sizeof now.seeds);
    now.n_also = a->n_also;
    memcpy(now.also, a->also, sizeof now.also);
    return same_path(v, a, &now);
}

/* Whether the settings ask of a slot's work other than what it was posted for. */
static bool is_outdated(const view *v, size_t slot)
{
    const view_settings *then = &v->asked[slot];
    view_settings now = v->s;
    if (is_finer(v, slot)) {
        return true;
    }
    now.columns = then->columns;
    now.levels = then->levels;
    switch (slot) {
    case VIEW_SLOT_ATTENTION:
        return !same_path(v, then, &now);
    case VIEW_SLOT_LANDMARKS:
        return !same_rest(v, then, &now);
    case VIEW_SLOT_ORBIT:
        return now.orbit_from != then->orbit_from || now.orbit_to != then->orbit_to ||
               now.continued != then->continued || !same_rest(v, then, &now);
    case VIEW_SLOT_STEPS:
        now.step = then->step;
        return differ_up_to(v, then, &now, VIEW_STAGE_FIELD);
    default:
        return differ_up_to(v, then, &now, VIEW_STAGE_FIELD);
    }
}

static bool is_wanted(const view *v, size_t slot)
{
    switch (slot) {
    case VIEW_SLOT_ATTENTION:
    case VIEW_SLOT_LANDMARKS:
        return true;
    case VIEW_SLOT_ORBIT:
        return v->s.orbit;
    case VIEW_SLOT_BASINS:
        return v->s.mode == VIEW_BASINS;
    case VIEW_SLOT_STEPS: /* where the fields of steps are not one */
        return v->s.follow && v->s.token != VIEW_ALL && !v->s.frozen;
    default:
        return false;
    }
}

/* ---- Colours --------------------------------------------------------------------------------- */

static void widen(view *v, const dyn_slice_field *field, bool *any)
{
    if (field->low <= field->high) { /* false without a finite energy */
        v->low = *any ? fmin(v->low, field->low) : field->low;
        v->high = *any ? fmax(v->high, field->high) : field->high;
        *any = true;
    }
}

/* The range of the fields of all steps, so that colours keep their meaning from one to the next;
 * else the picture's own. */
static void lock_colours(view *v)
{
    bool any = false;
    v->low = v->high = 0.0;
    for (size_t i = 0; v->s.follow && i < VIEW_CACHE_MAX; i++) {
        if (v->steps[i] != NULL) {
            widen(v, &v->steps[i]->field, &any);
        }
    }
    if (!any && v->picture != NULL) {
        widen(v, &v->picture->field, &any);
    }
}

void view_colours(const view *v, double *low, double *high)
{
    const bool set = v->s.low < v->s.high;
    *low = set ? v->s.low : v->low;
    *high = set ? v->s.high : v->high;
}

/* ---- Posting --------------------------------------------------------------------------------- */

static void post(view *v, size_t slot, const view_input *input)
{
    kern_error why = {0};
    view_task task;
    if (view_job_make(&task, slot, input, &why) != KERN_OK) {
        view_say(v, true, "%s", why.text);
        return;
    }
    view_work_post(v->work, slot, &task);
    v->asked[slot] = v->s;
    v->has_asked[slot] = true;
    v->pending[slot] = true;
}

static void show_picture(view *v, view_picture *picture)
{
    view_picture_release(v->picture);
    v->picture = picture;
    v->awaiting = false;
    lock_colours(v);
    view_refresh(v);
}

static void forget_steps(view *v)
{
    for (size_t i = 0; i < VIEW_CACHE_MAX; i++) {
        view_picture_release(v->steps[i]);
        v->steps[i] = NULL;
    }
}

/* What stood at a place, or was found at a state, of another landscape. A change of range or
 * fineness leaves it true. */
static void forget_findings(view *v)
{
    view_settings now = v->s;
    now.pin = v->shown.pin; /* pinned or not, they stay until others are there */
    if (differ_up_to(v, &v->shown, &v->s, VIEW_STAGE_LANDSCAPE)) {
        v->has_measure = false;
        view_basins_destroy(v->basins);
        v->basins = NULL;
        v->has_asked[VIEW_SLOT_BASINS] = false;
    }
    if (!same_rest(v, &v->shown, &now)) {
        v->has_landmarks = false;
        v->has_asked[VIEW_SLOT_LANDMARKS] = false;
        view_orbit_destroy(v->orbit);
        v->orbit = NULL;
        v->has_asked[VIEW_SLOT_ORBIT] = false;
    }
}

/* A landscape has its range and levels of contours in it, but not the field's fineness. */
static bool keeps_landscape(const view *v)
{
    view_settings now = v->s;
    now.columns = v->shown.columns;
    return v->posted && v->picture != NULL && !v->awaiting &&
           !differ_up_to(v, &v->shown, &now, VIEW_STAGE_FIELD);
}

static void post_picture(view *v)
{
    view_input input = {.subject = v->subject, .s = v->s, .workers = v->workers};
    view_settings now = v->s;
    now.step = v->shown.step;
    now.columns = v->shown.columns;
    if (v->posted && differ_up_to(v, &v->shown, &now, VIEW_STAGE_FIELD)) {
        forget_steps(v);
        v->has_asked[VIEW_SLOT_STEPS] = false;
    }
    if (v->posted) {
        forget_findings(v);
    }
    const size_t step = v->s.step;
    view_picture *cached = v->s.follow && step < VIEW_CACHE_MAX ? v->steps[step] : NULL;
    const bool keeps = keeps_landscape(v);
    v->broken = (kern_error){0};
    if (keeps) {
        input.landscape = v->picture->landscape;
    } else if (cached != NULL) {
        input.landscape = cached->landscape;
        input.columns = VIEW_STEP_COLUMNS;
        show_picture(v, view_picture_keep(cached));
    } else {
        v->awaiting = true;
    }
    post(v, VIEW_SLOT_PICTURE, &input);
}

/* The last step whose field is kept: each has a trajectory of its own, and all together no more
 * than CACHE_BYTES. */
static size_t last_cached(const view *v)
{
    const size_t last = view_last_step(v->subject, &v->s);
    const double path = (double)(last + 1) * (double)v->subject->map->size * sizeof(double);
    const double paths = (double)(v->s.n_seeds + 1) * (v->s.ghost ? 2.0 : 1.0);
    const double room = CACHE_BYTES / (path * paths);
    return room < (double)last ? (size_t)room : last;
}

/* What is drawn beside the picture, on the landscape of the picture. */
static void post_others(view *v)
{
    static const size_t slots[] = {VIEW_SLOT_ATTENTION, VIEW_SLOT_LANDMARKS, VIEW_SLOT_ORBIT,
                                   VIEW_SLOT_BASINS, VIEW_SLOT_STEPS};
    const bool ready = v->picture != NULL && !v->awaiting;
    for (size_t i = 0; i < sizeof slots / sizeof *slots; i++) {
        const size_t slot = slots[i];
        const bool idle = view_work_state(v->work, slot) == VIEW_SLOT_IDLE;
        const bool wanted = is_wanted(v, slot);
        const bool outdated = !v->has_asked[slot] || is_outdated(v, slot);
        if (!idle && (!wanted || outdated)) {
            view_work_drop(v->work, slot);
            v->pending[slot] = false;
            v->has_asked[slot] = false;
        }
        if (wanted && outdated && ready) {
            const view_input input = {.subject = v->subject,
                                      .landscape = v->picture->landscape,
                                      .s = v->s,
                                      .workers = v->workers,
                                      .steps = last_cached(v)};
            post(v, slot, &input);
        }
    }
}

void view_tasks_post(view *v)
{
    if (v->subject == NULL) {
        return;
    }
    if (!v->posted || differ_up_to(v, &v->shown, &v->s, VIEW_STAGE_FIELD)) {
        post_picture(v);
    }
    v->shown = v->s;
    v->posted = true;
    lock_colours(v);
    post_others(v);
    v->stale = true;
}

kern_status view_tasks_measure(view *v, double a, double b, kern_error *err)
{
    if (v->picture == NULL || v->awaiting) {
        return kern_raise(err, KERN_NOT_FOUND, "there is no picture yet to measure on");
    }
    const view_input input = {.subject = v->subject,
                              .landscape = v->picture->landscape,
                              .s = v->s,
                              .workers = v->workers,
                              .a = a,
                              .b = b};
    post(v, VIEW_SLOT_MEASURE, &input);
    return KERN_OK;
}

const view_attention *view_tasks_attention(const view *v)
{
    const view_attention *a = v->attention;
    const bool there = a != NULL && v->subject != NULL && v->picture != NULL &&
                       v->picture->landscape->subject == v->subject;
    return there && same_path(v, &a->settings, &v->picture->landscape->settings) ? a : NULL;
}

/* ---- Taking ---------------------------------------------------------------------------------- */

static void take_measure(view *v, void *result)
{
    v->measure = *(view_measure *)result;
    v->has_measure = true;
    free(result);
    const view_measure *m = &v->measure;
    char at[2][VIEW_NUMBER];
    char energy[VIEW_NUMBER];
    char curved[2][VIEW_NUMBER];
    char apart[VIEW_NUMBER];
    if (v->picture != NULL && !dyn_plane_has(v->picture->landscape->plane, m->a, m->b)) {
        view_say(v, false, "(%s, %s) is outside of the chart and has no state",
                 view_number(at[0], 4, m->a), view_number(at[1], 4, m->b));
        return;
    }
    if (isfinite(m->energy) && !isfinite(m->uncertainty)) {
        view_say(v, false,
                 "at (%s, %s): E = %s; the chart stretches too much there to tell gradient and "
                 "curvatures",
                 view_number(at[0], 4, m->a), view_number(at[1], 4, m->b),
                 view_number(energy, 8, m->energy));
        return;
    }
    view_say(v, false,
             "at (%s, %s): E = %s, |\xe2\x88\x87"
             "E| = %.4g, curvatures %s and %s "
             "\xc2\xb1 %s",
             view_number(at[0], 4, m->a), view_number(at[1], 4, m->b),
             view_number(energy, 8, m->energy), m->gradient,
             view_number(curved[0], 4, m->curvature[0]), view_number(curved[1], 4, m->curvature[1]),
             view_number(apart, 1, m->uncertainty));
}

static void take_attention(view *v, void *result)
{
    view_attention_destroy(v->attention);
    v->attention = result;
}

static void take_landmarks(view *v, void *result)
{
    v->landmarks = *(view_landmarks *)result;
    v->has_landmarks = true;
    free(result);
}

/* Says once it is complete when it is coarser than those of tokens of few numbers. */
static void say_coarse(view *v, size_t slot, size_t columns, const char *what)
{
    bool coarse = false;
    if (v->picture == NULL) {
        return;
    }
    const view_landscape *l = v->picture->landscape;
    const size_t most = view_job_columns(slot, l, &v->s, &coarse);
    if (coarse && columns == most && !v->failed) {
        view_say(v, false, "%s, a coarse one: %zu columns for tokens of %zu numbers", what, columns,
                 l->plane->block_width);
    }
}

static void take_orbit(view *v, void *result)
{
    view_orbit_destroy(v->orbit);
    v->orbit = result;
    v->n_orbits++;
    if (v->orbit->done == v->orbit->columns) {
        say_coarse(v, VIEW_SLOT_ORBIT, v->orbit->columns, "the orbit strip is there");
    }
}

static void take_basins(view *v, void *result)
{
    view_basins_destroy(v->basins);
    v->basins = result;
    v->n_basins++;
    say_coarse(v, VIEW_SLOT_BASINS, v->basins->lattice.nx, "the map of basins is there");
}

static void take_picture(view *v, void *result)
{
    show_picture(v, result);
}

static void take_steps(view *v, void *result)
{
    view_step_set *set = result;
    forget_steps(v);
    memcpy(v->steps, set->pictures, sizeof v->steps);
    free(set);
    lock_colours(v);
}

/* Tells how a slot's task ended, once. */
static bool take_outcome(view *v, size_t slot)
{
    kern_error why = {0};
    if (!v->pending[slot] || view_work_state(v->work, slot) != VIEW_SLOT_IDLE) {
        return false;
    }
    v->pending[slot] = false;
    const kern_status status = view_work_outcome(v->work, slot, &why);
    if (status == KERN_OK || status == KERN_INTERRUPTED) {
        return true;
    }
    if (slot == VIEW_SLOT_LANDMARKS) { /* nobody has asked for them in particular */
        v->landmarks = (view_landmarks){.found = false};
        (void)snprintf(v->landmarks.why, sizeof v->landmarks.why, "%.255s", why.text);
        v->has_landmarks = true;
    } else if (slot == VIEW_SLOT_PICTURE) {
        v->broken = why;
        if (v->picture == NULL) {
            view_say(v, true, "nothing can be drawn: %s", why.text);
        } else {
            view_say(v, true,
                     "the picture is that of the settings before: %s; undo takes the change "
                     "back",
                     why.text);
        }
    } else {
        view_say(v, true, "%s", why.text);
    }
    return true;
}

bool view_tasks_take(view *v)
{
    static void (*const takers[VIEW_SLOTS])(view *, void *) = {
        [VIEW_SLOT_PICTURE] = take_picture,     [VIEW_SLOT_MEASURE] = take_measure,
        [VIEW_SLOT_ATTENTION] = take_attention, [VIEW_SLOT_LANDMARKS] = take_landmarks,
        [VIEW_SLOT_ORBIT] = take_orbit,         [VIEW_SLOT_BASINS] = take_basins,
        [VIEW_SLOT_STEPS] = take_steps};
    bool changed = false;
    for (size_t slot = 0; slot < VIEW_SLOTS; slot++) {
        /* The outcome first: a task that ends in between has its result taken with the next. */
        const bool ended = take_outcome(v, slot);
        void *result = view_work_take(v->work, slot);
        if (result != NULL) {
            takers[slot](v, result);
        }
        changed = changed || ended || result != NULL;
    }
    if (changed && v->subject != NULL) {
        post_others(v);
    }
    v->stale = v->stale || changed;
    return changed;
}
