/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Exponents against a parameter, and ranges of parameters.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dyn/dyn_lyapunov_scan.h"
#include "dyn/dyn_param_range.h"
#include "tests/dyn/dyn_test_maps.h"

static dyn_lyapunov_scan scan_of(const dyn_map *map, const dyn_lyapunov_scan_options *o)
{
    dyn_lyapunov_scan out;
    MAPS_OK(dyn_lyapunov_scan_init(&out, map, o, maps_err));
    return out;
}

/* Quadratic descent: ln|1 − ηλ| at every η, exactly, and −∞ where a direction is superstable. */
static void test_exact_exponents(void **state)
{
    dyn_map *map = maps_make("quadratic", "lambda=1,2");
    dyn_lyapunov_scan_options o = dyn_lyapunov_scan_options_default();
    o.vary = "eta";
    o.from = 0.125;
    o.to = 0.625;
    o.n = 5;
    o.at.k = 2;
    o.at.steps = 300;
    (void)state;
    dyn_lyapunov_scan s = scan_of(map, &o);
    assert_true(s.n == 5 && s.k == 2);
    for (size_t i = 0; i < s.n; i++) {
        const double eta = 0.125 * (double)(i + 1);
        const double a = log(fabs(1 - eta));
        const double b = log(fabs(1 - 2 * eta));
        const dyn_lyapunov_point *p = &s.points[i];
        assert_true(p->parameter == eta && p->exponents == s.exponents + 2 * i);
        assert_int_equal(p->status, KERN_OK);
        MAPS_CLOSE(p->exponents[0], fmax(a, b), 1e-9);
        if (i == 3) {
            assert_true(isinf(p->exponents[1]) && p->exponents[1] < 0);
        } else {
            MAPS_CLOSE(p->exponents[1], fmin(a, b), 1e-9);
        }
    }
    dyn_lyapunov_scan_fini(&s);
    assert_true(map->params[0] != 0.625);
    dyn_map_destroy(map);
}

static void test_workers_do_not_matter(void **state)
{
    static const int workers[] = {2, 3, 40};
    dyn_map *map = maps_make("henon", "");
    dyn_lyapunov_scan_options o = dyn_lyapunov_scan_options_default();
    o.vary = "a";
    o.from = 0.9;
    o.to = 1.5; /* the last ones diverge */
    o.n = 13;
    o.at.k = 2;
    o.at.steps = 400;
    (void)state;
    dyn_lyapunov_scan one = scan_of(map, &o);
    assert_int_equal(one.points[12].status, KERN_DIVERGED);
    assert_true(isnan(one.points[12].exponents[0]) && one.points[12].failed_step > 0);
    assert_int_equal(one.points[0].status, KERN_OK);
    for (size_t i = 0; i < sizeof workers / sizeof workers[0]; i++) {
        o.workers = workers[i];
        dyn_lyapunov_scan many = scan_of(map, &o);
        assert_memory_equal(one.exponents, many.exponents, 26 * sizeof(double));
        assert_memory_equal(one.standard_errors, many.standard_errors, 26 * sizeof(double));
        for (size_t k = 0; k < 13; k++) {
            assert_true(one.points[k].status == many.points[k].status);
            assert_memory_equal(&one.points[k].kaplan_yorke, &many.points[k].kaplan_yorke,
                                sizeof(double));
        }
        dyn_lyapunov_scan_fini(&many);
    }
    /* One value alone is what the analysis gives there. */
    dyn_lyapunov l;
    MAPS_OK(dyn_map_set_param(map, "a", one.points[3].parameter, maps_err));
    MAPS_OK(dyn_lyapunov_init(&l, map, map->start, &o.at, maps_err));
    assert_memory_equal(l.exponents, one.points[3].exponents, 2 * sizeof(double));
    dyn_lyapunov_fini(&l);
    dyn_lyapunov_scan_fini(&one);
    dyn_map_destroy(map);
}

static bool stop_after(void *context, size_t done, size_t total)
{
    assert_true(done <= total);
    return done < *(size_t *)context;
}

static void test_refusals(void **state)
{
    dyn_map *map = maps_make("coupled-logistic", "n=3");
    dyn_lyapunov_scan_options fine = dyn_lyapunov_scan_options_default();
    dyn_lyapunov_scan s;
    kern_error err = {0};
    size_t limit = 2;
    (void)state;
    fine.vary = "r";
    fine.from = 3;
    fine.to = 4;
    dyn_lyapunov_scan_options o = fine;
    o.vary = "mu";
    assert_int_not_equal(dyn_lyapunov_scan_init(&s, map, &o, &err), KERN_OK);
    maps_error(&err, KERN_INVALID_ARGUMENT, "accepted: r, eps, n");
    o.vary = "n";
    assert_int_not_equal(dyn_lyapunov_scan_init(&s, map, &o, &err), KERN_OK);
    maps_error(&err, KERN_INVALID_ARGUMENT, "cannot vary");
    o = fine;
    o.to = (double)INFINITY;
    assert_int_not_equal(dyn_lyapunov_scan_init(&s, map, &o, &err), KERN_OK);
    maps_error(&err, KERN_INVALID_ARGUMENT, "3 to inf");
    o = fine;
    o.n = 0;
    assert_int_not_equal(dyn_lyapunov_scan_init(&s, map, &o, &err), KERN_OK);
    maps_error(&err, KERN_INVALID_ARGUMENT, "is empty");
    o = fine;
    o.at.k = 4;
    assert_int_not_equal(dyn_lyapunov_scan_init(&s, map, &o, &err), KERN_OK);
    maps_error(&err, KERN_INVALID_ARGUMENT, "accepted is 1 to 3");
    o = fine;
    o.at.steps = 10;
    o.progress = stop_after;
    o.context = &limit;
    assert_int_equal(dyn_lyapunov_scan_init(&s, map, &o, &err), KERN_INTERRUPTED);
    assert_null(s.points);
    o = fine;
    o.n = SIZE_MAX / 2;
    o.at.k = 3;
    assert_int_equal(dyn_lyapunov_scan_init(&s, map, &o, &err), KERN_OVERFLOW);
    dyn_map_destroy(map);
}

static void test_ranges(void **state)
{
    dyn_map *map = maps_make("henon", "");
    dyn_param_range range;
    (void)state;
    MAPS_OK(dyn_param_range_init(&range, map, "b", 0.1, 0.7, 4, maps_err));
    assert_true(dyn_param_range_value(&range, 0) == 0.1 && dyn_param_range_value(&range, 3) == 0.7);
    MAPS_CLOSE(dyn_param_range_set(&range, map, 1), 0.3, 1e-15);
    assert_true(map->params[1] == dyn_param_range_value(&range, 1));
    MAPS_OK(dyn_param_range_init(&range, map, "b", 0.1, 0.7, 1, maps_err));
    assert_true(dyn_param_range_value(&range, 0) == 0.1);
    dyn_map_destroy(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact_exponents),
        cmocka_unit_test(test_workers_do_not_matter),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_ranges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
