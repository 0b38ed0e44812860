/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What `basin basins` prints.
 */
#include "cli/cli_basins.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { SHOWN_COORDINATES = 4 };

static const char *const judged_words[DYN_JUDGED_COUNT] = {"attractor", "repelling", "neutral",
                                                           "still_moving", "lost"};

const char *cli_basins_word(int32_t label, char out[CLI_BASINS_WORD])
{
    const char *word = dyn_basin_outcome_word(label);
    if (word != NULL) {
        (void)snprintf(out, CLI_BASINS_WORD, "%s", word);
    } else {
        (void)snprintf(out, CLI_BASINS_WORD, "%" PRId32, label);
    }
    return out;
}

/* ---- JSON --------------------------------------------------------------------------------- */

static void add_box(cli_json *json, const char *key, const double *low, const double *high,
                    size_t size)
{
    cJSON *box = cli_json_array(json, json->object, key);
    for (size_t i = 0; i < size; i++) {
        const double ends[2] = {low[i], high[i]};
        (void)cli_json_reals(json, box, NULL, ends, 2);
    }
}

void cli_basins_describe(cli_json *json, const cli_basins_job *job)
{
    const dyn_basins_options *o = &job->o;
    const size_t size = job->system.map->size;
    cli_map_describe(json, job->system.map);
    cli_json_text(json, json->object, "method", dyn_basins_methods[o->method]->name);
    add_box(json, "box", job->low, job->high, size);
    if (job->track_low != NULL) {
        add_box(json, "track", job->track_low, job->track_high, size);
    }
    if (o->starts.kind == DYN_BASIN_GRID) {
        cli_json_size(json, json->object, "grid", job->grid[0]);
        cli_json_real(json, json->object, "jitter", o->starts.jitter);
    }
    cli_json_size(json, json->object, "n_starts", job->n_starts);
    cli_json_size(json, json->object, "horizon", o->horizon);
    cli_json_size(json, json->object, "outside", o->outside);
    cli_json_size(json, json->object, "confirm", o->verify.confirm);
    cli_json_size(json, json->object, "stay", o->stay);
    cli_json_size(json, json->object, "seed", o->seed);
}

static void add_attractor(cli_json *json, cJSON *parent, const dyn_attractor *a, int32_t id,
                          size_t size)
{
    cJSON *item = cli_json_child(json, parent, NULL);
    cli_json_size(json, item, "id", (size_t)id);
    if (a->period > 0) {
        cli_json_size(json, item, "period", a->period);
    } else {
        cli_json_null(json, item, "period");
    }
    cli_json_real(json, item, "fraction", a->fraction);
    cli_json_real(json, item, "fraction_error", a->fraction_error);
    cli_json_size(json, item, "count", a->count);
    cli_json_real(json, item, "spectral_radius", a->spectral_radius);
    cli_json_real(json, item, "exponent", a->exponent);
    cJSON *points = cli_json_array(json, item, "points");
    for (size_t i = 0; i < a->n_points; i++) {
        (void)cli_json_reals(json, points, NULL, a->points + i * size, size);
    }
}

/* Attractors and fractions; with NULL ids the attractors' own. */
static void add_basins(cli_json *json, cJSON *parent, const dyn_basins *b, const int32_t *ids,
                       size_t size)
{
    char word[CLI_BASINS_WORD];
    cJSON *attractors = cli_json_array(json, parent, "attractors");
    for (size_t i = 0; i < b->n_attractors; i++) {
        const dyn_attractor *a = &b->attractors[i];
        add_attractor(json, attractors, a, ids != NULL ? ids[i] : a->id, size);
    }
    cJSON *fractions = cli_json_child(json, parent, "fractions");
    for (size_t i = 0; i < b->n_attractors; i++) {
        const int32_t id = ids != NULL ? ids[i] : b->attractors[i].id;
        cli_json_real(json, fractions, cli_basins_word(id, word), b->attractors[i].fraction);
    }
    for (size_t i = 0; i < DYN_BASIN_OUTCOMES; i++) {
        cli_json_real(json, fractions, dyn_basin_outcome_word(-1 - (int32_t)i),
                      (double)b->counts[i] / (double)b->n_starts);
    }
    cJSON *unresolved = cli_json_child(json, parent, "unresolved");
    for (size_t i = 0; i < DYN_JUDGED_COUNT; i++) {
        if (b->verdicts[i] > 0) {
            cli_json_size(json, unresolved, judged_words[i], b->verdicts[i]);
        }
    }
    cli_json_bool(json, parent, "too_many", b->too_many);
}

static void add_entropy(cli_json *json, const cli_basins_job *job)
{
    const dyn_basin_entropy *e = &job->entropy;
    if (!job->has_entropy) {
        cli_json_null(json, json->object, "entropy");
        cli_json_null(json, json->object, "boundary_entropy");
        return;
    }
    cli_json_real(json, json->object, "entropy", e->entropy);
    cli_json_real(json, json->object, "boundary_entropy", e->boundary_entropy);
    cli_json_real(json, json->object, "boundary_entropy_error", e->boundary_error);
    cli_json_bool(json, json->object, "above_ln2", e->above_ln2);
    cli_json_size(json, json->object, "entropy_box", e->box);
    cli_json_size(json, json->object, "entropy_boxes", e->n_boxes);
    cli_json_size(json, json->object, "boundary_boxes", e->n_boundary);
}

static void add_uncertainty(cli_json *json, const dyn_uncertainty *u)
{
    cJSON *item = cli_json_child(json, json->object, "uncertainty");
    cli_json_real(json, item, "exponent", u->exponent);
    cli_json_real(json, item, "exponent_error", u->exponent_error);
    cli_json_real(json, item, "boundary_dimension", u->boundary_dimension);
    cli_json_size(json, item, "n_fitted", u->n_fitted);
    cli_json_text(json, item, "status", kern_status_word(u->status));
    cJSON *scales = cli_json_array(json, item, "scales");
    for (size_t i = 0; i < u->n; i++) {
        cJSON *scale = cli_json_child(json, scales, NULL);
        cli_json_real(json, scale, "epsilon", u->scales[i].epsilon);
        cli_json_real(json, scale, "fraction", u->scales[i].fraction);
        cli_json_size(json, scale, "decided", u->scales[i].decided);
        cli_json_size(json, scale, "uncertain", u->scales[i].uncertain);
    }
}

static void add_columns(cli_json *json, const cli_basins_job *job)
{
    const dyn_basins_sweep *sweep = &job->sweep;
    cli_json_text(json, json->object, "vary", job->s->vary.name);
    cli_json_real(json, json->object, "threshold", sweep->threshold);
    cli_json_size(json, json->object, "n_ids", sweep->n_ids);
    cJSON *columns = cli_json_array(json, json->object, "columns");
    for (size_t i = 0; i < sweep->n; i++) {
        const dyn_basins_column *c = &sweep->columns[i];
        cJSON *column = cli_json_child(json, columns, NULL);
        cli_json_real(json, column, "parameter", c->parameter);
        add_basins(json, column, &c->basins, c->ids, job->system.map->size);
    }
}

/* Without verifications: no start has more. */
static double steps_at_most(const cli_basins_job *job)
{
    const dyn_basins_options *o = &job->o;
    const bool tails = strcmp(dyn_basins_methods[o->method]->name, "features") == 0;
    return (double)job->n_starts * (double)(tails ? o->settle + o->tail : o->horizon);
}

static void add_estimate(cli_json *json, const cli_basins_job *job)
{
    cli_json_bool(json, json->object, "dry_run", true);
    cli_json_size(json, json->object, "bytes", job->bytes);
    cli_json_real(json, json->object, "steps_at_most", steps_at_most(job));
    cli_json_real(json, json->object, "seconds", job->seconds);
    cli_json_real(json, json->object, "seconds_per_step", job->step_seconds);
    if (job->assumed > 0) {
        cli_json_size(json, json->object, "assumed_steps", job->assumed);
    } else {
        cli_json_null(json, json->object, "assumed_steps");
    }
}

static kern_status print_json(const cli_basins_job *job, kern_error *err)
{
    cli_json json;
    cli_json_init(&json);
    cli_basins_describe(&json, job);
    if (job->s->dry_run) {
        add_estimate(&json, job);
    } else if (job->s->vary.name != NULL) {
        add_columns(&json, job);
    } else {
        add_basins(&json, json.object, &job->basins, NULL, job->system.map->size);
        cli_json_real(&json, json.object, "radius", job->basins.radius);
        add_entropy(&json, job);
    }
    if (job->has_uncertainty) {
        add_uncertainty(&json, &job->uncertainty);
    }
    cli_json_text(&json, json.object, "status", kern_status_word(job->outcome));
    return cli_json_print(&json, err);
}

/* ---- Tables ------------------------------------------------------------------------------- */

static void print_attractor(const dyn_attractor *a, int32_t id, size_t size)
{
    (void)printf("%12" PRId32 " ", id);
    if (a->period > 0) {
        (void)printf("%6zu", a->period);
    } else {
        (void)printf("%6s", "-");
    }
    (void)printf(" %10.6f %9.6f %11.5g  at", a->fraction, a->fraction_error, a->exponent);
    for (size_t i = 0; i < size && i < SHOWN_COORDINATES; i++) {
        (void)printf(" %.9g", a->points[i]);
    }
    (void)printf("%s\n", size > SHOWN_COORDINATES ? " ..." : "");
}

static void print_basins(const dyn_basins *b, const int32_t *ids, size_t size)
{
    (void)printf("%12s %6s %10s %9s %11s\n", "label", "period", "fraction", "error", "exponent");
    for (size_t i = 0; i < b->n_attractors; i++) {
        print_attractor(&b->attractors[i], ids != NULL ? ids[i] : b->attractors[i].id, size);
    }
    for (size_t i = 0; i < DYN_BASIN_OUTCOMES; i++) {
        if (b->counts[i] > 0) {
            const int32_t label = -1 - (int32_t)i;
            const double f = (double)b->counts[i] / (double)b->n_starts;
            (void)printf("%12s %6s %10.6f %9.6f %11s  %s\n", dyn_basin_outcome_word(label), "", f,
                         sqrt(f * (1.0 - f) / (double)b->n_starts), "",
                         dyn_basin_outcome_gloss(label));
        }
    }
    for (size_t i = 0; i < DYN_JUDGED_COUNT; i++) {
        if (b->verdicts[i] > 0) {
            (void)printf("%zu unresolved starts: %s\n", b->verdicts[i], judged_words[i]);
        }
    }
    if (b->too_many) {
        (void)printf("there are more attractors than %zu\n", b->n_attractors);
    }
}

static void print_entropy(const dyn_basin_entropy *e)
{
    (void)printf("\nbasin entropy %.6g over %zu boxes of %zu cells a side\n", e->entropy,
                 e->n_boxes, e->box);
    if (e->n_boundary == 0) {
        (void)printf("no boundary between basins in these boxes\n");
    } else if (e->n_boundary == 1) {
        (void)printf("boundary basin entropy %.6g, of one box, which decides nothing\n",
                     e->boundary_entropy);
    } else {
        (void)printf("boundary basin entropy %.6g +- %.2g over %zu boxes: %s\n",
                     e->boundary_entropy, e->boundary_error, e->n_boundary,
                     e->above_ln2 ? "above ln 2, a fractal boundary at this resolution"
                                  : "not above ln 2, which decides nothing");
    }
}

static void print_measures(const cli_basins_job *job)
{
    const dyn_basin_entropy *e = &job->entropy;
    const dyn_uncertainty *u = &job->uncertainty;
    if (job->has_entropy) {
        print_entropy(e);
    }
    if (job->has_uncertainty && u->status != KERN_OK) {
        (void)printf("uncertainty exponent not found: %zu of %zu distances have 10 uncertain "
                     "points and 10 others, and a line needs 3; give more --points\n",
                     u->n_fitted, u->n);
    } else if (job->has_uncertainty) {
        (void)printf("uncertainty exponent %.5g +- %.2g over %zu of %zu distances from %.2g to "
                     "%.2g of the box; boundary dimension %.5g\n",
                     u->exponent, u->exponent_error, u->n_fitted, u->n, u->scales[0].epsilon,
                     u->scales[u->n - 1].epsilon, u->boundary_dimension);
    }
}

static void print_estimate(const cli_basins_job *job)
{
    (void)printf("%zu starts, %.3g MiB for labels, at most %.3g steps, about %.2g s\n",
                 job->n_starts, (double)job->bytes / 1048576.0, steps_at_most(job), job->seconds);
    if (job->assumed > 0) {
        (void)printf(
            "No start was followed, as a step takes %.2g s; the time is that of %zu steps a "
            "start.\n",
            job->step_seconds, job->assumed);
    }
}

static void print_text(const cli_basins_job *job)
{
    const size_t size = job->system.map->size;
    const dyn_map_kind *kind = job->system.map->kind;
    (void)printf("%s: %s\n", kind->name, kind->formula);
    if (job->o.starts.kind == DYN_BASIN_RANDOM && job->s->starts == 0) {
        (void)printf("Few starts are drawn for a map of %zu coordinates; --starts asks for more.\n",
                     size);
    }
    if (job->s->dry_run) {
        print_estimate(job);
        return;
    }
    (void)printf("%zu starts, %s\n", job->n_starts, dyn_basins_methods[job->o.method]->name);
    for (size_t i = 0; i < job->sweep.n; i++) {
        const dyn_basins_column *c = &job->sweep.columns[i];
        (void)printf("\n%s = %.9g\n", job->s->vary.name, c->parameter);
        print_basins(&c->basins, c->ids, size);
    }
    if (job->s->vary.name == NULL) {
        print_basins(&job->basins, NULL, size);
        print_measures(job);
    }
}

kern_status cli_basins_print(const cli_basins_job *job, kern_error *err)
{
    if (job->s->json) {
        return print_json(job, err);
    }
    print_text(job);
    return KERN_OK;
}
