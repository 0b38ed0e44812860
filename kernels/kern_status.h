/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Status codes and the sentence that goes with a failure.
 *
 * Every function that can fail returns a kern_status. One that can say more than the code
 * takes a kern_error, which the caller owns and may pass as NULL; on failure it holds one
 * sentence for the user that names the thing, its value, and what is accepted. Nothing in
 * this file prints, exits or keeps state.
 */
#ifndef BASIN_KERN_STATUS_H
#define BASIN_KERN_STATUS_H

#include <stddef.h>

/* X(name, word, gloss). The word is what results print; the order is part of no file format. */
#define KERN_STATUS_LIST(X)                                                                        \
    X(OK, "ok", "the call succeeded")                                                              \
    X(INVALID_ARGUMENT, "invalid_argument", "an argument is outside its domain")                   \
    X(BAD_INPUT, "bad_input", "a file or text is malformed")                                       \
    X(NOT_FOUND, "not_found", "a file, name or entry does not exist")                              \
    X(IO, "io", "reading or writing failed")                                                       \
    X(NO_MEMORY, "no_memory", "memory could not be allocated")                                     \
    X(OVERFLOW, "overflow", "a size does not fit its type")                                        \
    X(INTERRUPTED, "interrupted", "the user asked to stop")                                        \
    X(NOT_CONVERGED, "not_converged", "an iteration ended above its tolerance")                    \
    X(DIVERGED, "diverged", "an iterate left every bound")                                         \
    X(LEFT_BOX, "left_box", "an iterate left the box asked for")                                   \
    X(TIMEOUT, "timeout", "an iteration ended undecided")                                          \
    X(SINGULAR, "singular", "a linear system has no unique solution")                              \
    X(NAN, "nan", "a value is not a number")

typedef enum kern_status {
#define KERN_STATUS_ENUM(name, word, gloss) KERN_##name,
    KERN_STATUS_LIST(KERN_STATUS_ENUM)
#undef KERN_STATUS_ENUM
        KERN_STATUS_COUNT
} kern_status;

enum { KERN_ERROR_TEXT = 1024 };

/* Zero-initialise before use. */
typedef struct kern_error {
    kern_status status;
    char text[KERN_ERROR_TEXT];
} kern_error;

/* Word for a status ("ok", "diverged", …); "unknown" for a value outside the list. */
const char *kern_status_word(kern_status status);

/* One-line gloss of a status. */
const char *kern_status_gloss(kern_status status);

/* Records `status` and the formatted sentence in `err` (when it is not NULL) and returns
 * `status`. Every failure begins here, so one breakpoint sees them all. A longer text is
 * cut at KERN_ERROR_TEXT - 1 bytes. */
kern_status kern_raise(kern_error *err, kern_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#ifdef __clang_analyzer__
/* Analysers see one file at a time; this tells them that the status comes back. */
#define kern_raise(err, status, ...) ((void)(kern_raise)((err), (status), __VA_ARGS__), (status))
#endif

/* Returns from the enclosing function with the status of `call` unless it is KERN_OK. */
#define KERN_TRY(call)                                                                             \
    do {                                                                                           \
        const kern_status kern_try_status_ = (call);                                               \
        if (kern_try_status_ != KERN_OK) {                                                         \
            return kern_try_status_;                                                               \
        }                                                                                          \
    } while (0)

#endif
