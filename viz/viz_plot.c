/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_plot.h"

#include "viz/viz_text.h"

#include <stdio.h>
#include <string.h>

enum { NOTE_ROOM = 2048 };

kern_status viz_plot_escape(char out[VIZ_PLOT_TEXT], const char *text, kern_error *err)
{
    const char *plain = text != NULL ? text : "";
    if (!viz_text_is_utf8(plain)) {
        return kern_raise(err, KERN_BAD_INPUT, "a text of the figure is not valid UTF-8");
    }
    (void)viz_text_escape(out, VIZ_PLOT_TEXT, plain);
    return KERN_OK;
}

/* Letters that the maps' parameters are named for. */
static const struct {
    const char *name, *letter;
} greek[] = {
    {"alpha", "\xce\xb1"}, {"beta", "\xce\xb2"},   {"eps", "\xce\xb5"},
    {"eta", "\xce\xb7"},   {"lambda", "\xce\xbb"}, {"mu", "\xce\xbc"},
    {"omega", "\xcf\x89"}, {"rho", "\xcf\x81"},    {"sigma", "\xcf\x83"},
};

kern_status viz_plot_symbol(char out[VIZ_PLOT_TEXT], const char *name, kern_error *err)
{
    const char *text = name != NULL ? name : "";
    const size_t digits = strspn(text + strcspn(text, "0123456789"), "0123456789");
    const size_t letters = strcspn(text, "0123456789");
    const char *letter = NULL;
    for (size_t i = 0; i < sizeof greek / sizeof greek[0]; i++) {
        if (strlen(greek[i].name) == letters && strncmp(text, greek[i].name, letters) == 0) {
            letter = greek[i].letter;
        }
    }
    const bool latin =
        letters == 1 && ((*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z'));
    if ((letter == NULL && !latin) || text[letters + digits] != '\0') {
        return viz_plot_escape(out, name, err);
    }
    const int n = letter != NULL ? snprintf(out, VIZ_PLOT_TEXT, "<i>%s</i>", letter)
                                 : snprintf(out, VIZ_PLOT_TEXT, "<i>%c</i>", *text);
    if (digits > 0 && n > 0) {
        (void)snprintf(out + n, VIZ_PLOT_TEXT - (size_t)n, "<sub>%.8s</sub>", text + letters);
    }
    return KERN_OK;
}

static kern_status set_texts(viz_scene *scene, const viz_plot_style *style, const char *title,
                             kern_error *err)
{
    char text[VIZ_PLOT_TEXT];
    scene->theme = style->theme;
    KERN_TRY(viz_plot_escape(text, style->title, err));
    KERN_TRY(viz_scene_set_family(scene, style->family, err));
    return viz_scene_set_title(scene, style->title != NULL ? text : title, err);
}

kern_status viz_plot_page(viz_scene **out, const viz_plot_style *style, double aspect,
                          const char *title, kern_error *err)
{
    const double width =
        style->width != 0.0 ? style->width : viz_scene_points(VIZ_SINGLE_COLUMN_MM);
    const double height = style->height != 0.0 ? style->height : aspect * width;
    viz_scene *scene;
    *out = NULL;
    KERN_TRY(viz_scene_create(&scene, width, height, err));
    return viz_plot_end(out, scene, set_texts(scene, style, title, err));
}

/* Copies with "−" for a hyphen that stands between a space and a digit. */
static void set_minus(char *out, size_t size, const char *text)
{
    static const char minus[] = "\xe2\x88\x92";
    size_t n = 0;
    for (size_t i = 0; text[i] != '\0' && n + sizeof minus < size; i++) {
        const bool sign = text[i] == '-' && i > 0 && text[i - 1] == ' ' && text[i + 1] >= '0' &&
                          text[i + 1] <= '9';
        if (sign) {
            memcpy(out + n, minus, sizeof minus - 1);
            n += sizeof minus - 1;
        } else {
            out[n++] = text[i];
        }
    }
    out[n] = '\0';
}

kern_status viz_plot_note(viz_scene *scene, kern_error *err, const char *format, ...)
{
    char plain[NOTE_ROOM];
    char note[NOTE_ROOM];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(plain, sizeof plain, format, args);
    va_end(args);
    set_minus(note, sizeof note, plain);
    return viz_scene_set_note(scene, note[0] != '\0' ? note : NULL, err);
}

kern_status viz_plot_rule(viz_scene *scene, viz_panel *panel, viz_rule rule, double value,
                          kern_error *err)
{
    const bool level = rule == VIZ_RULE_LEVEL;
    const double x[2] = {level ? panel->x.lo : value, level ? panel->x.hi : value};
    const double y[2] = {level ? value : panel->y.lo, level ? value : panel->y.hi};
    const viz_series line = {.name = "reference line",
                             .x = x,
                             .y = y,
                             .n = 2,
                             .style = {.paint = viz_paint_of(VIZ_PAINT_MUTED), .width = 0.6}};
    return viz_scene_add_series(scene, panel, &line, err);
}

kern_status viz_plot_end(viz_scene **out, viz_scene *scene, kern_status status)
{
    *out = NULL;
    if (status != KERN_OK) {
        viz_scene_destroy(scene);
        return status;
    }
    *out = scene;
    return KERN_OK;
}

viz_marker viz_plot_marker(size_t index)
{
    static const viz_marker markers[] = {VIZ_MARKER_CIRCLE, VIZ_MARKER_SQUARE, VIZ_MARKER_TRIANGLE,
                                         VIZ_MARKER_CROSS};
    return markers[index % (sizeof markers / sizeof markers[0])];
}
