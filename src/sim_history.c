#include "sim_history.h"

#include <stdlib.h>
#include <string.h>

static gp_sim_segment *segment_of(gp_sim_node *node)
{
    return node != NULL ? GP_SIM_CONTAINER(node, gp_sim_segment, by_address) : NULL;
}

static uint64_t base_of(const gp_sim_segment *segment)
{
    return segment->by_address.key;
}

static uint64_t end_of(const gp_sim_segment *segment)
{
    return segment->by_address.key + segment->bytes;
}

static gp_sim_segment *segment_add(gp_sim_tree *history, uint64_t base, uint64_t end)
{
    gp_sim_segment *segment = calloc(1, sizeof(*segment));
    if (segment == NULL)
        return NULL;
    segment->by_address.key = base;
    segment->bytes = end - base;
    gp_sim_tree_insert(history, &segment->by_address);
    return segment;
}

static void segment_remove(gp_sim_tree *history, gp_sim_segment *segment)
{
    gp_sim_tree_remove(history, &segment->by_address);
    free(segment->reads);
    free(segment);
}

/* ---- walk ---- */

gp_sim_segment *gp_sim_history_first(const gp_sim_tree *history, uint64_t base, uint64_t end)
{
    gp_sim_segment *segment = segment_of(gp_sim_tree_at_or_below(history, base));
    if (segment != NULL && end_of(segment) > base)
        return segment;
    segment = segment_of(gp_sim_tree_at_or_above(history, base, 0));
    return segment != NULL && base_of(segment) < end ? segment : NULL;
}

gp_sim_segment *gp_sim_history_next(const gp_sim_tree *history, const gp_sim_segment *segment,
                                    uint64_t end)
{
    gp_sim_segment *next = segment_of(gp_sim_tree_next(history, &segment->by_address));
    return next != NULL && base_of(next) < end ? next : NULL;
}

/* ---- cut ---- */

static bool copy_reads(gp_sim_segment *to, const gp_sim_segment *from)
{
    if (from->read_count == 0)
        return true;
    to->reads = malloc(from->read_count * sizeof(*to->reads));
    if (to->reads == NULL)
        return false;
    memcpy(to->reads, from->reads, from->read_count * sizeof(*to->reads));
    to->read_count = from->read_count;
    to->read_capacity = from->read_count;
    return true;
}

/* Make an address the boundary of a segment, if it lies inside one. */
static bool cut_at(gp_sim_tree *history, uint64_t address)
{
    gp_sim_segment *segment = gp_sim_history_first(history, address, address + 1);
    if (segment == NULL || base_of(segment) == address)
        return true;

    gp_sim_segment *upper = segment_add(history, address, end_of(segment));
    if (upper == NULL)
        return false;
    upper->write = segment->write;
    segment->bytes = address - base_of(segment);
    return copy_reads(upper, segment);
}

bool gp_sim_history_forget(gp_sim_tree *history, uint64_t base, uint64_t end)
{
    if (!cut_at(history, base) || !cut_at(history, end))
        return false;

    gp_sim_segment *segment = gp_sim_history_first(history, base, end);
    while (segment != NULL) {
        segment_remove(history, segment);
        segment = gp_sim_history_first(history, base, end);
    }
    return true;
}

void gp_sim_history_clear(gp_sim_tree *history)
{
    while (history->root != NULL)
        segment_remove(history, segment_of(history->root));
}

/* ---- record ---- */

static bool record_write(gp_sim_tree *history, uint64_t base, uint64_t end, const gp_sim_side *side)
{
    gp_sim_segment *segment = gp_sim_history_first(history, base, end);
    if (segment == NULL || base_of(segment) != base || end_of(segment) != end) {
        if (!gp_sim_history_forget(history, base, end))
            return false;
        segment = segment_add(history, base, end);
    }
    if (segment == NULL)
        return false;
    segment->write = *side;
    segment->read_count = 0;
    return true;
}

static void drop_ordered_reads(gp_sim_segment *segment, const gp_sim_moment *moment,
                               const gp_sim_observed *observed)
{
    size_t kept = 0;
    for (size_t i = 0; i < segment->read_count; i++) {
        const gp_sim_side *read = &segment->reads[i];
        if (!gp_sim_moment_covers(moment, observed, read->stream_id, read->position))
            segment->reads[kept++] = *read;
    }
    segment->read_count = kept;
}

static bool add_read(gp_sim_segment *segment, const gp_sim_side *side)
{
    if (segment->read_count == segment->read_capacity) {
        size_t capacity = segment->read_capacity > 0 ? segment->read_capacity * 2 : 1;
        gp_sim_side *reads = realloc(segment->reads, capacity * sizeof(*reads));
        if (reads == NULL)
            return false;
        segment->reads = reads;
        segment->read_capacity = capacity;
    }
    segment->reads[segment->read_count++] = *side;
    return true;
}

/* Cover gaps in [base, end) with segments that nobody wrote to. */
static bool fill_gaps(gp_sim_tree *history, uint64_t base, uint64_t end)
{
    uint64_t at = base;
    while (at < end) {
        const gp_sim_segment *segment = gp_sim_history_first(history, at, end);
        uint64_t next = segment != NULL ? base_of(segment) : end;
        if (next > at && segment_add(history, at, next) == NULL)
            return false;
        at = segment != NULL ? end_of(segment) : end;
    }
    return true;
}

static bool record_read(gp_sim_tree *history, uint64_t base, uint64_t end, const gp_sim_side *side,
                        const gp_sim_moment *moment, const gp_sim_observed *observed)
{
    if (!cut_at(history, base) || !cut_at(history, end) || !fill_gaps(history, base, end))
        return false;

    gp_sim_segment *segment = gp_sim_history_first(history, base, end);
    while (segment != NULL) {
        drop_ordered_reads(segment, moment, observed);
        if (!add_read(segment, side))
            return false;
        segment = gp_sim_history_next(history, segment, end);
    }
    return true;
}

bool gp_sim_history_record(gp_sim_tree *history, uint64_t base, uint64_t end,
                           const gp_sim_side *side, const gp_sim_moment *moment,
                           const gp_sim_observed *observed)
{
    if (side->writes)
        return record_write(history, base, end, side);
    return record_read(history, base, end, side, moment, observed);
}
