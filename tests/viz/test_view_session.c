/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sessions: the same bytes after reading and writing, and what is refused.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/models/model_test_folder.h"
#include "tests/viz/view_test_set.h"
#include "viz/view/view_hash.h"
#include "viz/view/view_session.h"

#include <stdlib.h>
#include <string.h>

#define HASH "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void write_session(char **text, const view_session *session)
{
    kern_error err = {0};
    if (view_session_write(text, session, &err) != KERN_OK) {
        fail_msg("%s", err.text);
    }
}

static void fill(view_session *session)
{
    memset(session, 0, sizeof *session);
    view_settings_defaults(&session->settings);
    set(&session->settings, "prompt", "“a”\t\\b\"\n<&>");
    set(&session->settings, "seed", "18446744073709551615");
    set(&session->settings, "turn", "0.1");
    set(&session->settings, "rate", "2.2250738585072014e-308");
    set(&session->settings, "seeds", "0.1,-3,1e-17,12345678.901234567");
    set(&session->settings, "range", "-1,1,-0.3333333333333333,0.7");
    set(&session->settings, "token", "5");
    set(&session->settings, "norm", "rms");
    set(&session->settings, "also", "3,12");
    (void)snprintf(session->model_sha256, sizeof session->model_sha256, HASH);
}

static void test_same_bytes(void **state)
{
    view_session first;
    view_session second;
    view_stage stage;
    kern_error err = {0};
    (void)state;
    for (int filled = 0; filled < 2; filled++) {
        memset(&first, 0, sizeof first);
        view_settings_defaults(&first.settings);
        if (filled == 1) {
            fill(&first);
        }
        char *text = NULL;
        write_session(&text, &first);
        if (view_session_read(&second, text, &err) != KERN_OK) {
            fail_msg("%s", err.text);
        }
        assert_false(view_settings_differ(&first.settings, &second.settings, &stage));
        assert_string_equal(second.model_sha256, first.model_sha256);
        char *again = NULL;
        write_session(&again, &second);
        assert_string_equal(again, text);
        free(text);
        free(again);
    }
}

/* Replaces the first `old` of a session by `new` and expects a sentence. */
static void refuses(const char *old, const char *new, const char *part)
{
    view_session session;
    view_session read;
    kern_error err = {0};
    fill(&session);
    char *text = NULL;
    write_session(&text, &session);
    assert_non_null(strstr(text, old));
    const size_t before = (size_t)(strstr(text, old) - text);
    char *changed = malloc(strlen(text) + strlen(new) + 1);
    assert_non_null(changed);
    memcpy(changed, text, before);
    strcpy(changed + before, new);
    strcat(changed, text + before + strlen(old));
    assert_int_equal(view_session_read(&read, changed, &err), KERN_BAD_INPUT);
    if (strstr(err.text, part) == NULL) {
        fail_msg("\"%s\" is not in: %s", part, err.text);
    }
    free(changed);
    free(text);
}

static void test_refusals(void **state)
{
    (void)state;
    refuses("\"version\":\t2", "\"version\":\t3", "version 3");
    refuses("\"also\":", "\"alsos\":", "key \"also\" of the session's settings is missing");
    refuses("[3, 12]", "[3, 2.5]", "\"also\" of the session: also is \"3,2.5\"");
    refuses("basin-session", "other", "\"format\" of the session is \"other\"");
    refuses("\"format\":", "\"form\":", "key \"form\" of the session is not known");
    refuses("\"command\":", "\"extra\":\t1,\n\"command\":", "key \"extra\" of the session");
    refuses("\"layer\":", "\"layers\":", "key \"layer\" of the session's settings is missing");
    refuses("\"layer\":", "\"new\":\t1,\n\"layer\":", "key \"new\" of the session is no setting");
    refuses("\"orbit-to\":", "\"orbit_to\":", "\"orbit-to\"");
    refuses("\"columns\":\t256", "\"columns\":\t1", "key \"columns\" of the session");
    refuses("\"columns\":\t256", "\"columns\":\t2.5", "columns is \"2.5\"; accepted are whole");
    refuses("\"columns\":\t256", "\"columns\":\t-1", "columns is \"-1\"; accepted are whole");
    refuses("\"turn\":\t0.1", "\"turn\":\t1e999", "turn is \"inf\"; accepted are numbers");
    refuses("[0.1, -3", "[1e999, -3", "seeds is \"inf\"");
    refuses("\"plane\":\t\"pca\"", "\"plane\":\t\"pcb\"", "\"pcb\" is no plane");
    refuses("\"0123", "\"012", "hexadecimal digits");
}

/* Values of another JSON type than the setting's: what it is, and what it should be. */
static void test_kinds(void **state)
{
    (void)state;
    refuses("\"panels\":\t1", "\"panels\":\t\"2\"",
            "key \"panels\" of the session is the text \"2\"; accepted are whole numbers from 1 to "
            "16");
    refuses("\"token\":\t5", "\"token\":\t\"5\"",
            "is the text \"5\"; accepted are whole numbers from 0 to 100000, and all");
    refuses("\"token\":\t5", "\"token\":\ttrue", "key \"token\" of the session is true; accepted");
    refuses("\"seed\":\t\"18446744073709551615\"", "\"seed\":\t\"7\"",
            "key \"seed\" of the session is the text \"7\"; accepted are whole numbers");
    /* As a number it would become another. */
    refuses("\"seed\":\t\"18446744073709551615\"", "\"seed\":\t9007199254740993", "seed is \"9.0");
    refuses("\"columns\":\t256", "\"columns\":\tnull",
            "key \"columns\" of the session is null; accepted are whole numbers from 2 to 4096");
    refuses("\"columns\":\t256", "\"columns\":\t{}", "\"columns\" of the session is an object;");
    refuses("\"columns\":\t256", "\"columns\":\t[256]", "\"columns\" of the session is a list;");
    refuses("\"turn\":\t0.1", "\"turn\":\t\"0.1\"", "the text \"0.1\"; accepted are numbers");
    refuses("\"pin\":\tfalse", "\"pin\":\t\"off\"",
            "key \"pin\" of the session is the text \"off\"; accepted are true and false");
    refuses("\"pin\":\tfalse", "\"pin\":\t0", "is the number 0; accepted are true and false");
    refuses("\"plane\":\t\"pca\"", "\"plane\":\t2", "is the number 2; accepted are random, ");
    refuses("\"axes\":\t\"\"", "\"axes\":\tfalse", "is false; accepted are texts in UTF-8");
}

static void test_lists(void **state)
{
    (void)state;
    refuses("[3, 12]", "[3, true]",
            "key \"also\" of the session has true at place 2 of its list; accepted are lists of up "
            "to 16 whole numbers up to 100000");
    refuses("[3, 12]", "3", "key \"also\" of the session is the number 3; accepted are lists of");
    refuses("[3, 12]", "\"3,12\"", "is the text \"3,12\"; accepted are lists of up to 16");
    refuses("[3, 12]", "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]", "is a list of 17 numbers;");
    refuses(
        "[0.1, -3", "[true, -3",
        "key \"seeds\" of the session has true at place 1 of its list; accepted are lists of up "
        "to 32 numbers, an even number of them");
    refuses("[0.1, -3", "[0.1", "key \"seeds\" of the session is a list of 3 numbers; accepted");
    refuses("[0.1, -3",
            "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,"
            "28,29,30,31,32,0.1, -3",
            "is a list of 36 numbers;");
    refuses("[-1, 1, -0.3333333333333333, 0.7]", "[1]",
            "key \"range\" of the session is a list of 1 number; accepted are lists of 4 numbers");
    refuses("[-1, 1, -0.3333333333333333, 0.7]", "[1, -1, 0, 1]", "each must grow");
}

static void test_texts(void **state)
{
    view_session read;
    kern_error err = {0};
    (void)state;
    assert_int_equal(view_session_read(&read, "", &err), KERN_BAD_INPUT);
    assert_int_equal(view_session_read(&read, "{", &err), KERN_BAD_INPUT);
    assert_int_equal(view_session_read(&read, "[]", &err), KERN_BAD_INPUT);
    assert_int_equal(view_session_read(&read, "{}", &err), KERN_BAD_INPUT);
    assert_int_equal(
        view_session_read(&read, "{\"command\": \"basin figure\", \"kind\": \"orbit\"}", &err),
        KERN_BAD_INPUT);
    assert_non_null(strstr(err.text, "\"basin figure\""));
}

/* As written before some settings came: these have their defaults, and the others count. */
static void test_version_one(void **state)
{
    view_session session;
    view_session read;
    char *text = NULL;
    kern_error err = {0};
    (void)state;
    fill(&session);
    write_session(&text, &session);
    char *version = strstr(text, "\"version\":\t2");
    assert_non_null(version);
    version[strlen("\"version\":\t")] = '1';
    for (size_t i = 0; view_field_at(i) != NULL; i++) {
        char key[64];
        (void)snprintf(key, sizeof key, "\"%s\":", view_field_at(i)->name);
        char *line = strstr(text, key);
        char *end = line != NULL && view_field_at(i)->since == 2 ? strchr(line, '\n') : NULL;
        if (end != NULL) {
            memmove(line, end + 1, strlen(end)); /* the terminator too */
        }
    }
    assert_null(strstr(text, "also"));
    if (view_session_read(&read, text, &err) != KERN_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(read.settings.n_also, 0);
    assert_int_equal(read.settings.token, 5);
    set(&session.settings, "also", "none");
    assert_memory_equal(&read.settings, &session.settings, sizeof read.settings);
    free(text);
}

/* As written before there was a version: what was asked for beside what was found. */
static void test_version_zero(void **state)
{
    static const char text[] =
        "{\"command\":\"basin landscape\",\"run\":\"r\",\"family\":\"nrgpt\",\"model\":{\"a\":1},"
        "\"trained_for\":5,\"prompt\":\"x y\",\"token\":\"3\",\"plane\":\"custom\","
        "\"chart\":\"sphere\",\"norm\":\"relative\",\"at\":5,\"steps\":10,\"seed\":7,"
        "\"axes_file\":\"f.csv\",\"oblique\":true,\"frozen\":true,\"layer\":1,\"sublayer\":\"mlp\","
        "\"columns\":64,\"rows\":40,\"range\":[-1,1,-0.625,0.625]}";
    view_session s;
    kern_error err = {0};
    (void)state;
    if (view_session_read(&s, text, &err) != KERN_OK) {
        fail_msg("%s", err.text);
    }
    assert_string_equal(s.model_sha256, "");
    assert_string_equal(s.settings.axes, "f.csv");
    assert_string_equal(s.settings.prompt, "x y");
    assert_int_equal(s.settings.token, 3);
    assert_int_equal(s.settings.at, 5);
    assert_int_equal(s.settings.columns, 64);
    assert_int_equal(s.settings.sublayer, 1);
    assert_true(s.settings.frozen && s.settings.oblique);
    assert_true(s.settings.range[3] == 0.625);
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void test_files(void **state)
{
    char path[TEST_PATH];
    view_session session;
    view_session read;
    kern_error err = {0};
    (void)state;
    fill(&session);
    char *text = NULL;
    write_session(&text, &session);
    write_file(test_path(path, "s.json"), text);
    if (view_session_load(&read, path, &err) != KERN_OK) {
        fail_msg("%s", err.text);
    }
    char *again = NULL;
    write_session(&again, &read);
    assert_string_equal(again, text);
    free(again);
    free(text);
    write_file(test_path(path, "bad.json"), "{\"format\": 1}");
    assert_int_equal(view_session_load(&read, path, &err), KERN_BAD_INPUT);
    assert_non_null(strstr(err.text, "bad.json"));
    assert_int_equal(view_session_load(&read, test_path(path, "none.pdf"), &err), KERN_NOT_FOUND);
}

/* FIPS 180-2, appendix B.1 and B.2, and the empty text. */
static void test_hash(void **state)
{
    static const struct {
        const char *text;
        const char *hash;
    } known[] = {{"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
                 {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
                 {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}};
    char path[TEST_PATH];
    char hash[VIEW_HASH_TEXT];
    kern_error err = {0};
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        write_file(test_path(path, "hashed"), known[i].text);
        assert_int_equal(view_hash_file(hash, path, &err), KERN_OK);
        assert_string_equal(hash, known[i].hash);
    }
    assert_int_equal(view_hash_file(hash, test_path(path, "none"), &err), KERN_NOT_FOUND);
    assert_string_equal(hash, "");
    /* A folder can be opened but not read. */
    assert_int_equal(view_hash_file(hash, test_path(path, "."), &err), KERN_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bytes),   cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_kinds),        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_texts),        cmocka_unit_test(test_version_one),
        cmocka_unit_test(test_version_zero), cmocka_unit_test(test_files),
        cmocka_unit_test(test_hash),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
