/* What the files of the stream cache share; all under its lock. */
#ifndef GP_SRC_STREAM_CACHE_INTERNAL_H
#define GP_SRC_STREAM_CACHE_INTERNAL_H

#include "stream_cache.h"

/* The next give number. Who reads it has seen the work that was queued before. */
static inline uint64_t gp_stream_cache_next_give_locked(gp_stream_cache *cache)
{
    uint64_t give = gp_counter_get(&cache->gives) + 1;
    atomic_store_explicit(&cache->gives, give, memory_order_release);
    return give;
}

/* Choose when guests go home and when a fence is left. */
void gp_stream_cache_limit_locked(gp_stream_cache *cache);

/* A block comes back, its order settled: into the policy or to the guests; a large
 * one, which must be ordered everywhere, to the commons. */
void gp_stream_cache_accept_locked(gp_stream_cache *cache, gp_slot slot, gp_order order);

/* Take in what was flushed without the lock. True if there was something. */
bool gp_stream_cache_drain_locked(gp_stream_cache *cache);

/* Take a wholly free chunk out of the policy, freed no later than `limit`, and
 * not the last one if `spare`. False if there is none. */
bool gp_stream_cache_remove_chunk_locked(gp_stream_cache *cache, uint64_t limit, bool spare,
                                         gp_span *span);

/* Join the oldest `count` whole blocks in the heap. */
void gp_stream_cache_join_oldest_locked(gp_stream_cache *cache, uint32_t count);

/* Take a block of just the size out of what waits for this stream's own work only. */
bool gp_stream_cache_take_waiting_locked(gp_stream_cache *cache, const gp_fit *fit, gp_span *span);

/* Size of the block in a slot. */
size_t gp_slot_bytes(gp_slot slot);

#endif
