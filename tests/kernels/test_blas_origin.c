/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Checks in a finished program that BLAS and LAPACK calls reach the OpenMP build of OpenBLAS. GSL
 * brings a slow reference BLAS with the same symbols, and the pthread build of OpenBLAS shares the
 * file name, so only the loaded objects tell which one serves a call.
 */
#define _GNU_SOURCE /* dladdr, RTLD_DEFAULT */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <arpack/arpack.h>
#include <cblas.h>
#include <gsl/gsl_math.h>

/* Value that openblas_get_parallel returns for a build with OpenMP (0 is serial, 1 pthreads). */
enum { OPENBLAS_PARALLEL_OPENMP = 2 };

/* File of the loaded object that a look-up of `symbol` finds first, or NULL. */
static const char *file_of_symbol(const char *symbol)
{
    Dl_info info;
    const void *address = dlsym(RTLD_DEFAULT, symbol);
    if (address == NULL || dladdr(address, &info) == 0) {
        return NULL;
    }
    return info.dli_fname;
}

static void assert_symbol_from(const char *symbol, const char *library)
{
    const char *file = file_of_symbol(symbol);
    assert_non_null(file);
    if (strstr(file, library) == NULL) {
        fail_msg("%s comes from %s, wanted %s", symbol, file, library);
    }
}

static void test_blas_symbols_come_from_openblas(void **state)
{
    (void)state;
    static const char *const symbols[] = {"cblas_dgemm", "cblas_sgemm", "cblas_ddot", "dgemm_",
                                          "sgemm_",      "dgesv_",      "dgeev_"};
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        assert_symbol_from(symbols[i], "libopenblas");
    }
}

static void test_gsl_is_loaded_beside_it(void **state)
{
    (void)state;
    /* A call keeps the linker from dropping GSL; GSL loads the reference BLAS, so that the test
     * above has two libraries to tell apart. */
    assert_float_equal(gsl_log1p(0.5), 0.40546510810816438, 1e-15);
    assert_symbol_from("gsl_blas_dgemm", "libgsl.");
    assert_non_null(dlopen("libgslcblas.so.0", RTLD_LAZY | RTLD_NOLOAD));
}

static void test_arpack_is_loaded_beside_it(void **state)
{
    /* What ARPACK calls; it loads the BLAS and LAPACK that the system prefers. */
    static const char *const symbols[] = {"dgemv_", "dnrm2_", "dlahqr_", "dlarnv_"};
    int request = 99; /* done: the call returns at once */
    int none[14] = {0};
    double number = 0.0;
    int info = 0;
    (void)state;
    dnaupd_c(&request, "I", 0, "LM", 0, 0.0, &number, 0, &number, 1, none, none, &number, &number,
             0, &info);
    assert_symbol_from("dnaupd_c", "libarpack.");
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        assert_symbol_from(symbols[i], "libopenblas");
    }
}

static void test_openblas_is_the_openmp_build(void **state)
{
    (void)state;
    assert_int_equal(openblas_get_parallel(), OPENBLAS_PARALLEL_OPENMP);
}

static void test_product_is_right(void **state)
{
    (void)state;
    const double a[6] = {1.5, -2.0, 0.25, 3.0, 0.5, -1.0};
    const double b[6] = {2.0, 1.0, -0.5, 4.0, 8.0, -2.0};
    const double want[4] = {6.0, -7.0, -2.25, 7.0};
    double c[4] = {0};
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 2, 2, 3, 1.0, a, 3, b, 2, 0.0, c, 2);
    for (size_t i = 0; i < 4; i++) {
        assert_true(c[i] == want[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blas_symbols_come_from_openblas),
        cmocka_unit_test(test_gsl_is_loaded_beside_it),
        cmocka_unit_test(test_arpack_is_loaded_beside_it),
        cmocka_unit_test(test_openblas_is_the_openmp_build),
        cmocka_unit_test(test_product_is_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
