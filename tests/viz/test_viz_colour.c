/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_colour.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { STEPS = 200 };

static double distance(viz_oklab a, viz_oklab b)
{
    return sqrt((a.L - b.L) * (a.L - b.L) + (a.a - b.a) * (a.a - b.a) + (a.b - b.b) * (a.b - b.b));
}

static void near_rgb(viz_rgb c, unsigned hex)
{
    const double tolerance = 0.6 / 255.0;
    assert_true(fabs(c.r - (double)(hex >> 16 & 255u) / 255.0) < tolerance);
    assert_true(fabs(c.g - (double)(hex >> 8 & 255u) / 255.0) < tolerance);
    assert_true(fabs(c.b - (double)(hex & 255u) / 255.0) < tolerance);
}

static double linear(double c)
{
    return c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
}

static double gamma_of(double c)
{
    c = fmin(fmax(c, 0.0), 1.0);
    return c <= 0.0031308 ? 12.92 * c : 1.055 * pow(c, 1.0 / 2.4) - 0.055;
}

/* Kinds of sight: deuteranopia, protanopia, tritanopia, and normal. */
enum { DEFICIENT = 3, SIGHTS = 4 };

/* Appearance to a kind of sight: the matrices of severity 1 of Machado, Oliveira and Fernandes
 * (2009), table 1, in linear light. */
static viz_rgb deficient(viz_rgb c, int kind)
{
    static const double m[SIGHTS][9] = {
        {0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.011820, 0.042940,
         0.968881},
        {0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116,
         1.051998},
        {1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367,
         0.303900},
        {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0},
    };
    const double r = linear(c.r);
    const double g = linear(c.g);
    const double b = linear(c.b);
    const double *k = m[kind];
    return (viz_rgb){gamma_of(k[0] * r + k[1] * g + k[2] * b),
                     gamma_of(k[3] * r + k[4] * g + k[5] * b),
                     gamma_of(k[6] * r + k[7] * g + k[8] * b)};
}

static void test_oklab(void **state)
{
    (void)state;
    /* White has lightness 1 and no colour; red is tabulated by Ottosson (2020). */
    const viz_oklab white = viz_colour_to_oklab((viz_rgb){1.0, 1.0, 1.0});
    assert_true(fabs(white.L - 1.0) < 1e-3 && fabs(white.a) < 1e-3 && fabs(white.b) < 1e-3);
    const viz_oklab red = viz_colour_to_oklab((viz_rgb){1.0, 0.0, 0.0});
    assert_true(fabs(red.L - 0.628) < 2e-3 && fabs(red.a - 0.225) < 2e-3 &&
                fabs(red.b - 0.126) < 2e-3);
    for (int i = 0; i < 27; i++) {
        const viz_rgb c = {0.1 + 0.35 * (i % 3), 0.05 + 0.45 * (i / 3 % 3), 0.2 + 0.3 * (i / 9)};
        const viz_rgb back = viz_colour_from_oklab(viz_colour_to_oklab(c));
        assert_true(fabs(back.r - c.r) + fabs(back.g - c.g) + fabs(back.b - c.b) < 1e-4);
    }
}

static void test_maps_are_ordered(void **state)
{
    (void)state;
    for (int map = 0; map < VIZ_MAP_SEQUENTIAL; map++) {
        double least = HUGE_VAL;
        double most = 0.0;
        for (int i = 0; i < STEPS; i++) {
            const viz_oklab a =
                viz_colour_to_oklab(viz_colour_map_at((viz_map)map, (double)i / STEPS));
            const viz_oklab b =
                viz_colour_to_oklab(viz_colour_map_at((viz_map)map, (double)(i + 1) / STEPS));
            assert_true(b.L > a.L);
            least = fmin(least, distance(a, b));
            most = fmax(most, distance(a, b));
        }
        /* Perceptually even: no step is many times another. */
        assert_true(most < 3.0 * least);
    }
}

static void test_maps_under_deficiency(void **state)
{
    (void)state;
    for (int map = 0; map < VIZ_MAP_SEQUENTIAL; map++) {
        for (int kind = 0; kind < DEFICIENT; kind++) {
            for (int i = 0; i + 20 <= STEPS; i++) {
                const viz_rgb a = viz_colour_map_at((viz_map)map, (double)i / STEPS);
                const viz_rgb b = viz_colour_map_at((viz_map)map, (double)(i + 20) / STEPS);
                /* A tenth of the map stays visible: 0.02 is about a just noticeable difference. */
                const double seen = distance(viz_colour_to_oklab(deficient(a, kind)),
                                             viz_colour_to_oklab(deficient(b, kind)));
                if (!(seen > 0.02)) {
                    fail_msg("%s, kind %d, step %d: %g", viz_colour_map_name((viz_map)map), kind, i,
                             seen);
                }
            }
        }
    }
}

/* Grey stays grey for everyone: rows of a matrix add up to 1. */
static void test_sights(void **state)
{
    (void)state;
    for (int kind = 0; kind < SIGHTS; kind++) {
        const viz_rgb grey = deficient((viz_rgb){0.5, 0.5, 0.5}, kind);
        assert_true(fabs(grey.r - 0.5) + fabs(grey.g - 0.5) + fabs(grey.b - 0.5) < 1e-5);
    }
}

static void check_apart(viz_theme theme, int kind)
{
    for (size_t i = 0; i < VIZ_CLASS_COUNT; i++) {
        for (size_t k = 0; k < i; k++) {
            const viz_rgb a = deficient(viz_colour_class(i, theme), kind);
            const viz_rgb b = deficient(viz_colour_class(k, theme), kind);
            const double seen = distance(viz_colour_to_oklab(a), viz_colour_to_oklab(b));
            if (!(seen >= 0.055)) {
                fail_msg("theme %d, sight %d: classes %zu and %zu are %g apart", (int)theme, kind,
                         k, i, seen);
            }
        }
    }
}

/* Any two classes stay apart for every kind of sight, on both pages. */
static void test_classes_apart(void **state)
{
    (void)state;
    for (int kind = 0; kind < SIGHTS; kind++) {
        check_apart(VIZ_LIGHT, kind);
        check_apart(VIZ_DARK, kind);
    }
}

static void test_known_colours(void **state)
{
    (void)state;
    near_rgb(viz_colour_map_at(VIZ_MAP_VIRIDIS, 0.0), 0x440154);
    near_rgb(viz_colour_map_at(VIZ_MAP_VIRIDIS, 1.0), 0xfde725);
    near_rgb(viz_colour_map_at(VIZ_MAP_PLASMA, 4.0 / 9.0), 0xbd3786);
    near_rgb(viz_colour_map_at(VIZ_MAP_CIVIDIS, 1.0), 0xfee838);
    near_rgb(viz_colour_map_at(VIZ_MAP_CIVIDIS, -7.0), 0x00224e);
    near_rgb(viz_colour_map_at(VIZ_MAP_CIVIDIS, (double)NAN), 0x00224e);
    near_rgb(viz_colour_map_at(VIZ_MAP_VIRIDIS, HUGE_VAL), 0xfde725);
    assert_string_equal(viz_colour_map_name(VIZ_MAP_PLASMA), "plasma");
    assert_null(viz_colour_map_name(VIZ_MAP_COUNT));
}

static void test_contrast(void **state)
{
    (void)state;
    const viz_rgb white = {1.0, 1.0, 1.0};
    const viz_rgb black = {0.0, 0.0, 0.0};
    assert_true(fabs(viz_colour_contrast(white, black) - 21.0) < 1e-9);
    for (int theme = 0; theme < 2; theme++) {
        const viz_paint page = viz_paint_of(VIZ_PAINT_PAGE);
        const viz_paint ink = viz_paint_of(VIZ_PAINT_INK);
        const viz_paint muted = viz_paint_of(VIZ_PAINT_MUTED);
        const viz_paint shade = viz_paint_of(VIZ_PAINT_SHADE);
        const viz_rgb ground = viz_colour_resolve(&page, (viz_theme)theme);
        const viz_rgb dim = viz_colour_resolve(&shade, (viz_theme)theme);
        /* Text 4.5:1, graphics 3:1 (WCAG 2.1), on the page; a little less on shaded ranges. */
        assert_true(viz_colour_contrast(ground, viz_colour_resolve(&ink, (viz_theme)theme)) > 7.0);
        assert_true(viz_colour_contrast(ground, viz_colour_resolve(&muted, (viz_theme)theme)) >
                    4.5);
        assert_true(viz_colour_contrast(dim, viz_colour_resolve(&ink, (viz_theme)theme)) > 4.5);
        assert_true(viz_colour_contrast(dim, viz_colour_resolve(&muted, (viz_theme)theme)) > 4.5);
        for (int map = 0; map < VIZ_MAP_SEQUENTIAL; map++) {
            for (int i = 0; i <= STEPS; i++) {
                const viz_rgb c =
                    viz_colour_line_at((viz_map)map, (viz_theme)theme, (double)i / STEPS);
                assert_true(viz_colour_contrast(ground, c) >= 3.0);
                assert_true(viz_colour_contrast(dim, c) >= 2.4);
            }
        }
        for (size_t i = 0; i < VIZ_CLASS_COUNT; i++) {
            assert_true(viz_colour_contrast(ground, viz_colour_class(i, (viz_theme)theme)) >= 3.0);
        }
    }
}

static void test_paints(void **state)
{
    (void)state;
    const viz_paint fixed = {.kind = VIZ_PAINT_RGB, .rgb = {0.25, 0.5, 0.75}};
    const viz_rgb c = viz_colour_resolve(&fixed, VIZ_DARK);
    assert_true(c.r == 0.25 && c.g == 0.5 && c.b == 0.75);
    const viz_paint class = viz_paint_class(VIZ_CLASS_COUNT + 2);
    const viz_rgb a = viz_colour_resolve(&class, VIZ_LIGHT);
    const viz_rgb b = viz_colour_class(2, VIZ_LIGHT);
    assert_true(a.r == b.r && a.g == b.g && a.b == b.b);
    const viz_paint mapped = viz_paint_map(VIZ_MAP_PLASMA, 1.0);
    const viz_rgb light = viz_colour_resolve(&mapped, VIZ_LIGHT);
    const viz_rgb dark = viz_colour_resolve(&mapped, VIZ_DARK);
    assert_true(viz_colour_luminance(dark) > viz_colour_luminance(light));
}

/* The diverging map: two arms of equal lightness that fall from the centre, inside the sRGB gamut,
 * and whose hues stay apart under deficiency. */
static void test_diverging_map(void **state)
{
    (void)state;
    for (int i = 0; i < STEPS / 2; i++) {
        const double t = 0.5 * i / (STEPS / 2);
        const double next = 0.5 * (i + 1) / (STEPS / 2);
        const viz_rgb low = viz_colour_map_at(VIZ_MAP_BALANCE, t);
        const viz_rgb high = viz_colour_map_at(VIZ_MAP_BALANCE, 1.0 - t);
        const viz_oklab a = viz_colour_to_oklab(low);
        const viz_oklab b = viz_colour_to_oklab(high);
        /* Clipping at the gamut's border would move the lightness off its line. */
        const double lightness = 0.95 - 0.57 * (1.0 - 2.0 * t);
        assert_true(fabs(a.L - lightness) < 2e-3 && fabs(b.L - lightness) < 2e-3);
        assert_true(viz_colour_to_oklab(viz_colour_map_at(VIZ_MAP_BALANCE, next)).L > a.L);
        for (int kind = 0; kind < DEFICIENT && t <= 0.4; kind++) {
            const double seen = distance(viz_colour_to_oklab(deficient(low, kind)),
                                         viz_colour_to_oklab(deficient(high, kind)));
            if (!(seen > 0.02)) {
                fail_msg("kind %d, t = %g: %g", kind, t, seen);
            }
        }
    }
    assert_true(viz_colour_map_diverges(VIZ_MAP_BALANCE));
    assert_false(viz_colour_map_diverges(VIZ_MAP_CIVIDIS));
}

static void test_tables(void **state)
{
    (void)state;
    uint32_t table[VIZ_TABLE_SIZE];
    assert_int_equal(viz_colour_map_find("cividis"), VIZ_MAP_CIVIDIS);
    assert_int_equal(viz_colour_map_find("balance"), VIZ_MAP_BALANCE);
    assert_int_equal(viz_colour_map_find("jet"), VIZ_MAP_COUNT);
    viz_colour_table(table, VIZ_MAP_VIRIDIS);
    assert_int_equal(table[0], 0xff440154);
    assert_int_equal(table[VIZ_TABLE_SIZE - 1], 0xfffde725);
    for (int map = 0; map < VIZ_MAP_COUNT; map++) {
        for (int theme = 0; theme < 2; theme++) {
            const viz_oklab missing = viz_colour_to_oklab(viz_colour_missing((viz_theme)theme));
            double nearest = HUGE_VAL;
            for (int i = 0; i <= STEPS; i++) {
                const viz_rgb c = viz_colour_map_at((viz_map)map, (double)i / STEPS);
                nearest = fmin(nearest, distance(viz_colour_to_oklab(c), missing));
            }
            /* A just noticeable difference is about 0.02. */
            if (!(nearest > 0.02)) {
                fail_msg("%s comes within %g of missing data, theme %d",
                         viz_colour_map_name((viz_map)map), nearest, theme);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_oklab),
        cmocka_unit_test(test_maps_are_ordered),
        cmocka_unit_test(test_maps_under_deficiency),
        cmocka_unit_test(test_sights),
        cmocka_unit_test(test_classes_apart),
        cmocka_unit_test(test_known_colours),
        cmocka_unit_test(test_contrast),
        cmocka_unit_test(test_paints),
        cmocka_unit_test(test_diverging_map),
        cmocka_unit_test(test_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
