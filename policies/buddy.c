#include "buddy.h"

#include <assert.h>
#include <stdlib.h>

static uint32_t orders_of(const gp_buddy_group *subtree)
{
    return subtree != NULL ? subtree->subtree_orders : 0;
}

static uint32_t orders_below(const gp_buddy_group *group)
{
    return group->free_orders | orders_of(RB_LEFT(group, by_base)) |
           orders_of(RB_RIGHT(group, by_base));
}

static uintptr_t base_of(const gp_buddy_group *group)
{
    return group->chunks[0]->span.base;
}

static int compare(const gp_buddy_group *a, const gp_buddy_group *b)
{
    return (base_of(a) > base_of(b)) - (base_of(a) < base_of(b));
}

#undef RB_AUGMENT
#define RB_AUGMENT(group) ((group)->subtree_orders = orders_below(group))
GP_TREE_GENERATE(gp_buddy_tree, gp_buddy_group, by_base, compare)

/* The group's free orders may have changed: say so to everything above it. */
static void update_above(gp_buddy_group *group)
{
    while (group != NULL) {
        uint32_t orders = orders_below(group);

        if (orders == group->subtree_orders) {
            return;
        }
        group->subtree_orders = orders;
        group = RB_PARENT(group, by_base);
    }
}

/* A node without orders changes nothing above it, so it can be put in and taken
 * out as the tree's own code does it, which updates only where it rotates. */
static void link_group(gp_buddy *buddy, gp_buddy_group *group)
{
    uint32_t orders = group->free_orders;

    group->free_orders = 0;
    group->subtree_orders = 0;
    RB_INSERT(gp_buddy_tree, &buddy->groups, group);
    group->free_orders = orders;
    update_above(group);
}

static void unlink_group(gp_buddy *buddy, gp_buddy_group *group)
{
    group->free_orders = 0;
    update_above(group);
    RB_REMOVE(gp_buddy_tree, &buddy->groups, group);
}

gp_status gp_buddy_init(gp_buddy *buddy)
{
    *buddy = (gp_buddy){0};
    return gp_range_map_init(&buddy->by_address, GP_BUDDY_MAX_BYTES) ? GP_OK
                                                                     : GP_ERR_OUT_OF_HOST_MEMORY;
}

void gp_buddy_fini(gp_buddy *buddy)
{
    while (!RB_EMPTY(&buddy->groups)) {
        gp_buddy_group *group = RB_ROOT(&buddy->groups);

        RB_REMOVE(gp_buddy_tree, &buddy->groups, group);
        for (size_t i = 0; i < group->count; i++) {
            gp_buddy_chunk_destroy(group->chunks[i]);
        }
        free(group);
    }
    gp_range_map_fini(&buddy->by_address);
}

/* The group a chunk with this base belongs to: the last that begins below it, or
 * else the first. @return NULL: there is no group. */
static gp_buddy_group *group_for(const gp_buddy *buddy, uintptr_t base)
{
    gp_buddy_group *group = RB_ROOT(&buddy->groups);
    gp_buddy_group *found = group;

    while (group != NULL) {
        if (base_of(group) < base) {
            found = group;
            group = RB_RIGHT(group, by_base);
        } else {
            found = base_of(found) < base ? found : group;
            group = RB_LEFT(group, by_base);
        }
    }
    return found;
}

/* Insert a chunk where a new group has to be made: there is none, or it is full. */
static bool insert_with_new_group(gp_buddy *buddy, gp_buddy_group *full, gp_buddy_chunk *chunk)
{
    gp_buddy_group *group = calloc(1, sizeof(*group));

    if (group == NULL) {
        return false;
    }
    buddy->record_bytes += sizeof(*group);
    if (full != NULL) {
        gp_buddy_group_split(full, group);
        update_above(full);
    } else {
        gp_buddy_group_insert(group, chunk);
    }
    link_group(buddy, group);
    if (full != NULL) {
        gp_buddy_group *half = base_of(group) < chunk->span.base ? group : full;

        gp_buddy_group_insert(half, chunk);
        update_above(half);
    }
    return true;
}

static bool insert_chunk(gp_buddy *buddy, gp_buddy_chunk *chunk)
{
    gp_buddy_group *group = group_for(buddy, chunk->span.base);

    if (group == NULL || group->count == GP_BUDDY_GROUP_CHUNKS) {
        return insert_with_new_group(buddy, group, chunk);
    }
    gp_buddy_group_insert(group, chunk);
    update_above(group);
    return true;
}

static void remove_chunk(gp_buddy *buddy, gp_buddy_chunk *chunk)
{
    gp_buddy_group *group = chunk->group;

    if (group->count > 1) {
        gp_buddy_group_remove(group, chunk);
        update_above(group);
        return;
    }
    unlink_group(buddy, group);
    buddy->record_bytes -= sizeof(*group);
    free(group);
}

gp_status gp_buddy_add_chunk(gp_buddy *buddy, gp_span span)
{
    gp_buddy_chunk *chunk;

    if (!gp_range_map_reserve(&buddy->by_address, span.bytes)) {
        return GP_ERR_OUT_OF_HOST_MEMORY;
    }
    chunk = gp_buddy_chunk_create(span);
    if (chunk == NULL) {
        return GP_ERR_OUT_OF_HOST_MEMORY;
    }
    if (!insert_chunk(buddy, chunk)) {
        gp_buddy_chunk_destroy(chunk);
        return GP_ERR_OUT_OF_HOST_MEMORY;
    }
    gp_range_map_insert(&buddy->by_address, &chunk->span);
    buddy->free_bytes += span.bytes;
    buddy->record_bytes += gp_buddy_chunk_metadata_bytes(chunk);
    return GP_OK;
}

void gp_buddy_remove_chunk(gp_buddy *buddy, gp_buddy_chunk *chunk)
{
    assert(gp_buddy_chunk_is_free(chunk));
    buddy->record_bytes -= gp_buddy_chunk_metadata_bytes(chunk);
    buddy->free_bytes -= chunk->span.bytes;
    remove_chunk(buddy, chunk);
    gp_range_map_remove(&buddy->by_address, &chunk->span);
    gp_buddy_chunk_destroy(chunk);
}

/* The group at the lowest address with a free piece of this order; the tree has one. */
static gp_buddy_group *lowest_group(const gp_buddy *buddy, unsigned order)
{
    gp_buddy_group *group = RB_ROOT(&buddy->groups);

    for (;;) {
        if ((orders_of(RB_LEFT(group, by_base)) >> order & 1) != 0) {
            group = RB_LEFT(group, by_base);
        } else if ((group->free_orders >> order & 1) != 0) {
            return group;
        } else {
            group = RB_RIGHT(group, by_base);
        }
    }
}

/* The chunk at the lowest address with a free piece of this order and an aligned base. */
static gp_buddy_chunk *lowest_chunk(const gp_buddy *buddy, unsigned order, size_t alignment)
{
    gp_buddy_group *group = lowest_group(buddy, order);
    gp_buddy_chunk *chunk = gp_buddy_group_lowest(group, order, alignment);

    while (chunk == NULL && (group = RB_NEXT(gp_buddy_tree, NULL, group)) != NULL) {
        chunk = gp_buddy_group_lowest(group, order, alignment);
    }
    return chunk;
}

/* The chunk's free orders were these before. */
static void note_change(gp_buddy_chunk *chunk, uint32_t orders_before)
{
    uint32_t changed = chunk->free_orders ^ orders_before;

    if (changed != 0) {
        gp_buddy_group_note(chunk->group, chunk, changed);
        update_above(chunk->group);
    }
}

static uintptr_t take_from(gp_buddy_chunk *chunk, unsigned order, size_t granules)
{
    uint32_t orders_before = chunk->free_orders;
    size_t offset = gp_buddy_chunk_take(chunk, order, granules);

    note_change(chunk, orders_before);
    return chunk->span.base + offset * GP_GRANULE_BYTES;
}

bool gp_buddy_take(gp_buddy *buddy, size_t bytes, size_t alignment, uintptr_t *base)
{
    size_t longest = bytes > alignment ? bytes : alignment;
    uint32_t orders = orders_of(RB_ROOT(&buddy->groups));

    if (longest > GP_BUDDY_MAX_BYTES) {
        return false;
    }
    orders &= UINT32_MAX << gp_buddy_order_of(longest / GP_GRANULE_BYTES);
    for (; orders != 0; orders &= orders - 1) {
        unsigned order = (unsigned)__builtin_ctz(orders);
        gp_buddy_chunk *chunk = lowest_chunk(buddy, order, alignment);

        if (chunk != NULL) {
            *base = take_from(chunk, order, bytes / GP_GRANULE_BYTES);
            buddy->free_bytes -= bytes;
            return true;
        }
    }
    return false;
}

void gp_buddy_give(gp_buddy *buddy, gp_buddy_chunk *chunk, gp_span block)
{
    uint32_t orders_before = chunk->free_orders;
    size_t offset = (block.base - chunk->span.base) / GP_GRANULE_BYTES;

    gp_buddy_chunk_give(chunk, offset, block.bytes / GP_GRANULE_BYTES);
    note_change(chunk, orders_before);
    buddy->free_bytes += block.bytes;
}

gp_buddy_chunk *gp_buddy_next(const gp_buddy *buddy, const gp_buddy_chunk *chunk)
{
    struct gp_buddy_tree groups = buddy->groups;
    gp_buddy_group *group;

    if (chunk != NULL && chunk->slot + 1 < chunk->group->count) {
        return chunk->group->chunks[chunk->slot + 1];
    }
    group =
        chunk == NULL ? RB_MIN(gp_buddy_tree, &groups) : RB_NEXT(gp_buddy_tree, NULL, chunk->group);
    return group == NULL ? NULL : group->chunks[0];
}

size_t gp_buddy_largest_bytes(const gp_buddy *buddy)
{
    uint32_t orders = orders_of(RB_ROOT(&buddy->groups));

    return orders == 0 ? 0 : (size_t)GP_GRANULE_BYTES << (31u - (unsigned)__builtin_clz(orders));
}

size_t gp_buddy_metadata_bytes(const gp_buddy *buddy)
{
    return buddy->record_bytes + gp_range_map_metadata_bytes(&buddy->by_address);
}

static bool groups_are_valid(const gp_buddy *buddy)
{
    struct gp_buddy_tree groups = buddy->groups;
    gp_buddy_group *group;

    RB_FOREACH (group, gp_buddy_tree, &groups) {
        if (!gp_buddy_group_is_valid(group) || group->subtree_orders != orders_below(group)) {
            return false;
        }
    }
    return true;
}

bool gp_buddy_is_valid(const gp_buddy *buddy)
{
    size_t free_bytes = 0;
    uintptr_t end = 0;

    if (!groups_are_valid(buddy)) {
        return false;
    }
    for (const gp_buddy_chunk *chunk = gp_buddy_next(buddy, NULL); chunk != NULL;
         chunk = gp_buddy_next(buddy, chunk)) {
        if (chunk->span.base < end || !gp_buddy_chunk_is_valid(chunk) ||
            gp_buddy_find(buddy, chunk->span.base) != chunk ||
            gp_buddy_find(buddy, chunk->span.base + chunk->span.bytes - 1) != chunk) {
            return false;
        }
        end = chunk->span.base + chunk->span.bytes;
        free_bytes += (size_t)chunk->free_granules * GP_GRANULE_BYTES;
    }
    return free_bytes == buddy->free_bytes;
}
