/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What constructors of maps built in ask of a request.
 */
#include "dyn/dyn_classical_internal.h"

#include <math.h>

kern_status dyn_classical_read_whole(const dyn_classical_entry *entry,
                                     const dyn_classical_request *request, size_t index, double low,
                                     double high, kern_error *err)
{
    const double value = request->values[index];
    if (value >= low && value <= high && value == floor(value)) {
        return KERN_OK;
    }
    return kern_raise(err, KERN_INVALID_ARGUMENT,
                      "parameter %s of map %s is %g; accepted are whole numbers from %.0f to %.0f",
                      entry->params[index].name, entry->kind.name, value, low, high);
}
