#include "buddy_group.h"

#include <assert.h>
#include <string.h>

/* What the group says of a slot: the free orders of the chunk there. */
static void set_orders(gp_buddy_group *group, size_t slot, uint32_t orders)
{
    for (unsigned order = 0; order <= GP_BUDDY_MAX_ORDER; order++) {
        uint64_t others = group->having[order] & ~(UINT64_C(1) << slot);

        group->having[order] = others | (uint64_t)(orders >> order & 1) << slot;
    }
}

static uint32_t find_free_orders(const gp_buddy_group *group)
{
    uint32_t orders = 0;

    for (unsigned order = 0; order <= GP_BUDDY_MAX_ORDER; order++) {
        orders |= (uint32_t)(group->having[order] != 0) << order;
    }
    return orders;
}

/* Put chunk at slot; what the slot held before is none of its concern. */
static void place(gp_buddy_group *group, size_t slot, gp_buddy_chunk *chunk)
{
    group->chunks[slot] = chunk;
    chunk->group = group;
    chunk->slot = (uint32_t)slot;
    set_orders(group, slot, chunk->free_orders);
}

void gp_buddy_group_insert(gp_buddy_group *group, gp_buddy_chunk *chunk)
{
    size_t slot = group->count;

    assert(group->count < GP_BUDDY_GROUP_CHUNKS);
    for (; slot > 0 && group->chunks[slot - 1]->span.base > chunk->span.base; slot--) {
        place(group, slot, group->chunks[slot - 1]);
    }
    place(group, slot, chunk);
    group->count++;
    group->free_orders = find_free_orders(group);
}

void gp_buddy_group_remove(gp_buddy_group *group, gp_buddy_chunk *chunk)
{
    group->count--;
    for (size_t slot = chunk->slot; slot < group->count; slot++) {
        place(group, slot, group->chunks[slot + 1]);
    }
    set_orders(group, group->count, 0);
    group->free_orders = find_free_orders(group);
    chunk->group = NULL;
}

void gp_buddy_group_split(gp_buddy_group *group, gp_buddy_group *upper)
{
    size_t half = group->count / 2;

    for (size_t slot = half; slot < group->count; slot++) {
        place(upper, slot - half, group->chunks[slot]);
        set_orders(group, slot, 0);
    }
    upper->count = group->count - half;
    group->count = half;
    upper->free_orders = find_free_orders(upper);
    group->free_orders = find_free_orders(group);
}

void gp_buddy_group_note(gp_buddy_group *group, const gp_buddy_chunk *chunk, uint32_t changed)
{
    uint32_t free_orders = group->free_orders | chunk->free_orders;
    uint64_t bit = UINT64_C(1) << chunk->slot;

    for (; changed != 0; changed &= changed - 1) {
        unsigned order = (unsigned)__builtin_ctz(changed);
        uint64_t having = group->having[order] ^ bit;

        group->having[order] = having;
        free_orders &= ~((uint32_t)(having == 0) << order);
    }
    group->free_orders = free_orders;
}

gp_buddy_chunk *gp_buddy_group_lowest(const gp_buddy_group *group, unsigned order, size_t alignment)
{
    for (uint64_t having = group->having[order]; having != 0; having &= having - 1) {
        gp_buddy_chunk *chunk = group->chunks[__builtin_ctzll(having)];

        if ((chunk->span.base & (alignment - 1)) == 0) {
            return chunk;
        }
    }
    return NULL;
}

/* Does the group say of this slot what the chunk says itself? */
static bool slot_is_valid(const gp_buddy_group *group, size_t slot)
{
    const gp_buddy_chunk *chunk = group->chunks[slot];
    uint32_t orders = 0;

    for (unsigned order = 0; order <= GP_BUDDY_MAX_ORDER; order++) {
        orders |= (uint32_t)(group->having[order] >> slot & 1) << order;
    }
    return chunk->group == group && chunk->slot == slot && orders == chunk->free_orders;
}

bool gp_buddy_group_is_valid(const gp_buddy_group *group)
{
    for (size_t slot = 0; slot < group->count; slot++) {
        if (!slot_is_valid(group, slot)) {
            return false;
        }
        if (slot > 0 && group->chunks[slot - 1]->span.base >= group->chunks[slot]->span.base) {
            return false;
        }
    }
    return group->count != 0 && group->free_orders == find_free_orders(group);
}
