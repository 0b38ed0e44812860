/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/view/view_landscape_plane.h"

#include <stdlib.h>

enum { PATH_ROWS = 6 };

kern_status view_landscape_path(view_path *p, size_t n, size_t size, kern_error *err)
{
    p->n = n;
    p->states = size > 0 ? calloc(n, size * sizeof *p->states) : NULL;
    p->a = calloc(n, PATH_ROWS * sizeof *p->a);
    if ((size > 0 && p->states == NULL) || p->a == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu states of %zu numbers", n, size);
    }
    p->b = p->a + n;
    p->energy = p->b + n;
    p->on_plane = p->energy + n;
    p->distance = p->on_plane + n;
    p->residual = p->distance + n;
    return KERN_OK;
}

void view_landscape_path_fini(view_path *p)
{
    free(p->states);
    free(p->a);
}
