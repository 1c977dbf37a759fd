#include "share.h"

#include <stdlib.h>

#include "pool.h"

/*
 * A whole segment moves if it is not much larger than what is needed; out of a
 * larger one a loan is cut, so that the owner keeps the rest.
 */
static size_t largest_to_move(size_t bytes)
{
    return 2 * bytes;
}

/* How much of a donor's memory may be used, and on what condition. */
typedef struct donor_terms {
    uint64_t limit;  /* Memory that came back up to this give number. */
    gp_fence *fence; /* To wait for first; NULL: it has completed. */
} donor_terms;

static donor_terms negotiate(gp_stream_cache *donor, bool may_wait)
{
    gp_pool *pool = donor->pool;
    donor_terms terms = {.limit = 0, .fence = NULL};

    gp_fence *fence = gp_stream_cache_fence(donor, false, NULL);
    terms.limit = gp_stream_cache_progress(donor);
    if (fence == NULL)
        return terms;

    if (gp_fence_poll(&pool->fences, fence)) {
        terms.limit = fence->covers > terms.limit ? fence->covers : terms.limit;
    } else if (may_wait) {
        terms.limit = fence->covers;
        terms.fence = fence;
        return terms;
    }
    gp_fence_release(&pool->fences, fence);
    return terms;
}

static gp_segment *take_out(gp_stream_cache *donor, size_t bytes, uint64_t limit)
{
    gp_segment *segment =
        gp_stream_cache_remove_segment(donor, GP_SEGMENT_ANY, bytes, largest_to_move(bytes), limit);
    if (segment == NULL)
        segment = gp_stream_cache_cut_loan(donor, bytes, limit);
    return segment;
}

/* Put a segment that could not be moved back where it was. */
static void put_back(gp_stream_cache *donor, gp_segment *segment)
{
    if (gp_segment_is_loan(segment) && segment->lender->home == donor) {
        gp_stream_cache_end_loan(donor, segment, GP_ORDERED_HERE);
        return;
    }
    (void)gp_stream_cache_add_segment(donor, segment, GP_ORDERED_HERE);
    /* If that fails, for want of host memory, the segment stays reserved, unused,
     * until the pool is destroyed. */
}

/* A loan that comes back to the stream it was cut from is over. */
static bool hand_over(gp_stream_cache *borrower, gp_segment *segment, gp_order order)
{
    if (gp_segment_is_loan(segment) && segment->lender->home == borrower) {
        gp_stream_cache_end_loan(borrower, segment, order);
        return true;
    }
    return gp_stream_cache_add_segment(borrower, segment, order) == GP_OK;
}

static bool borrow_from(gp_stream_cache *donor, gp_stream_cache *borrower, cudaStream_t stream,
                        size_t bytes, bool may_wait)
{
    gp_pool *pool = donor->pool;
    donor_terms terms = negotiate(donor, may_wait);
    gp_segment *segment = take_out(donor, bytes, terms.limit);

    bool moved = false;
    if (segment != NULL) {
        /* Legal from here on: complete, or the borrower waits before it touches it,
         * and its own later fences are recorded after this wait. */
        gp_order order = terms.fence == NULL ? GP_ORDERED_EVERYWHERE : GP_ORDERED_HERE;
        moved =
            (terms.fence == NULL || gp_fence_wait(&pool->fences, terms.fence, stream) == GP_OK) &&
            hand_over(borrower, segment, order);
        if (!moved)
            put_back(donor, segment);
        else if (terms.fence != NULL)
            (void)gp_counter_add_shared(&pool->shared_waits, 1);
    }
    gp_fence_release(&pool->fences, terms.fence);
    return moved;
}

bool gp_share_borrow(gp_stream_cache *borrower, cudaStream_t stream, size_t bytes, bool may_wait)
{
    gp_stream_cache *donor = gp_pool_first_stream(borrower->pool);
    for (; donor != NULL; donor = donor->next) {
        if (donor == borrower)
            continue;
        if (gp_counter_get(&donor->transit_bytes) > 0)
            (void)gp_stream_cache_collect(donor);
        if (gp_counter_get(&donor->free_bytes) >= bytes &&
            borrow_from(donor, borrower, stream, bytes, may_wait))
            return true;
    }
    return false;
}

void gp_share_return_loan(gp_stream_cache *holder, gp_segment *loan, gp_fence *fence)
{
    gp_pool *pool = holder->pool;
    gp_stream_cache *lender = loan->lender->home;
    if (gp_fence_poll(&pool->fences, fence)) {
        gp_stream_cache_end_loan(lender, loan, GP_ORDERED_EVERYWHERE);
        return;
    }

    gp_batch *batch = gp_batch_get(&pool->batches);
    if (batch == NULL) {
        put_back(holder, loan);
        return;
    }
    batch->loan = loan;
    batch->bytes = loan->span.bytes;
    batch->fences[0] = gp_fence_retain(fence);
    batch->fence_count = 1;
    (void)gp_counter_add_shared(&lender->transit_bytes, batch->bytes);
    (void)gp_counter_add_shared(&lender->pending_bytes, batch->bytes);
    gp_batch_push(&lender->arrived, batch);
}
