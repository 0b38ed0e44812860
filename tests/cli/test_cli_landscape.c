/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The subcommand landscape with the built program: its numbers, its files, and what it refuses.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/cli/cli_test_json.h"

#include "cli/cli_commands.h"
#include "models/model_file.h"
#include "viz/view/view_settings.h"
#include "viz/viz_session.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#define SMALL                                                                                      \
    "--data", "listops:generate=300", "--width", "8", "--heads", "2", "--depth", "2", "--batch",   \
        "4", "--window", "16", "--threads", "1", "--eval-batches", "1", "--schedule", "constant",  \
        "--warmup", "0", "--steps", "5"
#define PROMPT    "max_10 ( 2 9 3 ) ="
#define LANDSCAPE "landscape", in("nrgpt"), "--prompt", PROMPT, "--columns", "24", "--threads", "1"

#define CEM                                                                                        \
    "landscape", in("cem"), "--prompt", PROMPT, "--columns", "24", "--token", "3", "--layer", "1"

static void train_runs(void)
{
    program_expect(0, "train", "--family", "nrgpt", SMALL, "--out", in("nrgpt"), NULL);
    program_expect(0, "train", "--family", "cem", SMALL, "--out", in("cem"), NULL);
    program_expect(0, "train", "--family", "llama", SMALL, "--out", in("llama"), NULL);
}

static double at(const cJSON *list, int i)
{
    return cJSON_GetArrayItem(list, i)->valuedouble;
}

/* The centre's own state lies on every plane: its residual is 0, and its energy is the field's. */
static void check_centre(const cJSON *object, int step)
{
    const cJSON *state = cJSON_GetArrayItem(cJSON_GetObjectItem(object, "trajectory"), step);
    assert_true(fabs(number(state, "a")) < 1e-9 && fabs(number(state, "b")) < 1e-9);
    assert_true(number(state, "residual") < 1e-9);
    assert_true(fabs(number(state, "energy") - number(state, "on_plane")) < 1e-9);
}

static void test_kinds(void **state)
{
    static const char *const kinds[] = {"random",   "relative", "pca",  "points",
                                        "gradient", "hessian",  "terms"};
    (void)state;
    train_runs();
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        program_expect(0, LANDSCAPE, "--token", "4", "--plane", kinds[i], "--out", in("f.csv"),
                       "--json", NULL);
        cJSON *object = program_json();
        const cJSON *axes = cJSON_GetObjectItem(object, "axes");
        double product = 0;
        double size = 0;
        assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(object, "center")), 8);
        for (int k = 0; k < 8; k++) {
            const double u = at(cJSON_GetArrayItem(axes, 0), k);
            product += u * at(cJSON_GetArrayItem(axes, 1), k);
            size += u * u;
        }
        const double radius = number(object, "radius"); /* relative lengths: |u| is the radius */
        assert_true(fabs(sqrt(size) - radius) < 1e-9 * radius);
        assert_true(fabs(product) < 1e-9 * radius * radius);
        assert_true(number(object, "min") < number(object, "max"));
        assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(object, "range")), 4);
        assert_true(cJSON_IsTrue(cJSON_GetObjectItem(object, "reduced")));
        assert_true(number(object, "contour_vertices_off") == 0);
        check_centre(object, 2);
        cJSON_Delete(object);
    }
}

/* Followed alone, a token's energy differs from the plane's by what is off the plane only: on the
 * plane of three of its four other states not at all at these. */
static void test_frozen(void **state)
{
    (void)state;
    program_expect(0, LANDSCAPE, "--token", "4", "--plane", "points", "--at", "2", "--steps", "2",
                   "--chart", "flat", "--frozen", "--out", in("f.csv"), "--json", NULL);
    cJSON *object = program_json();
    const cJSON *states = cJSON_GetObjectItem(object, "trajectory");
    assert_int_equal(cJSON_GetArraySize(states), 3);
    for (int t = 0; t < 2; t++) {
        const cJSON *s = cJSON_GetArrayItem(states, t);
        assert_true(number(s, "residual") < 1e-9);
        assert_true(fabs(number(s, "energy") - number(s, "on_plane")) < 1e-6);
    }
    cJSON_Delete(object);
}

/* The same on curved charts, which agree on the energy of a state in the plane. */
static void test_charts(void **state)
{
    static const char *const charts[] = {"sphere", "gnomonic", "orthographic"};
    double on_plane[2] = {0.0, 0.0};
    (void)state;
    for (size_t i = 0; i < sizeof charts / sizeof *charts; i++) {
        program_expect(0, LANDSCAPE, "--token", "4", "--plane", "points", "--at", "2", "--steps",
                       "2", "--chart", charts[i], "--frozen", "--range", "1.1", "--out",
                       in("f.csv"), "--json", NULL);
        cJSON *object = program_json();
        assert_word(object, "chart", charts[i]);
        assert_true((number(object, "outside") > 0) == (i == 2));
        assert_true(number(object, "not_finite") == 0);
        const cJSON *states = cJSON_GetObjectItem(object, "trajectory");
        for (int t = 0; t < 2; t++) {
            const cJSON *s = cJSON_GetArrayItem(states, t);
            assert_true(number(s, "residual") < 1e-9 * (1.0 + number(s, "distance")));
            on_plane[t] = i == 0 ? number(s, "on_plane") : on_plane[t];
            assert_true(fabs(number(s, "on_plane") - on_plane[t]) < 1e-9);
            /* The chart's length is the centre's, which the norm's ε sees a little of. */
            assert_true(fabs(number(s, "energy") - number(s, "on_plane")) < 1e-3);
        }
        cJSON_Delete(object);
    }
    program_expect(0, LANDSCAPE, "--token", "all", "--chart", "gnomonic", "--out", in("f.csv"),
                   NULL);
    program_expect(2, LANDSCAPE, "--token", "4", "--chart", "orthographic", "--seeds", "1,1",
                   "--out", in("none.pdf"), NULL);
    program_complained("outside of the orthographic chart");
    program_expect(2, LANDSCAPE, "--token", "4", "--chart", "orthographic", "--range", "1000",
                   "--out", in("none.pdf"), NULL);
    program_complained("--range is too wide: its samples are 89.29 apart and none is on the");
}

/* The centre is the middle state by default, and then the plane goes through the first and the
 * last; a trajectory of two states has no such plane. */
static void test_points(void **state)
{
    static const char *const centres[] = {"0", "2", "3", "4"};
    (void)state;
    for (size_t i = 0; i < sizeof centres / sizeof *centres; i++) {
        program_expect(0, LANDSCAPE, "--token", "4", "--plane", "points", "--steps", "4", "--at",
                       centres[i], "--out", in("f.csv"), "--json", NULL);
        cJSON *object = program_json();
        const cJSON *states = cJSON_GetObjectItem(object, "trajectory");
        assert_int_equal(cJSON_GetArraySize(states), 5);
        assert_true(number(cJSON_GetArrayItem(states, 0), "residual") < 1e-9);
        assert_true(number(cJSON_GetArrayItem(states, 4), "residual") < 1e-9);
        cJSON_Delete(object);
    }
    program_expect(2, LANDSCAPE, "--token", "4", "--plane", "points", "--at", "1", "--steps", "1",
                   "--out", in("f.csv"), NULL);
    assert_non_null(strstr(program_err, "three states"));
    program_expect(2, LANDSCAPE, "--token", "4", "--step", "99", "--out", in("none.csv"), NULL);
    assert_non_null(strstr(program_err, "there is no step 99 to point out"));
}

static void test_others(void **state)
{
    (void)state;
    program_expect(0, LANDSCAPE, "--threads", "2", "--token", "all", "--plane", "random", "--chart",
                   "flat", "--out", in("f.csv"), "--json", NULL);
    cJSON *object = program_json();
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(object, "center")), 7 * 8);
    cJSON_Delete(object);
    program_expect(0, LANDSCAPE, "--token", "4", "--plane", "tokens", "--with", "2", "--out",
                   in("f.csv"), NULL);
    assert_non_null(strstr(program_out, "random direction of token 2"));
    program_expect(0, "landscape", in("cem"), "--prompt", PROMPT, "--columns", "24", "--token", "3",
                   "--layer", "1", "--sublayer", "mlp", "--plane", "random", "--out", in("f.csv"),
                   "--json", NULL);
    object = program_json();
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(object, "reduced")));
    check_centre(object, 2);
    cJSON_Delete(object);
}

static void expect_text(const char *name, const char *part)
{
    kern_error err = {0};
    char *text = NULL;
    size_t size = 0;
    assert_int_equal(model_file_read(in(name), 1 << 24, &text, &size, &err), KERN_OK);
    if (strstr(text, part) == NULL) {
        fail_msg("%s has no \"%s\"", name, part);
    }
    free(text);
}

static void expect_unit(const char *key)
{
    cJSON *object = program_json();
    assert_word(object, "energy_unit", key);
    cJSON_Delete(object);
}

/* Energies of a part of a layer have its unit, in the words of basin trace. */
static void test_units(void **state)
{
    static const struct {
        const char *part, *key, *value, *said, *words;
    } cases[] = {{"attn", "score", "# value: energy ε  (scores)\n", "), in scores.",
                  "in units of the scores, sqrt(head width) of which are one nat"},
                 {"mlp", "gate*preactivation^2", "# value: energy ε  (gate × z²)\n",
                  "), in gate × z².", "in units of gate times squared preactivation"}};
    (void)state;
    for (int i = 0; i < 2; i++) {
        program_expect(0, CEM, "--sublayer", cases[i].part, "--out", in("f.csv"), NULL);
        assert_non_null(strstr(program_out, cases[i].words));
        expect_text("f.csv", cases[i].value);
        program_expect(0, CEM, "--sublayer", cases[i].part, "--out", in("f.svg"), "--json", NULL);
        expect_unit(cases[i].key);
        expect_text("f.svg", cases[i].said);
        program_expect(0, "trace", in("cem"), "--prompt", PROMPT, "--sublayer", cases[i].part,
                       "--out", in("t.h5"), NULL);
        assert_non_null(strstr(program_out, cases[i].words));
    }
    program_expect(0, LANDSCAPE, "--token", "4", "--out", in("f.csv"), "--json", NULL);
    expect_unit("nat");
    expect_text("f.csv", "# value: energy EA  (nats)\n");
    program_expect(0, LANDSCAPE, "--token", "4", "--plane", "random", "--panels", "2", "--out",
                   in("f.csv"), NULL);
    expect_text("f.csv", "# value: energy EA  (nats)\n");
}

/* Other tokens, those that are held, and the step whose field is drawn, in JSON and in words. */
static void test_other_tokens(void **state)
{
    (void)state;
#define OTHERS "--token", "5", "--held", "2", "--also", "3,4", "--follow", "--step", "1", "--ghost"
    program_expect(0, LANDSCAPE, OTHERS, "--out", in("f.svg"), "--json", NULL);
    cJSON *object = program_json();
    const cJSON *others = cJSON_GetObjectItem(object, "others");
    assert_int_equal(cJSON_GetArraySize(others), 2);
    const cJSON *second = cJSON_GetArrayItem(others, 1);
    assert_true(number(second, "token") == 4);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(second, "trajectory")),
                     cJSON_GetArraySize(cJSON_GetObjectItem(object, "trajectory")));
    assert_true(at(cJSON_GetObjectItem(object, "held"), 0) == 2);
    assert_true(at(cJSON_GetObjectItem(object, "also"), 1) == 4);
    assert_true(number(object, "step") == 1 && number(object, "field_step") == 1);
    assert_true(number(object, "at") != 1);
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(object, "follow")));
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(object, "ghost")));
    cJSON_Delete(object);
    program_expect(0, LANDSCAPE, OTHERS, "--out", in("f.svg"), NULL);
    assert_non_null(
        strstr(program_out, "The field holds the other tokens where they are at step 1;"));
    assert_null(strstr(program_out, "has no effect"));
#undef OTHERS
}

/* All others of the prompt, as the window's commands of the same name have it. */
static void test_all_others(void **state)
{
    (void)state;
    program_expect(0, LANDSCAPE, "--token", "2", "--also", "all", "--held", "3", "--held", "all",
                   "--out", in("f.csv"), NULL);
    program_expect(0, LANDSCAPE, "--token", "2", "--also", "0,1,3,4,5,6", "--held", "0,1,3,4,5,6",
                   "--out", in("g.csv"), NULL);
    assert_true(same_files(in("f.csv"), in("g.csv")));
    program_expect(0, "landscape", "--from", in("f.csv"), "--held", "all", "--held", "1", "--out",
                   in("g.csv"), "--json", NULL);
    cJSON *object = program_json();
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(object, "held")), 1);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(object, "also")), 6);
    cJSON_Delete(object);
    program_expect(2, LANDSCAPE, "--token", "all", "--held", "all", "--out", in("none.csv"), NULL);
    program_complained("--held has all 7 tokens of the prompt, and then nothing moves");
    assert_int_not_equal(access(in("none.csv"), F_OK), 0);
}

/* What changes nothing is said. */
static void test_idle(void **state)
{
    (void)state;
    program_expect(0, LANDSCAPE, "--token", "all", "--also", "3", "--out", in("f.svg"), NULL);
    assert_non_null(strstr(program_out, "--also has no effect: all tokens together"));
    program_expect(0, LANDSCAPE, "--token", "5", "--also", "5", "--ghost", "--out", in("f.svg"),
                   NULL);
    assert_non_null(strstr(program_out, "--also has no effect: the chosen token's trajectory"));
    assert_non_null(strstr(program_out, "--ghost has no effect: it goes with follow"));
    program_expect(0, CEM, "--follow", "--step", "1", "--ghost", "--out", in("f.svg"), NULL);
    assert_non_null(strstr(program_out, "--follow has no effect: the history of the layer"));
    assert_non_null(strstr(program_out, "--ghost has no effect: the history of the layer"));
}

/* Every format carries the session, which names what was asked for. */
static void test_files(void **state)
{
    static const char *const names[] = {"f.pdf", "f.svg", "f.png", "f.csv"};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        char *session = NULL;
        kern_error err = {0};
        program_expect(0, LANDSCAPE, "--token", "5", "--plane", "pca", "--dpi", "72", "--out",
                       in(names[i]), NULL);
        assert_non_null(strstr(program_out, "PC 1, "));
        assert_int_equal(viz_session_read(&session, in(names[i]), &err), KERN_OK);
        cJSON *object = cJSON_Parse(session);
        const cJSON *settings = cJSON_GetObjectItem(object, "settings");
        assert_word(object, "command", "basin landscape");
        assert_int_equal(strlen(cJSON_GetObjectItem(object, "model_sha256")->valuestring), 64);
        assert_word(settings, "plane", "pca");
        assert_word(settings, "chart", "auto");
        assert_true(number(settings, "token") == 5);
        cJSON_Delete(object);
        free(session);
    }
}

static void write_axes(const char *text)
{
    FILE *file = fopen(in("axes.csv"), "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void test_custom_axes(void **state)
{
    (void)state;
    write_axes("1,0,0,0,0,0,0,0\n0.5,0.5,0,0,0,0,0,0\n");
    program_expect(0, LANDSCAPE, "--token", "5", "--plane", "custom", "--axes", in("axes.csv"),
                   "--oblique", "--chart", "flat", "--out", in("f.csv"), "--json", NULL);
    cJSON *object = program_json();
    assert_true(fabs(number(object, "angle") - acos(-1.0) / 4) < 1e-12);
    cJSON_Delete(object);
    write_axes("1,0,0,0,0,0,0,0\n-2,0,0,0,0,0,0,0\n");
    program_expect(2, LANDSCAPE, "--token", "5", "--plane", "custom", "--axes", in("axes.csv"),
                   "--out", in("none.csv"), NULL);
    program_complained("parallel");
    write_axes("1,0,0\n0,1,0\n");
    program_expect(2, LANDSCAPE, "--token", "5", "--plane", "custom", "--axes", in("axes.csv"),
                   "--out", in("none.csv"), NULL);
    program_complained("--axes has a line of 3 numbers; accepted are 8");
    program_expect(2, LANDSCAPE, "--token", "5", "--plane", "custom", "--out", in("none.csv"),
                   NULL);
    program_complained("--axes");
    assert_int_not_equal(access(in("none.csv"), F_OK), 0);
}

/* ---- Sessions -------------------------------------------------------------------------------- */

/* Drawn again from itself, a figure is the same file. */
static void test_from(void **state)
{
    static const char *const names[][2] = {
        {"f.pdf", "g.pdf"}, {"f.svg", "g.svg"}, {"f.png", "g.png"}, {"f.csv", "g.csv"}};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        program_expect(0, LANDSCAPE, "--token", "5", "--plane", "random", "--seed", "7", "--turn",
                       "0.3", "--rate", "1.5", "--pin", "--seeds", "0.1,0.2,-0.3,0.1", "--range",
                       "1.3", "--quadratic", "--step", "1", "--dark", "--map", "cividis", "--also",
                       "3,1", "--held", "0", "--follow", "--ghost", "--out", in(names[i][0]),
                       "--dpi", "72", NULL);
        program_expect(0, "landscape", "--from", in(names[i][0]), "--out", in(names[i][1]), "--dpi",
                       "72", NULL);
        assert_true(same_files(in(names[i][0]), in(names[i][1])));
    }
    /* What is given with it counts over it. */
    program_expect(0, "landscape", "--from", in("f.pdf"), "--token", "2", "--rate", "1", "--out",
                   in("g.csv"), "--json", NULL);
    cJSON *object = program_json();
    assert_word(object, "token", "2");
    assert_word(object, "plane", "random");
    assert_true(number(object, "seed") == 7 && number(object, "rate") == 1);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(object, "seeds")), 2);
    cJSON_Delete(object);
}

/* A model that was trained further is another one. */
static void test_changed_model(void **state)
{
    (void)state;
    program_expect(0, "train", "--family", "nrgpt", SMALL, "--out", in("other"), NULL);
    program_expect(0, "landscape", in("other"), "--prompt", PROMPT, "--columns", "24", "--token",
                   "4", "--out", in("f.svg"), NULL);
    program_expect(0, "landscape", in("nrgpt"), "--from", in("f.svg"), "--out", in("g.svg"), NULL);
    program_expect(0, "train", "--family", "nrgpt", SMALL, "--seed", "9", "--overwrite", "--out",
                   in("other"), NULL);
    program_expect(2, "landscape", "--from", in("f.svg"), "--out", in("none.svg"), NULL);
    program_complained("the model has changed since");
    assert_non_null(strstr(program_err, "--changed-model"));
    assert_int_not_equal(access(in("none.svg"), F_OK), 0);
    program_expect(0, "landscape", "--from", in("f.svg"), "--changed-model", "--out", in("g.svg"),
                   NULL);
    assert_non_null(strstr(program_err, "the model has changed since"));
    /* The new figure is of the model as it is. */
    program_expect(0, "landscape", "--from", in("g.svg"), "--out", in("h.svg"), NULL);
    assert_true(same_files(in("g.svg"), in("h.svg")));
}

/* Every setting that a figure of a landscape depends on is an option, by its own name. */
static void test_every_setting(void **state)
{
    (void)state;
    for (size_t i = 0; view_field_at(i) != NULL; i++) {
        const view_field *field = view_field_at(i);
        /* The model is the positional argument RUN. */
        const bool positional = strcmp(field->name, "run") == 0;
        if (field->stage <= VIEW_STAGE_SCENE && !positional &&
            cli_args_find(&cli_landscape, field->name, strlen(field->name)) == NULL) {
            fail_msg("basin landscape has no --%s", field->name);
        }
    }
}

/* ---- Several planes -------------------------------------------------------------------------- */

#define PANELS LANDSCAPE, "--token", "4", "--panels", "3", "--plane"

/* Each plane is that of its seed alone, and what is held is what the residuals say. */
static void test_panels(void **state)
{
    (void)state;
    program_expect(0, PANELS, "random", "--seed", "6", "--out", in("f.csv"), "--json", NULL);
    cJSON *object = program_json();
    const cJSON *planes = cJSON_GetObjectItem(object, "planes");
    const cJSON *plane = cJSON_GetArrayItem(planes, 2);
    const cJSON *residual = cJSON_GetObjectItem(plane, "residual");
    const cJSON *distance = cJSON_GetObjectItem(plane, "distance");
    double off = 0;
    double all = 0;
    assert_int_equal(cJSON_GetArraySize(planes), 3);
    assert_true(number(object, "panels") == 3 && number(plane, "seed") == 8);
    for (int t = 0; t < cJSON_GetArraySize(residual); t++) {
        off += at(residual, t) * at(residual, t);
        all += at(distance, t) * at(distance, t);
    }
    assert_true(fabs(number(plane, "held") - (1 - off / all)) < 1e-12);
    assert_true(number(plane, "held") > 0 && number(plane, "held") < 1);
    assert_true(number(object, "low") <= number(plane, "min"));
    assert_true(number(object, "high") >= number(plane, "max"));
    /* The range holds the states of every plane: those of the first take a third of it. */
    const cJSON *range = cJSON_GetObjectItem(object, "range");
    cJSON_ArrayForEach(plane, planes)
    {
        for (int t = 0; t < cJSON_GetArraySize(residual); t++) {
            const double a = at(cJSON_GetObjectItem(plane, "a"), t);
            const double b = at(cJSON_GetObjectItem(plane, "b"), t);
            assert_true(a >= at(range, 0) && a <= at(range, 1));
            assert_true(b >= at(range, 2) && b <= at(range, 3));
        }
    }
    plane = cJSON_GetArrayItem(planes, 2);
    program_expect(0, LANDSCAPE, "--token", "4", "--plane", "random", "--seed", "8", "--out",
                   in("g.csv"), "--json", NULL);
    cJSON *alone = program_json();
    const cJSON *states = cJSON_GetObjectItem(alone, "trajectory");
    for (int t = 0; t < cJSON_GetArraySize(states); t++) {
        assert_true(number(cJSON_GetArrayItem(states, t), "a") ==
                    at(cJSON_GetObjectItem(plane, "a"), t));
    }
    cJSON_Delete(alone);
    cJSON_Delete(object);
}

/* The same bytes again, from its own session too, which says how many there are. */
static void test_panel_files(void **state)
{
    static const char *const names[][2] = {
        {"p.pdf", "q.pdf"}, {"p.svg", "q.svg"}, {"p.png", "q.png"}, {"p.csv", "q.csv"}};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct stat file;
        char *session = NULL;
        kern_error err = {0};
        program_expect(0, PANELS, "relative", "--dark", "--out", in(names[i][0]), "--dpi", "72",
                       NULL);
        assert_non_null(strstr(program_out, "energy of token 4"));
        program_expect(0, "landscape", "--from", in(names[i][0]), "--out", in(names[i][1]), "--dpi",
                       "72", "--threads", "2", NULL);
        assert_true(same_files(in(names[i][0]), in(names[i][1])));
        assert_int_equal(stat(in(names[i][0]), &file), 0);
        assert_true(file.st_size < 500000);
        assert_int_equal(viz_session_read(&session, in(names[i][0]), &err), KERN_OK);
        cJSON *object = cJSON_Parse(session);
        assert_true(number(cJSON_GetObjectItem(object, "settings"), "panels") == 3);
        cJSON_Delete(object);
        free(session);
    }
    /* One of them alone. */
    program_expect(0, "landscape", "--from", in("p.pdf"), "--panels", "1", "--out", in("q.csv"),
                   NULL);
    assert_non_null(strstr(program_out, "axis 1: relative random direction 1"));
}

/* A session of the window may ask for panels that its plane has not: drawn is what the window
 * shows and exports. Panels that the command line asks for stay refused. */
static void test_panels_of_a_session(void **state)
{
    char save[TEST_PATH + 8];
    char export[TEST_PATH + 8];
    (void)state;
    (void)snprintf(save, sizeof save, "save %s", in("s.json"));
    (void)snprintf(export, sizeof export, "export %s", in("p.csv"));
    program_expect(0, "view", in("nrgpt"), "--prompt", PROMPT, "--token", "4", "--set",
                   "columns=24", "--set", "panels=4", "--no-window", "--exec", save, NULL);
    program_expect(0, "view", "--from", in("s.json"), "--no-window", "--exec", export, NULL);
    program_expect(0, "landscape", "--from", in("s.json"), "--out", in("q.csv"), NULL);
    assert_non_null(strstr(program_err, "one plane is drawn, as basin view does: panels is 4 and "
                                        "plane is pca; accepted are planes of random directions"));
    assert_true(same_files(in("p.csv"), in("q.csv")));
    program_expect(2, "landscape", "--from", in("s.json"), "--panels", "4", "--out", in("none.pdf"),
                   NULL);
    program_complained("--panels is 4 and plane is pca; accepted are planes of random directions");
    /* The plane that it needs, and what one plane alone has. */
    program_expect(0, "landscape", "--from", in("s.json"), "--plane", "random", "--out",
                   in("q.csv"), NULL);
    assert_non_null(strstr(program_out, "on 4 planes"));
    assert_string_equal(program_err, "");
    program_expect(0, "landscape", "--from", in("q.csv"), "--mode", "surface", "--out", in("f.csv"),
                   NULL);
    assert_non_null(strstr(program_err, "one plane is drawn, as basin view does: mode is about"));
    assert_int_not_equal(access(in("none.pdf"), F_OK), 0);
}

static void test_panel_refusals(void **state)
{
    (void)state;
    program_expect(2, PANELS, "pca", "--out", in("none.pdf"), NULL);
    program_complained("--panels is 3 and plane is pca; accepted are planes of random directions");
    program_expect(2, PANELS, "random", "--mode", "surface", "--out", in("none.pdf"), NULL);
    program_complained("--mode is about the figure of a single plane");
    program_expect(2, PANELS, "random", "--quadratic", "--out", in("none.pdf"), NULL);
    program_complained("--quadratic is about the figure of a single plane");
    program_expect(2, PANELS, "random", "--seeds", "0,0", "--out", in("none.pdf"), NULL);
    program_complained("--seeds is about the figure of a single plane");
    program_expect(2, LANDSCAPE, "--token", "4", "--panels", "17", "--out", in("none.pdf"), NULL);
    program_complained("--panels");
    program_expect(2, LANDSCAPE, "--token", "4", "--panels", "0", "--out", in("none.pdf"), NULL);
    program_complained("--panels");
    assert_int_not_equal(access(in("none.pdf"), F_OK), 0);
}

/* ---- Files that cannot be written ------------------------------------------------------------ */

/* For one plane and for several: no page without pixels, none too large, no file that cannot be
 * made, and none that is not whole; what was there before stays. */
static void test_bad_output(void **state)
{
    static const char *const panels[] = {"1", "3"};
    static const char *const full[] = {"full.pdf", "full.svg", "full.png", "full.csv"};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(symlink("/dev/full", in(full[i])), 0);
    }
    for (size_t i = 0; i < 2; i++) {
#define BAD LANDSCAPE, "--token", "4", "--plane", "random", "--panels", panels[i], "--out"
        program_expect(2, BAD, in("none.png"), "--width-mm", "0", NULL);
        program_complained("--width-mm");
        program_expect(2, BAD, in("none.png"), "--dpi", "0", NULL);
        program_complained("--dpi");
        program_expect(2, BAD, in("none.png"), "--width-mm", "1000", "--dpi", "1200", NULL);
        program_complained("pixels");
        program_expect(2, BAD, in("nowhere/f.pdf"), NULL);
        program_complained("--out");
        program_expect(2, BAD, "", NULL);
        program_complained("--out");
        for (size_t k = 0; k < 4; k++) {
            program_expect(2, BAD, in(full[k]), NULL);
            program_complained("No space left");
        }
        program_setup.file_limit = 4096;
        program_expect(2, BAD, in("none.pdf"), NULL);
        program_complained("none.pdf");
        assert_int_not_equal(access(in("none.png"), F_OK), 0);
        assert_int_not_equal(access(in("none.pdf"), F_OK), 0);
#undef BAD
    }
}

/* ---- Output ---------------------------------------------------------------------------------- */

static double png_width(const char *name)
{
    unsigned char head[24];
    FILE *file = fopen(in(name), "rb");
    assert_non_null(file);
    assert_int_equal(fread(head, 1, sizeof head, file), sizeof head);
    (void)fclose(file);
    return 65536.0 * head[17] + 256.0 * head[18] + head[19];
}

static void test_output(void **state)
{
    (void)state;
    program_expect(0, LANDSCAPE, "--token", "4", "--out", in("f.png"), "--dpi", "100", "--width-mm",
                   "127", "--json", "--field", NULL);
    cJSON *object = program_json();
    const cJSON *field = cJSON_GetObjectItem(object, "field");
    double low = (double)INFINITY;
    assert_int_equal(cJSON_GetArraySize(field), 24 * 15);
    const cJSON *item;
    cJSON_ArrayForEach(item, field)
    {
        low = fmin(low, item->valuedouble);
    }
    assert_true(low == number(object, "min"));
    cJSON_Delete(object);
    assert_true(png_width("f.png") == 500); /* 5 inches */
    program_expect(2, LANDSCAPE, "--token", "4", "--out", in("none.png"), "--field", NULL);
    program_complained("--field is about what --json prints");
    program_expect(2, LANDSCAPE, "--token", "4", "--out", in("none.png"), "--changed-model", NULL);
    program_complained("--changed-model is about --from");
    program_expect(2, LANDSCAPE, "--token", "4", "--out", in("none.png"), "--low", "2", NULL);
    program_complained("--low is 2 and --high is 0");
    program_expect(2, "landscape", "--out", in("none.png"), NULL);
    program_complained("RUN is missing");
    program_expect(2, "landscape", in("nrgpt"), "--out", in("none.png"), NULL);
    program_complained("--prompt is missing");
}

/* Found before anything is computed: the token, which does not exist, is not complained about. */
static void test_folder_without_rights(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in("locked"), 0555), 0);
    if (geteuid() == 0) { /* root may write anywhere */
        skip();
    }
    program_expect(2, LANDSCAPE, "--token", "99", "--out", in("locked/f.pdf"), NULL);
    program_complained("--out");
}

/* True once the program watches for Ctrl-C: a signal before would end it as any other program. */
static bool watches(pid_t child)
{
    char path[64];
    char line[256];
    unsigned long long caught = 0;
    (void)snprintf(path, sizeof path, "/proc/%ld/status", (long)child);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "SigCgt:", 7) == 0) {
            caught = strtoull(line + 7, NULL, 16);
        }
    }
    (void)fclose(file);
    return (caught >> (SIGINT - 1) & 1) != 0;
}

/* Ctrl-C while a trajectory is followed that takes far longer. */
static void test_interrupted(void **state)
{
    const struct timespec nap = {.tv_nsec = 1000000};
    (void)state;
    const pid_t child =
        program_launch(LANDSCAPE, "--token", "4", "--at", "100000", "--seeds",
                       "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0", "--out",
                       in("none.pdf"), NULL);
    for (int i = 0; i < 60000 && !watches(child); i++) {
        (void)nanosleep(&nap, NULL);
    }
    assert_int_equal(kill(child, SIGINT), 0);
    program_finish(child);
    assert_int_equal(program_code, 130);
    program_complained("stopped before the trajectory was followed");
    assert_int_not_equal(access(in("none.pdf"), F_OK), 0);
}

/* Measures the rows whose names begin with `only`, and checks that there are as many as these. */
static void check_bench(const char *only, const char *const *names, int n)
{
    program_expect(0, "bench", "viz", "--rounds", "1", "--threads", "2", "--case", only, "--json",
                   NULL);
    cJSON *object = program_json();
    const cJSON *rows = cJSON_GetObjectItem(object, "rows");
    assert_int_equal(cJSON_GetArraySize(rows), n);
    for (int i = 0; i < n; i++) {
        assert_word(cJSON_GetArrayItem(rows, i), "name", names[i]);
        assert_true(number(cJSON_GetArrayItem(rows, i), "wall_ms") > 0);
        assert_true(number(cJSON_GetArrayItem(rows, i), "cpu_ms") > 0);
    }
    cJSON_Delete(object);
}

/* What is measured, not how fast it is. The analyses take seconds of the two-layer part, and run
 * for the other one. */
static void test_bench(void **state)
{
    static const char *const fields[] = {"ff2w 64x40 f32"};
    static const char *const planes[] = {"ff2w plane"};
    static const char *const all[] = {"ff1 plane",
                                      "ff1 first pixels (plane, 32x20 f32)",
                                      "ff1 64x40 f32",
                                      "ff1 128x80 f32",
                                      "ff1 256x160 f32",
                                      "ff1 256x160 f64",
                                      "ff1 settled (plane, 256x160 f64, contours)",
                                      "ff1 measure at a place",
                                      "ff1 attention weights of all tokens",
                                      "ff1 landmarks",
                                      "ff1 orbit strip, 2 columns"};
    (void)state;
    check_bench("ff1", all, 11);
    check_bench("ff2w plane", planes, 1);
    check_bench("ff2w 64", fields, 1);
    program_expect(2, "bench", "viz", "--case", "ff3", "--rounds", "1", NULL);
    program_complained("--case is \"ff3\"");
}

static void test_refusals(void **state)
{
    (void)state;
    program_expect(2, LANDSCAPE, "--token", "7", "--out", in("none.pdf"), NULL);
    program_complained("--token is \"7\"; accepted are 0 to 6, the tokens of the prompt, and all");
    program_expect(2, LANDSCAPE, "--token", "1", "--out", in("none.gif"), NULL);
    program_complained("--out");
    program_expect(2, LANDSCAPE, "--token", "1", "--plane", "sideways", "--out", in("none.pdf"),
                   NULL);
    program_complained("\"sideways\" is no plane");
    program_expect(2, LANDSCAPE, "--token", "1", "--chart", "round", "--out", in("none.pdf"), NULL);
    program_complained("--chart");
    program_expect(2, LANDSCAPE, "--token", "1", "--layer", "0", "--out", in("none.pdf"), NULL);
    program_complained("--layer and --sublayer are for models with layers");
    program_expect(2, LANDSCAPE, "--token", "4", "--plane", "tokens", "--with", "4", "--out",
                   in("none.pdf"), NULL);
    program_complained("both axes are of token 4");
    program_expect(2, LANDSCAPE, "--token", "4", "--plane", "tokens", "--with", "50", "--out",
                   in("none.pdf"), NULL);
    program_complained("--with is 50, not within 0 to");
    program_expect(2, LANDSCAPE, "--token", "4", "--with", "3", "--out", in("none.pdf"), NULL);
    program_complained("--with belongs to --plane tokens, not to pca");
    program_expect(2, LANDSCAPE, "--token", "all", "--frozen", "--out", in("none.pdf"), NULL);
    program_complained("--frozen follows one token");
    program_expect(2, "landscape", in("llama"), "--prompt", PROMPT, "--token", "1", "--out",
                   in("none.pdf"), NULL);
    program_complained("a llama has no energy of its tokens; accepted are nrgpt");
    assert_int_not_equal(access(in("none.pdf"), F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_frozen),
        cmocka_unit_test(test_charts),
        cmocka_unit_test(test_points),
        cmocka_unit_test(test_others),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_other_tokens),
        cmocka_unit_test(test_all_others),
        cmocka_unit_test(test_idle),
        cmocka_unit_test(test_custom_axes),
        cmocka_unit_test(test_bench),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_from),
        cmocka_unit_test(test_changed_model),
        cmocka_unit_test(test_every_setting),
        cmocka_unit_test(test_panels),
        cmocka_unit_test(test_panel_files),
        cmocka_unit_test(test_panels_of_a_session),
        cmocka_unit_test(test_panel_refusals),
        cmocka_unit_test(test_bad_output),
        cmocka_unit_test(test_output),
        cmocka_unit_test(test_folder_without_rights),
        cmocka_unit_test(test_interrupted),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
