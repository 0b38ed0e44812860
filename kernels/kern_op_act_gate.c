/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * (z, t) → r = f′(z) t; see kern_act_attr.
 */
#include "kernels/kern_act_product.h"

KERN_PRODUCT_KERNELS(act_gate, false);
