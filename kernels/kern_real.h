/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The real type of the unit being compiled, and names that carry it.
 *
 * Kernel sources are compiled twice, with KERN_REAL_BITS 32 and 64; a name written
 * KERN_NAME(kern_gemm) becomes kern_gemm_f32 or kern_gemm_f64. Headers declare both names
 * explicitly. Tools that open a file alone see the double version.
 *
 * Sums that decide a result (norms, log-sum-exp, losses, energies) accumulate in double in
 * both builds.
 */
#ifndef BASIN_KERN_REAL_H
#define BASIN_KERN_REAL_H

#ifndef KERN_REAL_BITS
#define KERN_REAL_BITS 64
#endif

#if KERN_REAL_BITS == 32
typedef float kern_real;
#define KERN_NAME(name) name##_f32
#define KERN_R(literal) literal##f
#else
typedef double kern_real;
#define KERN_NAME(name) name##_f64
#define KERN_R(literal) literal
#endif

#endif
