/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The four vectors of every token, and the lists of a plan.
 */
#include "models/model_slice_private.h"

#include "dyn/dyn_vector.h"
#include "kernels/kern_size.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Basis -------------------------------------------------------------------------------- */

static void take_mean_away(double *x, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += x[i];
    }
    for (size_t i = 0; i < n; i++) {
        x[i] -= sum / (double)n;
    }
}

/* Triangular factor of three vectors (rows of `x`), by Gram and Schmidt, each made orthogonal
 * twice. Vectors may depend on each other. `q` holds three more. */
static void find_factor(const double *x, size_t n, double *q, double factor[3][3])
{
    memset(factor, 0, 9 * sizeof(double));
    memcpy(q, x, 3 * n * sizeof *q);
    for (size_t j = 0; j < 3; j++) {
        double *own = q + j * n;
        for (int pass = 0; pass < 2; pass++) {
            for (size_t i = 0; i < j; i++) {
                const double along = dyn_vector_dot(q + i * n, own, n);
                dyn_vector_add(own, -along, q + i * n, n);
                factor[i][j] += along;
            }
        }
        factor[j][j] = dyn_vector_norm(own, n);
        for (size_t i = 0; i < n; i++) {
            own[i] = factor[j][j] > 0.0 ? own[i] / factor[j][j] : 0.0;
        }
    }
}

static void apply_gain(const model__slice_norm *norm, double *x, size_t n)
{
    for (size_t i = 0; norm->gain != NULL && i < n; i++) {
        x[i] *= norm->gain[i];
    }
}

static void add_bias(const model__slice_norm *norm, double *x, size_t n)
{
    for (size_t i = 0; norm->bias != NULL && i < n; i++) {
        x[i] += norm->bias[i];
    }
}

/* The rows of a token that moves; `q` is workspace of three vectors. */
static void make_mover(const model__slice_basis *basis, model__slice_plan *plan, size_t token,
                       const model__slice_norm *norm, double *q)
{
    const size_t n = basis->width;
    const dyn_plane *plane = plan->plane;
    const double *from[3] = {plane->centre, plane->axes[0], plane->axes[1]};
    double *rows = basis->vectors + basis->row[token] * n;
    model__slice_mover *mover = &plan->movers[basis->slot[token]];
    for (size_t i = 0; i < 3; i++) {
        memcpy(rows + i * n, from[i] + token * n, n * sizeof *rows);
        if (norm->centred && !norm->none) {
            take_mean_away(rows + i * n, n);
        }
    }
    *mover = (model__slice_mover){.token = token, .normed = !norm->none};
    if (norm->none) {
        return;
    }
    find_factor(rows, n, q, mover->factor);
    for (size_t i = 0; i < 3; i++) {
        apply_gain(norm, rows + i * n, n);
    }
    add_bias(norm, rows + 3 * n, n);
}

/* The one row of a token that is held. */
static void make_held(const model__slice_basis *basis, const model__slice_plan *plan, size_t token,
                      const model__slice_norm *norm)
{
    const size_t n = basis->width;
    double *g = basis->vectors + basis->row[token] * n;
    memcpy(g, plan->plane->centre + token * n, n * sizeof *g);
    if (norm->none) {
        return;
    }
    if (norm->centred) {
        take_mean_away(g, n);
    }
    const double sigma = sqrt(dyn_vector_dot(g, g, n) / (double)n + plan->epsilon);
    for (size_t i = 0; i < n; i++) {
        g[i] /= sigma;
    }
    apply_gain(norm, g, n);
    add_bias(norm, g, n);
}

static void number_rows(model__slice_basis *basis, const model__slice_plan *plan, size_t *movers)
{
    *movers = 0;
    for (size_t token = 0; token < basis->tokens; token++) {
        const bool moves = plan->plane->moves[token];
        basis->slot[token] = moves ? (*movers)++ : MODEL__SLICE_HELD;
        basis->row[token] = basis->rows;
        basis->rows += moves ? MODEL__SLICE_FEATURES : 1;
    }
}

kern_status model__slice_basis_init(model__slice_basis *basis, model__slice_plan *plan,
                                    size_t tokens, const model__slice_norm *norm, kern_error *err)
{
    size_t movers;
    size_t reals;
    *basis = (model__slice_basis){.tokens = tokens, .width = plan->plane->block_width};
    basis->row = calloc(2 * tokens + 1, sizeof *basis->row);
    if (basis->row == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu tokens", tokens);
    }
    basis->slot = basis->row + tokens;
    number_rows(basis, plan, &movers);
    if (!kern_size_mul(basis->rows + 3, basis->width, &reals)) {
        return kern_raise(err, KERN_OVERFLOW, "%zu vectors of %zu numbers are too many",
                          basis->rows, basis->width);
    }
    basis->vectors = calloc(reals, sizeof *basis->vectors);
    plan->movers = calloc(movers + 1, sizeof *plan->movers);
    if (basis->vectors == NULL || plan->movers == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu vectors of %zu numbers",
                          basis->rows, basis->width);
    }
    plan->n_movers = movers;
    for (size_t token = 0; token < tokens; token++) {
        if (basis->slot[token] == MODEL__SLICE_HELD) {
            make_held(basis, plan, token, norm);
        } else {
            make_mover(basis, plan, token, norm, basis->vectors + basis->rows * basis->width);
        }
    }
    return KERN_OK;
}

void model__slice_basis_fini(model__slice_basis *basis)
{
    free(basis->row);
    free(basis->vectors);
    *basis = (model__slice_basis){0};
}

size_t model__slice_basis_count(const model__slice_basis *basis, size_t token)
{
    return basis->slot[token] == MODEL__SLICE_HELD ? 1 : MODEL__SLICE_FEATURES;
}

size_t model__slice_feature(const model__slice_basis *basis, size_t token, size_t i)
{
    return basis->slot[token] == MODEL__SLICE_HELD ? MODEL__SLICE_FEATURES - 1 : i;
}

/* ---- Lists -------------------------------------------------------------------------------- */

/* Makes room for `more` entries behind n of `size` bytes; the room doubles. */
static kern_status grow(void **items, size_t n, size_t *room, size_t more, size_t size,
                        kern_error *err)
{
    size_t wanted;
    size_t bytes;
    if (!kern_size_add(n, more, &wanted) ||
        !kern_size_mul(kern_size_max(wanted, 2 * *room), size, &bytes)) {
        return kern_raise(err, KERN_OVERFLOW, "a slice of %zu entries is too large", n);
    }
    if (wanted <= *room) {
        return KERN_OK;
    }
    void *larger = realloc(*items, bytes);
    if (larger == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a slice of %zu entries", wanted);
    }
    *items = larger;
    *room = kern_size_max(wanted, 2 * *room);
    return KERN_OK;
}

kern_status model__slice_reserve(model__slice_plan *plan, size_t n, size_t *offset, kern_error *err)
{
    void *items = plan->coef;
    KERN_TRY(grow(&items, plan->n_coef, &plan->coef_room, n, sizeof *plan->coef, err));
    plan->coef = items;
    *offset = plan->n_coef;
    for (size_t i = 0; i < n; i++) {
        plan->coef[*offset + i] = 0.0;
    }
    plan->n_coef += n;
    return KERN_OK;
}

kern_status model__slice_add_part(model__slice_plan *plan, const model__slice_part *part,
                                  kern_error *err)
{
    void *items = plan->parts;
    KERN_TRY(grow(&items, plan->n_parts, &plan->parts_room, 1, sizeof *plan->parts, err));
    plan->parts = items;
    plan->parts[plan->n_parts++] = *part;
    if (part->kind == MODEL__SLICE_ATTENTION) {
        plan->most_logits = kern_size_max(plan->most_logits, part->rows);
    }
    return KERN_OK;
}

kern_status model__slice_add_run(model__slice_plan *plan, const model__slice_run *run,
                                 kern_error *err)
{
    void *items = plan->runs;
    KERN_TRY(grow(&items, plan->n_runs, &plan->runs_room, 1, sizeof *plan->runs, err));
    plan->runs = items;
    plan->runs[plan->n_runs++] = *run;
    return KERN_OK;
}

kern_status model__slice_add_units(model__slice_plan *plan, const model__slice_basis *basis,
                                   size_t token, size_t units, const double *z, const double *bias,
                                   size_t *offset, kern_error *err)
{
    size_t n;
    if (!kern_size_mul(units, MODEL__SLICE_FEATURES, &n)) {
        return kern_raise(err, KERN_OVERFLOW, "%zu hidden units are too many", units);
    }
    KERN_TRY(model__slice_reserve(plan, n, offset, err));
    double *coef = plan->coef + *offset;
    for (size_t i = 0; i < model__slice_basis_count(basis, token); i++) {
        const size_t feature = model__slice_feature(basis, token, i);
        for (size_t unit = 0; unit < units; unit++) {
            coef[unit * MODEL__SLICE_FEATURES + feature] += z[i * units + unit];
        }
    }
    for (size_t unit = 0; bias != NULL && unit < units; unit++) {
        coef[unit * MODEL__SLICE_FEATURES + MODEL__SLICE_FEATURES - 1] += bias[unit];
    }
    return KERN_OK;
}
