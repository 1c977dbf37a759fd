#include "buddy_chunk.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { WORD = 1 << GP_FREE_BITS_ORDER };

static size_t word_count(unsigned order)
{
    return (size_t)1 << (order - GP_FREE_BITS_ORDER);
}

static size_t chunk_bytes(unsigned order)
{
    return sizeof(gp_buddy_chunk) + word_count(order) * sizeof(uint64_t);
}

/* The orders of `whole` are these now. */
static void set_high_orders(gp_buddy_chunk *chunk, uint32_t orders)
{
    chunk->free_orders = (chunk->free_orders & (WORD - 1)) | orders << GP_FREE_BITS_ORDER;
}

gp_buddy_chunk *gp_buddy_chunk_create(gp_span span)
{
    unsigned order = gp_buddy_order_of(span.bytes / GP_GRANULE_BYTES);
    gp_buddy_chunk *chunk;

    assert(span.bytes >= GP_BUDDY_MIN_BYTES && span.bytes <= GP_BUDDY_MAX_BYTES);
    assert(span.bytes == (size_t)GP_GRANULE_BYTES << order);
    chunk = calloc(1, chunk_bytes(order));
    if (chunk == NULL) {
        return NULL;
    }
    chunk->span = span;
    chunk->order = order;
    chunk->free_granules = 1u << order;
    chunk->whole = gp_free_bits_range(0, (unsigned)word_count(order));
    memset(chunk->granules, 0xff, word_count(order) * sizeof(uint64_t));
    memset(chunk->orders, 1 << GP_FREE_BITS_ORDER, word_count(order));
    set_high_orders(chunk, gp_free_bits_orders(chunk->whole));
    return chunk;
}

void gp_buddy_chunk_destroy(gp_buddy_chunk *chunk)
{
    free(chunk);
}

/* The pieces in granules[word] have changed: say so to the level above, and to free_orders
 * if they are of low order. */
static void update_word(gp_buddy_chunk *chunk, size_t word, uint32_t orders)
{
    uint32_t changed = chunk->orders[word] ^ orders;
    uint32_t free_orders = chunk->free_orders | (orders & (WORD - 1));
    uint64_t bit = UINT64_C(1) << word;

    chunk->orders[word] = (uint8_t)orders;
    for (; (changed & (WORD - 1)) != 0; changed &= changed - 1) {
        unsigned order = (unsigned)__builtin_ctz(changed);
        uint64_t having = chunk->having[order] ^ bit;

        chunk->having[order] = having;
        free_orders &= ~((uint32_t)(having == 0) << order);
    }
    chunk->free_orders = free_orders;
    chunk->whole ^= (uint64_t)(changed != 0) << word;
}

static void mark_words(gp_buddy_chunk *chunk, size_t word, size_t count, bool is_free)
{
    uint64_t marked = gp_free_bits_range((unsigned)word, (unsigned)count);

    memset(&chunk->granules[word], is_free ? 0xff : 0, count * sizeof(uint64_t));
    memset(&chunk->orders[word], is_free ? 1 << GP_FREE_BITS_ORDER : 0, count);
    chunk->whole = is_free ? chunk->whole | marked : chunk->whole & ~marked;
}

/* The orders once a piece of this one is gone and the rest of it is back. A number of units
 * is a sum of powers of two, and so are the pieces that cover it behind a block: the number
 * is also the set of their orders. */
static uint32_t orders_after(uint32_t orders, uint64_t pieces, unsigned order, uint32_t rest)
{
    uint32_t was_last = (pieces & (pieces - 1)) == 0;

    return (orders & ~(was_last << order)) | rest;
}

static size_t take_granules(gp_buddy_chunk *chunk, unsigned order, unsigned granules)
{
    size_t word = (size_t)__builtin_ctzll(chunk->having[order]);
    uint64_t pieces = gp_free_bits_of_order(chunk->granules[word], order);
    unsigned first = (unsigned)__builtin_ctzll(pieces);
    uint32_t rest = (1u << order) - granules;

    chunk->granules[word] &= ~gp_free_bits_range(first, granules);
    update_word(chunk, word, orders_after(chunk->orders[word], pieces, order, rest));
    return word * WORD + first;
}

static size_t take_words(gp_buddy_chunk *chunk, unsigned order, size_t granules)
{
    unsigned high_order = order - GP_FREE_BITS_ORDER;
    uint64_t pieces = gp_free_bits_of_order(chunk->whole, high_order);
    size_t word = (size_t)__builtin_ctzll(pieces);
    size_t count = (granules + WORD - 1) / WORD;
    uint32_t rest = (1u << high_order) - (uint32_t)count;
    uint32_t high_orders = chunk->free_orders >> GP_FREE_BITS_ORDER;

    mark_words(chunk, word, count, false);
    set_high_orders(chunk, orders_after(high_orders, pieces, high_order, rest));
    if (granules % WORD != 0) {
        size_t last = word + count - 1;

        chunk->granules[last] = UINT64_MAX << (granules % WORD);
        update_word(chunk, last, WORD - (uint32_t)(granules % WORD));
    }
    return word * WORD;
}

size_t gp_buddy_chunk_take(gp_buddy_chunk *chunk, unsigned order, size_t granules)
{
    assert(granules <= (size_t)1 << order);
    chunk->free_granules -= (uint32_t)granules;
    return order < GP_FREE_BITS_ORDER ? take_granules(chunk, order, (unsigned)granules)
                                      : take_words(chunk, order, granules);
}

/* A block of less than a word lies within one: it begins at a multiple of a power of two
 * no less than its length. A longer one begins at a word for the same reason. */
void gp_buddy_chunk_give(gp_buddy_chunk *chunk, size_t offset, size_t granules)
{
    size_t word = offset / WORD;
    size_t words = granules / WORD;
    uint64_t whole_before = chunk->whole;

    chunk->free_granules += (uint32_t)granules;
    if (words != 0) {
        mark_words(chunk, word, words, true);
    }
    if (granules % WORD != 0) {
        uint64_t *last = &chunk->granules[word + words];

        *last |= gp_free_bits_range((unsigned)(offset % WORD), (unsigned)(granules % WORD));
        update_word(chunk, word + words, gp_free_bits_orders(*last));
    }
    if (chunk->whole != whole_before) {
        set_high_orders(chunk, gp_free_bits_orders(chunk->whole));
    }
}

/* Is all of this run free? Its offset is a multiple of its length. */
static bool is_free_run(const gp_buddy_chunk *chunk, size_t offset, unsigned order)
{
    uint64_t bits = chunk->granules[offset / WORD];
    size_t first = offset % WORD;

    if (order >= GP_FREE_BITS_ORDER) {
        bits = chunk->whole;
        first = offset / WORD;
        order -= GP_FREE_BITS_ORDER;
    }
    return (~bits & gp_free_bits_range((unsigned)first, 1u << order)) == 0;
}

unsigned gp_buddy_chunk_joined_order(const gp_buddy_chunk *chunk, size_t offset, unsigned order)
{
    for (; order < chunk->order; order++) {
        size_t length = (size_t)1 << order;

        if (!is_free_run(chunk, offset ^ length, order)) {
            break;
        }
        offset &= ~length;
    }
    return order;
}

size_t gp_buddy_chunk_metadata_bytes(const gp_buddy_chunk *chunk)
{
    return chunk_bytes(chunk->order);
}

static uint32_t count_free(const gp_buddy_chunk *chunk)
{
    uint32_t count = 0;

    for (size_t word = 0; word < word_count(chunk->order); word++) {
        count += (uint32_t)__builtin_popcountll(chunk->granules[word]);
    }
    return count;
}

/* Does the upper level say of this word what the word says itself? */
static bool word_is_valid(const gp_buddy_chunk *chunk, size_t word)
{
    uint32_t orders = (uint32_t)(chunk->whole >> word & 1) << GP_FREE_BITS_ORDER;

    for (unsigned order = 0; order < GP_FREE_BITS_ORDER; order++) {
        orders |= (uint32_t)(chunk->having[order] >> word & 1) << order;
    }
    return orders == chunk->orders[word] && orders == gp_free_bits_orders(chunk->granules[word]);
}

static uint32_t find_free_orders(const gp_buddy_chunk *chunk)
{
    uint32_t orders = gp_free_bits_orders(chunk->whole) << GP_FREE_BITS_ORDER;

    for (unsigned order = 0; order < GP_FREE_BITS_ORDER; order++) {
        orders |= (uint32_t)(chunk->having[order] != 0) << order;
    }
    return orders;
}

bool gp_buddy_chunk_is_valid(const gp_buddy_chunk *chunk)
{
    for (size_t word = 0; word < word_count(chunk->order); word++) {
        if (!word_is_valid(chunk, word)) {
            return false;
        }
    }
    return chunk->free_orders == find_free_orders(chunk) &&
           chunk->free_granules == count_free(chunk);
}
