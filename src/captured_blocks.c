#include "captured_blocks.h"

#include <stdlib.h>

#include "compiler.h"
#include "error.h"
#include "lock.h"

static int compare(const gp_captured_block *a, const gp_captured_block *b)
{
    return (a->address > b->address) - (a->address < b->address);
}

GP_TREE_GENERATE(gp_captured_tree, gp_captured_block, links, compare)

void gp_captured_blocks_init(gp_captured_blocks *blocks)
{
    (void)pthread_mutex_init(&blocks->lock, NULL);
    RB_INIT(&blocks->tree);
}

void gp_captured_blocks_destroy(gp_captured_blocks *blocks)
{
    gp_captured_block *block;
    while ((block = RB_MIN(gp_captured_tree, &blocks->tree)) != NULL) {
        (void)RB_REMOVE(gp_captured_tree, &blocks->tree, block);
        free(block);
    }
    while (blocks->parked != NULL) {
        gp_parked_block *next = blocks->parked->next;
        free(blocks->parked);
        blocks->parked = next;
    }
    (void)pthread_mutex_destroy(&blocks->lock);
}

gp_status gp_captured_blocks_add(gp_captured_blocks *blocks, uintptr_t address)
{
    gp_captured_block *block = malloc(sizeof(*block));
    if (block == NULL)
        return gp_error_set(GP_ERR_OUT_OF_HOST_MEMORY, "no host memory for a graph's block");
    block->address = address;

    gp_mutex_lock(&blocks->lock, GP_RANK_LEAF);
    gp_captured_block *known = RB_INSERT(gp_captured_tree, &blocks->tree, block);
    gp_mutex_unlock(&blocks->lock, GP_RANK_LEAF);
    if (known != NULL)
        free(block); /* A new graph at the address of one that is gone. */
    return GP_OK;
}

bool gp_captured_blocks_has(gp_captured_blocks *blocks, uintptr_t address)
{
    gp_captured_block key = {.address = address};
    gp_mutex_lock(&blocks->lock, GP_RANK_LEAF);
    bool found = RB_FIND(gp_captured_tree, &blocks->tree, &key) != NULL;
    gp_mutex_unlock(&blocks->lock, GP_RANK_LEAF);
    return found;
}

gp_status gp_captured_blocks_park(gp_captured_blocks *blocks, const gp_parked_block *block)
{
    gp_parked_block *parked = malloc(sizeof(*parked));
    if (parked == NULL)
        return gp_error_set(GP_ERR_OUT_OF_HOST_MEMORY, "no host memory to park a block");
    *parked = *block;
    gp_captured_blocks_park_again(blocks, parked);
    return GP_OK;
}

void gp_captured_blocks_park_again(gp_captured_blocks *blocks, gp_parked_block *parked)
{
    gp_mutex_lock(&blocks->lock, GP_RANK_LEAF);
    parked->next = blocks->parked;
    blocks->parked = parked;
    gp_counter_add(&blocks->parked_count, 1);
    gp_counter_add(&blocks->parked_bytes, parked->bytes);
    gp_mutex_unlock(&blocks->lock, GP_RANK_LEAF);
}

gp_parked_block *gp_captured_blocks_unpark(gp_captured_blocks *blocks, uint64_t stream_id)
{
    if (gp_counter_get(&blocks->parked_count) == 0)
        return NULL;

    gp_mutex_lock(&blocks->lock, GP_RANK_LEAF);
    gp_parked_block **link = &blocks->parked;
    while (*link != NULL && (*link)->stream_id != stream_id)
        link = &(*link)->next;
    gp_parked_block *parked = *link;
    if (parked != NULL) {
        *link = parked->next;
        gp_counter_sub(&blocks->parked_count, 1);
        gp_counter_sub(&blocks->parked_bytes, parked->bytes);
    }
    gp_mutex_unlock(&blocks->lock, GP_RANK_LEAF);
    return parked;
}
