/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_scene.h"

#include "kernels/kern_size.h"
#include "viz/viz_memory.h"
#include "viz/viz_text.h"

#include <math.h>

static kern_status check_name(const char *name, const char *what, kern_error *err)
{
    if (name == NULL || !viz_text_is_utf8(name)) {
        return kern_raise(err, KERN_BAD_INPUT, "%s has no name, or one that is not UTF-8", what);
    }
    return KERN_OK;
}

static bool is_range(double lo, double hi)
{
    return isfinite(lo) && isfinite(hi) && lo < hi && isfinite(hi - lo);
}

static kern_status check_lattice(size_t *cells, const viz_lattice *lattice, const char *name,
                                 kern_error *err)
{
    const size_t nx = lattice->nx;
    const size_t ny = lattice->ny;
    if (nx < 1 || ny < 1 || nx > VIZ_LATTICE_SIDE || ny > VIZ_LATTICE_SIDE ||
        !kern_size_mul(nx, ny, cells) || *cells > VIZ_LATTICE_TOTAL) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "layer \"%s\" of %zu by %zu values is outside 1 to %d a side and %d in "
                          "all",
                          name, nx, ny, VIZ_LATTICE_SIDE, VIZ_LATTICE_TOTAL);
    }
    if (!is_range(lattice->x0, lattice->x1) || !is_range(lattice->y0, lattice->y1)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the extent %g to %g by %g to %g of layer \"%s\" is not increasing and "
                          "finite",
                          lattice->x0, lattice->x1, lattice->y0, lattice->y1, name);
    }
    return KERN_OK;
}

static kern_status missing_values(const char *name, kern_error *err)
{
    return kern_raise(err, KERN_INVALID_ARGUMENT, "layer \"%s\" has no values", name);
}

kern_status viz_scene_add_field(viz_scene *scene, viz_panel *panel, const viz_field *field,
                                kern_error *err)
{
    size_t cells;
    KERN_TRY(check_name(field->name, "a field", err));
    KERN_TRY(check_lattice(&cells, &field->lattice, field->name, err));
    KERN_TRY(viz_scale_check(&field->scale, err));
    if (field->values == NULL) {
        return missing_values(field->name, err);
    }
    viz_field copy = *field;
    KERN_TRY(viz_memory_text(&copy.name, &scene->memory, field->name, err));
    KERN_TRY(viz_memory_numbers(&copy.values, &scene->memory, field->values, cells, err));
    void *block = panel->fields;
    KERN_TRY(viz_memory_grow(&scene->memory, &block, &panel->fields_room, panel->n_fields,
                             sizeof copy, err));
    panel->fields = block;
    panel->fields[panel->n_fields++] = copy;
    return KERN_OK;
}

kern_status viz_scene_add_surface(viz_scene *scene, viz_panel *panel, const viz_field *field,
                                  const viz_camera *camera, kern_error *err)
{
    /* The angle π/2 is allowed as a session writes it, rounded to a double. */
    const double most = acos(0.0) * (1.0 + 1e-12);
    if (!isfinite(camera->azimuth) || !(camera->elevation >= 0.0 && camera->elevation <= most)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a surface cannot be seen from azimuth %g and elevation %g; an elevation "
                          "of 0 to π/2 is accepted",
                          camera->azimuth, camera->elevation);
    }
    if (panel->n_fields > 0 || panel->n_classes > 0 || field->ink || field->lattice.nx < 2 ||
        field->lattice.ny < 2) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a surface needs a panel without other fields, a colour map, and 2 by 2 "
                          "values or more");
    }
    KERN_TRY(viz_scene_add_field(scene, panel, field, err));
    panel->surface = true;
    panel->camera = *camera;
    panel->equal = false;
    return KERN_OK;
}

static kern_status copy_classes(viz_classes *copy, viz_scene *scene, kern_error *err)
{
    viz_class *list = viz_memory_alloc(&scene->memory, copy->n_classes, sizeof *list);
    if (list == NULL) {
        return viz_memory_refused(err);
    }
    for (size_t i = 0; i < copy->n_classes; i++) {
        list[i] = copy->classes[i];
        KERN_TRY(check_name(list[i].name, "a class", err));
        if ((unsigned)list[i].hatch >= VIZ_HATCH_COUNT) {
            return kern_raise(err, KERN_INVALID_ARGUMENT, "hatch %d of class \"%s\" does not exist",
                              (int)list[i].hatch, list[i].name);
        }
        for (size_t k = 0; k < i; k++) {
            if (list[k].label == list[i].label) {
                return kern_raise(err, KERN_INVALID_ARGUMENT,
                                  "classes \"%s\" and \"%s\" share the label %d", list[k].name,
                                  list[i].name, (int)list[i].label);
            }
        }
        KERN_TRY(viz_memory_text(&list[i].name, &scene->memory, list[i].name, err));
        KERN_TRY(viz_memory_markup(&list[i].legend, &scene->memory, list[i].legend, err));
    }
    copy->classes = list;
    return KERN_OK;
}

kern_status viz_scene_add_classes(viz_scene *scene, viz_panel *panel, const viz_classes *classes,
                                  kern_error *err)
{
    size_t cells;
    const void *labels;
    KERN_TRY(check_name(classes->name, "a map of classes", err));
    KERN_TRY(check_lattice(&cells, &classes->lattice, classes->name, err));
    if (classes->labels == NULL) {
        return missing_values(classes->name, err);
    }
    if (classes->n_classes > VIZ_CLASSES_MAX) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "layer \"%s\" has %zu classes; at most %d "
                          "are possible",
                          classes->name, classes->n_classes, VIZ_CLASSES_MAX);
    }
    viz_classes copy = *classes;
    KERN_TRY(copy_classes(&copy, scene, err));
    KERN_TRY(viz_memory_text(&copy.name, &scene->memory, classes->name, err));
    KERN_TRY(viz_memory_block(&labels, &scene->memory, classes->labels, cells,
                              sizeof *classes->labels, err));
    copy.labels = labels;
    KERN_TRY(viz_memory_numbers(&copy.light, &scene->memory, classes->light, cells, err));
    void *block = panel->classes;
    KERN_TRY(viz_memory_grow(&scene->memory, &block, &panel->classes_room, panel->n_classes,
                             sizeof copy, err));
    panel->classes = block;
    panel->classes[panel->n_classes++] = copy;
    return KERN_OK;
}

static kern_status check_lines(const viz_isolines *lines, kern_error *err)
{
    KERN_TRY(check_name(lines->name, "a set of isolines", err));
    if (!(lines->width >= 0.0 && lines->width <= 20.0)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the width %g of isolines \"%s\" is outside 0 to 20 points", lines->width,
                          lines->name);
    }
    for (size_t k = 0; k < lines->n_lines; k++) {
        if (lines->first[k] > lines->first[k + 1]) {
            return kern_raise(err, KERN_INVALID_ARGUMENT,
                              "line %zu of isolines \"%s\" ends before it begins", k, lines->name);
        }
        if (!isfinite(lines->level[k])) {
            return kern_raise(err, KERN_INVALID_ARGUMENT,
                              "the level of line %zu of isolines \"%s\" is %g", k, lines->name,
                              lines->level[k]);
        }
    }
    return KERN_OK;
}

kern_status viz_scene_add_isolines(viz_scene *scene, viz_panel *panel, const viz_isolines *lines,
                                   kern_error *err)
{
    static const size_t none[1] = {0};
    const void *first;
    KERN_TRY(check_lines(lines, err));
    viz_isolines copy = *lines;
    const size_t n = lines->n_lines > 0 ? lines->first[lines->n_lines] : 0;
    KERN_TRY(viz_memory_text(&copy.name, &scene->memory, lines->name, err));
    KERN_TRY(viz_memory_block(&first, &scene->memory, lines->n_lines > 0 ? lines->first : none,
                              lines->n_lines + 1, sizeof *lines->first, err));
    copy.first = first;
    KERN_TRY(viz_memory_numbers(&copy.x, &scene->memory, lines->x, n, err));
    KERN_TRY(viz_memory_numbers(&copy.y, &scene->memory, lines->y, n, err));
    KERN_TRY(viz_memory_numbers(&copy.level, &scene->memory, lines->level, lines->n_lines, err));
    void *block = panel->isolines;
    KERN_TRY(viz_memory_grow(&scene->memory, &block, &panel->isolines_room, panel->n_isolines,
                             sizeof copy, err));
    panel->isolines = block;
    panel->isolines[panel->n_isolines++] = copy;
    return KERN_OK;
}

/* Half a step between samples, or 0 when nothing is drawn beyond the outermost. */
static double overhang(size_t n, double lo, double hi, viz_filter filter)
{
    return filter == VIZ_NEAREST && n > 1 ? 0.5 * (hi - lo) / (double)(n - 1) : 0.0;
}

void viz_scene_fit_lattice(viz_panel *panel, const viz_lattice *lattice, viz_filter filter)
{
    const double dx = overhang(lattice->nx, lattice->x0, lattice->x1, filter);
    const double dy = overhang(lattice->ny, lattice->y0, lattice->y1, filter);
    panel->x.lo = lattice->x0 - dx;
    panel->x.hi = lattice->x1 + dx;
    panel->y.lo = lattice->y0 - dy;
    panel->y.hi = lattice->y1 + dy;
}
