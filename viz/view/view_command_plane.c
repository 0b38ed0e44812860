/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Commands about the plane, and what part of it is drawn.
 */
#include "viz/view/view_command_runs.h"

#include "viz/view/view_number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Radians of a degree. */
#define DEGREE 0.017453292519943295

#define ZOOM_MAX 1e6

/* The range that is asked for; where that is left to the trajectory, the picture's. */
static kern_status range_now(const view *v, double range[4], kern_error *err)
{
    const double *asked = v->s.range;
    if (asked[0] < asked[1] && asked[2] < asked[3]) {
        memcpy(range, asked, 4 * sizeof *range);
        return KERN_OK;
    }
    if (v->picture == NULL) {
        return kern_raise(err, KERN_NOT_FOUND, "there is no picture yet whose range could change");
    }
    const dyn_slice_range *r = &v->picture->landscape->range;
    range[0] = r->a_low;
    range[1] = r->a_high;
    range[2] = r->b_low;
    range[3] = r->b_high;
    return KERN_OK;
}

static kern_status set_range(view *v, const double range[4], const char *command, kern_error *err)
{
    view_settings s = v->s;
    const double *r = range;
    /* NaN and infinity fail as well. */
    if (!(r[1] - r[0] > 0.0 && r[3] - r[2] > 0.0 && r[1] - r[0] <= 1e300 && r[3] - r[2] <= 1e300)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "%s leaves nothing that could be drawn",
                          command);
    }
    memcpy(s.range, range, sizeof s.range);
    KERN_TRY(view_change(v, &s, "range", err));
    char ends[4][VIEW_NUMBER];
    for (size_t i = 0; i < 4; i++) {
        (void)view_number(ends[i], 4, r[i]);
    }
    view_say(v, false, "range is %s to %s and %s to %s", ends[0], ends[1], ends[2], ends[3]);
    return KERN_OK;
}

kern_status view_run_zoom(view *v, const char *arguments, kern_error *err)
{
    double factor;
    double range[4] = {0};
    KERN_TRY(view_args_reals(&factor, 1, "the factor", arguments, err));
    if (!(factor >= 1.0 / ZOOM_MAX && factor <= ZOOM_MAX)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the factor is %g; accepted are %g to %g, and above 1 is nearer", factor,
                          1.0 / ZOOM_MAX, ZOOM_MAX);
    }
    KERN_TRY(range_now(v, range, err));
    for (size_t i = 0; i < 4; i += 2) {
        const double middle = 0.5 * (range[i] + range[i + 1]);
        const double half = 0.5 * (range[i + 1] - range[i]) / factor;
        range[i] = middle - half;
        range[i + 1] = middle + half;
    }
    return set_range(v, range, "zoom", err);
}

kern_status view_run_pan(view *v, const char *arguments, kern_error *err)
{
    double by[2];
    double range[4] = {0};
    KERN_TRY(view_args_reals(by, 2, "the way along both axes", arguments, err));
    KERN_TRY(range_now(v, range, err));
    for (size_t i = 0; i < 4; i++) {
        range[i] += by[i / 2];
    }
    return set_range(v, range, "pan", err);
}

kern_status view_run_fit(view *v, const char *arguments, kern_error *err)
{
    KERN_TRY(view_args_none("fit", arguments, err));
    KERN_TRY(view_set(v, "range", "auto", err));
    view_say(v, false, "range is what the trajectory takes");
    return KERN_OK;
}

kern_status view_run_rotate(view *v, const char *arguments, kern_error *err)
{
    double degrees;
    KERN_TRY(view_args_reals(&degrees, 1, "the angle in degrees", arguments, err));
    view_settings s = v->s;
    s.turn = remainder(s.turn + DEGREE * remainder(degrees, 360.0), 360.0 * DEGREE);
    KERN_TRY(view_change(v, &s, "turn", err));
    char angle[VIEW_NUMBER];
    view_say(v, false, "the axes are turned by %s\xc2\xb0", view_number(angle, 4, s.turn / DEGREE));
    return KERN_OK;
}

kern_status view_run_center(view *v, const char *arguments, kern_error *err)
{
    KERN_TRY(view_args_none("center", arguments, err));
    view_settings s = v->s;
    s.at = s.step;
    KERN_TRY(view_change(v, &s, "", err));
    view_say(v, false, "the centre is the state at step %zu", s.at);
    return KERN_OK;
}

/* ---- Seeds ----------------------------------------------------------------------------------- */

static bool is_random(const char *kind)
{
    return strcmp(kind, "random") == 0 || strcmp(kind, "relative") == 0 ||
           strcmp(kind, "tokens") == 0;
}

kern_status view_run_resample(view *v, const char *arguments, kern_error *err)
{
    const char *kind = dyn_plane_kind_name(dyn_plane_kind_at((size_t)v->s.plane));
    KERN_TRY(view_args_none("resample", arguments, err));
    if (!is_random(kind)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "plane %s is not drawn at random; resample is for random, relative and "
                          "tokens",
                          kind);
    }
    view_settings s = v->s;
    s.seed++;
    KERN_TRY(view_change(v, &s, "", err));
    view_say(v, false, "seed is %llu", (unsigned long long)s.seed);
    return KERN_OK;
}

/* A seed of random directions, or the place that a trajectory grows from. */
kern_status view_run_seed(view *v, const char *arguments, kern_error *err)
{
    double place[2];
    if (strpbrk(arguments, " \t") == NULL) {
        return view_assign(v, "seed", arguments, err);
    }
    KERN_TRY(view_args_reals(place, 2, "a place of the plane", arguments, err));
    view_settings s = v->s;
    if (s.n_seeds == VIEW_SEEDS_MAX) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "there are %d trajectories already; seeds clear takes them away",
                          VIEW_SEEDS_MAX);
    }
    s.seeds[2 * s.n_seeds] = place[0];
    s.seeds[2 * s.n_seeds + 1] = place[1];
    s.n_seeds++;
    KERN_TRY(view_change(v, &s, "", err));
    char at[2][VIEW_NUMBER];
    view_say(v, false, "a trajectory starts at (%s, %s)", view_number(at[0], 4, place[0]),
             view_number(at[1], 4, place[1]));
    return KERN_OK;
}

kern_status view_run_seeds(view *v, const char *arguments, kern_error *err)
{
    return view_assign(v, "seeds", strcmp(arguments, "clear") == 0 ? "none" : arguments, err);
}

kern_status view_run_measure(view *v, const char *arguments, kern_error *err)
{
    double place[2];
    KERN_TRY(view_args_reals(place, 2, "a place of the plane", arguments, err));
    return view_tasks_measure(v, place[0], place[1], err);
}
