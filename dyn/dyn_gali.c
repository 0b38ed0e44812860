/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_gali.h"

#include "dyn/dyn_frame.h"
#include "dyn/dyn_orbit.h"
#include "kernels/kern_arena.h"
#include "kernels/kern_lapack.h"
#include "kernels/kern_size.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *dyn_chaos_word(dyn_chaos verdict)
{
    static const char *const words[] = {
#define CHAOS_WORD(name, word) word,
        DYN_CHAOS_LIST(CHAOS_WORD)
#undef CHAOS_WORD
    };
    return verdict < DYN_CHAOS_COUNT ? words[verdict] : "unknown";
}

dyn_gali_options dyn_gali_options_default(void)
{
    return (dyn_gali_options){
        .k = 2, .steps = 1000, .threshold = 1e-12, .bound = DYN_DIVERGED, .seed = 1};
}

/* One computation. */
typedef struct gali_run {
    dyn_map *map;
    const dyn_gali_options *o;
    dyn_gali *out;
    size_t done; /* steps from the start */
    kern_arena arena;
    double *x;       /* state */
    double *next;    /* its image */
    double *vectors; /* k × size, rows of unit length */
    double *frame;   /* a copy, for QR */
    double *r;       /* k × k */
    double *work;
    double most; /* the last index with distances below the noise at the noise */
} gali_run;

/* ---- Preparation -------------------------------------------------------------------------- */

static kern_status check(const dyn_map *map, const dyn_gali_options *o, kern_error *err)
{
    if (map->size < 2) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "map %s has one coordinate, in which no tangent vectors can align; "
                          "accepted are maps of 2 or more, and the 0-1 test takes any",
                          map->kind->name);
    }
    if (o->k < 2 || o->k > map->size) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "an alignment index of %zu vectors was asked for; accepted is 2 to %zu, "
                          "the number of coordinates of map %s",
                          o->k, map->size, map->kind->name);
    }
    if (o->steps < 1) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "0 steps let nothing align; accepted is 1 or more");
    }
    if (!(o->threshold > 0.0 && o->threshold < 1.0) || !(o->bound > 0.0)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the threshold of the alignment index is %g and the bound of the orbit "
                          "%g; accepted are a number between 0 and 1 and one above 0",
                          o->threshold, o->bound);
    }
    return KERN_OK;
}

static kern_status allocate(gali_run *run, kern_error *err)
{
    const size_t size = run->map->size;
    const size_t k = run->o->k;
    size_t vectors = 0;
    size_t capacity = 0;
    size_t states = 0;
    const size_t work = kern_lapack_orthonormalise_work(size, k);
    bool fits = kern_size_mul(k, size, &vectors) && kern_size_add(run->o->steps, 1, &states);
    const size_t counts[] = {size, size, vectors, vectors, k * k, work};
    double **const at[] = {&run->x, &run->next, &run->vectors, &run->frame, &run->r, &run->work};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        fits =
            fits && kern_size_add(capacity, kern_arena_cost(counts[i], sizeof(double)), &capacity);
    }
    if (!fits) {
        return kern_raise(err, KERN_OVERFLOW,
                          "%zu vectors of %zu numbers over %zu steps are too "
                          "many",
                          k, size, run->o->steps);
    }
    KERN_TRY(kern_arena_init(&run->arena, capacity, err));
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        *at[i] = kern_arena_calloc(&run->arena, counts[i], sizeof(double));
    }
    run->out->series = run->o->series ? calloc(states, sizeof *run->out->series) : NULL;
    if (run->o->series && run->out->series == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for an index of %zu steps", states);
    }
    return KERN_OK;
}

/* ---- Stepping ----------------------------------------------------------------------------- */

static kern_status lose(gali_run *run, kern_status why)
{
    run->out->status = why;
    run->out->end = run->done;
    run->out->value = (double)NAN;
    run->out->growth = (double)NAN;
    return why;
}

static kern_status report(const gali_run *run, kern_error *err)
{
    const dyn_gali_options *o = run->o;
    if (o->progress != NULL && !o->progress(o->context, run->done, o->ttr + o->steps)) {
        return kern_raise(err, KERN_INTERRUPTED, "stopped after step %zu", run->done);
    }
    return KERN_OK;
}

/* Accepts `next` as the state unless it is lost. */
static kern_status settle_state(gali_run *run)
{
    run->done++;
    const kern_status status = dyn_state_accept(run->map, &run->x, &run->next, run->o->bound);
    return status == KERN_OK ? KERN_OK : lose(run, status);
}

/* Scales a vector to unit length and returns the log of what it was; a zero vector stays. */
static double rescale(double *v, size_t n)
{
    double most = 0.0;
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        most = most >= fabs(v[i]) ? most : fabs(v[i]);
    }
    for (size_t i = 0; i < n && most > 0.0; i++) {
        v[i] /= most;
        sum += v[i] * v[i];
    }
    for (size_t i = 0; i < n && most > 0.0; i++) {
        v[i] /= sqrt(sum);
    }
    return log(most) + 0.5 * log(most > 0.0 ? sum : 1.0);
}

/* Volume of the vectors, and what it may be in truth for difference quotients. */
static kern_status measure(gali_run *run, double *volume)
{
    const size_t k = run->o->k;
    memcpy(run->frame, run->vectors, k * run->map->size * sizeof *run->frame);
    KERN_TRY(kern_lapack_orthonormalise(run->map->size, k, run->frame, run->r, run->work, NULL));
    *volume = 1.0;
    run->most = 1.0;
    for (size_t i = 0; i < k; i++) {
        const double distance = run->r[i * k + i];
        *volume *= distance;
        run->most *= fmax(distance, DYN_GALI_NOISE);
        if (run->map->approximate_jvp && !(distance > DYN_GALI_NOISE)) {
            run->out->noisy = true;
        }
    }
    return KERN_OK;
}

/* One step of the state and of the first `count` vectors; adds the growth of the first. */
static kern_status advance(gali_run *run, size_t count)
{
    const size_t size = run->map->size;
    dyn_map_jvp_many(run->map, run->x, count, run->vectors, run->next, run->vectors);
    for (size_t i = 0; i < count; i++) {
        const double growth = rescale(run->vectors + i * size, size);
        run->out->growth += i == 0 ? growth : 0.0;
    }
    KERN_TRY(settle_state(run));
    return dyn_state_check(run->vectors, count * run->map->size, 2.0) == KERN_OK
               ? KERN_OK
               : lose(run, KERN_NAN);
}

static kern_status warm_up(gali_run *run, kern_error *err)
{
    const kern_status status = dyn_state_check(run->x, run->map->size, run->o->bound);
    if (status != KERN_OK) {
        return lose(run, status);
    }
    for (size_t t = 0; t < run->o->ttr; t++) {
        run->map->kind->step(run->map, run->x, run->next);
        KERN_TRY(settle_state(run));
        KERN_TRY(report(run, err));
    }
    return KERN_OK;
}

static void keep(dyn_gali *out, double value)
{
    out->value = value;
    if (out->series != NULL) {
        out->series[out->n_series++] = value;
    }
}

static kern_status follow(gali_run *run, kern_error *err)
{
    dyn_gali *out = run->out;
    keep(out, 1.0);
    for (size_t t = 1; t <= run->o->steps; t++) {
        KERN_TRY(advance(run, out->fell == 0 ? run->o->k : 1));
        if (out->fell == 0) {
            double volume;
            if (measure(run, &volume) != KERN_OK) {
                return lose(run, KERN_NAN);
            }
            keep(out, volume);
            out->fell = volume <= run->o->threshold || out->noisy ? t : 0;
        }
        KERN_TRY(report(run, err));
    }
    return KERN_OK;
}

/* ---- Verdict ------------------------------------------------------------------------------ */

/* `floor`: what the index is known to be below once it has fallen. */
static dyn_chaos judge(const dyn_gali *out, const dyn_gali_options *o, double floor)
{
    const double steps = (double)o->steps;
    const double fell = (double)out->fell;
    const double k = (double)o->k;
    const bool grows = out->growth * steps > 2.0 * log(steps);
    if (out->collapsed) {
        return DYN_CHAOS_UNDECIDED;
    }
    if (grows && out->fell > 0 && pow(fell, -k) >= DYN_GALI_MARGIN * floor) {
        return DYN_CHAOS_CHAOTIC;
    }
    const bool stays = out->fell == 0 && out->value >= pow(steps, -k) / DYN_GALI_MARGIN;
    if (!grows && (stays || (out->fell > 0 && out->growth <= 0.0))) {
        return DYN_CHAOS_REGULAR;
    }
    return DYN_CHAOS_UNDECIDED;
}

/* The orbit rests where it did not begin. After the last step, `next` is the state before it. */
static bool has_come_to_rest(const gali_run *run, const double *x0)
{
    bool still = true;
    bool moved = false;
    for (size_t i = 0; i < run->map->size; i++) {
        still = still && run->x[i] == run->next[i];
        moved = moved || run->x[i] != x0[i];
    }
    return still && moved;
}

void dyn_gali_fini(dyn_gali *out)
{
    free(out->series);
    *out = (dyn_gali){0};
}

static kern_status compute(gali_run *run, const double *x0, kern_error *err)
{
    dyn_gali *out = run->out;
    KERN_TRY(check(run->map, run->o, err));
    KERN_TRY(allocate(run, err));
    KERN_TRY(dyn_frame_draw(run->vectors, run->map->size, run->o->k, run->o->seed, "gali", run->r,
                            run->work, err));
    memcpy(run->x, x0, run->map->size * sizeof *x0);
    kern_status status = warm_up(run, err);
    if (status == KERN_OK) {
        status = follow(run, err);
    }
    if (out->status != KERN_OK) {
        return KERN_OK; /* lost */
    }
    KERN_TRY(status);
    out->end = run->done;
    out->growth /= (double)run->o->steps;
    out->collapsed = out->growth > 0.0 && has_come_to_rest(run, x0);
    out->verdict = judge(out, run->o, out->noisy ? run->most : run->o->threshold);
    return KERN_OK;
}

kern_status dyn_gali_init(dyn_gali *out, dyn_map *map, const double *x0,
                          const dyn_gali_options *options, kern_error *err)
{
    gali_run run = {.map = map, .o = options, .out = out};
    *out = (dyn_gali){.k = options->k};
    const kern_status status = compute(&run, x0, err);
    kern_arena_fini(&run.arena);
    if (status != KERN_OK) {
        dyn_gali_fini(out);
    }
    return status;
}
