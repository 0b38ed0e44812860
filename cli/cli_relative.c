/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/cli_relative.h"

#include "cli/cli_progress.h"
#include "cli/cli_signal.h"
#include "models/model_dynamics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

kern_status cli_relative_solve(cli_relative *r, cli_map *system, const double *state,
                               const dyn_cascade_options *options, kern_error *err)
{
    dyn_cascade_options o = *options;
    cli_progress progress;
    o.progress = cli_run_watch;
    o.context = &progress;
    cli_signal_watch();
    cli_progress_start(&progress, "solving", 0, system->map->block_count, "blocks", 1.0);
    const kern_status status = dyn_cascade_init(&r->cascade, system->map, state, &o, err);
    cli_progress_finish(&progress);
    return status;
}

void cli_relative_fini(cli_relative *r)
{
    dyn_cascade_fini(&r->cascade);
    free(r->margins);
    *r = (cli_relative){0};
}

/* c, with the factor step_scale of a model's map. */
static double find_eta(const cli_map *system)
{
    size_t index;
    if (!system->has_run ||
        dyn_map_find_param(system->map, "step_scale", &index, NULL) != KERN_OK) {
        return (double)NAN;
    }
    return model_dynamics_scalar_eta(system->run.m) * system->map->params[index];
}

/* `numbers` holds the radial and tangential parts of every block, and a block of workspace. */
static void fill_margins(cli_relative *r, const cli_map *system, const dyn_multipliers *m,
                         double *numbers)
{
    dyn_map *map = system->map;
    const size_t n = map->block_count;
    dyn_chart_update(map, r->cascade.state, numbers, numbers + n, numbers + 2 * n);
    for (size_t i = 0; i < m->n_blocks; i++) {
        const size_t block = m->blocks[i].block;
        const bool solved = r->cascade.blocks[block].status == KERN_OK;
        const double radial = solved ? numbers[block] : (double)NAN;
        r->margins[block] = dyn_chart_find_margins(map, &m->blocks[i], radial);
    }
}

kern_status cli_relative_measure(cli_relative *r, const cli_map *system, const dyn_multipliers *m,
                                 kern_error *err)
{
    const dyn_map *map = system->map;
    if (!dyn_chart_is(map)) {
        return KERN_OK;
    }
    double *numbers = malloc((2 * map->block_count + map->block_width) * sizeof *numbers);
    r->margins = calloc(map->block_count, sizeof *r->margins);
    if (numbers == NULL || r->margins == NULL) {
        free(numbers);
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu tokens", map->block_count);
    }
    fill_margins(r, system, m, numbers);
    free(numbers);
    r->eta = find_eta(system);
    return KERN_OK;
}

/* ---- Results ------------------------------------------------------------------------------ */

void cli_relative_add(cli_json *json, cJSON *parent, const cli_relative *r, size_t block)
{
    if (r->cascade.blocks != NULL) {
        const dyn_cascade_block *b = &r->cascade.blocks[block];
        cJSON *solve = cli_json_child(json, parent, "solve");
        cli_json_text(json, solve, "status", kern_status_word(b->status));
        cli_json_bool(json, solve, "conditional", b->conditional);
        cli_json_text(json, solve, "start", dyn_cascade_start_word(b->start));
        cli_json_size(json, solve, "iterations", b->iterations);
        cli_json_real(json, solve, "residual", b->residual);
    }
    if (r->margins != NULL) {
        const dyn_chart_margins *m = &r->margins[block];
        cli_json_real(json, parent, "sigma", m->sigma);
        cli_json_real(json, parent, "radial", m->radial);
        cli_json_real(json, parent, "kappa", -m->radial / r->eta);
        cli_json_real(json, parent, "flip_rate", m->flip);
        cli_json_real(json, parent, "ns_rate", m->ns);
        cli_json_real(json, parent, "lost_rate", m->lost);
        cli_json_size(json, parent, "complex", m->n_complex);
    }
}

/* A rate, or a dash where there is none. */
static void print_rate(double rate)
{
    if (isfinite(rate)) {
        (void)printf(" %12.6g", rate);
    } else {
        (void)printf(" %12s", "-");
    }
}

static void print_margins(const cli_relative *r, size_t block)
{
    const dyn_chart_margins *m = &r->margins[block];
    (void)printf(" %12.6g %12.4g", m->sigma, m->radial);
    print_rate(-m->radial / r->eta);
    print_rate(m->flip);
    print_rate(m->ns);
    print_rate(m->lost);
    (void)printf(" %8zu", m->n_complex);
}

void cli_relative_print(const cli_relative *r, const cli_map *system)
{
    size_t complex = 0;
    (void)printf("%6s %-14s %9s", "token", "solved", "residual");
    if (r->margins != NULL) {
        (void)printf(" %12s %12s %12s %12s %12s %12s %8s", "sigma", "radial", "kappa", "flip rate",
                     "NS rate", "lost at", "complex");
    }
    (void)printf("\n");
    for (size_t a = 0; a < r->cascade.n_blocks; a++) {
        const dyn_cascade_block *b = &r->cascade.blocks[a];
        (void)printf("%6zu %-14s %9.2g", a + system->first_token,
                     b->conditional && b->status == KERN_OK ? "conditional"
                                                            : kern_status_word(b->status),
                     b->residual);
        if (r->margins != NULL) {
            print_margins(r, a);
            complex += r->margins[a].n_complex;
        }
        (void)printf("\n");
    }
    if (r->margins != NULL) {
        (void)printf("\nscales pinned at: %s; rates are factors on eta/sigma, 1 is the map's own\n",
                     system->pinned);
    }
    if (complex > 0) {
        (void)printf("%zu complex multipliers: outside the certified family, whose multipliers are "
                     "real\n",
                     complex);
    }
    (void)printf("\n");
}
