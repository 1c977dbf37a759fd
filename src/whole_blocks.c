#include "whole_blocks.h"

#include <string.h>

void gp_whole_blocks_put(gp_whole_blocks *whole, gp_whole_block block)
{
    whole->blocks[whole->count++] = block;
    gp_counter_add(&whole->bytes, block.bytes);
}

static void remove_at(gp_whole_blocks *whole, uint32_t place, gp_whole_block *block)
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
    for (uint32_t i = whole->count; i-- > 0;) {
        const gp_whole_block *candidate = &whole->blocks[i];
        if (gp_fit_is_met(fit, candidate->page->base, candidate->bytes) &&
            candidate->give <= limit) {
            remove_at(whole, i, block);
            return true;
        }
    }
    return false;
}

bool gp_whole_blocks_take_oldest(gp_whole_blocks *whole, uint64_t limit, gp_whole_block *block)
{
    if (whole->count == 0 || whole->blocks[0].give > limit)
        return false;
    remove_at(whole, 0, block);
    return true;
}
