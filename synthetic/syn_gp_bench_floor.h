/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The evaluation set of the Gaussian-process benchmark with its floor. Private to syn_gp_bench*.c.
 */
#ifndef BASIN_SYN_GP_BENCH_FLOOR_H
#define BASIN_SYN_GP_BENCH_FLOOR_H

#include "synthetic/syn_gp_bench.h"

/* Zero-initialise. */
typedef struct syn_gp_bench_set {
    syn_gp_batch batch;
    double *floor; /* squared errors of the best predictions, [sequences][points]; owned */
} syn_gp_bench_set;

/* Draws the set, computes the floor or takes it from the folder, and fills b->floor and
 * b->references. KERN_INTERRUPTED when progress returned false. */
kern_status syn_gp_bench_set_init(syn_gp_bench_set *set, syn_gp_bench *b, kern_error *err);
void syn_gp_bench_set_fini(syn_gp_bench_set *set);

/* Work that the floor is worth, as progress counts it; 0 when it comes with the draw. */
size_t syn_gp_bench_floor_work(const syn_gp_bench *b);

#endif
