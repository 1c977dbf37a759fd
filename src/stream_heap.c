#include "stream_heap.h"

#include "address_table.h"

static int compare_addresses(const gp_page *a, const gp_page *b)
{
    return (a->base > b->base) - (a->base < b->base);
}

static size_t bytes_of(const gp_page *page)
{
    return atomic_load_explicit(&page->large, memory_order_relaxed);
}

static int compare_sizes(const gp_page *a, const gp_page *b)
{
    if (bytes_of(a) != bytes_of(b))
        return bytes_of(a) < bytes_of(b) ? -1 : 1;
    return compare_addresses(a, b);
}

GP_TREE_GENERATE(gp_spans_by_address, gp_page, span.by_address, compare_addresses)
GP_TREE_GENERATE(gp_spans_by_size, gp_page, span.by_size, compare_sizes)

/* ---- records ------------------------------------------------------------------- */

/* A span is one cached block to whoever walks the pool. */
static void set_bytes(gp_page *page, size_t bytes)
{
    atomic_store_explicit(&page->large, bytes, memory_order_relaxed);
}

static void set_state(gp_page *page, uint32_t state)
{
    gp_record_set(gp_page_record(page, page->base), GP_CLASS_LARGE | state);
}

/* ---- in ------------------------------------------------------------------------- */

static bool touch(const gp_page *low, const gp_page *high)
{
    return low != NULL && high != NULL && low->base + bytes_of(low) == high->base &&
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
        page = side == prev ? RB_RIGHT(page, span.by_address) : RB_LEFT(page, span.by_address);
    }
}

/* `high` becomes part of `low`, which is on its way to its place by size. */
static void absorb(gp_page *low, gp_page *high)
{
    set_bytes(low, bytes_of(low) + bytes_of(high));
    if (high->span.give > low->span.give)
        low->span.give = high->span.give;
    set_state(high, GP_STATE_FREED);
}

void gp_stream_heap_give(gp_stream_heap *heap, gp_page *page, size_t bytes, uint64_t give)
{
    set_bytes(page, bytes);
    page->span.give = give;
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
        set_state(page, GP_STATE_CACHED);
        (void)RB_INSERT(gp_spans_by_address, &heap->by_address, page);
    }
    (void)RB_INSERT(gp_spans_by_size, &heap->by_size, page);
}

/* ---- out ------------------------------------------------------------------------ */

static void remove_span(gp_stream_heap *heap, gp_page *page)
{
    (void)RB_REMOVE(gp_spans_by_address, &heap->by_address, page);
    (void)RB_REMOVE(gp_spans_by_size, &heap->by_size, page);
    gp_counter_sub(&heap->bytes, bytes_of(page));
}

/* The smallest span of at least so many bytes. */
static gp_page *lower_bound(const gp_stream_heap *heap, size_t bytes)
{
    gp_page *page = RB_ROOT(&heap->by_size);
    gp_page *best = NULL;
    while (page != NULL) {
        if (bytes_of(page) >= bytes) {
            best = page;
            page = RB_LEFT(page, span.by_size);
        } else {
            page = RB_RIGHT(page, span.by_size);
        }
    }
    return best;
}

/* A block lies as high in the span as its alignment lets it. */
static bool place(const gp_page *page, const gp_fit *fit, uintptr_t *base)
{
    if (bytes_of(page) < fit->bytes)
        return false;
    *base = (page->base + bytes_of(page) - fit->bytes) & ~((uintptr_t)fit->alignment - 1);
    return *base >= page->base;
}

static gp_page *find(gp_stream_heap *heap, const gp_fit *fit, uint64_t limit, uintptr_t *base)
{
    gp_page *page = lower_bound(heap, fit->bytes);
    while (page != NULL && (page->span.give > limit || !place(page, fit, base)))
        page = RB_NEXT(gp_spans_by_size, &heap->by_size, page);
    return page;
}

gp_page *gp_stream_heap_take_exact(gp_stream_heap *heap, const gp_fit *fit)
{
    gp_page *page =
        gp_counter_get(&heap->bytes) < fit->bytes ? NULL : lower_bound(heap, fit->bytes);
    if (page == NULL || !gp_fit_is_met(fit, page->base, bytes_of(page)))
        return NULL;
    remove_span(heap, page);
    return page;
}

/* Cut off a span's high end; what is left keeps its place by address. */
static void shorten(gp_stream_heap *heap, gp_page *page, size_t bytes)
{
    gp_counter_sub(&heap->bytes, bytes_of(page) - bytes);
    (void)RB_REMOVE(gp_spans_by_size, &heap->by_size, page);
    set_bytes(page, bytes);
    (void)RB_INSERT(gp_spans_by_size, &heap->by_size, page);
}

bool gp_stream_heap_take(gp_stream_heap *heap, gp_page_store *pages, const gp_fit *fit,
                         uint64_t limit, gp_span *span)
{
    uintptr_t base;
    gp_page *page =
        gp_counter_get(&heap->bytes) < fit->bytes ? NULL : find(heap, fit, limit, &base);
    if (page == NULL)
        return false;

    const uintptr_t end = page->base + bytes_of(page);
    const uintptr_t block_end = base + fit->bytes;
    gp_page *tail = block_end < end ? gp_page_store_at(pages, block_end) : NULL;
    if (gp_page_store_at(pages, base) == NULL || (block_end < end && tail == NULL))
        return false;

    if (base == page->base)
        remove_span(heap, page);
    else
        shorten(heap, page, base - page->base);
    if (tail != NULL)
        gp_stream_heap_give(heap, tail, end - block_end, page->span.give);
    *span = (gp_span){.base = base, .bytes = fit->bytes};
    return true;
}

void gp_stream_heap_take_old(gp_stream_heap *heap, uint64_t limit,
                             void (*leave)(void *user, gp_page *page, size_t bytes), void *user)
{
    gp_page *next;
    uint64_t oldest = UINT64_MAX;
    if (limit < heap->oldest)
        return;
    for (gp_page *page = RB_MIN(gp_spans_by_address, &heap->by_address); page != NULL;
         page = next) {
        next = RB_NEXT(gp_spans_by_address, &heap->by_address, page);
        if (page->span.give > limit) {
            oldest = page->span.give < oldest ? page->span.give : oldest;
            continue;
        }
        remove_span(heap, page);
        leave(user, page, bytes_of(page));
    }
    heap->oldest = oldest;
}

/* ---- all of it ------------------------------------------------------------------- */

void gp_stream_heap_renew(gp_stream_heap *heap, uint64_t give)
{
    gp_page *page;
    heap->oldest = give;
    RB_FOREACH (page, gp_spans_by_address, &heap->by_address)
        page->span.give = give;
}

void gp_stream_heap_clear(gp_stream_heap *heap)
{
    *heap = (gp_stream_heap){0};
}
