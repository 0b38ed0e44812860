/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Files of witnesses: what `basin verify --out` writes and `--replay` checks again.
 *
 * HDF5 (models/model_hdf5.h). The root has the attributes "format" = "basin-witnesses" and
 * "version" = 1, and the dataset "claims", the names of the groups in order. A group holds one
 * record:
 *   datasets                 the entries of the record, numbers as rows × cols
 *   dataset "entries"        their names in order; a word is written "name=word"
 *   attributes               "claim", "needs" ("random" or "run"), "kind", "statement", "source",
 *                            "seed", "trial" (texts, since they have 64 bits), "witness" (1: it
 *                            violates the statement; 0: the worst instance that was found),
 *                            "left", "right", "tolerance", "scale"
 * The file ends in a seal (verify_seal.h), by which damage is found before HDF5 reads it.
 */
#ifndef BASIN_VERIFY_FILE_H
#define BASIN_VERIFY_FILE_H

#include "models/verify/verify_run.h"

#include <stddef.h>

enum { VERIFY_FILE_VERSION = 1, VERIFY_FILE_MOST = 4096 /* records of a file */ };

/* Writes the worst instance of every result that has one, in place once the file is complete;
 * `recipe` (NULL: none), what made the results, becomes an attribute of the root. Errors of
 * model_hdf5.h. */
kern_status verify_file_write(const char *path, const verify_result *results, size_t n,
                              const char *recipe, kern_error *err);

/* A record from a file, and what was found when it was written. */
typedef struct verify_stored {
    const verify_claim *claim;
    verify_record record; /* owned */
    bool witness;
    double left;
    double right;
    double tolerance;
} verify_stored;

/* Zero-initialise; release with verify_file_fini. */
typedef struct verify_file {
    verify_stored *items; /* owned */
    size_t n;
} verify_file;

/* Reads a file. KERN_NOT_FOUND when it does not exist; KERN_BAD_INPUT, naming file and place, when
 * it is damaged, cut, or another kind of file, or has a claim that this program does not know
 * or an entry that is not as described above. On failure the file is zeroed. */
kern_status verify_file_read(verify_file *file, const char *path, kern_error *err);

/* Safe on a zeroed one and when called twice. */
void verify_file_fini(verify_file *file);

/* How a stored record compares with a fresh check of it. */
typedef enum verify_replay {
    VERIFY_REPLAY_SAME,   /* both numbers have the same bits */
    VERIFY_REPLAY_CLOSE,  /* they agree to the tolerance, as on another machine */
    VERIFY_REPLAY_DIFFERS /* they do not, or the verdict on the instance is another */
} verify_replay;

/* "same bits", "within tolerance", "differs". */
const char *verify_replay_word(verify_replay replay);

/* Checks a stored record again; `outcome` is what comes out now. Errors of the claim, naming it. */
kern_status verify_file_replay(const verify_stored *stored, verify_work *work,
                               verify_outcome *outcome, verify_replay *replay, kern_error *err);

#endif
