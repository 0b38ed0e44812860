/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reference vectors of the Jacobian of one step: sequence 0 at state 1.
 */
#include "models/model_vectors_private.h"

#include "kernels/kern_lapack.h"
#include "models/model_map.h"

#include <math.h>
#include <stdlib.h>

/* The map and state 1 of sequence 0. */
typedef struct map_point {
    model_map *map;
    double *states; /* all of state/1; the first `size` numbers are sequence 0 */
    size_t size;
} map_point;

static kern_status map_point_init(model__checker *c, map_point *p)
{
    *p = (map_point){.size = c->tokens * c->m->config.n_embed};
    KERN_TRY(model__checker_read(c, "state/1", c->batch * p->size, &p->states));
    return model_map_create(&p->map, c->m, c->tokens, c->err);
}

static void map_point_fini(map_point *p)
{
    model_map_destroy(p->map);
    free(p->states);
}

static kern_status check_product(model__checker *c, const model_safetensors_entry *entry,
                                 const char *input, bool transposed)
{
    map_point p;
    double *vector = NULL;
    kern_status status = map_point_init(c, &p);
    if (status == KERN_OK) {
        status = model__checker_read(c, input, p.size, &vector);
    }
    if (status == KERN_OK) {
        if (transposed) {
            model_map_vjp(p.map, p.states, vector, vector);
        } else {
            model_map_jvp(p.map, p.states, vector, NULL, vector);
        }
        status = model__checker_compare(c, entry, vector, p.size, MODEL_VECTORS_TOLERANCE);
    }
    free(vector);
    map_point_fini(&p);
    return status;
}

kern_status model__check_jvp(model__checker *c, const model_safetensors_entry *entry,
                             const char *tail)
{
    (void)tail;
    return check_product(c, entry, "jvp_in", false);
}

kern_status model__check_vjp(model__checker *c, const model_safetensors_entry *entry,
                             const char *tail)
{
    (void)tail;
    return check_product(c, entry, "vjp_in", true);
}

/* Diagonal blocks ∂x'_A/∂x_A, N × D × D, one column per jvp. */
static kern_status token_blocks(model__checker *c, double *blocks)
{
    const size_t d = c->m->config.n_embed;
    map_point p;
    kern_status status = map_point_init(c, &p);
    double *unit = calloc(p.size, sizeof *unit);
    double *column = calloc(p.size, sizeof *column);
    if (status == KERN_OK && (unit == NULL || column == NULL)) {
        status = kern_raise(c->err, KERN_NO_MEMORY, "no memory for Jacobian blocks");
    }
    for (size_t k = 0; status == KERN_OK && k < p.size; k++) {
        const size_t token = k / d;
        unit[k] = 1.0;
        model_map_jvp(p.map, p.states, unit, NULL, column);
        unit[k] = 0.0;
        for (size_t i = 0; i < d; i++) {
            blocks[(token * d + i) * d + k % d] = column[token * d + i];
        }
    }
    free(unit);
    free(column);
    map_point_fini(&p);
    return status;
}

static int descending(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x < y) - (x > y);
}

/* Moduli of the eigenvalues of all blocks; `blocks` is destroyed. */
static kern_status block_moduli(model__checker *c, double *blocks, double *moduli)
{
    const size_t d = c->m->config.n_embed;
    double *parts = malloc(2 * d * sizeof *parts);
    if (parts == NULL) {
        return kern_raise(c->err, KERN_NO_MEMORY, "no memory for %zu eigenvalues", d);
    }
    kern_status status = KERN_OK;
    for (size_t a = 0; status == KERN_OK && a < c->tokens; a++) {
        status = kern_lapack_eigenvalues(d, blocks + a * d * d, parts, parts + d, c->err);
        for (size_t i = 0; status == KERN_OK && i < d; i++) {
            moduli[a * d + i] = hypot(parts[i], parts[d + i]);
        }
    }
    free(parts);
    qsort(moduli, c->tokens * d, sizeof *moduli, descending);
    return status;
}

static kern_status check_jacobian(model__checker *c, const model_safetensors_entry *entry,
                                  bool spectrum)
{
    const size_t d = c->m->config.n_embed;
    double *blocks = calloc(c->tokens * d * d, sizeof *blocks);
    double *moduli = calloc(c->tokens * d, sizeof *moduli);
    kern_status status = KERN_OK;
    if (blocks == NULL || moduli == NULL) {
        status = kern_raise(c->err, KERN_NO_MEMORY, "no memory for Jacobian blocks");
    } else {
        status = token_blocks(c, blocks);
    }
    if (status == KERN_OK && spectrum) {
        status = block_moduli(c, blocks, moduli);
    }
    if (status == KERN_OK) {
        status =
            model__checker_compare(c, entry, spectrum ? moduli : blocks,
                                   c->tokens * d * (spectrum ? 1 : d), MODEL_VECTORS_TOLERANCE);
    }
    free(blocks);
    free(moduli);
    return status;
}

kern_status model__check_blocks(model__checker *c, const model_safetensors_entry *entry,
                                const char *tail)
{
    (void)tail;
    return check_jacobian(c, entry, false);
}

kern_status model__check_spectrum(model__checker *c, const model_safetensors_entry *entry,
                                  const char *tail)
{
    (void)tail;
    return check_jacobian(c, entry, true);
}
