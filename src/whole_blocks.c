#include "whole_blocks.h"

#include <string.h>

void gp_whole_blocks_put(gp_whole_blocks *whole, gp_whole_block block)
{
    whole->blocks[whole->count++] = block;
    gp_counter_add(&whole->bytes, block.bytes);
}

void gp_whole_blocks_remove_at(gp_whole_blocks *whole, uint32_t place, gp_whole_block *block)
{
    *block = whole->blocks[place];
    whole->count--;
    memmove(&whole->blocks[place], &whole->blocks[place + 1],
            (whole->count - place) * sizeof(whole->blocks[0]));
    gp_counter_sub(&whole->bytes, block->bytes);
}

bool gp_whole_blocks_take(gp_whole_blocks *whole, const gp_fit *fit, uint64_t limit,
                          gp_whole_block *block)
{
    uint32_t best = GP_WHOLE_BLOCKS;
    size_t best_bytes = SIZE_MAX;
    /* From the one freed last; an exact fit ends the search. */
    for (uint32_t i = whole->count; i-- > 0 && best_bytes > fit->least;) {
        const gp_whole_block *candidate = &whole->blocks[i];
        if (candidate->bytes < best_bytes && candidate->give <= limit &&
            gp_fit_accepts(fit, candidate->base, candidate->bytes, candidate->was_chunk)) {
            best = i;
            best_bytes = candidate->bytes;
        }
    }
    if (best == GP_WHOLE_BLOCKS)
        return false;
    gp_whole_blocks_remove_at(whole, best, block);
    return true;
}

bool gp_whole_blocks_take_oldest(gp_whole_blocks *whole, uint64_t limit, gp_whole_block *block)
{
    if (whole->count == 0 || whole->blocks[0].give > limit)
        return false;
    gp_whole_blocks_remove_at(whole, 0, block);
    return true;
}
