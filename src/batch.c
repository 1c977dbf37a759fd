#include "batch.h"

#include <stdlib.h>
#include <string.h>

#include "compiler.h"
#include "error.h"

#define RESERVE 16

gp_status gp_batch_store_init(gp_batch_store *store)
{
    store->spare = NULL;
    for (int i = 0; i < RESERVE; i++) {
        gp_batch *batch = calloc(1, sizeof(*batch));
        if (batch == NULL) {
            gp_batch_store_destroy(store);
            return gp_error_set(GP_ERR_OUT_OF_HOST_MEMORY, "no host memory for batches");
        }
        batch->next = store->spare;
        store->spare = batch;
    }
    gp_counter_set(&store->count, RESERVE);
    return GP_OK;
}

void gp_batch_store_destroy(gp_batch_store *store)
{
    while (store->spare != NULL) {
        gp_batch *next = store->spare->next;
        free(store->spare);
        store->spare = next;
    }
}

gp_batch *gp_batch_get(gp_batch_store *store)
{
    gp_lock_acquire(&store->lock, GP_RANK_LEAF);
    gp_batch *batch = store->spare;
    if (batch != NULL)
        store->spare = batch->next;
    gp_lock_release(&store->lock, GP_RANK_LEAF);

    if (batch == NULL) {
        batch = malloc(sizeof(*batch));
        if (batch == NULL)
            return NULL;
        (void)gp_counter_add_shared(&store->count, 1);
    }
    batch->next = NULL;
    batch->bytes = 0;
    batch->fence_count = 0;
    batch->count = 0;
    return batch;
}

void gp_batch_put(gp_batch_store *store, gp_batch *batch)
{
    GP_ASSERT(batch->fence_count == 0);
    gp_lock_acquire(&store->lock, GP_RANK_LEAF);
    batch->next = store->spare;
    store->spare = batch;
    gp_lock_release(&store->lock, GP_RANK_LEAF);
}

bool gp_batch_poll(gp_fence_store *fences, gp_batch *batch)
{
    for (uint32_t i = 0; i < batch->fence_count; i++) {
        if (!gp_fence_poll(fences, batch->fences[i]))
            return false;
    }
    return true;
}

void gp_batch_drop_fences(gp_fence_store *fences, gp_batch *batch)
{
    for (uint32_t i = 0; i < batch->fence_count; i++)
        gp_fence_release(fences, batch->fences[i]);
    batch->fence_count = 0;
}
