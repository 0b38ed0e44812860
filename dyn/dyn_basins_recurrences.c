/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Basins by recurrences on a grid of cells; see dyn_basins.h.
 */
#include "dyn/dyn_basins_internal.h"

#include "dyn/dyn_cells.h"
#include "kernels/kern_size.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SHARED = -1, /* owner of a cell that several attractors visit: it tells nothing */
    SCOUTS = 64, /* starts that attractors are looked for from before all are followed */
    SCOUTS_AT_FIRST = 4,
    LOCATE_MOST = 100 /* times `quiet` steps, the longest that an attractor's cells are gathered */
};

/* Part of a cell's width within which an orbit is near a cycle. */
#define REACH 0.25

/* What a worker has. */
typedef struct lane {
    double *x;
    dyn_cell_table visited; /* cells of the present orbit */
} lane;

typedef struct recurrences {
    dyn_basins_job *job;
    dyn_cells cells;
    dyn_cell_table owners; /* ids by cell; not changed while starts are followed */
    lane *lanes;
    size_t n_scouts;
    int32_t *scouts; /* their labels */
} recurrences;

/* An orbit being followed. */
typedef struct walk {
    recurrences *r;
    dyn_map *map;
    lane *l;
    size_t steps;
    size_t outside; /* consecutive steps outside the box */
    size_t visits;  /* consecutive visits to cells of its own past */
    size_t patience;
    int32_t owner; /* of the cells it has kept to */
    size_t kept;
    bool refuted;
    dyn_judgement verdict;
    dyn_attractor found;
} walk;

/* ---- Following one orbit ------------------------------------------------------------------ */

/* The orbit keeps to its own past: verified, or waits for twice as many visits. */
static int32_t settle_walk(walk *w, kern_status *status, kern_error *err)
{
    const dyn_basins_options *o = w->r->job->o;
    *status =
        dyn_attractor_verify(&w->found, &w->verdict, w->map, w->l->x, &w->steps, &o->verify, err);
    if (*status != KERN_OK || w->verdict == DYN_JUDGED_ATTRACTOR) {
        return DYN_BASIN_PENDING;
    }
    if (w->verdict == DYN_JUDGED_LOST) {
        return dyn_basins_judge(w->map, w->l->x);
    }
    w->refuted = true;
    w->visits = 0;
    w->kept = 0;
    w->owner = 0;
    w->outside = 0;
    w->patience = kern_size_min(2 * w->patience, o->horizon);
    dyn_cell_table_clear(&w->l->visited);
    return DYN_BASIN_UNDONE;
}

/* Whether the present state is within REACH of a cell of a point of attractor `id`, if that is a
 * cycle: being in the cell of one is not being near it when cells are large. */
static bool near_cycle(const walk *w, int32_t id)
{
    const recurrences *r = w->r;
    const dyn_attractor *a = &r->job->out->attractors[id - 1];
    bool near = a->period == 0;
    for (size_t k = 0; k < a->period && !near; k++) {
        double gap[DYN_CELLS_DIMENSIONS];
        near = true;
        dyn_state_difference(w->map, w->l->x, a->points + k * r->cells.size, gap);
        for (size_t i = 0; i < r->cells.size; i++) {
            near = near && fabs(gap[i]) <= REACH * r->cells.width[i];
        }
    }
    return near;
}

/* What the cell of the present state says. */
static int32_t visit_cell(walk *w, uint64_t cell, kern_status *status, kern_error *err)
{
    const dyn_basins_options *o = w->r->job->o;
    const int32_t owner = dyn_cell_table_get(&w->r->owners, cell);
    int32_t before = 0;
    if (owner > 0) {
        w->kept = owner == w->owner ? w->kept + 1 : 1;
        w->owner = owner;
        if (w->kept < o->stay || near_cycle(w, owner)) {
            return w->kept < o->stay ? DYN_BASIN_UNDONE : owner;
        }
    } else if (owner != SHARED) {
        w->kept = 0;
        w->owner = 0;
    }
    *status = dyn_cell_table_put(&w->l->visited, cell, 1, &before, err);
    w->visits = before != 0 ? w->visits + 1 : 0;
    if (*status == KERN_OK && w->visits >= w->patience) {
        return settle_walk(w, status, err);
    }
    return DYN_BASIN_UNDONE;
}

static int32_t take_step(walk *w, kern_status *status, kern_error *err)
{
    const dyn_basins_options *o = w->r->job->o;
    double *x = w->l->x;
    uint64_t cell;
    w->map->kind->step(w->map, x, x);
    w->steps++;
    const int32_t label = dyn_basins_judge(w->map, x);
    if (label != DYN_BASIN_UNDONE) {
        return label;
    }
    dyn_state_reduce(w->map, x);
    if (!dyn_cells_find(&w->r->cells, x, &cell)) {
        w->outside++;
        w->visits = 0;
        w->kept = 0;
        return o->outside > 0 && w->outside >= o->outside ? DYN_BASIN_LEFT_BOX : DYN_BASIN_UNDONE;
    }
    w->outside = 0;
    return visit_cell(w, cell, status, err);
}

/* Follows the orbit of the lane's x to a label; PENDING when it has come to an attractor that is
 * not known, which w->found then is. */
static kern_status follow(walk *w, int32_t *label, kern_error *err)
{
    const dyn_basins_options *o = w->r->job->o;
    kern_status status = KERN_OK;
    *label = dyn_basins_judge(w->map, w->l->x);
    w->patience = o->recurrences;
    dyn_cell_table_clear(&w->l->visited);
    while (*label == DYN_BASIN_UNDONE && w->steps < o->horizon) {
        *label = take_step(w, &status, err);
        KERN_TRY(status);
    }
    if (*label == DYN_BASIN_UNDONE) {
        *label = w->outside > 0 ? DYN_BASIN_LEFT_BOX
                 : w->refuted   ? DYN_BASIN_UNRESOLVED
                                : DYN_BASIN_TIMEOUT;
    }
    return KERN_OK;
}

/* As `follow`, with the id of a known attractor where what was found is the same as one: an orbit
 * that arrives by a power law is verified long before it is in the attractor's cells. */
static kern_status follow_known(walk *w, int32_t *label, kern_error *err)
{
    KERN_TRY(follow(w, label, err));
    if (*label == DYN_BASIN_PENDING) {
        int32_t known;
        KERN_TRY(dyn_basins_match_known(w->r->job, w->map, &w->found, &known, err));
        *label = known > 0 ? known : DYN_BASIN_PENDING;
    }
    return KERN_OK;
}

static void get_start(const recurrences *r, size_t index, double *x)
{
    dyn_basin_starts starts = r->job->o->starts;
    starts.size = r->job->map->size;
    dyn_basin_starts_get(&starts, index, x);
}

static kern_status scan_start(void *context, dyn_map *map, int worker, size_t item, kern_error *err)
{
    recurrences *r = context;
    int32_t *label = &r->job->out->labels[item];
    if (*label != DYN_BASIN_UNDONE && *label != DYN_BASIN_PENDING) {
        return KERN_OK;
    }
    walk w = {.r = r, .map = map, .l = &r->lanes[worker]};
    get_start(r, item, w.l->x);
    const kern_status status = follow_known(&w, label, err);
    r->job->verdicts[item] = (uint8_t)w.verdict;
    dyn_attractor_fini(&w.found);
    return status;
}

static kern_status scan_scout(void *context, dyn_map *map, int worker, size_t item, kern_error *err)
{
    recurrences *r = context;
    int32_t *label = &r->scouts[item];
    if (*label != DYN_BASIN_UNDONE && *label != DYN_BASIN_PENDING) {
        return KERN_OK;
    }
    walk w = {.r = r, .map = map, .l = &r->lanes[worker]};
    dyn_basins_get_scout(r->job, item, SCOUTS, w.l->x);
    const kern_status status = follow_known(&w, label, err);
    dyn_attractor_fini(&w.found);
    return status;
}

/* ---- Cells of an attractor ---------------------------------------------------------------- */

static kern_status claim(recurrences *r, uint64_t cell, int32_t id, bool *fresh, kern_error *err)
{
    const int32_t owner = dyn_cell_table_get(&r->owners, cell);
    if (owner == id || owner == SHARED) {
        return KERN_OK;
    }
    *fresh = true;
    return dyn_cell_table_put(&r->owners, cell, owner == 0 ? id : SHARED, NULL, err);
}

/* Claims the cells within REACH of a cell of x, so that an orbit that approaches a point beside a
 * border is in cells of its attractor on both sides. */
static kern_status claim_around(recurrences *r, const double *x, int32_t id, bool *fresh,
                                kern_error *err)
{
    const size_t size = r->cells.size;
    size_t corners = 1;
    for (size_t i = 0; i < size; i++) {
        corners *= 3;
    }
    for (size_t corner = 0; corner < corners; corner++) {
        double moved[DYN_CELLS_DIMENSIONS];
        uint64_t cell;
        size_t rest = corner;
        for (size_t i = 0; i < size; i++, rest /= 3) {
            moved[i] = x[i] + REACH * ((double)(rest % 3) - 1.0) * r->cells.width[i];
        }
        if (dyn_cells_find(&r->cells, moved, &cell)) {
            KERN_TRY(claim(r, cell, id, fresh, err));
        }
    }
    return KERN_OK;
}

static kern_status claim_points(recurrences *r, const dyn_attractor *a, int32_t id, bool *fresh,
                                kern_error *err)
{
    uint64_t cell;
    for (size_t i = 0; i < a->n_points; i++) {
        const double *x = a->points + i * r->cells.size;
        if (a->period > 0) {
            KERN_TRY(claim_around(r, x, id, fresh, err));
        } else if (dyn_cells_find(&r->cells, x, &cell)) {
            KERN_TRY(claim(r, cell, id, fresh, err));
        }
    }
    return KERN_OK;
}

/* Gathers the cells of an aperiodic orbit into the lane's table until no new one has come for
 * `quiet` steps. *known is the id of an attractor whose cells it came to keep to instead, or 0. */
static kern_status gather(recurrences *r, lane *l, int32_t *known, kern_error *err)
{
    const dyn_basins_options *o = r->job->o;
    dyn_map *map = r->job->own;
    size_t quiet = 0;
    size_t kept = 0;
    *known = 0;
    dyn_cell_table_clear(&l->visited);
    for (size_t t = 0; t / LOCATE_MOST < o->quiet && quiet < o->quiet; t++) {
        uint64_t cell;
        int32_t before = 1;
        map->kind->step(map, l->x, l->x);
        dyn_state_reduce(map, l->x);
        if (dyn_cells_find(&r->cells, l->x, &cell)) {
            KERN_TRY(dyn_cell_table_put(&l->visited, cell, 1, &before, err));
            const int32_t owner = dyn_cell_table_get(&r->owners, cell);
            kept = owner > 0 && owner == *known ? kept + 1 : owner > 0 ? 1U : 0U;
            *known = owner > 0 ? owner : 0;
            if (kept >= o->stay) {
                return KERN_OK;
            }
        }
        quiet = before != 0 ? quiet + 1 : 0;
    }
    *known = 0;
    return KERN_OK;
}

static kern_status claim_gathered(recurrences *r, const lane *l, int32_t id, bool *fresh,
                                  kern_error *err)
{
    size_t slot = 0;
    uint64_t cell;
    int32_t value;
    while (dyn_cell_table_next(&l->visited, &slot, &cell, &value)) {
        KERN_TRY(claim(r, cell, id, fresh, err));
    }
    return KERN_OK;
}

/* Follows a known aperiodic attractor further, from its last point, and claims what it visits: an
 * orbit that came to it may have been in a part of it that it had not visited yet. */
static kern_status extend(recurrences *r, int32_t id, bool *fresh, kern_error *err)
{
    const dyn_attractor *a = &r->job->out->attractors[id - 1];
    const size_t steps = 10 * r->job->o->quiet;
    dyn_map *map = r->job->own;
    const size_t size = map->size;
    double *x = r->lanes[0].x;
    uint64_t cell;
    memcpy(x, a->points + (a->n_points - 1) * size, size * sizeof *x);
    for (size_t t = 0; a->period == 0 && t < steps; t++) {
        map->kind->step(map, x, x);
        dyn_state_reduce(map, x);
        if (dyn_cells_find(&r->cells, x, &cell)) {
            KERN_TRY(claim(r, cell, id, fresh, err));
        }
    }
    return KERN_OK;
}

/* Enters what a walk has found: an attractor that is known, or a new one. */
static kern_status enter(walk *w, int32_t *id, bool *fresh, kern_error *err)
{
    recurrences *r = w->r;
    const bool aperiodic = w->found.period == 0;
    KERN_TRY(dyn_basins_match_known(r->job, r->job->own, &w->found, id, err));
    if (*id > 0) {
        return claim_points(r, &w->found, *id, fresh, err);
    }
    if (aperiodic) {
        KERN_TRY(gather(r, w->l, id, err));
        if (*id > 0) {
            return extend(r, *id, fresh, err);
        }
    }
    KERN_TRY(dyn_basins_add(r->job, &w->found, id, err));
    if (*id == 0) {
        return KERN_OK;
    }
    const dyn_attractor *a = &r->job->out->attractors[*id - 1];
    KERN_TRY(claim_points(r, a, *id, fresh, err));
    return aperiodic ? claim_gathered(r, w->l, *id, fresh, err) : KERN_OK;
}

/* ---- Rounds ------------------------------------------------------------------------------- */

/* Follows a pending orbit from the lane's x, serially, and enters what it comes to. */
static kern_status discover(recurrences *r, int32_t *label, bool *fresh, kern_error *err)
{
    walk w = {.r = r, .map = r->job->own, .l = &r->lanes[0]};
    kern_status status = follow(&w, label, err);
    if (status == KERN_OK && *label == DYN_BASIN_PENDING) {
        int32_t id = 0;
        status = enter(&w, &id, fresh, err);
        *label = id > 0 ? id : DYN_BASIN_UNRESOLVED;
    }
    dyn_attractor_fini(&w.found);
    return status;
}

/* Decides pending ones in order until the known cells have changed. */
static kern_status discover_first(recurrences *r, bool scouts, bool *fresh, kern_error *err)
{
    int32_t *labels = scouts ? r->scouts : r->job->out->labels;
    const size_t n = scouts ? r->n_scouts : r->job->out->n_starts;
    *fresh = false;
    for (size_t i = 0; i < n && !*fresh; i++) {
        if (labels[i] != DYN_BASIN_PENDING) {
            continue;
        }
        if (scouts) {
            dyn_basins_get_scout(r->job, i, SCOUTS, r->lanes[0].x);
        } else {
            get_start(r, i, r->lanes[0].x);
        }
        KERN_TRY(discover(r, &labels[i], fresh, err));
    }
    return KERN_OK;
}

static kern_status run_rounds(recurrences *r, bool scouts, size_t n, kern_error *err)
{
    bool fresh = true;
    while (fresh) {
        KERN_TRY(dyn_basins_scan(r->job, n, !scouts, scouts ? scan_scout : scan_start, r, err));
        KERN_TRY(discover_first(r, scouts, &fresh, err));
    }
    return KERN_OK;
}

/* The attractors that are easily found become known from a few scouts, so that the others need no
 * verification of their own, and only then all starts are followed. */
static kern_status run_all(recurrences *r, kern_error *err)
{
    KERN_TRY(run_rounds(r, true, kern_size_min(SCOUTS_AT_FIRST, r->n_scouts), err));
    KERN_TRY(run_rounds(r, true, r->n_scouts, err));
    return run_rounds(r, false, r->job->out->n_starts, err);
}

/* ---- The method --------------------------------------------------------------------------- */

size_t dyn_basins_cells(size_t size)
{
    return size <= 1 ? 4096 : size == 2 ? 512 : 128;
}

static kern_status prepare(recurrences *r, kern_error *err)
{
    const dyn_basins_job *job = r->job;
    size_t n[DYN_CELLS_DIMENSIONS];
    if (job->low == NULL || job->high == NULL) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "recurrences need a box to follow orbits in, and there is none");
    }
    for (size_t i = 0; i < job->map->size && i < DYN_CELLS_DIMENSIONS; i++) {
        n[i] = job->o->cells != NULL ? job->o->cells[i] : dyn_basins_cells(job->map->size);
    }
    KERN_TRY(dyn_cells_init(&r->cells, job->map, job->low, job->high, n, err));
    KERN_TRY(dyn_cell_table_init(&r->owners, 1024, err));
    r->n_scouts = dyn_basins_scouts(job, SCOUTS);
    r->scouts = calloc(r->n_scouts, sizeof *r->scouts);
    r->lanes = calloc((size_t)job->workers, sizeof *r->lanes);
    if (r->scouts == NULL || r->lanes == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %d workers", job->workers);
    }
    for (int i = 0; i < job->workers; i++) {
        lane *l = &r->lanes[i];
        KERN_TRY(dyn_cell_table_init(&l->visited, 1024, err));
        l->x = calloc(job->map->size, sizeof *l->x);
        if (l->x == NULL) {
            return kern_raise(err, KERN_NO_MEMORY, "no memory for %d workers", job->workers);
        }
    }
    return KERN_OK;
}

static kern_status run(dyn_basins_job *job, kern_error *err)
{
    recurrences r = {.job = job};
    kern_status status = prepare(&r, err);
    if (status == KERN_OK) {
        status = run_all(&r, err);
    }
    for (int i = 0; r.lanes != NULL && i < job->workers; i++) {
        free(r.lanes[i].x);
        dyn_cell_table_fini(&r.lanes[i].visited);
    }
    free(r.lanes);
    free(r.scouts);
    dyn_cell_table_fini(&r.owners);
    return status;
}

const dyn_basins_method dyn_basins_recurrences = {
    .name = "recurrences",
    .help = "orbits that keep to known cells of a grid, up to 3 coordinates",
    .run = run};
