#include "revocation.h"

#include "lock.h"
#include "pool.h"
#include "registry.h"
#include "thread_cache.h"

typedef void (*thread_cache_fn)(gp_thread_cache *cache);

static void for_each(gp_pool *pool, thread_cache_fn visit)
{
    for (gp_stream_cache *stream = gp_pool_first_stream(pool); stream; stream = stream->next) {
        for (gp_thread_cache *cache = stream->thread_caches; cache; cache = cache->next_of_stream)
            visit(cache);
    }
}

static void revoke(gp_thread_cache *cache)
{
    gp_asymmetric_revoke(&cache->side);
}

static void flush_and_restore(gp_thread_cache *cache)
{
    gp_asymmetric_wait(&cache->side);
    gp_thread_cache_empty(cache);
    gp_asymmetric_restore(&cache->side);
}

void gp_revocation_flush_all(gp_pool *pool)
{
    gp_trace_scope scope;
    gp_trace_begin(&scope, &pool->trace, GP_TRACE_FLUSH_ALL, 0);
    /* The registry's lock keeps the caches from coming and going; an owner that
     * waits for the revocation holds no lock. */
    gp_registry_lock();
    gp_mutex_lock(&pool->revocation, GP_RANK_REVOCATION);
    for_each(pool, revoke);
    gp_asymmetric_barrier();
    for_each(pool, flush_and_restore);
    gp_mutex_unlock(&pool->revocation, GP_RANK_REVOCATION);
    gp_registry_unlock();
    gp_trace_end(&scope);
}
