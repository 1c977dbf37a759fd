/*
 * Size classes: what a request is rounded up to.
 *
 * Up to 4 KiB every multiple of 512 bytes is a class; above, each doubling is
 * divided into eight, so that rounding wastes at most one ninth of the block
 * (12.5 % of the request):
 *
 *     512 1024 ... 4096 | 4608 5120 ... 8192 | 9216 ... 16384 | ...
 */
#ifndef GP_SRC_SIZE_CLASS_H
#define GP_SRC_SIZE_CLASS_H

#include <stddef.h>
#include <stdint.h>

#define GP_CLASS_STEPS 8u /* classes in a doubling, and below the first one */

/* Classes up to the largest large_bytes a config may ask for, 64 MiB. */
#define GP_CLASS_COUNT 120u

/* Class of a request of `bytes`, at least 1, at most the last class's size. */
static inline uint32_t gp_size_class_of(size_t bytes)
{
    size_t granule = (bytes - 1) >> 9;
    if (granule < GP_CLASS_STEPS)
        return (uint32_t)granule;

    uint32_t doubling = 60u - (uint32_t)__builtin_clzll(granule);
    return GP_CLASS_STEPS * (doubling + 1u) + (uint32_t)(granule >> doubling) - GP_CLASS_STEPS;
}

/* Size of the blocks of a class, in bytes. */
static inline size_t gp_size_class_bytes(uint32_t size_class)
{
    if (size_class < GP_CLASS_STEPS)
        return ((size_t)size_class + 1) << 9;

    uint32_t doubling = size_class / GP_CLASS_STEPS - 1u;
    size_t steps = GP_CLASS_STEPS + size_class % GP_CLASS_STEPS + 1u;
    return steps << (doubling + 9u);
}

#endif
