/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Options whose values are the words of an enumeration of models/.
 */
#ifndef BASIN_CLI_WORDS_H
#define BASIN_CLI_WORDS_H

#include "cli/cli_args.h"
#include "models/model_config.h"

/* parse_NAME and show_NAME, the parser of an option and its inverse, for a member of type `type`
 * that has model_NAME_parse and model_NAME_word. */
#define CLI_WORD_FUNCTIONS(name, type)                                                             \
    static kern_status parse_##name(void *member, const char *value, kern_error *err)              \
    {                                                                                              \
        return model_##name##_parse(member, value, err);                                           \
    }                                                                                              \
    static void show_##name(const void *member, char out[CLI_VALUE_TEXT])                          \
    {                                                                                              \
        (void)snprintf(out, CLI_VALUE_TEXT, "%s", model_##name##_word(*(const type *)member));     \
    }

#endif
