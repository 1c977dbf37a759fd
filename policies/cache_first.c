/*
 * The default policy: each size goes where it is placed fastest and tightest.
 *
 *   one granule            small objects (small_slab.h), whose slabs are taken
 *                          from the buddy system
 *   up to large_bytes,     a buddy system (buddy.h), whose chunks are spans
 *   at most 1 MiB          taken from the heap
 *   more                   a heap of spans (span_heap.h), best fit
 *
 * A request that its own level cannot meet goes one level down, as far as the
 * heap itself, before take() gives up: what is left of a segment is used, be it
 * too short for a chunk. So a block may come from any level, and give() finds
 * out by its address.
 *
 * Two things are held back for the next burst: one empty slab, and one empty
 * chunk. They count as free everywhere, and are joined with what lies around
 * them as soon as somebody needs it.
 */
#include "buddy.h"
#include "small_slab.h"
#include "span_heap.h"

#include <stdlib.h>

/* A chunk costs a record and a place in a table, so it is not to be shorter. */
static const size_t least_chunk_bytes = (size_t)128 << 10;

typedef struct cache_first {
    gp_span_heap heap;
    gp_buddy buddy;
    gp_small_slab slabs;
    gp_buddy_chunk *kept; /* The one chunk that is wholly free; NULL: none. */
    size_t buddy_bytes;   /* Longer requests go to the heap at once. */
} cache_first;

/* Chunks that come back to the heap if the policy lets go of all it holds back. */
typedef struct idle_chunks {
    gp_span spans[2]; /* Taken in the heap; of no bytes: none. */
} idle_chunks;

static size_t power_of_two_above(size_t bytes)
{
    return bytes <= 1 ? 1 : (size_t)1 << (64 - __builtin_clzll(bytes - 1));
}

static size_t power_of_two_below(size_t bytes)
{
    return bytes == 0 ? 0 : (size_t)1 << (63 - __builtin_clzll(bytes));
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static gp_status cache_first_create(void **state, const gp_policy_params *params)
{
    cache_first *self = calloc(1, sizeof(*self));

    if (self == NULL) {
        return GP_ERR_OUT_OF_HOST_MEMORY;
    }
    /* Above half a chunk a request would need a chunk of its own, and the heap does better. */
    self->buddy_bytes = smaller(power_of_two_below(params->large_bytes), GP_BUDDY_MAX_BYTES / 2);
    if (gp_span_heap_init(&self->heap, &gp_best_fit_index) != GP_OK) {
        goto free_self;
    }
    if (gp_buddy_init(&self->buddy) != GP_OK) {
        goto fini_heap;
    }
    if (gp_small_slab_init(&self->slabs) != GP_OK) {
        goto fini_buddy;
    }
    *state = self;
    return GP_OK;

fini_buddy:
    gp_buddy_fini(&self->buddy);
fini_heap:
    gp_span_heap_fini(&self->heap);
free_self:
    free(self);
    return GP_ERR_OUT_OF_HOST_MEMORY;
}

static void cache_first_destroy(void *state)
{
    cache_first *self = state;

    gp_small_slab_fini(&self->slabs);
    gp_buddy_fini(&self->buddy);
    gp_span_heap_fini(&self->heap);
    free(self);
}

static gp_status cache_first_add_segment(void *state, gp_span segment)
{
    cache_first *self = state;

    return gp_span_heap_add_segment(&self->heap, segment);
}

/* From the heap to the buddy system: a span of this length, or nothing. */
static bool add_chunk_of(cache_first *self, size_t bytes, size_t alignment)
{
    uintptr_t base;

    if (!gp_span_heap_take(&self->heap, bytes, alignment, &base)) {
        return false;
    }
    if (gp_buddy_add_chunk(&self->buddy, (gp_span){base, bytes}) != GP_OK) {
        gp_span_heap_give(&self->heap, (gp_span){base, bytes});
        return false;
    }
    return true;
}

/* The longest chunk there is a span for, so long as the request fits into it. */
static bool add_chunk(cache_first *self, size_t bytes, size_t alignment)
{
    size_t least = larger(power_of_two_above(larger(bytes, alignment)), least_chunk_bytes);
    size_t longest = power_of_two_below(gp_span_heap_largest_bytes(&self->heap));

    for (size_t chunk = smaller(longest, GP_BUDDY_MAX_BYTES); chunk >= least; chunk /= 2) {
        if (add_chunk_of(self, chunk, alignment)) {
            return true;
        }
    }
    return false;
}

static void return_chunk(cache_first *self, gp_buddy_chunk *chunk)
{
    gp_span span = chunk->span;

    gp_buddy_remove_chunk(&self->buddy, chunk);
    gp_span_heap_give(&self->heap, span);
}

static bool take_from_buddy(cache_first *self, size_t bytes, size_t alignment, uintptr_t *base)
{
    if (!gp_buddy_take(&self->buddy, bytes, alignment, base) &&
        (!add_chunk(self, bytes, alignment) ||
         !gp_buddy_take(&self->buddy, bytes, alignment, base))) {
        return false;
    }
    if (self->kept != NULL && !gp_buddy_chunk_is_free(self->kept)) {
        self->kept = NULL;
    }
    return true;
}

static void give_to_buddy(cache_first *self, gp_buddy_chunk *chunk, gp_span block)
{
    gp_buddy_chunk *surplus = chunk;

    gp_buddy_give(&self->buddy, chunk, block);
    if (!gp_buddy_chunk_is_free(chunk)) {
        return;
    }
    if (self->kept == NULL || self->kept->order < chunk->order) {
        surplus = self->kept;
        self->kept = chunk;
    }
    if (surplus != NULL) {
        return_chunk(self, surplus);
    }
}

static bool add_slab(cache_first *self)
{
    uintptr_t base;

    if (!take_from_buddy(self, GP_SLAB_BYTES, GP_GRANULE_BYTES, &base)) {
        return false;
    }
    if (gp_small_slab_add(&self->slabs, base) != GP_OK) {
        give_to_buddy(self, gp_buddy_find(&self->buddy, base), (gp_span){base, GP_SLAB_BYTES});
        return false;
    }
    return true;
}

static bool take_from_slabs(cache_first *self, uintptr_t *base)
{
    return gp_small_slab_take(&self->slabs, base) ||
           (add_slab(self) && gp_small_slab_take(&self->slabs, base));
}

static void give_to_slabs(cache_first *self, gp_slab *slab, gp_span block)
{
    gp_span surplus;

    if (gp_small_slab_give(&self->slabs, slab, block.base, &surplus)) {
        give_to_buddy(self, gp_buddy_find(&self->buddy, surplus.base), surplus);
    }
}

/* The chunk in which nothing is taken but the empty slab. */
static gp_buddy_chunk *chunk_of_kept_slab(const cache_first *self)
{
    gp_buddy_chunk *chunk;

    if (self->slabs.kept == NULL) {
        return NULL;
    }
    chunk = gp_buddy_find(&self->buddy, self->slabs.kept->span.base);
    return chunk->free_granules * (size_t)GP_GRANULE_BYTES + GP_SLAB_BYTES == chunk->span.bytes
               ? chunk
               : NULL;
}

static idle_chunks find_idle_chunks(const cache_first *self)
{
    const gp_buddy_chunk *chunks[2] = {self->kept, chunk_of_kept_slab(self)};
    idle_chunks idle = {{{0, 0}, {0, 0}}};

    for (int i = 0; i < 2; i++) {
        if (chunks[i] != NULL) {
            idle.spans[i] = chunks[i]->span;
        }
    }
    return idle;
}

static gp_span joined(const cache_first *self, const idle_chunks *idle, int i)
{
    return gp_span_heap_joined(&self->heap, idle->spans[i], idle->spans[1 - i]);
}

/* The longest request the buddy system meets once it has the empty slab back. */
static size_t joined_slab_bytes(const cache_first *self)
{
    const gp_buddy_chunk *chunk;
    size_t offset;

    if (self->slabs.kept == NULL) {
        return 0;
    }
    chunk = gp_buddy_find(&self->buddy, self->slabs.kept->span.base);
    offset = (self->slabs.kept->span.base - chunk->span.base) / GP_GRANULE_BYTES;
    return (size_t)GP_GRANULE_BYTES << gp_buddy_chunk_joined_order(
               chunk, offset, gp_buddy_order_of(GP_SLAB_BYTES / GP_GRANULE_BYTES));
}

/* Would the request be met if nothing was held back? */
static bool letting_go_helps(const cache_first *self, size_t bytes, size_t alignment)
{
    idle_chunks idle = find_idle_chunks(self);
    uintptr_t base;

    for (int i = 0; i < 2; i++) {
        if (idle.spans[i].bytes != 0 &&
            gp_span_fits(joined(self, &idle, i), bytes, alignment, &base)) {
            return true;
        }
    }
    return alignment == GP_GRANULE_BYTES && bytes <= self->buddy_bytes &&
           bytes <= joined_slab_bytes(self);
}

static void let_go(cache_first *self)
{
    gp_span slab;

    if (gp_small_slab_drop_kept(&self->slabs, &slab)) {
        give_to_buddy(self, gp_buddy_find(&self->buddy, slab.base), slab);
    }
    if (self->kept != NULL) {
        return_chunk(self, self->kept);
        self->kept = NULL;
    }
}

static bool place(cache_first *self, size_t bytes, size_t alignment, uintptr_t *base)
{
    if (bytes == GP_GRANULE_BYTES && alignment == GP_GRANULE_BYTES && take_from_slabs(self, base)) {
        return true;
    }
    if (bytes <= self->buddy_bytes && alignment <= self->buddy_bytes &&
        take_from_buddy(self, bytes, alignment, base)) {
        return true;
    }
    return gp_span_heap_take(&self->heap, bytes, alignment, base);
}

static bool cache_first_take(void *state, size_t bytes, size_t alignment, uintptr_t *base)
{
    cache_first *self = state;

    if (place(self, bytes, alignment, base)) {
        return true;
    }
    if (!letting_go_helps(self, bytes, alignment)) {
        return false;
    }
    let_go(self);
    return place(self, bytes, alignment, base);
}

static void cache_first_give(void *state, gp_span block)
{
    cache_first *self = state;

    if (block.bytes == GP_GRANULE_BYTES) {
        gp_slab *slab = gp_small_slab_find(&self->slabs, block.base);

        if (slab != NULL) {
            give_to_slabs(self, slab, block);
            return;
        }
    }
    if (block.bytes <= self->buddy_bytes) {
        gp_buddy_chunk *chunk = gp_buddy_find(&self->buddy, block.base);

        if (chunk != NULL) {
            give_to_buddy(self, chunk, block);
            return;
        }
    }
    gp_span_heap_give(&self->heap, block);
}

static bool segment_is_free(const cache_first *self, const gp_heap_segment *segment)
{
    idle_chunks idle = find_idle_chunks(self);
    size_t free_bytes = segment->free_bytes;

    for (int i = 0; i < 2; i++) {
        if (idle.spans[i].bytes != 0 &&
            idle.spans[i].base - segment->span.base < segment->span.bytes) {
            free_bytes += idle.spans[i].bytes;
        }
    }
    return free_bytes == segment->span.bytes;
}

static bool cache_first_segment_is_free(const void *state, uintptr_t base)
{
    const cache_first *self = state;
    const gp_heap_segment *segment = gp_span_heap_find_segment(&self->heap, base);

    return segment != NULL && segment_is_free(self, segment);
}

static bool cache_first_remove_segment(void *state, uintptr_t base)
{
    cache_first *self = state;
    const gp_heap_segment *segment = gp_span_heap_find_segment(&self->heap, base);

    if (segment == NULL || !segment_is_free(self, segment)) {
        return false;
    }
    if (segment->free_bytes != segment->span.bytes) {
        let_go(self);
    }
    return gp_span_heap_remove_segment(&self->heap, base);
}

static size_t largest_free_bytes(const cache_first *self)
{
    idle_chunks idle = find_idle_chunks(self);
    size_t largest = larger(gp_buddy_largest_bytes(&self->buddy), joined_slab_bytes(self));

    largest = smaller(largest, self->buddy_bytes);
    largest = larger(largest, self->slabs.free_bytes != 0 ? GP_GRANULE_BYTES : 0);
    largest = larger(largest, gp_span_heap_largest_bytes(&self->heap));
    for (int i = 0; i < 2; i++) {
        if (idle.spans[i].bytes != 0) {
            largest = larger(largest, joined(self, &idle, i).bytes);
        }
    }
    return largest;
}

static void cache_first_usage(const void *state, gp_policy_usage *usage)
{
    const cache_first *self = state;

    *usage = (gp_policy_usage){
        .free_bytes = self->heap.free_bytes + self->buddy.free_bytes + self->slabs.free_bytes,
        .largest_free_bytes = largest_free_bytes(self),
        .metadata_bytes = sizeof(*self) + gp_span_heap_metadata_bytes(&self->heap) +
                          gp_buddy_metadata_bytes(&self->buddy) +
                          gp_small_slab_metadata_bytes(&self->slabs),
    };
}

/* Is each chunk a taken span of the heap, and none empty but the kept one? */
static bool chunks_are_valid(const cache_first *self)
{
    for (const gp_buddy_chunk *chunk = gp_buddy_next(&self->buddy, NULL); chunk != NULL;
         chunk = gp_buddy_next(&self->buddy, chunk)) {
        if (!gp_span_heap_is_taken(&self->heap, chunk->span) ||
            gp_buddy_chunk_is_free(chunk) != (chunk == self->kept)) {
            return false;
        }
    }
    return true;
}

static bool cache_first_is_valid(const void *state)
{
    const cache_first *self = state;

    return gp_span_heap_is_valid(&self->heap) && gp_buddy_is_valid(&self->buddy) &&
           gp_small_slab_is_valid(&self->slabs) && chunks_are_valid(self);
}

const gp_policy_ops *gp_policy_cache_first(void)
{
    static const gp_policy_ops ops = {
        .struct_bytes = sizeof(ops),
        .name = "cache_first",
        .create = cache_first_create,
        .destroy = cache_first_destroy,
        .add_segment = cache_first_add_segment,
        .remove_segment = cache_first_remove_segment,
        .segment_is_free = cache_first_segment_is_free,
        .take = cache_first_take,
        .give = cache_first_give,
        .usage = cache_first_usage,
        .is_valid = cache_first_is_valid,
    };

    return &ops;
}
