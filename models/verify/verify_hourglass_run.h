/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sub-MLPs of a trained hourglass at the states of its tokens.
 */
#ifndef BASIN_VERIFY_HOURGLASS_RUN_H
#define BASIN_VERIFY_HOURGLASS_RUN_H

#include "models/verify/verify_record.h"
#include "models/verify/verify_subject.h"
#include "models/verify/verify_work.h"

#include <stddef.h>

/* For `applies`: NULL, or why a run has no sub-MLPs of this form. */
const char *verify_hourglass_applies(const verify_subject *subject);

/* Puts sub-MLP and token number `trial` (over sub-MLPs, layers, prompts, tokens) as
 * verify_hourglass_sub.h reads them, and what model_sub.h makes of them: engine_f (1 × D),
 * engine_log_det; numbers layer, sub, prompt, token, parts. */
kern_status verify_hourglass_put_run(verify_record *record, const verify_subject *subject,
                                     size_t trial, verify_work *work, kern_error *err);

#endif
