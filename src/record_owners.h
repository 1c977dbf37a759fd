/*
 * Which ring's thread allocated a block last: a table by address, each place of which has the last
 * of all allocations that fall on it. A thread that finds its own ring there with the block's own
 * address knows that nobody else had the block in between: every allocation of it would have
 * written this place, and whoever hands a block on hands on what it wrote before.
 */
#ifndef GP_SRC_RECORD_OWNERS_H
#define GP_SRC_RECORD_OWNERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "compiler.h"

#define GP_RECORD_OWNER_LINE_BITS 13

/* All zero: nobody. A place is the address, of which 8 bits are free, and the ring's index. A line
 * is for 4 KiB of addresses, which are mostly one thread's, so that threads seldom write the same
 * line. */
typedef struct gp_record_owners {
    _Alignas(GP_CACHE_LINE) _Atomic(uint64_t) lines[1u << GP_RECORD_OWNER_LINE_BITS][8];
} gp_record_owners;

static inline _Atomic(uint64_t) *gp_record_owner_place(gp_record_owners *owners, uint64_t address)
{
    const uint64_t line =
        ((address >> 12) * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - GP_RECORD_OWNER_LINE_BITS);
    return &owners->lines[line][address >> 9 & 7];
}

static inline void gp_record_owners_set(gp_record_owners *owners, uint64_t address, uint32_t ring)
{
    atomic_store_explicit(gp_record_owner_place(owners, address), address | ring,
                          memory_order_relaxed);
}

static inline bool gp_record_owners_has(gp_record_owners *owners, uint64_t address, uint32_t ring)
{
    return atomic_load_explicit(gp_record_owner_place(owners, address), memory_order_relaxed) ==
           (address | ring);
}

#endif
