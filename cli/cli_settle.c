/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/cli_settle.h"

#include <math.h>
#include <stdio.h>

static const char *find_word(const dyn_settle_block *b)
{
    return b->status == KERN_TIMEOUT ? "not_settled" : kern_status_word(b->status);
}

void cli_settle_add(cli_json *json, const dyn_settle *settle, size_t first_token)
{
    cJSON *all = cli_json_child(json, json->object, "settle");
    cli_json_real(json, all, "tol", settle->tol);
    cli_json_size(json, all, "horizon", settle->horizon);
    cli_json_size(json, all, "n_settled", settle->n_settled);
    cJSON *tokens = cli_json_array(json, all, "tokens");
    for (size_t a = 0; a < settle->n_blocks; a++) {
        const dyn_settle_block *b = &settle->blocks[a];
        const double none = (double)NAN;
        cJSON *token = cli_json_child(json, tokens, NULL);
        cli_json_size(json, token, "token", a + first_token);
        cli_json_text(json, token, "status", find_word(b));
        cli_json_size(json, token, "time", b->time);
        cli_json_real(json, token, "delay", b->has_delay ? (double)b->delay : none);
        cli_json_real(json, token, "delay_previous",
                      b->has_delay ? (double)b->delay_previous : none);
    }
}

void cli_settle_print(const dyn_settle *settle, size_t first_token)
{
    (void)printf("\n%6s %-12s %10s %12s %16s\n", "token", "settled", "at step", "after others",
                 "after the last");
    for (size_t a = 0; a < settle->n_blocks; a++) {
        const dyn_settle_block *b = &settle->blocks[a];
        (void)printf("%6zu %-12s %10zu", a + first_token, find_word(b), b->time);
        if (b->has_delay) {
            (void)printf(" %12lld %16lld", b->delay, b->delay_previous);
        }
        (void)printf("\n");
    }
    (void)printf("%zu of %zu settled within %g in half of %zu steps\n", settle->n_settled,
                 settle->n_blocks, settle->tol, settle->horizon);
}
