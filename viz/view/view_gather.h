/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gathering input: several events of a window system as the input of one frame.
 *
 * Events are put together as long as their order does not matter to widgets: motions of the
 * pointer, the lines of a wheel, letters typed, repeats of a key. Each function adds an event and
 * returns true; false says that the frame gathered so far has to be drawn first, and nothing has
 * changed.
 */
#ifndef BASIN_VIEW_GATHER_H
#define BASIN_VIEW_GATHER_H

#include "viz/ui/ui.h"

/* What lasts from a frame to the next: the pointer's place, its button and the keys held. */
void view_gather_begin(ui_input *in);

/* Shift and Ctrl count for the pointer as they were when its button or wheel moved. */
bool view_gather_modifiers(ui_input *in, bool shift, bool ctrl);

/* Keys that are text may follow each other; of others only repeats of the last. */
bool view_gather_key(ui_input *in, const ui_key *key);

/* Text belongs to the letters before it, and comes to widgets ahead of other keys. What a letter's
 * key means is taken from its text: '?' is another key with Shift on most keyboards. Text that no
 * frame has room for is lost, and so is that of keys with Ctrl, which some window systems send. */
bool view_gather_text(ui_input *in, const char *text);

/* The primary button ends a frame's input, so that no click is lost. */
bool view_gather_button(ui_input *in, bool down, double x, double y);

bool view_gather_motion(ui_input *in, double x, double y);
bool view_gather_wheel(ui_input *in, double lines);

#endif
