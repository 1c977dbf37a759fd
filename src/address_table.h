/*
 * From a device address to its pool, its page, and the record of a small block, each in one load
 * after that of the leaf.
 *
 *     address: | 19 bits root | 14 bits page | 7 bits granule | 9 bits inside |
 *
 *     root ──▶ leaf ─┬─ pools[page]
 *                    ├─ pages[page]
 *                    └─ records[page, granule]
 *
 * A free that hits needs the first and the last. With many live blocks no record is in a cache;
 * pools, eight to a cache line, are. Both places follow from the address alone, so that neither
 * has to wait for the other.
 *
 * One table for the process, since a free names no pool. Reading takes no lock; leaves are never
 * freed. The kernel gives a leaf only the memory that is written: of pages 0.2 % of the device
 * memory, of records 0.8 % of that in which small blocks ever were.
 */
#ifndef GP_SRC_ADDRESS_TABLE_H
#define GP_SRC_ADDRESS_TABLE_H

#include <stdatomic.h>

#include "gp/status.h"
#include "compiler.h"
#include "page.h"

#define GP_ADDRESS_BITS 49
#define GP_LEAF_BITS 14
#define GP_LEAF_ENTRIES ((uintptr_t)1 << GP_LEAF_BITS)
#define GP_LEAF_SHIFT (GP_PAGE_SHIFT + GP_LEAF_BITS)
#define GP_ROOT_ENTRIES ((uintptr_t)1 << (GP_ADDRESS_BITS - GP_LEAF_SHIFT))

#define GP_LEAF_RECORDS (GP_LEAF_ENTRIES * GP_PAGE_RECORDS)

typedef struct gp_leaf {
    gp_page pages[GP_LEAF_ENTRIES];
    _Atomic(gp_pool *) pools[GP_LEAF_ENTRIES]; /* NULL: not gp's memory. */
    gp_record records[GP_LEAF_RECORDS];
} gp_leaf;

typedef _Atomic(gp_leaf *) gp_address_root[GP_ROOT_ENTRIES];

extern gp_address_root gp_address_table;

/* NULL if gp never held memory near `address`. */
static inline gp_leaf *gp_address_table_leaf(uintptr_t address)
{
    uintptr_t root = address >> GP_LEAF_SHIFT;
    if (GP_UNLIKELY(root >= GP_ROOT_ENTRIES))
        return NULL;
    return atomic_load_explicit(&gp_address_table[root], memory_order_acquire);
}

/* The same for memory that gp holds. */
static inline gp_leaf *gp_address_table_held_leaf(uintptr_t address)
{
    return atomic_load_explicit(&gp_address_table[address >> GP_LEAF_SHIFT], memory_order_acquire);
}

static inline gp_page *gp_leaf_page(gp_leaf *leaf, uintptr_t address)
{
    return &leaf->pages[(address >> GP_PAGE_SHIFT) % GP_LEAF_ENTRIES];
}

static inline gp_pool *gp_leaf_pool(const gp_leaf *leaf, uintptr_t address)
{
    return atomic_load_explicit(&leaf->pools[(address >> GP_PAGE_SHIFT) % GP_LEAF_ENTRIES],
                                memory_order_acquire);
}

/* The record of a small block that starts at `address`. */
static inline gp_record *gp_leaf_record(gp_leaf *leaf, uintptr_t address)
{
    return &leaf->records[(address >> GP_GRANULE_SHIFT) % GP_LEAF_RECORDS];
}

/* NULL if gp never held memory near `address`. */
static inline gp_page *gp_address_table_page(uintptr_t address)
{
    gp_leaf *leaf = gp_address_table_leaf(address);
    return GP_UNLIKELY(leaf == NULL) ? NULL : gp_leaf_page(leaf, address);
}

/* The same for memory that gp holds. */
static inline gp_page *gp_address_table_held(uintptr_t address)
{
    return gp_leaf_page(gp_address_table_held_leaf(address), address);
}

static inline gp_pool *gp_address_table_pool(uintptr_t address)
{
    const gp_leaf *leaf = gp_address_table_leaf(address);
    return leaf == NULL ? NULL : gp_leaf_pool(leaf, address);
}

static inline struct gp_segment *gp_address_table_segment(uintptr_t address)
{
    gp_page *page = gp_address_table_page(address);
    return page == NULL ? NULL : atomic_load_explicit(&page->segment, memory_order_acquire);
}

/*
 * Make pages for a span exist, so that gp_address_table_assign() cannot fail.
 * GP_ERR_OUT_OF_HOST_MEMORY, or GP_ERR_UNSUPPORTED for an address of more bits
 * than the table covers.
 */
gp_status gp_address_table_prepare(uintptr_t base, size_t bytes);

/* Let every page of a prepared span belong to `segment` and its pool; NULL when gp gives the
 * span back. Base and bytes are multiples of GP_PAGE_BYTES. */
void gp_address_table_assign(uintptr_t base, size_t bytes, struct gp_segment *segment);

#endif
