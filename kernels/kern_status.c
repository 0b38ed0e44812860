/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/kern_status.h"

#include <stdarg.h>
#include <stdio.h>

static const char *const status_words[KERN_STATUS_COUNT] = {
#define KERN_STATUS_WORD(name, word, gloss) word,
    KERN_STATUS_LIST(KERN_STATUS_WORD)
#undef KERN_STATUS_WORD
};

static const char *const status_glosses[KERN_STATUS_COUNT] = {
#define KERN_STATUS_GLOSS(name, word, gloss) gloss,
    KERN_STATUS_LIST(KERN_STATUS_GLOSS)
#undef KERN_STATUS_GLOSS
};

const char *kern_status_word(kern_status status)
{
    return (unsigned)status < KERN_STATUS_COUNT ? status_words[status] : "unknown";
}

const char *kern_status_gloss(kern_status status)
{
    return (unsigned)status < KERN_STATUS_COUNT ? status_glosses[status] : "unknown status";
}

#undef kern_raise /* the analysers' view of it */

kern_status kern_raise(kern_error *err, kern_status status, const char *format, ...)
{
    if (err != NULL) {
        va_list args;
        va_start(args, format);
        err->status = status;
        (void)vsnprintf(err->text, sizeof err->text, format, args);
        va_end(args);
    }
    return status;
}
