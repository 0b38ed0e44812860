/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Jobs: what runs in the slots of the explorer's background work (view_work.h), coarse results
 * first. A job has copies of all that it needs, or keeps it, and knows nothing of the view.
 */
#ifndef BASIN_VIEW_JOBS_H
#define BASIN_VIEW_JOBS_H

#include "viz/view/view_private.h"

/* What a job works on. */
typedef struct view_input {
    view_subject *subject;
    view_landscape *landscape; /* of the picture: NULL, to be made from the settings */
    view_settings s;
    int workers;
    size_t columns; /* of the picture: finer than this; 0: from the first sketch on */
    size_t steps;   /* of STEPS: fields of 0 to this one */
    double a, b;    /* of MEASURE */
} view_input;

/* Result of STEPS: fields by step, NULL where there is none yet. Those that could not be drawn stay
 * NULL. */
typedef struct view_step_set {
    view_picture *pictures[VIEW_CACHE_MAX];
} view_step_set;

/* Columns of the fields of STEPS. */
enum { VIEW_STEP_COLUMNS = 64 };

void view_step_set_release(void *set);

/* Columns of the finest strip (slot ORBIT) or basins (BASINS) of a landscape: those of the
 * settings, and at most 216 and 128, for tokens of more than 96 numbers 96 and 64, and from 256
 * numbers on 96 and 32. `coarse` (may be NULL): fewer than tokens of few numbers would have. */
size_t view_job_columns(size_t slot, const view_landscape *landscape, const view_settings *s,
                        bool *coarse);

/* Landmarks and the orbit strip are of the trained rate: their landscape is the one that the
 * settings would have at rate 1, so that the tokens before the chosen one are held where that leads
 * them. Another rate leaves both as they are. */

/* A task for slot `slot`, to be posted there. It keeps subject and landscape by itself. Results are
 * view_picture, view_measure (free), view_attention, view_landmarks (free), view_orbit, view_basins
 * and view_step_set, by slot. KERN_NO_MEMORY. */
kern_status view_job_make(view_task *out, size_t slot, const view_input *input, kern_error *err);

#endif
