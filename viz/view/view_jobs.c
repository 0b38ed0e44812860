/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/view/view_jobs.h"

#include <stdlib.h>

/* Finenesses of basins, coarse first. */
static const size_t basin_columns[] = {32, 64, 128};

/* Columns of what follows orbits, by the numbers of a token: a step costs about their square, and a
 * strip or a map of basins should stand within a minute. */
typedef struct fineness {
    size_t width; /* tokens of more numbers than this */
    size_t basins, orbit;
} fineness;

static const fineness finenesses[] = {{255, 32, 96}, {96, 64, 96}, {0, 128, 216}};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static const fineness *fineness_of(const view_landscape *landscape)
{
    const fineness *f = finenesses;
    while (landscape->plane->block_width <= f->width) {
        f++;
    }
    return f;
}

size_t view_job_columns(size_t slot, const view_landscape *landscape, const view_settings *s,
                        bool *coarse)
{
    const fineness *f = fineness_of(landscape);
    const fineness *finest = &finenesses[sizeof finenesses / sizeof *finenesses - 1];
    const size_t most = slot == VIEW_SLOT_ORBIT ? f->orbit : f->basins;
    const size_t wanted = slot == VIEW_SLOT_ORBIT ? finest->orbit : finest->basins;
    if (coarse != NULL) {
        *coarse = most < least(wanted, s->columns);
    }
    return least(most, s->columns);
}

typedef struct job {
    view_input in;
    view_picture *pictures[VIEW_CACHE_MAX]; /* of STEPS: done; a job that is begun anew goes on */
    size_t done;
} job;

static bool goes_on(void *turn, size_t done, size_t total)
{
    (void)done;
    (void)total;
    return !view_work_cancelled(turn);
}

static kern_status stopped(kern_error *err)
{
    return kern_raise(err, KERN_INTERRUPTED, "the work is not wanted any more");
}

static kern_status no_memory(kern_error *err)
{
    return kern_raise(err, KERN_NO_MEMORY, "no memory for what is to be shown");
}

/* ---- Pictures -------------------------------------------------------------------------------- */

static void release_picture(void *picture)
{
    view_picture_release(picture);
}

static kern_status emit_picture(view_landscape *landscape, const view_grain *grain, view_turn *turn,
                                kern_error *err)
{
    view_picture *picture = NULL;
    KERN_TRY(view_picture_create(&picture, landscape, grain, goes_on, turn, err));
    view_work_emit(turn, picture, release_picture);
    return KERN_OK;
}

/* Sketches of doubling fineness, then the field itself in double precision. */
static kern_status emit_pictures(const view_input *in, view_landscape *landscape, view_turn *turn,
                                 kern_error *err)
{
    view_grain grain = {.sketch = true, .workers = in->workers};
    for (size_t level = 0; level + 1 < DYN_SLICE_LEVELS; level++) {
        size_t rows;
        dyn_slice_level(level, &grain.columns, &rows);
        if (grain.columns > in->columns && grain.columns < in->s.columns) {
            KERN_TRY(emit_picture(landscape, &grain, turn, err));
        }
    }
    grain.columns = in->s.columns;
    grain.sketch = false;
    return emit_picture(landscape, &grain, turn, err);
}

static kern_status run_picture(void *context, view_turn *turn, kern_error *err)
{
    const view_input *in = &((job *)context)->in;
    view_landscape *landscape = NULL;
    if (in->landscape != NULL) {
        landscape = view_landscape_keep(in->landscape);
    } else {
        KERN_TRY(view_landscape_create(&landscape, in->subject, &in->s, in->workers,
                                       view_work_cancelled, turn, err));
    }
    const kern_status status = emit_pictures(in, landscape, turn, err);
    view_landscape_release(landscape);
    return status;
}

/* ---- Fields of all steps --------------------------------------------------------------------- */

void view_step_set_release(void *set)
{
    view_step_set *steps = set;
    if (steps != NULL) {
        for (size_t i = 0; i < VIEW_CACHE_MAX; i++) {
            view_picture_release(steps->pictures[i]);
        }
    }
    free(steps);
}

static kern_status draw_step(job *j, size_t step, view_turn *turn, kern_error *err)
{
    const view_input *in = &j->in;
    view_settings s = in->s;
    const view_grain grain = {.columns = VIEW_STEP_COLUMNS, .sketch = true, .workers = in->workers};
    view_landscape *landscape = NULL;
    s.step = step;
    KERN_TRY(view_landscape_create(&landscape, in->subject, &s, in->workers, view_work_cancelled,
                                   turn, err));
    const kern_status status =
        view_picture_create(&j->pictures[step], landscape, &grain, goes_on, turn, err);
    view_landscape_release(landscape);
    return status;
}

/* Hands over all that is done, since a result takes the place of the one before. */
static kern_status emit_steps(const job *j, view_turn *turn, kern_error *err)
{
    view_step_set *set = calloc(1, sizeof *set);
    if (set == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < j->done; i++) {
        set->pictures[i] = j->pictures[i] != NULL ? view_picture_keep(j->pictures[i]) : NULL;
    }
    view_work_emit(turn, set, view_step_set_release);
    return KERN_OK;
}

static kern_status run_steps(void *context, view_turn *turn, kern_error *err)
{
    job *j = context;
    while (j->done <= j->in.steps && j->done < VIEW_CACHE_MAX) {
        if (view_work_cancelled(turn)) {
            return stopped(err);
        }
        /* A step without a plane of its own is told of when it is looked at. */
        const kern_status status = draw_step(j, j->done, turn, err);
        if (status == KERN_INTERRUPTED || status == KERN_NO_MEMORY) {
            return status;
        }
        j->done++;
        KERN_TRY(emit_steps(j, turn, err));
    }
    return KERN_OK;
}

/* ---- Others ---------------------------------------------------------------------------------- */

static kern_status run_measure(void *context, view_turn *turn, kern_error *err)
{
    const view_input *in = &((job *)context)->in;
    view_measure *measure = calloc(1, sizeof *measure);
    if (measure == NULL) {
        return no_memory(err);
    }
    view_measure_at(measure, in->landscape, 0, in->a, in->b);
    view_work_emit(turn, measure, free);
    return KERN_OK;
}

/* The landscape at the trained rate, kept for the caller. */
static kern_status keep_trained(view_landscape **out, const view_input *in, view_turn *turn,
                                kern_error *err)
{
    view_settings s = in->s;
    const view_landscape *shown = in->landscape;
    if (shown->settings.rate == 1.0 && shown->held_at == shown->at) {
        *out = view_landscape_keep(in->landscape);
        return KERN_OK;
    }
    s.rate = 1.0;
    s.follow = false;
    s.n_seeds = s.n_also = 0;
    return view_landscape_create(out, in->subject, &s, in->workers, view_work_cancelled, turn, err);
}

static kern_status run_landmarks(void *context, view_turn *turn, kern_error *err)
{
    const view_input *in = &((job *)context)->in;
    view_landscape *landscape = NULL;
    view_landmarks *landmarks = calloc(1, sizeof *landmarks);
    if (landmarks == NULL) {
        return no_memory(err);
    }
    kern_status status = keep_trained(&landscape, in, turn, err);
    if (status == KERN_OK) {
        status = view_landmarks_find(landmarks, landscape, view_work_cancelled, turn, err);
        view_landscape_release(landscape);
    }
    if (status != KERN_OK) {
        free(landmarks);
        return status;
    }
    view_work_emit(turn, landmarks, free);
    return KERN_OK;
}

static void release_attention(void *attention)
{
    view_attention_destroy(attention);
}

static kern_status run_attention(void *context, view_turn *turn, kern_error *err)
{
    const view_input *in = &((job *)context)->in;
    view_attention *attention = NULL;
    KERN_TRY(view_attention_create(&attention, in->landscape, view_work_cancelled, turn, err));
    view_work_emit(turn, attention, release_attention);
    return KERN_OK;
}

static void release_orbit(void *orbit)
{
    view_orbit_destroy(orbit);
}

static void emit_orbit(void *turn, view_orbit *partial)
{
    view_work_emit(turn, partial, release_orbit);
}

static kern_status run_orbit(void *context, view_turn *turn, kern_error *err)
{
    const view_input *in = &((job *)context)->in;
    const view_orbit_options options = {
        .from = in->s.orbit_from,
        .to = in->s.orbit_to,
        .follow = in->s.continued,
        .columns = view_job_columns(VIEW_SLOT_ORBIT, in->landscape, &in->s, NULL),
        .workers = in->workers,
        .cancelled = view_work_cancelled,
        .emit = emit_orbit,
        .context = turn};
    view_orbit *orbit = NULL;
    view_landscape *landscape = NULL;
    KERN_TRY(keep_trained(&landscape, in, turn, err));
    const kern_status status = view_orbit_create(&orbit, landscape, &options, err);
    view_landscape_release(landscape);
    if (status == KERN_OK) {
        view_work_emit(turn, orbit, release_orbit);
    }
    return status;
}

static void release_basins(void *basins)
{
    view_basins_destroy(basins);
}

static kern_status run_basins(void *context, view_turn *turn, kern_error *err)
{
    const view_input *in = &((job *)context)->in;
    const size_t finest = view_job_columns(VIEW_SLOT_BASINS, in->landscape, &in->s, NULL);
    size_t columns = 0;
    for (size_t i = 0; i < sizeof basin_columns / sizeof *basin_columns && columns < finest; i++) {
        view_basins *basins = NULL;
        columns = least(basin_columns[i], finest);
        KERN_TRY(view_basins_create(&basins, in->landscape, columns, in->workers,
                                    view_work_cancelled, turn, err));
        view_work_emit(turn, basins, release_basins);
    }
    return KERN_OK;
}

/* ---- Making ---------------------------------------------------------------------------------- */

static void release_job(void *context)
{
    job *j = context;
    for (size_t i = 0; i < VIEW_CACHE_MAX; i++) {
        view_picture_release(j->pictures[i]);
    }
    view_landscape_release(j->in.landscape);
    view_subject_release(j->in.subject);
    free(j);
}

kern_status view_job_make(view_task *out, size_t slot, const view_input *input, kern_error *err)
{
    static kern_status (*const runs[VIEW_SLOTS])(void *, view_turn *, kern_error *) = {
        [VIEW_SLOT_PICTURE] = run_picture,     [VIEW_SLOT_MEASURE] = run_measure,
        [VIEW_SLOT_ATTENTION] = run_attention, [VIEW_SLOT_LANDMARKS] = run_landmarks,
        [VIEW_SLOT_ORBIT] = run_orbit,         [VIEW_SLOT_BASINS] = run_basins,
        [VIEW_SLOT_STEPS] = run_steps};
    job *j = calloc(1, sizeof *j);
    if (j == NULL) {
        return no_memory(err);
    }
    j->in = *input;
    (void)view_subject_keep(input->subject);
    if (input->landscape != NULL) {
        (void)view_landscape_keep(input->landscape);
    }
    *out = (view_task){.run = runs[slot], .release = release_job, .context = j};
    return KERN_OK;
}
