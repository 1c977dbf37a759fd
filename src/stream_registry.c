#include "stream_registry.h"

#include <sched.h>

#include "backend_choice.h"
#include "error.h"
#include "pool.h"
#include "process.h"
#include "registry.h"
#include "thread.h"
#include "visible_order.h"

static int compare_ids(const gp_stream_cache *a, const gp_stream_cache *b)
{
    return (a->stream_id > b->stream_id) - (a->stream_id < b->stream_id);
}

static int compare_handles(const gp_stream_cache *a, const gp_stream_cache *b)
{
    uintptr_t left = (uintptr_t)a->handle;
    uintptr_t right = (uintptr_t)b->handle;
    return (left > right) - (left < right);
}

static int compare_seen(const gp_stream_cache *a, const gp_stream_cache *b)
{
    uintptr_t left = (uintptr_t)a->seen_as;
    uintptr_t right = (uintptr_t)b->seen_as;
    return (left > right) - (left < right);
}

GP_TREE_GENERATE(gp_streams_by_id, gp_stream_cache, by_id, compare_ids)
GP_TREE_GENERATE(gp_streams_by_handle, gp_stream_cache, by_handle, compare_handles)
GP_TREE_GENERATE(gp_streams_by_seen, gp_stream_cache, by_seen, compare_seen)

/* cudaStreamPerThread: another stream in every thread. */
#define PER_THREAD_HANDLE ((uintptr_t)2)

/* ---- by handle: attached streams ------------------------------------------- */

static gp_stream_cache *find_attached_locked(gp_pool *pool, cudaStream_t stream)
{
    gp_stream_cache key = {.handle = stream};
    return RB_FIND(gp_streams_by_handle, &pool->registry.by_handle, &key);
}

typedef struct attached_query {
    cudaStream_t stream;
    gp_stream_cache *cache;
} attached_query;

static bool is_default_with_attached(gp_pool *pool, const void *what)
{
    attached_query *query = (attached_query *)(uintptr_t)what;
    if (!pool->is_default)
        return false;
    query->cache = find_attached_locked(pool, query->stream);
    return query->cache != NULL;
}

/* The pool and the cache of an attached stream. For no pool: among the default
 * ones; handles that mean a stream of the current device are not looked for so. */
static gp_status find_attached(gp_pool *pool, cudaStream_t stream, gp_pool **owner,
                               gp_stream_cache **cache)
{
    *cache = NULL;
    *owner = pool;
    if (pool == NULL) {
        attached_query query = {.stream = stream, .cache = NULL};
        if (!gp_stream_is_special(stream))
            *owner = gp_registry_find(is_default_with_attached, &query);
        *cache = query.cache;
        return GP_OK;
    }

    gp_registry_lock();
    bool exists = gp_registry_has_locked(pool);
    if (exists)
        *cache = find_attached_locked(pool, stream);
    gp_registry_unlock();
    if (!exists)
        return gp_error_set(GP_ERR_INVALID_POOL, "%p is not a pool, or was destroyed",
                            (const void *)pool);
    return GP_OK;
}

/* ---- by id --------------------------------------------------------------------- */

static void forget_handle_locked(gp_pool *pool, gp_stream_cache *cache)
{
    if (cache->seen_as != NULL)
        (void)RB_REMOVE(gp_streams_by_seen, &pool->registry.by_seen, cache);
    cache->seen_as = NULL;
}

static void list_locked(gp_pool *pool, gp_stream_cache *cache, cudaStream_t stream)
{
    (void)RB_INSERT(gp_streams_by_id, &pool->registry.by_id, cache);
    pool->registry.count++;
    cache->seen_as = gp_stream_is_special(stream) ? NULL : stream;
    if (cache->seen_as != NULL &&
        RB_INSERT(gp_streams_by_seen, &pool->registry.by_seen, cache) != NULL)
        cache->seen_as = NULL;
}

static void unlist_locked(gp_pool *pool, gp_stream_cache *cache)
{
    forget_handle_locked(pool, cache);
    (void)RB_REMOVE(gp_streams_by_id, &pool->registry.by_id, cache);
    pool->registry.count--;
}

static void retire_locked(gp_pool *pool, gp_stream_cache *cache)
{
    gp_stream_registry *registry = &pool->registry;
    cache->next_retired = NULL;
    *(registry->retired == NULL ? &registry->retired : registry->retired_end) = cache;
    registry->retired_end = &cache->next_retired;
}

static gp_stream_cache *find_by_id(gp_pool *pool, uint64_t id)
{
    gp_stream_cache key = {.stream_id = id};
    gp_registry_lock();
    gp_stream_cache *cache = RB_FIND(gp_streams_by_id, &pool->registry.by_id, &key);
    gp_registry_unlock();
    return cache;
}

static gp_stream_cache *take_retired(gp_pool *pool)
{
    gp_registry_lock();
    gp_stream_cache *retired = pool->registry.retired;
    if (retired != NULL)
        pool->registry.retired = retired->next_retired;
    gp_registry_unlock();
    return retired;
}

/* May `stream` go on with what a detached stream left? Its memory is ordered
 * behind that stream's last fence: which is complete, or is waited for here. */
static bool can_inherit(gp_stream_cache *retired, cudaStream_t stream)
{
    gp_pool *pool = retired->pool;
    gp_fence *fence = gp_stream_cache_fence(retired, false, NULL);
    if (fence == NULL)
        return gp_counter_get(&retired->gives) == 0;
    bool ordered = gp_fence_poll(&pool->fences, fence) ||
                   (pool->config.share == GP_SHARE_WAIT &&
                    gp_fence_wait(&pool->fences, fence, stream) == GP_OK);
    gp_fence_release(&pool->fences, fence);
    if (ordered)
        gp_visible_order_taken(pool, stream);
    return ordered;
}

/* The more streams a pool has met, the longer each new one is thought to come and go: so the
 * blocks that all of them free are many for each stream that may leave memory behind. */
static void be_careful_as(gp_stream_cache *cache, uint64_t ordinal)
{
    cache->ordinal = ordinal;
    cache->careful_until = ordinal * GP_CAREFUL_GIVES;
}

static void add_to_pool(gp_pool *pool, gp_stream_cache *made)
{
    made->next = gp_pool_first_stream(pool);
    do
        be_careful_as(made, made->next == NULL ? 1 : made->next->ordinal + 1);
    while (!atomic_compare_exchange_weak_explicit(&pool->streams, &made->next, made,
                                                  memory_order_release, memory_order_acquire));
}

static gp_status make_cache(gp_pool *pool, uint64_t id, cudaStream_t stream,
                            gp_stream_cache *retired, gp_stream_cache **cache)
{
    if (retired != NULL && can_inherit(retired, stream)) {
        gp_stream_cache_inherit(retired, id);
        *cache = retired;
        return GP_OK;
    }
    if (retired != NULL) {
        gp_registry_lock();
        retire_locked(pool, retired);
        gp_registry_unlock();
    }
    gp_status status = gp_stream_cache_create(pool, id, cache);
    if (status != GP_OK)
        return status;

    add_to_pool(pool, *cache);
    return GP_OK;
}

/* Another thread may have made the cache of the same stream meanwhile. */
static gp_stream_cache *list_or_adopt(gp_pool *pool, gp_stream_cache *made, cudaStream_t stream)
{
    gp_registry_lock();
    gp_stream_cache *cache = RB_FIND(gp_streams_by_id, &pool->registry.by_id, made);
    if (cache == NULL) {
        list_locked(pool, made, stream);
        cache = made;
    } else {
        retire_locked(pool, made);
    }
    gp_registry_unlock();
    return cache;
}

/* ---- streams that went without a word -------------------------------------------- */

/* A handle is one live stream's at a time: who had this one before is gone, and with it all
 * calls that named it. Its threads' caches go too. */
static gp_stream_cache *find_predecessor(gp_pool *pool, uint64_t id, cudaStream_t stream)
{
    if (gp_stream_is_special(stream))
        return NULL;
    gp_stream_cache key = {.seen_as = stream};
    gp_registry_lock();
    gp_stream_cache *gone = RB_FIND(gp_streams_by_seen, &pool->registry.by_seen, &key);
    if (gone != NULL && (gone->stream_id == id || gone->attached))
        gone = NULL;
    if (gone != NULL) {
        gp_thread_drop_stream_locked(gone);
        forget_handle_locked(pool, gone);
    }
    gp_registry_unlock();
    return gone;
}

/* Lies all that came back behind a fence? */
static bool is_covered(gp_stream_cache *cache)
{
    (void)gp_stream_cache_collect(cache);
    gp_fence *fence = gp_stream_cache_fence(cache, false, NULL);
    gp_fence_release(&cache->pool->fences, fence);
    return gp_counter_get(&cache->guest_bytes) == 0 &&
           (fence != NULL || gp_counter_get(&cache->gives) == 0);
}

/* What it left can be inherited, as that of a detached one. Without a fence nobody could tell
 * when; then it stays with the id. */
static void retire_predecessor(gp_pool *pool, uint64_t id, cudaStream_t stream)
{
    gp_stream_cache *gone = find_predecessor(pool, id, stream);
    if (gone == NULL || !is_covered(gone))
        return;
    gp_registry_lock();
    unlist_locked(pool, gone);
    retire_locked(pool, gone);
    gp_registry_unlock();
}

/* ---- find or make ------------------------------------------------------------------- */

static gp_status find_or_make(gp_pool *pool, uint64_t id, cudaStream_t stream,
                              gp_stream_cache **cache)
{
    *cache = find_by_id(pool, id);
    if (*cache != NULL)
        return GP_OK;

    retire_predecessor(pool, id, stream);
    gp_stream_cache *retired = take_retired(pool);

    gp_stream_cache *made;
    gp_status status = make_cache(pool, id, stream, retired, &made);
    if (status == GP_OK)
        *cache = list_or_adopt(pool, made, stream);
    return status;
}

/* ---- identify ---------------------------------------------------------------------- */

static gp_status device_of(const gp_backend_ops *ops, cudaStream_t stream, bool capturing,
                           int *device)
{
    /* A capturing stream must not be asked; CUDA itself goes by the current device
     * for the special handles. */
    if (capturing || gp_stream_is_special(stream))
        return ops->current_device(device);
    return ops->stream_device(stream, device);
}

static gp_status find_pool(const gp_backend_ops *ops, gp_pool *pool, cudaStream_t stream,
                           bool capturing, gp_pool **owner)
{
    *owner = pool;
    if (pool != NULL && capturing)
        return GP_OK;
    int device;
    gp_status status = device_of(ops, stream, capturing, &device);
    if (status != GP_OK)
        return status;
    if (pool == NULL)
        return gp_registry_default_pool(device, owner);
    if (device != pool->backend->device)
        return gp_error_set(GP_ERR_WRONG_DEVICE, "the stream is on device %d, the pool on %d",
                            device, pool->backend->device);
    return GP_OK;
}

/* Ask the driver: capture state before anything else. */
static gp_status ask_driver(gp_pool *pool, cudaStream_t stream, gp_stream_identity *identity)
{
    const gp_backend_ops *ops = pool != NULL ? pool->backend->ops : gp_backend_default();
    gp_stream_view view;
    gp_status status = ops->stream_inspect(stream, &view);
    if (status != GP_OK)
        return status;
    if (view.capture == GP_CAPTURE_STATE_IMPLICIT)
        return gp_error_set(GP_ERR_CAPTURE,
                            "the legacy stream cannot be used while a blocking stream captures");

    identity->attached = false;
    identity->capturing = view.capture == GP_CAPTURE_STATE_ACTIVE;
    identity->cache = NULL;
    status = find_pool(ops, pool, stream, identity->capturing, &identity->pool);
    if (status != GP_OK || identity->capturing)
        return status;
    return find_or_make(identity->pool, view.id, stream, &identity->cache);
}

gp_status gp_stream_registry_identify(gp_pool *pool, cudaStream_t stream,
                                      gp_stream_identity *identity)
{
    gp_pool *owner;
    gp_stream_cache *cache;
    gp_status status = find_attached(pool, stream, &owner, &cache);
    if (status != GP_OK)
        return status;
    if (cache == NULL || cache->capturing)
        return ask_driver(owner, stream, identity);
    *identity = (gp_stream_identity){.pool = owner, .cache = cache, .attached = true};
    return GP_OK;
}

/* ---- attach, detach, captures --------------------------------------------------------- */

/* Wait until no other thread uses the handle; none starts to any more. */
static void wait_for_pins(gp_stream_cache *cache)
{
    for (;;) {
        gp_stream_cache_lock(cache);
        int pins = cache->pins;
        gp_stream_cache_unlock(cache);
        if (pins == 0)
            return;
        (void)sched_yield();
    }
}

gp_status gp_stream_registry_attach(gp_pool *pool, cudaStream_t stream)
{
    if ((uintptr_t)stream == PER_THREAD_HANDLE)
        return gp_error_set(GP_ERR_INVALID_ARGUMENT,
                            "cudaStreamPerThread is another stream in every thread");

    gp_stream_identity identity;
    gp_status status = gp_stream_registry_identify(pool, stream, &identity);
    if (status != GP_OK || identity.attached)
        return status;
    if (identity.capturing)
        return gp_error_set(GP_ERR_CAPTURE, "the stream captures now");

    gp_registry_lock();
    if (find_attached_locked(identity.pool, stream) == NULL) {
        gp_stream_cache_set_attached(identity.cache, stream, true);
        (void)RB_INSERT(gp_streams_by_handle, &identity.pool->registry.by_handle, identity.cache);
    }
    gp_registry_unlock();
    gp_process_bump_epoch();
    return GP_OK;
}

static gp_status need_attached(gp_pool *pool, cudaStream_t stream, gp_pool **owner,
                               gp_stream_cache **cache)
{
    if (pool == NULL && gp_stream_is_special(stream)) {
        int device;
        gp_status status = gp_backend_default()->current_device(&device);
        if (status == GP_OK)
            status = gp_registry_default_pool(device, &pool);
        if (status != GP_OK)
            return status;
    }
    gp_status status = find_attached(pool, stream, owner, cache);
    if (status == GP_OK && *cache == NULL)
        return gp_error_set(GP_ERR_INVALID_ARGUMENT, "the stream is not attached");
    return status;
}

/* The stream's memory, with everything that is on its way, behind one last fence. Guests that could
 * not be sent home are behind none: a fence counts what the stream keeps. */
static bool leave_behind_fence(gp_stream_cache *cache, cudaStream_t stream)
{
    gp_stream_cache_send_guests(cache, stream);
    (void)gp_stream_cache_collect(cache);
    gp_fence *fence = gp_stream_cache_fence(cache, true, stream);
    gp_fence_release(&cache->pool->fences, fence);
    return gp_counter_get(&cache->guest_bytes) == 0 &&
           (fence != NULL || gp_counter_get(&cache->gives) == 0);
}

gp_status gp_stream_registry_detach(gp_pool *pool, cudaStream_t stream)
{
    gp_stream_cache *cache;
    gp_status status = need_attached(pool, stream, &pool, &cache);
    if (status != GP_OK)
        return status;

    gp_registry_lock();
    gp_thread_drop_stream_locked(cache);
    (void)RB_REMOVE(gp_streams_by_handle, &pool->registry.by_handle, cache);
    gp_registry_unlock();
    gp_process_bump_epoch();
    gp_stream_cache_set_attached(cache, NULL, false);
    wait_for_pins(cache);

    /* Without the fence nobody could tell when its memory is free to go: then it
     * stays with the stream's id. */
    if (!leave_behind_fence(cache, stream))
        return GP_OK;
    gp_registry_lock();
    unlist_locked(pool, cache);
    retire_locked(pool, cache);
    gp_registry_unlock();
    return GP_OK;
}

gp_status gp_stream_registry_set_capturing(gp_pool *pool, cudaStream_t stream, bool capturing)
{
    gp_stream_cache *cache;
    gp_status status = need_attached(pool, stream, &pool, &cache);
    if (status != GP_OK)
        return status;

    gp_stream_cache_lock(cache);
    cache->capturing = capturing;
    gp_stream_cache_unlock(cache);
    gp_process_bump_epoch();
    wait_for_pins(cache);
    gp_trace_mark(&pool->trace, capturing ? GP_TRACE_CAPTURE_BEGIN : GP_TRACE_CAPTURE_END, 0, cache,
                  stream);
    return GP_OK;
}
