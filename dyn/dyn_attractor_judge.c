/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_attractor_judge.h"

#include "dyn/dyn_orbit.h"
#include "dyn/dyn_state.h"

#include <string.h>

bool dyn_judge_advance(dyn_judge *j, size_t n)
{
    for (size_t t = 0; t < n; t++) {
        j->map->kind->step(j->map, j->x, j->x);
        ++*j->steps;
        if (dyn_state_check(j->x, j->map->size, DYN_DIVERGED) != KERN_OK) {
            j->verdict = DYN_JUDGED_LOST;
            return false;
        }
        dyn_state_reduce(j->map, j->x);
    }
    return true;
}

bool dyn_judge_record(dyn_judge *j, size_t n)
{
    const size_t size = j->map->size;
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && !dyn_judge_advance(j, 1)) {
            return false;
        }
        memcpy(j->states + i * size, j->x, size * sizeof *j->x);
    }
    return true;
}
