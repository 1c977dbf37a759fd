/*
 * A page: what gp knows about 64 KiB of device memory. The large block that starts with it, if
 * one does, and the records of all small ones that start in it:
 *
 *     address ──table──▶ page ─┬─────────────────────────────▶ large
 *                              └──(address / 512) % 128──▶ record
 *
 * A record is one word, so that a hit writes it with one store:
 *
 *     bits 0-15   size class, or GP_CLASS_LARGE (then the page has the size)
 *     bits 16-23  state
 *     bit  24     other streams' uses were recorded (use_table)
 *
 * 4 bytes for each 512 are 0.8 % of the memory, and there are such records only for pages in
 * which a small block ever started.
 */
#ifndef GP_SRC_PAGE_H
#define GP_SRC_PAGE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "gp/base.h"
#include "size_class.h"
#include "tree.h"

#define GP_PAGE_SHIFT 16
#define GP_PAGE_BYTES ((size_t)1 << GP_PAGE_SHIFT)
#define GP_GRANULE_SHIFT 9
#define GP_PAGE_RECORDS (1u << (GP_PAGE_SHIFT - GP_GRANULE_SHIFT))

#define GP_CLASS_LARGE 0xffffu
#define GP_RECORD_CLASS_MASK 0x0000ffffu
#define GP_RECORD_STATE_MASK 0x00ff0000u
#define GP_RECORD_USED 0x01000000u

/* State of the block that starts at a record's address. */
#define GP_STATE_NONE 0x00000000u   /* No block has started here. */
#define GP_STATE_LIVE 0x00010000u   /* The caller holds it. */
#define GP_STATE_CACHED 0x00020000u /* In a thread cache, or on its way home. */
#define GP_STATE_FREED 0x00030000u  /* Back with the policy; kept to know a double free. */
#define GP_STATE_PARKED 0x00040000u /* Freed inside a capture; free once that ends. */
#define GP_STATE_PINNED 0x00050000u /* A piece of an arena, which knows what is in it. */

typedef _Atomic(uint32_t) gp_record;

typedef struct gp_page_records {
    gp_record of_granule[GP_PAGE_RECORDS];
} gp_page_records;

/* An entry of the address table. All that a large block needs is in its first cache line: its
 * pages are too many to be in a cache. */
typedef struct gp_page {
    _Alignas(64) _Atomic(gp_pool *) pool; /* NULL: not gp's memory. */
    _Atomic(struct gp_segment *) segment; /* Innermost; NULL likewise. */
    uintptr_t base;                       /* Multiple of GP_PAGE_BYTES; set with the segment. */
    _Atomic(gp_page_records *) records;   /* NULL until a small block starts here. */
    _Atomic(size_t) large_bytes;          /* Size of the large block, or of the free span, */
    gp_record large;                      /* and its record. */
    uint64_t give;                        /* The stream's give count at the last free in it. */

    RB_ENTRY(gp_page) by_address; /* Of a free span in a stream heap. */
    RB_ENTRY(gp_page) by_size;
} gp_page;

/* A block as the tiers pass it around. */
typedef struct gp_slot {
    uintptr_t base;
    gp_record *record;
} gp_slot;

static inline gp_page_records *gp_page_get_records(const gp_page *page)
{
    return atomic_load_explicit(&page->records, memory_order_acquire);
}

/* The record of a small block that starts at `base`. */
static inline gp_record *gp_record_at(gp_page_records *records, uintptr_t base)
{
    return &records->of_granule[(base >> GP_GRANULE_SHIFT) % GP_PAGE_RECORDS];
}

static inline uint32_t gp_record_get(const gp_record *record)
{
    return atomic_load_explicit(record, memory_order_relaxed);
}

static inline void gp_record_set(gp_record *record, uint32_t value)
{
    atomic_store_explicit(record, value, memory_order_relaxed);
}

static inline size_t gp_page_large_bytes(const gp_page *page)
{
    return atomic_load_explicit(&page->large_bytes, memory_order_relaxed);
}

static inline void gp_page_set_large_bytes(gp_page *page, size_t bytes)
{
    atomic_store_explicit(&page->large_bytes, bytes, memory_order_relaxed);
}

static inline void gp_page_set_large(gp_page *page, uint32_t state)
{
    gp_record_set(&page->large, GP_CLASS_LARGE | state);
}

/* Size of a block that starts in the page, whose record reads `value`. */
static inline size_t gp_page_block_bytes(const gp_page *page, uint32_t value)
{
    uint32_t size_class = value & GP_RECORD_CLASS_MASK;
    return size_class == GP_CLASS_LARGE ? gp_page_large_bytes(page)
                                        : gp_size_class_bytes(size_class);
}

#endif
