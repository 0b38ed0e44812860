/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What basin multipliers prints.
 */
#include "cli/cli_coarse.h"
#include "cli/cli_multipliers.h"

#include <math.h>
#include <stdio.h>

enum { SHOWN_VALUES = 8 };

/* ---- Verdicts ---------------------------------------------------------------------------- */

/* Stability is a word for states that return; a NaN residual returns nowhere. */
static bool returns(const cli_multipliers_job *job)
{
    return job->residual <= job->s->tol;
}

static double spectral_radius(const cli_multipliers_job *job)
{
    if (job->s->leading.k > 0) {
        return cli_spectrum_radius(&job->leading, &job->s->leading);
    }
    return job->status == KERN_OK ? job->result.spectral_radius : (double)NAN;
}

/* 1 stable, 0 not stable, −1 undecided. */
static int stability(const cli_multipliers_job *job)
{
    if (!returns(job)) {
        return -1;
    }
    if (job->s->leading.k > 0) {
        return cli_spectrum_verdict(&job->leading, &job->s->leading);
    }
    return job->result.stable ? 1 : 0;
}

/* ---- Printing ---------------------------------------------------------------------------- */

static void add_block(cli_json *json, cJSON *blocks, const cli_multipliers_job *job,
                      const dyn_multipliers_block *b)
{
    cJSON *block = cli_json_child(json, blocks, NULL);
    cli_json_size(json, block, "token", b->block + job->system.first_token);
    cli_json_complexes(json, block, "values", b->re, b->im, b->n);
    cli_json_size(json, block, "gauge", b->n_zeros);
    cli_json_real(json, block, "spectral_radius", b->spectral_radius);
    cli_json_real(json, block, "transient_growth", b->transient_growth);
    cli_json_size(json, block, "transient_step", b->transient_step);
    cli_json_text(json, block, "status", kern_status_word(b->status));
    cli_relative_add(json, block, &job->relative, b->block);
    if (b->vectors != NULL) {
        (void)cli_json_reals(json, block, "residuals", b->residuals, b->n);
        cli_json_eigenvectors(json, block, "vectors", b->vectors, b->n, b->im, b->n);
    }
}

static void add_blocks(cli_json *json, const cli_multipliers_job *job)
{
    const dyn_multipliers *m = &job->result;
    if (job->s->leading.k > 0) {
        cli_spectrum_add(json, &job->leading, &job->s->leading, job->system.first_token);
        return;
    }
    cJSON *blocks = cli_json_array(json, json->object, "blocks");
    for (size_t i = 0; i < m->n_blocks; i++) {
        add_block(json, blocks, job, &m->blocks[i]);
    }
}

kern_status cli_multipliers_print_json(const cli_multipliers_job *job, kern_error *err)
{
    cli_json json;
    cli_json_init(&json);
    cli_map_describe(&json, job->system.map);
    add_blocks(&json, job);
    cli_json_real(&json, json.object, "spectral_radius", spectral_radius(job));
    if (stability(job) >= 0) {
        cli_json_bool(&json, json.object, "stable", stability(job) > 0);
    } else {
        cli_json_null(&json, json.object, "stable");
    }
    (void)cli_json_reals(&json, json.object, "x", job->states, job->system.map->size);
    cli_json_size(&json, json.object, "period", job->period);
    cli_json_real(&json, json.object, "residual", job->residual);
    if (job->system.pinned != NULL) {
        cli_json_text(&json, json.object, "pinned_at", job->system.pinned);
    }
    cli_json_size(&json, json.object, "horizon", job->s->bottleneck ? 0 : job->s->horizon);
    if (job->s->bottleneck) {
        cli_json_size(&json, json.object, "bottleneck", job->system.map->block_rank);
    }
    cli_coarse_add(&json, &job->failed);
    cli_json_text(&json, json.object, "status", kern_status_word(job->status));
    return cli_json_print(&json, err);
}

static void print_block(const dyn_multipliers_block *b, size_t first_token)
{
    (void)printf("%6zu %14.9g ", b->block + first_token, b->spectral_radius);
    if (b->transient_step > 0) {
        (void)printf("%14.6g at %-4zu", b->transient_growth, b->transient_step);
    } else {
        (void)printf("%14s    %-4s", "-", "-");
    }
    const size_t n = b->n - b->n_zeros;
    for (size_t j = 0; j < n && j < SHOWN_VALUES; j++) {
        if (b->im[j] != 0.0) {
            (void)printf(" %.9g%+.9gi", b->re[j], b->im[j]);
        } else {
            (void)printf(" %.9g", b->re[j]);
        }
    }
    (void)printf("%s\n", n > SHOWN_VALUES ? " ..." : "");
}

static void print_verdict(const cli_multipliers_job *job)
{
    const double radius = spectral_radius(job);
    const int stable = stability(job);
    (void)printf("\n");
    if (isfinite(radius)) {
        (void)printf("spectral radius %.9g; ", radius);
    }
    (void)printf("period %zu, residual %.2g: ", job->period, job->residual);
    if (!returns(job)) {
        (void)printf("the state does not return, so this is the Jacobian along an orbit and no "
                     "verdict; --solve looks for a cycle\n");
    } else if (stable < 0) {
        (void)printf("no verdict on stability, which takes --which modulus\n");
    } else {
        (void)printf("%s\n", stable > 0 ? "stable" : "not stable");
    }
}

void cli_multipliers_print_text(const cli_multipliers_job *job)
{
    const dyn_multipliers *m = &job->result;
    const dyn_map *map = job->system.map;
    (void)printf("%s: %s\n\n", map->kind->name, map->kind->formula);
    if (job->s->bottleneck) {
        (void)printf("from I + C U of %zu hidden units; the state has %zu coordinates a token\n\n",
                     map->block_rank, map->block_width);
    }
    if (job->relative.cascade.blocks != NULL) {
        cli_relative_print(&job->relative, &job->system);
    }
    if (job->s->leading.k > 0) {
        cli_spectrum_print(&job->leading, &job->s->leading, job->system.first_token);
        if (dyn_chart_is(map)) {
            (void)printf("kappa and the rates at which tokens lose stability take all multipliers; "
                         "with --k they are left out\n");
        }
    }
    if (m->n_blocks > 0) {
        (void)printf("%6s %14s %14s %7s %s\n",
                     map->block_count > 1 || job->s->system.token != NULL ? "token" : "", "radius",
                     "transient", "power", "multipliers");
    }
    for (size_t i = 0; i < m->n_blocks; i++) {
        print_block(&m->blocks[i], job->system.first_token);
    }
    if (job->status != KERN_OK) {
        (void)printf("status: %s (%s)\n", kern_status_word(job->status),
                     kern_status_gloss(job->status));
        cli_coarse_print(&job->failed, job->s->tol);
        return;
    }
    print_verdict(job);
}
