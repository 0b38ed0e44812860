/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Records and files of witnesses: what goes in comes out, a replay gives the same bits, and
 * damaged, cut and foreign files are refused with a sentence that says where.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "kernels/kern_blas.h"
#include "models/model_hdf5.h"
#include "models/verify/verify_file.h"
#include "models/verify/verify_seal.h"
#include "models/verify/verify_table.h"
#include "tests/models/model_test_folder.h"
#include "tests/models/model_test_graph.h"

#include <float.h>

/* ---- records -------------------------------------------------------------------------------- */

static void test_record(void **state)
{
    static const char *const words[] = {"red", "green", NULL};
    static const double values[] = {1, 2, 3, 4, 5, 6};
    verify_record r = {0};
    verify_record copy = {0};
    const double *got = NULL;
    double *edit = NULL;
    size_t n = 0;
    (void)state;
    TEST_OK(verify_record_put_copy(&r, "a", 2, 3, values, test_err));
    TEST_OK(verify_record_put_word(&r, "colour", "green", test_err));
    TEST_OK(verify_record_put_number(&r, "width", 7, test_err));
    TEST_OK(verify_record_copy(&copy, &r, test_err));
    TEST_OK(verify_record_get(&copy, "a", 2, 3, &got, test_err));
    assert_memory_equal(got, values, sizeof values);
    TEST_OK(verify_record_get_word(&copy, "colour", words, &n, test_err));
    assert_int_equal(n, 1);
    TEST_OK(verify_record_get_size(&copy, "width", 1, 7, &n, test_err));
    assert_int_equal(n, 7);
    TEST_OK(verify_record_edit(&copy, "a", 2, 3, &edit, test_err));
    edit[0] = 9;
    assert_true(verify_record_find(&r, "a")->values[0] == 1 && got[0] == 9);
    /* Entries keep their memory from record to record, and pointers stay valid. */
    verify_record_reset(&copy);
    TEST_OK(verify_record_put(&copy, "b", 1, 6, &edit, test_err));
    assert_ptr_equal(edit, got);
    assert_true(edit[0] == 0 && edit[5] == 0);
    assert_null(verify_record_find(&copy, "a"));
    verify_record_fini(&r);
    verify_record_fini(&copy);
    verify_record_fini(&copy);
}

static void test_record_refuses(void **state)
{
    static const char *const words[] = {"red", "green", NULL};
    verify_record r = {0};
    const double *got = NULL;
    double *put = NULL;
    double x = 0;
    size_t n = 0;
    kern_error err = {0};
    (void)state;
    TEST_OK(verify_record_put_number(&r, "x", 2.5, test_err));
    TEST_OK(verify_record_put_word(&r, "colour", "blue", test_err));
    verify_record_put_number(&r, "x", 1, &err);
    test_error(&err, KERN_INVALID_ARGUMENT, "two entries named \"x\"");
    verify_record_put_number(&r, "a/b", 1, &err);
    test_error(&err, KERN_INVALID_ARGUMENT, "\"a/b\" cannot name an entry");
    verify_record_put(&r, "y", 0, 3, &put, &err);
    test_error(&err, KERN_INVALID_ARGUMENT, "0 × 3 numbers");
    verify_record_put(&r, "y", SIZE_MAX / 2, 3, &put, &err);
    test_error(&err, KERN_INVALID_ARGUMENT, "numbers are accepted");
    verify_record_put_word(&r, "z", "a word", &err);
    test_error(&err, KERN_INVALID_ARGUMENT, "no word of a record");
    verify_record_get(&r, "y", 1, 1, &got, &err);
    test_error(&err, KERN_BAD_INPUT, "no entry \"y\"");
    verify_record_get(&r, "x", 2, 1, &got, &err);
    test_error(&err, KERN_BAD_INPUT, "1 × 1 numbers; 2 × 1 are accepted");
    verify_record_get_number(&r, "colour", &x, &err);
    test_error(&err, KERN_BAD_INPUT, "the word \"blue\"");
    verify_record_get_size(&r, "x", 1, 9, &n, &err);
    test_error(&err, KERN_BAD_INPUT, "whole numbers in 1 … 9");
    verify_record_get_word(&r, "colour", words, &n, &err);
    test_error(&err, KERN_BAD_INPUT, "\"blue\"; accepted are red, green");
    verify_record_get_word(&r, "x", words, &n, &err);
    test_error(&err, KERN_BAD_INPUT, "no word \"x\"");
    for (size_t i = r.count; i < VERIFY_ENTRIES_MAX; i++) {
        char name[VERIFY_NAME];
        (void)snprintf(name, sizeof name, "e%zu", i);
        TEST_OK(verify_record_put_number(&r, name, 1, test_err));
    }
    verify_record_put_number(&r, "more", 1, &err);
    test_error(&err, KERN_INVALID_ARGUMENT, "at most 64 entries");
    verify_record_fini(&r);
}

/* Blocks do not move, a rewind gives the same memory again, and large requests are met. */
static void test_work(void **state)
{
    verify_work work = {0};
    double *a = NULL;
    double *b = NULL;
    double *c = NULL;
    (void)state;
    TEST_OK(verify_work_take(&work, 10, &a, test_err));
    a[9] = 3;
    const verify_mark mark = verify_work_mark(&work);
    TEST_OK(verify_work_take_zeros(&work, 1000000, &b, test_err));
    assert_true(b[999999] == 0 && a[9] == 3);
    verify_work_rewind(&work, mark);
    TEST_OK(verify_work_take(&work, 5, &c, test_err));
    assert_true(c == a + 16);
    verify_work_reset(&work);
    TEST_OK(verify_work_take(&work, 10, &c, test_err));
    assert_ptr_equal(c, a);
    TEST_OK(verify_work_take(&work, 1000000, &c, test_err));
    assert_ptr_equal(c, b);
    kern_error err = {0};
    assert_int_equal(verify_work_take(&work, SIZE_MAX / 8, &c, &err), KERN_NO_MEMORY);
    assert_true(verify_work_goes_on(&work));
    verify_work_fini(&work);
}

/* ---- files ---------------------------------------------------------------------------------- */

static verify_result *write_table(const char *path, size_t *n)
{
    const size_t count = verify_table_count();
    verify_result *results = calloc(count, sizeof *results);
    assert_non_null(results);
    *n = 0;
    for (size_t i = 0; i < count; i++) {
        const verify_claim *claim = verify_table_at(i);
        const verify_options o = {.seed = UINT64_MAX,
                                  .trials = claim->kind == VERIFY_REFUTED ? 0 : 3};
        if (claim->needs == VERIFY_RANDOM) {
            TEST_OK(verify_run_claim(claim, NULL, &o, &results[(*n)++], test_err));
        }
    }
    TEST_OK(verify_file_write(path, results, *n, "{}", test_err));
    return results;
}

static void release(verify_result *results, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        verify_result_fini(&results[i]);
    }
    free(results);
}

static void test_replay_gives_the_same_bits(void **state)
{
    char path[TEST_PATH];
    verify_file file = {0};
    verify_work work = {0};
    size_t n = 0;
    (void)state;
    verify_result *results = write_table(test_path(path, "w.h5"), &n);
    TEST_OK(verify_file_read(&file, path, test_err));
    assert_int_equal(file.n, n);
    for (size_t i = 0; i < n; i++) {
        verify_outcome now;
        verify_replay replay = VERIFY_REPLAY_DIFFERS;
        const verify_stored *stored = &file.items[i];
        assert_ptr_equal(stored->claim, results[i].claim);
        assert_int_equal(stored->record.count, results[i].record.count);
        assert_int_equal(stored->witness, results[i].witness);
        TEST_OK(verify_file_replay(stored, &work, &now, &replay, test_err));
        if (replay != VERIFY_REPLAY_SAME) {
            fail_msg("%s: %s", stored->claim->name, verify_replay_word(replay));
        }
        assert_memory_equal(&now.left, &results[i].outcome.left, sizeof now.left);
    }
    verify_work_fini(&work);
    verify_file_fini(&file);
    release(results, n);
}

/* A changed number is told from one that is off by rounding. */
static void test_replay_sees_changes(void **state)
{
    char path[TEST_PATH];
    verify_file file = {0};
    verify_work work = {0};
    verify_outcome now;
    verify_replay replay = VERIFY_REPLAY_SAME;
    size_t n = 0;
    (void)state;
    verify_result *results = write_table(test_path(path, "w.h5"), &n);
    TEST_OK(verify_file_read(&file, path, test_err));
    verify_stored *stored = &file.items[0];
    assert_ptr_equal(stored->claim, &verify_norm_monotone);
    stored->left += 0.3 * stored->tolerance;
    TEST_OK(verify_file_replay(stored, &work, &now, &replay, test_err));
    assert_int_equal(replay, VERIFY_REPLAY_CLOSE);
    stored->left += 3 * stored->tolerance;
    TEST_OK(verify_file_replay(stored, &work, &now, &replay, test_err));
    assert_int_equal(replay, VERIFY_REPLAY_DIFFERS);
    double *epsilon = NULL;
    TEST_OK(verify_record_edit(&stored->record, "epsilon", 1, 1, &epsilon, test_err));
    *epsilon = (double)NAN;
    TEST_OK(verify_file_replay(stored, &work, &now, &replay, test_err));
    assert_int_equal(replay, VERIFY_REPLAY_DIFFERS);
    double *width = NULL;
    kern_error err = {0};
    TEST_OK(verify_record_edit(&stored->record, "width", 1, 1, &width, test_err));
    *width = 1e9;
    verify_file_replay(stored, &work, &now, &replay, &err);
    test_error(&err, KERN_BAD_INPUT, "norm-monotone: \"width\" of the record is 1000000000");
    verify_work_fini(&work);
    verify_file_fini(&file);
    release(results, n);
}

static void refuse(const char *path, const char *part)
{
    verify_file file = {0};
    kern_error err = {0};
    assert_int_not_equal(verify_file_read(&file, path, &err), KERN_OK);
    test_error(&err, err.status, part);
    assert_null(file.items);
    assert_int_equal(file.n, 0);
}

/* A file that is cut, or has a flipped byte, is refused before HDF5 sees it. */
static void test_damaged_files(void **state)
{
    char path[TEST_PATH];
    char cut[TEST_PATH];
    size_t n = 0;
    (void)state;
    const verify_options o = {.seed = 4, .trials = 3};
    verify_result result = {0};
    TEST_OK(verify_run_claim(&verify_norm_monotone, NULL, &o, &result, test_err));
    TEST_OK(verify_file_write(test_path(path, "one.h5"), &result, 1, NULL, test_err));
    verify_result_fini(&result);
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    static unsigned char bytes[1 << 16];
    n = fread(bytes, 1, sizeof bytes, in);
    (void)fclose(in);
    assert_true(n > 1000 && n < sizeof bytes);
    test_path(cut, "cut.h5");
    for (size_t keep = 0; keep < n; keep += 97) {
        test_write(cut, bytes, keep);
        refuse(cut, "cut.h5 is no file of witnesses");
    }
    for (size_t at = 0; at < n; at += 61) {
        bytes[at] ^= 0x55U;
        test_write(cut, bytes, n);
        bytes[at] ^= 0x55U;
        refuse(cut, at < n - 16 ? "cut.h5 is damaged" : "cut.h5 is");
    }
}

/* A file that is whole, but not of this kind. */
static model_hdf5_writer *begin_foreign(const char *path, const char *format, int64_t version)
{
    model_hdf5_writer *writer = NULL;
    TEST_OK(model_hdf5_writer_create(&writer, path, test_err));
    TEST_OK(model_hdf5_put_attr_string(writer, "/", "format", format, test_err));
    TEST_OK(model_hdf5_put_attr_int64(writer, "/", "version", version, test_err));
    return writer;
}

static void end_foreign(model_hdf5_writer *writer, const char *path)
{
    TEST_OK(model_hdf5_writer_commit(writer, test_err));
    model_hdf5_writer_destroy(writer);
    TEST_OK(verify_seal_put(path, test_err));
}

static void test_foreign_files(void **state)
{
    static const char *const names[] = {"made-up"};
    const model_hdf5_shape one = {.rank = 1, .size = {1}};
    char path[TEST_PATH];
    (void)state;
    refuse(test_path(path, "absent.h5"), "absent.h5");
    test_write(test_path(path, "text.h5"), "no file", 7);
    refuse(path, "text.h5");
    end_foreign(begin_foreign(test_path(path, "other.h5"), "basin-trace", 1), path);
    refuse(path, "other.h5 is no file of witnesses");
    end_foreign(begin_foreign(test_path(path, "later.h5"), "basin-witnesses", 2), path);
    refuse(path, "has version 2 of its format; 1 is accepted");
    end_foreign(begin_foreign(test_path(path, "empty.h5"), "basin-witnesses", 1), path);
    refuse(path, "empty.h5, claims:");
    model_hdf5_writer *w = begin_foreign(test_path(path, "claim.h5"), "basin-witnesses", 1);
    TEST_OK(model_hdf5_put_strings(w, "claims", names, &one, NULL, test_err));
    TEST_OK(model_hdf5_put_group(w, "made-up", test_err));
    TEST_OK(model_hdf5_put_attr_string(w, "made-up", "claim", "made-up", test_err));
    TEST_OK(model_hdf5_put_attr_string(w, "made-up", "needs", "random", test_err));
    end_foreign(w, path);
    refuse(path, "there is no claim \"made-up\"; the claims are");
}

/* A file without any instance can be written and read. */
static void test_empty_file(void **state)
{
    char path[TEST_PATH];
    verify_file file = {0};
    const verify_result none = {.claim = &verify_norm_monotone};
    (void)state;
    TEST_OK(verify_file_write(test_path(path, "none.h5"), &none, 1, NULL, test_err));
    TEST_OK(verify_file_read(&file, path, test_err));
    assert_int_equal(file.n, 0);
    verify_file_fini(&file);
}

int main(void)
{
    kern_runtime_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_record),
        cmocka_unit_test(test_record_refuses),
        cmocka_unit_test(test_work),
        cmocka_unit_test(test_replay_gives_the_same_bits),
        cmocka_unit_test(test_replay_sees_changes),
        cmocka_unit_test(test_damaged_files),
        cmocka_unit_test(test_foreign_files),
        cmocka_unit_test(test_empty_file),
    };
    return cmocka_run_group_tests_name("verify_file", tests, test_folder_make, test_folder_remove);
}
