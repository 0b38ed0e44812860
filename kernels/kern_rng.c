/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/kern_rng.h"

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <stdlib.h>
#include <string.h>

struct kern_rng {
    gsl_rng *gsl;
};

uint64_t kern_rng_seed(uint64_t seed, const char *purpose, uint64_t index)
{
    uint64_t h = kern_rng_mix(seed + 0x9e3779b97f4a7c15u);
    for (const char *p = purpose; *p != '\0'; p++) {
        h = kern_rng_mix(h ^ (uint64_t)(unsigned char)*p);
    }
    h = kern_rng_hash(h, index);
    return h == 0 ? 1 : h;
}

kern_rng *kern_rng_create(uint64_t seed, const char *purpose, uint64_t index)
{
    kern_rng *rng = malloc(sizeof *rng);
    if (rng == NULL) {
        return NULL;
    }
    rng->gsl = gsl_rng_alloc(gsl_rng_mt19937);
    if (rng->gsl == NULL) {
        free(rng);
        return NULL;
    }
    /* mt19937 takes 32 bits of seed, and takes 0 for its default. */
    const uint64_t h = kern_rng_seed(seed, purpose, index);
    const uint32_t folded = (uint32_t)(h ^ (h >> 32));
    gsl_rng_set(rng->gsl, folded == 0 ? 1 : folded);
    return rng;
}

void kern_rng_destroy(kern_rng *rng)
{
    if (rng != NULL) {
        gsl_rng_free(rng->gsl);
        free(rng);
    }
}

double kern_rng_uniform(kern_rng *rng)
{
    return gsl_rng_uniform(rng->gsl);
}

uint32_t kern_rng_below(kern_rng *rng, uint32_t n)
{
    return (uint32_t)gsl_rng_uniform_int(rng->gsl, n);
}

double kern_rng_normal(kern_rng *rng)
{
    return gsl_ran_gaussian_ziggurat(rng->gsl, 1.0);
}

size_t kern_rng_state_size(const kern_rng *rng)
{
    return gsl_rng_size(rng->gsl);
}

void kern_rng_save(const kern_rng *rng, void *state)
{
    memcpy(state, gsl_rng_state(rng->gsl), gsl_rng_size(rng->gsl));
}

kern_status kern_rng_restore(kern_rng *rng, const void *state, size_t size, kern_error *err)
{
    if (size != gsl_rng_size(rng->gsl)) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "the saved random state has %zu bytes where %zu are expected", size,
                          gsl_rng_size(rng->gsl));
    }
    memcpy(gsl_rng_state(rng->gsl), state, size);
    return KERN_OK;
}
