/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A view of a small random model, for tests of the explorer. Include after cmocka.h.
 */
#ifndef BASIN_VIEW_TEST_MODEL_H
#define BASIN_VIEW_TEST_MODEL_H

#include "kernels/kern_blas.h"
#include "models/model_weights.h"
#include "tests/models/model_test_folder.h"
#include "tests/models/model_test_tiny.h"
#include "viz/view/view_private.h"

enum { VIEW_TEST_TOKENS = 6, VIEW_TEST_STEPS = 6 /* twice the tiny model's */ };

#define VIEW_TEST_PROMPT "3 1 4 1 5 9"

/* Writes the weights of a random model; other seeds are other models. */
static inline void view_test_weights(const char *path, model_family family, uint64_t seed)
{
    model_config c = tiny_config(family);
    c.vocab_size = 17;
    model *m = NULL;
    kern_rng *rng = kern_rng_create(seed, "view test", 0);
    assert_non_null(rng);
    TINY_OK(model_create(&m, &c, &kern_backend_cpu_f64, tiny_err));
    TINY_OK(model_init_values(m, seed, tiny_err));
    for (size_t i = 0; i < m->params.count; i++) {
        const model_param *p = &m->params.items[i];
        for (size_t k = 0; p->rank == 2 && k < model_param_size(p); k++) {
            model_value_set(m, p->offset + k, 0.4 * kern_rng_normal(rng));
        }
    }
    TINY_OK(model_weights_write(m, path, NULL, 0, tiny_err));
    kern_rng_destroy(rng);
    model_destroy(m);
}

/* Settings of a view of the weights in the test's folder, small enough to be quick. */
static inline view_settings view_test_settings(const char *name)
{
    view_settings s;
    char path[TEST_PATH];
    view_settings_defaults(&s);
    (void)snprintf(s.run, sizeof s.run, "%s", test_path(path, name));
    (void)snprintf(s.prompt, sizeof s.prompt, VIEW_TEST_PROMPT);
    s.token = 4;
    s.columns = 40;
    s.levels = 6;
    return s;
}

static inline view *view_test_open(const view_settings *s)
{
    const view_options options = {.settings = *s, .workers = 1};
    view *v = NULL;
    TINY_OK(view_create(&v, &options, tiny_err));
    return v;
}

/* A view of the model that every test has, settled. */
static inline view *view_test_make(void)
{
    const view_settings s = view_test_settings("a.safetensors");
    view *v = view_test_open(&s);
    view_settle(v);
    return v;
}

static inline bool view_test_same(const view_settings *a, const view_settings *b)
{
    view_stage stage;
    return !view_settings_differ(a, b, &stage);
}

static inline void view_test_do(view *v, const char *line)
{
    kern_error err = {0};
    if (view_do(v, line, &err) != KERN_OK) {
        fail_msg("%s: %s", line, err.text);
    }
}

/* The line is refused by a sentence that contains `part`, and changes nothing. */
static inline void view_test_refused(view *v, const char *line, const char *part)
{
    kern_error err = {0};
    bool failed = false;
    const view_settings before = v->s;
    const size_t past = v->n_past;
    if (view_do(v, line, &err) == KERN_OK) {
        fail_msg("\"%s\" was not refused", line);
    }
    test_error(&err, err.status, part);
    assert_true(err.status != KERN_OK);
    if (!view_test_same(&before, &v->s)) {
        fail_msg("\"%s\" changed the settings", line);
    }
    assert_int_equal(v->n_past, past);
    assert_true(strlen(view_said(v, &failed)) > 0);
    assert_true(failed);
}

/* Group setup: a folder with the weights of two models. */
static inline int view_test_setup(void **state)
{
    char path[TEST_PATH];
    if (test_folder_make(state) != 0) {
        return -1;
    }
    view_test_weights(test_path(path, "a.safetensors"), MODEL_NRGPT, 11);
    view_test_weights(test_path(path, "b.safetensors"), MODEL_NRGPT, 12);
    return 0;
}

#endif
