/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * preconditioner-definite: when P = diag(softplus δ) + U Vᵀ + V Uᵀ is positive definite.
 *
 * U Vᵀ + V Uᵀ = ½(U+V)(U+V)ᵀ − ½(U−V)(U−V)ᵀ, so that by Weyl's inequality λmin(P) ≥ min softplus δ
 * − ½‖U − V‖₂²: the sufficient test, a theorem. It is not necessary: Cholesky's decomposition
 * decides. Of a run it is a property, that every P is positive definite beyond rounding.
 *
 * Rounding. With D, r the sizes, the entries of P are off by (2r + 4)u of the sums of magnitudes,
 * which ‖P‖₂ may be off by D times; Jacobi's eigenvalues are those of a matrix 2D u‖P‖_F away,
 * ‖P‖_F ≤ √D ‖P‖₂, and ‖P‖ ≤ max softplus δ + 2‖U‖_F‖V‖_F =: S. Together (2D√D + (2r + 4)D) u S,
 * for either side.
 */
#include "models/verify/verify_cem_instance.h"
#include "models/verify/verify_dense.h"
#include "models/verify/verify_table.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define ROUND (0.5 * DBL_EPSILON)

enum { WIDTH_MAX = 1 << 12, RANK_MAX = 1 << 10 };

/* ---- drawing ----------------------------------------------------------------------------------
 */

static kern_status draw(const verify_subject *subject, kern_rng *rng, size_t trial,
                        verify_work *work, verify_record *record, kern_error *err)
{
    static const char *const names[] = {"p_delta", "p_u", "p_v"};
    const size_t width = 2 + kern_rng_below(rng, 9);
    const size_t rank = 1 + kern_rng_below(rng, 3);
    const double scale = pow(10.0, 2.0 * kern_rng_uniform(rng) - 1.5);
    (void)subject;
    (void)work;
    KERN_TRY(verify_record_put_number(record, "width", (double)width, err));
    KERN_TRY(verify_record_put_number(record, "rank", (double)rank, err));
    for (size_t k = 0; k < 3; k++) {
        const size_t rows = k == 0 ? 1 : width;
        const size_t cols = k == 0 ? width : rank;
        double *values = NULL;
        KERN_TRY(verify_record_put(record, names[k], rows, cols, &values, err));
        for (size_t i = 0; i < rows * cols; i++) {
            values[i] =
                k == 0 && trial % 2 == 0 ? 0.5 : (k == 0 ? 1.0 : scale) * kern_rng_normal(rng);
        }
    }
    return KERN_OK;
}

/* One P after another, over layers and parts. */
static kern_status draw_run(const verify_subject *subject, kern_rng *rng, size_t trial,
                            verify_work *work, verify_record *record, kern_error *err)
{
    static const char *const names[] = {"p_delta", "p_u", "p_v"};
    const model_config *c = &subject->m->config;
    const size_t parts = c->attn == MODEL_ATTN_CEM && c->ffn == MODEL_FFN_CEM ? 2 : 1;
    const size_t index = trial % (parts * c->n_layer);
    const bool attention = parts == 2 ? index % 2 == 0 : c->attn == MODEL_ATTN_CEM;
    char name[MODEL_PARAM_NAME];
    (void)rng;
    (void)work;
    KERN_TRY(verify_record_put_number(record, "width", (double)subject->width, err));
    KERN_TRY(verify_record_put_number(record, "rank", (double)c->cem.p_rank, err));
    KERN_TRY(verify_record_put_number(record, "layer", (double)(index / parts), err));
    KERN_TRY(verify_record_put_word(record, "part", attention ? "attn" : "mlp", err));
    for (size_t k = 0; k < 3; k++) {
        size_t rows = 0;
        size_t cols = 0;
        (void)snprintf(name, sizeof name, "layers.%zu.%s.%s", index / parts,
                       attention ? "attn" : "mlp", names[k]);
        const double *values = verify_subject_tensor(subject, name, &rows, &cols);
        if (values == NULL) {
            return kern_raise(err, KERN_NOT_FOUND, "the run has no tensor \"%s\"", name);
        }
        KERN_TRY(verify_record_put_copy(record, names[k], rows, cols, values, err));
    }
    return KERN_OK;
}

static const char *applies(const verify_subject *subject)
{
    const char *other = verify_subject_needs_cem(subject);
    if (other != NULL) {
        return other;
    }
    return subject->m->config.cem.precond == MODEL_PRECOND_DLR
               ? NULL
               : "it has no preconditioner of the form diag(softplus delta) + U V' + V U'";
}

/* ---- checking ---------------------------------------------------------------------------------
 */

typedef struct spectrum {
    double smallest;   /* λmin(P) */
    double sufficient; /* min softplus δ − ½‖U − V‖₂² */
    double rounding;
    double size; /* S */
} spectrum;

/* ½‖U − V‖₂² from the r×r matrix (U−V)ᵀ(U−V). */
static kern_status half_square(const double *u, const double *v, size_t width, size_t rank,
                               double *half, verify_work *work, kern_error *err)
{
    double *square = NULL;
    double *values = NULL;
    KERN_TRY(verify_work_take_zeros(work, rank * rank, &square, err));
    KERN_TRY(verify_work_take(work, rank, &values, err));
    for (size_t k = 0; k < width; k++) {
        const double *a = u + k * rank;
        const double *b = v + k * rank;
        for (size_t i = 0; i < rank * rank; i++) {
            square[i] += (a[i / rank] - b[i / rank]) * (a[i % rank] - b[i % rank]);
        }
    }
    verify_dense_symmetric(rank, square, values, NULL);
    *half = 0.5 * values[rank - 1];
    return KERN_OK;
}

static kern_status measure(const verify_record *record, spectrum *s, verify_work *work,
                           kern_error *err)
{
    size_t width = 0;
    size_t rank = 0;
    const double *delta = NULL;
    const double *u = NULL;
    const double *v = NULL;
    double *p = NULL;
    double *values = NULL;
    double half = 0.0;
    double least = HUGE_VAL;
    double most = 0.0;
    double squares[2] = {0.0, 0.0};
    KERN_TRY(verify_record_get_size(record, "width", 1, WIDTH_MAX, &width, err));
    KERN_TRY(verify_record_get_size(record, "rank", 1, RANK_MAX, &rank, err));
    KERN_TRY(verify_record_get(record, "p_delta", 1, width, &delta, err));
    KERN_TRY(verify_record_get(record, "p_u", width, rank, &u, err));
    KERN_TRY(verify_record_get(record, "p_v", width, rank, &v, err));
    KERN_TRY(verify_work_take(work, width * width, &p, err));
    KERN_TRY(verify_work_take(work, width, &values, err));
    KERN_TRY(verify_cem_read_dlr(record, width, p, err));
    verify_dense_symmetric(width, p, values, NULL);
    KERN_TRY(half_square(u, v, width, rank, &half, work, err));
    for (size_t i = 0; i < width; i++) {
        const double softplus = fmax(delta[i], 0.0) + log1p(exp(-fabs(delta[i])));
        least = fmin(least, softplus);
        most = fmax(most, softplus);
    }
    for (size_t i = 0; i < width * rank; i++) {
        squares[0] += u[i] * u[i];
        squares[1] += v[i] * v[i];
    }
    s->smallest = values[0];
    s->sufficient = least - half;
    s->size = most + 2.0 * sqrt(squares[0] * squares[1]) + squares[0] + squares[1];
    s->rounding =
        (2.0 * sqrt((double)width) + (double)(2 * rank + 4)) * (double)width * ROUND * s->size;
    return KERN_OK;
}

static kern_status check_weyl(const verify_record *record, verify_work *work,
                              verify_outcome *outcome, kern_error *err)
{
    spectrum s;
    KERN_TRY(measure(record, &s, work, err));
    outcome->left = s.sufficient;
    outcome->right = s.smallest;
    outcome->tolerance = 2.0 * s.rounding;
    outcome->scale = s.size;
    return KERN_OK;
}

static kern_status check_definite(const verify_record *record, verify_work *work,
                                  verify_outcome *outcome, kern_error *err)
{
    spectrum s;
    KERN_TRY(measure(record, &s, work, err));
    outcome->left = s.rounding;
    outcome->right = s.smallest;
    outcome->tolerance = 0.0;
    outcome->scale = s.size;
    outcome->label = s.sufficient > s.rounding ? "positive definite by the sufficient test"
                     : s.smallest > s.rounding ? "positive definite, though the sufficient test "
                                                 "leaves it open"
                                               : "not positive definite";
    verify_outcome_add(outcome, "smallest_eigenvalue", s.smallest);
    verify_outcome_add(outcome, "sufficient", s.sufficient);
    verify_outcome_add(outcome, "definite", s.smallest > s.rounding ? 1.0 : 0.0);
    return KERN_OK;
}

const verify_claim verify_preconditioner_definite = {
    .name = "preconditioner-definite",
    .kind = VERIFY_THEOREM,
    .needs = VERIFY_RANDOM,
    .statement =
        "The smallest eigenvalue of P = diag(softplus delta) + U V' + V U' is at least min "
        "softplus delta - |U - V|_2^2/2, so that P is positive definite when that is "
        "positive.",
    .source = "docs/theory.md, section 16",
    .measured = "left: min softplus delta - |U - V|_2^2/2; right: the smallest eigenvalue of P",
    .trials = 100000,
    .draw = draw,
    .check = check_weyl,
};

const verify_claim verify_preconditioner_definite_run = {
    .name = "preconditioner-definite",
    .kind = VERIFY_PROPERTY,
    .needs = VERIFY_RUN,
    .statement =
        "Every preconditioner P = diag(softplus delta) + U V' + V U' of the run is positive "
        "definite beyond rounding.",
    .source = "docs/theory.md, section 16",
    .measured = "left: what the smallest eigenvalue may be off by; right: the smallest eigenvalue",
    .trials = 64,
    .applies = applies,
    .draw = draw_run,
    .check = check_definite,
};
