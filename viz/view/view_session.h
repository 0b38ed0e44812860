/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sessions: settings with the fingerprint of their model as JSON, and back. Every figure carries
 * one; `basin view --from figure.pdf` opens the same picture again.
 *
 *   {"format": "basin-session", "version": 1, "command": …, "model_sha256": …, "settings": {…}}
 *
 * with one key per row of the table in view_settings.h. Writing what was read gives the same bytes.
 * Sessions of version 0, the flat objects that basin landscape wrote before, are read too.
 */
#ifndef BASIN_VIEW_SESSION_H
#define BASIN_VIEW_SESSION_H

#include "kernels/kern_status.h"
#include "viz/view/view_settings.h"

typedef struct view_session {
    view_settings settings;
    char model_sha256[65]; /* of the weights; empty: not known */
} view_session;

/* The caller frees *text. */
kern_status view_session_write(char **text, const view_session *session, kern_error *err);

/* KERN_BAD_INPUT, naming key and reason, for text that is no session, an unknown version or key, a
 * missing key, and a value out of its range. */
kern_status view_session_read(view_session *session, const char *text, kern_error *err);

/* The name of a session's own file ends in .json, in large letters or small. */
bool view_session_is_path(const char *path);

/* The same from a session's own file, or from a figure (viz/viz_session.h). */
kern_status view_session_load(view_session *session, const char *path, kern_error *err);

#endif
