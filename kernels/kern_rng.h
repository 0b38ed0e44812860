/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Random streams: GSL's mt19937 seeded by hashing (run seed, purpose, index).
 *
 * A stream belongs to a purpose and an index, never to a thread, so results do not depend on
 * scheduling. Its state can be saved and restored bit for bit. GSL seed 0 is never passed (GSL
 * maps it to its default seed).
 *
 * kern_rng_hash is the counter-based companion for masks that must be recomputed instead of
 * stored (dropout): a pure function of key and counter.
 */
#ifndef BASIN_KERN_RNG_H
#define BASIN_KERN_RNG_H

#include "kernels/kern_status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct kern_rng kern_rng;

/* New stream for (seed, purpose, index). `purpose` is a short word such as "init" or "windows".
 * NULL when memory is refused. The caller owns the result. */
kern_rng *kern_rng_create(uint64_t seed, const char *purpose, uint64_t index);

/* Releases a stream; NULL is ignored. */
void kern_rng_destroy(kern_rng *rng);

/* Uniform in [0, 1). */
double kern_rng_uniform(kern_rng *rng);

/* Uniform integer in 0 … n−1 without modulo bias; n must be in 1 … 2³²−1. */
uint32_t kern_rng_below(kern_rng *rng, uint32_t n);

/* Standard normal deviate (GSL's ziggurat). */
double kern_rng_normal(kern_rng *rng);

/* Size of a stream's state in bytes, and copies out of and into a buffer of that size. A restored
 * stream continues exactly where the saved one stood; KERN_BAD_INPUT when `size` differs. */
size_t kern_rng_state_size(const kern_rng *rng);
void kern_rng_save(const kern_rng *rng, void *state);
kern_status kern_rng_restore(kern_rng *rng, const void *state, size_t size, kern_error *err);

/* 64-bit mix (splitmix64's finaliser; Steele, Lea, Flood 2014, figure 16): a bijection. */
static inline uint64_t kern_rng_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Hash of (key, counter): 64 bits, independent across counters. */
static inline uint64_t kern_rng_hash(uint64_t key, uint64_t counter)
{
    return kern_rng_mix(key + (counter + 1) * 0x9e3779b97f4a7c15u);
}

/* Seed for a stream: hash of (seed, purpose, index); never 0. */
uint64_t kern_rng_seed(uint64_t seed, const char *purpose, uint64_t index);

#endif
