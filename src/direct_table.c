#include "direct_table.h"

#include <stdlib.h>

#include "error.h"
#include "lock.h"

/* Freed blocks that are remembered. */
#define MOST_FREED 65536u

static int compare(const gp_direct_block *a, const gp_direct_block *b)
{
    return (a->base > b->base) - (a->base < b->base);
}

GP_TREE_GENERATE(gp_direct_tree, gp_direct_block, by_address, compare)

static void lock(gp_direct_table *table)
{
    gp_mutex_lock(&table->lock, GP_RANK_LEAF);
}

static void unlock(gp_direct_table *table)
{
    gp_mutex_unlock(&table->lock, GP_RANK_LEAF);
}

/* ---- the tree, under the lock ------------------------------------------------- */

static void remove_locked(gp_direct_table *table, gp_direct_block *block)
{
    (void)RB_REMOVE(gp_direct_tree, &table->tree, block);
    gp_counter_sub(&table->count, 1);
}

static void forget_locked(gp_direct_table *table, gp_direct_block *block)
{
    TAILQ_REMOVE(&table->freed, block, by_age);
    table->freed_count--;
    remove_locked(table, block);
    free(block);
}

/* The block that starts nearest below an address, or at it. */
static gp_direct_block *below_locked(gp_direct_table *table, uintptr_t address)
{
    gp_direct_block *found = NULL;
    gp_direct_block *block = RB_ROOT(&table->tree);
    while (block != NULL) {
        if (block->base <= address)
            found = block;
        block = block->base <= address ? RB_RIGHT(block, by_address) : RB_LEFT(block, by_address);
    }
    return found;
}

static gp_direct_block *find_locked(gp_direct_table *table, uintptr_t address)
{
    gp_direct_block *block = below_locked(table, address);
    return block != NULL && address - block->base < block->bytes ? block : NULL;
}

/* Who had the memory before has it no more. One that is just ending is left to its thread. */
static void make_way_locked(gp_direct_table *table, const gp_direct_block *made)
{
    const uintptr_t end = made->base + made->bytes;
    gp_direct_block *block = below_locked(table, end - 1);
    while (block != NULL && block->base + block->bytes > made->base) {
        gp_direct_block *below = RB_PREV(gp_direct_tree, &table->tree, block);
        if (block->state == GP_DIRECT_FREED) {
            forget_locked(table, block);
        } else {
            remove_locked(table, block);
            block->replaced = true;
        }
        block = below;
    }
}

static bool is_freed(const gp_direct_block *block)
{
    return block->state == GP_DIRECT_FREED;
}

/* ---- blocks come and go ----------------------------------------------------------- */

void gp_direct_table_init(gp_direct_table *table)
{
    (void)pthread_mutex_init(&table->lock, NULL);
    RB_INIT(&table->tree);
    TAILQ_INIT(&table->freed);
}

void gp_direct_table_destroy(gp_direct_table *table, gp_fence_store *fences)
{
    gp_direct_block *block;
    while ((block = RB_MIN(gp_direct_tree, &table->tree)) != NULL) {
        remove_locked(table, block);
        gp_fence_release(fences, block->fence);
        free(block);
    }
    (void)pthread_mutex_destroy(&table->lock);
}

void gp_direct_table_add(gp_direct_table *table, gp_direct_block *block)
{
    lock(table);
    make_way_locked(table, block);
    (void)RB_INSERT(gp_direct_tree, &table->tree, block);
    gp_counter_add(&table->count, 1);
    unlock(table);
}

gp_direct_block *gp_direct_table_claim(gp_direct_table *table, uintptr_t base, gp_direct_state from,
                                       gp_direct_state to)
{
    gp_direct_block key = {.base = base};
    lock(table);
    gp_direct_block *block = RB_FIND(gp_direct_tree, &table->tree, &key);
    if (block != NULL && block->state == from)
        block->state = to;
    else
        block = NULL;
    unlock(table);
    return block;
}

void gp_direct_table_restore(gp_direct_table *table, gp_direct_block *block, gp_direct_state state)
{
    lock(table);
    block->state = state;
    unlock(table);
}

void gp_direct_table_retire(gp_direct_table *table, gp_direct_block *block)
{
    lock(table);
    if (block->replaced) {
        free(block);
    } else {
        block->state = GP_DIRECT_FREED;
        TAILQ_INSERT_TAIL(&table->freed, block, by_age);
        if (++table->freed_count > MOST_FREED)
            forget_locked(table, TAILQ_FIRST(&table->freed));
    }
    unlock(table);
}

void gp_direct_table_forget_freed(gp_direct_table *table)
{
    lock(table);
    while (!TAILQ_EMPTY(&table->freed))
        forget_locked(table, TAILQ_FIRST(&table->freed));
    unlock(table);
}

/* ---- looking -------------------------------------------------------------------------- */

/* The memory of one that is ending may be another pool's by now. */
static bool holds_memory(const gp_direct_block *block)
{
    return block->state != GP_DIRECT_FREED && block->state != GP_DIRECT_ENDING;
}

bool gp_direct_table_has(gp_direct_table *table, uintptr_t address)
{
    lock(table);
    const gp_direct_block *block = find_locked(table, address);
    const bool has = block != NULL && holds_memory(block);
    unlock(table);
    return has;
}

bool gp_direct_table_has_freed(gp_direct_table *table, uintptr_t address)
{
    lock(table);
    const gp_direct_block *block = find_locked(table, address);
    const bool has = block != NULL && !holds_memory(block);
    unlock(table);
    return has;
}

static gp_status judge(const gp_direct_block *block, const void *ptr)
{
    if (block == NULL)
        return gp_error_set(GP_ERR_NOT_OWNED, "%p is not memory that gp holds", ptr);
    if (block->state != GP_DIRECT_LIVE)
        return gp_error_set(GP_ERR_DOUBLE_FREE, "%p lies in the block at %p, which is free already",
                            ptr, (const void *)block->base);
    return GP_OK;
}

gp_status gp_direct_table_containing(gp_direct_table *table, const void *ptr, gp_direct_block *copy)
{
    lock(table);
    const gp_direct_block *block = find_locked(table, (uintptr_t)ptr);
    gp_status status = judge(block, ptr);
    if (status == GP_OK)
        *copy = *block;
    unlock(table);
    return status;
}

gp_status gp_direct_table_at(gp_direct_table *table, const void *ptr, gp_direct_block *copy)
{
    gp_direct_block found;
    gp_status status = gp_direct_table_containing(table, ptr, &found);
    if (status != GP_OK)
        return status;
    if (found.base != (uintptr_t)ptr)
        return gp_error_set(GP_ERR_INTERIOR_POINTER,
                            "%p lies %zu bytes inside the block at %p of %zu bytes", ptr,
                            (uintptr_t)ptr - found.base, (const void *)found.base, found.bytes);
    *copy = found;
    return GP_OK;
}

/* ---- all of them ------------------------------------------------------------------------ */

bool gp_direct_table_list(gp_direct_table *table, gp_direct_block **blocks, size_t *count)
{
    size_t listed = 0;
    lock(table);
    gp_direct_block *copies = malloc((gp_counter_get(&table->count) + 1) * sizeof(*copies));
    if (copies != NULL) {
        gp_direct_block *block;
        RB_FOREACH (block, gp_direct_tree, &table->tree) {
            if (!is_freed(block))
                copies[listed++] = *block;
        }
    }
    unlock(table);
    if (copies == NULL)
        return false;
    *blocks = copies;
    *count = listed;
    return true;
}

gp_direct_sum gp_direct_table_sum(gp_direct_table *table)
{
    gp_direct_sum sum = {0};
    gp_direct_block *block;
    lock(table);
    RB_FOREACH (block, gp_direct_tree, &table->tree) {
        if (is_freed(block))
            continue;
        sum.native += block->native_bytes;
        sum.live += block->state == GP_DIRECT_LIVE ? block->bytes : 0;
        sum.parked += block->state == GP_DIRECT_PARKED ? block->bytes : 0;
    }
    unlock(table);
    return sum;
}
