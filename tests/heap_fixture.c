#include "heap_fixture.h"

#include "address_table.h"
#include "segment.h"

const size_t heap_segment_starts[HEAP_SEGMENTS + 1] = {0, 64, 131, HEAP_PAGES};

gp_stream_heap heap;

static gp_segment segments[HEAP_SEGMENTS];

static size_t page_of(gp_span span)
{
    return (span.base - HEAP_ADDRESS(0)) / GP_PAGE_BYTES;
}

void heap_open(void)
{
    gp_status status = gp_address_table_prepare(HEAP_ADDRESS(0), HEAP_PAGES * GP_PAGE_BYTES);
    cr_assert(eq(int, (int)status, (int)GP_OK));
    for (size_t i = 0; i < HEAP_SEGMENTS; i++) {
        size_t pages = heap_segment_starts[i + 1] - heap_segment_starts[i];
        gp_address_table_assign(HEAP_ADDRESS(heap_segment_starts[i]), pages * GP_PAGE_BYTES,
                                &segments[i]);
    }
}

void heap_close(void)
{
    gp_stream_heap_clear(&heap);
}

void heap_give(size_t page, size_t pages, uint64_t number)
{
    gp_page *first = gp_address_table_page(HEAP_ADDRESS(page));
    gp_stream_heap_give(&heap, first, pages * GP_PAGE_BYTES, number);
}

gp_fit heap_fit(size_t pages, size_t alignment_pages)
{
    return (gp_fit){.bytes = pages * GP_PAGE_BYTES, .alignment = alignment_pages * GP_PAGE_BYTES};
}

size_t heap_take(size_t pages, size_t alignment_pages, uint64_t limit)
{
    const gp_fit fit = heap_fit(pages, alignment_pages);
    gp_span span = {.base = 1};
    if (!gp_stream_heap_take(&heap, &fit, limit, &span)) {
        cr_assert(eq(sz, span.base, 1), "an output was written on failure");
        return HEAP_NONE;
    }
    cr_assert(eq(sz, span.bytes, fit.bytes));
    return page_of(span);
}

size_t heap_take_exact(size_t pages, size_t alignment_pages)
{
    const gp_fit fit = heap_fit(pages, alignment_pages);
    gp_span span;
    return gp_stream_heap_take_exact(&heap, &fit, &span) ? page_of(span) : HEAP_NONE;
}

typedef struct leavers {
    heap_span *spans;
    size_t count;
} leavers;

static void leave(void *user, gp_span span)
{
    leavers *self = user;
    self->spans[self->count++] =
        (heap_span){.page = page_of(span), .pages = span.bytes / GP_PAGE_BYTES};
}

size_t heap_take_old(uint64_t limit, heap_span spans[HEAP_PAGES])
{
    leavers all = {.spans = spans};
    gp_stream_heap_take_old(&heap, limit, leave, &all);
    return all.count;
}

size_t heap_pages(void)
{
    return gp_counter_get(&heap.bytes) / GP_PAGE_BYTES;
}

uint32_t heap_record(size_t page)
{
    return gp_record_get(&gp_address_table_page(HEAP_ADDRESS(page))->large);
}
