#include "supply.h"

#include "error.h"
#include "pool.h"
#include "release.h"
#include "revocation.h"
#include "share.h"

enum { RUNG_COLLECT, RUNG_SHARE, RUNG_WAIT_OWN, RUNG_WAIT_SHARE, RUNG_GROW };

/* Small blocks are cut from chunks, which policies ask of a segment whole. */
#define CHUNK_BYTES ((size_t)2 << 20)
#define LEAST_CHUNK_BYTES ((size_t)128 << 10)

/* A policy that still has no room after so much was brought is at fault. */
#define MOST_GROWTHS 8

void gp_supply_begin(gp_supply *supply, gp_stream_cache *cache, cudaStream_t stream,
                     const gp_request *request)
{
    *supply = (gp_supply){.cache = cache, .stream = stream, .request = request};
}

/* ---- what is needed ------------------------------------------------------------ */

/* Room in which the request certainly fits, wherever it is aligned. */
static size_t least_bytes(const gp_request *request)
{
    size_t bytes = request->bytes;
    if (request->alignment > GP_PAGE_BYTES)
        bytes += request->alignment;
    if (!gp_request_is_large(request)) {
        size_t buddy = LEAST_CHUNK_BYTES;
        while (buddy < bytes)
            buddy *= 2;
        bytes = buddy;
    }
    return gp_round_up(bytes, GP_PAGE_BYTES);
}

static size_t wanted_bytes(const gp_supply *supply)
{
    size_t least = least_bytes(supply->request);
    if (gp_request_is_large(supply->request))
        return least;
    size_t chunk = 2 * supply->cache->pool->config.large_bytes;
    chunk = chunk > CHUNK_BYTES ? chunk : CHUNK_BYTES;
    return least > chunk ? least : chunk;
}

/* ---- growth ---------------------------------------------------------------------- */

static gp_status add_grown(gp_supply *supply, size_t bytes)
{
    gp_pool *pool = supply->cache->pool;
    gp_segment *segment;
    gp_status status = gp_global_tier_take_segment(&pool->global, bytes, supply->stream, &segment);
    if (status != GP_OK)
        return status;

    status = gp_stream_cache_add_segment(supply->cache, segment, GP_ORDERED_HERE);
    if (status != GP_OK)
        (void)gp_global_tier_give_segment(&pool->global, segment, supply->stream);
    return status;
}

/* The pool is about to pass its peak, or its limit: what lies wholly free goes
 * back first, so that memory is not held twice in pieces of the wrong size. */
static void make_room(gp_supply *supply, size_t bytes)
{
    gp_global_tier *global = &supply->cache->pool->global;
    const gp_release_caller caller = {.cache = supply->cache, .stream = supply->stream};

    uint64_t ceiling = gp_counter_get(&global->reserved_ever_high);
    if (!gp_global_tier_allows(global, bytes) && global->max_bytes < ceiling + bytes)
        ceiling = global->max_bytes;
    if (gp_counter_get(&global->reserved) + bytes <= ceiling)
        return;
    gp_release_down_to(supply->cache->pool, caller, ceiling > bytes ? ceiling - bytes : 0);
}

static gp_status grow_once(gp_supply *supply)
{
    size_t step = supply->cache->pool->config.segment_bytes;
    size_t bytes = gp_round_up(wanted_bytes(supply), step);
    make_room(supply, bytes);
    return add_grown(supply, bytes);
}

/* The last try, with everything free given back and no byte too many. */
static gp_status grow_desperately(gp_supply *supply)
{
    gp_pool *pool = supply->cache->pool;
    const gp_release_caller caller = {.cache = supply->cache, .stream = supply->stream};
    gp_release_down_to(pool, caller, 0);
    (void)gp_global_tier_trim(&pool->global, 0);
    return add_grown(supply, least_bytes(supply->request));
}

static gp_status grow(gp_supply *supply, bool *grew)
{
    gp_global_tier *global = &supply->cache->pool->global;
    *grew = gp_global_tier_begin_growth(global);
    if (!*grew)
        return GP_OK;
    gp_status status = supply->desperate ? grow_desperately(supply) : grow_once(supply);
    gp_global_tier_end_growth(global);
    return status;
}

/* ---- the rungs ---------------------------------------------------------------------- */

static bool borrow(gp_supply *supply, bool may_wait)
{
    size_t wanted = wanted_bytes(supply);
    size_t least = least_bytes(supply->request);
    bool moved = gp_share_borrow(supply->cache, supply->stream, wanted, may_wait);
    if (!moved && least < wanted)
        moved = gp_share_borrow(supply->cache, supply->stream, least, may_wait);
    if (moved)
        supply->source = GP_SUPPLY_SHARED;
    return moved;
}

static bool climb(gp_supply *supply)
{
    gp_share_mode mode = supply->cache->pool->config.share;
    switch (supply->rung) {
    case RUNG_COLLECT:
        return gp_stream_cache_collect(supply->cache);
    case RUNG_SHARE:
        return mode != GP_SHARE_NEVER && borrow(supply, false);
    case RUNG_WAIT_OWN:
        return mode == GP_SHARE_WAIT &&
               gp_stream_cache_collect_waiting(supply->cache, supply->stream);
    case RUNG_WAIT_SHARE:
        return mode == GP_SHARE_WAIT && borrow(supply, true);
    default:
        return false;
    }
}

static bool is_exhaustion(gp_status status)
{
    return status == GP_ERR_OUT_OF_MEMORY || status == GP_ERR_LIMIT;
}

static gp_status fail(const gp_supply *supply, gp_status status)
{
    gp_pool *pool = supply->cache->pool;
    uint64_t reserved = gp_counter_get(&pool->global.reserved);
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    (void)pool->backend->ops->mem_info(pool->backend, &free_bytes, &total_bytes);
    return gp_error_set(status,
                        "%zu bytes asked; reserved %llu, device free %zu of %zu; tried: own "
                        "arrivals, other streams, flush of all thread caches, release of free "
                        "segments, trim, growth",
                        supply->request->bytes, (unsigned long long)reserved, free_bytes,
                        total_bytes);
}

gp_status gp_supply_next(gp_supply *supply)
{
    for (; supply->rung < RUNG_GROW; supply->rung++) {
        if (climb(supply))
            return GP_OK;
    }

    if (supply->growths == MOST_GROWTHS)
        return gp_error_set(GP_ERR_OUT_OF_MEMORY, "policy %s has no room for %zu bytes",
                            supply->cache->pool->policy.name, supply->request->bytes);
    bool grew;
    gp_status status = grow(supply, &grew);
    if (status == GP_OK) {
        if (grew) {
            supply->source = GP_SUPPLY_GROWN;
            supply->growths++;
        } else {
            supply->rung = RUNG_COLLECT; /* Another thread grew; look everywhere again. */
        }
        return GP_OK;
    }
    if (!is_exhaustion(status))
        return status;
    if (supply->desperate)
        return fail(supply, status);

    gp_revocation_flush_all(supply->cache->pool);
    supply->desperate = true;
    supply->rung = RUNG_COLLECT;
    return GP_OK;
}
