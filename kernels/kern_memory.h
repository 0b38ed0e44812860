/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Memory for arrays of numbers.
 *
 * Blocks of KERN_LARGE bytes and more start on a page of that size and ask the system for such
 * pages: a product that walks over a few matrices of megabytes needs thousands of pages of 4 kB,
 * more than a processor's table of translations holds.
 */
#ifndef BASIN_KERN_MEMORY_H
#define BASIN_KERN_MEMORY_H

#include <stddef.h>

enum {
    KERN_ALIGN = 64,         /* a cache line, and the widest vector register */
    KERN_LARGE = 2 * 1 << 20 /* a large page of x86-64 and of most others */
};

/* `count` items of `size` bytes, uninitialised, aligned to KERN_ALIGN; released by free(). NULL
 * when the system refuses or the product overflows. A count of zero gives a valid block. */
void *kern_memory_create(size_t count, size_t size);

/* The same, filled with zero bytes. */
void *kern_memory_zeroed(size_t count, size_t size);

#endif
