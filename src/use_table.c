#include "use_table.h"

#include <stdlib.h>

#include "compiler.h"
#include "error.h"
#include "lock.h"

static int compare(const gp_use *a, const gp_use *b)
{
    return (a->base > b->base) - (a->base < b->base);
}

GP_TREE_GENERATE(gp_use_tree, gp_use, links, compare)

void gp_use_table_init(gp_use_table *table)
{
    (void)pthread_mutex_init(&table->lock, NULL);
    RB_INIT(&table->tree);
}

void gp_use_table_destroy(gp_use_table *table, gp_fence_store *fences)
{
    gp_use *use;
    while ((use = RB_MIN(gp_use_tree, &table->tree)) != NULL) {
        (void)RB_REMOVE(gp_use_tree, &table->tree, use);
        gp_use_free(use, fences);
    }
    (void)pthread_mutex_destroy(&table->lock);
}

static gp_use *find_or_make(gp_use_table *table, uintptr_t base)
{
    gp_use key = {.base = base};
    gp_use *use = RB_FIND(gp_use_tree, &table->tree, &key);
    if (use != NULL)
        return use;
    use = calloc(1, sizeof(*use));
    if (use != NULL) {
        use->base = base;
        (void)RB_INSERT(gp_use_tree, &table->tree, use);
    }
    return use;
}

/* Where a stream's fence goes: over its earlier one, or at the end. */
static gp_fence **place_for(gp_use *use, uint64_t stream_id)
{
    for (uint32_t i = 0; i < use->count; i++) {
        if (use->fences[i]->stream_id == stream_id)
            return &use->fences[i];
    }
    if (use->count == use->capacity) {
        uint32_t capacity = use->capacity == 0 ? 4 : 2 * use->capacity;
        gp_fence **grown = realloc(use->fences, capacity * sizeof(gp_fence *));
        if (grown == NULL)
            return NULL;
        use->fences = grown;
        use->capacity = capacity;
    }
    use->fences[use->count] = NULL;
    return &use->fences[use->count++];
}

gp_status gp_use_table_add(gp_use_table *table, gp_fence_store *fences, uintptr_t base,
                           gp_fence *fence)
{
    gp_fence *replaced = fence;

    gp_mutex_lock(&table->lock, GP_RANK_LEAF);
    gp_use *use = find_or_make(table, base);
    gp_fence **place = use == NULL ? NULL : place_for(use, fence->stream_id);
    if (place != NULL) {
        replaced = *place;
        *place = fence;
    }
    gp_mutex_unlock(&table->lock, GP_RANK_LEAF);

    gp_fence_release(fences, replaced);
    if (place == NULL)
        return gp_error_set(GP_ERR_OUT_OF_HOST_MEMORY, "no host memory to record a use");
    return GP_OK;
}

gp_use *gp_use_table_take(gp_use_table *table, uintptr_t base)
{
    gp_use key = {.base = base};
    gp_mutex_lock(&table->lock, GP_RANK_LEAF);
    gp_use *use = RB_FIND(gp_use_tree, &table->tree, &key);
    if (use != NULL)
        (void)RB_REMOVE(gp_use_tree, &table->tree, use);
    gp_mutex_unlock(&table->lock, GP_RANK_LEAF);
    return use;
}

void gp_use_table_put_back(gp_use_table *table, gp_fence_store *fences, gp_use *use)
{
    gp_mutex_lock(&table->lock, GP_RANK_LEAF);
    const gp_use *other = RB_INSERT(gp_use_tree, &table->tree, use);
    gp_mutex_unlock(&table->lock, GP_RANK_LEAF);
    if (other != NULL)
        gp_use_free(use, fences); /* Recorded during the free: the caller's mistake. */
}

void gp_use_free(gp_use *use, gp_fence_store *fences)
{
    for (uint32_t i = 0; i < use->count; i++)
        gp_fence_release(fences, use->fences[i]);
    free(use->fences);
    free(use);
}

gp_status gp_use_wait(const gp_use *use, gp_fence_store *fences, cudaStream_t stream)
{
    gp_status status = GP_OK;
    for (uint32_t i = 0; i < use->count && status == GP_OK; i++)
        status = gp_fence_wait(fences, use->fences[i], stream);
    return status;
}
