/*
 * A stream heap without a device or a pool, over addresses that nobody holds.
 *
 * Places and lengths are in pages, counted from the start of the address space under test,
 * which three native segments fill.
 */
#ifndef GP_TESTS_HEAP_FIXTURE_H
#define GP_TESTS_HEAP_FIXTURE_H

#include "stream_heap.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

enum { HEAP_PAGES = 192, HEAP_SEGMENTS = 3 };

#define HEAP_ADDRESS(page) ((uintptr_t)0x700000000000 + (uintptr_t)(page)*GP_PAGE_BYTES)

/* Where each segment begins, and the last one ends. They touch; the third is worse aligned. */
extern const size_t heap_segment_starts[HEAP_SEGMENTS + 1];

extern gp_stream_heap heap;

/* Suite's .init and .fini. The heap is empty at first. */
void heap_open(void);
void heap_close(void);

/* A span comes in as give number `number`. */
void heap_give(size_t page, size_t pages, uint64_t number);

gp_fit heap_fit(size_t pages, size_t alignment_pages);

#define HEAP_ANY_AGE UINT64_MAX

/* Where the span lies that was taken so, as long as was asked; HEAP_NONE if there was none. */
#define HEAP_NONE SIZE_MAX
size_t heap_take(size_t pages, size_t alignment_pages, uint64_t limit);
size_t heap_take_exact(size_t pages, size_t alignment_pages);

typedef struct heap_span {
    size_t page;
    size_t pages;
} heap_span;

/* Take out everything that is no younger than the limit; returns how many spans there were,
 * and they, in the order in which they came. */
size_t heap_take_old(uint64_t limit, heap_span spans[HEAP_PAGES]);

/* What the heap says it holds. */
size_t heap_pages(void);

/* The record of the page's first byte. */
uint32_t heap_record(size_t page);

#endif
