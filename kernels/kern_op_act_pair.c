/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * (z, p) → a = f(z), r = f′(z) p, the gradient of f(z)·p; see kern_act_attr.
 */
#include "kernels/kern_act_product.h"

KERN_PRODUCT_KERNELS(act_pair, true);
