/*
 * Counters with one writer and any number of readers: a relaxed load and store,
 * which is a plain add on the writer's side.
 */
#ifndef GP_SRC_COUNTER_H
#define GP_SRC_COUNTER_H

#include <stdatomic.h>
#include <stdint.h>

typedef _Atomic(uint64_t) gp_counter;

static inline uint64_t gp_counter_get(const gp_counter *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

static inline void gp_counter_set(gp_counter *counter, uint64_t value)
{
    atomic_store_explicit(counter, value, memory_order_relaxed);
}

static inline void gp_counter_add(gp_counter *counter, uint64_t amount)
{
    gp_counter_set(counter, gp_counter_get(counter) + amount);
}

static inline void gp_counter_sub(gp_counter *counter, uint64_t amount)
{
    gp_counter_set(counter, gp_counter_get(counter) - amount);
}

/* For counters with several writers, off the hot path. */
static inline uint64_t gp_counter_add_shared(gp_counter *counter, uint64_t amount)
{
    return atomic_fetch_add_explicit(counter, amount, memory_order_relaxed) + amount;
}

static inline void gp_counter_sub_shared(gp_counter *counter, uint64_t amount)
{
    atomic_fetch_sub_explicit(counter, amount, memory_order_relaxed);
}

static inline void gp_counter_raise(gp_counter *counter, uint64_t value)
{
    uint64_t seen = gp_counter_get(counter);
    while (seen < value && !atomic_compare_exchange_weak_explicit(
                               counter, &seen, value, memory_order_relaxed, memory_order_relaxed)) {
    }
}

#endif
