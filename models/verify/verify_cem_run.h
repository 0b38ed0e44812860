/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Instances of CEM from a trained run: a token of a prompt at a layer, at the input that the
 * trained layer gets.
 */
#ifndef BASIN_VERIFY_CEM_RUN_H
#define BASIN_VERIFY_CEM_RUN_H

#include "models/verify/verify_cem_instance.h"

/* The parts of a layer that are wanted, or-ed. */
enum { VERIFY_CEM_ATTN_PART = 1, VERIFY_CEM_MLP_PART = 2 };

/* Those of them that are CEM descents in this run. */
unsigned verify_cem_run_parts(const verify_subject *subject, unsigned wanted);

/* Puts instance `trial`: eight tokens of one part of a layer at a prompt, from the last to the
 * first, then the next part, layer, prompt. With `engine` also what the graph engine makes of it:
 * engine_next (1 × D), the state after the step, and engine_energy. At least one of the wanted
 * parts must be there. Inputs and maps are kept in the stash of `work`. */
kern_status verify_cem_draw_run(verify_record *record, const verify_subject *subject,
                                unsigned wanted, size_t trial, bool engine, verify_work *work,
                                kern_error *err);

#endif
