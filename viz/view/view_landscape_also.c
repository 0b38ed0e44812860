/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Further tokens on the plane of the chosen one.
 *
 * The plane's axes are directions of one token's space. Every token's state is D numbers of that
 * same space, so another one's has a nearest place there as well: that of the whole state in which
 * it stands in the chosen token's place.
 */
#include "viz/view/view_landscape_plane.h"

#include <stdlib.h>
#include <string.h>

/* `whole` is workspace: a state of the subject. */
static void place(view_landscape *l, size_t token, view_path *p, double *whole)
{
    const size_t width = l->plane->block_width;
    const size_t size = l->plane->size;
    const size_t n = l->plane->block_count;
    memcpy(whole, l->plane->centre, size * sizeof *whole);
    for (size_t t = 0; t < p->n; t++) {
        dyn_plane_shadow shadow;
        memcpy(whole + l->token * width, l->path.states + t * size + token * width,
               width * sizeof *whole);
        dyn_plane_project(l->plane, whole, &shadow);
        p->a[t] = shadow.a;
        p->b[t] = shadow.b;
        p->distance[t] = shadow.distance;
        p->residual[t] = shadow.residual;
        p->energy[t] = l->by_token[t * n + token];
    }
}

kern_status view_landscape_also(view_landscape *l, kern_error *err)
{
    const view_settings *s = &l->settings;
    if (s->n_also == 0 || l->token == MODEL_SLICE_SUM) {
        return KERN_OK;
    }
    double *whole = malloc(l->plane->size * sizeof *whole);
    kern_status status = KERN_OK;
    if (whole == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu numbers", l->plane->size);
    }
    for (size_t i = 0; i < s->n_also && status == KERN_OK; i++) {
        if (s->also[i] >= l->subject->n) {
            status = kern_raise(err, KERN_INVALID_ARGUMENT,
                                "also has %zu; accepted are 0 to %zu, the tokens of the prompt",
                                s->also[i], l->subject->n - 1);
        } else if (s->also[i] != l->token) {
            view_path *p = &l->others[l->n_also];
            l->also[l->n_also++] = s->also[i];
            status = view_landscape_path(p, l->path.n, 0, err);
            if (status == KERN_OK) {
                place(l, s->also[i], p, whole);
            }
        }
    }
    free(whole);
    return status;
}
