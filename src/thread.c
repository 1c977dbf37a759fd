#include "thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "address_table.h"
#include "direct.h"
#include "error.h"
#include "pool.h"
#include "registry.h"
#include "stream_registry.h"

#define FIRST_SHIFT 59 /* 32 places */

_Thread_local gp_thread *gp_thread_self;

static gp_thread *all_threads; /* Under the registry's lock. */
static _Atomic(uint32_t) last_number;

static pthread_key_t exit_key;
static pthread_once_t exit_once = PTHREAD_ONCE_INIT;
static _Atomic(bool) exit_key_valid;

/* ---- the table of look-ups -------------------------------------------------- */

static size_t table_places(const gp_thread *self)
{
    return (size_t)1 << (64 - self->shift);
}

static gp_lookup *find_place(gp_thread *self, const gp_pool *pool, cudaStream_t stream)
{
    size_t mask = table_places(self) - 1;
    size_t place = gp_lookup_hash(pool, stream, self->shift);
    while (self->table[place].cache != NULL &&
           (self->table[place].stream != stream || self->table[place].pool != pool))
        place = (place + 1) & mask;
    return &self->table[place];
}

static gp_thread_cache *recheck(const gp_lookup *lookup)
{
    gp_stream_view view;
    if (lookup->inspect(lookup->stream, &view) != GP_OK)
        return NULL;
    if (view.capture != GP_CAPTURE_STATE_NONE || view.id != lookup->stream_id)
        return NULL;
    return lookup->cache;
}

gp_thread_cache *gp_thread_find_from(const gp_lookup *lookup, gp_pool *pool, cudaStream_t stream)
{
    if (lookup->stream != stream || lookup->pool != pool)
        lookup = find_place(gp_thread_self, pool, stream);
    if (lookup->cache == NULL || lookup->inspect == NULL)
        return lookup->cache;
    return recheck(lookup);
}

static void clear_table(gp_thread *self, uint32_t epoch)
{
    memset(self->table, 0, table_places(self) * sizeof(*self->table));
    self->used = 0;
    self->epoch = epoch;
}

/* Half full at most, so that a probe ends soon. Failing to grow is no failure:
 * the look-up is done again next time. */
static bool make_place(gp_thread *self)
{
    if (2 * ((size_t)self->used + 1) <= table_places(self))
        return true;

    size_t old_places = table_places(self);
    gp_lookup *old = self->table;
    gp_lookup *grown = calloc(2 * old_places, sizeof(*grown));
    if (grown == NULL)
        return false;
    self->table = grown;
    self->shift--;
    for (size_t i = 0; i < old_places; i++) {
        if (old[i].cache != NULL)
            *find_place(self, old[i].pool, old[i].stream) = old[i];
    }
    free(old);
    return true;
}

static void remember(gp_thread *self, const gp_lookup *lookup)
{
    gp_lookup *place = find_place(self, lookup->pool, lookup->stream);
    if (place->cache == NULL) {
        if (!make_place(self))
            return;
        place = find_place(self, lookup->pool, lookup->stream);
        self->used++;
    }
    *place = *lookup;
}

/* ---- coming and going of the thread ------------------------------------------- */

static void add_counters(gp_thread_counters *sum, const gp_thread_counters *counters)
{
    const gp_counter *from = (const gp_counter *)counters;
    gp_counter *to = (gp_counter *)sum;
    for (size_t i = 0; i < sizeof(*sum) / sizeof(*to); i++)
        gp_counter_add(&to[i], gp_counter_get(&from[i]));
}

static void unlink_cache_locked(gp_thread_cache *cache)
{
    gp_thread_cache **link = &cache->stream->thread_caches;
    while (*link != cache)
        link = &(*link)->next_of_stream;
    *link = cache->next_of_stream;
}

static void drop_caches_locked(gp_thread_pool *part)
{
    while (part->caches != NULL) {
        gp_thread_cache *cache = part->caches;
        part->caches = cache->next_of_thread;
        gp_thread_cache_flush_all(cache);
        unlink_cache_locked(cache);
        gp_thread_cache_destroy(cache);
    }
}

static void unlink_from_pool_locked(gp_thread_pool *part)
{
    gp_thread_pool **link = &part->pool->threads;
    while (*link != part)
        link = &(*link)->next_of_pool;
    *link = part->next_of_pool;
}

static void unlink_from_thread_locked(gp_thread_pool *part)
{
    gp_thread_pool **link = &part->thread->pools;
    while (*link != part)
        link = &(*link)->next_of_thread;
    *link = part->next_of_thread;
}

static void end_part_locked(gp_thread_pool *part)
{
    gp_thread_fold(part->pool, &part->counters);
    add_counters(&part->pool->ended, &part->counters);
    drop_caches_locked(part);
    free(part);
}

static void unlink_thread_locked(gp_thread *self)
{
    *(self->previous != NULL ? &self->previous->next : &all_threads) = self->next;
    if (self->next != NULL)
        self->next->previous = self->previous;
}

/* A thread ends: its blocks go to L2 in the order of their streams, which takes
 * no native call. */
static void end_thread(void *value)
{
    gp_thread *self = value;
    gp_thread_self = NULL;
    if (!gp_process_is_running())
        return;

    gp_registry_lock();
    while (self->pools != NULL) {
        gp_thread_pool *part = self->pools;
        self->pools = part->next_of_thread;
        unlink_from_pool_locked(part);
        end_part_locked(part);
    }
    unlink_thread_locked(self);
    gp_registry_unlock();
    free(self->table);
    free(self);
}

static void link_thread(gp_thread *self)
{
    gp_registry_lock();
    self->next = all_threads;
    if (all_threads != NULL)
        all_threads->previous = self;
    all_threads = self;
    gp_registry_unlock();
}

static void make_key(void)
{
    atomic_store(&exit_key_valid, pthread_key_create(&exit_key, end_thread) == 0);
}

void gp_thread_forget_key(void)
{
    if (atomic_exchange(&exit_key_valid, false))
        (void)pthread_key_delete(exit_key);
}

static gp_thread *make_thread(void)
{
    (void)pthread_once(&exit_once, make_key);
    gp_thread *self = calloc(1, sizeof(*self));
    if (self == NULL)
        return NULL;
    self->shift = FIRST_SHIFT;
    self->table = calloc(table_places(self), sizeof(*self->table));
    if (self->table == NULL)
        goto free_thread;
    if (atomic_load(&exit_key_valid) && pthread_setspecific(exit_key, self) != 0)
        goto free_table;
    self->number = atomic_fetch_add(&last_number, 1) + 1;
    link_thread(self);
    gp_thread_self = self;
    return self;

free_table:
    free(self->table);
free_thread:
    free(self);
    return NULL;
}

gp_thread *gp_thread_get(void)
{
    gp_thread *self = gp_thread_self;
    return GP_LIKELY(self != NULL) ? self : make_thread();
}

gp_thread *gp_thread_first_locked(void)
{
    return all_threads;
}

/* ---- pools and streams of the thread --------------------------------------------- */

static gp_status find_part_locked(gp_thread *self, gp_pool *pool, gp_thread_pool **part)
{
    gp_thread_pool *found = self->pools;
    while (found != NULL && found->pool != pool)
        found = found->next_of_thread;
    if (found == NULL) {
        found = aligned_alloc(GP_CACHE_LINE, gp_round_up(sizeof(*found), GP_CACHE_LINE));
        if (found == NULL)
            return gp_error_set(GP_ERR_OUT_OF_HOST_MEMORY, "no host memory for a thread");
        memset(found, 0, sizeof(*found));
        found->pool = pool;
        found->thread = self;
        found->next_of_thread = self->pools;
        self->pools = found;
        found->next_of_pool = pool->threads;
        pool->threads = found;
    }
    *part = found;
    return GP_OK;
}

static gp_status find_cache_locked(gp_thread_pool *part, gp_stream_cache *stream,
                                   gp_thread_cache **cache)
{
    gp_thread_cache *found = part->caches;
    while (found != NULL && found->stream != stream)
        found = found->next_of_thread;
    if (found == NULL) {
        gp_status status = gp_thread_cache_create(stream, &part->counters, &found);
        if (status != GP_OK)
            return status;
        found->next_of_thread = part->caches;
        part->caches = found;
        found->next_of_stream = stream->thread_caches;
        stream->thread_caches = found;
    }
    *cache = found;
    return GP_OK;
}

static gp_status bind_stream(gp_thread *self, gp_pool *pool, gp_stream_cache *stream,
                             gp_thread_cache **cache)
{
    gp_registry_lock();
    gp_thread_pool *part = NULL;
    gp_status status = GP_ERR_INVALID_POOL;
    if (gp_registry_has_locked(pool))
        status = find_part_locked(self, pool, &part);
    else
        status = gp_error_set(GP_ERR_INVALID_POOL, "the pool was destroyed");
    if (status == GP_OK)
        status = find_cache_locked(part, stream, cache);
    gp_registry_unlock();
    return status;
}

/* The uses that were recorded before the block was freed: the stream waits for them, and
 * they are forgotten. False if it cannot wait now. */
static bool wait_for_uses(gp_pool *pool, const gp_parked_block *block, cudaStream_t stream)
{
    gp_use *use = (gp_record_get(block->slot.record) & GP_RECORD_USED) != 0
                      ? gp_use_table_take(&pool->uses, block->slot.base)
                      : NULL;
    if (use == NULL)
        return true;
    if (gp_use_wait(use, &pool->fences, stream) != GP_OK) {
        gp_use_table_put_back(&pool->uses, &pool->fences, use);
        return false;
    }
    gp_use_free(use, &pool->fences);
    return true;
}

/* False if it has to stay parked for now. */
static bool give_parked(gp_thread_cache *cache, const gp_parked_block *block, cudaStream_t stream)
{
    gp_pool *pool = cache->stream->pool;
    if (pool->config.pass_through)
        return gp_direct_give_parked(cache, block->slot.base, stream) == GP_OK;
    if (!wait_for_uses(pool, block, stream))
        return false;
    gp_thread_cache_free_block(cache, block->slot, block->bytes, stream, GP_TIER_NONE);
    return true;
}

/* What was freed inside a capture of this stream, which is over. */
static void free_parked(gp_thread_cache *cache, cudaStream_t stream)
{
    gp_pool *pool = cache->stream->pool;
    gp_parked_block *block;
    while ((block = gp_captured_blocks_unpark(&pool->captured, cache->stream->stream_id)) != NULL) {
        if (!give_parked(cache, block, stream)) {
            gp_captured_blocks_park_again(&pool->captured, block);
            return;
        }
        gp_trace_mark(&pool->trace, GP_TRACE_UNPARK, block->bytes, cache->stream, stream);
        free(block);
    }
}

gp_status gp_thread_resolve(gp_pool *pool, cudaStream_t stream, gp_target *target)
{
    gp_status status = gp_process_check();
    if (status != GP_OK)
        return status;
    gp_thread *self = gp_thread_get();
    if (self == NULL)
        return gp_error_set(GP_ERR_OUT_OF_HOST_MEMORY, "no host memory for a thread's caches");
    /* Read before anything is looked up: a change meanwhile is seen next time. */
    uint32_t epoch = gp_process_epoch_now();
    if (self->epoch != epoch)
        clear_table(self, epoch);

    gp_stream_identity identity;
    status = gp_stream_registry_identify(pool, stream, &identity);
    if (status != GP_OK)
        return status;
    *target = (gp_target){.pool = identity.pool, .cache = NULL};
    if (identity.capturing)
        return GP_OK;

    status = bind_stream(self, identity.pool, identity.cache, &target->cache);
    if (status != GP_OK)
        return status;
    target->cache->handle = stream;
    gp_thread_cache_adapt(target->cache);
    free_parked(target->cache, stream);
    if (identity.pool->config.pass_through)
        return GP_OK; /* So that no call is a hit. */
    remember(self,
             &(gp_lookup){
                 .stream = stream,
                 .pool = pool,
                 .cache = target->cache,
                 .stream_id = identity.cache->stream_id,
                 .inspect = identity.attached ? NULL : identity.pool->backend->ops->stream_inspect,
             });
    return GP_OK;
}

uint64_t gp_thread_known_id(gp_pool *pool, cudaStream_t stream)
{
    uint64_t id = 0;
    gp_registry_lock();
    gp_thread_pool *part = gp_thread_self == NULL ? NULL : gp_thread_self->pools;
    while (part != NULL && part->pool != pool)
        part = part->next_of_thread;
    gp_thread_cache *cache = part == NULL ? NULL : part->caches;
    /* The newest first: others may be of streams that had the same handle. */
    while (cache != NULL && cache->handle != stream)
        cache = cache->next_of_thread;
    if (cache != NULL)
        id = cache->stream->stream_id;
    gp_registry_unlock();
    return id;
}

void gp_thread_fold(gp_pool *pool, gp_thread_counters *counters)
{
    uint64_t live = gp_counter_get(&counters->live_bytes);
    uint64_t known = gp_counter_get(&counters->live_folded);
    uint64_t before = gp_counter_add_shared(&pool->live_folded, live - known) - (live - known);
    int64_t peak = (int64_t)(before + gp_counter_get(&counters->live_peak) - known);
    if (peak > 0)
        gp_counter_raise(&pool->live_high, (uint64_t)peak);
    gp_counter_set(&counters->live_folded, live);
    gp_counter_set(&counters->live_peak, live);
}

/* ---- on behalf of others, under the registry's lock --------------------------------- */

void gp_thread_drop_pool_locked(gp_pool *pool)
{
    while (pool->threads != NULL) {
        gp_thread_pool *part = pool->threads;
        pool->threads = part->next_of_pool;
        unlink_from_thread_locked(part);
        end_part_locked(part);
    }
}

static gp_thread_pool *part_of(gp_pool *pool, const gp_thread_cache *cache)
{
    gp_thread_pool *part = pool->threads;
    while (&part->counters != cache->counters)
        part = part->next_of_pool;
    return part;
}

void gp_thread_drop_stream_locked(gp_stream_cache *stream)
{
    while (stream->thread_caches != NULL) {
        gp_thread_cache *cache = stream->thread_caches;
        gp_thread_cache **link = &part_of(stream->pool, cache)->caches;
        while (*link != cache)
            link = &(*link)->next_of_thread;
        *link = cache->next_of_thread;
        stream->thread_caches = cache->next_of_stream;
        gp_thread_cache_flush_all(cache);
        gp_thread_cache_destroy(cache);
    }
}
