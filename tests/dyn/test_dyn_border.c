/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Null vectors from bordered systems.
 */
#include "tests/dyn/dyn_test_maps.h"

#include "dyn/dyn_border.h"
#include "tests/dyn/dyn_fault_maps.h"

enum { N = 7 };

/* t = Σ_{i ≥ rank} u_i v_iᵀ for random vectors: a matrix whose null space is rank-fold. */
static void make_singular(size_t rank, double *t)
{
    double u[N * N];
    double v[N * N];
    dyn_test_fill(u, N * N, 11);
    dyn_test_fill(v, N * N, 12);
    memset(t, 0, N * N * sizeof *t);
    for (size_t k = rank; k < N; k++) {
        for (size_t i = 0; i < N; i++) {
            for (size_t j = 0; j < N; j++) {
                t[i * N + j] += u[k * N + i] * v[k * N + j];
            }
        }
    }
}

static double dot(const double *a, const double *b)
{
    double sum = 0.0;
    for (size_t i = 0; i < N; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* Largest entries of T cᵀ and Tᵀ bᵀ for row k of the borders. */
static double find_defect(const double *t, const dyn_border *border, size_t k)
{
    double largest = 0.0;
    for (size_t i = 0; i < N; i++) {
        double column = 0.0;
        for (size_t j = 0; j < N; j++) {
            column += t[j * N + i] * border->b[k * N + j];
        }
        largest = fmax(largest, fmax(fabs(column), fabs(dot(t + i * N, border->c + k * N))));
    }
    return largest;
}

static void test_null_spaces(void **state)
{
    (void)state;
    for (size_t rank = 1; rank <= 2; rank++) {
        double t[N * N];
        dyn_border border;
        MAPS_OK(dyn_border_init(&border, N, rank, maps_err));
        make_singular(rank, t);
        assert_int_equal(dyn_border_find(&border, t), KERN_OK);
        for (size_t k = 0; k < rank; k++) {
            MAPS_CLOSE(find_defect(t, &border, k), 0.0, 1e-13);
            for (size_t i = 0; i < rank; i++) {
                MAPS_CLOSE(border.g[k][i], 0.0, 1e-13);
                MAPS_CLOSE(dot(border.c + k * N, border.c + i * N), i == k ? 1.0 : 0.0, 1e-14);
                MAPS_CLOSE(dot(border.b + k * N, border.b + i * N), i == k ? 1.0 : 0.0, 1e-14);
            }
        }
        dyn_border_fini(&border);
    }
}

/* dG = −W dT Vᵀ, against a difference. */
static void test_derivatives(void **state)
{
    double t[N * N];
    double change[N * N];
    double moved[N * N];
    dyn_border border;
    double g[2][2];
    double expected[2][2] = {{0.0}};
    const double h = 1e-6;
    (void)state;
    make_singular(2, t);
    dyn_test_fill(change, N * N, 13);
    MAPS_OK(dyn_border_init(&border, N, 2, maps_err));
    assert_int_equal(dyn_border_find(&border, t), KERN_OK);
    for (size_t i = 0; i < N * N; i++) {
        moved[i] = t[i] + h * change[i];
    }
    assert_int_equal(dyn_border_solve(&border, moved), KERN_OK);
    memcpy(g, border.g, sizeof g);
    for (size_t i = 0; i < N * N; i++) {
        moved[i] = t[i] - h * change[i];
    }
    assert_int_equal(dyn_border_solve(&border, moved), KERN_OK);
    for (size_t a = 0; a < 2; a++) {
        for (size_t b = 0; b < 2; b++) {
            g[a][b] = (g[a][b] - border.g[a][b]) / (2.0 * h);
        }
    }
    assert_int_equal(dyn_border_solve(&border, t), KERN_OK);
    for (size_t a = 0; a < 2; a++) {
        for (size_t b = 0; b < 2; b++) {
            for (size_t i = 0; i < N; i++) {
                expected[a][b] -= border.w[a * N + i] * dot(change + i * N, border.v + b * N);
            }
            MAPS_CLOSE(g[a][b], expected[a][b], 1e-8);
        }
    }
    dyn_border_fini(&border);
}

/* The null matrix of as many rows as borders, and what is refused. */
static void test_edges(void **state)
{
    double t[N * N] = {0.0};
    dyn_border border;
    kern_error err = {0};
    (void)state;
    for (size_t rank = 1; rank <= 2; rank++) {
        MAPS_OK(dyn_border_init(&border, rank, rank, maps_err));
        assert_int_equal(dyn_border_find(&border, t), KERN_OK);
        MAPS_CLOSE(fabs(border.g[0][0]), 0.0, 1e-15);
        dyn_border_fini(&border);
    }
    /* A two-fold null space behind one border. */
    MAPS_OK(dyn_border_init(&border, N, 1, maps_err));
    assert_int_equal(dyn_border_find(&border, t), KERN_SINGULAR);
    t[3] = (double)NAN;
    assert_int_equal(dyn_border_solve(&border, t), KERN_NAN);
    dyn_border_fini(&border);
    assert_int_equal(dyn_border_init(&border, 1, 2, &err), KERN_INVALID_ARGUMENT);
    maps_error(&err, KERN_INVALID_ARGUMENT, "1 rows cannot have 2 borders");
    dyn_border_fini(&border);
    assert_int_equal(dyn_border_init(&border, SIZE_MAX / 4, 1, &err), KERN_OVERFLOW);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_null_spaces),
        cmocka_unit_test(test_derivatives),
        cmocka_unit_test(test_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
