/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Everything that helps the compiler to vectorise, in one place.
 *
 * KERN_HOT     before a function definition: the function is compiled for several generations of
 *              x86-64 (AVX-512, AVX2, baseline) and the loader picks one, so that one binary is
 *              fast everywhere. Empty where the compiler or a sanitizer does not support it.
 * KERN_INLINE  a helper that must become part of the loop that calls it, and so be compiled for
 *              the same generation as its caller.
 * KERN_IVDEP   before a loop: iteration i touches element i of every array only, hence arrays may
 *              be identical. Without it the compiler tests for overlap at run time and falls back
 *              to scalar code when an operation works in place.
 *
 * The double functions of libm that have a vector version in glibc's libmvec (errors up to 4 ulp)
 * are declared with it here, which the compiler otherwise does under -ffast-math only; that flag
 * would delete the tests for NaN.
 */
#ifndef BASIN_KERN_SIMD_H
#define BASIN_KERN_SIMD_H

#include <math.h>

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__)
#define KERN_GNU_X86 1
#else
#define KERN_GNU_X86 0
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(KERN_NO_CLONES) ||    \
    !KERN_GNU_X86
#define KERN_HOT
#else
#define KERN_HOT __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#endif

#define KERN_INLINE static inline __attribute__((always_inline))

#if defined(__clang__)
#define KERN_IVDEP
#else
#define KERN_IVDEP _Pragma("GCC ivdep")
#endif

#if KERN_GNU_X86 && defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 35)
extern __attribute__((simd("notinbranch"))) double exp(double);
extern __attribute__((simd("notinbranch"))) double erfc(double);
extern __attribute__((simd("notinbranch"))) double log1p(double);
#endif
#endif

#endif
