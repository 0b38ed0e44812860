/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _POSIX_C_SOURCE 200809L
#include "cli/cli_args.h"
#include "models/model_config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct settings {
    const char *file;
    const char *other;
    size_t width;
    int threads;
    double rate;
    uint64_t seed;
    bool fast;
    model_ff ff;
    cli_list names;
} settings;

static kern_status parse_ff(void *member, const char *value, kern_error *err)
{
    return model_ff_parse(member, value, err);
}

static void show_ff(const void *member, char out[CLI_VALUE_TEXT])
{
    (void)snprintf(out, CLI_VALUE_TEXT, "%s", model_ff_word(*(const model_ff *)member));
}

static const cli_option options[] = {
    {.kind = CLI_HEADING, .help = "Everything"},
    {.name = "FILE",
     .kind = CLI_TEXT,
     .positional = true,
     .required = true,
     .offset = offsetof(settings, file),
     .help = "what to read"},
    {.name = "OTHER",
     .kind = CLI_TEXT,
     .positional = true,
     .offset = offsetof(settings, other),
     .help = "what else to read"},
    {.name = "width",
     .alias = "n_embed",
     .value = "D",
     .kind = CLI_SIZE,
     .low = 1,
     .high = 1 << 24,
     .offset = offsetof(settings, width),
     .help = "numbers in a state"},
    {.name = "threads",
     .value = "N",
     .kind = CLI_INT,
     .low = 1,
     .high = 64,
     .offset = offsetof(settings, threads),
     .help = "workers"},
    {.name = "lr-min",
     .value = "X",
     .kind = CLI_REAL,
     .low = -2,
     .high = 1e6,
     .offset = offsetof(settings, rate),
     .help = "rate"},
    {.name = "seed",
     .value = "N",
     .kind = CLI_SEED,
     .offset = offsetof(settings, seed),
     .help = "of chance"},
    {.name = "fast", .kind = CLI_FLAG, .offset = offsetof(settings, fast), .help = "be quick"},
    {.name = "ff",
     .value = "KIND",
     .kind = CLI_WORD,
     .parse = parse_ff,
     .show = show_ff,
     .offset = offsetof(settings, ff),
     .help = "kind of energy"},
    {.name = "name",
     .value = "TEXT",
     .kind = CLI_LIST,
     .offset = offsetof(settings, names),
     .help = "may be given more than once"},
};

static void defaults(void *out)
{
    settings *s = out;
    s->width = 64;
    s->threads = 2;
    s->rate = 0.002;
    s->seed = 1;
    s->ff = MODEL_FF2W;
}

static const cli_command command = {.name = "try",
                                    .purpose = "tries things",
                                    .example = "basin try a\nbasin try b",
                                    .options = options,
                                    .n_options = sizeof options / sizeof options[0],
                                    .settings_size = sizeof(settings),
                                    .defaults = defaults};

static cli_call call;
static settings s;
static kern_error err;

/* Parses the words up to a NULL into `s`. */
static kern_status parse(const char *first, ...)
{
    char words[8][64];
    char *argv[8];
    int argc = 0;
    va_list rest;
    call = (cli_call){.command = &command};
    memset(&s, 0, sizeof s);
    memset(&err, 0, sizeof err);
    defaults(&s);
    va_start(rest, first);
    for (const char *word = first; word != NULL; word = va_arg(rest, const char *)) {
        (void)snprintf(words[argc], sizeof words[argc], "%s", word);
        argv[argc] = words[argc];
        argc++;
    }
    va_end(rest);
    return cli_args_parse(&call, argc, argv, &s, &err);
}

static void refuse(const char *option, const char *value, const char *part)
{
    assert_int_equal(parse("a", option, value, NULL), KERN_INVALID_ARGUMENT);
    if (strstr(err.text, part) == NULL || strchr(err.text, '\n') != NULL) {
        fail_msg("\"%s\" is not in: %s", part, err.text);
    }
}

static void test_values_of_every_kind(void **state)
{
    (void)state;
    assert_int_equal(parse("--width", "17", "a", "--lr-min=-1.5e0", "--fast", NULL), KERN_OK);
    assert_int_equal(s.width, 17);
    assert_true(s.rate >= -1.5 && s.rate <= -1.5);
    assert_true(s.fast);
    assert_int_equal(s.threads, 2);
    assert_true(cli_args_given(&call, "width") && cli_args_given(&call, "n_embed"));
    assert_false(cli_args_given(&call, "seed"));
    assert_false(cli_args_given(&call, "nothing"));
    assert_int_equal(
        parse("a", "--threads=64", "--seed", "18446744073709551615", "--ff", "ff1", NULL), KERN_OK);
    assert_int_equal(s.threads, 64);
    assert_true(s.seed == UINT64_MAX);
    assert_int_equal(s.ff, MODEL_FF1);
}

static void test_names_aliases_and_repeats(void **state)
{
    (void)state;
    assert_int_equal(parse("a", "--n_embed", "3", "--n-embed=5", "--lr_min", "1", NULL), KERN_OK);
    assert_int_equal(s.width, 5);
    assert_true(s.rate >= 1 && s.rate <= 1);
    assert_int_equal(parse("a", "--name", "x", "--name=", "--name", "-y", NULL), KERN_OK);
    assert_int_equal(s.names.n, 3);
}

static void test_positional_arguments(void **state)
{
    (void)state;
    assert_int_equal(parse("--", "--fast", NULL), KERN_OK);
    assert_false(s.fast);
    assert_int_equal(parse("-", "b", NULL), KERN_OK);
    assert_int_equal(parse(NULL), KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "FILE is missing"));
    assert_int_equal(parse("a", "b", "c", NULL), KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "\"c\" is one argument too many"));
}

static void test_sizes_out_of_domain(void **state)
{
    static const char *const bad[] = {
        "0",   "-1",   "1000000000", "1e9",      "twelve",
        "NaN", "",     "64x",        " 64",      "+64",
        "6.4", "0x10", "inf",        "16777217", "99999999999999999999999"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        refuse("--width", bad[i], "--width is \"");
        assert_non_null(strstr(err.text, "whole numbers from 1 to 16777216"));
        assert_non_null(strstr(err.text, bad[i]));
    }
    refuse("--threads", "65", "whole numbers from 1 to 64");
    refuse("--seed", "18446744073709551616", "--seed is \"18446744073709551616\"");
    refuse("--seed", "-1", "whole numbers from 0 to 18446744073709551615");
}

static void test_reals_out_of_domain(void **state)
{
    static const char *const bad[] = {"nan", "inf", "-inf", "1e400", "0x1p3", "1.5x", "",
                                      " 1",  "1e7", "-2.1", "1,5",   "e",     "--1"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        refuse("--lr-min", bad[i], "--lr-min is \"");
        assert_non_null(strstr(err.text, "numbers from -2 to 1e+06"));
    }
}

static void test_words_flags_and_missing_values(void **state)
{
    (void)state;
    refuse("--ff", "ff3", "--ff: ");
    assert_non_null(strstr(err.text, "ff1, ff2, ff2w"));
    refuse("--fast=yes", NULL, "--fast is a switch and takes no value");
    refuse("--width", NULL, "--width needs a value D");
    refuse("--width", "--fast", "--width needs a value D");
}

static void test_misspelt_names(void **state)
{
    (void)state;
    refuse("--widht", "3", "--widht is not an option; did you mean --width?");
    refuse("--widht=3", NULL, "did you mean --width?");
    refuse("--temperature", "3", "accepted are those of basin try --help");
    refuse("-w", "3", "-w is not an option");
}

static void test_too_many_values_of_a_list(void **state)
{
    static char word[] = "--name=x";
    char *argv[CLI_LIST_MAX + 1];
    (void)state;
    for (size_t i = 0; i <= CLI_LIST_MAX; i++) {
        argv[i] = word;
    }
    call = (cli_call){.command = &command};
    memset(&s, 0, sizeof s);
    assert_int_equal(cli_args_parse(&call, CLI_LIST_MAX + 1, argv, &s, &err),
                     KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "more than 64 times"));
}

static void test_help_shows_every_option(void **state)
{
    char *text = NULL;
    size_t size = 0;
    (void)state;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    cli_args_print_help(&command, out);
    assert_int_equal(fclose(out), 0);
    assert_non_null(strstr(text, "Usage: basin try FILE [OTHER] [OPTION]..."));
    assert_non_null(strstr(text, "Everything:\n"));
    assert_non_null(strstr(text, "  --width D                 numbers in a state (default 64)\n"));
    assert_non_null(strstr(text, "rate (default 0.002)"));
    assert_non_null(strstr(text, "kind of energy (default ff2w)"));
    assert_non_null(strstr(text, "what to read (required)"));
    assert_non_null(strstr(text, "Example:\n  basin try a\n  basin try b\n"));
    assert_null(strstr(text, "n_embed"));
    assert_null(strstr(text, "(null)"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_of_every_kind),
        cmocka_unit_test(test_names_aliases_and_repeats),
        cmocka_unit_test(test_positional_arguments),
        cmocka_unit_test(test_sizes_out_of_domain),
        cmocka_unit_test(test_reals_out_of_domain),
        cmocka_unit_test(test_words_flags_and_missing_values),
        cmocka_unit_test(test_misspelt_names),
        cmocka_unit_test(test_too_many_values_of_a_list),
        cmocka_unit_test(test_help_shows_every_option),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
