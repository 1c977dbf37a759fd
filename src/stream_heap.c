#include "stream_heap.h"

#include "address_table.h"

static int compare_addresses(const gp_page *a, const gp_page *b)
{
    return (a->base > b->base) - (a->base < b->base);
}

static int compare_sizes(const gp_page *a, const gp_page *b)
{
    if (gp_page_large_bytes(a) != gp_page_large_bytes(b))
        return gp_page_large_bytes(a) < gp_page_large_bytes(b) ? -1 : 1;
    return compare_addresses(a, b);
}

GP_TREE_GENERATE(gp_spans_by_address, gp_page, by_address, compare_addresses)
GP_TREE_GENERATE(gp_spans_by_size, gp_page, by_size, compare_sizes)

/* ---- in ------------------------------------------------------------------------- */

static bool touch(const gp_page *low, const gp_page *high)
{
    return low != NULL && high != NULL && low->base + gp_page_large_bytes(low) == high->base &&
           gp_address_table_segment(low->base) == gp_address_table_segment(high->base);
}

/* The spans on both sides of an address that is in none. */
static void find_neighbours(const gp_stream_heap *heap, uintptr_t base, gp_page **prev,
                            gp_page **next)
{
    gp_page *page = RB_ROOT(&heap->by_address);
    *prev = NULL;
    *next = NULL;
    while (page != NULL) {
        gp_page **side = page->base < base ? prev : next;
        *side = page;
        page = side == prev ? RB_RIGHT(page, by_address) : RB_LEFT(page, by_address);
    }
}

/* `high` becomes part of `low`, which is on its way to its place by size. */
static void absorb(gp_page *low, gp_page *high)
{
    gp_page_set_large_bytes(low, gp_page_large_bytes(low) + gp_page_large_bytes(high));
    if (high->give > low->give)
        low->give = high->give;
    gp_page_set_large(high, GP_STATE_FREED);
}

void gp_stream_heap_give(gp_stream_heap *heap, gp_page *page, size_t bytes, uint64_t give)
{
    gp_page_set_large_bytes(page, bytes);
    page->give = give;
    if (give < heap->oldest || gp_counter_get(&heap->bytes) == 0)
        heap->oldest = give;
    gp_counter_add(&heap->bytes, bytes);

    gp_page *prev;
    gp_page *next;
    find_neighbours(heap, page->base, &prev, &next);
    if (touch(page, next)) {
        (void)RB_REMOVE(gp_spans_by_size, &heap->by_size, next);
        (void)RB_REMOVE(gp_spans_by_address, &heap->by_address, next);
        absorb(page, next);
    }
    if (touch(prev, page)) {
        (void)RB_REMOVE(gp_spans_by_size, &heap->by_size, prev);
        absorb(prev, page);
        page = prev;
    } else {
        gp_page_set_large(page, GP_STATE_CACHED); /* One block to whoever walks the pool. */
        (void)RB_INSERT(gp_spans_by_address, &heap->by_address, page);
    }
    (void)RB_INSERT(gp_spans_by_size, &heap->by_size, page);
}

/* ---- out ------------------------------------------------------------------------ */

static void remove_span(gp_stream_heap *heap, gp_page *page)
{
    (void)RB_REMOVE(gp_spans_by_address, &heap->by_address, page);
    (void)RB_REMOVE(gp_spans_by_size, &heap->by_size, page);
    gp_counter_sub(&heap->bytes, gp_page_large_bytes(page));
}

/* The smallest span of at least so many bytes. */
static gp_page *lower_bound(const gp_stream_heap *heap, size_t bytes)
{
    gp_page *page = RB_ROOT(&heap->by_size);
    gp_page *best = NULL;
    while (page != NULL) {
        if (gp_page_large_bytes(page) >= bytes) {
            best = page;
            page = RB_LEFT(page, by_size);
        } else {
            page = RB_RIGHT(page, by_size);
        }
    }
    return best;
}

/* A block lies as high in the span as its alignment lets it. */
static bool place(const gp_page *page, const gp_fit *fit, uintptr_t *base)
{
    if (gp_page_large_bytes(page) < fit->bytes)
        return false;
    *base =
        (page->base + gp_page_large_bytes(page) - fit->bytes) & ~((uintptr_t)fit->alignment - 1);
    return *base >= page->base;
}

static gp_page *find(gp_stream_heap *heap, const gp_fit *fit, uint64_t limit, uintptr_t *base)
{
    gp_page *page = lower_bound(heap, fit->bytes);
    while (page != NULL && (page->give > limit || !place(page, fit, base)))
        page = RB_NEXT(gp_spans_by_size, &heap->by_size, page);
    return page;
}

bool gp_stream_heap_take_exact(gp_stream_heap *heap, const gp_fit *fit, gp_span *span)
{
    gp_page *page =
        gp_counter_get(&heap->bytes) < fit->bytes ? NULL : lower_bound(heap, fit->bytes);
    if (page == NULL || !gp_fit_is_met(fit, page->base, gp_page_large_bytes(page)))
        return false;
    remove_span(heap, page);
    *span = (gp_span){.base = page->base, .bytes = fit->bytes};
    return true;
}

/* Cut off a span's high end; what is left keeps its place by address. */
static void shorten(gp_stream_heap *heap, gp_page *page, size_t bytes)
{
    gp_counter_sub(&heap->bytes, gp_page_large_bytes(page) - bytes);
    (void)RB_REMOVE(gp_spans_by_size, &heap->by_size, page);
    gp_page_set_large_bytes(page, bytes);
    (void)RB_INSERT(gp_spans_by_size, &heap->by_size, page);
}

bool gp_stream_heap_take(gp_stream_heap *heap, const gp_fit *fit, uint64_t limit, gp_span *span)
{
    uintptr_t base;
    gp_page *page =
        gp_counter_get(&heap->bytes) < fit->bytes ? NULL : find(heap, fit, limit, &base);
    if (page == NULL)
        return false;

    const uintptr_t end = page->base + gp_page_large_bytes(page);
    const uintptr_t block_end = base + fit->bytes;
    if (base == page->base)
        remove_span(heap, page);
    else
        shorten(heap, page, base - page->base);
    if (block_end < end)
        gp_stream_heap_give(heap, gp_address_table_held(block_end), end - block_end, page->give);
    *span = (gp_span){.base = base, .bytes = fit->bytes};
    return true;
}

void gp_stream_heap_take_old(gp_stream_heap *heap, uint64_t limit,
                             void (*leave)(void *user, gp_span span), void *user)
{
    gp_page *next;
    uint64_t oldest = UINT64_MAX;
    if (limit < heap->oldest)
        return;
    for (gp_page *page = RB_MIN(gp_spans_by_address, &heap->by_address); page != NULL;
         page = next) {
        next = RB_NEXT(gp_spans_by_address, &heap->by_address, page);
        if (page->give > limit) {
            oldest = page->give < oldest ? page->give : oldest;
            continue;
        }
        remove_span(heap, page);
        leave(user, (gp_span){.base = page->base, .bytes = gp_page_large_bytes(page)});
    }
    heap->oldest = oldest;
}

/* ---- all of it ------------------------------------------------------------------- */

void gp_stream_heap_renew(gp_stream_heap *heap, uint64_t give)
{
    gp_page *page;
    heap->oldest = give;
    RB_FOREACH (page, gp_spans_by_address, &heap->by_address)
        page->give = give;
}

void gp_stream_heap_clear(gp_stream_heap *heap)
{
    *heap = (gp_stream_heap){0};
}

/* ---- how it is ------------------------------------------------------------------- */

size_t gp_stream_heap_largest(const gp_stream_heap *heap)
{
    const gp_page *page = RB_ROOT(&heap->by_size);
    while (page != NULL && RB_RIGHT(page, by_size) != NULL)
        page = RB_RIGHT(page, by_size);
    return page == NULL ? 0 : gp_page_large_bytes(page);
}
