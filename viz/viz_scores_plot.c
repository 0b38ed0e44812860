/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_scores_plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASPECT  0.72
#define PERCENT 100.0

/* Scores of one group, ascending in parameters, greedy then sampled. */
typedef struct group {
    double x[VIZ_SCORES_MAX], greedy[VIZ_SCORES_MAX], sampled[VIZ_SCORES_MAX];
    size_t n;
} group;

/* Bytes of a name before its last '-'. */
static size_t stem(const char *name)
{
    const char *dash = strrchr(name, '-');
    return dash != NULL && dash != name ? (size_t)(dash - name) : strlen(name);
}

static bool same_group(const char *a, const char *b)
{
    return stem(a) == stem(b) && strncmp(a, b, stem(a)) == 0;
}

static void insert(group *g, const viz_score *score)
{
    size_t i = g->n++;
    for (; i > 0 && g->x[i - 1] > score->parameters; i--) {
        g->x[i] = g->x[i - 1];
        g->greedy[i] = g->greedy[i - 1];
        g->sampled[i] = g->sampled[i - 1];
    }
    g->x[i] = score->parameters;
    g->greedy[i] = PERCENT * score->greedy;
    g->sampled[i] = PERCENT * score->sampled;
}

static kern_status add_group(viz_scene *scene, viz_panel *panel, const group *g, const char *name,
                             size_t rank, kern_error *err)
{
    char text[VIZ_PLOT_TEXT];
    char plain[VIZ_PLOT_TEXT];
    (void)snprintf(plain, sizeof plain, "%.*s", (int)stem(name), name);
    KERN_TRY(viz_plot_escape(text, plain, err));
    viz_series line = {.name = plain,
                       .legend = text,
                       .x = g->x,
                       .y = g->sampled,
                       .n = g->n,
                       .style = {.paint = viz_paint_class(rank),
                                 .width = 0.8,
                                 .dash = VIZ_DASHED,
                                 .marker = viz_plot_marker(rank % 3),
                                 .size = 4.0,
                                 .open = true}};
    line.legend = NULL;
    KERN_TRY(viz_scene_add_series(scene, panel, &line, err));
    line.legend = text;
    line.y = g->greedy;
    line.style.dash = VIZ_SOLID;
    line.style.width = 1.1;
    line.style.open = false;
    return viz_scene_add_series(scene, panel, &line, err);
}

static kern_status add_groups(viz_scene *scene, viz_panel *panel, const viz_scores_data *data,
                              group *g, kern_error *err)
{
    bool done[VIZ_SCORES_MAX] = {false};
    size_t rank = 0;
    for (size_t i = 0; i < data->n; i++) {
        if (done[i]) {
            continue;
        }
        g->n = 0;
        for (size_t k = i; k < data->n; k++) {
            if (!done[k] && same_group(data->scores[i].name, data->scores[k].name)) {
                done[k] = true;
                insert(g, &data->scores[k]);
            }
        }
        KERN_TRY(add_group(scene, panel, g, data->scores[i].name, rank++, err));
    }
    return KERN_OK;
}

static kern_status build(viz_scene *scene, const viz_scores_data *data, group *g, kern_error *err)
{
    viz_panel *panel;
    const viz_panel spec = {.x = {.label = "parameters", .log = true},
                            .y = {.label = "right answers (%)"}};
    KERN_TRY(viz_scene_add_panel(&panel, scene, &spec, err));
    KERN_TRY(add_groups(scene, panel, data, g, err));
    viz_scene_fit(panel, 0.0);
    panel->x.lo /= 1.15;
    panel->x.hi *= 1.15;
    panel->y.lo = 0.0;
    panel->y.hi = PERCENT;
    if (isfinite(data->chance)) {
        KERN_TRY(viz_plot_rule(scene, panel, VIZ_RULE_LEVEL, PERCENT * data->chance, err));
        const viz_mark mark = {
            .x = panel->x.lo, .y = PERCENT * data->chance, .gap = 2.0, .text = "chance"};
        KERN_TRY(viz_scene_add_mark(scene, panel, &mark, err));
    }
    return viz_plot_note(scene, err, "Filled: greedy. Open: sampled.");
}

kern_status viz_scores_plot(viz_scene **out, const viz_scores_data *data,
                            const viz_plot_style *style, kern_error *err)
{
    viz_scene *scene;
    size_t finite = 0;
    *out = NULL;
    if (data->n > VIZ_SCORES_MAX) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "%zu scores are more than %d", data->n,
                          VIZ_SCORES_MAX);
    }
    for (size_t i = 0; i < data->n; i++) {
        finite += data->scores[i].parameters > 0.0 &&
                          (isfinite(data->scores[i].greedy) || isfinite(data->scores[i].sampled))
                      ? 1
                      : 0;
    }
    if (finite == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "none of %zu models has a score", data->n);
    }
    group *g = calloc(1, sizeof *g);
    if (g == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "memory for a figure was refused by the system");
    }
    kern_status status = viz_plot_page(&scene, style, ASPECT, "Accuracy against parameters", err);
    if (status == KERN_OK) {
        status = build(scene, data, g, err);
    }
    free(g);
    return viz_plot_end(out, scene, status);
}
