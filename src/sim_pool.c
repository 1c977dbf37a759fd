#include "sim_pool.h"

#include "sim_cost.h"
#include "sim_memory.h"

#include <stdlib.h>

#define MIB ((uint64_t)1 << 20)

static uint64_t round_up(uint64_t bytes, uint64_t step)
{
    return (bytes + step - 1) & ~(step - 1);
}

static uint64_t round_down(uint64_t bytes, uint64_t step)
{
    return bytes & ~(step - 1);
}

/* ---- what becomes complete ---- */

static bool move_to_done(gp_sim_pool *pool, gp_sim_pending *pending, gp_sim_range *range)
{
    uint64_t base = gp_sim_range_base(range);
    uint64_t bytes = gp_sim_range_bytes(range);
    return gp_sim_ranges_add(&pool->done, base, bytes, 0) &&
           gp_sim_ranges_cut(&pending->ranges, range, base, bytes);
}

static void settle_pending(gp_sim_pool *pool, gp_sim_pending *pending)
{
    uint64_t done = pending->stream->queue.done;
    uint64_t oldest = UINT64_MAX;
    gp_sim_range *range = gp_sim_ranges_from(&pending->ranges, 0);
    while (range != NULL) {
        uint64_t next = gp_sim_range_base(range) + gp_sim_range_bytes(range);
        if (range->position > done || !move_to_done(pool, pending, range))
            oldest = range->position < oldest ? range->position : oldest;
        range = gp_sim_ranges_from(&pending->ranges, next);
    }
    pending->oldest = oldest;
}

static void settle(const gp_sim_machine *machine, gp_sim_pool *pool)
{
    gp_sim_pending **link = &pool->pending;
    while (*link != NULL) {
        gp_sim_pending *pending = *link;
        gp_sim_queue_settle(&pending->stream->queue, machine->now_ns);
        if (pending->stream->queue.done >= pending->oldest)
            settle_pending(pool, pending);
        if (!gp_sim_ranges_is_empty(&pending->ranges)) {
            link = &pending->next;
            continue;
        }
        *link = pending->next;
        gp_sim_stream_release(pending->stream);
        free(pending);
    }
}

static gp_sim_pending *pending_of(gp_sim_pool *pool, gp_sim_stream *stream)
{
    gp_sim_pending *pending = pool->pending;
    while (pending != NULL && pending->stream != stream)
        pending = pending->next;
    if (pending != NULL)
        return pending;

    pending = calloc(1, sizeof(*pending));
    if (pending == NULL)
        return NULL;
    pending->stream = stream;
    pending->oldest = UINT64_MAX;
    pending->next = pool->pending;
    pool->pending = pending;
    gp_sim_stream_retain(stream);
    return pending;
}

void gp_sim_pool_give(gp_sim_pool *pool, gp_sim_stream *stream, uint64_t position, uint64_t address,
                      uint64_t bytes)
{
    pool->live_blocks--;
    pool->used_bytes -= (size_t)bytes;
    /* Without host memory the range is lost to the pool, as if it stayed in use. */
    gp_sim_pending *pending = pending_of(pool, stream);
    if (pending == NULL || !gp_sim_ranges_add(&pending->ranges, address, bytes, position))
        return;
    if (position < pending->oldest)
        pending->oldest = position;
}

/* ---- placement ---- */

typedef struct choice {
    gp_sim_ranges *set;
    gp_sim_range *range;
    uint64_t address;
} choice;

static void consider(choice *best, gp_sim_ranges *set, uint64_t bytes, uint64_t alignment,
                     uint64_t latest)
{
    uint64_t address = 0;
    gp_sim_range *range = gp_sim_ranges_find(set, bytes, alignment, latest, &address);
    if (range == NULL ||
        (best->range != NULL && gp_sim_range_bytes(best->range) <= gp_sim_range_bytes(range)))
        return;
    *best = (choice){.set = set, .range = range, .address = address};
}

/* Up to where the work of another stream is ordered before this one's. */
static uint64_t known_position(const gp_sim_machine *machine, const gp_sim_stream *stream,
                               const gp_sim_stream *other)
{
    uint64_t ordered = gp_sim_order_position(stream->order, other->id);
    uint64_t observed = gp_sim_observed_position(&machine->observed, other->id);
    return ordered > observed ? ordered : observed;
}

static choice choose(const gp_sim_machine *machine, gp_sim_pool *pool, const gp_sim_stream *stream,
                     uint64_t bytes, uint64_t alignment)
{
    choice best = {0};
    for (gp_sim_pending *pending = pool->pending; pending != NULL; pending = pending->next) {
        if (pending->stream == stream)
            consider(&best, &pending->ranges, bytes, alignment, UINT64_MAX);
    }
    consider(&best, &pool->done, bytes, alignment, UINT64_MAX);
    for (gp_sim_pending *pending = pool->pending; pending != NULL; pending = pending->next) {
        if (pending->stream != stream)
            consider(&best, &pending->ranges, bytes, alignment,
                     known_position(machine, stream, pending->stream));
    }
    return best;
}

/* ---- growth and trim ---- */

static bool has_room(const gp_sim_machine *machine, const gp_sim_pool *pool, uint64_t bytes)
{
    if (pool->max_bytes != 0 && pool->reserved_bytes + bytes > pool->max_bytes)
        return false;
    return bytes <= gp_sim_memory_device_free(machine, pool->device);
}

static void charge_growth(const gp_sim_call *call, uint64_t bytes)
{
    uint64_t ns = bytes / MIB * GP_SIM_COST_GROW_NS_PER_MIB;
    gp_sim_machine_charge(call, ns > GP_SIM_COST_GROW_LEAST_NS ? ns : GP_SIM_COST_GROW_LEAST_NS);
}

static gp_sim_result grow(const gp_sim_call *call, gp_sim_pool *pool, uint64_t bytes)
{
    gp_sim_device *device = &call->machine->devices[pool->device];
    uint64_t mapped = round_up(bytes, call->machine->config.granularity);
    if (!has_room(call->machine, pool, mapped)) {
        gp_sim_pool_trim(call, pool, 0); /* as the driver, which maps it anew */
        if (!has_room(call->machine, pool, mapped))
            return GP_SIM_OUT_OF_MEMORY;
    }

    uint64_t base = 0;
    gp_sim_range *addresses = gp_sim_ranges_find(
        &device->addresses, mapped, call->machine->config.granularity, UINT64_MAX, &base);
    if (addresses == NULL || !gp_sim_ranges_add(&pool->done, base, mapped, 0))
        return GP_SIM_OUT_OF_MEMORY;
    /* Address ranges are whole granules, so this cuts at the front: cannot fail. */
    (void)gp_sim_ranges_cut(&device->addresses, addresses, base, mapped);

    device->pool_bytes += (size_t)mapped;
    pool->reserved_bytes += (size_t)mapped;
    if (pool->reserved_bytes > pool->reserved_bytes_high)
        pool->reserved_bytes_high = pool->reserved_bytes;
    charge_growth(call, mapped);
    return GP_SIM_SUCCESS;
}

/* Unmap what fits of a range; bytes unmapped. */
static uint64_t trim_range(gp_sim_machine *machine, gp_sim_pool *pool, gp_sim_range *range,
                           size_t keep_bytes)
{
    uint64_t granule = machine->config.granularity;
    uint64_t base = round_up(gp_sim_range_base(range), granule);
    uint64_t end = round_down(gp_sim_range_base(range) + gp_sim_range_bytes(range), granule);
    uint64_t surplus = round_down(pool->reserved_bytes - keep_bytes, granule);
    if (end <= base || surplus == 0)
        return 0;

    uint64_t bytes = end - base < surplus ? end - base : surplus;
    gp_sim_device *device = &machine->devices[pool->device];
    if (!gp_sim_ranges_cut(&pool->done, range, base, bytes))
        return 0;
    /* Without host memory the addresses are lost; there are plenty. */
    (void)gp_sim_ranges_add(&device->addresses, base, bytes, 0);
    pool->reserved_bytes -= (size_t)bytes;
    device->pool_bytes -= (size_t)bytes;
    return bytes;
}

void gp_sim_pool_trim(const gp_sim_call *call, gp_sim_pool *pool, size_t keep_bytes)
{
    uint64_t unmapped = 0;
    settle(call->machine, pool);
    gp_sim_range *range = gp_sim_ranges_from(&pool->done, 0);
    while (range != NULL && pool->reserved_bytes > keep_bytes) {
        uint64_t next = gp_sim_range_base(range) + gp_sim_range_bytes(range);
        unmapped += trim_range(call->machine, pool, range, keep_bytes);
        range = gp_sim_ranges_from(&pool->done, next);
    }
    gp_sim_machine_charge(call, unmapped * GP_SIM_COST_TRIM_NS_PER_MIB / MIB);
}

gp_sim_result gp_sim_pool_take(const gp_sim_call *call, gp_sim_pool *pool, gp_sim_stream *stream,
                               uint64_t bytes, uint64_t alignment, uint64_t *address)
{
    settle(call->machine, pool);
    choice found = choose(call->machine, pool, stream, bytes, alignment);
    if (found.range == NULL) {
        gp_sim_result result = grow(call, pool, bytes);
        if (result != GP_SIM_SUCCESS)
            return result;
        found = choose(call->machine, pool, stream, bytes, alignment);
    }
    if (found.range == NULL || !gp_sim_ranges_cut(found.set, found.range, found.address, bytes))
        return GP_SIM_OUT_OF_MEMORY;

    *address = found.address;
    pool->live_blocks++;
    pool->used_bytes += (size_t)bytes;
    if (pool->used_bytes > pool->used_bytes_high)
        pool->used_bytes_high = pool->used_bytes;
    return GP_SIM_SUCCESS;
}

/* ---- the end of a pool ---- */

void gp_sim_pool_discard(gp_sim_machine *machine, gp_sim_pool *pool)
{
    if (pool->previous != NULL)
        pool->previous->next = pool->next;
    else
        machine->all_pools = pool->next;
    if (pool->next != NULL)
        pool->next->previous = pool->previous;

    while (pool->pending != NULL) {
        gp_sim_pending *pending = pool->pending;
        pool->pending = pending->next;
        gp_sim_ranges_clear(&pending->ranges);
        gp_sim_stream_release(pending->stream);
        free(pending);
    }
    gp_sim_ranges_clear(&pool->done);
    free(pool);
}

void gp_sim_pools_sweep(const gp_sim_call *call)
{
    gp_sim_pool *pool = call->machine->all_pools;
    while (pool != NULL) {
        gp_sim_pool *next = pool->next;
        if (pool->is_destroyed && pool->live_blocks == 0) {
            gp_sim_pool_trim(call, pool, 0);
            if (pool->reserved_bytes == 0)
                gp_sim_pool_discard(call->machine, pool);
        }
        pool = next;
    }
}
