/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Settings: everything that a picture of a landscape is made from, as plain data.
 *
 * One table lists the settings: name, kind, limits, help, and what has to be computed again when
 * one changes. Commands of the explorer, its undo, options of the command line and sessions are all
 * driven by it, so that none can forget a setting.
 */
#ifndef BASIN_VIEW_SETTINGS_H
#define BASIN_VIEW_SETTINGS_H

#include "kernels/kern_status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { VIEW_TEXT = 1024, VIEW_SEEDS_MAX = 16, VIEW_TOKENS_MAX = 16, VIEW_LEVELS_MAX = 64 };

/* Of `token`: the sum over all. Of `at`: the last step of training. */
#define VIEW_ALL  SIZE_MAX
#define VIEW_LAST SIZE_MAX

typedef enum view_mode { VIEW_MAP, VIEW_SURFACE, VIEW_BASINS, VIEW_MODES } view_mode;

typedef struct view_settings {
    /* the subject */
    char run[VIEW_TEXT]; /* folder of a run or file of weights; empty: the bundled model */
    char prompt[VIEW_TEXT];
    size_t layer;
    int sublayer; /* model_layer_part */
    /* the plane and the trajectory */
    size_t token;
    size_t with; /* second token of a plane of two */
    size_t n_also;
    size_t also[VIEW_TOKENS_MAX]; /* whose trajectories are drawn beside, ascending */
    int plane;                    /* place among dyn_plane_kind_at */
    uint64_t seed;
    char axes[VIEW_TEXT]; /* file of two vectors, of a custom plane */
    bool oblique;
    int chart;    /* dyn_plane_chart, or −1: chosen */
    int norm;     /* dyn_plane_norm, or −1: chosen */
    size_t at;    /* step whose state is the centre and where other tokens are held */
    size_t steps; /* of the trajectory; 0: twice as many as in training */
    bool frozen;  /* the token alone moves along the trajectory */
    size_t n_held;
    size_t held[VIEW_TOKENS_MAX]; /* stay at the centre along it, ascending */
    double rate;                  /* factor on η/σ; 1: as trained */
    bool pin;                     /* scales σ stay at those of the last trained step */
    size_t n_seeds;
    double seeds[2 * VIEW_SEEDS_MAX]; /* places (a, b) from which further trajectories start */
    /* what part of the plane, and how finely */
    double range[4]; /* a from … to, b from … to; all 0: what the trajectory takes */
    double turn;     /* of the axes within the plane, radians, counterclockwise */
    size_t columns;  /* of the finest field; there are 5/8 as many rows */
    size_t
        panels; /* planes of a file's figure, of seeds from `seed` on; the window has the first */
    size_t levels; /* contours at most; 0: none */
    /* how it looks */
    int mode; /* view_mode */
    int map;  /* viz_colour_map, the colours of the field */
    bool dark;
    double azimuth, elevation; /* of the surface, radians */
    double low, high;          /* of the colour scale; equal: what the fields of all steps take */
    bool quadratic;            /* contours of the energy's second-order model at the centre */
    /* where one looks, which changes no figure */
    size_t step;                 /* that is pointed out on the trajectory */
    bool follow;                 /* the field is that of `step`, else that of `at` */
    bool ghost;                  /* with it: the contours of the step before, too */
    bool orbit;                  /* the strip of the orbit diagram */
    double orbit_from, orbit_to; /* rates it covers */
    bool continued;              /* each starts where the one before ended */
    double scale;                /* size of texts and widgets; 1: 100 % */
    bool still;                  /* no animation */
} view_settings;

/* What has to be computed again when a setting changes, from all to nothing. */
typedef enum view_stage {
    VIEW_STAGE_SUBJECT,   /* the model and its prompt */
    VIEW_STAGE_LANDSCAPE, /* trajectory and plane */
    VIEW_STAGE_FIELD,     /* energies on the plane */
    VIEW_STAGE_SCENE,     /* drawing only */
    VIEW_STAGE_WINDOW     /* the window around it */
} view_stage;

typedef enum view_kind {
    VIEW_KIND_TEXT,
    VIEW_KIND_SIZE, /* size_t */
    VIEW_KIND_U64,
    VIEW_KIND_REAL,
    VIEW_KIND_REALS, /* a fixed number of them, separated by commas */
    VIEW_KIND_SIZES, /* a set of size_t, at most `count`, separated by commas, kept ascending */
    VIEW_KIND_FLAG,  /* "on" or "off" */
    VIEW_KIND_WORD   /* int: one of the words of `word` */
} view_kind;

typedef struct view_field {
    const char *name;
    view_kind kind;
    view_stage stage;
    size_t offset;
    size_t count;        /* of REALS and SIZES: room for so many */
    size_t n_offset;     /* where the number of those that count is kept: of REALS, in pairs; 0: all
                            count */
    double low, high;    /* of numbers; equal: any finite one */
    const char *special; /* word for SIZE_MAX of SIZE, −1 of WORD, for REALS that are all 0 or none,
                            and for no SIZES ("all", "last", "auto", "none"), or NULL */
    const char *(*word)(int i); /* of WORD: word i, NULL behind the last */
    const char *help;
    size_t since; /* version of sessions that has it first; 0: every one */
} view_field;

const view_field *view_field_at(size_t i); /* NULL behind the last */
/* '-' and '_' in names are the same. KERN_INVALID_ARGUMENT names close settings. */
kern_status view_field_find(const view_field **out, const char *name, kern_error *err);

/* What view_settings_set takes, in words that go on from "accepted are". */
enum { VIEW_ACCEPTED = 256 };
void view_field_accepted(const view_field *field, char out[VIEW_ACCEPTED]);
/* Whether low and high count. */
bool view_field_has_limits(const view_field *field);
/* The one that is a low and a high end of each axis. */
bool view_field_is_range(const view_field *field);

void view_settings_defaults(view_settings *s);

/* Reads a value as a user writes it; of `range` one number, half the width around the centre, is
 * enough. KERN_INVALID_ARGUMENT says what is accepted; *s is then as before. */
kern_status view_settings_set(view_settings *s, const view_field *field, const char *text,
                              kern_error *err);
/* Sets the numbers of REALS: `n` of them, checked. KERN_INVALID_ARGUMENT. */
kern_status view_settings_set_reals(view_settings *s, const view_field *field, const double *values,
                                    size_t n, kern_error *err);
/* Members of SIZES; *n is how many. */
const size_t *view_settings_sizes(const view_settings *s, const view_field *field, size_t *n);
/* Puts a number into SIZES, or takes it out. KERN_INVALID_ARGUMENT when there are too many. */
kern_status view_settings_toggle_size(view_settings *s, const view_field *field, size_t value,
                                      kern_error *err);

/* Sets SIZES to all tokens of a prompt of so many but the chosen one. KERN_INVALID_ARGUMENT when
 * there are none or too many. */
kern_status view_settings_take_others(view_settings *s, const view_field *field, size_t tokens,
                                      kern_error *err);

/* Those that count now; *n is how many. */
const double *view_settings_reals(const view_settings *s, const view_field *field, size_t *n);

/* Writes a value so that view_settings_set reads the same bits back. */
void view_settings_show(const view_settings *s, const view_field *field, char out[VIEW_TEXT]);

/* The earliest stage at which two settings differ; false when they are equal. */
bool view_settings_differ(const view_settings *a, const view_settings *b, view_stage *stage);

#endif
