/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The subcommand figure with the built program: every kind from what its subcommand writes, the
 * session in the file, and what it says about wrong input.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/cli/cli_test_json.h"

/* Keeps what the last program printed as a file of the folder. */
static void keep(const char *name)
{
    char path[TEST_PATH];
    FILE *file = fopen(test_path(path, name), "wb");
    assert_non_null(file);
    assert_int_equal(fputs(program_out, file) >= 0, 1);
    assert_int_equal(fclose(file), 0);
}

static void write_text(const char *name, const char *text)
{
    char path[TEST_PATH];
    FILE *file = fopen(test_path(path, name), "wb");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Number of lines of a CSV that begin with a word of panel 1's series. */
static size_t rows_of(const char *name, const char *series)
{
    static char table[PROGRAM_TEXT];
    char start[64];
    size_t n = 0;
    program_read(name, table);
    (void)snprintf(start, sizeof start, "\n1,\"%s\",", series);
    for (const char *s = strstr(table, start); s != NULL; s = strstr(s + 1, start)) {
        n++;
    }
    return n;
}

static void test_spectra(void **state)
{
    (void)state;
    program_expect(0, "lyapunov", "--map", "henon", "--steps", "2000", "--json", NULL);
    keep("ly.json");
    program_expect(0, "figure", "lyapunov", "--in", in("ly.json"), "--out", in("ly.csv"), NULL);
    assert_int_equal(rows_of("ly.csv", "positive"), 1);
    assert_int_equal(rows_of("ly.csv", "negative"), 1);
    program_expect(0, "multipliers", "--map", "henon", "--solve", "--json", NULL);
    keep("mu.json");
    program_expect(0, "figure", "multipliers", "--in", in("mu.json"), "--out", in("mu.csv"), NULL);
    assert_int_equal(rows_of("mu.csv", "inside") + rows_of("mu.csv", "outside"), 2);
    program_expect(0, "fixed-points", "--map", "henon", "--period", "2", "--json", NULL);
    keep("fp.json");
    program_expect(0, "figure", "fixed-points", "--in", in("fp.json"), "--out", in("fp.csv"), NULL);
    /* Two fixed points and the two points of one cycle. */
    assert_int_equal(rows_of("fp.csv", "period 1, unstable"), 2);
    assert_int_equal(rows_of("fp.csv", "period 2, unstable"), 2);
}

static void test_branches(void **state)
{
    (void)state;
    program_expect(0, "orbit-diagram", "--map", "logistic", "--vary", "r", "--from", "2.8", "--to",
                   "3.4", "--n", "7", "--steps", "10", "--json", NULL);
    keep("od.json");
    program_expect(0, "continue", "--map", "logistic", "--vary", "r", "--from", "2.8", "--to",
                   "3.4", "--switch", "1", "--json", NULL);
    keep("br.json");
    program_expect(0, "figure", "orbit-diagram", "--in", in("od.json"), "--in", in("br.json"),
                   "--out", in("od.csv"), "--json", NULL);
    cJSON *object = program_json();
    assert_true(number(object, "panels") == 2);
    cJSON_Delete(object);
    assert_int_equal(rows_of("od.csv", "PD"), 1);
    assert_true(rows_of("od.csv", "unstable branch") > 3);
    program_expect(0, "figure", "branches", "--in", in("br.json"), "--out", in("br.pdf"), NULL);
    program_expect(2, "figure", "orbit-diagram", "--in", in("br.json"), "--out", in("x.pdf"), NULL);
    assert_non_null(strstr(program_err, "columns"));
    program_expect(2, "figure", "orbit-diagram", "--in", in("od.json"), "--in", in("od.json"),
                   "--out", in("x.pdf"), NULL);
    assert_non_null(strstr(program_err, "second orbit diagram"));
    program_expect(0, "continue", "--map", "henon2", "--param", "beta=0.3", "--vary", "alpha",
                   "--from", "0", "--to", "3", "--second", "beta", "--range=-1.4:1.4", "--curve",
                   "PD", "--json", NULL);
    keep("pd.json");
    program_expect(0, "figure", "curves", "--in", in("pd.json"), "--out", in("pd.csv"), NULL);
    assert_true(rows_of("pd.csv", "PD") > 10);
    assert_int_equal(rows_of("pd.csv", "R2"), 1);
}

static void test_planes(void **state)
{
    (void)state;
    program_expect(0, "basins", "--map", "kopel", "--param", "rho=0.7", "--param", "mu=3.55",
                   "--box=0:1", "--grid", "12", "--cells", "128", "--out", in("b.h5"), NULL);
    program_expect(0, "figure", "basins", "--in", in("b.h5"), "--out", in("b.csv"), NULL);
    assert_int_equal(rows_of("b.csv", "basin"), 144);
    assert_int_equal(rows_of("b.csv", "points of attractor 1"), 1);
    program_expect(0, "rqa", "--map", "henon", "--steps", "39", "--out", in("r.pbm"), NULL);
    program_expect(0, "figure", "recurrence", "--in", in("r.pbm"), "--out", in("r.png"), "--dpi",
                   "72", NULL);
    program_expect(2, "figure", "recurrence", "--in", in("b.h5"), "--out", in("x.png"), NULL);
    assert_non_null(strstr(program_err, "portable bitmap"));
    program_expect(2, "figure", "basins", "--in", in("r.pbm"), "--out", in("x.png"), NULL);
    assert_non_null(strstr(program_err, "HDF5"));
}

static void test_runs(void **state)
{
    (void)state;
    write_text("t.json", "{\"tokens\":[\"a\",\"b\"],\"steps\":2,"
                         "\"energy\":[[0,-1,-2],[0.5,null,-1]]}");
    program_expect(0, "figure", "energy", "--in", in("t.json"), "--out", in("t.svg"), NULL);
    write_text("t.json", "{\"tokens\":[\"a\",\"b\"],\"energy\":[[0,-1,-2],[0.5]]}");
    program_expect(2, "figure", "energy", "--in", in("t.json"), "--out", in("t2.svg"), NULL);
    assert_non_null(strstr(program_err, "token 1"));
    write_text("g.json",
               "{\"rows\":["
               "{\"arm\":\"cem\",\"hist\":\"ar\",\"steps\":1,\"steps_eval\":1,\"range\":\"1-63\","
               "\"rmse\":0.5,\"rmse_floor\":0.3},"
               "{\"arm\":\"cem\",\"hist\":\"ar\",\"steps\":1,\"steps_eval\":1,\"range\":\"1-63\","
               "\"rmse\":0.7,\"rmse_floor\":0.3},"
               "{\"arm\":\"cem\",\"hist\":\"ar\",\"steps\":1,\"steps_eval\":2,\"range\":\"1-63\","
               "\"rmse\":9.0,\"rmse_floor\":0.3}]}");
    program_expect(0, "figure", "gp", "--in", in("g.json"), "--out", in("g.csv"), NULL);
    assert_int_equal(rows_of("g.csv", "cem ar"), 1);
    static char table[PROGRAM_TEXT];
    program_read("g.csv", table);
    /* The mean of two seeds, in binary. */
    assert_non_null(strstr(table, "\"cem ar\",1,0.59999999"));
    write_text("g.json", "{\"rows\":[{\"arm\":\"cem\",\"steps\":1,\"steps_eval\":2}]}");
    program_expect(2, "figure", "gp", "--in", in("g.json"), "--out", in("g.pdf"), NULL);
    assert_non_null(strstr(program_err, "steps_eval"));
    write_text("s.csv", "name,parameters,val_loss,greedy,sampled\nff1-32,11797,1.0,43.1e-2,0.3\n"
                        "shakespeare,1,2,,\n");
    program_expect(0, "figure", "listops", "--in", in("s.csv"), "--out", in("s2.csv"), NULL);
    assert_int_equal(rows_of("s2.csv", "ff1"), 2);
    assert_int_equal(rows_of("s2.csv", "shakespeare"), 0);
    write_text("s.csv", "name,parameters\n");
    program_expect(2, "figure", "listops", "--in", in("s.csv"), "--out", in("s2.csv"), NULL);
    assert_non_null(strstr(program_err, "line 1"));
}

/* What was given comes back from every format. */
static void test_session(void **state)
{
    (void)state;
    static const char *const names[] = {"f.pdf", "f.svg", "f.png", "f.csv"};
    write_text("l.json", "{\"exponents\":[0.1,-0.2],\"stderr\":[0.01,0.01],\"kaplan_yorke\":1.5,"
                         "\"mean_log_abs_det\":-0.1}");
    for (size_t i = 0; i < 4; i++) {
        program_expect(0, "figure", "lyapunov", "--in", in("l.json"), "--out", in(names[i]),
                       "--width-mm", "89", "--title", "A <title>", NULL);
        program_expect(0, "figure", "--session", in(names[i]), NULL);
        cJSON *object = program_json();
        assert_word(object, "figure", "lyapunov");
        assert_word(object, "title", "A <title>");
        assert_true(number(object, "width_mm") == 89);
        cJSON_Delete(object);
    }
    write_text("bare.svg", "<?xml version=\"1.0\"?><svg/>");
    program_expect(2, "figure", "--session", in("bare.svg"), NULL);
    assert_non_null(strstr(program_err, "carries no session"));
}

static void test_refusals(void **state)
{
    (void)state;
    write_text("l.json", "{\"exponents\":[0.1]}");
    program_expect(0, "figure", "--list", NULL);
    assert_non_null(strstr(program_out, "orbit-diagram"));
    program_expect(2, "figure", NULL);
    assert_non_null(strstr(program_err, "NAME"));
    program_expect(2, "figure", "pie", "--in", in("l.json"), "--out", in("x.pdf"), NULL);
    assert_non_null(strstr(program_err, "accepted: basins"));
    program_expect(2, "figure", "lyapunov", "--out", in("x.pdf"), NULL);
    assert_non_null(strstr(program_err, "--in"));
    program_expect(2, "figure", "lyapunov", "--in", in("l.json"), NULL);
    assert_non_null(strstr(program_err, "--out"));
    program_expect(2, "figure", "lyapunov", "--in", in("l.json"), "--out", in("x.gif"), NULL);
    assert_non_null(strstr(program_err, ".svg"));
    program_expect(2, "figure", "lyapunov", "--in", in("l.json"), "--out", in("no/x.pdf"), NULL);
    program_expect(2, "figure", "lyapunov", "--in", in("none.json"), "--out", in("x.pdf"), NULL);
    assert_non_null(strstr(program_err, "none.json"));
    program_expect(2, "figure", "multipliers", "--in", in("l.json"), "--out", in("x.pdf"), NULL);
    assert_non_null(strstr(program_err, "basin multipliers --json"));
    /* Sizes: nothing, too small for the axes, and 30000 pixels and more. */
    program_expect(2, "figure", "lyapunov", "--in", in("l.json"), "--out", in("x.png"),
                   "--width-mm", "0", NULL);
    assert_non_null(strstr(program_err, "--width-mm"));
    program_expect(2, "figure", "lyapunov", "--in", in("l.json"), "--out", in("x.png"),
                   "--width-mm", "25", "--height-mm", "25", NULL);
    program_expect(2, "figure", "lyapunov", "--in", in("l.json"), "--out", in("x.png"),
                   "--width-mm", "1000", "--dpi", "762", NULL);
    assert_non_null(strstr(program_err, "pixels"));
    assert_int_equal(access(in("x.png"), F_OK), -1);
    assert_int_equal(access(in("x.pdf"), F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spectra), cmocka_unit_test(test_branches),
        cmocka_unit_test(test_planes),  cmocka_unit_test(test_runs),
        cmocka_unit_test(test_session), cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
