/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Basins by the distance to attractors; see dyn_basins.h.
 */
#include "dyn/dyn_basins_internal.h"

#include "dyn/dyn_near.h"
#include "kernels/kern_size.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Scouts or starts whose attractors are held before they are compared: attractors hold many
 * states. */
enum { BATCH = 16 };

/* Rounds in which a start that rests on something unknown is put aside without being verified. In
 * each of them a batch of such starts is, which mostly tells what all the others rest on: verifying
 * takes many times the steps of following. Later rounds verify every start, since one may rest
 * where nothing attracts. */
enum { HASTY_ROUNDS = 5, HASTY_BATCH = 6 };

typedef struct proximity {
    dyn_basins_job *job;
    dyn_attractor *found; /* BATCH, by scout or start; without points where there is none */
    size_t first;         /* scout of the present batch */
    size_t *resting;      /* BATCH: starts that rest on what is not known yet */
    size_t round;
    dyn_near near; /* the points of the known attractors */
    double *x;     /* workers × 2 × size */
} proximity;

static bool is_hasty(const proximity *p)
{
    return p->round < HASTY_ROUNDS && !p->job->out->too_many;
}

static double *lane_of(const proximity *p, int worker)
{
    return p->x + 2 * (size_t)worker * p->job->map->size;
}

/* ---- Attractors --------------------------------------------------------------------------- */

/* Follows a scout until it is verified or lost. */
static kern_status scan_scout(void *context, dyn_map *map, int worker, size_t item, kern_error *err)
{
    proximity *p = context;
    const dyn_basins_options *o = p->job->o;
    double *x = lane_of(p, worker);
    dyn_judgement verdict = DYN_JUDGED_PASSING;
    size_t steps = 0;
    dyn_basins_get_scout(p->job, p->first + item, o->search, x);
    while (verdict != DYN_JUDGED_ATTRACTOR && verdict != DYN_JUDGED_LOST && steps < o->horizon) {
        /* A scout that starts on no state would not be seen as lost when ttr is 0. */
        if (dyn_basins_judge(map, x) != DYN_BASIN_UNDONE) {
            return KERN_OK;
        }
        KERN_TRY(dyn_attractor_verify(&p->found[item], &verdict, map, x, &steps, &o->verify, err));
    }
    return KERN_OK;
}

static kern_status copy_attractor(dyn_attractor *out, const dyn_attractor *a, size_t size,
                                  kern_error *err)
{
    *out = *a;
    out->count = 0;
    out->points = calloc(a->n_points * size + 1, sizeof *out->points);
    if (out->points == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for an attractor of %zu points",
                          a->n_points);
    }
    if (a->n_points > 0) {
        memcpy(out->points, a->points, a->n_points * size * sizeof *out->points);
    }
    return KERN_OK;
}

static kern_status take_given(proximity *p, kern_error *err)
{
    const dyn_basins_options *o = p->job->o;
    int32_t id;
    for (size_t i = 0; i < o->n_given; i++) {
        dyn_attractor a;
        if (o->given[i].n_points == 0) {
            return kern_raise(err, KERN_INVALID_ARGUMENT,
                              "attractor %zu that is given has no points; accepted is 1 or more",
                              i + 1);
        }
        KERN_TRY(copy_attractor(&a, &o->given[i], p->job->map->size, err));
        KERN_TRY(dyn_basins_add(p->job, &a, &id, err));
    }
    return KERN_OK;
}

/* Adds what of a batch is not known yet, in order. */
static kern_status enter_batch(proximity *p, size_t n, kern_error *err)
{
    for (size_t i = 0; i < n; i++) {
        int32_t id = 0;
        if (p->found[i].n_points == 0) {
            continue;
        }
        KERN_TRY(dyn_basins_match_known(p->job, p->job->own, &p->found[i], &id, err));
        if (id == 0) {
            KERN_TRY(dyn_basins_add(p->job, &p->found[i], &id, err));
        }
        dyn_attractor_fini(&p->found[i]);
    }
    return KERN_OK;
}

static kern_status search(proximity *p, kern_error *err)
{
    dyn_basins_job *job = p->job;
    const size_t n_scouts = dyn_basins_scouts(job, job->o->search);
    if (n_scouts == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "no attractors are given and no starts are searched for them; accepted "
                          "is 1 or more of either");
    }
    for (p->first = 0; p->first < n_scouts; p->first += BATCH) {
        const size_t n = kern_size_min(BATCH, n_scouts - p->first);
        KERN_TRY(dyn_basins_scan(job, n, false, scan_scout, p, err));
        KERN_TRY(enter_batch(p, n, err));
    }
    return KERN_OK;
}

static kern_status choose_radius(const dyn_basins_job *job, kern_error *err)
{
    double longest = 0.0;
    job->out->radius = job->o->radius;
    if (job->o->radius > 0.0 || job->out->n_attractors == 0) {
        return KERN_OK;
    }
    for (size_t i = 0; job->low != NULL && i < job->map->size; i++) {
        longest = fmax(longest, job->high[i] - job->low[i]);
    }
    const double most = longest > 0.0 ? 0.04 * longest : (double)INFINITY;
    double separation;
    KERN_TRY(dyn_near_separation(&separation, job->map, job->out->attractors,
                                 job->out->n_attractors, most, err));
    job->out->radius = 0.25 * separation;
    if (!(job->out->radius > 0.0) || !isfinite(job->out->radius)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "%zu attractors at distance %g and no box give no radius; a radius above "
                          "0 must be given",
                          job->out->n_attractors, separation);
    }
    return KERN_OK;
}

/* ---- Starts ------------------------------------------------------------------------------- */

/* An orbit being followed. */
typedef struct walk {
    const proximity *p;
    bool hasty; /* what it rests on is not verified */
    dyn_map *map;
    double *x;
    double *anchor; /* a state of its past */
    size_t held;    /* step of the anchor */
    size_t steps;
    int32_t near;
    size_t kept;     /* consecutive steps near it */
    size_t patience; /* the step from which it may be at rest; above 0: it has been judged */
    dyn_judgement verdict;
    dyn_attractor found;
} walk;

/* Whether the orbit is back at its anchor, which moves up to the present when twice as many steps
 * have been taken (Brent 1980): a fixed point or a cycle of any length is noticed within three
 * times the steps to it. */
static bool is_at_rest(walk *w)
{
    const double tolerance = w->p->job->o->verify.tolerance;
    const bool back =
        w->held > 0 && w->steps >= w->patience &&
        dyn_map_distance(w->map, w->x, w->anchor) <= tolerance * dyn_attractor_scale(w->map, w->x);
    if (w->steps >= 2 * w->held) {
        w->held = w->steps;
        memcpy(w->anchor, w->x, w->map->size * sizeof *w->x);
    }
    return back;
}

/* The orbit rests away from every attractor that is known: verified unless it is hasty, and from
 * then on asked again after twice as many steps. PENDING when w->found is new or not known. */
static kern_status settle_walk(walk *w, int32_t *label, kern_error *err)
{
    const dyn_basins_job *job = w->p->job;
    size_t steps = 0;
    int32_t id = 0;
    if (w->hasty) {
        *label = DYN_BASIN_PENDING;
        return KERN_OK;
    }
    KERN_TRY(
        dyn_attractor_verify(&w->found, &w->verdict, w->map, w->x, &steps, &job->o->verify, err));
    w->steps += steps;
    w->patience = kern_size_min(w->steps, SIZE_MAX / 2) * 2;
    w->kept = 0;
    w->near = 0;
    if (w->verdict == DYN_JUDGED_LOST) {
        *label = dyn_basins_judge(w->map, w->x);
    } else if (w->verdict == DYN_JUDGED_ATTRACTOR) {
        KERN_TRY(dyn_basins_match_known(job, w->map, &w->found, &id, err));
        *label = id > 0 ? id : DYN_BASIN_PENDING;
    }
    return KERN_OK;
}

/* Follows the orbit of start `item` to a label. Attractors that are given are all there are: what
 * rests elsewhere is then no concern. */
static kern_status follow(walk *w, size_t item, int32_t *label, kern_error *err)
{
    const dyn_basins_options *o = w->p->job->o;
    dyn_basins_guard guard = {.job = w->p->job, .map = w->map};
    dyn_basin_starts starts = o->starts;
    starts.size = w->map->size;
    dyn_basin_starts_get(&starts, item, w->x);
    *label = dyn_basins_judge(w->map, w->x);
    while (*label == DYN_BASIN_UNDONE && w->steps < o->horizon) {
        const int32_t before = w->near;
        *label = dyn_basins_step(&guard, w->x);
        w->steps++;
        w->near = *label == DYN_BASIN_UNDONE ? dyn_near_find(&w->p->near, w->x) : 0;
        w->kept = w->near > 0 && w->near == before ? w->kept + 1 : 1;
        if (w->near > 0 && w->kept >= o->stay) {
            *label = w->near;
        } else if (*label == DYN_BASIN_UNDONE && o->n_given == 0 && w->near == 0 && is_at_rest(w)) {
            KERN_TRY(settle_walk(w, label, err));
        }
    }
    if (*label == DYN_BASIN_UNDONE) {
        *label = w->near < 0 || w->patience > 0 ? DYN_BASIN_UNRESOLVED : DYN_BASIN_TIMEOUT;
    }
    return KERN_OK;
}

static walk begin_walk(const proximity *p, dyn_map *map, int worker)
{
    double *x = lane_of(p, worker);
    return (walk){.p = p, .map = map, .x = x, .anchor = x + map->size};
}

static kern_status scan_start(void *context, dyn_map *map, int worker, size_t item, kern_error *err)
{
    const proximity *p = context;
    int32_t *label = &p->job->out->labels[item];
    if (*label != DYN_BASIN_UNDONE && *label != DYN_BASIN_PENDING) {
        return KERN_OK;
    }
    walk w = begin_walk(p, map, worker);
    w.hasty = is_hasty(p);
    const kern_status status = follow(&w, item, label, err);
    p->job->verdicts[item] = (uint8_t)w.verdict;
    p->job->out->steps[item] = w.steps;
    dyn_attractor_fini(&w.found);
    return status;
}

/* As scan_start for a start at rest on something new, which is held. */
static kern_status scan_resting(void *context, dyn_map *map, int worker, size_t item,
                                kern_error *err)
{
    proximity *p = context;
    int32_t label;
    walk w = begin_walk(p, map, worker);
    const kern_status status = follow(&w, p->resting[item], &label, err);
    p->found[item] = w.found;
    return status;
}

/* ---- Rounds ------------------------------------------------------------------------------- */

/* Adds the attractors of some of the starts that rest on new ones, evenly spread, since neighbours
 * rest on the same. *n: such starts, 0 when none is left. */
static kern_status discover(proximity *p, size_t *n, kern_error *err)
{
    dyn_basins *out = p->job->out;
    size_t pending = 0;
    size_t seen = 0;
    *n = 0;
    for (size_t i = 0; i < out->n_starts; i++) {
        pending += out->labels[i] == DYN_BASIN_PENDING ? 1 : 0;
    }
    const size_t most = is_hasty(p) ? HASTY_BATCH : BATCH;
    const size_t stride = pending > most ? pending / most : 1;
    for (size_t i = 0; i < out->n_starts && *n < most; i++) {
        if (out->labels[i] == DYN_BASIN_PENDING && out->too_many) {
            out->labels[i] = DYN_BASIN_UNRESOLVED;
        } else if (out->labels[i] == DYN_BASIN_PENDING && seen++ % stride == 0) {
            p->resting[(*n)++] = i;
        }
    }
    if (*n == 0) {
        return KERN_OK;
    }
    KERN_TRY(dyn_basins_scan(p->job, *n, false, scan_resting, p, err));
    return enter_batch(p, *n, err);
}

/* The radius for the attractors known now. Where it has changed, what was near is asked again. */
static kern_status index_attractors(proximity *p, kern_error *err)
{
    dyn_basins *out = p->job->out;
    const double before = out->radius;
    KERN_TRY(choose_radius(p->job, err));
    if (out->radius != before) {
        memset(out->labels, 0, out->n_starts * sizeof *out->labels);
    }
    dyn_near_fini(&p->near);
    return dyn_near_init(&p->near, p->job->map, out->attractors, out->n_attractors, out->radius,
                         err);
}

/* Follows all starts, and again those that rest on an attractor that the scouts have missed. */
static kern_status run_rounds(proximity *p, kern_error *err)
{
    size_t n = 1;
    while (n > 0) {
        KERN_TRY(index_attractors(p, err));
        KERN_TRY(dyn_basins_scan(p->job, p->job->out->n_starts, true, scan_start, p, err));
        KERN_TRY(discover(p, &n, err));
        p->round++;
    }
    return KERN_OK;
}

static kern_status run_with(proximity *p, kern_error *err)
{
    dyn_basins_job *job = p->job;
    p->x = calloc(2 * (size_t)job->workers * job->map->size, sizeof *p->x);
    p->found = calloc(BATCH, sizeof *p->found);
    p->resting = calloc(BATCH, sizeof *p->resting);
    job->out->steps = calloc(job->out->n_starts, sizeof *job->out->steps);
    if (p->x == NULL || p->found == NULL || p->resting == NULL || job->out->steps == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %d workers and %zu starts",
                          job->workers, job->out->n_starts);
    }
    KERN_TRY(job->o->n_given > 0 ? take_given(p, err) : search(p, err));
    return run_rounds(p, err);
}

static kern_status run(dyn_basins_job *job, kern_error *err)
{
    proximity p = {.job = job};
    const kern_status status = run_with(&p, err);
    for (size_t i = 0; p.found != NULL && i < BATCH; i++) {
        dyn_attractor_fini(&p.found[i]);
    }
    dyn_near_fini(&p.near);
    free(p.found);
    free(p.resting);
    free(p.x);
    return status;
}

/* The steps of every start. */
static size_t cost(const dyn_map *map, const dyn_basins_options *o, size_t n_starts)
{
    size_t bytes;
    (void)map;
    (void)o;
    return kern_size_mul(n_starts, sizeof(size_t), &bytes) ? bytes : SIZE_MAX;
}

const dyn_basins_method dyn_basins_proximity = {
    .name = "proximity",
    .help = "orbits that keep near attractors found before, any number of coordinates",
    .cost = cost,
    .run = run};
