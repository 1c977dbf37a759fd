#include "address_table.h"

#include <stdlib.h>

#include "error.h"
#include "request.h"
#include "segment.h"

gp_address_root gp_address_table;

/* Two threads may make the same leaf; one of them throws its own away. */
static gp_status make_leaf(uintptr_t root)
{
    if (atomic_load_explicit(&gp_address_table[root], memory_order_acquire) != NULL)
        return GP_OK;

    /* Zeroed by the kernel, so that only pages that are used take memory; not by mmap(), since leak
     * checkers do not look for pointers there. */
    void *memory = calloc(1, sizeof(gp_leaf) + _Alignof(gp_leaf));
    if (memory == NULL)
        return gp_error_set(GP_ERR_OUT_OF_HOST_MEMORY, "no host memory for the address table");

    gp_leaf *leaf = (gp_leaf *)gp_round_up((uintptr_t)memory, _Alignof(gp_leaf));
    gp_leaf *none = NULL;
    if (!atomic_compare_exchange_strong_explicit(&gp_address_table[root], &none, leaf,
                                                 memory_order_acq_rel, memory_order_acquire))
        free(memory);
    return GP_OK;
}

gp_status gp_address_table_prepare(uintptr_t base, size_t bytes)
{
    uintptr_t last = (base + bytes - 1) >> GP_LEAF_SHIFT;
    if (last >= GP_ROOT_ENTRIES)
        return gp_error_set(GP_ERR_UNSUPPORTED, "device address %#llx has more than %d bits",
                            (unsigned long long)base, GP_ADDRESS_BITS);

    for (uintptr_t root = base >> GP_LEAF_SHIFT; root <= last; root++) {
        gp_status status = make_leaf(root);
        if (status != GP_OK)
            return status;
    }
    return GP_OK;
}

void gp_address_table_assign(uintptr_t base, size_t bytes, gp_segment *segment)
{
    gp_pool *pool = segment == NULL ? NULL : segment->pool;
    for (uintptr_t address = base; address < base + bytes; address += GP_PAGE_BYTES) {
        gp_leaf *leaf = gp_address_table_held_leaf(address);
        gp_page *page = gp_leaf_page(leaf, address);
        page->base = address;
        atomic_store_explicit(&leaf->pools[(address >> GP_PAGE_SHIFT) % GP_LEAF_ENTRIES], pool,
                              memory_order_release);
        atomic_store_explicit(&page->segment, segment, memory_order_release);
    }
}
