/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Tokens of the explorer: whom they attend to, others drawn beside the chosen one,
 * and others held.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "models/model_attention.h"
#include "tests/viz/view_test_desk.h"

#include <math.h>

enum { N = VIEW_TEST_TOKENS };

/* A view in its window, with all that it computes. */
static desk open_settled(view *v)
{
    desk d = open_desk(v);
    settle(&d);
    return d;
}

static void tell(desk *d, const char *line)
{
    view_test_do(d->v, line);
    settle(d);
}

/* What the last line says with the pointer at a place. */
static const char *hint_at(desk *d, double x, double y)
{
    const ui_input input = {.x = x, .y = y};
    show(d, &input);
    show(d, &input);
    const ui_node *node = ui_find(d->v->ui, "hover");
    return node != NULL ? node->label : "";
}

/* ---- Attention ------------------------------------------------------------------------------- */

/* Along the whole trajectory they are those of the model. */
static void test_weights_are_the_models(void **state)
{
    (void)state;
    view *v = view_test_make();
    const view_attention *a = view_tasks_attention(v);
    const view_landscape *l = v->picture->landscape;
    double means[N * N];
    assert_non_null(a);
    assert_int_equal(a->heads, 2);
    assert_int_equal(a->states, l->path.n);
    for (size_t t = 0; t < l->path.n; t++) {
        model_attention_means(l->subject->map, l->path.states + t * l->subject->map->size, means);
        for (size_t token = 0; token < N; token++) {
            assert_memory_equal(view_attention_of(a, t, token), means + token * N,
                                (token + 1) * sizeof *means);
        }
    }
    assert_null(view_attention_of(a, l->path.n, 0));
    assert_null(view_attention_of(a, 0, N));
    view_destroy(v);
}

static void test_largest_come_first(void **state)
{
    (void)state;
    const double weights[] = {0.1, 0.3, 0.0, 0.3, 0.25, 0.05};
    size_t top[3] = {99, 99, 99};
    assert_int_equal(view_attention_top(weights, 5, 3, top), 3);
    assert_int_equal(top[0], 1);
    assert_int_equal(top[1], 3);
    assert_int_equal(top[2], 4);
    assert_int_equal(view_attention_top(weights, 1, 3, top), 2);
    assert_int_equal(top[0], 1);
    assert_int_equal(top[1], 0);
    assert_int_equal(view_attention_top(weights + 2, 0, 3, top), 0); /* sees nobody */
}

/* They are those of another trajectory once that is another, and only then: neither looking
 * elsewhere nor following the step asks for them again. */
static void test_weights_go_with_the_trajectory(void **state)
{
    (void)state;
    view *v = view_test_make();
    const view_attention *a = view_tasks_attention(v);
    const char *const lines[] = {"step 3", "follow on", "step 4", "columns 50", "dark on"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        view_test_do(v, lines[i]);
        view_settle(v);
        assert_ptr_equal(view_tasks_attention(v), a);
    }
    const double before = view_attention_of(a, 4, 5)[0];
    view_test_do(v, "rate 3");
    view_settle(v);
    a = view_tasks_attention(v);
    assert_non_null(a);
    assert_true(fabs(view_attention_of(a, 4, 5)[0] - before) > 1e-6);
    view_destroy(v);
}

static void expect_share(const char *text, double share)
{
    char expected[32];
    (void)snprintf(expected, sizeof expected, " %.0f %%", 100.0 * share);
    if (strstr(text, expected) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", expected, text);
    }
}

/* Of a token in the list, under the pointer or with the focus, and of a state. */
static void test_hints_name_the_attended(void **state)
{
    (void)state;
    desk d = open_settled(view_test_make());
    size_t top[3];
    double at[2];
    tell(&d, "step 2");
    const view_attention *a = view_tasks_attention(d.v);
    const double *w = view_attention_of(a, 2, 3);
    const viz_rect list = rect_of(&d, "token");
    const char *said = hint_at(&d, list.x + 30.0, list.y + 4.5 * UI_ROW);
    assert_non_null(strstr(said, "token 3 "));
    assert_non_null(strstr(said, "mean of 2 heads"));
    const size_t n = view_attention_top(w, 3, 3, top);
    assert_true(n > 0);
    for (size_t i = 0; i < n; i++) {
        expect_share(said, w[top[i]]);
    }
    const view_path *path = &d.v->picture->landscape->path;
    const viz_rect field = rect_of(&d, "field");
    assert_true(view_cache_point(d.v->base, path->a[1], path->b[1], 0.0, at));
    said = hint_at(&d, field.x + at[0], field.y + at[1]);
    assert_non_null(strstr(said, "state 1: "));
    w = view_attention_of(a, 1, 4); /* the chosen token */
    (void)view_attention_top(w, 4, 1, top);
    expect_share(said, w[top[0]]);
    /* The first token sees nobody but, under this mask, itself. */
    said = hint_at(&d, list.x + 30.0, list.y + 1.5 * UI_ROW);
    assert_non_null(strstr(said, d.v->subject->run.m->config.strict_mask ? "attends to none"
                                                                         : "attends to 0 "));
    ui_focus(d.v->ui, "token");
    key(&d, UI_DOWN, 0, false);
    assert_int_equal(d.v->s.token, 5);
    said = hint_at(&d, -1.0, -1.0);
    assert_non_null(strstr(said, "token 5 "));
    close_desk(&d);
}

/* Rows of the tokens that the chosen one sees have bars as wide as its weights. */
static void test_bars_are_the_weights(void **state)
{
    (void)state;
    desk d = open_settled(view_test_make());
    tell(&d, "step 1");
    const viz_rect list = rect_of(&d, "token");
    const double *w = view_attention_of(view_tasks_attention(d.v), 1, 4);
    const unsigned char *pixels = cairo_image_surface_get_data(d.image);
    const int stride = cairo_image_surface_get_stride(d.image);
    const viz_rgb ink = viz_colour_class(0, VIZ_LIGHT);
    for (size_t token = 0; token < N; token++) {
        const int y = (int)(list.y + (double)(token + 2) * UI_ROW - 3.0);
        double width = 0.0;
        for (int x = (int)list.x; x < (int)(list.x + list.w); x++) {
            const unsigned char *p = pixels + y * stride + 4 * x;
            width += fabs(p[2] - 255.0 * ink.r) < 3.0 && fabs(p[0] - 255.0 * ink.b) < 3.0;
        }
        const double share = token <= 4 && w[token] >= 0.005 ? w[token] : 0.0;
        assert_true(fabs(width - share * (list.w - 12.0)) <= 2.0); /* edges between pixels */
    }
    close_desk(&d);
}

/* Parts that attend to nobody say so. */
static void test_no_attention(void **state)
{
    (void)state;
    char path[TEST_PATH];
    view_settings s = view_test_settings("cem.safetensors");
    view_test_weights(test_path(path, "cem.safetensors"), MODEL_CEM, 5);
    for (int part = 0; part < 2; part++) {
        s.sublayer = part;
        view *v = view_test_open(&s);
        view_settle(v);
        desk d = open_settled(v);
        const viz_rect list = rect_of(&d, "token");
        const char *said = hint_at(&d, list.x + 30.0, list.y + 4.5 * UI_ROW);
        assert_non_null(strstr(
            said, part == MODEL_LAYER_ATTN ? "attends to " : "there is no attention in this part"));
        close_desk(&d);
    }
}

/* ---- Other tokens ---------------------------------------------------------------------------- */

/* On a flat chart with orthonormal axes: inner products with what is left of the centre. */
static void expect_place(const view_landscape *l, const view_path *p, size_t token, size_t t)
{
    const size_t w = l->plane->block_width;
    const double *x = l->path.states + t * l->plane->size + token * w;
    const double *c = l->plane->centre + l->token * w;
    const double *u = l->plane->axes[0] + l->token * w;
    const double *v = l->plane->axes[1] + l->token * w;
    double a = 0.0;
    double b = 0.0;
    double distance = 0.0;
    double off = 0.0;
    for (size_t i = 0; i < w; i++) {
        a += (x[i] - c[i]) * u[i];
        b += (x[i] - c[i]) * v[i];
        distance += (x[i] - c[i]) * (x[i] - c[i]);
    }
    for (size_t i = 0; i < w; i++) {
        const double d = x[i] - c[i] - a * u[i] - b * v[i];
        off += d * d;
    }
    /* Sums of 12 products of numbers of order 1 to 10. */
    assert_true(fabs(p->a[t] - a) <= 1e-12 * (1.0 + fabs(a)));
    assert_true(fabs(p->b[t] - b) <= 1e-12 * (1.0 + fabs(b)));
    assert_true(fabs(p->distance[t] - sqrt(distance)) <= 1e-12 * sqrt(distance));
    assert_true(fabs(p->residual[t] - sqrt(off)) <= 1e-10 * sqrt(distance));
}

static void test_others_are_at_their_nearest_places(void **state)
{
    (void)state;
    view *v = view_test_make();
    view_test_do(v, "chart flat");
    view_test_do(v, "plane random");
    view_settle(v);
    const dyn_slice_range alone = v->picture->landscape->range;
    size_t beyond = 0;
    view_test_do(v, "also 5,4,1"); /* 4 is the chosen one */
    view_settle(v);
    const view_landscape *l = v->picture->landscape;
    double energies[N];
    assert_int_equal(l->n_also, 2);
    assert_int_equal(l->also[0], 1);
    assert_int_equal(l->also[1], 5);
    for (size_t i = 0; i < l->n_also; i++) {
        const view_path *p = &l->others[i];
        assert_int_equal(p->n, l->path.n);
        for (size_t t = 0; t < p->n; t++) {
            expect_place(l, p, l->also[i], t);
            l->subject->map->kind->block_energies(l->subject->map,
                                                  l->path.states + t * l->plane->size, energies);
            assert_true(p->energy[t] == energies[l->also[i]]);
            /* All of it is in sight. */
            assert_true(p->a[t] >= l->range.a_low && p->a[t] <= l->range.a_high);
            assert_true(p->b[t] >= l->range.b_low && p->b[t] <= l->range.b_high);
            beyond += p->a[t] < alone.a_low || p->a[t] > alone.a_high || p->b[t] < alone.b_low ||
                              p->b[t] > alone.b_high
                          ? 1
                          : 0;
        }
    }
    assert_true(beyond > 0);
    view_test_do(v, "token all");
    view_settle(v);
    assert_int_equal(v->picture->landscape->n_also, 0);
    view_destroy(v);
}

static const viz_series *find_series(const viz_scene *scene, const char *name)
{
    for (size_t i = 0; i < scene->panels[0].n_series; i++) {
        if (strcmp(scene->panels[0].series[i].name, name) == 0) {
            return &scene->panels[0].series[i];
        }
    }
    fail_msg("the scene has no series %s", name);
    return NULL;
}

/* Each has an entry of the legend, a colour and markers of its own, and fades off the plane. */
static void test_others_are_drawn(void **state)
{
    (void)state;
    view *v = view_test_make();
    viz_scene *scene = NULL;
    const view_page page = {.point_out = true};
    view_test_do(v, "also 1,5");
    view_test_do(v, "seeds 0.1,0.1");
    view_settle(v);
    const view_landscape *l = v->picture->landscape;
    TINY_OK(view_picture_scene(&scene, v->picture, &v->s, &page, tiny_err));
    const viz_series *one = find_series(scene, "token 1 “1”");
    const viz_series *two = find_series(scene, "token 5 “9”");
    const viz_series *seed = find_series(scene, "trajectory from seed 1");
    assert_string_equal(seed->legend, "from seed 1");
    assert_string_equal(one->legend, "token 1 “1”");
    assert_int_not_equal(one->style.marker, two->style.marker);
    assert_true(one->style.paint.index != two->style.paint.index);
    assert_true(seed->style.paint.index != two->style.paint.index);
    assert_null(seed->opacity);
    for (size_t t = 0; t < two->n; t++) {
        const view_path *p = &l->others[1];
        const double expected = fmax(0.35, 1.0 - p->residual[t] / p->distance[t]);
        assert_true(fabs(two->opacity[t] - expected) <= 1e-12);
        assert_true(two->x[t] == p->a[t] && two->y[t] == p->b[t]);
    }
    assert_non_null(find_series(scene, "token 5 “9”, state pointed out"));
    assert_non_null(strstr(scene->note, "Other tokens are drawn where they would be"));
    assert_non_null(
        strstr(scene->note, "Markers of the trajectory without an entry in the legend have"));
    assert_null(strstr(scene->note, "Markers have"));
    viz_scene_destroy(scene);
    view_destroy(v);
}

static void expect_set(const view *v, const char *name, const char *expected)
{
    const view_field *field = NULL;
    char text[VIEW_TEXT];
    assert_int_equal(view_field_find(&field, name, NULL), KERN_OK);
    view_settings_show(&v->s, field, text);
    assert_string_equal(text, expected);
}

static void test_commands_choose_others(void **state)
{
    (void)state;
    view *v = view_test_make();
    view_test_do(v, "also 3");
    view_test_do(v, "also 1");
    expect_set(v, "also", "1,3");
    view_test_do(v, "also 3");
    expect_set(v, "also", "1");
    view_test_do(v, "undo");
    expect_set(v, "also", "1,3");
    view_test_do(v, "also this");
    expect_set(v, "also", "1,3,4");
    view_test_do(v, "also all");
    expect_set(v, "also", "0,1,2,3,5");
    view_test_refused(v, "also 6", "there is no token 6 to be drawn too");
    view_test_refused(v, "also 1,x", "separated by commas");
    view_test_do(v, "held 2");
    view_test_do(v, "prompt 3 1 4"); /* the chosen token is then the last, 2, and moves */
    expect_set(v, "also", "0,1,2");
    expect_set(v, "held", "none");
    view_test_do(v, "also clear");
    expect_set(v, "also", "none");
    view_test_do(v, "token all");
    view_test_refused(v, "also this", "choose a token first");
    view_test_do(v, "also 2");
    assert_string_equal(view_said(v, NULL), "also is 2; it has no effect: all tokens together have "
                                            "one trajectory");
    view_test_do(v, "token 1");
    view_test_do(v, "also 0");
    assert_string_equal(view_said(v, NULL), "also is 0,2");
    view_destroy(v);
}

/* Ctrl and a click, and the key for the token with the focus. */
static void test_the_list_chooses_others(void **state)
{
    (void)state;
    desk d = open_settled(view_test_make());
    const viz_rect list = rect_of(&d, "token");
    press_at(&d, list.x + 40.0, list.y + 2.5 * UI_ROW, true);
    assert_int_equal(d.v->s.token, 4);
    expect_set(d.v, "also", "1");
    ui_focus(d.v->ui, "token");
    key(&d, UI_LETTER, 'a', false);
    key(&d, UI_DOWN, 0, false);
    assert_int_equal(d.v->s.token, 5);
    expect_set(d.v, "also", "1,4");
    settle(&d);
    assert_int_equal(d.v->picture->landscape->n_also, 2);
    press_at(&d, list.x + 40.0, list.y + 2.5 * UI_ROW, true);
    expect_set(d.v, "also", "4");
    settle(&d);
    /* The pointer tells of their states, too. */
    const view_path *p = &d.v->picture->landscape->others[0];
    const viz_rect field = rect_of(&d, "field");
    double at[2];
    assert_true(view_cache_point(d.v->base, p->a[0], p->b[0], 0.0, at));
    const char *said = hint_at(&d, field.x + at[0], field.y + at[1]);
    assert_non_null(strstr(said, "token 4 “5”, state 0: E = "));
    assert_non_null(strstr(said, "attends to "));
    close_desk(&d);
}

/* ---- Held tokens ----------------------------------------------------------------------------- */

static const double *state_of(const view_landscape *l, size_t t, size_t token)
{
    return l->path.states + t * l->plane->size + token * l->plane->block_width;
}

static double apart(const double *x, const double *y, size_t n)
{
    double most = 0.0;
    for (size_t i = 0; i < n; i++) {
        most = fmax(most, fabs(x[i] - y[i]));
    }
    return most;
}

/* A token that is held stays at the centre; those before it move as ever, and those behind it as
 * the model moves them with it there. */
static void test_held_tokens_stay(void **state)
{
    (void)state;
    const char *const settings[] = {"pin off", "pin on"};
    for (size_t k = 0; k < 2; k++) {
        view *v = view_test_make();
        view_test_do(v, settings[k]);
        view_settle(v);
        view_landscape *free_one = view_landscape_keep(v->picture->landscape);
        view_test_do(v, "held 2");
        view_settle(v);
        const view_landscape *l = v->picture->landscape;
        const size_t w = l->plane->block_width;
        view_walk walk;
        double *z = calloc(2 * l->plane->size, sizeof *z);
        double *x = z + l->plane->size;
        assert_non_null(z);
        TINY_OK(view_walk_init(&walk, free_one, tiny_err));
        for (size_t t = 0; t < l->path.n; t++) {
            /* Held at a direction of the pinned length, once more rounded. */
            assert_true(apart(state_of(l, t, 2), state_of(free_one, l->at, 2), w) <= 1e-13 * 10.0);
            for (size_t token = 0; token < 2; token++) {
                assert_memory_equal(state_of(l, t, token), state_of(free_one, t, token),
                                    w * sizeof(double));
            }
            if (t + 1 < l->path.n) {
                view_walk_enter(&walk, state_of(l, t, 0), z);
                view_walk_step(&walk, z);
                view_walk_leave(&walk, z, x);
                for (size_t token = 3; token < N; token++) {
                    assert_true(apart(state_of(l, t + 1, token), x + token * w, w) <= 1e-11);
                }
            }
        }
        assert_true(apart(state_of(l, 4, 4), state_of(free_one, 4, 4), w) > 1e-4);
        view_walk_fini(&walk);
        view_landscape_release(free_one);
        free(z);
        view_destroy(v);
    }
}

/* With all before it held, the chosen token moves as alone. */
static void test_all_held_is_alone(void **state)
{
    (void)state;
    view *v = view_test_make();
    view_test_do(v, "held all");
    expect_set(v, "held", "0,1,2,3,5");
    view_settle(v);
    view_landscape *held = view_landscape_keep(v->picture->landscape);
    view_test_do(v, "held clear");
    view_test_do(v, "frozen on");
    view_settle(v);
    const view_landscape *frozen = v->picture->landscape;
    for (size_t t = 0; t < held->path.n; t++) {
        /* The same sums in another order, through six steps. */
        assert_true(apart(state_of(held, t, 4), state_of(frozen, t, 4), held->plane->block_width) <=
                    1e-11);
    }
    view_landscape_release(held);
    view_destroy(v);
}

static void test_what_cannot_be_held(void **state)
{
    (void)state;
    view *v = view_test_make();
    char text[VIEW_NOTE];
    bool failed = false;
    view_test_refused(v, "held 4", "cannot be held");
    view_test_refused(v, "held this", "cannot be held");
    view_test_refused(v, "held 9", "there is no token 9 to be held");
    view_test_do(v, "held 1,3");
    view_settle(v);
    view_words_describe(v->picture->landscape, text);
    assert_non_null(strstr(text, "the whole model with tokens 1, 3 held at step 3; these states "
                                 "and the centre are of the model without holding."));
    view_test_do(v, "token 3");
    view_settle(v);
    assert_int_equal(v->broken.status, KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(view_said(v, &failed), "held has 3, the token whose trajectory"));
    view_test_do(v, "held 3");
    view_settle(v);
    assert_int_equal(v->broken.status, KERN_OK);
    /* Of all tokens together one must move. */
    view_test_do(v, "token all");
    view_test_do(v, "held all");
    view_settle(v);
    assert_int_equal(v->broken.status, KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(view_said(v, &failed), "held has all 6 tokens of the prompt, and then "
                                                  "nothing moves; accepted are 5 of them at most"));
    view_test_do(v, "held 0,1,3,4,5");
    view_settle(v);
    assert_int_equal(v->broken.status, KERN_OK);
    view_test_do(v, "held 1");
    /* Basins of all tokens let all move. */
    view_test_do(v, "token all");
    view_test_do(v, "columns 8");
    view_test_do(v, "mode basins");
    view_settle(v);
    assert_non_null(strstr(view_said(v, &failed), "what follows all tokens at once holds none"));
    view_destroy(v);
}

/* Shift and a click holds, and the list says so. */
static void test_the_list_holds(void **state)
{
    (void)state;
    desk d = open_settled(view_test_make());
    const viz_rect list = rect_of(&d, "token");
    ui_input input = {.x = list.x + 40.0, .y = list.y + 2.5 * UI_ROW, .pressed = true};
    input.down = input.shift = true;
    show(&d, &input);
    settle(&d);
    expect_set(d.v, "held", "1");
    assert_int_equal(d.v->s.token, 4);
    assert_non_null(strstr(ui_find(d.v->ui, "token.2")->value, "held"));
    assert_null(strstr(ui_find(d.v->ui, "token.3")->value, "held"));
    close_desk(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weights_are_the_models),
        cmocka_unit_test(test_largest_come_first),
        cmocka_unit_test(test_weights_go_with_the_trajectory),
        cmocka_unit_test(test_hints_name_the_attended),
        cmocka_unit_test(test_bars_are_the_weights),
        cmocka_unit_test(test_no_attention),
        cmocka_unit_test(test_others_are_at_their_nearest_places),
        cmocka_unit_test(test_others_are_drawn),
        cmocka_unit_test(test_commands_choose_others),
        cmocka_unit_test(test_the_list_chooses_others),
        cmocka_unit_test(test_held_tokens_stay),
        cmocka_unit_test(test_all_held_is_alone),
        cmocka_unit_test(test_what_cannot_be_held),
        cmocka_unit_test(test_the_list_holds),
    };
    return cmocka_run_group_tests(tests, view_test_setup, test_folder_remove);
}
