#include "commons.h"

#include "address_table.h"
#include "error.h"
#include "pool.h"

gp_status gp_commons_init(gp_commons *commons, gp_pool *pool)
{
    /* All that is taken here is longer, and may come back in pieces. */
    const gp_policy_params params = {
        .struct_bytes = sizeof(params),
        .large_bytes = GP_PAGE_BYTES,
        .policy = &pool->policy,
    };
    gp_status status = pool->policy.create(&commons->policy, &params);
    if (status != GP_OK)
        return gp_error_set(status, "policy %s could not make an instance", pool->policy.name);
    commons->pool = pool;
    return GP_OK;
}

void gp_commons_destroy(gp_commons *commons)
{
    commons->pool->policy.destroy(commons->policy);
}

/* A request that leaves no more than this share of a segment takes nearly all of it. */
#define REST_SHARE 16

/* ---- under the lock --------------------------------------------------------- */

static void lose_free_locked(gp_commons *commons, size_t bytes)
{
    const uint64_t left = gp_counter_get(&commons->free_bytes) - bytes;
    gp_counter_set(&commons->free_bytes, left);
    if (left < gp_counter_get(&commons->least_bytes))
        gp_counter_set(&commons->least_bytes, left);
}

static bool take_locked(gp_commons *commons, size_t bytes, size_t alignment, gp_span *span)
{
    uintptr_t base;
    GP_ASSERT(bytes > GP_PAGE_BYTES); /* As the policy was told. */
    const size_t least = alignment > GP_PAGE_BYTES ? alignment : GP_PAGE_BYTES;
    if (!commons->pool->policy.take(commons->policy, bytes, least, &base))
        return false;
    lose_free_locked(commons, bytes);
    *span = (gp_span){.base = base, .bytes = bytes};
    return true;
}

void gp_commons_use_locked(gp_commons *commons, gp_stream_cache *user, uint64_t gives)
{
    GP_ASSERT(gp_commons_is_open_to(commons, user));
    atomic_store_explicit(&commons->user, user, memory_order_relaxed);
    commons->user_gives = gives;
}

void gp_commons_give_locked(gp_commons *commons, gp_span span)
{
    commons->pool->policy.give(commons->policy, span);
    gp_counter_add(&commons->free_bytes, span.bytes);
}

static gp_status add_locked(gp_commons *commons, gp_segment *segment)
{
    gp_status status = commons->pool->policy.add_segment(commons->policy, segment->span);
    if (status != GP_OK)
        return gp_error_set(status, "no host memory for a segment");
    segment->pool = commons->pool;
    segment->home = NULL;
    segment->commons = commons;
    gp_segment_link(&commons->segments, segment);
    gp_address_table_assign(segment->span.base, segment->span.bytes, segment);
    gp_counter_add(&commons->free_bytes, segment->span.bytes);
    return GP_OK;
}

/* Take all of a segment, whatever else of its size is free. */
static void take_whole_locked(gp_commons *commons, const gp_segment *segment)
{
    gp_span span;
    if (!take_locked(commons, segment->span.bytes, GP_GRANULE_BYTES, &span) ||
        span.base == segment->span.base)
        return;
    take_whole_locked(commons, segment);
    gp_commons_give_locked(commons, span);
}

/* What was added is complete; the rest may not be, for this taker. */
static bool take_of_added_locked(gp_commons *commons, const gp_segment *segment,
                                 const gp_commons_request *request, gp_span *span)
{
    if (gp_commons_is_open_to(commons, request->taker))
        return take_locked(commons, request->bytes, request->alignment, span);
    take_whole_locked(commons, segment);
    *span = segment->span;
    return true;
}

/* A policy may keep a free segment to itself. */
static gp_segment *remove_locked(gp_commons *commons, gp_segment *segment)
{
    if (segment == NULL ||
        !commons->pool->policy.remove_segment(commons->policy, segment->span.base))
        return NULL;
    gp_segment_unlink(&commons->segments, segment);
    lose_free_locked(commons, segment->span.bytes);
    return segment;
}

/* Is it a wholly free segment's, of which too much would be left? Nothing is taken. */
static bool is_spared_locked(const gp_commons *commons, const gp_segment *segment, size_t bytes,
                             uint64_t most_bytes)
{
    const size_t all = segment->span.bytes;
    return all <= most_bytes && all - bytes > all / REST_SHARE &&
           commons->pool->policy.segment_is_free(commons->policy, segment->span.base);
}

/* Only the policy knows what it would cut, and says so by cutting it. */
static bool take_sparing_locked(gp_commons *commons, const gp_commons_request *request,
                                uint64_t most_bytes, gp_span *span, gp_segment **spared)
{
    if (!take_locked(commons, request->bytes, request->alignment, span))
        return false;
    gp_segment *segment = gp_address_table_segment(span->base);
    gp_commons_give_locked(commons, *span);
    if (!is_spared_locked(commons, segment, request->bytes, most_bytes))
        return take_locked(commons, request->bytes, request->alignment, span);
    if (gp_commons_is_used_by(commons, NULL))
        *spared = remove_locked(commons, segment);
    return false;
}

/* ---- the interface -------------------------------------------------------------- */

bool gp_commons_take(gp_commons *commons, const gp_commons_request *request, gp_span *span)
{
    if (gp_counter_get(&commons->free_bytes) < request->bytes ||
        !gp_commons_is_open_to(commons, request->taker))
        return false;
    gp_commons_lock(commons);
    bool found = gp_commons_is_open_to(commons, request->taker) &&
                 take_locked(commons, request->bytes, request->alignment, span);
    gp_commons_unlock(commons);
    return found;
}

bool gp_commons_take_sparing(gp_commons *commons, const gp_commons_request *request,
                             uint64_t most_bytes, gp_span *span, gp_segment **spared)
{
    *spared = NULL;
    if (gp_counter_get(&commons->free_bytes) < request->bytes)
        return false;
    gp_commons_lock(commons);
    bool found = gp_commons_is_open_to(commons, request->taker) &&
                 take_sparing_locked(commons, request, most_bytes, span, spared);
    gp_commons_unlock(commons);
    return found;
}

bool gp_commons_take_behind(gp_commons *commons, const gp_commons_request *request,
                            const gp_stream_cache *user, uint64_t gives, gp_span *span)
{
    gp_commons_lock(commons);
    bool found = gp_commons_is_open_to(commons, user) && commons->user_gives <= gives &&
                 take_locked(commons, request->bytes, request->alignment, span);
    gp_commons_unlock(commons);
    return found;
}

bool gp_commons_complete(gp_commons *commons, const gp_stream_cache *stream, uint64_t gives)
{
    if (GP_LIKELY(!gp_commons_is_used_by(commons, stream)))
        return false;
    gp_commons_lock(commons);
    bool opened = gp_commons_is_used_by(commons, stream) && commons->user_gives <= gives;
    if (opened)
        atomic_store_explicit(&commons->user, NULL, memory_order_relaxed);
    gp_commons_unlock(commons);
    return opened;
}

void gp_commons_give(gp_span span)
{
    gp_commons *commons = gp_address_table_segment(span.base)->commons;
    gp_commons_lock(commons);
    gp_commons_give_locked(commons, span);
    gp_commons_unlock(commons);
}

gp_status gp_commons_add_segment(gp_commons *commons, gp_segment *segment,
                                 const gp_commons_request *request, gp_span *span)
{
    gp_commons_lock(commons);
    gp_status status = add_locked(commons, segment);
    bool taken = status == GP_OK && take_of_added_locked(commons, segment, request, span);
    gp_commons_unlock(commons);

    if (status == GP_OK && !taken)
        return gp_error_set(GP_ERR_OUT_OF_MEMORY, "policy %s has no room for %zu bytes",
                            commons->pool->policy.name, request->bytes);
    return status;
}

gp_status gp_commons_add_taken_segment(gp_commons *commons, gp_segment *segment)
{
    gp_commons_lock(commons);
    gp_status status = add_locked(commons, segment);
    if (status == GP_OK)
        take_whole_locked(commons, segment);
    gp_commons_unlock(commons);
    return status;
}

size_t gp_commons_largest_free(gp_commons *commons)
{
    gp_policy_usage usage;
    gp_commons_lock(commons);
    commons->pool->policy.usage(commons->policy, &usage);
    gp_commons_unlock(commons);
    return usage.largest_free_bytes;
}

uint64_t gp_commons_restart_least(gp_commons *commons)
{
    gp_commons_lock(commons);
    const uint64_t least = gp_counter_get(&commons->least_bytes);
    gp_counter_set(&commons->least_bytes, gp_counter_get(&commons->free_bytes));
    gp_commons_unlock(commons);
    return least;
}

static gp_segment *smallest_free_locked(const gp_commons *commons)
{
    const gp_policy_ops *policy = &commons->pool->policy;
    gp_segment *best = NULL;
    for (gp_segment *segment = commons->segments.first; segment; segment = segment->next) {
        if (policy->segment_is_free(commons->policy, segment->span.base) &&
            (best == NULL || segment->span.bytes < best->span.bytes ||
             (segment->span.bytes == best->span.bytes && segment->span.base < best->span.base)))
            best = segment;
    }
    return best;
}

/* Largest of those of at most so many bytes, lowest among equals. */
static gp_segment *largest_free_locked(const gp_commons *commons, uint64_t most_bytes)
{
    const gp_policy_ops *policy = &commons->pool->policy;
    gp_segment *best = NULL;
    for (gp_segment *segment = commons->segments.first; segment; segment = segment->next) {
        if (segment->span.bytes <= most_bytes &&
            policy->segment_is_free(commons->policy, segment->span.base) &&
            (best == NULL || segment->span.bytes > best->span.bytes ||
             (segment->span.bytes == best->span.bytes && segment->span.base < best->span.base)))
            best = segment;
    }
    return best;
}

gp_segment *gp_commons_remove_segment(gp_commons *commons)
{
    gp_commons_lock(commons);
    gp_segment *segment =
        gp_commons_is_used_by(commons, NULL) ? smallest_free_locked(commons) : NULL;
    segment = remove_locked(commons, segment);
    gp_commons_unlock(commons);
    return segment;
}

gp_segment *gp_commons_remove_largest(gp_commons *commons, uint64_t most_bytes)
{
    gp_commons_lock(commons);
    gp_segment *segment =
        gp_commons_is_used_by(commons, NULL) ? largest_free_locked(commons, most_bytes) : NULL;
    segment = remove_locked(commons, segment);
    gp_commons_unlock(commons);
    return segment;
}

size_t gp_commons_largest_segment(gp_commons *commons, uint64_t most_bytes)
{
    gp_commons_lock(commons);
    const gp_segment *segment = largest_free_locked(commons, most_bytes);
    const size_t bytes = segment == NULL ? 0 : segment->span.bytes;
    gp_commons_unlock(commons);
    return bytes;
}
