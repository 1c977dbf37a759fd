/* The public calls for recordings, and the sink that feeds a recorder. */
#include "gp/record.h"

#include "gp/trace.h"
#include "error.h"
#include "recorder.h"
#include "recordings.h"
#include "registry.h"

/* ---- the sink ---------------------------------------------------------------------- */

/* What a graph or its arena got is not what the pool serves when the program runs on. */
static bool is_captured(const gp_trace_block *block)
{
    return block->tier == GP_TIER_NODE || block->tier == GP_TIER_ARENA;
}

/* The calling thread's ring. NULL: the call was counted, as captured or as dropped. */
static inline gp_record_ring *ring_for(gp_recorder *recorder, const gp_trace_block *block)
{
    if (GP_UNLIKELY(is_captured(block))) {
        (void)gp_counter_add_shared(&recorder->captured, 1);
        return NULL;
    }
    return gp_recorder_ring(recorder, block->thread);
}

static inline void push(gp_recorder *recorder, gp_record_ring *ring, const gp_trace_block *block,
                        size_t bytes, bool frees)
{
    gp_record_ring_push(ring, (uintptr_t)block->address, bytes, block->stream_id, frees,
                        gp_counter_get(&recorder->pass_stamp));
}

/* A hit's block was this thread's own before, or has come with a refill. */
static void note_alloc(void *state, const gp_trace_block *block)
{
    gp_recorder *recorder = state;
    if (GP_UNLIKELY(block->status != GP_OK))
        return;
    gp_record_ring *ring = ring_for(recorder, block);
    if (GP_UNLIKELY(ring == NULL))
        return;
    if (block->tier != GP_TIER_L1)
        gp_record_ring_age(ring);
    push(recorder, ring, block, block->asked_bytes, false);
    gp_record_owners_set(&recorder->owners, (uintptr_t)block->address, ring->index);
}

/* Another thread's block came with that thread's call before. */
static void note_free(void *state, const gp_trace_block *block)
{
    gp_recorder *recorder = state;
    gp_record_ring *ring = ring_for(recorder, block);
    if (GP_UNLIKELY(ring == NULL))
        return;
    if (!gp_record_owners_has(&recorder->owners, (uintptr_t)block->address, ring->index))
        gp_record_ring_age(ring);
    push(recorder, ring, block, block->block_bytes, true);
}

/* Of a refill among others: what is in the thread cache now was other threads'. */
static void note_end(void *state, const gp_trace_event *range)
{
    gp_recorder *recorder = state;
    if (range->kind == GP_TRACE_REFILL)
        gp_recorder_age(recorder);
}

/* The pool ends, unless gp_trace_stop() has taken the recorder before. */
static void close_recorder(void *state)
{
    gp_recorder *recorder = state;
    if (!gp_recordings_take(recorder))
        return;
    gp_recorder_finish(recorder);
    gp_recorder_destroy(recorder);
}

static const gp_trace_sink record_sink = {
    .struct_bytes = sizeof(record_sink),
    .name = "recording",
    .close = close_recorder,
    .end = note_end,
    .alloc = note_alloc,
    .free = note_free,
};

/* ---- the calls --------------------------------------------------------------------- */

gp_status gp_trace_start(gp_pool *pool, const char *path)
{
    if (path == NULL)
        return gp_error_set(GP_ERR_INVALID_ARGUMENT, "path is NULL");
    gp_status status = gp_registry_check(pool);
    if (status != GP_OK)
        return status;
    gp_recorder *recorder = NULL;
    status = gp_recorder_create(&recorder, pool);
    if (status != GP_OK)
        return status;
    if (!gp_recordings_enter(recorder)) {
        status = gp_error_set(GP_ERR_BUSY, "the pool is recorded already");
        goto destroy_recorder;
    }
    status = gp_recorder_begin(recorder, path);
    if (status != GP_OK)
        goto leave_list;
    status = gp_trace_attach(pool, &record_sink, recorder, GP_TRACE_ALL);
    if (status != GP_OK)
        goto finish_recorder;
    gp_recordings_confirm(recorder);
    return GP_OK;

finish_recorder:
    gp_recorder_finish(recorder);
leave_list:
    gp_recordings_cancel(recorder);
destroy_recorder:
    gp_recorder_destroy(recorder);
    return status;
}

static gp_status check_totals(const gp_trace_totals *totals)
{
    if (totals == NULL || totals->struct_bytes == sizeof(*totals))
        return GP_OK;
    return gp_error_set(GP_ERR_VERSION_MISMATCH, "gp_trace_totals.struct_bytes is %u, not %zu",
                        totals->struct_bytes, sizeof(*totals));
}

gp_status gp_trace_stop(gp_pool *pool, gp_trace_totals *totals)
{
    gp_status status = gp_registry_check(pool);
    if (status == GP_OK)
        status = check_totals(totals);
    if (status != GP_OK)
        return status;
    gp_recorder *recorder = gp_recordings_take_of(pool);
    if (recorder == NULL)
        return gp_error_set(GP_ERR_INVALID_ARGUMENT, "the pool is not recorded");

    status = gp_trace_detach(pool, &record_sink, recorder);
    gp_recorder_finish(recorder);
    /* The process began to exit meanwhile: threads may still know the recorder. */
    if (status != GP_OK)
        return status;
    status = gp_recorder_get_totals(recorder, totals);
    gp_recorder_destroy(recorder);
    return status;
}
