/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE   700 /* SIGXFSZ */
#include "cli/cli_signal.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_INTERRUPTED = 130 };

/* The one piece of state of the program: a handler has no other way to tell. */
static volatile sig_atomic_t caught;

static void on_signal(int number)
{
    /* When a terminal closes, both the kernel and the shell may tell so; that is one request. */
    if (caught != 0 && number != SIGHUP) {
        _exit(EXIT_INTERRUPTED);
    }
    caught = 1;
}

static void watch_one(int number)
{
    struct sigaction old;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    (void)sigemptyset(&action.sa_mask);
    if (sigaction(number, NULL, &old) == 0 && old.sa_handler != SIG_IGN) {
        (void)sigaction(number, &action, NULL);
    }
}

void cli_signal_watch(void)
{
    watch_one(SIGINT);
    watch_one(SIGTERM);
    watch_one(SIGHUP);
}

bool cli_signal_caught(void)
{
    return caught != 0;
}

kern_status cli_signal_poll(kern_error *err)
{
    if (caught != 0) {
        return kern_raise(err, KERN_INTERRUPTED, "stopped on request");
    }
    return KERN_OK;
}

void cli_signal_ignore_write_limits(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
}
