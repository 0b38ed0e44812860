/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * When a frame is due, the animation, and waiting for what is computed.
 */
#include "viz/view/view_jobs.h"

/* Seconds that the animation stays at a step. */
#define BEAT 0.25

void view_beat(view *v, double seconds)
{
    v->playing = v->playing && !v->s.still; /* which may have been asked for meanwhile */
    if (!v->playing || v->subject == NULL) {
        return;
    }
    if (v->next_beat <= 0.0) {
        v->next_beat = seconds + BEAT;
    }
    if (seconds < v->next_beat) {
        return;
    }
    /* Where one looks is not worth an undo step of its own, least of all one for each beat. */
    const size_t last = view_last_step(v->subject, &v->s);
    v->s.step = v->s.step < last ? v->s.step + 1 : 0;
    v->next_beat = seconds + BEAT;
    view_tasks_post(v);
}

bool view_wants_frame(view *v, double seconds, double *wait)
{
    const bool changed = view_tasks_take(v);
    const bool begins = v->playing && v->next_beat <= 0.0;
    const bool beats = v->playing && seconds >= v->next_beat;
    if (wait != NULL) {
        *wait = v->playing && !begins && !beats ? v->next_beat - seconds : -1.0;
    }
    return changed || v->stale || begins || beats || ui_restless(v->ui);
}

bool view_busy(const view *v)
{
    for (size_t slot = 0; slot < VIEW_SLOTS; slot++) {
        if (v->pending[slot] || view_work_state(v->work, slot) != VIEW_SLOT_IDLE) {
            return true;
        }
    }
    return false;
}

bool view_progress(const view *v, size_t *done, size_t *total)
{
    static const size_t slots[] = {VIEW_SLOT_BASINS, VIEW_SLOT_ORBIT};
    for (size_t i = 0; i < sizeof slots / sizeof *slots && v->picture != NULL; i++) {
        const bool basins = slots[i] == VIEW_SLOT_BASINS;
        if (view_work_state(v->work, slots[i]) != VIEW_SLOT_IDLE) {
            *total = view_job_columns(slots[i], v->picture->landscape, &v->s, NULL);
            *done = basins ? (v->basins != NULL ? v->basins->lattice.nx : 0)
                           : (v->orbit != NULL ? v->orbit->done : 0);
            *done = *done < *total ? *done : *total;
            return true;
        }
    }
    return false;
}

void view_settle(view *v)
{
    /* What comes in may call for more: orbits follow a landscape. */
    do {
        view_work_wait(v->work);
    } while (view_tasks_take(v));
}
