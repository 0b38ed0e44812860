/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Witnesses of all refuted claims, confirmed by code that shares nothing with the searches: each is
 * written to a file, read back, and looked at by a checker of a few lines that knows only the
 * statement's definitions. Gradients are differences of energies.
 */
#define _XOPEN_SOURCE 700

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernels/kern_blas.h"
#include "models/verify/verify_file.h"
#include "models/verify/verify_table.h"
#include "tests/models/model_test_folder.h"
#include "tests/models/model_test_graph.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 }; /* numbers of a state */

/* ---- reading a record -------------------------------------------------------------------------
 */

static const double *array(const verify_record *r, const char *name)
{
    const verify_entry *e = verify_record_find(r, name);
    return e != NULL && e->rows > 0 ? e->values : NULL;
}

static double number(const verify_record *r, const char *name)
{
    const double *values = array(r, name);
    assert_non_null(values);
    return values[0];
}

static size_t count(const verify_record *r, const char *name)
{
    return array(r, name) != NULL ? (size_t)number(r, name) : 0;
}

static bool says(const verify_record *r, const char *name, const char *word)
{
    const verify_entry *e = verify_record_find(r, name);
    return e != NULL && strcmp(e->word, word) == 0;
}

/* ---- energies of NRGPT ------------------------------------------------------------------------
 */

/* Sum over the prefix, and over `own` as one more key when it is not NULL. */
static double attention(const verify_record *r, const double *g, const double *own)
{
    const size_t d = count(r, "width");
    const size_t k = count(r, "prefix");
    const double beta = number(r, "beta");
    double energy = 0;
    for (size_t h = 0; h < count(r, "heads"); h++) {
        double sum = 0;
        for (size_t b = 0; b < k + (own != NULL); b++) {
            const double *key = b < k ? array(r, "context") + b * d : own;
            double score = 0;
            for (size_t i = 0; i < d * d; i++) {
                score += key[i / d] * array(r, "J")[h * d * d + i] * g[i % d];
            }
            sum += exp(beta * score);
        }
        energy -= sum > 0 ? array(r, "alpha")[h] / beta * log(sum) : 0;
    }
    return energy;
}

static double unit_of(const verify_record *r, double z)
{
    return says(r, "act", "relu")       ? fmax(z, 0)
           : says(r, "act", "softplus") ? log1p(exp(-fabs(z))) + fmax(z, 0)
                                        : 0.5 * z * (1 + erf(z / sqrt(2)));
}

static double feed_forward(const verify_record *r, const double *g)
{
    const size_t d = count(r, "width");
    const size_t m = count(r, "hidden");
    double energy = 0;
    for (size_t j = 0; j < m; j++) {
        double z = array(r, "b1")[j];
        double pull = 0;
        for (size_t i = 0; i < d; i++) {
            z += array(r, "W1")[j * d + i] * g[i];
            pull += array(r, "W2") != NULL ? g[i] * array(r, "W2")[i * m + j] : 0;
        }
        const double f = unit_of(r, z);
        energy -= says(r, "ff", "ff1") ? f * f : pull * f;
    }
    for (size_t i = 0; array(r, "b2") != NULL && i < d; i++) {
        energy -= g[i] * array(r, "b2")[i];
    }
    return m > 0 ? number(r, "scale_ff") * energy : 0;
}

/* ---- what all checkers share ------------------------------------------------------------------
 */

typedef double energy_fn(const verify_record *r, const double *g, const double *own);

static double nrgpt(const verify_record *r, const double *g, const double *own)
{
    return attention(r, g, own) + feed_forward(r, g);
}

static double moving_nrgpt(const verify_record *r, const double *g, const double *own)
{
    (void)own;
    return nrgpt(r, g, says(r, "mask", "inclusive") ? g : NULL);
}

/* Differences over ±h and ±h/2: error h⁴ and a rounding over h. */
static void slope(energy_fn *energy, const verify_record *r, const double *g, const double *own,
                  double *out)
{
    const size_t d = count(r, "width");
    const double h = 1e-3;
    double at[MOST];
    memcpy(at, g, d * sizeof *g);
    for (size_t i = 0; i < d; i++) {
        double e[4];
        for (int side = 0; side < 4; side++) {
            at[i] = g[i] + (side % 2 == 0 ? h : -h) * (side < 2 ? 1 : 0.5);
            e[side] = energy(r, at, own);
        }
        at[i] = g[i];
        out[i] = (8 * (e[2] - e[3]) - (e[0] - e[1])) / (6 * h);
    }
}

/* g = γ ⊙ x̂ + δ (δ = 0 where the record has none); σ. */
static double normalise(const verify_record *r, const double *x, double *g)
{
    const size_t d = count(r, "width");
    const bool centre = says(r, "norm", "layernorm");
    double mean = 0;
    double square = 0;
    for (size_t i = 0; i < d; i++) {
        mean += centre ? x[i] / (double)d : 0;
    }
    for (size_t i = 0; i < d; i++) {
        square += (x[i] - mean) * (x[i] - mean);
    }
    const double sigma = sqrt(square / (double)d + number(r, "epsilon"));
    for (size_t i = 0; i < d; i++) {
        g[i] = array(r, "gamma")[i] * (x[i] - mean) / sigma;
        g[i] += array(r, "delta") != NULL ? array(r, "delta")[i] : 0;
    }
    return sigma;
}

static double length(const double *v, size_t d)
{
    return sqrt(test_dot(v, v, d));
}

/* ---- checkers: true when the record contradicts the statement ---------------------------------
 */

/* x ← x − cγ ⊙ ∇E: the length of the first and last step, and the largest rise in the second half.
 */
static void walk(const verify_record *r, double moves[2], double *rise)
{
    const size_t d = count(r, "width");
    const size_t steps = count(r, "steps");
    double x[MOST];
    double g[MOST];
    double v[MOST];
    double before = 0;
    memcpy(x, array(r, "x"), d * sizeof *x);
    *rise = 0;
    for (size_t t = 0; t < steps; t++) {
        (void)normalise(r, x, g);
        const double energy = moving_nrgpt(r, g, NULL);
        *rise = t > steps / 2 ? fmax(*rise, energy - before) : 0;
        before = energy;
        slope(moving_nrgpt, r, g, NULL, v);
        for (size_t i = 0; i < d; i++) {
            v[i] *= number(r, "c") * array(r, "gamma")[i];
            x[i] -= v[i];
        }
        moves[t > 0] = length(v, d);
    }
}

static bool does_not_settle(const verify_record *r)
{
    double moves[2];
    double rise;
    walk(r, moves, &rise);
    return moves[1] > 1e-3 * moves[0];
}

static bool rises_late(const verify_record *r)
{
    double moves[2];
    double rise;
    walk(r, moves, &rise);
    return rise > 1e-8;
}

/* Along the ray the energy falls ever faster, and far out it is below what an RMSNorm allows. */
static bool falls_for_ever(const verify_record *r)
{
    const size_t d = count(r, "width");
    double energies[4];
    double at[MOST];
    double size = 0;
    for (int k = 0; k < 4; k++) {
        const double t = k == 0 ? 0 : number(r, "t") * pow(4, k - 1);
        for (size_t i = 0; i < d; i++) {
            at[i] = array(r, "x")[i] + t * array(r, "ray")[i];
        }
        energies[k] = moving_nrgpt(r, at, NULL);
    }
    /* The least energy of 10,000 states on the sphere, and the record's own. */
    double least = HUGE_VAL;
    double *normal = test_normals(10000 * d, 1, 3);
    for (size_t k = 0; k < 10000; k++) {
        size = length(normal + k * d, d) / sqrt((double)d);
        for (size_t i = 0; i < d; i++) {
            at[i] = normal[k * d + i] / size;
        }
        least = fmin(least, moving_nrgpt(r, at, NULL));
    }
    free(normal);
    const double first = (energies[1] - energies[0]) / number(r, "t");
    const double second = (energies[2] - energies[1]) / (3 * number(r, "t"));
    const double third = (energies[3] - energies[2]) / (12 * number(r, "t"));
    return energies[1] < least && first < 0 && second <= first * (1 - 1e-9) + 1e-9 &&
           third <= second * (1 - 1e-9) + 1e-9;
}

/* The gradient with the token's own key held, which the published update follows, is another than
 * that of the energy, also behind η. */
static bool is_no_gradient(const verify_record *r)
{
    const size_t d = count(r, "width");
    double g[MOST];
    double held[MOST];
    double whole[MOST];
    double step[MOST] = {0};
    (void)normalise(r, array(r, "x"), g);
    slope(nrgpt, r, g, g, held);
    slope(moving_nrgpt, r, g, NULL, whole);
    for (size_t i = 0; i < d * d; i++) {
        step[i / d] += array(r, "eta")[i] * (held[i % d] - whole[i % d]);
    }
    return says(r, "mask", "inclusive") && length(step, d) > 1e-5;
}

/* η₊ ≻ 0 and γ > 0, yet the linear energy v·g rises along −ηv. */
static bool rises_though_positive(const verify_record *r)
{
    const size_t d = count(r, "width");
    const double *eta = array(r, "eta");
    const double *v = array(r, "v");
    double u[MOST] = {0};
    double energies[2];
    double l[MOST * MOST];
    for (size_t i = 0; i < d; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = 0.5 * (eta[i * d + j] + eta[j * d + i]);
            for (size_t k = 0; k < j; k++) {
                sum -= l[i * d + k] * l[j * d + k];
            }
            if (i == j && !(sum > 0 && array(r, "gamma")[i] > 0)) {
                return false;
            }
            l[i * d + j] = i == j ? sqrt(sum) : sum / l[j * d + j];
        }
        u[i] = test_dot(eta + i * d, v, d);
    }
    for (int side = 0; side < 2; side++) {
        double x[MOST];
        double g[MOST];
        const double t = (side == 0 ? 1e-5 : -1e-5) * length(array(r, "x"), d) / length(u, d);
        for (size_t i = 0; i < d; i++) {
            x[i] = array(r, "x")[i] - t * u[i];
        }
        (void)normalise(r, x, g);
        energies[side] = test_dot(v, g, d);
    }
    return energies[0] - energies[1] > 1e-12 * (fabs(energies[0]) + length(v, d));
}

/* ---- CEM --------------------------------------------------------------------------------------
 */

static double interaction(const verify_record *r, const double *u, const double *own)
{
    const size_t d = count(r, "width");
    const size_t head = count(r, "head");
    double energy = 0;
    (void)own;
    for (size_t k = 0; k < count(r, "heads"); k++) {
        double sum = 0;
        for (size_t j = 0; j < count(r, "history"); j++) {
            double score = 0;
            for (size_t m = k * head; m < (k + 1) * head; m++) {
                score += test_dot(array(r, "wq") + m * d, u, d) *
                         test_dot(array(r, "wk") + m * d, array(r, "c") + j * d, d);
            }
            sum += exp(score / sqrt((double)head));
        }
        energy -= sqrt((double)head) * log(sum);
    }
    return energy;
}

/* One step x − ηP∇ε with the norm in it: the energy rises by far more than what is neglected. */
static bool step_rises(const verify_record *r)
{
    const size_t d = count(r, "width");
    const size_t rank = count(r, "rank");
    double u[MOST];
    double v[MOST];
    double x[MOST];
    (void)normalise(r, array(r, "x"), u);
    const double before = interaction(r, u, NULL);
    slope(interaction, r, u, NULL, v);
    for (size_t i = 0; i < d; i++) {
        double moved = rank > 0 ? log1p(exp(array(r, "p_delta")[i])) * v[i] : v[i];
        for (size_t k = 0; k < rank * d; k++) {
            const double *a = array(r, "p_u");
            const double *b = array(r, "p_v");
            const size_t j = k / rank;
            moved += (a[i * rank + k % rank] * b[k] + b[i * rank + k % rank] * a[k]) * v[j];
        }
        x[i] = array(r, "x")[i] - number(r, "eta") * moved;
    }
    (void)normalise(r, x, u);
    return says(r, "place", "step") && says(r, "diag", "none") && says(r, "rope", "none") &&
           interaction(r, u, NULL) > before + 1e-6;
}

/* ---- all of them ------------------------------------------------------------------------------
 */

static const struct {
    const char *claim;
    bool (*confirms)(const verify_record *record);
} checkers[] = {
    {"asymptotic-stability-state", does_not_settle},
    {"asymptotic-stability-ff2w", rises_late},
    {"energy-bounded-without-norm", falls_for_ever},
    {"update-is-gradient-published", is_no_gradient},
    {"descent-condition-positive", rises_though_positive},
    {"cem-dlr-not-monotone", step_rises},
    {"cem-identity-not-monotone", step_rises},
};

enum { CHECKERS = sizeof checkers / sizeof *checkers };

static size_t checker_of(const verify_claim *claim)
{
    size_t i = 0;
    while (i < CHECKERS && strcmp(checkers[i].claim, claim->name) != 0) {
        i++;
    }
    if (i == CHECKERS) {
        fail_msg("the refuted claim %s has no checker of its own", claim->name);
    }
    return i;
}

/* All witnesses of a seed through one file. */
static void check_seed(uint64_t seed, const char *path)
{
    static verify_result results[CHECKERS + 1];
    verify_file file = {0};
    size_t n = 0;
    for (size_t i = 0; i < verify_table_count(); i++) {
        const verify_claim *claim = verify_table_at(i);
        const verify_options o = {.seed = seed, .workers = 2};
        if (claim->kind == VERIFY_REFUTED && claim->needs == VERIFY_RANDOM) {
            (void)checker_of(claim);
            assert_true(n < CHECKERS);
            results[n] = (verify_result){0};
            TEST_OK(verify_run_claim(claim, NULL, &o, &results[n], test_err));
            assert_int_equal(results[n].verdict, VERIFY_HOLDS);
            n++;
        }
    }
    assert_true(n > 0);
    TEST_OK(verify_file_write(path, results, n, NULL, test_err));
    TEST_OK(verify_file_read(&file, path, test_err));
    assert_int_equal(file.n, n);
    for (size_t i = 0; i < n; i++) {
        assert_true(file.items[i].witness);
        if (!checkers[checker_of(file.items[i].claim)].confirms(&file.items[i].record)) {
            fail_msg("the witness of %s is not confirmed", file.items[i].claim->name);
        }
        verify_result_fini(&results[i]);
    }
    verify_file_fini(&file);
}

static void test_witnesses_are_confirmed(void **state)
{
    char path[TEST_PATH + 16];
    (void)state;
    (void)snprintf(path, sizeof path, "%s/w.h5", test_folder);
    check_seed(1, path);
}

/* A record that does not contradict its statement is not confirmed: that of a step with P = c
 * diag(γ), here η·I with γ = 1. */
static void test_checkers_can_say_no(void **state)
{
    verify_record record = {0};
    verify_work work = {0};
    double *gamma = NULL;
    (void)state;
    TEST_OK(
        verify_run_draw(&verify_cem_identity_not_monotone, NULL, 1, 0, &work, &record, test_err));
    assert_true(step_rises(&record));
    TEST_OK(verify_record_edit(&record, "gamma", 1, count(&record, "width"), &gamma, test_err));
    for (size_t i = 0; i < count(&record, "width"); i++) {
        gamma[i] = 1;
    }
    assert_false(step_rises(&record));
    verify_record_fini(&record);
    verify_work_fini(&work);
}

int main(void)
{
    kern_runtime_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_witnesses_are_confirmed),
        cmocka_unit_test(test_checkers_can_say_no),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
