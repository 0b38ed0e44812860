/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Speed and memory of one CEM layer alone (J. Xu et al., arXiv 2605.07588, 2026): attention and
 * feed-forward sub-layer of T steps each, no embedding and no vocabulary, single precision, on
 * random rows. A training step is a forward and a backward pass in which the activations inside a
 * step are computed again, with cotangents of the parameters and of the layer's input.
 *
 * Fused recursion makes keys and gates once for all steps. Per token, with M multiply-adds of two
 * operations each and S = 1, or 2 with a diagonal shared by the heads, 1 + H with one for each,
 *   M(T) = (1 + 2T)(D² + D·F) + T·S·D·(N + 1)
 * forward: projections, and the two products of attention over the (N + 1)/2 tokens that the mask
 * leaves on average. So M(4) is 0.76 of 4·M(1) at D = 768, F = 2048, N = 256. A vjp costs twice its
 * forward, and the backward pass computes again the keys and gates once, and of every step the
 * projections to queries and hidden units and attention:
 *   training   3·M(T) + (1 + T)(D² + D·F) + T·S·D·(N + 1).
 * The counts used here come from the plan's instructions (kern_graph_node_flops); a test compares
 * them with these formulas. The kernels work a little more: attention in blocks of 32 rows takes
 * whole blocks of the mask, (N + 32)/(N + 1) of what is counted.
 */
#ifndef BASIN_CLI_BENCH_CEM_H
#define BASIN_CLI_BENCH_CEM_H

#include "kernels/kern_exec.h"
#include "models/model_config.h"

#include <stdbool.h>
#include <stddef.h>

/* The layer, and the batch it is measured on. */
typedef struct cli_bench_cem_sizes {
    size_t width;  /* D */
    size_t hidden; /* F */
    size_t heads;  /* H */
    size_t window; /* N */
    size_t batch;
    size_t steps; /* the T that is compared with T = 1 */
    model_diag diag;
} cli_bench_cem_sizes;

/* D = 768, F = 2048, H = 12, N = 256, one sequence as in a lane of training, T = 4, one diagonal
 * for all heads. */
cli_bench_cem_sizes cli_bench_cem_default(void);

typedef struct cli_bench_cem_job {
    cli_bench_cem_sizes sizes;
    int threads;
    size_t rounds;
    double seconds; /* of a round: a quarter for each case */
    bool profile;
} cli_bench_cem_job;

enum { CLI_BENCH_CEM_FORWARD, CLI_BENCH_CEM_TRAIN, CLI_BENCH_CEM_PASSES };
enum { CLI_BENCH_CEM_ONE, CLI_BENCH_CEM_MORE, CLI_BENCH_CEM_DEPTHS };

/* What is measured in one kind of time. */
typedef struct cli_bench_cem_clock {
    /* Of one pass over the batch, medians over rounds. In CPU time: of all threads, divided by
     * their number, so that both kinds of time are equal when every thread has a processor. */
    double seconds[CLI_BENCH_CEM_PASSES][CLI_BENCH_CEM_DEPTHS];
    /* Of the largest peak of the run, in the same kind of time. */
    double fraction[CLI_BENCH_CEM_PASSES][CLI_BENCH_CEM_DEPTHS];
    /* T = steps over steps × (T = 1): median of the rounds' ratios. */
    double ratio[CLI_BENCH_CEM_PASSES];
    double peak_gflops;
} cli_bench_cem_clock;

enum { CLI_BENCH_CEM_WALL, CLI_BENCH_CEM_CPU, CLI_BENCH_CEM_CLOCKS };
enum { CLI_BENCH_CEM_SLOTS = 16 }; /* most T of the memory table */

/* Time and work by operation and phase. */
typedef struct cli_bench_cem_profile {
    kern_profile time;
    double flops[KERN_OP_COUNT][3]; /* of as many calls as `time` has */
} cli_bench_cem_profile;

/* Plain numbers, so that a child process can hand it to its parent. */
typedef struct cli_bench_cem_result {
    kern_status status;
    char text[256]; /* sentence when status is not KERN_OK */
    double flops[CLI_BENCH_CEM_PASSES][CLI_BENCH_CEM_DEPTHS]; /* per token */
    cli_bench_cem_clock clocks[CLI_BENCH_CEM_CLOCKS];
    /* Numbers per token that a training step keeps from the forward pass for the backward pass,
     * and how many of them step number T + 1 of each sub-layer adds to T steps of both. */
    size_t slots; /* T = 1 … slots */
    double kept[CLI_BENCH_CEM_SLOTS];
    double attn_step[CLI_BENCH_CEM_SLOTS];
    double mlp_step[CLI_BENCH_CEM_SLOTS];
    double max_rss_mb;
    size_t rounds;
    cli_bench_cem_profile profile[CLI_BENCH_CEM_PASSES][CLI_BENCH_CEM_DEPTHS];
} cli_bench_cem_result;

/* Measures; cases take turns within a round, after one pass of each that is not timed. Impossible
 * sizes are refused in result->status with the configuration's sentence. */
void cli_bench_cem_run(const cli_bench_cem_job *job, cli_bench_cem_result *result);

#endif
