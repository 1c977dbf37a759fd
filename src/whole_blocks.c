#include "whole_blocks.h"

#include <string.h>

static void set_count(gp_whole_blocks *whole, uint32_t count)
{
    atomic_store_explicit(&whole->count, count, memory_order_relaxed);
}

uint32_t gp_whole_blocks_surplus(const gp_whole_blocks *whole)
{
    const uint32_t all = gp_whole_blocks_count(whole);
    const uint64_t half = gp_counter_get(&whole->most_bytes) / 2;
    uint64_t bytes = gp_counter_get(&whole->bytes);
    uint32_t count = 0;
    while (all - count > GP_WHOLE_BLOCKS / 2 || bytes > half)
        bytes -= gp_whole_blocks_at(whole, count++).bytes;
    return count;
}

uint32_t gp_whole_blocks_older(const gp_whole_blocks *whole, uint64_t limit)
{
    uint32_t count = gp_whole_blocks_count(whole);
    while (count > 0 && whole->gives[count - 1] > limit)
        count--;
    return count;
}

void gp_whole_blocks_put(gp_whole_blocks *whole, gp_span block, uint64_t give)
{
    const uint32_t place = gp_whole_blocks_count(whole);
    whole->units[place] = (uint32_t)(block.bytes >> GP_PAGE_SHIFT);
    whole->bases[place] = block.base;
    whole->gives[place] = give;
    set_count(whole, place + 1);
    gp_counter_add(&whole->bytes, block.bytes);
}

/* Close the gap of `count` blocks at `place`. */
static void remove_at(gp_whole_blocks *whole, uint32_t place, uint32_t count)
{
    const uint32_t next = place + count;
    const uint32_t all = gp_whole_blocks_count(whole);
    const uint32_t rest = all - next;
    memmove(&whole->units[place], &whole->units[next], rest * sizeof(whole->units[0]));
    memmove(&whole->bases[place], &whole->bases[next], rest * sizeof(whole->bases[0]));
    memmove(&whole->gives[place], &whole->gives[next], rest * sizeof(whole->gives[0]));
    set_count(whole, all - count);
}

/* The place after the block freed last of those that meet the request and the limit; 0: none. */
static uint32_t find(const gp_whole_blocks *whole, const gp_fit *fit, uint64_t limit)
{
    const uint32_t units = (uint32_t)(fit->bytes >> GP_PAGE_SHIFT);
    uint32_t next = gp_whole_blocks_count(whole);
    while (next > 0 &&
           (whole->units[next - 1] != units ||
            (whole->bases[next - 1] & (fit->alignment - 1)) != 0 || whole->gives[next - 1] > limit))
        next--;
    return next;
}

bool gp_whole_blocks_have(const gp_whole_blocks *whole, const gp_fit *fit)
{
    return find(whole, fit, UINT64_MAX) > 0;
}

bool gp_whole_blocks_take(gp_whole_blocks *whole, const gp_fit *fit, uint64_t limit, gp_span *block)
{
    const uint32_t next = find(whole, fit, limit);
    if (next == 0)
        return false;
    *block = gp_whole_blocks_at(whole, next - 1);
    remove_at(whole, next - 1, 1);
    gp_counter_sub(&whole->bytes, block->bytes);
    return true;
}

void gp_whole_blocks_drop(gp_whole_blocks *whole, uint32_t count)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++)
        bytes += gp_whole_blocks_at(whole, i).bytes;
    remove_at(whole, 0, count);
    gp_counter_sub(&whole->bytes, bytes);
}

void gp_whole_blocks_renew(gp_whole_blocks *whole, uint64_t give)
{
    const uint32_t count = gp_whole_blocks_count(whole);
    for (uint32_t i = 0; i < count; i++)
        whole->gives[i] = give;
}
