/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Derivatives of an elementwise operation of one input whose slope was saved as output 1: z̄ = slope
 * ⊙ ȳ and ẏ = slope ⊙ ż. Included by kernel sources, in the precision of the unit.
 */
#ifndef BASIN_KERN_SLOPE_H
#define BASIN_KERN_SLOPE_H

#include "kernels/kern_op.h"
#include "kernels/kern_real.h"

#define kern_slope_vjp KERN_NAME(kern_slope_vjp)
#define kern_slope_jvp KERN_NAME(kern_slope_jvp)

kern_kernel kern_slope_vjp;
kern_kernel kern_slope_jvp;

#endif
