/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Checkpoints: the state of a trainer in the folder of its run, and back, bit for bit.
 *
 *   model.safetensors       the weights (model_weights.h)
 *   optimizer.safetensors   "exp_avg/NAME" and "exp_avg_sq/NAME" (F32, AdamW's moments of every
 *                           tensor), "sampler" (U8, state of the stream that draws the windows)
 *
 * Both carry "step", and "weights", a hash of the weights, which makes them a pair; the second also
 * the training settings and a hash of the data.
 *
 * A break at any moment leaves a pair. Saving first writes both files under their names with .next
 * appended, each complete on the disk, then renames the model, then the optimizer. Loading a model
 * whose optimizer is older takes the waiting optimizer.safetensors.next; other waiting files are
 * left-overs and are removed.
 */
#ifndef BASIN_MODEL_CHECKPOINT_H
#define BASIN_MODEL_CHECKPOINT_H

#include "models/model_safetensors.h"
#include "models/model_trainer.h"

enum { MODEL_CHECKPOINT_NOTE = 256 };

/* Writes the trainer's state into `folder`, which exists. Peak memory beyond the trainer is the
 * file header's. KERN_IO, KERN_NO_MEMORY. */
kern_status model_checkpoint_save(const char *folder, const model_trainer *t, kern_error *err);

/* The first half of saving, for a run that replaces another: writes both files under their waiting
 * names and leaves those of the run that is in the folder alone. Once these are removed,
 * model_checkpoint_recover completes the saving. On failure nothing waits. Errors as above. */
kern_status model_checkpoint_stage(const char *folder, const model_trainer *t, kern_error *err);

/* Puts the state saved in `folder` into a fresh trainer, which then continues as the saved one
 * would have, bit for bit. `note` gets a sentence when it continues correctly but not
 * bit for bit (other threads or micro-batches), else "".
 *
 * KERN_NOT_FOUND when nothing was saved yet. KERN_INVALID_ARGUMENT, naming the setting and both
 * values, when a setting that shapes the training differs: batch, window, seed, AdamW, schedule
 * (the total of a constant schedule may change), or the data. KERN_BAD_INPUT when the files are
 * damaged, are no pair, or hold another model. On failure the trainer is not to be used further. */
kern_status model_checkpoint_load(const char *folder, model_trainer *t,
                                  char note[MODEL_CHECKPOINT_NOTE], kern_error *err);

/* Completes or removes what a break left in the folder and says up to which step there is a
 * checkpoint. Errors as above: KERN_NOT_FOUND when there is none. Loading does this too. */
kern_status model_checkpoint_recover(const char *folder, size_t *step, kern_error *err);

/* Step in an open file's metadata; 0 when it has none (weights from elsewhere). KERN_BAD_INPUT when
 * it is no number. */
kern_status model_checkpoint_step(const model_safetensors *file, const char *path, size_t *step,
                                  kern_error *err);

#endif
