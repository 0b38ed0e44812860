/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _DEFAULT_SOURCE
#include "kernels/kern_memory.h"

#include "kernels/kern_size.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The advice is refused where the system has no large pages; the memory is good without. */
static void ask_for_large_pages(void *block, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    (void)madvise(block, bytes, MADV_HUGEPAGE);
#else
    (void)block;
    (void)bytes;
#endif
}

void *kern_memory_create(size_t count, size_t size)
{
    size_t bytes;
    void *block;
    if (!kern_size_mul(count, size, &bytes) || bytes > SIZE_MAX - KERN_LARGE) {
        return NULL;
    }
    const bool large = bytes >= KERN_LARGE;
    if (posix_memalign(&block, large ? KERN_LARGE : KERN_ALIGN, kern_size_max(bytes, 1)) != 0) {
        return NULL;
    }
    if (large) {
        ask_for_large_pages(block, bytes);
    }
    return block;
}

void *kern_memory_zeroed(size_t count, size_t size)
{
    void *block = kern_memory_create(count, size);
    if (block != NULL) {
        memset(block, 0, count * size);
    }
    return block;
}
