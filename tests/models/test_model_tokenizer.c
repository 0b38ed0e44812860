/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Tokenizers: vocabularies, encoding and decoding of awkward texts, and every error.
 */
#include "models/model_tokenizer.h"
#include "models/model_utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void expect_text(const kern_error *err, const char *part)
{
    if (strstr(err->text, part) == NULL) {
        fail_msg("'%s' is not in '%s'", part, err->text);
    }
}

static void expect_ids(const model_tokenizer *t, const char *text, const int32_t *want, size_t n)
{
    int32_t *ids = NULL;
    size_t count = 99;
    kern_error err = {0};
    assert_int_equal(model_tokenizer_encode(t, text, strlen(text), &ids, &count, &err), KERN_OK);
    assert_int_equal(count, n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(ids[i], want[i]);
    }
    free(ids);
}

static void expect_bad(const model_tokenizer *t, const char *text, size_t size, const char *part)
{
    int32_t *ids = NULL;
    size_t count = 99;
    kern_error err = {0};
    const kern_status status = model_tokenizer_encode(t, text, size, &ids, &count, &err);
    assert_int_equal(status, KERN_BAD_INPUT);
    assert_int_equal(model_tokenizer_encode(t, text, size, &ids, &count, NULL), KERN_BAD_INPUT);
    assert_null(ids);
    assert_int_equal(count, 0);
    expect_text(&err, part);
}

static void expect_decoded(const model_tokenizer *t, const int32_t *ids, size_t n, const char *want)
{
    char *text = NULL;
    kern_error err = {0};
    assert_int_equal(model_tokenizer_decode(t, ids, n, &text, &err), KERN_OK);
    assert_string_equal(text, want);
    free(text);
}

static void test_listops_words(void **state)
{
    (void)state;
    model_tokenizer t;
    assert_int_equal(model_tokenizer_init_listops(&t, NULL), KERN_OK);
    assert_int_equal(t.vocab_size, 20);
    assert_int_equal(t.eos, 0);
    static const char *const some[] = {"<eos>", "(", ")", "=", "min_10", "max_10"};
    for (size_t i = 0; i < 6; i++) {
        assert_string_equal(t.words[i], some[i]);
        assert_int_equal(model_tokenizer_find(&t, some[i], strlen(some[i])), i);
    }
    assert_string_equal(t.words[9], "nadd_10");
    assert_string_equal(t.words[19], "9");
    static const int32_t want[] = {7, 1, 16, 5, 1, 19, 11, 2, 2, 3, 0, 10, 0, 0, 3};
    static const char text[] = "add_10 ( 6 max_10 ( 9 1 ) ) =\n0\n\n=";
    expect_ids(&t, text, want, 15);
    expect_decoded(&t, want, 15, text);
    /* Runs of spaces carry nothing, and <eos> may be written out. */
    static const int32_t loose[] = {7, 0, 19};
    expect_ids(&t, "  add_10   <eos> 9 ", loose, 3);
    expect_decoded(&t, loose, 3, "add_10\n9");
    expect_ids(&t, "", NULL, 0);
    expect_decoded(&t, NULL, 0, "");
    model_tokenizer_fini(&t);
    model_tokenizer_fini(&t);
}

static void test_word_errors(void **state)
{
    (void)state;
    model_tokenizer t;
    assert_int_equal(model_tokenizer_init_listops(&t, NULL), KERN_OK);
    expect_bad(&t, "add_10 ( 6 12 ) =", 17,
               "token 4, '12', is not among the 20 of the vocabulary; the 3 before");
    expect_bad(&t, "6 =\n6 =\n6 max", 13, "token 8 (line 3), 'max', is not among the 20");
    expect_bad(&t, "6 =\r\n", 5, "'=\\r'");
    expect_bad(&t, "6\t=", 3, "token 1, '6\\t='");
    /* A prefix of a word, and a word with something behind it. */
    expect_bad(&t, "max_1", 5, "'max_1'");
    expect_bad(&t, "max_100", 7, "'max_100'");
    expect_bad(&t, "6 \xc3\xa9 =", 6, "token 2, '\xc3\xa9'");
    expect_bad(&t, "6 =\n\xff", 5, "byte 0xff at offset 4 (line 2)");
    expect_bad(&t, "6\0=", 3, "byte 0x00 at offset 1 (line 1)");
    char lengthy[200];
    memset(lengthy, 'x', sizeof lengthy);
    expect_bad(&t, lengthy, sizeof lengthy, "xxxx...'");
    model_tokenizer_fini(&t);
    static const char *const no_eos[] = {"yes", "no"};
    assert_int_equal(model_tokenizer_init(&t, MODEL_TOKEN_WORD, no_eos, 2, NULL), KERN_OK);
    assert_int_equal(t.eos, -1);
    expect_bad(&t, "no\nyes", 6, "token 2 (line 1), '\\n'");
    model_tokenizer_fini(&t);
}

static void test_chars_sorted(void **state)
{
    (void)state;
    /* One character of every UTF-8 length, repeats, and a line end. */
    static const char text[] = "b\xf0\x9d\x84\x9e"
                               "a\xe2\x82\xac\n\xc3\xa9z\xc3\xa9"
                               "ab";
    static const char *const sorted[] = {
        "\n", "a", "b", "z", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9d\x84\x9e"};
    model_tokenizer t;
    kern_error err = {0};
    assert_int_equal(model_tokenizer_init_chars(&t, text, strlen(text), &err), KERN_OK);
    assert_int_equal(t.kind, MODEL_TOKEN_CHAR);
    assert_int_equal(t.vocab_size, 7);
    for (size_t i = 0; i < 7; i++) {
        assert_string_equal(t.words[i], sorted[i]);
    }
    static const int32_t want[] = {2, 6, 1, 5, 0, 4, 3, 4, 1, 2};
    expect_ids(&t, text, want, 10);
    expect_decoded(&t, want, 10, text);
    expect_bad(&t, "ab\n\xc3\xa9\xc3\xa8", 7,
               "character 5 (line 2), '\xc3\xa8', is not among the 7");
    expect_bad(&t, "ab c", 4, "character 3, ' '");
    expect_bad(&t, "ab\xc3", 3, "byte 0xc3 at offset 2");
    model_tokenizer_fini(&t);
    assert_int_equal(model_tokenizer_init_chars(&t, "", 0, &err), KERN_BAD_INPUT);
    expect_text(&err, "empty");
    assert_int_equal(model_tokenizer_init_chars(&t, "a\xed\xa0\x80", 4, &err), KERN_BAD_INPUT);
    expect_text(&err, "offset 1");
    assert_null(t.words);
}

/* A vocabulary taken from one tokenizer and given to another, in an order that is not sorted. */
static void test_vocabulary_round_trip(void **state)
{
    (void)state;
    static const char *const words[] = {"z", "\xc3\xa9", "a", "\n", "m"};
    model_tokenizer t;
    model_tokenizer copy;
    assert_int_equal(model_tokenizer_init(&t, MODEL_TOKEN_CHAR, words, 5, NULL), KERN_OK);
    const char *listed[5];
    for (size_t i = 0; i < 5; i++) {
        listed[i] = t.words[i];
    }
    assert_int_equal(model_tokenizer_init(&copy, t.kind, listed, t.vocab_size, NULL), KERN_OK);
    model_tokenizer_fini(&t);
    static const int32_t want[] = {1, 0, 2, 4, 3};
    expect_ids(&copy, "\xc3\xa9zam\n", want, 5);
    expect_decoded(&copy, want, 5, "\xc3\xa9zam\n");
    model_tokenizer_fini(&copy);
}

static void expect_no_vocabulary(model_token_kind kind, const char *const *words, size_t n,
                                 const char *part)
{
    model_tokenizer t;
    kern_error err = {0};
    const kern_status want = kind == MODEL_TOKEN_RAW ? KERN_INVALID_ARGUMENT : KERN_BAD_INPUT;
    assert_int_equal(model_tokenizer_init(&t, kind, words, n, &err), want);
    expect_text(&err, part);
    assert_null(t.words);
    assert_null(t.index);
    assert_null(t.pool);
}

static void test_vocabulary_errors(void **state)
{
    (void)state;
    static const char *const twice[] = {"b", "a", "c", "a"};
    static const char *const hole[] = {"b", "", "c"};
    static const char *const null[] = {"b", NULL};
    static const char *const blank[] = {"b", "c d"};
    static const char *const broken[] = {"b", "\xc0\x80"};
    expect_no_vocabulary(MODEL_TOKEN_CHAR, twice, 4, "'a' is in the vocabulary twice, as tokens ");
    expect_no_vocabulary(MODEL_TOKEN_WORD, hole, 3, "token 1 of the vocabulary is empty");
    expect_no_vocabulary(MODEL_TOKEN_WORD, null, 2, "token 1 of the vocabulary is empty");
    expect_no_vocabulary(MODEL_TOKEN_WORD, blank, 2, "'c d', contains a space");
    expect_no_vocabulary(MODEL_TOKEN_CHAR, blank, 2, "'c d', is not a single character");
    expect_no_vocabulary(MODEL_TOKEN_CHAR, broken, 2, "token 1 of the vocabulary, '\\xc0\\x80'");
    expect_no_vocabulary(MODEL_TOKEN_CHAR, twice, 0, "has 0 tokens");
    expect_no_vocabulary(MODEL_TOKEN_RAW, twice, 3, "kind raw has no list");
    model_tokenizer t;
    kern_error err = {0};
    assert_int_equal(model_tokenizer_init_raw(&t, 0, &err), KERN_INVALID_ARGUMENT);
    expect_text(&err, "size is 0");
    const size_t large = (size_t)MODEL_TOKENIZER_MAX_VOCAB + 1;
    assert_int_equal(model_tokenizer_init_raw(&t, large, &err), KERN_INVALID_ARGUMENT);
}

static void test_raw_numbers(void **state)
{
    (void)state;
    model_tokenizer t;
    assert_int_equal(model_tokenizer_init_raw(&t, 50257, NULL), KERN_OK);
    static const int32_t want[] = {50256, 0, 17, 17};
    expect_ids(&t, " 50256 0\n17\t017\r\n", want, 4);
    expect_decoded(&t, want, 4, "50256 0 17 17");
    expect_bad(&t, "3 50257", 7, "token 2, '50257', is not a number from 0 to 50256; the 1 before");
    expect_bad(&t, "3 -1", 4, "'-1'");
    expect_bad(&t, "99999999999999999999999999", 26, "token 1");
    expect_bad(&t, "3.5", 3, "'3.5'");
    model_tokenizer_fini(&t);
}

static void test_decode_errors(void **state)
{
    (void)state;
    model_tokenizer t;
    assert_int_equal(model_tokenizer_init_listops(&t, NULL), KERN_OK);
    static const int32_t high[] = {4, 19, 20};
    static const int32_t low[] = {4, -1};
    char *text = NULL;
    kern_error err = {0};
    assert_int_equal(model_tokenizer_decode(&t, high, 3, &text, &err), KERN_INVALID_ARGUMENT);
    expect_text(&err, "token 3 has id 20; 0 to 19");
    assert_null(text);
    assert_int_equal(model_tokenizer_decode(&t, low, 2, &text, &err), KERN_INVALID_ARGUMENT);
    expect_text(&err, "token 2 has id -1");
    model_tokenizer_fini(&t);
}

static void expect_label(const model_tokenizer *t, int32_t id, const char *want)
{
    char label[MODEL_TOKENIZER_LABEL];
    model_tokenizer_label(t, id, label);
    assert_string_equal(label, want);
}

static void test_labels(void **state)
{
    (void)state;
    static const char *const words[] = {" ", "\n", "\t", "q", "\xc3\xa9", "\x01", "\xc2\x80"};
    model_tokenizer t;
    assert_int_equal(model_tokenizer_init(&t, MODEL_TOKEN_CHAR, words, 7, NULL), KERN_OK);
    static const char *const labels[] = {"\xe2\x90\xa3", "\\n",   "\\t",       "q",
                                         "\xc3\xa9",     "\\x01", "\\xc2\\x80"};
    for (int32_t id = 0; id < 7; id++) {
        expect_label(&t, id, labels[id]);
    }
    expect_label(&t, 7, "?");
    expect_label(&t, -1, "?");
    model_tokenizer_fini(&t);
    assert_int_equal(model_tokenizer_init_listops(&t, NULL), KERN_OK);
    expect_label(&t, 0, "<eos>");
    expect_label(&t, 6, "median_10");
    model_tokenizer_fini(&t);
    assert_int_equal(model_tokenizer_init_raw(&t, 300, NULL), KERN_OK);
    expect_label(&t, 299, "299");
    expect_label(&t, 300, "?");
    model_tokenizer_fini(&t);
}

static void test_kind_words(void **state)
{
    (void)state;
    for (unsigned k = MODEL_TOKEN_WORD; k <= MODEL_TOKEN_RAW; k++) {
        model_token_kind kind = MODEL_TOKEN_RAW;
        const char *const word = model_token_kind_word((model_token_kind)k);
        assert_int_equal(model_token_kind_parse(&kind, word, NULL), KERN_OK);
        assert_int_equal(kind, k);
    }
    model_token_kind kind;
    kern_error err = {0};
    assert_int_equal(model_token_kind_parse(&kind, "bpe", &err), KERN_BAD_INPUT);
    expect_text(&err, "'bpe'");
    expect_text(&err, "word, char or raw");
}

/* Every code point survives the round trip; every malformed form of RFC 3629 is refused. */
static void test_utf8(void **state)
{
    (void)state;
    for (uint32_t point = 1; point < 0x110000; point += point < 0x3000 ? 1 : 61) {
        char text[MODEL_UTF8_MAX + 1];
        uint32_t back = 0;
        const size_t length = model_utf8_encode(text, point);
        const bool surrogate = point >= 0xd800 && point <= 0xdfff;
        assert_int_equal(strlen(text), length);
        assert_int_equal(model_utf8_decode(text, length, &back), surrogate ? 0 : length);
        assert_int_equal(model_utf8_decode(text, length - 1, &back), 0);
        assert_true(surrogate || back == point);
    }
    static const char *const bad[] = {"\x80",
                                      "\xc0\xaf",
                                      "\xc1\xbf",
                                      "\xe0\x9f\xbf",
                                      "\xf0\x8f\xbf\xbf",
                                      "\xf4\x90\x80\x80",
                                      "\xf8\x88\x80",
                                      "\xc3(",
                                      "\xe2\x82("};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint32_t point;
        assert_int_equal(model_utf8_decode(bad[i], strlen(bad[i]), &point), 0);
    }
    char shown[MODEL_UTF8_QUOTE];
    model_utf8_quote(shown, "a\x80\xc3\xa9\x7f\0z", 7);
    assert_string_equal(shown, "a\\x80\xc3\xa9\\x7f\\x00z");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_listops_words),     cmocka_unit_test(test_word_errors),
        cmocka_unit_test(test_chars_sorted),      cmocka_unit_test(test_vocabulary_round_trip),
        cmocka_unit_test(test_vocabulary_errors), cmocka_unit_test(test_raw_numbers),
        cmocka_unit_test(test_decode_errors),     cmocka_unit_test(test_labels),
        cmocka_unit_test(test_kind_words),        cmocka_unit_test(test_utf8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
