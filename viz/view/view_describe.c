/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/view/view_private.h"

#include "models/model_json.h"

#include <math.h>

/* What is not finite has no number in JSON. */
static bool add_number(cJSON *object, const char *key, double value)
{
    return (isfinite(value) ? cJSON_AddNumberToObject(object, key, value)
                            : cJSON_AddNullToObject(object, key)) != NULL;
}

static bool add_text(cJSON *object, const char *key, const char *text)
{
    return cJSON_AddStringToObject(object, key, text) != NULL;
}

/* In units of the window, which the scale of the widgets does not change; null out of sight. */
static bool add_rect(cJSON *object, const ui_node *node, double scale)
{
    const viz_rect *rect = &node->rect;
    if (node->hidden) {
        return cJSON_AddNullToObject(object, "rect") != NULL;
    }
    const double sides[] = {scale * rect->x, scale * rect->y, scale * rect->w, scale * rect->h};
    cJSON *list = cJSON_CreateDoubleArray(sides, 4);
    if (list == NULL || !cJSON_AddItemToObject(object, "rect", list)) {
        cJSON_Delete(list);
        return false;
    }
    return true;
}

static bool add_node(cJSON *list, const ui_node *node, double scale)
{
    cJSON *object = cJSON_CreateObject();
    if (object == NULL || !cJSON_AddItemToArray(list, object)) {
        cJSON_Delete(object);
        return false;
    }
    bool ok = add_text(object, "id", node->id) &&
              add_text(object, "role", ui_role_word(node->role)) &&
              add_text(object, "label", node->label) && add_text(object, "value", node->value);
    if (ok && node->low < node->high) {
        ok = add_number(object, "low", node->low) && add_number(object, "high", node->high) &&
             add_number(object, "now", node->now);
    }
    if (ok && node->role == UI_ROLE_ITEM) {
        ok = cJSON_AddBoolToObject(object, "chosen", node->chosen) != NULL;
    }
    return ok && add_rect(object, node, scale) &&
           cJSON_AddBoolToObject(object, "enabled", node->enabled) != NULL &&
           cJSON_AddBoolToObject(object, "focused", node->focused) != NULL;
}

static bool fill(cJSON *object, const view *v)
{
    size_t n = 0;
    const ui_node *nodes = ui_nodes(v->ui, &n);
    bool ok = add_text(object, "title", v->title) && add_text(object, "said", v->said) &&
              cJSON_AddBoolToObject(object, "failed", v->failed) != NULL &&
              cJSON_AddBoolToObject(object, "read_only", v->read_only) != NULL;
    cJSON *list = ok ? cJSON_AddArrayToObject(object, "widgets") : NULL;
    ok = list != NULL;
    for (size_t i = 0; i < n && ok; i++) {
        ok = add_node(list, &nodes[i], v->s.scale);
    }
    return ok;
}

kern_status view_describe(const view *v, char **text, kern_error *err)
{
    cJSON *object = cJSON_CreateObject();
    *text = NULL;
    kern_status status = object != NULL && fill(object, v)
                             ? KERN_OK
                             : kern_raise(err, KERN_NO_MEMORY, "no memory for the list of widgets");
    if (status == KERN_OK) {
        status = model_json_print(object, true, text, err);
    }
    cJSON_Delete(object);
    return status;
}
