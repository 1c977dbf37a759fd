#include "sim_order.h"

#include <stdlib.h>
#include <string.h>

typedef struct entry {
    uint64_t stream_id;
    uint64_t position;
} entry;

struct gp_sim_order {
    size_t references;
    size_t count;
    entry entries[]; /* by ascending stream id */
};

gp_sim_order *gp_sim_order_share(gp_sim_order *order)
{
    if (order != NULL)
        order->references++;
    return order;
}

void gp_sim_order_release(gp_sim_order *order)
{
    if (order != NULL && --order->references == 0)
        free(order);
}

uint64_t gp_sim_order_position(const gp_sim_order *order, uint64_t stream_id)
{
    size_t low = 0;
    size_t high = order != NULL ? order->count : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (order->entries[middle].stream_id < stream_id)
            low = middle + 1;
        else
            high = middle;
    }
    if (order == NULL || low == order->count || order->entries[low].stream_id != stream_id)
        return 0;
    return order->entries[low].position;
}

/* Append unless the host has seen it; raise the last entry if it is the same stream's. */
static void append(gp_sim_order *order, entry next, const gp_sim_observed *observed)
{
    entry *last = order->count > 0 ? &order->entries[order->count - 1] : NULL;
    if (next.position <= gp_sim_observed_position(observed, next.stream_id))
        return;
    if (last == NULL || last->stream_id != next.stream_id)
        order->entries[order->count++] = next;
    else if (last->position < next.position)
        last->position = next.position;
}

/* Both orders and one entry more, by ascending stream id. */
static void merge(gp_sim_order *out, const gp_sim_order *a, const gp_sim_order *b, entry more,
                  const gp_sim_observed *observed)
{
    size_t i = 0;
    size_t j = 0;
    size_t a_count = a != NULL ? a->count : 0;
    size_t b_count = b != NULL ? b->count : 0;
    bool is_more_left = true;

    while (i < a_count || j < b_count || is_more_left) {
        uint64_t from_a = i < a_count ? a->entries[i].stream_id : UINT64_MAX;
        uint64_t from_b = j < b_count ? b->entries[j].stream_id : UINT64_MAX;
        uint64_t least = from_a < from_b ? from_a : from_b;
        if (is_more_left && more.stream_id <= least) {
            append(out, more, observed);
            is_more_left = false;
        } else if (from_a <= from_b) {
            append(out, a->entries[i++], observed);
        } else {
            append(out, b->entries[j++], observed);
        }
    }
}

static bool replace_by_merge(gp_sim_order **order, const gp_sim_order *other, entry more,
                             const gp_sim_observed *observed)
{
    size_t room = 1;
    room += *order != NULL ? (*order)->count : 0;
    room += other != NULL ? other->count : 0;
    gp_sim_order *merged = malloc(sizeof(*merged) + room * sizeof(entry));
    if (merged == NULL)
        return false;

    merged->references = 1;
    merged->count = 0;
    merge(merged, *order, other, more, observed);
    gp_sim_order_release(*order);
    *order = merged;
    return true;
}

bool gp_sim_order_join(gp_sim_order **order, const gp_sim_moment *moment,
                       const gp_sim_observed *observed)
{
    /* Orders are closed: who is after a moment is after all that is before it. */
    if (moment->position <= gp_sim_order_position(*order, moment->stream_id) ||
        moment->position <= gp_sim_observed_position(observed, moment->stream_id))
        return true;

    entry own = {.stream_id = moment->stream_id, .position = moment->position};
    return replace_by_merge(order, moment->order, own, observed);
}

bool gp_sim_order_add(gp_sim_order **order, const gp_sim_order *other,
                      const gp_sim_observed *observed)
{
    entry nothing = {0}; /* position 0 is always observed, so it adds none */
    return other == NULL || replace_by_merge(order, other, nothing, observed);
}

bool gp_sim_moment_covers(const gp_sim_moment *moment, const gp_sim_observed *observed,
                          uint64_t stream_id, uint64_t position)
{
    if (stream_id == moment->stream_id)
        return position <= moment->position;
    return position <= gp_sim_order_position(moment->order, stream_id) ||
           position <= gp_sim_observed_position(observed, stream_id);
}

bool gp_sim_observed_reserve(gp_sim_observed *observed, uint64_t stream_id)
{
    if (stream_id < observed->count)
        return true;

    size_t count = observed->count > 0 ? observed->count * 2 : 64;
    while (count <= stream_id)
        count *= 2;
    uint64_t *positions = realloc(observed->positions, count * sizeof(*positions));
    if (positions == NULL)
        return false;

    memset(positions + observed->count, 0, (count - observed->count) * sizeof(*positions));
    observed->positions = positions;
    observed->count = count;
    return true;
}

uint64_t gp_sim_observed_position(const gp_sim_observed *observed, uint64_t stream_id)
{
    return stream_id < observed->count ? observed->positions[stream_id] : 0;
}

static void observe(gp_sim_observed *observed, uint64_t stream_id, uint64_t position)
{
    if (stream_id < observed->count && observed->positions[stream_id] < position)
        observed->positions[stream_id] = position;
}

void gp_sim_observed_join(gp_sim_observed *observed, const gp_sim_moment *moment)
{
    if (moment->position <= gp_sim_observed_position(observed, moment->stream_id))
        return;

    observe(observed, moment->stream_id, moment->position);
    for (size_t i = 0; moment->order != NULL && i < moment->order->count; i++)
        observe(observed, moment->order->entries[i].stream_id, moment->order->entries[i].position);
}

void gp_sim_observed_clear(gp_sim_observed *observed)
{
    free(observed->positions);
    observed->positions = NULL;
    observed->count = 0;
}
