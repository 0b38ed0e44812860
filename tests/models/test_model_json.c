/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _XOPEN_SOURCE 700

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "models/model_json.h"
#include "tests/models/model_test_folder.h"

#include <float.h>
#include <locale.h>
#include <math.h>

enum { LIMIT = 4096 };

/* Parses from a block of exactly the text's size, so that a sanitizer sees a read behind it. */
static kern_status parse(const char *text, size_t size, cJSON **object, kern_error *err)
{
    char *block = malloc(size > 0 ? size : 1);
    assert_non_null(block);
    memcpy(block, text, size);
    const kern_status status = model_json_parse("text.json", block, size, LIMIT, object, err);
    free(block);
    return status;
}

static cJSON *parsed(const char *text)
{
    cJSON *object;
    kern_error err = {KERN_OK, ""};
    if (parse(text, strlen(text), &object, &err) != KERN_OK) {
        fail_msg("%s: %s", text, err.text);
    }
    return object;
}

static void test_accepts_json(void **state)
{
    (void)state;
    const char *const texts[] = {
        "{}",
        " \t\r\n{ } \n",
        "{\"a\":[1,-2,0,-0,0.5,1e3,1E-3,2.50e+02],\"b\":null,\"\":true}",
        "{\"\xc3\xa9t\xc3\xa9\":\"\\u00e9\\ud83d\\ude00\\n\\\\\\\"\"}",
        "{\"a\":{\"a\":{\"a\":[[[]]]}}}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        cJSON_Delete(parsed(texts[i]));
    }
}

typedef struct bad_text {
    const char *text;
    const char *part;
} bad_text;

static void test_refuses_what_is_not_json(void **state)
{
    (void)state;
    const bad_text texts[] = {
        {"", "does not begin with '{'"},
        {"   ", "does not begin with '{'"},
        {"[1, 2]", "does not begin with '{'"},
        {"17", "does not begin with '{'"},
        {"\xef\xbb\xbf{}", "does not begin with '{'"},
        {"{", "near byte"},
        {"{\"a\"}", "near byte"},
        {"{\"a\":}", "near byte"},
        {"{\"a\":1,}", "near byte"},
        {"{a:1}", "near byte"},
        {"{\"a\":1]", "near byte"},
        {"{\"a\":truth}", "near byte"},
        {"{\"a\":NaN}", "near byte"},
        {"{\"a\":+1}", "near byte"},
        {"{\"a\":1 2}", "near byte"},
        {"{\"a\":\"\\q\"}", "near byte"},
        {"{\"a\":\"\\ud800\"}", "near byte"},
        {"{\"a\":1} x", "continues behind its JSON object at byte 8"},
        {"{\"a\":1}{}", "continues behind its JSON object at byte 7"},
        {"{\"a\":01}", "byte 5: a number is malformed"},
        {"{\"a\":1.}", "a number is malformed"},
        {"{\"a\":-}", "a number is malformed"},
        {"{\"a\":.5}", "near byte"},
        {"{\"a\":1e}", "a number is malformed"},
        {"{\"a\":1e+}", "a number is malformed"},
        {"{\"a", "a string is not closed"},
        {"{\"a\\", "a string is not closed"},
        {"{\"a\\\"", "a string is not closed"},
        {"{\"a\":\"x\ty\"}", "control character that is not escaped"},
        {"{\"a\":\f1}", "control character stands between"},
        {"{\"a\":\"x\\u0000y\"}", "the character NUL"},
        {"{\"a\":\"\xc0\xaf\"}", "text.json: byte 0xc0"},
        {"{\"a\":\"\xed\xa0\x80\"}", "text.json: byte 0xed"},
        {"{\"a\":1,\"b\":2,\"a\":3}", "the key \"a\" twice"},
        {"{\"a\":1,\"\\u0061\":3}", "the key \"a\" twice"},
        {"{\"x\":[{\"a\":1,\"a\":1}]}", "the key \"a\" twice"},
        {"{\"\\u001b[31m\":1}", "control character; keys are printable"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        cJSON *object;
        kern_error err = {KERN_OK, ""};
        assert_int_equal(parse(texts[i].text, strlen(texts[i].text), &object, &err),
                         KERN_BAD_INPUT);
        assert_null(object);
        test_error(&err, KERN_BAD_INPUT, texts[i].part);
    }
}

static void test_limits(void **state)
{
    (void)state;
    char text[LIMIT + 2];
    cJSON *object;
    kern_error err = {KERN_OK, ""};
    memset(text, ' ', sizeof text);
    memcpy(text, "{}", 2);
    assert_int_equal(parse(text, LIMIT, &object, &err), KERN_OK);
    cJSON_Delete(object);
    assert_int_equal(parse(text, LIMIT + 1, &object, &err), KERN_BAD_INPUT);
    test_error(&err, KERN_BAD_INPUT, "4097 bytes, more than the 4096");
    assert_int_equal(parse("{}\0", 3, &object, &err), KERN_BAD_INPUT);
    test_error(&err, KERN_BAD_INPUT, "byte 0x00");

    /* An object holding 63 arrays is as deep as accepted; one array more is not. */
    for (size_t arrays = MODEL_JSON_DEPTH - 1; arrays <= MODEL_JSON_DEPTH; arrays++) {
        memcpy(text, "{\"a\":", 5);
        memset(text + 5, '[', arrays);
        memset(text + 5 + arrays, ']', arrays);
        text[5 + 2 * arrays] = '}';
        const bool good = arrays < MODEL_JSON_DEPTH;
        assert_int_equal(parse(text, 6 + 2 * arrays, &object, &err),
                         good ? KERN_OK : KERN_BAD_INPUT);
        cJSON_Delete(object);
    }
    test_error(&err, KERN_BAD_INPUT, "nesting is too deep");
}

/* No prefix and no changed byte of a valid text may do more than be refused. */
static void test_survives_damage(void **state)
{
    (void)state;
    const char text[] =
        "{\"k\\u00e9y\":[1,-2.5e3,{\"b\":\"\\ud83d\\ude00\\\"x\"}],\"t\":true,\"n\":null}";
    const size_t size = sizeof text - 1;
    for (size_t i = 0; i < size; i++) {
        cJSON *object;
        assert_int_equal(parse(text, i, &object, NULL), KERN_BAD_INPUT);
        for (unsigned byte = 0; byte < 256; byte++) {
            char changed[sizeof text];
            memcpy(changed, text, sizeof text);
            changed[i] = (char)byte;
            const kern_status status = parse(changed, size, &object, NULL);
            assert_true(status == KERN_OK ? object != NULL : status == KERN_BAD_INPUT);
            cJSON_Delete(object);
        }
    }
}

static void test_getters(void **state)
{
    (void)state;
    cJSON *object =
        parsed("{\"n\":7,\"e\":3e2,\"x\":-0.125,\"t\":true,\"f\":false,\"s\":\"word\","
               "\"o\":{\"in\":1},\"a\":[2,10,0],\"big\":9007199254740991,\"next\":9007199254740993,"
               "\"u\":\"18446744073709551615\"}");
    size_t n;
    double x;
    bool flag;
    uint64_t u;
    const char *s;
    const cJSON *inner;
    size_t sizes[3];
    assert_int_equal(model_json_get_size(object, "n", 7, 7, &n, NULL), KERN_OK);
    assert_int_equal(n, 7);
    assert_int_equal(model_json_get_size(object, "e", 0, 1000, &n, NULL), KERN_OK);
    assert_int_equal(n, 300);
    assert_int_equal(model_json_get_real(object, "x", -0.125, 0.0, &x, NULL), KERN_OK);
    assert_true(x == -0.125);
    assert_int_equal(model_json_get_bool(object, "t", &flag, NULL), KERN_OK);
    assert_true(flag);
    assert_int_equal(model_json_get_bool(object, "f", &flag, NULL), KERN_OK);
    assert_false(flag);
    assert_int_equal(model_json_get_string(object, "s", &s, NULL), KERN_OK);
    assert_string_equal(s, "word");
    assert_int_equal(model_json_get_object(object, "o", &inner, NULL), KERN_OK);
    assert_true(model_json_has(inner, "in"));
    assert_false(model_json_has(inner, "IN"));
    assert_int_equal(model_json_get_sizes(object, "a", 10, 3, sizes, &n, NULL), KERN_OK);
    assert_int_equal(n, 3);
    assert_true(sizes[0] == 2 && sizes[1] == 10 && sizes[2] == 0);
    assert_int_equal(model_json_get_u64(object, "big", &u, NULL), KERN_OK);
    assert_true(u == ((uint64_t)1 << 53) - 1);
    /* It became 2^53, as that does itself: which of both was written is not known. */
    assert_int_equal(model_json_get_u64(object, "next", &u, NULL), KERN_BAD_INPUT);
    assert_int_equal(model_json_get_u64(object, "u", &u, NULL), KERN_OK);
    assert_true(u == UINT64_MAX);
    cJSON_Delete(object);
}

static const char refusal_text[] =
    "{\"neg\":-3,\"half\":2.5,\"huge\":1e300,\"inf\":1e999,\"s\":\"four\",\"t\":true,\"z\":null,"
    "\"a\":[1,2,3],\"b\":[1,-1],\"c\":[\"1\"],\"o\":{},\"u\":\"18446744073709551616\","
    "\"v\":\"12x\",\"w\":\"\"}";

static void test_size_refusals(void **state)
{
    (void)state;
    const bad_text rows[] = {
        {"neg", "\"neg\" is -3; accepted is a whole number from 1 to 16"},
        {"half", "\"half\" is 2.5;"},
        {"huge", "\"huge\" is 1e+300;"},
        {"inf", "\"inf\" is too large a number;"},
        {"s", "\"s\" is \"four\";"},
        {"t", "\"t\" is true;"},
        {"z", "\"z\" is null;"},
        {"a", "\"a\" is an array;"},
        {"o", "\"o\" is an object;"},
    };
    cJSON *object = parsed(refusal_text);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        kern_error err = {KERN_OK, ""};
        size_t n = 5;
        assert_int_equal(model_json_get_size(object, rows[i].text, 1, 16, &n, &err),
                         KERN_BAD_INPUT);
        test_error(&err, KERN_BAD_INPUT, rows[i].part);
        assert_int_equal(n, 5);
    }
    cJSON_Delete(object);
}

static void test_other_refusals(void **state)
{
    (void)state;
    cJSON *object = parsed(refusal_text);
    kern_error err = {KERN_OK, ""};
    size_t n;
    double x;
    bool flag;
    uint64_t u;
    const char *s;
    const cJSON *inner;
    size_t sizes[2];
    assert_int_equal(model_json_get_size(object, "none", 0, 9, &n, &err), KERN_NOT_FOUND);
    test_error(&err, KERN_NOT_FOUND, "the key \"none\" is missing");
    assert_int_equal(model_json_get_real(object, "half", -1.0, 2.25, &x, &err), KERN_BAD_INPUT);
    test_error(&err, KERN_BAD_INPUT, "\"half\" is 2.5; accepted is a number from -1 to 2.25");
    assert_int_equal(model_json_get_real(object, "inf", -DBL_MAX, DBL_MAX, &x, &err),
                     KERN_BAD_INPUT);
    assert_int_equal(model_json_get_bool(object, "neg", &flag, &err), KERN_BAD_INPUT);
    test_error(&err, KERN_BAD_INPUT, "accepted is true or false");
    assert_int_equal(model_json_get_string(object, "neg", &s, &err), KERN_BAD_INPUT);
    test_error(&err, KERN_BAD_INPUT, "accepted is a string");
    assert_int_equal(model_json_get_object(object, "a", &inner, &err), KERN_BAD_INPUT);
    test_error(&err, KERN_BAD_INPUT, "\"a\" is an array; accepted is an object");
    const char *const bad_sizes[] = {"a", "b", "c", "o"};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(model_json_get_sizes(object, bad_sizes[i], 9, 2, sizes, &n, &err),
                         KERN_BAD_INPUT);
        test_error(&err, KERN_BAD_INPUT, "array of at most 2 whole numbers from 0 to 9");
    }
    const char *const bad_counts[] = {"neg", "half", "u", "v", "w", "t"};
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(model_json_get_u64(object, bad_counts[i], &u, &err), KERN_BAD_INPUT);
        test_error(&err, KERN_BAD_INPUT, "string of digits below 2^64");
    }
    cJSON_Delete(object);
}

static void assert_round_trip(double value)
{
    char text[MODEL_JSON_NUMBER];
    assert_true(model_json_format_real(text, value));
    const double back = strtod(text, NULL);
    assert_memory_equal(&back, &value, sizeof value);
}

static void test_numbers_keep_every_bit(void **state)
{
    (void)state;
    const double values[] = {0.0,
                             -0.0,
                             1.0,
                             0.1,
                             1.0 / 3.0,
                             1e-5,
                             6.02214076e23,
                             DBL_MAX,
                             -DBL_MIN,
                             DBL_EPSILON,
                             4.9406564584124654e-324,
                             123456789.123456789};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        assert_round_trip(values[i]);
    }
    uint64_t bits = 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < 20000; i++) {
        bits = bits * 6364136223846793005u + 1442695040888963407u;
        double value;
        memcpy(&value, &bits, sizeof value);
        if (isfinite(value)) {
            assert_round_trip(value);
        }
    }
    char text[MODEL_JSON_NUMBER];
    assert_true(model_json_format_real(text, 1e-5));
    assert_string_equal(text, "1e-05");
    assert_true(model_json_format_real(text, 0.1 + 0.2));
    assert_string_equal(text, "0.30000000000000004");
    assert_false(model_json_format_real(text, (double)NAN));
    assert_false(model_json_format_real(text, -(double)INFINITY));
    assert_string_equal(text, "");
}

static void test_numbers_in_a_comma_locale(void **state)
{
    (void)state;
    const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8"};
    const char *set = NULL;
    for (size_t i = 0; i < 4 && set == NULL; i++) {
        set = setlocale(LC_NUMERIC, names[i]);
    }
    if (set == NULL) {
        print_message("no locale with a decimal comma is installed\n");
        skip();
    }
    char text[MODEL_JSON_NUMBER];
    const bool good = model_json_format_real(text, -1234.0625);
    (void)setlocale(LC_NUMERIC, "C");
    assert_true(good);
    assert_string_equal(text, "-1234.0625");
}

static void test_written_text_reads_back(void **state)
{
    (void)state;
    const size_t sizes[] = {3, 0, 70000};
    for (int pretty = 0; pretty <= 1; pretty++) {
        cJSON *object = cJSON_CreateObject();
        char *text;
        assert_int_equal(model_json_add_size(object, "n", MODEL_JSON_WHOLE_MAX, NULL), KERN_OK);
        assert_int_equal(model_json_add_u64(object, "small", 42, NULL), KERN_OK);
        assert_int_equal(model_json_add_u64(object, "seed", UINT64_MAX - 2, NULL), KERN_OK);
        assert_int_equal(model_json_add_u64(object, "edge", (uint64_t)1 << 53, NULL), KERN_OK);
        assert_int_equal(model_json_add_real(object, "x", 0.1 + 0.2, NULL), KERN_OK);
        assert_int_equal(model_json_add_bool(object, "t", true, NULL), KERN_OK);
        assert_int_equal(model_json_add_string(object, "s", "a\"\n\xc3\xa9", NULL), KERN_OK);
        assert_int_equal(model_json_add_sizes(object, "a", sizes, 3, NULL), KERN_OK);
        assert_int_equal(model_json_print(object, pretty != 0, &text, NULL), KERN_OK);
        cJSON_Delete(object);
        assert_int_equal(strchr(text, '\n') != NULL, pretty);
        object = parsed(text);
        free(text);
        size_t n;
        uint64_t u;
        double x;
        const char *s;
        size_t back[3];
        assert_int_equal(model_json_get_size(object, "n", 0, MODEL_JSON_WHOLE_MAX, &n, NULL),
                         KERN_OK);
        assert_true(n == MODEL_JSON_WHOLE_MAX);
        assert_int_equal(model_json_get_u64(object, "edge", &u, NULL), KERN_OK);
        assert_true(u == (uint64_t)1 << 53);
        assert_int_equal(model_json_get_u64(object, "small", &u, NULL), KERN_OK);
        assert_true(u == 42);
        assert_int_equal(model_json_get_u64(object, "seed", &u, NULL), KERN_OK);
        assert_true(u == UINT64_MAX - 2);
        assert_int_equal(model_json_get_real(object, "x", 0, 1, &x, NULL), KERN_OK);
        assert_true(x == 0.1 + 0.2);
        assert_int_equal(model_json_get_string(object, "s", &s, NULL), KERN_OK);
        assert_string_equal(s, "a\"\n\xc3\xa9");
        assert_int_equal(model_json_get_sizes(object, "a", 70000, 3, back, &n, NULL), KERN_OK);
        assert_int_equal(n, 3);
        assert_memory_equal(back, sizes, sizeof sizes);
        cJSON_Delete(object);
    }
}

static void test_refuses_to_add(void **state)
{
    (void)state;
    cJSON *object = cJSON_CreateObject();
    kern_error err = {KERN_OK, ""};
    assert_int_equal(model_json_add_real(object, "loss", (double)NAN, &err), KERN_INVALID_ARGUMENT);
    test_error(&err, KERN_INVALID_ARGUMENT, "\"loss\" is nan");
    assert_int_equal(model_json_add_string(object, "name", "\xff", &err), KERN_INVALID_ARGUMENT);
    test_error(&err, KERN_INVALID_ARGUMENT, "\"name\": byte 0xff");
    assert_null(object->child);
    cJSON_Delete(object);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepts_json),
        cmocka_unit_test(test_refuses_what_is_not_json),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_survives_damage),
        cmocka_unit_test(test_getters),
        cmocka_unit_test(test_size_refusals),
        cmocka_unit_test(test_other_refusals),
        cmocka_unit_test(test_numbers_keep_every_bit),
        cmocka_unit_test(test_numbers_in_a_comma_locale),
        cmocka_unit_test(test_written_text_reads_back),
        cmocka_unit_test(test_refuses_to_add),
    };
    return cmocka_run_group_tests_name("model_json", tests, NULL, NULL);
}
