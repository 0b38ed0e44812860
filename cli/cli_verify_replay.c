/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * basin verify --replay: every record of a file of witnesses, checked again.
 */
#include "cli/cli_verify.h"

#include "models/verify/verify_file.h"

#include <stdio.h>

/* What came out for one record. */
typedef struct replayed {
    verify_outcome outcome;
    verify_replay replay;
} replayed;

static void print_one(const verify_stored *stored, const replayed *r)
{
    const char *verdict = verify_outcome_violates(&r->outcome) ? "violates" : "does not violate";
    (void)printf("%s (%s): %s the statement; %s\n", stored->claim->name,
                 verify_kind_word(stored->claim->kind), verdict, verify_replay_word(r->replay));
    (void)printf("  stored  left %.17g  right %.17g  tolerance %.3g\n", stored->left, stored->right,
                 stored->tolerance);
    (void)printf("  now     left %.17g  right %.17g  tolerance %.3g\n", r->outcome.left,
                 r->outcome.right, r->outcome.tolerance);
}

static void add_one(cli_json *json, cJSON *parent, const verify_stored *stored, const replayed *r)
{
    cJSON *claim = cli_json_child(json, parent, NULL);
    cli_json_text(json, claim, "name", stored->claim->name);
    cli_json_text(json, claim, "kind", verify_kind_word(stored->claim->kind));
    cli_json_bool(json, claim, "violates", verify_outcome_violates(&r->outcome));
    cli_json_bool(json, claim, "witness", stored->witness);
    cli_json_text(json, claim, "replay", verify_replay_word(r->replay));
    cli_json_real(json, claim, "left", r->outcome.left);
    cli_json_real(json, claim, "right", r->outcome.right);
    cli_json_real(json, claim, "tolerance", r->outcome.tolerance);
    cli_json_real(json, claim, "stored_left", stored->left);
    cli_json_real(json, claim, "stored_right", stored->right);
}

static kern_status replay_all(const cli_verify_settings *s, const verify_file *file,
                              verify_work *work, bool *failed, kern_error *err)
{
    cli_json json;
    kern_status status = KERN_OK;
    cli_json_init(&json);
    cJSON *claims = cli_json_array(&json, json.object, "claims");
    for (size_t i = 0; i < file->n && status == KERN_OK; i++) {
        replayed r = {0};
        status = verify_file_replay(&file->items[i], work, &r.outcome, &r.replay, err);
        if (status != KERN_OK) {
            break;
        }
        *failed = *failed || r.replay == VERIFY_REPLAY_DIFFERS;
        if (s->json) {
            add_one(&json, claims, &file->items[i], &r);
        } else {
            print_one(&file->items[i], &r);
        }
    }
    if (status == KERN_OK && s->json) {
        cli_json_bool(&json, json.object, "pass", !*failed);
        return cli_json_print(&json, err);
    }
    cli_json_fini(&json);
    return status;
}

kern_status cli_verify_run_replay(const cli_verify_settings *s, bool *failed, kern_error *err)
{
    kern_error why = {0};
    verify_file file = {0};
    verify_work work = {0};
    kern_status status = verify_file_read(&file, s->replay, &why);
    if (status == KERN_OK) {
        status = replay_all(s, &file, &work, failed, &why);
    }
    verify_work_fini(&work);
    verify_file_fini(&file);
    return status == KERN_OK ? KERN_OK : kern_raise(err, status, "--replay: %s", why.text);
}
