/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Curves of bifurcations in two parameters, and their points of codimension two, against closed
 * forms.
 */
#include "tests/dyn/dyn_poly_maps.h"
#include "tests/dyn/dyn_test_maps.h"

#include "tests/dyn/dyn_curve_check.h"

/* ---- The Hénon-type map: x' = y, y' = α − βx − y² ----------------------------------------- */

static dyn_map *make_henon2(double alpha, double beta)
{
    dyn_map *map = maps_make("henon2", "");
    MAPS_OK(dyn_map_set_param(map, "alpha", alpha, maps_err));
    MAPS_OK(dyn_map_set_param(map, "beta", beta, maps_err));
    return map;
}

static dyn_curve_options henon2_options(dyn_normal_kind kind)
{
    dyn_curve_options o = curve_options(kind, "alpha", "beta", 4.0);
    o.low[1] = -2.0;
    o.high[1] = 2.0;
    return o;
}

/* α = −(1+β)²/4 at x = −(1+β)/2, with multipliers 1 and β. */
static void test_henon2_folds(void **state)
{
    static const double x[] = {-0.6, -0.6};
    (void)state;
    dyn_map *map = make_henon2(-0.36, 0.2);
    const dyn_curve_options o = henon2_options(DYN_NORMAL_LP);
    dyn_curve curve = curve_follow(map, x, &o);
    for (size_t i = 0; i < curve.n_points; i++) {
        const double beta = curve.points[i].parameters[1];
        MAPS_CLOSE(curve.points[i].parameters[0], -0.25 * (1.0 + beta) * (1.0 + beta), CURVE_EXACT);
        MAPS_CLOSE(curve.points[i].states[0], -0.5 * (1.0 + beta), CURVE_EXACT);
    }
    curve_events(&curve, "R1 LPPD", "LPPD R1");
    curve_event(&curve, DYN_CURVE_R1, -1.0, 1.0);
    curve_event(&curve, DYN_CURVE_LPPD, 0.0, -1.0);
    assert_int_equal(curve.ends[0], DYN_CURVE_END_BOUND);
    assert_int_equal(curve.ends[1], DYN_CURVE_END_BOUND);
    /* Both ends are at the bounds of β, exactly. */
    MAPS_CLOSE(fabs(curve.points[0].parameters[1]), 2.0, 1e-12);
    MAPS_CLOSE(fabs(curve.points[curve.n_points - 1].parameters[1]), 2.0, 1e-12);
    dyn_curve_fini(&curve);
    dyn_map_destroy(map);
}

/* Points of codimension two exactly at the ends of a range are part of it. */
static void test_events_at_bounds(void **state)
{
    static const double x[] = {-0.6, -0.6};
    (void)state;
    dyn_map *map = make_henon2(-0.36, 0.2);
    dyn_curve_options o = henon2_options(DYN_NORMAL_LP);
    o.low[1] = -1.0;
    o.high[1] = 1.0;
    dyn_curve curve = curve_follow(map, x, &o);
    curve_events(&curve, "R1 LPPD", "LPPD R1");
    dyn_curve_fini(&curve);
    dyn_map_destroy(map);
}

/* α = 3(1+β)²/4 at x = (1+β)/2, with multipliers −1 and −β. */
static void test_henon2_flips(void **state)
{
    static const double x[] = {0.62, 0.58};
    (void)state;
    dyn_map *map = make_henon2(1.07, 0.21);
    const dyn_curve_options o = henon2_options(DYN_NORMAL_PD);
    dyn_curve curve = curve_follow(map, x, &o);
    for (size_t i = 0; i < curve.n_points; i++) {
        const double beta = curve.points[i].parameters[1];
        MAPS_CLOSE(curve.points[i].parameters[0], 0.75 * (1.0 + beta) * (1.0 + beta), CURVE_EXACT);
        MAPS_CLOSE(curve.points[i].states[0], 0.5 * (1.0 + beta), CURVE_EXACT);
    }
    curve_events(&curve, "R2 LPPD", "LPPD R2");
    curve_event(&curve, DYN_CURVE_R2, 3.0, 1.0);
    curve_event(&curve, DYN_CURVE_LPPD, 0.0, -1.0);
    dyn_curve_fini(&curve);
    dyn_map_destroy(map);
}

/* β = 1, where the map preserves area, cos θ = −x and α = 2x + x². Re d vanishes all along, which
 * makes no Chenciner points; beyond R1 and R2 there are neutral saddles. */
static void test_henon2_circles(void **state)
{
    static const double x[] = {0.41, 0.42};
    (void)state;
    dyn_map *map = make_henon2(1.0, 1.0);
    const dyn_curve_options o = henon2_options(DYN_NORMAL_NS);
    dyn_curve curve = curve_follow(map, x, &o);
    size_t neutral = 0;
    for (size_t i = 0; i < curve.n_points; i++) {
        const dyn_curve_point *point = &curve.points[i];
        const double place = point->states[0];
        MAPS_CLOSE(point->parameters[1], 1.0, CURVE_EXACT);
        MAPS_CLOSE(point->parameters[0], 2.0 * place + place * place, CURVE_EXACT);
        assert_true(point->neutral == (fabs(place) > 1.0));
        if (!point->neutral) {
            MAPS_CLOSE(point->critical_re, -place, CURVE_EXACT);
        } else {
            MAPS_CLOSE(point->critical_re + 1.0 / point->critical_re, -2.0 * place, CURVE_EXACT);
            assert_int_equal(point->form.status, KERN_NOT_FOUND);
            neutral++;
        }
    }
    assert_true(neutral > 3);
    curve_events(&curve, "R1 R4 R3 R2", "R2 R3 R4 R1");
    curve_event(&curve, DYN_CURVE_R1, -1.0, 1.0);
    curve_event(&curve, DYN_CURVE_R2, 3.0, 1.0);
    curve_event(&curve, DYN_CURVE_R3, 1.25, 1.0);
    curve_event(&curve, DYN_CURVE_R4, 0.0, 1.0);
    dyn_curve_fini(&curve);
    dyn_map_destroy(map);
}

/* Parameters may be given in either order. */
static void test_order_of_parameters(void **state)
{
    static const double x[] = {-0.6, -0.6};
    (void)state;
    dyn_map *map = make_henon2(-0.36, 0.2);
    dyn_curve_options o = curve_options(DYN_NORMAL_LP, "beta", "alpha", 3.0);
    dyn_curve curve = curve_follow(map, x, &o);
    curve_event(&curve, DYN_CURVE_R1, 1.0, -1.0);
    curve_event(&curve, DYN_CURVE_LPPD, -1.0, 0.0);
    dyn_curve_fini(&curve);
    dyn_map_destroy(map);
}

/* ---- Maps with known points of codimension two --------------------------------------------- */

/* y₀' = p + (1+q) y₀ − y₀³ beside contracting directions: folds at p = −2y₀³, q = 3y₀², a cusp at
 * the origin. The critical direction is e₀ + 4y₀e₁, and a = −3y₀ divided by its length in x. */
static void test_cusp(void **state)
{
    static const poly_term terms[] = {
        {0, 1.0, 0, {0}},     {0, 1.0, -1, {1}}, {0, 1.0, 1, {1}},         {0, -1.0, -1, {3}},
        {1, 0.5, -1, {0, 1}}, {1, 1.0, -1, {2}}, {2, -0.4, -1, {0, 0, 1}}, {0}};
    (void)state;
    for (poly_offer offer = POLY_PLAIN; offer <= POLY_APPROXIMATE; offer += POLY_APPROXIMATE) {
        const double tolerance = offer == POLY_PLAIN ? CURVE_EXACT : 1e-6;
        const double y[] = {0.3, 0.18, 0.0};
        double x[3];
        dyn_map *map = poly_make(3, terms, offer);
        poly_to_state(map, y, x);
        map->params[0] = -0.054;
        map->params[1] = 0.27;
        dyn_curve_options o = curve_options(DYN_NORMAL_LP, "p", "q", 1.0);
        o.tol = offer == POLY_PLAIN ? o.tol : 1e-9;
        dyn_curve curve = curve_follow(map, x, &o);
        for (size_t i = 0; i < curve.n_points; i++) {
            const dyn_curve_point *point = &curve.points[i];
            double at[3];
            poly_from_state(map, point->states, at);
            const double direction[] = {1.0, 4.0 * at[0], 0.0};
            double q[3];
            poly_to_state(map, direction, q);
            const double length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2]);
            MAPS_CLOSE(point->parameters[0], -2.0 * at[0] * at[0] * at[0], tolerance);
            MAPS_CLOSE(point->parameters[1], 3.0 * at[0] * at[0], tolerance);
            MAPS_CLOSE(fabs(point->form.coefficient), 3.0 * fabs(at[0]) / length, tolerance);
        }
        curve_events(&curve, "CP", "CP");
        const dyn_curve_event *event = curve_find(&curve, DYN_CURVE_CP);
        MAPS_CLOSE(event->at.parameters[0], 0.0, tolerance);
        MAPS_CLOSE(event->at.parameters[1], 0.0, tolerance);
        dyn_curve_fini(&curve);
        dyn_map_destroy(map);
    }
}

/* y₀' = −(1+p) y₀ + q y₀³ + d y₀y₁ + y₀⁵, y₁' = ½y₁ + e y₀²: flips at p = 0, where
 * b = (q + 2de)/|S e₀|². */
static void test_generalised_flip(void **state)
{
    static const double d = 0.9;
    static const double e = -0.2;
    static const poly_term terms[] = {{0, -1.0, -1, {1}},   {0, -1.0, 0, {1}},
                                      {0, 1.0, 1, {3}},     {0, 0.9, -1, {1, 1}},
                                      {0, 1.0, -1, {5}},    {1, 0.5, -1, {0, 1}},
                                      {1, -0.2, -1, {2}},   {2, 0.3, -1, {0, 0, 1}},
                                      {2, 0.5, -1, {1, 1}}, {0}};
    static const double origin[3] = {0.0};
    (void)state;
    dyn_map *map = poly_make(3, terms, POLY_PLAIN);
    const double length = poly_length(map, 0);
    map->params[1] = -0.5;
    const dyn_curve_options o = curve_options(DYN_NORMAL_PD, "p", "q", 1.0);
    dyn_curve curve = curve_follow(map, origin, &o);
    for (size_t i = 0; i < curve.n_points; i++) {
        const dyn_curve_point *point = &curve.points[i];
        MAPS_CLOSE(point->parameters[0], 0.0, CURVE_EXACT);
        MAPS_CLOSE(point->form.coefficient,
                   (point->parameters[1] + 2.0 * d * e) / (length * length), CURVE_EXACT);
    }
    curve_events(&curve, "GPD", "GPD");
    curve_event(&curve, DYN_CURVE_GPD, 0.0, -2.0 * d * e);
    dyn_curve_fini(&curve);
    dyn_map_destroy(map);
}

/* Terms of z' = e^{iθ} z (1 + (value of `parameter`) + c |z|²) with z = y_first + i y_{first+1}. */
static poly_term *add_circle(poly_term *next, size_t first, double theta, int parameter, double c)
{
    const double matrix[2][2] = {{cos(theta), -sin(theta)}, {sin(theta), cos(theta)}};
    for (size_t i = 0; i < 2; i++) {
        for (size_t j = 0; j < 2; j++) {
            poly_term term = {.row = first + i, .coefficient = matrix[i][j], .parameter = -1};
            term.power[first + j] = 1;
            *next++ = term;
            if (parameter >= 0) {
                term.parameter = parameter;
                *next++ = term;
            }
            for (size_t k = 0; k < 2 && c != 0.0; k++) {
                poly_term cubic = {
                    .row = first + i, .coefficient = c * matrix[i][j], .parameter = -1};
                cubic.power[first + j] = 1;
                cubic.power[first + k] += 2;
                *next++ = cubic;
            }
        }
    }
    return next;
}

/* z' = e^{iθ} z (1 + p + q|z|²) + f z y₂, y₂' = 0.3y₂ + e|z|²: p = 0, where Re d is in proportion
 * to q + f e cos θ / 0.7. */
static void test_chenciner(void **state)
{
    static const double origin[3] = {0.0};
    static const double theta = 1.1;
    static const double e = 0.35;
    static const double f = -0.8;
    poly_term terms[POLY_TERMS] = {{0}};
    (void)state;
    poly_term *next = add_circle(terms, 0, theta, 0, 1.0);
    /* The cubic terms carry q instead of a constant. */
    for (poly_term *term = terms; term < next; term++) {
        if (term->power[0] + term->power[1] == 3) {
            term->parameter = 1;
        }
    }
    const poly_term rest[] = {{2, 0.3, -1, {0, 0, 1}},
                              {2, e, -1, {2}},
                              {2, e, -1, {0, 2}},
                              {0, f, -1, {1, 0, 1}},
                              {1, f, -1, {0, 1, 1}}};
    memcpy(next, rest, sizeof rest);
    dyn_map *map = poly_make(3, terms, POLY_PLAIN);
    const double scale =
        poly_length(map, 0) * poly_length(map, 0) + poly_length(map, 1) * poly_length(map, 1);
    map->params[1] = 0.1;
    const dyn_curve_options o = curve_options(DYN_NORMAL_NS, "p", "q", 1.0);
    dyn_curve curve = curve_follow(map, origin, &o);
    for (size_t i = 0; i < curve.n_points; i++) {
        const dyn_curve_point *point = &curve.points[i];
        MAPS_CLOSE(point->parameters[0], 0.0, CURVE_EXACT);
        MAPS_CLOSE(point->critical_re, cos(theta), CURVE_EXACT);
        MAPS_CLOSE(point->form.coefficient,
                   4.0 / scale * (point->parameters[1] + f * e * cos(theta) / 0.7), CURVE_EXACT);
    }
    curve_events(&curve, "CH", "CH");
    curve_event(&curve, DYN_CURVE_CH, 0.0, -f * e * cos(theta) / 0.7);
    dyn_curve_fini(&curve);
    dyn_map_destroy(map);
}

/* y₀' = y₀ + p + y₀² and y₁' = −(1 + q + y₀) y₁ + y₁³: folds at p = 0, flips at p = −y₀², q = −y₀;
 * both meet at the origin. */
static void test_fold_and_flip(void **state)
{
    static const poly_term terms[] = {{0, 1.0, 0, {0}},     {0, 1.0, -1, {1}},
                                      {0, 1.0, -1, {2}},    {1, -1.0, -1, {0, 1}},
                                      {1, -1.0, 1, {0, 1}}, {1, -1.0, -1, {1, 1}},
                                      {1, 1.0, -1, {0, 3}}, {2, 0.2, -1, {0, 0, 1}},
                                      {2, 1.0, -1, {1, 1}}, {0}};
    static const double origin[3] = {0.0};
    (void)state;
    dyn_map *map = poly_make(3, terms, POLY_PLAIN);
    map->params[1] = 0.4;
    dyn_curve_options o = curve_options(DYN_NORMAL_LP, "p", "q", 1.0);
    dyn_curve curve = curve_follow(map, origin, &o);
    curve_events(&curve, "LPPD", "LPPD");
    curve_event(&curve, DYN_CURVE_LPPD, 0.0, 0.0);
    dyn_curve_fini(&curve);
    const double y[] = {-0.4, 0.0, 0.0};
    double x[3];
    poly_to_state(map, y, x);
    map->params[0] = -0.16;
    o.kind = DYN_NORMAL_PD;
    curve = curve_follow(map, x, &o);
    for (size_t i = 0; i < curve.n_points; i++) {
        const double *p = curve.points[i].parameters;
        MAPS_CLOSE(p[0], -p[1] * p[1], CURVE_EXACT);
    }
    curve_events(&curve, "LPPD", "LPPD");
    curve_event(&curve, DYN_CURVE_LPPD, 0.0, 0.0);
    dyn_curve_fini(&curve);
    dyn_map_destroy(map);
}

/* y₀' = y₀ + p + y₀² beside z' = e^{iθ} z (1 + q − |z|²) and y₃' = 0.1y₃ + y₀ y₁. */
static void test_fold_and_circle(void **state)
{
    static const double origin[4] = {0.0};
    poly_term terms[POLY_TERMS] = {{0, 1.0, 0, {0}},
                                   {0, 1.0, -1, {1}},
                                   {0, 1.0, -1, {2}},
                                   {3, 0.1, -1, {0, 0, 0, 1}},
                                   {3, 1.0, -1, {1, 1}}};
    (void)state;
    (void)add_circle(terms + 5, 1, 1.3, 1, -1.0);
    dyn_map *map = poly_make(4, terms, POLY_PLAIN);
    map->params[1] = 0.3;
    dyn_curve_options o = curve_options(DYN_NORMAL_LP, "p", "q", 0.5);
    dyn_curve curve = curve_follow(map, origin, &o);
    curve_events(&curve, "LPNS", "LPNS");
    curve_event(&curve, DYN_CURVE_LPNS, 0.0, 0.0);
    dyn_curve_fini(&curve);
    const double y[] = {-0.4, 0.0, 0.0, 0.0};
    double x[4];
    poly_to_state(map, y, x);
    map->params[0] = -0.16;
    map->params[1] = 0.0;
    o.kind = DYN_NORMAL_NS;
    curve = curve_follow(map, x, &o);
    curve_events(&curve, "LPNS", "LPNS");
    curve_event(&curve, DYN_CURVE_LPNS, 0.0, 0.0);
    dyn_curve_fini(&curve);
    dyn_map_destroy(map);
}

/* y₀' = −(1+p) y₀ + y₀³ beside z' = e^{iθ} z (1 + q − |z|²). */
static void test_flip_and_circle(void **state)
{
    static const double origin[4] = {0.0};
    poly_term terms[POLY_TERMS] = {{0, -1.0, 0, {1}},
                                   {0, -1.0, -1, {1}},
                                   {0, 1.0, -1, {3}},
                                   {3, 0.1, -1, {0, 0, 0, 1}},
                                   {3, 1.0, -1, {1, 1}}};
    (void)state;
    (void)add_circle(terms + 5, 1, 2.5, 1, -1.0);
    dyn_map *map = poly_make(4, terms, POLY_PLAIN);
    map->params[1] = 0.3;
    dyn_curve_options o = curve_options(DYN_NORMAL_PD, "p", "q", 0.5);
    dyn_curve curve = curve_follow(map, origin, &o);
    curve_events(&curve, "PDNS", "PDNS");
    curve_event(&curve, DYN_CURVE_PDNS, 0.0, 0.0);
    dyn_curve_fini(&curve);
    map->params[0] = -0.3;
    map->params[1] = 0.0;
    o.kind = DYN_NORMAL_NS;
    curve = curve_follow(map, origin, &o);
    curve_events(&curve, "PDNS", "PDNS");
    curve_event(&curve, DYN_CURVE_PDNS, 0.0, 0.0);
    dyn_curve_fini(&curve);
    dyn_map_destroy(map);
}

/* Two pairs, of which the one with the angle asked for is followed. */
static void test_two_circles(void **state)
{
    static const double angles[] = {0.7, 2.4};
    static const double origin[4] = {0.0};
    poly_term terms[POLY_TERMS] = {{0}};
    (void)state;
    (void)add_circle(add_circle(terms, 0, angles[0], 0, 0.0), 2, angles[1], 1, 0.0);
    dyn_map *map = poly_make(4, terms, POLY_PLAIN);
    for (size_t i = 0; i < 2; i++) {
        map->params[i] = 0.01;
        map->params[1 - i] = 0.2;
        dyn_curve_options o = curve_options(DYN_NORMAL_NS, "p", "q", 0.5);
        o.angle = angles[i];
        dyn_curve curve = curve_follow(map, origin, &o);
        MAPS_CLOSE(curve.points[0].critical_re, cos(angles[i]), CURVE_EXACT);
        curve_events(&curve, "NSNS", "NSNS");
        curve_event(&curve, DYN_CURVE_NSNS, 0.0, 0.0);
        dyn_curve_fini(&curve);
    }
    dyn_map_destroy(map);
}

/* Real multipliers whose product passes 1 are no Neimark–Sacker point: y₁ with 1.6 + q and y₂ with
 * 0.5 on a curve of folds. */
static void test_neutral_saddles_are_no_events(void **state)
{
    static const poly_term terms[] = {{0, 1.0, 0, {0}},
                                      {0, 1.0, -1, {1}},
                                      {0, 1.0, -1, {2}},
                                      {1, 1.9, -1, {0, 1}},
                                      {1, 1.0, 1, {0, 1}},
                                      {2, 0.5, -1, {0, 0, 1}},
                                      {0}};
    static const double origin[3] = {0.0};
    (void)state;
    dyn_map *map = poly_make(3, terms, POLY_PLAIN);
    map->params[1] = 0.3;
    const dyn_curve_options o = curve_options(DYN_NORMAL_LP, "p", "q", 0.5);
    dyn_curve curve = curve_follow(map, origin, &o);
    assert_int_equal(curve.n_events, 0);
    dyn_curve_fini(&curve);
    dyn_map_destroy(map);
}

/* y₀' = y₀ + y₀² + y₁² + y₂² − 1 with y₁ = p, y₂ = q: folds on the unit circle. */
static void test_a_closed_curve(void **state)
{
    static const poly_term terms[] = {{0, 1.0, -1, {1}},    {0, 1.0, -1, {2}},
                                      {0, 1.0, -1, {0, 2}}, {0, 1.0, -1, {0, 0, 2}},
                                      {0, -1.0, -1, {0}},   {1, 0.5, -1, {0, 1}},
                                      {1, 0.5, 0, {0}},     {2, 0.4, -1, {0, 0, 1}},
                                      {2, 0.6, 1, {0}},     {0}};
    const double y[] = {0.0, 0.6, 0.8};
    double x[3];
    (void)state;
    dyn_map *map = poly_make(3, terms, POLY_PLAIN);
    poly_to_state(map, y, x);
    map->params[0] = 0.6;
    map->params[1] = 0.8;
    const dyn_curve_options o = curve_options(DYN_NORMAL_LP, "p", "q", 2.0);
    dyn_curve curve = curve_follow(map, x, &o);
    double turn = 0.0;
    for (size_t i = 0; i < curve.n_points; i++) {
        const double *p = curve.points[i].parameters;
        MAPS_CLOSE(p[0] * p[0] + p[1] * p[1], 1.0, CURVE_EXACT);
        if (i > 0) {
            const double *last = curve.points[i - 1].parameters;
            turn += asin(last[0] * p[1] - last[1] * p[0]);
        }
    }
    assert_int_equal(curve.ends[0], DYN_CURVE_END_CLOSED);
    assert_int_equal(curve.ends[1], DYN_CURVE_END_CLOSED);
    assert_true(fabs(turn) > 6.2 && fabs(turn) < 6.6);
    dyn_curve_fini(&curve);
    dyn_map_destroy(map);
}

/* ---- Refusals and edges ------------------------------------------------------------------- */

static void refuse(dyn_map *map, const double *x, const dyn_curve_options *o, kern_status status,
                   const char *part)
{
    dyn_curve curve;
    kern_error err = {0};
    assert_int_equal(dyn_curve_init(&curve, map, x, o, &err), status);
    maps_error(&err, status, part);
    dyn_curve_fini(&curve);
}

static bool stop_at_once(void *context, size_t done, size_t total)
{
    (void)context;
    (void)total;
    return done < 5;
}

/* ---- Difference quotients ----------------------------------------------------------------- */

/* The Hénon-type map with a jvp of difference quotients, with the default tolerance. */
static dyn_curve follow_quotients(dyn_normal_kind kind, double alpha, double beta)
{
    static const poly_term terms[] = {
        {0, 1.0, -1, {0, 1}}, {1, 1.0, 0, {0}}, {1, -1.0, 1, {1}}, {1, -1.0, -1, {0, 2}}, {0}};
    const double half = 0.5 * (1.0 + beta);
    const double fixed = -half + sqrt(half * half + alpha);
    const double y[] = {fixed, fixed};
    double x[2];
    dyn_map *map = poly_make(2, terms, POLY_APPROXIMATE);
    dyn_curve curve;
    kern_error err = {0};
    poly_to_state(map, y, x);
    map->params[0] = alpha;
    map->params[1] = beta;
    dyn_curve_options o = curve_options(kind, "p", "q", 20.0);
    if (dyn_curve_init(&curve, map, x, &o, &err) != KERN_OK) {
        fail_msg("%s", err.text);
    }
    dyn_map_destroy(map);
    for (size_t i = 0; i < curve.n_points; i++) {
        for (size_t j = 0; j < 2; j++) { /* bounds are met but for the residual */
            assert_true(fabs(curve.points[i].parameters[j]) <= 20.0 + DYN_CURVE_NOISE);
        }
        assert_true(curve.points[i].residual <= DYN_CURVE_NOISE);
    }
    assert_int_equal(curve.ends[0], DYN_CURVE_END_BOUND);
    assert_int_equal(curve.ends[1], DYN_CURVE_END_BOUND);
    return curve;
}

/* NS: β = 1, from R1 at α = −1 to R2 at 3; PD: α = 3(1 + β)²/4, with R2 at β = 1. There no
 * coefficient can be had from such a Jacobian, and none is given. */
static void test_quotients(void **state)
{
    (void)state;
    dyn_curve curve = follow_quotients(DYN_NORMAL_NS, 0.5, 1.0);
    for (size_t i = 0; i < curve.n_points; i++) {
        MAPS_CLOSE(curve.points[i].parameters[1], 1.0, 1e-7);
    }
    size_t met = 0;
    for (size_t i = 0; i < curve.n_events; i++) {
        const dyn_curve_event *event = &curve.events[i];
        if (event->kind == DYN_CURVE_R1 || event->kind == DYN_CURVE_R2) {
            MAPS_CLOSE(event->at.parameters[0], event->kind == DYN_CURVE_R1 ? -1.0 : 3.0, 1e-6);
            assert_true(isnan(event->at.form.coefficient));
            met++;
        }
    }
    assert_int_equal(met, 2);
    dyn_curve_fini(&curve);
    curve = follow_quotients(DYN_NORMAL_PD, 1.08, 0.2);
    assert_int_equal(curve.n_events > 0, 1);
    for (size_t i = 0; i < curve.n_events; i++) {
        if (curve.events[i].kind == DYN_CURVE_R2) {
            MAPS_CLOSE(curve.events[i].at.parameters[1], 1.0, 1e-6);
            assert_true(isnan(curve.events[i].at.form.coefficient));
        }
    }
    dyn_curve_fini(&curve);
}

static void test_refusals(void **state)
{
    static const double x[] = {-0.6, -0.6, -0.6, -0.6};
    (void)state;
    dyn_map *map = make_henon2(-0.36, 0.2);
    const dyn_curve_options good = henon2_options(DYN_NORMAL_LP);
    dyn_curve_options o = good;
    o.parameters[1] = "gamma";
    refuse(map, x, &o, KERN_INVALID_ARGUMENT, "accepted: alpha, beta");
    o.parameters[1] = "alpha";
    o.low[1] = -4.0;
    refuse(map, x, &o, KERN_INVALID_ARGUMENT, "both parameters are alpha");
    o = good;
    o.high[0] = -1.0;
    refuse(map, x, &o, KERN_INVALID_ARGUMENT, "the range of alpha is -4 to -1");
    o = good;
    o.period = 0;
    refuse(map, x, &o, KERN_INVALID_ARGUMENT, "a cycle of 0 states");
    o.period = 2;
    refuse(map, x, &o, KERN_INVALID_ARGUMENT, "the cycle has 1 states, and 2 were given");
    o = good;
    o.max_points = 0;
    refuse(map, x, &o, KERN_INVALID_ARGUMENT, "0 points");
    o = good;
    o.kind = DYN_NORMAL_NS;
    refuse(map, x, &o, KERN_NOT_FOUND, "no multiplier is complex");
    o = good;
    o.progress = stop_at_once;
    refuse(map, x, &o, KERN_INTERRUPTED, "after 5 points");
    dyn_map_destroy(map);
    map = maps_make("tent", "");
    assert_int_equal(map->n_params, 1);
    dyn_map_destroy(map);
}

static void test_no_such_point(void **state)
{
    static const poly_term terms[] = {
        {0, 0.5, -1, {1}}, {0, 1.0, 0, {0}}, {0, 1.0, 1, {0}}, {1, 0.2, -1, {0, 1}}, {0}};
    static const double origin[2] = {0.0};
    (void)state;
    dyn_map *map = poly_make(2, terms, POLY_PLAIN);
    dyn_curve curve;
    const dyn_curve_options o = curve_options(DYN_NORMAL_LP, "p", "q", 1.0);
    kern_error err = {0};
    const kern_status status = dyn_curve_init(&curve, map, origin, &o, &err);
    assert_true(status == KERN_NOT_CONVERGED || status == KERN_SINGULAR);
    maps_error(&err, status, "no LP point of map polynomial was found near the start");
    dyn_curve_fini(&curve);
    dyn_map_destroy(map);
}

static void test_few_points(void **state)
{
    static const double x[] = {-0.6, -0.6};
    (void)state;
    dyn_map *map = make_henon2(-0.36, 0.2);
    dyn_curve_options o = henon2_options(DYN_NORMAL_LP);
    o.max_points = 3;
    dyn_curve curve = curve_follow(map, x, &o);
    assert_int_equal(curve.n_points, 7);
    assert_int_equal(curve.start, 3);
    assert_int_equal(curve.ends[0], DYN_CURVE_END_POINTS);
    assert_string_equal(dyn_curve_end_word(curve.ends[1]), "max_points");
    dyn_curve_fini(&curve);
    dyn_map_destroy(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_henon2_folds),
        cmocka_unit_test(test_events_at_bounds),
        cmocka_unit_test(test_henon2_flips),
        cmocka_unit_test(test_henon2_circles),
        cmocka_unit_test(test_order_of_parameters),
        cmocka_unit_test(test_cusp),
        cmocka_unit_test(test_generalised_flip),
        cmocka_unit_test(test_chenciner),
        cmocka_unit_test(test_fold_and_flip),
        cmocka_unit_test(test_fold_and_circle),
        cmocka_unit_test(test_flip_and_circle),
        cmocka_unit_test(test_two_circles),
        cmocka_unit_test(test_neutral_saddles_are_no_events),
        cmocka_unit_test(test_a_closed_curve),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_no_such_point),
        cmocka_unit_test(test_quotients),
        cmocka_unit_test(test_few_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
