/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * basin SUBCOMMAND …: finds the subcommand, reads its command line, runs it, and turns its status
 * into the exit status: 0 done, 1 the check asked for fails or the numbers went wrong, 2 bad usage
 * or input, 130 stopped on request.
 */
#include "cli/cli_commands.h"
#include "cli/cli_json.h"
#include "cli/cli_nearest.h"
#include "cli/cli_signal.h"
#include "kernels/kern_blas.h"
#include "models/model_utf8.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#ifndef BASIN_VERSION
#define BASIN_VERSION "unknown"
#endif

enum { EXIT_DONE = 0, EXIT_CHECK_FAILED = 1, EXIT_USAGE = 2, EXIT_INTERRUPTED = 130 };

static const cli_command *const commands[] = {
    &cli_train,    &cli_eval,        &cli_generate,     &cli_info,          &cli_trace,
    &cli_selftest, &cli_bench,       &cli_orbit,        &cli_orbit_diagram, &cli_continue,
    &cli_lyapunov, &cli_multipliers, &cli_fixed_points, &cli_basins,        &cli_chaos,
    &cli_rqa,      &cli_budget,      &cli_gp,           &cli_hourglass,     &cli_verify,
    &cli_figure,   &cli_landscape,   &cli_view,
};

enum { COMMANDS = sizeof commands / sizeof commands[0] };

static const cli_command *find_command(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp(commands[i]->name, name) == 0) {
            return commands[i];
        }
    }
    return NULL;
}

static void print_overview(void)
{
    (void)printf("Usage: basin SUBCOMMAND [OPTION]...\n\n"
                 "Energy-based transformers as iterated maps: training, tracing and analysis.\n\n"
                 "Subcommands:\n");
    for (size_t i = 0; i < COMMANDS; i++) {
        (void)printf("  %-14s %s\n", commands[i]->name, commands[i]->purpose);
    }
    (void)printf("  %-14s %s\n\n", "help", "shows the options of a subcommand");
    (void)printf(
        "basin SUBCOMMAND --help shows options, units, defaults and an example; --version\n"
        "the version. Exit status: 0 done, 1 a check fails or numbers went wrong, 2 bad\n"
        "usage or input, 130 stopped on request.\n\n"
        "Example:\n"
        "  basin train --family nrgpt --data listops:generate --out run\n");
}

static int report_unknown(const char *name)
{
    const char *names[COMMANDS];
    const char *best[3];
    char shown[MODEL_UTF8_QUOTE];
    for (size_t i = 0; i < COMMANDS; i++) {
        names[i] = commands[i]->name;
    }
    model_utf8_quote(shown, name, strlen(name));
    const size_t near = cli_nearest_find(name, names, COMMANDS, best, 3);
    (void)fprintf(stderr, "basin: \"%s\" is not a subcommand; ", shown);
    if (near > 0) {
        (void)fprintf(stderr, "did you mean %s", best[0]);
        for (size_t i = 1; i < near; i++) {
            (void)fprintf(stderr, "%s%s", i + 1 < near ? ", " : " or ", best[i]);
        }
        (void)fprintf(stderr, "?\n");
        return EXIT_USAGE;
    }
    (void)fprintf(stderr, "accepted are");
    for (size_t i = 0; i < COMMANDS; i++) {
        (void)fprintf(stderr, "%s %s", i > 0 ? "," : "", names[i]);
    }
    (void)fprintf(stderr, "\n");
    return EXIT_USAGE;
}

static int exit_code(kern_status status)
{
    if (status == KERN_INTERRUPTED) {
        return EXIT_INTERRUPTED;
    }
    return cli_json_is_outcome(status) ? EXIT_CHECK_FAILED : EXIT_USAGE;
}

static bool wants_help(int argc, char *const *argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            return true;
        }
    }
    return false;
}

static int run_command(const cli_command *command, int argc, char *const *argv)
{
    kern_error err = {0};
    cli_call call = {.command = command};
    if (wants_help(argc, argv)) {
        cli_args_print_help(command, stdout);
        return EXIT_DONE;
    }
    void *settings = calloc(1, command->settings_size);
    if (settings == NULL) {
        (void)fprintf(stderr, "basin: not enough memory to start\n");
        return EXIT_USAGE;
    }
    if (command->defaults != NULL) {
        command->defaults(settings);
    }
    kern_status status = cli_args_parse(&call, argc, argv, settings, &err);
    if (status == KERN_OK) {
        status = command->run(&call, settings, &err);
    }
    free(settings);
    if (status != KERN_OK) {
        (void)fprintf(stderr, "basin %s: %s\n", command->name,
                      err.text[0] != '\0' ? err.text : kern_status_gloss(status));
        return exit_code(status);
    }
    return call.check_failed ? EXIT_CHECK_FAILED : EXIT_DONE;
}

static int run_help(int argc, char *const *argv)
{
    if (argc == 0 || wants_help(argc, argv)) {
        print_overview();
        return EXIT_DONE;
    }
    const cli_command *command = find_command(argv[0]);
    if (command == NULL) {
        return report_unknown(argv[0]);
    }
    cli_args_print_help(command, stdout);
    return EXIT_DONE;
}

static int dispatch(int argc, char *const *argv)
{
    if (argc == 0 || strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0) {
        print_overview();
        return EXIT_DONE;
    }
    if (strcmp(argv[0], "--version") == 0) {
        (void)printf("basin %s\n", BASIN_VERSION);
        return EXIT_DONE;
    }
    if (strcmp(argv[0], "help") == 0) {
        return run_help(argc - 1, argv + 1);
    }
    const cli_command *command = find_command(argv[0]);
    return command != NULL ? run_command(command, argc - 1, argv + 1) : report_unknown(argv[0]);
}

int main(int argc, char **argv)
{
    (void)setlocale(LC_ALL, "C");
    cli_signal_ignore_write_limits();
    kern_runtime_init();
    const int code = dispatch(argc > 0 ? argc - 1 : 0, argv + (argc > 0 ? 1 : 0));
    if (fflush(stdout) != 0 || ferror(stdout) != 0) {
        (void)fprintf(stderr, "basin: the result cannot be written to standard output\n");
        return code == EXIT_DONE ? EXIT_USAGE : code;
    }
    return code;
}
