/*
 * From a device address to its page, in one load.
 *
 *     address: | 19 bits root | 14 bits leaf | 16 bits inside the page |
 *
 * One table for the process, since a free names no pool. Reading takes no lock; leaves are
 * never freed (2 MiB of host memory for 1 GiB of addresses, 0.2 %).
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

typedef _Atomic(gp_page *) gp_address_root[GP_ROOT_ENTRIES];

extern gp_address_root gp_address_table;

/* NULL if gp never held memory near `address`. */
static inline gp_page *gp_address_table_page(uintptr_t address)
{
    uintptr_t root = address >> GP_LEAF_SHIFT;
    if (__builtin_expect(root >= GP_ROOT_ENTRIES, 0))
        return NULL;
    gp_page *leaf = atomic_load_explicit(&gp_address_table[root], memory_order_acquire);
    if (__builtin_expect(leaf == NULL, 0))
        return NULL;
    return &leaf[(address >> GP_PAGE_SHIFT) % GP_LEAF_ENTRIES];
}

/* The same for memory that gp holds. */
static inline gp_page *gp_address_table_held(uintptr_t address)
{
    gp_page *leaf =
        atomic_load_explicit(&gp_address_table[address >> GP_LEAF_SHIFT], memory_order_acquire);
    return &leaf[(address >> GP_PAGE_SHIFT) % GP_LEAF_ENTRIES];
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
