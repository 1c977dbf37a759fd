#include "recut.h"

#include "address_table.h"
#include "pool.h"
#include "stream_cache_internal.h"

typedef struct recut {
    gp_stream_cache *cache;
    gp_commons *commons;
    gp_span taken;   /* For the request; no bytes if nothing fits. */
    gp_span left[2]; /* Of the blocks at its two ends. */
    uint32_t left_count;
} recut;

static uintptr_t end_of(gp_span span)
{
    return span.base + span.bytes;
}

/* ---- the stream's pending blocks ------------------------------------------------ */

/* What is done with each; false if the block is no more. */
typedef bool visitor(recut *self, gp_span block);

static void visit_whole(recut *self, visitor *visit)
{
    gp_whole_blocks *whole = &self->cache->whole;
    for (uint32_t i = 0; i < whole->count;) {
        gp_whole_block block = whole->blocks[i];
        const gp_span span = {.base = block.base, .bytes = block.bytes};
        if (block.was_chunk || visit(self, span))
            i++;
        else
            gp_whole_blocks_remove_at(whole, i, &block);
    }
}

static void visit_batch(recut *self, gp_batch *batch, visitor *visit)
{
    for (uint32_t i = 0; i < batch->count;) {
        const gp_slot slot = batch->slots[i];
        const gp_span span = {.base = slot.base, .bytes = gp_slot_bytes(slot)};
        if (gp_address_table_segment(slot.base)->commons != self->commons || visit(self, span)) {
            i++;
            continue;
        }
        batch->slots[i] = batch->slots[--batch->count];
        batch->bytes -= span.bytes;
        gp_counter_sub_shared(&self->cache->transit_bytes, span.bytes);
        gp_counter_sub_shared(&self->cache->pending_bytes, span.bytes);
    }
}

static void visit_pending(recut *self, visitor *visit)
{
    visit_whole(self, visit);
    for (gp_batch *batch = self->cache->waiting; batch != NULL; batch = batch->next) {
        if (gp_stream_cache_waits_for_own_work(self->cache, batch))
            visit_batch(self, batch, visit);
    }
}

/* ---- in one step ------------------------------------------------------------------ */

static bool lend(recut *self, gp_span block)
{
    gp_commons_give_locked(self->commons, block);
    return true;
}

/* Is there a page for a block that starts here? Where a segment ends none does. */
static bool has_page(recut *self, const gp_segment *segment, uintptr_t base)
{
    return base == end_of(segment->span) ||
           gp_page_store_at(&self->cache->pool->pages, base) != NULL;
}

/* Starts that are new get their pages here, so that nothing can fail later on. */
static void take(recut *self, const gp_fit *fit)
{
    gp_span span;
    if (!gp_commons_take_locked(self->commons, fit->least, fit->alignment, &span))
        return;
    const gp_segment *segment = gp_address_table_segment(span.base);
    if (has_page(self, segment, span.base) && has_page(self, segment, end_of(span)))
        self->taken = span;
    else
        gp_commons_give_locked(self->commons, span);
}

/* At most two blocks reach beyond an end of the request, so there is room. */
static void leave(recut *self, uintptr_t base, uintptr_t end)
{
    const gp_span span = {.base = base, .bytes = end - base};
    gp_commons_take_at_locked(self->commons, span);
    self->left[self->left_count++] = span;
}

/* A block that the request did not touch stays where it is, behind the fence it has:
 * with a newer one it would be complete for others later. */
static bool restore(recut *self, gp_span block)
{
    const gp_span taken = self->taken;
    if (block.base >= end_of(taken) || end_of(block) <= taken.base) {
        gp_commons_take_at_locked(self->commons, block);
        return true;
    }
    gp_record_set(gp_page_record(gp_address_table_page(block.base), block.base),
                  GP_CLASS_LARGE | GP_STATE_FREED);
    if (block.base < taken.base)
        leave(self, block.base, taken.base);
    if (end_of(block) > end_of(taken))
        leave(self, end_of(taken), end_of(block));
    return false;
}

/* Nobody sees the commons while they hold what others must not have yet. */
static void run(recut *self, const gp_fit *fit)
{
    gp_stream_cache_lock(self->cache);
    gp_commons_lock(self->commons);
    visit_pending(self, lend);
    take(self, fit);
    visit_pending(self, restore);
    gp_commons_unlock(self->commons);
    gp_stream_cache_drop_empty_locked(self->cache);
    gp_stream_cache_unlock(self->cache);
}

/* ---- the interface ------------------------------------------------------------------ */

/* Chunks are of one size, so one that is pending serves as it is; and a policy may hold
 * the shorter ones cut for small blocks. */
static bool may_help(const gp_stream_cache *cache, const gp_commons *commons, const gp_fit *fit)
{
    uint64_t pending = gp_counter_get(&cache->whole.bytes) + gp_counter_get(&cache->pending_bytes);
    return !fit->chunk && commons->pool->policy.take_at != NULL && pending > 0 &&
           pending + gp_counter_get(&commons->free_bytes) >= fit->least;
}

bool gp_recut_take(gp_stream_cache *cache, cudaStream_t stream, const gp_fit *fit, gp_span *span)
{
    recut self = {.cache = cache, .commons = &cache->pool->large};
    if (!may_help(cache, self.commons, fit))
        return false;
    run(&self, fit);
    if (self.taken.bytes == 0)
        return false;
    for (uint32_t i = 0; i < self.left_count; i++)
        gp_stream_cache_give_whole(cache, stream, self.left[i]);
    *span = self.taken;
    return true;
}
