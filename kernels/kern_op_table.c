/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/kern_op.h"
#include "kernels/kern_vmath.h"

const kern_op *kern_op_get(kern_op_id id)
{
    static const kern_op *const table[KERN_OP_COUNT] = {
#define KERN_OP_ENTRY(ID, id) &kern_op_##id,
        KERN_OP_LIST(KERN_OP_ENTRY)
#undef KERN_OP_ENTRY
    };
    return table[id];
}

const char *kern_fn_word(kern_fn fn)
{
#define KERN_FN_WORD(context, ID, id) #id,
    static const char *const words[KERN_FN_COUNT] = {KERN_FN_LIST(KERN_FN_WORD, 0)};
    return (unsigned)fn < KERN_FN_COUNT ? words[fn] : "unknown";
}
