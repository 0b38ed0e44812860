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
static const char *const attn_list[] = {[MODEL_ATTN_LLAMA] = "llama", [MODEL_ATTN_CEM] = "cem"};
static const char *const ffn_list[] = {
    [MODEL_FFN_LLAMA] = "llama", [MODEL_FFN_CEM] = "cem", [MODEL_FFN_HOURGLASS] = "hourglass"};
static const char *const rope_list[] = {
    [MODEL_ROPE_EXACT] = "exact", [MODEL_ROPE_PLAIN] = "plain", [MODEL_ROPE_NONE] = "none"};
static const char *const diag_list[] = {
    [MODEL_DIAG_SHARED] = "shared", [MODEL_DIAG_NONE] = "none", [MODEL_DIAG_PER_HEAD] = "per_head"};
static const char *const mlp_list[] = {[MODEL_MLP_A] = "a", [MODEL_MLP_B] = "b"};
static const char *const precond_list[] = {
    [MODEL_PRECOND_NONE] = "none", [MODEL_PRECOND_DLR] = "dlr", [MODEL_PRECOND_GAMMA] = "gamma"};
static const char *const hist_list[] = {[MODEL_HIST_FIXED] = "fixed", [MODEL_HIST_SYNC] = "sync"};
static const char *const place_list[] = {
    [MODEL_PLACE_STEP] = "step", [MODEL_PLACE_ONCE] = "once", [MODEL_PLACE_EXACT] = "exact"};
static const char *const sandglass_list[] = {[MODEL_SANDGLASS_A] = "A",
                                             [MODEL_SANDGLASS_B] = "B",
                                             [MODEL_SANDGLASS_C] = "C",
                                             [MODEL_SANDGLASS_D] = "D"};
static const char *const gain_list[] = {
    [MODEL_GAIN_PER_SUB] = "per_sub", [MODEL_GAIN_SHARED] = "shared", [MODEL_GAIN_NONE] = "none"};
static const char *const spread_list[] = {
    [MODEL_SPREAD_CONSTANT] = "constant", [MODEL_SPREAD_FAN_IN] = "fan_in"};

/* Keys that messages name. */
#define KEY_ff        "ff"
#define KEY_norm      "norm"
#define KEY_act       "activation"
#define KEY_eta       "eta"
#define KEY_update    "update"
#define KEY_attn      "attn"
#define KEY_ffn       "ffn"
#define KEY_rope      "rope"
#define KEY_diag      "diag"
#define KEY_mlp       "mlp"
#define KEY_precond   "precond"
#define KEY_hist      "hist"
#define KEY_place     "norm"
#define KEY_sandglass "hourglass_norm"
#define KEY_gain      "hourglass_gain"
#define KEY_spread    "init"

#define CONFIG_WORDS(name)                                                                         \
    static const model__words name##_words = {                                                     \
        KEY_##name, name##_list, (unsigned)(sizeof name##_list / sizeof name##_list[0])};
MODEL_CONFIG_ENUMS(CONFIG_WORDS)

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

#define CONFIG_FUNCTIONS(name)                                                                     \
    const char *model_##name##_word(model_##name value)                                            \
    {                                                                                              \
        return model__word_of(&name##_words, (unsigned)value);                                     \
    }                                                                                              \
    kern_status model_##name##_parse(model_##name *out, const char *word, kern_error *err)         \
    {                                                                                              \
        unsigned value = 0;                                                                        \
        KERN_TRY(model__parse_word(&name##_words, &value, word, err));                             \
        *out = (model_##name)value;                                                                \
        return KERN_OK;                                                                            \
    }
MODEL_CONFIG_ENUMS(CONFIG_FUNCTIONS)

/* ---- Fields ------------------------------------------------------------------------------ */

/* Beginnings of a table row, from the name of a member to the bounds or words of its domain; the
 * second kind is for members whose key differs. */
#define CONFIG_SIZE(name, families) #name, FIELD_SIZE, families, offsetof(model_config, name)
#define CONFIG_REAL(name, families) #name, FIELD_REAL, families, offsetof(model_config, name)
#define CONFIG_BOOL(name, families) #name, FIELD_BOOL, families, offsetof(model_config, name)
#define CONFIG_WORD(name)           #name, FIELD_WORD, FOR_NRGPT, offsetof(model_config, name)
#define STACK(key, kind, member)    key, FIELD_##kind, FOR_STACK, offsetof(model_config, member)

/* β divides the attention energy, so it stays away from 0; ε = 0 is the case several theorems are
 * about; dropout stops short of 1, where nothing would be left to scale up; a step that does not
 * descend is no step of a minimisation. */
const model__field model__fields[MODEL__FIELDS] = {
    {CONFIG_SIZE(n_embed, FOR_ALL), 1, MODEL__SIZE_MAX, NULL, NEEDS_NOTHING},
    {CONFIG_SIZE(n_head, FOR_ALL), 1, MODEL__SIZE_MAX, NULL, NEEDS_NOTHING},
    {CONFIG_SIZE(vocab_size, FOR_ALL), 1, MODEL__SIZE_MAX, NULL, NEEDS_NOTHING},
    {CONFIG_SIZE(block_size, FOR_ALL), 1, MODEL__SIZE_MAX, NULL, NEEDS_NOTHING},
    {CONFIG_SIZE(n_layer, FOR_ALL), 1, MODEL__SIZE_MAX, NULL, NEEDS_NOTHING},
    {CONFIG_SIZE(ff_hid_factor, FOR_EARLY), 1, MODEL__SIZE_MAX, NULL, NEEDS_NOTHING},
    {CONFIG_REAL(norm_eps, FOR_ALL), 0.0, 1.0, NULL, NEEDS_NOTHING},
    {CONFIG_REAL(dropout, FOR_EARLY), 0.0, 0x1.fffffffffffffp-1, NULL, NEEDS_NOTHING},
    {CONFIG_WORD(ff), 0, 0, &ff_words, NEEDS_NOTHING},
    {CONFIG_WORD(activation), 0, 0, &act_words, NEEDS_NOTHING},
    {CONFIG_WORD(norm), 0, 0, &norm_words, NEEDS_NOTHING},
    {CONFIG_WORD(eta), 0, 0, &eta_words, NEEDS_NOTHING},
    {CONFIG_WORD(update), 0, 0, &update_words, NEEDS_NOTHING},
    {CONFIG_BOOL(strict_mask, FOR_NRGPT), 0, 0, NULL, NEEDS_NOTHING},
    {CONFIG_BOOL(gamma_trained, FOR_NRGPT), 0, 0, NULL, NEEDS_NOTHING},
    {CONFIG_SIZE(rank, FOR_NRGPT), 0, MODEL__SIZE_MAX, NULL, NEEDS_NOTHING},
    {CONFIG_REAL(beta, FOR_NRGPT), 1e-12, 1e12, NULL, NEEDS_NOTHING},
    {CONFIG_REAL(alpha, FOR_NRGPT), -1e12, 1e12, NULL, NEEDS_NOTHING},
    {CONFIG_REAL(eta_init, FOR_NRGPT), -1e12, 1e12, NULL, NEEDS_NOTHING},
    {CONFIG_BOOL(recurrent, FOR_GPT), 0, 0, NULL, NEEDS_NOTHING},
    {CONFIG_BOOL(parallel, FOR_GPT), 0, 0, NULL, NEEDS_NOTHING},
    {STACK("n_hidden", SIZE, n_hidden), 1, MODEL__SIZE_MAX, NULL, NEEDS_NOTHING},
    {STACK("d_attn", SIZE, d_attn), 0, MODEL__SIZE_MAX, NULL, NEEDS_VALUE},
    {STACK("d_kv", SIZE, d_kv), 0, MODEL__SIZE_MAX, NULL, NEEDS_VALUE},
    {STACK("attn", WORD, attn), 0, 0, &attn_words, NEEDS_NOTHING},
    {STACK("ffn", WORD, ffn), 0, 0, &ffn_words, NEEDS_NOTHING},
    {STACK("rope", WORD, rope), 0, 0, &rope_words, NEEDS_NOTHING},
    {STACK("qk_norm", BOOL, qk_norm), 0, 0, NULL, NEEDS_UNTIED},
    {STACK("init", WORD, spread), 0, 0, &spread_words, NEEDS_NOTHING},
    {STACK("tied_head", BOOL, tied_head), 0, 0, NULL, NEEDS_NOTHING},
    {STACK("diag", WORD, cem.diag), 0, 0, &diag_words, NEEDS_CEM_ATTN},
    {STACK("mlp", WORD, cem.mlp), 0, 0, &mlp_words, NEEDS_CEM_MLP},
    {STACK("precond", WORD, cem.precond), 0, 0, &precond_words, NEEDS_CEM},
    {STACK("p_rank", SIZE, cem.p_rank), 1, MODEL__SIZE_MAX, NULL, NEEDS_PRECOND},
    {STACK("t_attn", SIZE, cem.t_attn), 1, MODEL_INNER_MAX, NULL, NEEDS_CEM_ATTN},
    {STACK("t_mlp", SIZE, cem.t_mlp), 1, MODEL_INNER_MAX, NULL, NEEDS_CEM_MLP},
    {STACK("eta", REAL, cem.eta), 1e-12, 1e12, NULL, NEEDS_CEM},
    {STACK("eta_trained", BOOL, cem.eta_trained), 0, 0, NULL, NEEDS_CEM},
    {STACK("confine", REAL, cem.confine), 0.0, 1e12, NULL, NEEDS_CEM},
    {STACK("hist", WORD, cem.hist), 0, 0, &hist_words, NEEDS_CEM},
    {STACK("norm", WORD, cem.norm), 0, 0, &place_words, NEEDS_CEM},
    {STACK("hourglass_k", SIZE, hourglass.k), 1, MODEL_WIDTHS_MAX, NULL, NEEDS_HOURGLASS},
    {STACK("hourglass_norm", WORD, hourglass.norm), 0, 0, &sandglass_words, NEEDS_HOURGLASS},
    {STACK("hourglass_gain", WORD, hourglass.gain), 0, 0, &gain_words, NEEDS_HOURGLASS},
    {STACK("hourglass_alpha", REAL, hourglass.alpha), -1e12, 1e12, NULL, NEEDS_HOURGLASS},
    {STACK("hourglass_parallel", BOOL, hourglass.parallel), 0, 0, NULL, NEEDS_HOURGLASS},
    {STACK("hourglass_widths", SIZES, hourglass.widths), 1, MODEL__SIZE_MAX, NULL, NEEDS_HOURGLASS},
    {"std", FIELD_IGNORED, FOR_ALL, 0, 0, 0, NULL, NEEDS_NOTHING},
};

/* Words are read and written through `unsigned`, the representation of every enumeration here. */
#define CONFIG_ASSERT(name)                                                                        \
    _Static_assert(sizeof(model_##name) == sizeof(unsigned), "not stored as an unsigned int");
MODEL_CONFIG_ENUMS(CONFIG_ASSERT)

bool model__field_matters(const model_config *c, const model__field *field)
{
    const bool attn = c->attn == MODEL_ATTN_CEM;
    const bool mlp = c->ffn == MODEL_FFN_CEM;
    const bool list = field->kind == FIELD_SIZES;
    switch (field->needs) {
    case NEEDS_NOTHING:
        return true;
    case NEEDS_CEM:
        return attn || mlp;
    case NEEDS_CEM_ATTN:
        return attn;
    case NEEDS_CEM_MLP:
        return mlp;
    case NEEDS_PRECOND:
        return (attn || mlp) && c->cem.precond == MODEL_PRECOND_DLR;
    case NEEDS_UNTIED:
        return !attn;
    case NEEDS_HOURGLASS:
        return c->ffn == MODEL_FFN_HOURGLASS && (!list || model__get_sizes(c, field).count > 0);
    case NEEDS_VALUE:
        return model__get_size(c, field) != 0;
    }
    return true;
}
