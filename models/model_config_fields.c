/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_config_fields.h"

#include "models/model_utf8.h"

#include <stdio.h>

/* ---- Words ------------------------------------------------------------------------------- */

static const char *const ff_list[] = {
    [MODEL_FF1] = "ff1", [MODEL_FF2] = "ff2", [MODEL_FF2W] = "ff2w"};
static const char *const norm_list[] = {
    [MODEL_LAYERNORM] = "layernorm", [MODEL_RMSNORM] = "rmsnorm"};
static const char *const act_list[] = {
    [MODEL_GELU] = "gelu", [MODEL_RELU] = "relu", [MODEL_SOFTPLUS] = "softplus"};
static const char *const eta_list[] = {
    [MODEL_ETA_FULL] = "full",     [MODEL_ETA_GAMMA] = "gamma", [MODEL_ETA_SCALAR] = "scalar",
    [MODEL_ETA_SQUARE] = "square", [MODEL_ETA_PSD] = "psd",     [MODEL_ETA_PSD_SKEW] = "psd-skew"};
static const char *const update_list[] = {
    [MODEL_UPDATE_PUBLISHED] = "published", [MODEL_UPDATE_EXACT] = "exact"};

#define CONFIG_COUNT(list) (unsigned)(sizeof(list) / sizeof(list)[0])
static const model__words ff_words = {"ff", ff_list, CONFIG_COUNT(ff_list)};
static const model__words norm_words = {"norm", norm_list, CONFIG_COUNT(norm_list)};
static const model__words act_words = {"activation", act_list, CONFIG_COUNT(act_list)};
static const model__words eta_words = {"eta", eta_list, CONFIG_COUNT(eta_list)};
static const model__words update_words = {"update", update_list, CONFIG_COUNT(update_list)};

const char *model__word_of(const model__words *words, unsigned value)
{
    return value < words->count ? words->words[value] : "unknown";
}

void model__append_word(char out[MODEL__TEXT], const char *word)
{
    const size_t used = strlen(out);
    (void)snprintf(out + used, MODEL__TEXT - used, "%s%s", used > 0 ? ", " : "", word);
}

kern_status model__parse_word(const model__words *words, unsigned *value, const char *word,
                              kern_error *err)
{
    char accepted[MODEL__TEXT] = "";
    for (unsigned i = 0; i < words->count; i++) {
        if (strcmp(word, words->words[i]) == 0) {
            *value = i;
            return KERN_OK;
        }
        model__append_word(accepted, words->words[i]);
    }
    char shown[MODEL_UTF8_QUOTE];
    model_utf8_quote(shown, word, strlen(word));
    return kern_raise(err, KERN_INVALID_ARGUMENT, "\"%s\" is \"%s\"; accepted are %s", words->what,
                      shown, accepted);
}

const char *model_ff_word(model_ff ff)
{
    return model__word_of(&ff_words, (unsigned)ff);
}

const char *model_norm_word(model_norm norm)
{
    return model__word_of(&norm_words, (unsigned)norm);
}

const char *model_act_word(model_act act)
{
    return model__word_of(&act_words, (unsigned)act);
}

const char *model_eta_word(model_eta eta)
{
    return model__word_of(&eta_words, (unsigned)eta);
}

const char *model_update_word(model_update update)
{
    return model__word_of(&update_words, (unsigned)update);
}

kern_status model_ff_parse(model_ff *out, const char *word, kern_error *err)
{
    unsigned value = 0;
    KERN_TRY(model__parse_word(&ff_words, &value, word, err));
    *out = (model_ff)value;
    return KERN_OK;
}

kern_status model_norm_parse(model_norm *out, const char *word, kern_error *err)
{
    unsigned value = 0;
    KERN_TRY(model__parse_word(&norm_words, &value, word, err));
    *out = (model_norm)value;
    return KERN_OK;
}

kern_status model_act_parse(model_act *out, const char *word, kern_error *err)
{
    unsigned value = 0;
    KERN_TRY(model__parse_word(&act_words, &value, word, err));
    *out = (model_act)value;
    return KERN_OK;
}

kern_status model_eta_parse(model_eta *out, const char *word, kern_error *err)
{
    unsigned value = 0;
    KERN_TRY(model__parse_word(&eta_words, &value, word, err));
    *out = (model_eta)value;
    return KERN_OK;
}

kern_status model_update_parse(model_update *out, const char *word, kern_error *err)
{
    unsigned value = 0;
    KERN_TRY(model__parse_word(&update_words, &value, word, err));
    *out = (model_update)value;
    return KERN_OK;
}

/* ---- Fields ------------------------------------------------------------------------------ */

/* Beginnings of a table row, from the name of a member to the bounds or words of its domain. */
#define CONFIG_SIZE(name, families) #name, FIELD_SIZE, families, offsetof(model_config, name)
#define CONFIG_REAL(name, families) #name, FIELD_REAL, families, offsetof(model_config, name)
#define CONFIG_BOOL(name, families) #name, FIELD_BOOL, families, offsetof(model_config, name)
#define CONFIG_WORD(name)           #name, FIELD_WORD, FOR_NRGPT, offsetof(model_config, name)

/* β divides the attention energy, so it stays away from 0; ε = 0 is the case several theorems are
 * about; dropout stops short of 1, where nothing would be left to scale up. */
const model__field model__fields[MODEL__FIELDS] = {
    {CONFIG_SIZE(n_embed, FOR_ALL), 1, MODEL__SIZE_MAX, NULL},
    {CONFIG_SIZE(n_head, FOR_ALL), 1, MODEL__SIZE_MAX, NULL},
    {CONFIG_SIZE(vocab_size, FOR_ALL), 1, MODEL__SIZE_MAX, NULL},
    {CONFIG_SIZE(block_size, FOR_ALL), 1, MODEL__SIZE_MAX, NULL},
    {CONFIG_SIZE(n_layer, FOR_ALL), 1, MODEL__SIZE_MAX, NULL},
    {CONFIG_SIZE(ff_hid_factor, FOR_ALL), 1, MODEL__SIZE_MAX, NULL},
    {CONFIG_REAL(norm_eps, FOR_ALL), 0.0, 1.0, NULL},
    {CONFIG_REAL(dropout, FOR_ALL), 0.0, 0x1.fffffffffffffp-1, NULL},
    {CONFIG_WORD(ff), 0, 0, &ff_words},
    {CONFIG_WORD(activation), 0, 0, &act_words},
    {CONFIG_WORD(norm), 0, 0, &norm_words},
    {CONFIG_WORD(eta), 0, 0, &eta_words},
    {CONFIG_WORD(update), 0, 0, &update_words},
    {CONFIG_BOOL(strict_mask, FOR_NRGPT), 0, 0, NULL},
    {CONFIG_BOOL(gamma_trained, FOR_NRGPT), 0, 0, NULL},
    {CONFIG_SIZE(rank, FOR_NRGPT), 0, MODEL__SIZE_MAX, NULL},
    {CONFIG_REAL(beta, FOR_NRGPT), 1e-12, 1e12, NULL},
    {CONFIG_REAL(alpha, FOR_NRGPT), -1e12, 1e12, NULL},
    {CONFIG_REAL(eta_init, FOR_NRGPT), -1e12, 1e12, NULL},
    {CONFIG_BOOL(recurrent, FOR_GPT), 0, 0, NULL},
    {CONFIG_BOOL(parallel, FOR_GPT), 0, 0, NULL},
    {"std", FIELD_IGNORED, FOR_ALL, 0, 0, 0, NULL},
};

/* Words are read and written through `unsigned`, the representation of every enumeration here. */
_Static_assert(sizeof(model_ff) == sizeof(unsigned) && sizeof(model_norm) == sizeof(unsigned) &&
                   sizeof(model_act) == sizeof(unsigned) && sizeof(model_eta) == sizeof(unsigned) &&
                   sizeof(model_update) == sizeof(unsigned),
               "an enumeration of the configuration is not stored as an unsigned int");
