/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Token streams, windows and prompts: contents, splits, resumption, and every bad file.
 */
#define _POSIX_C_SOURCE 200809L
#include "models/model_data.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define SHARED BASIN_SOURCE_DIR "/../shared/data/"

static char folder[512];
static char path[600];

static int make_folder(void **state)
{
    (void)state;
    const char *const base = getenv("TMPDIR");
    (void)snprintf(folder, sizeof folder, "%.400s/basin-data-XXXXXX", base != NULL ? base : "/tmp");
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    (void)snprintf(path, sizeof path, "%s/data", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    (void)unlink(path);
    return rmdir(folder);
}

static void write_file(const void *bytes, size_t size)
{
    FILE *const file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void expect_text(const kern_error *err, const char *part)
{
    if (strstr(err->text, part) == NULL) {
        fail_msg("'%s' is not in '%s'", part, err->text);
    }
}

static void skip_without(const char *file)
{
    if (access(file, R_OK) != 0) {
        print_message("skipped: %s is absent\n", file);
        skip();
    }
}

/* ------------------------------------------------------------------ streams */

static void test_split(void **state)
{
    (void)state;
    int32_t ids[137];
    for (size_t i = 0; i < 137; i++) {
        ids[i] = (int32_t)(i * 7 % 31);
    }
    static const size_t sizes[] = {1, 2, 9, 10, 11, 19, 20, 137};
    static const size_t trains[] = {0, 1, 8, 9, 9, 17, 18, 123};
    for (size_t i = 0; i < 8; i++) {
        model_stream s;
        size_t count;
        assert_int_equal(model_stream_init(&s, "made", ids, sizes[i], 40, NULL), KERN_OK);
        assert_int_equal(s.n_train, trains[i]);
        assert_int_equal(s.vocab_size, 40);
        assert_ptr_equal(model_stream_part(&s, MODEL_PART_TRAIN, &count), s.ids);
        assert_int_equal(count, trains[i]);
        assert_ptr_equal(model_stream_part(&s, MODEL_PART_VAL, &count), s.ids + trains[i]);
        assert_int_equal(count, sizes[i] - trains[i]);
        assert_ptr_equal(model_stream_part(&s, MODEL_PART_ALL, &count), s.ids);
        assert_int_equal(count, sizes[i]);
        model_stream_fini(&s);
        model_stream_fini(&s);
    }
}

static void test_init_errors(void **state)
{
    (void)state;
    static const int32_t ids[] = {3, 1, 4, -1, 5};
    model_stream s;
    kern_error err = {0};
    assert_int_equal(model_stream_init(&s, "made", ids, 0, 9, &err), KERN_BAD_INPUT);
    expect_text(&err, "'made' has no tokens");
    assert_int_equal(model_stream_init(&s, "made", ids, 5, 9, &err), KERN_BAD_INPUT);
    expect_text(&err, "token 4 of 'made' has id -1; the vocabulary accepts 0 to 8");
    assert_int_equal(model_stream_init(&s, "made", ids, 3, 4, &err), KERN_BAD_INPUT);
    expect_text(&err, "token 3 of 'made' has id 4; the vocabulary accepts 0 to 3");
    assert_null(s.ids);
    assert_int_equal(model_stream_init(&s, "made", ids, 3, 0, &err), KERN_OK);
    assert_int_equal(s.vocab_size, 5);
    model_stream_fini(&s);
}

static void test_words(void **state)
{
    (void)state;
    static const int32_t want[] = {5, 1, 12, 19, 2, 3, 19, 0, 7, 1, 16, 15, 2, 3, 11, 0};
    model_tokenizer t;
    model_stream s;
    kern_error err = {0};
    assert_int_equal(model_tokenizer_init_listops(&t, NULL), KERN_OK);
    /* The last line counts as a line with and without its end. */
    static const char text[] = "max_10 ( 2 9 ) = 9\nadd_10 ( 6 5 ) = 1\n";
    for (size_t cut = 0; cut < 2; cut++) {
        write_file(text, strlen(text) - cut);
        assert_int_equal(model_stream_read_text(&s, &t, path, &err), KERN_OK);
        assert_int_equal(s.n, 16);
        assert_int_equal(s.n_train, 14);
        assert_int_equal(s.vocab_size, 20);
        assert_memory_equal(s.ids, want, sizeof want);
        model_stream_fini(&s);
    }
    model_tokenizer_fini(&t);
}

static void expect_bad_text(const model_tokenizer *t, const char *text, size_t size,
                            const char *part)
{
    model_stream s;
    kern_error err = {0};
    write_file(text, size);
    assert_int_equal(model_stream_read_text(&s, t, path, &err), KERN_BAD_INPUT);
    expect_text(&err, part);
    expect_text(&err, path);
    assert_null(s.ids);
    assert_null(s.name);
}

static void test_text_errors(void **state)
{
    (void)state;
    model_tokenizer t;
    assert_int_equal(model_tokenizer_init_listops(&t, NULL), KERN_OK);
    expect_bad_text(&t, "", 0, "is empty");
    expect_bad_text(&t, "   ", 3, "only blanks");
    expect_bad_text(&t, "6 = 6\n6 = x\n", 12, "token 7 (line 2), 'x', is not among the 20");
    expect_bad_text(&t, "6 = 6\n\n6 = 6\n", 13, "example 2 is empty");
    expect_bad_text(&t, "\n6 = 6\n", 7, "example 1 is empty");
    expect_bad_text(&t, "6 = \xfe", 5, "byte 0xfe at offset 4");
    expect_bad_text(&t, "6 = 6\0", 6, "byte 0x00 at offset 5");
    model_stream s;
    model_tokenizer made;
    kern_error err = {0};
    char missing[600];
    (void)snprintf(missing, sizeof missing, "%s/missing", folder);
    assert_int_equal(model_stream_read_text(&s, &t, missing, &err), KERN_NOT_FOUND);
    expect_text(&err, missing);
    assert_int_equal(model_stream_read_chars(&s, &made, missing, &err), KERN_NOT_FOUND);
    assert_int_equal(model_stream_read_bin(&s, 0, missing, &err), KERN_NOT_FOUND);
    model_tokenizer_fini(&t);
}

static void test_chars(void **state)
{
    (void)state;
    static const char text[] = "to \xe2\x82\xac or not\nto \xe2\x82\xac";
    static const int32_t want[] = {5, 3, 1, 6, 1, 3, 4, 1, 2, 3, 5, 0, 5, 3, 1, 6};
    model_tokenizer t;
    model_stream s;
    kern_error err = {0};
    write_file(text, strlen(text));
    assert_int_equal(model_stream_read_chars(&s, &t, path, &err), KERN_OK);
    assert_int_equal(t.vocab_size, 7);
    assert_int_equal(s.vocab_size, 7);
    assert_int_equal(s.n, 16);
    assert_memory_equal(s.ids, want, sizeof want);
    model_stream_fini(&s);
    /* The same vocabulary on another text, then on a text that it does not cover. */
    write_file("root\n", 5);
    assert_int_equal(model_stream_read_text(&s, &t, path, &err), KERN_OK);
    assert_int_equal(s.n, 5);
    assert_int_equal(s.ids[0], 4);
    model_stream_fini(&s);
    expect_bad_text(&t, "rot\nRoot", 8, "character 5 (line 2), 'R', is not among the 7");
    model_tokenizer_fini(&t);
    write_file("ab\xff", 3);
    assert_int_equal(model_stream_read_chars(&s, &t, path, &err), KERN_BAD_INPUT);
    expect_text(&err, "byte 0xff at offset 2");
    assert_null(t.words);
    write_file("", 0);
    assert_int_equal(model_stream_read_chars(&s, &t, path, &err), KERN_BAD_INPUT);
    expect_text(&err, "is empty");
}

/* ------------------------------------------------------------------ token files */

static void put_u16(unsigned char *at, unsigned value)
{
    at[0] = (unsigned char)(value & 0xffu);
    at[1] = (unsigned char)(value >> 8);
}

static void put_u32(unsigned char *at, uint32_t value)
{
    put_u16(at, value & 0xffffu);
    put_u16(at + 2, value >> 16);
}

static const unsigned tokens[] = {50256, 0, 258, 65535, 11, 40000, 7};

enum { N_TOKENS = 7, HEADER = 1024 };

static void fill_tokens(unsigned char *at)
{
    for (size_t i = 0; i < N_TOKENS; i++) {
        put_u16(at + 2 * i, tokens[i]);
    }
}

static void expect_tokens(void)
{
    model_stream s;
    kern_error err = {0};
    assert_int_equal(model_stream_read_bin(&s, 0, path, &err), KERN_OK);
    assert_int_equal(s.n, N_TOKENS);
    assert_int_equal(s.n_train, 6);
    assert_int_equal(s.vocab_size, 65536);
    for (size_t i = 0; i < N_TOKENS; i++) {
        assert_int_equal(s.ids[i], tokens[i]);
    }
    model_stream_fini(&s);
    assert_int_equal(model_stream_read_bin(&s, 70000, path, &err), KERN_OK);
    assert_int_equal(s.vocab_size, 70000);
    model_stream_fini(&s);
}

static void expect_bad_bin(size_t vocab_size, const char *part)
{
    model_stream s;
    kern_error err = {0};
    assert_int_equal(model_stream_read_bin(&s, vocab_size, path, &err), KERN_BAD_INPUT);
    expect_text(&err, part);
    expect_text(&err, path);
    assert_null(s.ids);
}

static void test_nanogpt_bin(void **state)
{
    (void)state;
    unsigned char bytes[2 * N_TOKENS];
    fill_tokens(bytes);
    write_file(bytes, sizeof bytes);
    expect_tokens();
    expect_bad_bin(50257, "token 4 of");
    expect_bad_bin(50257, "has id 65535; the vocabulary accepts 0 to 50256");
    write_file(bytes, sizeof bytes - 1);
    expect_bad_bin(0, "has 13 bytes; 16-bit tokens fill an even number");
    write_file(bytes, 1);
    expect_bad_bin(0, "has 1 bytes");
    write_file(bytes, 0);
    expect_bad_bin(0, "is empty");
}

static void test_llmc_bin(void **state)
{
    (void)state;
    unsigned char bytes[HEADER + 2 * N_TOKENS] = {0};
    put_u32(bytes, 20240520);
    put_u32(bytes + 4, 1);
    put_u32(bytes + 8, N_TOKENS);
    fill_tokens(bytes + HEADER);
    write_file(bytes, sizeof bytes);
    expect_tokens();
    expect_bad_bin(50257, "has id 65535");
    write_file(bytes, sizeof bytes - 2);
    expect_bad_bin(0, "promises 7 tokens in its header but has 12 bytes after it");
    write_file(bytes, sizeof bytes - 1);
    expect_bad_bin(0, "but has 13 bytes after it");
    write_file(bytes, HEADER - 4);
    expect_bad_bin(0, "has 1020 bytes; the header of a token file takes 1024");
    put_u32(bytes + 8, 0xfffffff0u);
    write_file(bytes, sizeof bytes);
    expect_bad_bin(0, "promises 4294967280 tokens");
    put_u32(bytes + 8, 0);
    write_file(bytes, HEADER);
    expect_bad_bin(0, "has no tokens");
    put_u32(bytes + 4, 7);
    write_file(bytes, sizeof bytes);
    expect_bad_bin(0, "version 7; version 1 is accepted");
    const uint32_t others[] = {20240326, 20240522, 20240801, 20240803};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        char part[64];
        (void)snprintf(part, sizeof part, "is a file of llm.c of kind %u", (unsigned)others[i]);
        put_u32(bytes, others[i]);
        write_file(bytes, sizeof bytes);
        expect_bad_bin(0, part);
        write_file(bytes, 4);
        expect_bad_bin(0, part);
    }
}

/* ------------------------------------------------------------------ windows */

static void make_stream(model_stream *s, size_t n)
{
    int32_t *const ids = calloc(n, sizeof *ids);
    assert_non_null(ids);
    for (size_t i = 0; i < n; i++) {
        ids[i] = (int32_t)i;
    }
    assert_int_equal(model_stream_init(s, "counted", ids, n, n, NULL), KERN_OK);
    free(ids);
}

/* Ids are their own positions, so a window shows its offset. */
static void test_windows(void **state)
{
    (void)state;
    enum { B = 50, N = 7, ROUNDS = 400, OFFSETS = 13 };
    model_stream s;
    make_stream(&s, 200);
    model_sampler sampler;
    assert_int_equal(model_sampler_init(&sampler, &s, MODEL_PART_VAL, B, N, 5, NULL), KERN_OK);
    size_t seen[OFFSETS] = {0};
    int32_t idx[B * N + 1];
    int32_t targets[B * N + 1];
    for (size_t r = 0; r < ROUNDS; r++) {
        idx[B * N] = -7;
        targets[B * N] = -7;
        model_sampler_draw(&sampler, idx, targets);
        assert_int_equal(idx[B * N], -7);
        assert_int_equal(targets[B * N], -7);
        for (size_t b = 0; b < B; b++) {
            const int32_t first = idx[b * N];
            assert_in_range(first, 180, 180 + OFFSETS - 1);
            seen[first - 180]++;
            for (size_t i = 0; i < N; i++) {
                assert_int_equal(idx[b * N + i], first + (int32_t)i);
                assert_int_equal(targets[b * N + i], first + (int32_t)i + 1);
            }
        }
    }
    /* Binomial(20000, 1/13): mean 1538.5, deviation 37.7; five deviations either side. */
    for (size_t o = 0; o < OFFSETS; o++) {
        assert_in_range(seen[o], 1350, 1727);
    }
    model_sampler_fini(&sampler);
    model_sampler_fini(&sampler);
    model_stream_fini(&s);
}

static void test_resume(void **state)
{
    (void)state;
    enum { B = 3, N = 4 };
    model_stream s;
    make_stream(&s, 5000);
    model_sampler a;
    model_sampler b;
    int32_t idx[3][B * N];
    int32_t targets[3][B * N];
    assert_int_equal(model_sampler_init(&a, &s, MODEL_PART_TRAIN, B, N, 11, NULL), KERN_OK);
    assert_int_equal(model_sampler_init(&b, &s, MODEL_PART_TRAIN, B, N, 12, NULL), KERN_OK);
    model_sampler_draw(&a, idx[0], targets[0]);
    model_sampler_draw(&b, idx[1], targets[1]);
    assert_memory_not_equal(idx[0], idx[1], sizeof idx[0]);
    for (size_t i = 0; i < 777; i++) {
        model_sampler_draw(&a, idx[0], targets[0]);
    }
    const size_t size = model_sampler_state_size(&a);
    void *const saved = malloc(size);
    assert_non_null(saved);
    model_sampler_save(&a, saved);
    assert_int_equal(model_sampler_restore(&b, saved, size, NULL), KERN_OK);
    for (size_t i = 0; i < 800; i++) {
        model_sampler_draw(&a, idx[0], targets[0]);
        model_sampler_draw(&b, idx[1], targets[1]);
        assert_memory_equal(idx[0], idx[1], sizeof idx[0]);
        assert_memory_equal(targets[0], targets[1], sizeof targets[0]);
    }
    kern_error err = {0};
    assert_int_equal(model_sampler_restore(&b, saved, size - 1, &err), KERN_BAD_INPUT);
    free(saved);
    model_sampler_fini(&a);
    model_sampler_fini(&b);
    model_stream_fini(&s);
}

static void test_window_errors(void **state)
{
    (void)state;
    model_stream s;
    model_sampler sampler;
    kern_error err = {0};
    make_stream(&s, 37); /* 33 for training, 4 for validation */
    assert_int_equal(model_stream_check_window(&s, MODEL_PART_TRAIN, 32, &err), KERN_OK);
    assert_int_equal(model_stream_check_window(&s, MODEL_PART_TRAIN, 33, &err), KERN_BAD_INPUT);
    expect_text(&err, "the training part of 'counted' has 33 tokens; a window of 33 needs");
    assert_int_equal(model_stream_check_window(&s, MODEL_PART_ALL, 36, &err), KERN_OK);
    assert_int_equal(model_stream_check_window(&s, MODEL_PART_ALL, 37, &err), KERN_BAD_INPUT);
    expect_text(&err, "the whole of 'counted' has 37");
    assert_int_equal(model_sampler_init(&sampler, &s, MODEL_PART_VAL, 2, 4, 1, &err),
                     KERN_BAD_INPUT);
    expect_text(&err, "the validation part of 'counted' has 4 tokens; a window of 4 needs");
    assert_int_equal(model_sampler_init(&sampler, &s, MODEL_PART_VAL, 2, SIZE_MAX, 1, &err),
                     KERN_BAD_INPUT);
    assert_int_equal(model_sampler_init(&sampler, &s, MODEL_PART_VAL, 0, 3, 1, &err),
                     KERN_INVALID_ARGUMENT);
    expect_text(&err, "a batch of 0 windows of 3 tokens");
    assert_int_equal(model_sampler_init(&sampler, &s, MODEL_PART_VAL, 2, 0, 1, &err),
                     KERN_INVALID_ARGUMENT);
    assert_int_equal(model_sampler_init(&sampler, &s, MODEL_PART_VAL, SIZE_MAX / 2, 3, 1, &err),
                     KERN_OVERFLOW);
    assert_null(sampler.rng);
    /* The shortest part that works: one window only. */
    assert_int_equal(model_sampler_init(&sampler, &s, MODEL_PART_VAL, 1, 3, 1, &err), KERN_OK);
    int32_t idx[3];
    int32_t targets[3];
    model_sampler_draw(&sampler, idx, targets);
    assert_int_equal(idx[0], 33);
    assert_int_equal(targets[2], 36);
    model_sampler_fini(&sampler);
    model_stream_fini(&s);
}

/* ------------------------------------------------------------------ prompts */

static void test_prompts(void **state)
{
    (void)state;
    static const char text[] = "add_10 ( 6 5 ) =\t1\nmax_10 ( 2 9 0 ) =\t9\nmin_10 ( 4 ) =\t4";
    static const int32_t second[] = {5, 1, 12, 19, 10, 2, 3};
    model_tokenizer t;
    model_prompts p;
    kern_error err = {0};
    assert_int_equal(model_tokenizer_init_listops(&t, NULL), KERN_OK);
    write_file(text, strlen(text));
    assert_int_equal(model_prompts_read(&p, &t, path, &err), KERN_OK);
    assert_int_equal(p.n, 3);
    assert_int_equal(p.longest, 7);
    assert_int_equal(p.items[0].answer, 11);
    assert_int_equal(p.items[1].n, 7);
    assert_memory_equal(p.items[1].ids, second, sizeof second);
    assert_int_equal(p.items[1].answer, 19);
    assert_int_equal(p.items[2].n, 5);
    model_prompts_fini(&p);
    model_prompts_fini(&p);
    model_tokenizer_fini(&t);
}

static void expect_bad_prompts(const char *text, const char *part)
{
    model_tokenizer t;
    model_prompts p;
    kern_error err = {0};
    assert_int_equal(model_tokenizer_init_listops(&t, NULL), KERN_OK);
    write_file(text, strlen(text));
    assert_int_equal(model_prompts_read(&p, &t, path, &err), KERN_BAD_INPUT);
    expect_text(&err, path);
    expect_text(&err, part);
    assert_null(p.items);
    assert_int_equal(p.n, 0);
    model_tokenizer_fini(&t);
}

static void test_prompt_errors(void **state)
{
    (void)state;
    expect_bad_prompts("", "is empty");
    expect_bad_prompts("6 =\t6\n6 = 6\n", "line 2: one tab is expected between prompt and answer");
    expect_bad_prompts("6 =\t6\t\n",
                       "line 1: one tab is expected between prompt and answer, not two");
    expect_bad_prompts("6 =\t6\n6 x =\t6\n", "line 2: token 2, 'x', is not among the 20");
    expect_bad_prompts("6 =\t12\n", "line 1: the answer '12' is not one token");
    expect_bad_prompts("6 =\t6\r\n", "line 1: the answer '6\\r' is not one token");
    expect_bad_prompts("6 =\t\n", "line 1: the answer '' is not one token");
    expect_bad_prompts("6 =\t6\n\t6\n", "line 2: the prompt has 0 tokens");
    expect_bad_prompts("=\t6\n", "line 1: the prompt has 1 tokens");
    expect_bad_prompts("6 = 6\t6\n",
                       "line 1: the prompt has 3 tokens; an expression and a final '='");
    expect_bad_prompts("6 =\t6\n\n",
                       "line 2: one tab is expected between prompt and answer, not none");
    expect_bad_prompts("6 =\t6\n6 \xc3 =\t6\n", "byte 0xc3 at offset 8 (line 2)");
    model_tokenizer t;
    model_prompts p;
    kern_error err = {0};
    assert_int_equal(model_tokenizer_init_listops(&t, NULL), KERN_OK);
    assert_int_equal(model_prompts_read(&p, &t, folder, &err), KERN_BAD_INPUT);
    assert_null(p.items);
    model_tokenizer_fini(&t);
}

/* ------------------------------------------------------------------ published files */

static void test_published_listops(void **state)
{
    (void)state;
    static const char file[] = SHARED "listops_nrgpt_train.txt";
    skip_without(file);
    model_tokenizer t;
    model_stream s;
    kern_error err = {0};
    assert_int_equal(model_tokenizer_init_listops(&t, NULL), KERN_OK);
    assert_int_equal(model_stream_read_text(&s, &t, file, &err), KERN_OK);
    assert_int_equal(s.n, 791016);
    assert_int_equal(s.n_train, 711914);
    size_t examples = 0;
    for (size_t i = 0; i < s.n; i++) {
        examples += s.ids[i] == t.eos;
    }
    assert_int_equal(examples, 50000);
    char *text = NULL;
    assert_int_equal(model_tokenizer_decode(&t, s.ids, s.n, &text, &err), KERN_OK);
    assert_int_equal(strlen(text), 2185872);
    static const char start[] = "max_10 ( 2 9 3 ) = 9\nadd_10 ( 6 5 ) = 1\n";
    assert_int_equal(strncmp(text, start, strlen(start)), 0);
    free(text);
    model_stream_fini(&s);
    model_tokenizer_fini(&t);
}

static void test_published_vocabulary(void **state)
{
    (void)state;
    static const char file[] = SHARED "listops_nrgpt_vocab.txt";
    skip_without(file);
    FILE *const in = fopen(file, "r");
    assert_non_null(in);
    for (size_t i = 0; i < MODEL_LISTOPS_VOCAB; i++) {
        char word[32];
        assert_int_equal(fscanf(in, "%31s", word), 1);
        assert_string_equal(word, model_tokenizer_listops_words()[i]);
    }
    char rest[32];
    assert_int_equal(fscanf(in, "%31s", rest), EOF);
    assert_int_equal(fclose(in), 0);
}

static void test_published_prompts(void **state)
{
    (void)state;
    static const char file[] = SHARED "listops_nrgpt_test.tsv";
    skip_without(file);
    model_tokenizer t;
    model_prompts p;
    kern_error err = {0};
    assert_int_equal(model_tokenizer_init_listops(&t, NULL), KERN_OK);
    assert_int_equal(model_prompts_read(&p, &t, file, &err), KERN_OK);
    assert_int_equal(p.n, 2000);
    assert_int_equal(p.longest, 22);
    assert_int_equal(p.items[0].answer, 13);
    assert_int_equal(p.items[1999].answer, 18);
    model_prompts_fini(&p);
    model_tokenizer_fini(&t);
}

static void test_shakespeare(void **state)
{
    (void)state;
    static const char file[] = SHARED "tinyshakespeare.txt";
    skip_without(file);
    model_tokenizer t;
    model_stream s;
    kern_error err = {0};
    assert_int_equal(model_stream_read_chars(&s, &t, file, &err), KERN_OK);
    assert_int_equal(t.vocab_size, 65);
    assert_int_equal(s.n, 1115394);
    assert_int_equal(s.n_train, 1003854);
    assert_int_equal(s.n - s.n_train, 111540);
    assert_string_equal(t.words[0], "\n");
    assert_string_equal(t.words[64], "z");
    char *text = NULL;
    assert_int_equal(model_tokenizer_decode(&t, s.ids, 14, &text, &err), KERN_OK);
    assert_string_equal(text, "First Citizen:");
    free(text);
    model_stream_fini(&s);
    model_tokenizer_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_init_errors),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_text_errors),
        cmocka_unit_test(test_chars),
        cmocka_unit_test(test_nanogpt_bin),
        cmocka_unit_test(test_llmc_bin),
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_resume),
        cmocka_unit_test(test_window_errors),
        cmocka_unit_test(test_prompts),
        cmocka_unit_test(test_prompt_errors),
        cmocka_unit_test(test_published_listops),
        cmocka_unit_test(test_published_vocabulary),
        cmocka_unit_test(test_published_prompts),
        cmocka_unit_test(test_shakespeare),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
