/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Landscape: a trajectory of the subject, a plane through it, and the energy on the plane.
 *
 * Shared and unchanging like its subject; its sources may be asked by up to `workers` threads at
 * once, with numbers of their own.
 */
#ifndef BASIN_VIEW_LANDSCAPE_H
#define BASIN_VIEW_LANDSCAPE_H

#include "dyn/dyn_plane_kinds.h"
#include "dyn/dyn_slice.h"
#include "models/model_slice.h"
#include "viz/view/view_subject.h"

/* States along the plane: the model's own trajectory, or one begun by a click. */
typedef struct view_path {
    size_t n;         /* states */
    double *states;   /* n × map->size */
    double *a, *b;    /* n each: nearest places of the plane */
    double *energy;   /* true ones */
    double *on_plane; /* at those places */
    double *distance; /* from the centre */
    double *residual; /* off the plane */
} view_path;

/* States beyond which a plane of kind pca takes every second, third, … one: T × T products are
 * made of T states. */
enum { VIEW_PCA_STATES = 1000 };

enum { VIEW_RIM = 361 };

typedef struct view_landscape {
    atomic_size_t holders;  /* private */
    view_subject *subject;  /* kept */
    view_settings settings; /* it was made from */
    size_t token;           /* MODEL_SLICE_SUM: all */
    size_t at;              /* step of the centre */
    size_t held_at; /* step of the tokens that are held: `at`, or while the field follows it, `step`
                       of the settings; axes and the moving tokens' centre stay those of `at` */
    view_path path;
    double *by_token; /* path.n × tokens: energies of all tokens along the path */
    size_t stride;    /* a plane of kind pca takes every so many of its states */
    size_t n_seeds;
    view_path seeds[VIEW_SEEDS_MAX];
    size_t n_also; /* other tokens whose trajectories are drawn; none beside a sum over all */
    size_t also[VIEW_TOKENS_MAX];
    /* Their states in the chosen token's place, with the others at the centre: nearest places and
     * what is off the plane by the same rules. `energy` is the other token's own, `on_plane` the
     * chosen one's at that place; no states. */
    view_path others[VIEW_TOKENS_MAX];
    size_t points[2];              /* states of a plane of kind points */
    struct view_landscape *before; /* that of the step before, where settings `ghost` asks for it
                                      and it differs, else NULL; released with this one */
    double held;                   /* largest distance of what is held from where it is held */
    dyn_plane *plane;
    dyn_plane_notes notes;
    size_t n_rim; /* VIEW_RIM where places beyond a rim have no state, else 0 */
    double rim_a[VIEW_RIM], rim_b[VIEW_RIM]; /* the rim, closed */
    model_slice *slice;                      /* one of these two */
    dyn_slice_map *slice_map;                /* where the energy has no reduced form */
    dyn_slice_source source;                 /* double precision */
    dyn_slice_source sketch; /* single precision, or the same where there is no reduced form */
    bool custom_range;
    dyn_slice_range range; /* asked for, or what the trajectory takes, in 8:5 */
} view_landscape;

typedef bool view_cancelled(void *context);

/* Follows the trajectory, makes the plane, projects. KERN_INVALID_ARGUMENT for a token that is not
 * there, for settings that exclude each other, and for a trajectory of more than VIEW_PATH_BYTES;
 * sentences begin with the name of a setting where one is at fault. Errors of dyn_plane_make;
 * KERN_INTERRUPTED when `cancelled` (may be NULL), asked at every step, returns true. */
#define VIEW_PATH_BYTES ((size_t)1 << 30)
kern_status view_landscape_create(view_landscape **out, view_subject *subject,
                                  const view_settings *s, int workers, view_cancelled *cancelled,
                                  void *context, kern_error *err);

view_landscape *view_landscape_keep(view_landscape *landscape);
void view_landscape_release(view_landscape *landscape); /* NULL is ignored */

/* A map as the trajectory follows it, at the settings' rate. Pinned: a dyn_chart of directions with
 * the scales of the subject's last trained state. Frozen: a dyn_frozen of the token, thus of one
 * block, with the others held where the plane's centre has them. The caller destroys it. */
kern_status view_landscape_map(dyn_map **out, const view_landscape *landscape, kern_error *err);

/* That map with what it takes to go from states x of the subject to its own and back. */
typedef struct view_walk {
    const view_landscape *landscape; /* borrowed; its plane has a centre */
    dyn_map *map;
    double *sigma; /* by block, of a pinned map, else NULL */
    double *whole; /* workspace: a state of the subject */
    double *still; /* a state of the map, in which tokens that are held are where they stay; or NULL
                    */
} view_walk;

kern_status view_walk_init(view_walk *walk, const view_landscape *landscape, kern_error *err);
void view_walk_fini(view_walk *walk);
/* z = the next state. */
void view_walk_step(view_walk *walk, double *z);
/* z = the map's state (map->size numbers) at x, but for tokens that are held, and x = the subject's
 * state at z, other tokens of a frozen map being those of the centre. */
void view_walk_enter(view_walk *walk, const double *x, double *z);
void view_walk_leave(view_walk *walk, const double *z, double *x);

/* True when one token alone moves on the plane, whose axes are then its own. */
bool view_landscape_moves_one(const view_landscape *landscape);

/* Whether where the other tokens are matters to the energy that is drawn: not to a first token, and
 * not to a part of a layer whose history is its input. */
bool view_landscape_sees_others(const view_landscape *landscape);

/* ---- Words ------------------------------------------------------------------------------------
 * In markup, for axes, title and note of every figure of the landscape. */
enum { VIEW_LABEL = 256, VIEW_NOTE = 1024 };

/* The energy of an axis or a colour bar, with its unit: E_A in nats, or ε of a part of a layer
 * (model_layer_energy_unit), whose meaning the description has. */
void view_words_energy(const view_landscape *l, char out[VIEW_LABEL]);
/* That unit, in files ("nat" or its key) and in plain words. */
const char *view_words_unit_key(const view_landscape *l);
const char *view_words_unit(const view_landscape *l);

/* Why a setting that is given changes nothing beside the others: `also`, `held`, `follow` and
 * `ghost`, by their names; NULL where it does, or is not given. Plain text, borrowed. */
const char *view_words_idle(const view_subject *subject, const view_settings *s, const char *name);
void view_words_subject(const view_landscape *l, char out[VIEW_LABEL]); /* plain: token 5 “)” */
void view_words_axis(const view_landscape *l, int axis, char out[VIEW_LABEL]);
void view_words_title(const view_landscape *l, char out[2 * VIEW_LABEL]);
void view_words_describe(const view_landscape *l, char out[VIEW_NOTE]);

#endif
