/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Settings of the explorer by their names, for tests. Include after cmocka.h.
 */
#ifndef BASIN_VIEW_TEST_SET_H
#define BASIN_VIEW_TEST_SET_H

#include "viz/view/view_settings.h"

static inline void set(view_settings *s, const char *name, const char *value)
{
    const view_field *field = NULL;
    kern_error err = {0};
    assert_int_equal(view_field_find(&field, name, &err), KERN_OK);
    if (view_settings_set(s, field, value, &err) != KERN_OK) {
        fail_msg("%s", err.text);
    }
}

#endif
