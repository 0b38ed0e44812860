/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Command lines by table: what a subcommand accepts, and how it is read into the subcommand's own
 * struct of settings.
 *
 * A row gives an option's name, type, domain and place in that struct; parsing, the sentences about
 * what is wrong, and --help all come from the table. Forms accepted: --name value, --name=value,
 * --flag, and "--" after which everything is positional. '-' and '_' in names are the same. Of an
 * option given more than once the last counts, except for lists.
 */
#ifndef BASIN_CLI_ARGS_H
#define BASIN_CLI_ARGS_H

#include "kernels/kern_status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    CLI_OPTIONS_MAX = 96, /* rows of a table */
    CLI_LIST_MAX = 64,    /* values of a list option */
    CLI_VALUE_TEXT = 64   /* bytes of a default value shown by --help */
};

typedef enum cli_kind {
    CLI_HEADING, /* no option: `help` is a heading of --help */
    CLI_FLAG,    /* bool, set to true; takes no value */
    CLI_SIZE,    /* size_t in low … high, decimal digits */
    CLI_INT,     /* int in low … high */
    CLI_REAL,    /* finite double in low … high */
    CLI_SEED,    /* uint64_t, decimal digits */
    CLI_TEXT,    /* const char *, borrowed from the command line */
    CLI_LIST,    /* cli_list: every value given */
    CLI_WORD,    /* read by `parse` and shown by `show` */
    CLI_KIND_COUNT
} cli_kind;

typedef struct cli_list {
    const char *items[CLI_LIST_MAX]; /* borrowed from the command line */
    size_t n;
} cli_list;

/* Reads a value into a member; the sentence need not name the option. */
typedef kern_status cli_parse(void *member, const char *value, kern_error *err);

/* Writes the value of a member as the command line has it. */
typedef void cli_show(const void *member, char out[CLI_VALUE_TEXT]);

typedef struct cli_option {
    const char *name;  /* without dashes; of a positional argument what it is called, RUN */
    const char *alias; /* second name, which --help leaves out; or NULL */
    const char *value; /* name of the value in --help; NULL for flags and positional arguments */
    const char *help;  /* one sentence, units included, without the default */
    cli_kind kind;
    bool positional; /* taken by place instead of by name; CLI_TEXT only */
    bool required;
    bool once;            /* giving it again is an error; otherwise the last one counts */
    bool hide_default;    /* --help gives no default, as when it depends on other options */
    size_t offset;        /* of the member in the struct of settings */
    double low, high;     /* both ends included */
    const char *accepted; /* says the domain in words; NULL: made from low and high */
    cli_parse *parse;
    cli_show *show;
} cli_option;

struct cli_call;

/* A subcommand. `settings_size` bytes, zeroed and then filled by `defaults` (may be NULL), receive
 * what the command line says; `run` does the work. */
typedef struct cli_command {
    const char *name;
    const char *purpose;     /* one line */
    const char *description; /* a paragraph for --help, or NULL */
    const char *example;     /* one or more command lines, each on a line */
    const cli_option *options;
    size_t n_options;
    size_t settings_size;
    void (*defaults)(void *settings);
    kern_status (*run)(struct cli_call *call, const void *settings, kern_error *err);
} cli_command;

/* What a subcommand is told about its call, and tells back. */
typedef struct cli_call {
    const cli_command *command;
    bool given[CLI_OPTIONS_MAX]; /* by row: stood on the command line */
    bool check_failed;           /* set by `run`: it ran, but the check asked for fails (exit 1) */
} cli_call;

/* Reads argv[0 … argc), the words after the subcommand, into `settings`. KERN_INVALID_ARGUMENT with
 * a sentence that names the option, the value and what is accepted. */
kern_status cli_args_parse(cli_call *call, int argc, char *const *argv, void *settings,
                           kern_error *err);

/* True when `name` is an option of the call's command and stood on the command line. */
bool cli_args_given(const cli_call *call, const char *name);

/* The value of an option's member, as the command line has it; empty for lists. */
void cli_args_show(const cli_option *option, const void *settings, char out[CLI_VALUE_TEXT]);

/* Usage, description, options with units and defaults, and the example. */
void cli_args_print_help(const cli_command *command, FILE *out);

/* The row that `name` (its first `length` bytes, without dashes) means; NULL when there is none. */
const cli_option *cli_args_find(const cli_command *command, const char *name, size_t length);

/* Reads a value as a row describes it; what CLI_WORD parsers of numbers use as well. */
kern_status cli_args_read_real(double *out, const char *value, kern_error *err);
kern_status cli_args_read_u64(uint64_t *out, const char *value, kern_error *err);

/* Options that many subcommands have. `type` is the struct of settings. */
#define CLI_OPTION_JSON(type)                                                                      \
    {                                                                                              \
        .name = "json", .kind = CLI_FLAG, .offset = offsetof(type, json),                          \
        .help = "print one JSON object and nothing else on standard output"                        \
    }
#define CLI_OPTION_RUN(type)                                                                       \
    {                                                                                              \
        .name = "RUN", .kind = CLI_TEXT, .positional = true, .required = true,                     \
        .offset = offsetof(type, run),                                                             \
        .help = "folder written by basin train, or a file of weights (*.safetensors)"              \
    }
#define CLI_OPTION_SEED(type, what)                                                                \
    {                                                                                              \
        .name = "seed", .value = "N", .kind = CLI_SEED, .offset = offsetof(type, seed),            \
        .help = what                                                                               \
    }
#define CLI_OPTION_THREADS(type)                                                                   \
    {                                                                                              \
        .name = "threads", .value = "N", .kind = CLI_INT, .low = 1, .high = 1024,                  \
        .offset = offsetof(type, threads), .help = "worker threads"                                \
    }

#endif
