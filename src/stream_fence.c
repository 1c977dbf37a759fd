/*
 * How far a stream has come: the fences that a stream cache leaves behind, and
 * the use of its handle by other threads.
 */
#include <sched.h>

#include "pool.h"
#include "stream_cache_internal.h"
#include "visible_order.h"

/* Fences that a stream which was found busy leaves for those who ask next. */
#define OWED_FENCES 16

/* Questions of others after one was answered so, which only look at those fences. */
#define SPARED_QUESTIONS 8

bool gp_stream_cache_pin(gp_stream_cache *cache, cudaStream_t *stream)
{
    gp_stream_cache_lock(cache);
    bool usable = cache->attached && !cache->capturing;
    if (usable) {
        cache->pins++;
        *stream = cache->handle;
    }
    gp_stream_cache_unlock(cache);
    return usable;
}

void gp_stream_cache_unpin(gp_stream_cache *cache)
{
    gp_stream_cache_lock(cache);
    cache->pins--;
    gp_stream_cache_unlock(cache);
}

/* ---- fences ------------------------------------------------------------------ */

/* Forget the fences up to the newest one the device is past. */
static void advance_locked(gp_stream_cache *cache)
{
    uint32_t passed = 0;
    for (uint32_t i = 0; i < cache->fence_count; i++) {
        if (atomic_load_explicit(&cache->fences[i]->complete, memory_order_acquire))
            passed = i + 1;
    }
    if (passed == 0)
        return;

    if (cache->fences[passed - 1]->covers > cache->completed_gives)
        cache->completed_gives = cache->fences[passed - 1]->covers;
    /* The newest stays: it may still cover everything that came back. */
    uint32_t drop = passed == cache->fence_count ? passed - 1 : passed;
    for (uint32_t i = 0; i < drop; i++)
        gp_fence_release(&cache->pool->fences, cache->fences[i]);
    for (uint32_t i = drop; i < cache->fence_count; i++)
        cache->fences[i - drop] = cache->fences[i];
    cache->fence_count -= drop;
}

/* Keep a fence. A full list loses its newest but one entry: the oldest is the
 * next to complete, the newest covers most. */
static void keep_locked(gp_stream_cache *cache, gp_fence *fence)
{
    if (cache->fence_count == GP_STREAM_FENCES) {
        gp_fence_release(&cache->pool->fences, cache->fences[GP_STREAM_FENCES - 1]);
        cache->fence_count--;
    }
    cache->fences[cache->fence_count++] = gp_fence_retain(fence);
}

/* Another thread may have kept a newer fence meanwhile; then this one is of use
 * to the caller only. */
static void offer(gp_stream_cache *cache, gp_fence *fence)
{
    gp_stream_cache_lock(cache);
    if (cache->fence_count == 0 || cache->fences[cache->fence_count - 1]->covers < fence->covers) {
        keep_locked(cache, fence);
        if (fence->covers == gp_counter_get(&cache->gives))
            gp_counter_set(&cache->uncovered_bytes, 0);
    }
    gp_stream_cache_unlock(cache);
}

/* The newest fence if it covers everything, and where the stream is now. */
static gp_fence *covering(gp_stream_cache *cache, uint64_t *gives)
{
    gp_stream_cache_lock(cache);
    *gives = gp_counter_get(&cache->gives);
    gp_fence *newest = cache->fence_count == 0 ? NULL : cache->fences[cache->fence_count - 1];
    if (newest != NULL && newest->covers == *gives)
        newest = gp_fence_retain(newest);
    else
        newest = NULL;
    gp_stream_cache_unlock(cache);
    return newest;
}

gp_fence *gp_stream_cache_fence(gp_stream_cache *cache, bool known, cudaStream_t stream)
{
    uint64_t gives;
    gp_fence *fence = covering(cache, &gives);
    if (fence != NULL)
        return fence;

    /* `gives` was read before the record, so everything it counts is covered. */
    bool pinned = !known && gp_stream_cache_pin(cache, &stream);
    if (!known && !pinned)
        return NULL;
    gp_status status =
        gp_fence_record(&cache->pool->fences, stream, cache->stream_id, gives, &fence);
    if (pinned)
        gp_stream_cache_unpin(cache);
    if (status != GP_OK)
        return NULL;
    offer(cache, fence);
    return fence;
}

/* What came back before the question is complete if the answer is yes. */
static bool ask_idle(gp_stream_cache *cache, cudaStream_t stream, uint64_t *gives)
{
    gp_pool *pool = cache->pool;
    *gives = atomic_load_explicit(&cache->gives, memory_order_acquire);

    bool idle = false;
    (void)gp_counter_add_shared(&pool->fences.queries, 1);
    if (pool->backend->ops->stream_query(pool->backend, stream, &idle) != GP_OK || !idle)
        return false;
    gp_visible_order_idle(pool, stream);
    return true;
}

bool gp_stream_cache_is_idle(gp_stream_cache *cache, bool known, cudaStream_t stream,
                             uint64_t *gives)
{
    bool pinned = !known && gp_stream_cache_pin(cache, &stream);
    if (!known && !pinned)
        return false;
    bool idle = ask_idle(cache, stream, gives);
    if (pinned)
        gp_stream_cache_unpin(cache);
    return idle;
}

/* Ask about the fences that were left, in order: the first that is not complete ends it. */
static uint64_t poll_fences(gp_stream_cache *cache, bool *pending)
{
    gp_fence *fences[GP_STREAM_FENCES];

    gp_stream_cache_lock(cache);
    uint32_t count = cache->fence_count;
    for (uint32_t i = 0; i < count; i++)
        fences[i] = gp_fence_retain(cache->fences[i]);
    gp_stream_cache_unlock(cache);

    bool past = true;
    for (uint32_t i = 0; i < count; i++) {
        past = past && gp_fence_poll(&cache->pool->fences, fences[i]);
        gp_fence_release(&cache->pool->fences, fences[i]);
    }
    *pending = !past;

    gp_stream_cache_lock(cache);
    advance_locked(cache);
    uint64_t completed = cache->completed_gives;
    gp_stream_cache_unlock(cache);
    return completed;
}

uint64_t gp_stream_cache_progress(gp_stream_cache *cache)
{
    bool pending;
    return poll_fences(cache, &pending);
}

/* ---- for others ------------------------------------------------------------------ */

static void note_busy(gp_stream_cache *cache)
{
    gp_stream_cache_lock(cache);
    cache->owed_fences = OWED_FENCES;
    cache->spared_questions = SPARED_QUESTIONS;
    gp_stream_cache_limit_locked(cache);
    gp_stream_cache_unlock(cache);
}

static void count_owed_fence(gp_stream_cache *cache)
{
    gp_stream_cache_lock(cache);
    if (cache->owed_fences > 0 && --cache->owed_fences == 0)
        gp_stream_cache_limit_locked(cache);
    gp_stream_cache_unlock(cache);
}

/* What is known of a stream that others ask about. */
typedef struct outlook {
    uint64_t gives;
    bool quiet;  /* Nothing came back since they asked last. */
    bool spared; /* It was found busy a short while ago. */
} outlook;

static outlook note_question(gp_stream_cache *cache)
{
    gp_stream_cache_lock(cache);
    const outlook known = {
        .gives = gp_counter_get(&cache->gives),
        .quiet = cache->asked_gives == gp_counter_get(&cache->gives),
        .spared = cache->spared_questions > 0,
    };
    cache->asked_gives = known.gives;
    if (known.spared)
        cache->spared_questions--;
    gp_stream_cache_unlock(cache);
    return known;
}

uint64_t gp_stream_cache_ask(gp_stream_cache *cache)
{
    bool pending;
    const uint64_t completed = poll_fences(cache, &pending);
    const outlook known = note_question(cache);
    if (completed >= known.gives || known.spared)
        return completed;

    uint64_t gives;
    if (!pending && gp_stream_cache_is_idle(cache, false, NULL, &gives))
        return gives;
    note_busy(cache);
    /* Of one that is not called for there is no other way to learn more the next time. */
    if (known.quiet)
        gp_fence_release(&cache->pool->fences, gp_stream_cache_fence(cache, false, NULL));
    return completed;
}

/* Who has freed so much is likely to stay. */
static void end_care_if_due(gp_stream_cache *cache)
{
    gp_stream_cache_lock(cache);
    bool due = gp_counter_get(&cache->gives) >= cache->careful_until;
    gp_stream_cache_unlock(cache);
    if (due)
        gp_stream_cache_set_careful(cache, false);
}

void gp_stream_cache_leave_fence_if_due(gp_stream_cache *cache, cudaStream_t stream)
{
    if (gp_counter_get(&cache->uncovered_bytes) < gp_counter_get(&cache->uncovered_limit))
        return;
    gp_fence_release(&cache->pool->fences, gp_stream_cache_fence(cache, true, stream));
    if (atomic_load_explicit(&cache->attached, memory_order_relaxed))
        count_owed_fence(cache);
    else if (gp_stream_cache_is_careful(cache))
        end_care_if_due(cache);
}
