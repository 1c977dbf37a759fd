/*
 * A page: what gp knows about 64 KiB of device memory, but for the records of the small blocks in
 * it, which lie beside the pages (address_table.h).
 *
 * A record is one word, so that a hit writes it with one store:
 *
 *     bits 0-15   size class, or GP_CLASS_LARGE (then the page has the size)
 *     bits 16-23  state
 *     bit  24     other streams' uses were recorded (use_table)
 *     bit  25     live, large, and counted against its stream's budget (budget.h)
 */
#ifndef GP_SRC_PAGE_H
#define GP_SRC_PAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gp/base.h"
#include "compiler.h"
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
#define GP_RECORD_CHARGED 0x02000000u

/* State of the block that starts at a record's address. */
#define GP_STATE_NONE 0x00000000u   /* No block has started here. */
#define GP_STATE_LIVE 0x00010000u   /* The caller holds it. */
#define GP_STATE_CACHED 0x00020000u /* In a thread cache, or on its way home. */
#define GP_STATE_FREED 0x00030000u  /* Back with the policy; kept to know a double free. */
#define GP_STATE_PARKED 0x00040000u /* Freed inside a capture; free once that ends. */
#define GP_STATE_PINNED 0x00050000u /* A piece of an arena, which knows what is in it. */

typedef _Atomic(uint32_t) gp_record;

/* An entry of the address table. All but its place in a heap is in its first cache line: the pages
 * are too many to be in a cache. */
typedef struct gp_page {
    _Alignas(GP_CACHE_LINE) _Atomic(struct gp_segment *) segment; /* Innermost; NULL: not gp's. */
    uintptr_t base;                 /* Multiple of GP_PAGE_BYTES; set with the segment. */
    _Atomic(size_t) large_bytes;    /* Size of the large block, or of the free span, */
    gp_record large;                /* and its record. */
    _Atomic(bool) has_small;        /* A small block has started here. */
    uint64_t give;                  /* The stream's give count at the last free in it. */
    struct gp_stream_cache *holder; /* Of a charged block: whose budget it counts in. */

    /* A bit for each small block that the policy has not. Under the lock of the stream cache that
     * cuts the page. */
    uint64_t taken[GP_PAGE_RECORDS / 64];

    RB_ENTRY(gp_page) by_address; /* Of a free span in a stream heap. */
    RB_ENTRY(gp_page) by_size;
} gp_page;

_Static_assert(offsetof(gp_page, by_address) == GP_CACHE_LINE, "the rest is one cache line");

/* A block as the tiers pass it around. */
typedef struct gp_slot {
    uintptr_t base;
    gp_record *record;
} gp_slot;

/* A block leaves the policy. */
static inline void gp_page_take(gp_page *page, uintptr_t base)
{
    const uint32_t granule = (uint32_t)(base >> GP_GRANULE_SHIFT) % GP_PAGE_RECORDS;
    page->taken[granule / 64] |= UINT64_C(1) << granule % 64;
}

/* It comes back. False: it did already, whatever its record says. */
static inline bool gp_page_give(gp_page *page, uintptr_t base)
{
    const uint32_t granule = (uint32_t)(base >> GP_GRANULE_SHIFT) % GP_PAGE_RECORDS;
    const uint64_t bit = UINT64_C(1) << granule % 64;
    const bool taken = (page->taken[granule / 64] & bit) != 0;
    page->taken[granule / 64] &= ~bit;
    return taken;
}

static inline uint32_t gp_record_get(const gp_record *record)
{
    return atomic_load_explicit(record, memory_order_relaxed);
}

static inline void gp_record_set(gp_record *record, uint32_t value)
{
    atomic_store_explicit(record, value, memory_order_relaxed);
}

/* What a record says beside its state until the block ends. */
#define GP_RECORD_KEPT_MASK (GP_RECORD_CLASS_MASK | GP_RECORD_CHARGED)

/* A live block is freed: of several threads that try it, one gets true. */
static inline bool gp_record_claim(gp_record *record, uint32_t state)
{
    uint32_t seen = gp_record_get(record);
    while ((seen & GP_RECORD_STATE_MASK) == GP_STATE_LIVE) {
        if (atomic_compare_exchange_weak_explicit(record, &seen,
                                                  (seen & GP_RECORD_KEPT_MASK) | state,
                                                  memory_order_relaxed, memory_order_relaxed))
            return true;
    }
    return false;
}

/* The same on the way of a hit, for a record that was just seen live. An exchange costs a
 * seventh of a pair of hits, so that builds without checks leave it to those who take a block out
 * of a cache to see that it is there twice. */
static inline bool gp_record_claim_hit(gp_record *record, uint32_t size_class)
{
#if GP_CHECKS >= 1
    (void)size_class;
    return gp_record_claim(record, GP_STATE_CACHED);
#else
    gp_record_set(record, size_class | GP_STATE_CACHED);
    return true;
#endif
}

/* A cached block of a class goes to a caller. False: it was there twice, and went already. */
static inline bool gp_record_hand_out(gp_record *record, uint32_t size_class)
{
    const bool here = gp_record_get(record) == (size_class | GP_STATE_CACHED);
    if (GP_LIKELY(here))
        gp_record_set(record, size_class | GP_STATE_LIVE);
    return here;
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
