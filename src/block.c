#include "block.h"

#include "address_table.h"
#include "direct.h"
#include "error.h"
#include "page_store.h"

static bool is_outstanding(uint32_t value)
{
    uint32_t state = value & GP_RECORD_STATE_MASK;
    return state == GP_STATE_LIVE || state == GP_STATE_CACHED || state == GP_STATE_PARKED ||
           state == GP_STATE_PINNED;
}

/* The record of whatever block last started at a multiple of the granule; NULL: none ever did.
 * Of a large one and a small one at most one is outstanding. */
static gp_record *record_at(gp_page *page, uintptr_t base)
{
    gp_record *small =
        gp_page_has_small(page) ? gp_leaf_record(gp_address_table_held_leaf(base), base) : NULL;
    if (base % GP_PAGE_BYTES != 0 || (small != NULL && is_outstanding(gp_record_get(small))))
        return small;
    const bool large = small == NULL || gp_record_get(&page->large) != GP_STATE_NONE;
    return large ? &page->large : small;
}

/* Is there a block at the address? It is live, cached, parked or pinned. */
static bool describe(gp_page *page, uintptr_t base, gp_block *block)
{
    gp_record *record = record_at(page, base);
    if (record == NULL || !is_outstanding(gp_record_get(record)))
        return false;
    block->pool = gp_address_table_pool(base);
    block->slot = (gp_slot){.base = base, .record = record};
    block->value = gp_record_get(record);
    block->bytes = gp_page_block_bytes(page, block->value);
    return true;
}

/* The nearest outstanding block that starts at or below `address`, as far as the
 * segment goes. Slow: for pointers that name no block. */
static bool find_below(const gp_segment *segment, uintptr_t address, gp_block *block)
{
    uintptr_t granule = address & ~((uintptr_t)GP_GRANULE_BYTES - 1);
    /* A chunk inside a native segment is a segment of its own, and no block of the
     * native one reaches across it. */
    while (gp_address_table_segment(granule) == segment) {
        gp_page *page = gp_address_table_page(granule);
        if (!gp_page_has_small(page))
            granule &= ~(GP_PAGE_BYTES - 1); /* No small block starts in this page. */
        if (describe(page, granule, block))
            return true;
        if (granule <= segment->span.base)
            return false;
        granule -= GP_GRANULE_BYTES;
    }
    return false;
}

static bool find_containing(uintptr_t address, gp_block *block)
{
    const gp_segment *segment = gp_address_table_segment(address);
    return segment != NULL && find_below(segment, address, block) &&
           address - block->slot.base < block->bytes;
}

static gp_status explain(const void *ptr, gp_block *block)
{
    uintptr_t address = (uintptr_t)ptr;
    if (find_containing(address, block)) {
        if (gp_block_state(block) == GP_STATE_LIVE)
            return gp_error_set(
                GP_ERR_INTERIOR_POINTER, "%p lies %zu bytes inside the block at %p of %zu bytes",
                ptr, address - block->slot.base, (const void *)block->slot.base, block->bytes);
        if (gp_block_state(block) == GP_STATE_PINNED)
            return gp_error_set(GP_ERR_NOT_OWNED, "%p lies in the arena of a capture", ptr);
        return gp_error_set(GP_ERR_DOUBLE_FREE, "%p lies in the block at %p, which is free already",
                            ptr, (const void *)block->slot.base);
    }
    gp_page *page = gp_address_table_page(address);
    const gp_record *record =
        page == NULL || address % GP_GRANULE_BYTES != 0 ? NULL : record_at(page, address);
    if (record != NULL && (gp_record_get(record) & GP_RECORD_STATE_MASK) == GP_STATE_FREED)
        return gp_error_set(GP_ERR_DOUBLE_FREE, "the block at %p is free already", ptr);
    if (gp_address_table_segment(address) != NULL)
        return gp_error_set(GP_ERR_NOT_OWNED, "%p lies in free memory of a pool", ptr);
    if (gp_direct_was_freed(ptr))
        return gp_error_set(GP_ERR_DOUBLE_FREE, "%p lies in a block that is free already", ptr);
    return gp_error_set(GP_ERR_NOT_OWNED, "%p is not memory that gp holds", ptr);
}

gp_status gp_block_at(const void *ptr, gp_block *block)
{
    uintptr_t base = (uintptr_t)ptr;
    gp_page *page = gp_address_table_page(base);
    if (page != NULL && base % GP_GRANULE_BYTES == 0 && describe(page, base, block) &&
        gp_block_state(block) == GP_STATE_LIVE)
        return GP_OK;
    return explain(ptr, block);
}

gp_status gp_block_containing(const void *ptr, gp_block *block)
{
    if (find_containing((uintptr_t)ptr, block) && gp_block_state(block) == GP_STATE_LIVE)
        return GP_OK;
    return explain(ptr, block);
}

bool gp_block_next(const gp_segment *segment, uintptr_t *address, gp_block *block)
{
    uintptr_t end = segment->span.base + segment->span.bytes;
    while (*address < end) {
        gp_page *page = gp_address_table_page(*address);
        if (gp_address_table_segment(*address) == segment && describe(page, *address, block)) {
            *address += block->bytes;
            return true;
        }
        if (gp_address_table_segment(*address) != segment || !gp_page_has_small(page))
            *address = (*address & ~(GP_PAGE_BYTES - 1)) + GP_PAGE_BYTES;
        else
            *address += GP_GRANULE_BYTES;
    }
    return false;
}
