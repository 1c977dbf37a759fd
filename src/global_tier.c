#include "global_tier.h"

#include <sched.h>
#include <stdlib.h>

#include "address_table.h"
#include "clock.h"
#include "error.h"
#include "lock.h"
#include "request.h"

/* How long the own stream is waited for if it waits for others: a tool that watches every access
 * makes what takes microseconds take milliseconds. */
#define WAIT_NS 100000000

/* The native pool maps memory in steps of its own, 32 MiB on today's drivers, and what lies between
 * segments is of no use to it: it may hold more than was asked of it. What the pool's limit has
 * room for must not fail for that, so its own bound is so much above the limit, or so many times
 * the room that is left near it, where such pieces come about. */
#define NATIVE_SLACK_BYTES ((size_t)64 << 20)
#define NATIVE_SLACK_ROOMS 2

/* Zero: no limit. */
static size_t native_limit(const gp_limits *limits)
{
    const size_t rooms = NATIVE_SLACK_ROOMS * (limits->max_bytes - limits->near_bytes);
    const size_t slack = rooms > NATIVE_SLACK_BYTES ? rooms : NATIVE_SLACK_BYTES;
    return limits->max_bytes > SIZE_MAX - slack ? 0 : limits->max_bytes + slack;
}

gp_status gp_global_tier_init(gp_global_tier *tier, gp_backend *backend, gp_trace *trace,
                              const gp_pool_config *config)
{
    tier->backend = backend;
    tier->trace = trace;
    gp_limits_init(&tier->limits, config, backend);
    tier->owns_native = config->native_pool == NULL;
    tier->native = config->native_pool;
    tier->follows_others = config->visible_order;
    tier->is_plain = config->annotate_memory;
    tier->least_step = config->segment_bytes;
    tier->most_step = config->growth_bytes;
    gp_counter_set(&tier->step, tier->least_step);
    if (tier->owns_native) {
        gp_status status =
            backend->ops->pool_create(backend, native_limit(&tier->limits), &tier->native);
        if (status != GP_OK)
            return status;
    }
    (void)pthread_mutex_init(&tier->lock, NULL);
    (void)pthread_cond_init(&tier->grown, NULL);
    (void)pthread_mutex_init(&tier->own_stream_lock, NULL);
    return GP_OK;
}

/* ---- growth ---------------------------------------------------------------- */

static void wait_for_growth(gp_global_tier *tier)
{
    gp_trace_scope scope;
    gp_trace_begin(&scope, tier->trace, GP_TRACE_GROW_WAIT, 0);
    gp_mutex_lock(&tier->lock, GP_RANK_ALONE);
    while (tier->growing)
        (void)pthread_cond_wait(&tier->grown, &tier->lock);
    gp_mutex_unlock(&tier->lock, GP_RANK_ALONE);
    gp_trace_end(&scope);
}

bool gp_global_tier_begin_growth(gp_global_tier *tier)
{
    gp_mutex_lock(&tier->lock, GP_RANK_ALONE);
    const bool mine = !tier->growing;
    tier->growing = true;
    gp_mutex_unlock(&tier->lock, GP_RANK_ALONE);
    if (!mine)
        wait_for_growth(tier);
    return mine;
}

void gp_global_tier_end_growth(gp_global_tier *tier)
{
    gp_mutex_lock(&tier->lock, GP_RANK_ALONE);
    tier->growing = false;
    (void)pthread_cond_broadcast(&tier->grown);
    gp_mutex_unlock(&tier->lock, GP_RANK_ALONE);
}

bool gp_global_tier_allows(const gp_global_tier *tier, size_t bytes)
{
    return gp_limits_allow(&tier->limits, gp_counter_get(&tier->reserved), bytes);
}

uint64_t gp_global_tier_ceiling(const gp_global_tier *tier, size_t bytes)
{
    const gp_limits *limits = &tier->limits;
    uint64_t ceiling = gp_counter_get(&tier->reserved_ever_high) + gp_counter_get(&tier->slack);
    if (!gp_global_tier_allows(tier, bytes) && limits->max_bytes < ceiling)
        ceiling = limits->max_bytes;
    return limits->soft_bytes < ceiling ? limits->soft_bytes : ceiling;
}

uint64_t gp_global_tier_room_target(const gp_global_tier *tier, uint64_t ceiling, size_t bytes)
{
    const uint64_t target = ceiling > bytes ? ceiling - bytes : 0;
    const uint64_t floor = gp_counter_get(&tier->floor);
    return target > floor ? target : floor;
}

static void set_near_limit(gp_global_tier *tier, bool near)
{
    atomic_store_explicit(&tier->near_limit, near, memory_order_relaxed);
}

size_t gp_global_tier_growth(gp_global_tier *tier, size_t bytes)
{
    const gp_limits *limits = &tier->limits;
    const uint64_t reserved = gp_counter_get(&tier->reserved);
    const size_t step = gp_limits_step(limits, reserved, gp_counter_get(&tier->step));
    const bool comes_near = reserved + bytes > limits->near_bytes;
    /* A request that is far too large says nothing about the others. */
    if (comes_near && gp_global_tier_allows(tier, bytes))
        set_near_limit(tier, true);
    const bool near = comes_near || gp_global_tier_is_near_limit(tier);
    return gp_round_up(bytes, near ? GP_PAGE_BYTES : step);
}

void gp_global_tier_note_growth(gp_global_tier *tier)
{
    const uint64_t step = gp_counter_get(&tier->step);
    if (step < tier->most_step)
        gp_counter_set(&tier->step, 2 * step);
}

void gp_global_tier_note_release(gp_global_tier *tier)
{
    gp_counter_set(&tier->step, tier->least_step);
    const uint64_t reserved = gp_counter_get(&tier->reserved);
    if (reserved < gp_counter_get(&tier->floor))
        gp_counter_set(&tier->floor, reserved);
    if (reserved < tier->limits.far_bytes)
        set_near_limit(tier, false);
}

/* ---- segments ---------------------------------------------------------------- */

static bool takes_plain(const gp_global_tier *tier)
{
    return tier->is_plain && tier->backend->ops->alloc_plain != NULL;
}

static gp_status take_native(gp_global_tier *tier, void **native, size_t bytes, cudaStream_t stream)
{
    const gp_backend_ops *ops = tier->backend->ops;
    return takes_plain(tier) ? ops->alloc_plain(tier->backend, native, bytes)
                             : ops->alloc(tier->backend, native, bytes, tier->native, stream);
}

/* Plain memory goes back at once, so only after what gp's own stream waits for. */
static gp_status give_native(gp_global_tier *tier, void *native, cudaStream_t stream)
{
    const gp_backend_ops *ops = tier->backend->ops;
    if (!takes_plain(tier))
        return ops->free(tier->backend, native, stream);
    if (!gp_global_tier_wait(tier, stream))
        return gp_error_set(GP_ERR_BUSY, "the device is not past all uses of the memory");
    return ops->free_plain(tier->backend, native);
}

static gp_status call_alloc(gp_global_tier *tier, void **native, size_t bytes, cudaStream_t stream)
{
    gp_trace_scope scope;
    (void)gp_counter_add_shared(&tier->allocs, 1);
    gp_trace_begin(&scope, tier->trace, GP_TRACE_NATIVE_ALLOC, bytes);
    gp_status status = take_native(tier, native, bytes, stream);
    gp_trace_end(&scope);
    return status;
}

static gp_status call_free(gp_global_tier *tier, void *native, size_t bytes, cudaStream_t stream)
{
    gp_trace_scope scope;
    (void)gp_counter_add_shared(&tier->frees, 1);
    gp_trace_begin(&scope, tier->trace, GP_TRACE_NATIVE_FREE, bytes);
    gp_status status = give_native(tier, native, stream);
    gp_trace_end(&scope);
    return status;
}

static gp_status refuse_past_limit(const gp_global_tier *tier, size_t bytes)
{
    return gp_error_set(GP_ERR_LIMIT, "%zu bytes more would pass the pool's limit of %zu", bytes,
                        tier->limits.max_bytes);
}

static gp_status check_limits(const gp_global_tier *tier, size_t bytes)
{
    const gp_limits *limits = &tier->limits;
    if (!gp_global_tier_allows(tier, bytes))
        return refuse_past_limit(tier, bytes);
    if (!gp_limits_leave_headroom(limits, tier->backend, bytes))
        return gp_error_set(GP_ERR_LIMIT, "%zu bytes more would leave less than %zu to others",
                            bytes, limits->headroom_bytes);
    return GP_OK;
}

static gp_status native_alloc(gp_global_tier *tier, size_t bytes, cudaStream_t stream,
                              gp_segment *segment)
{
    gp_status status = check_limits(tier, bytes);
    if (status != GP_OK)
        return status;

    void *native = NULL;
    status = call_alloc(tier, &native, bytes, stream);
    if (status != GP_OK)
        return status;
    gp_trace_take_segment(tier->trace, native, bytes);

    segment->native = native;
    segment->native_bytes = bytes;
    uintptr_t first = gp_round_up((uintptr_t)native, GP_PAGE_BYTES);
    uintptr_t last = ((uintptr_t)native + bytes) & ~(GP_PAGE_BYTES - 1);
    segment->span = (gp_span){.base = first, .bytes = last - first};
    return GP_OK;
}

/* The segment has no memory any more once that succeeds. */
static gp_status native_free(gp_global_tier *tier, gp_segment *segment, cudaStream_t stream)
{
    gp_trace_give_segment(tier->trace, segment->native, segment->native_bytes);
    gp_status status = call_free(tier, segment->native, segment->native_bytes, stream);
    if (status == GP_OK)
        segment->native = NULL;
    else
        gp_trace_take_segment(tier->trace, segment->native, segment->native_bytes);
    return status;
}

/* Drivers return blocks of this size aligned to 1 MiB; one that does not costs a
 * page more, since only whole pages are cut. */
static gp_status take_aligned(gp_global_tier *tier, size_t bytes, cudaStream_t stream,
                              gp_segment *segment)
{
    gp_status status = native_alloc(tier, bytes, stream, segment);
    if (status != GP_OK || segment->span.bytes >= bytes)
        return status;
    status = native_free(tier, segment, stream);
    return status == GP_OK ? native_alloc(tier, bytes + GP_PAGE_BYTES, stream, segment) : status;
}

static void raise_highs(gp_global_tier *tier, uint64_t reserved)
{
    gp_counter_raise(&tier->reserved_high, reserved);
    gp_counter_raise(&tier->reserved_ever_high, reserved);
}

static void count_reserved(gp_global_tier *tier, size_t bytes)
{
    raise_highs(tier, gp_counter_add_shared(&tier->reserved, bytes));
}

/* A segment that cannot be used after all. */
static void drop_made(gp_global_tier *tier, gp_segment *segment, cudaStream_t stream)
{
    if (segment->native == NULL || native_free(tier, segment, stream) == GP_OK) {
        free(segment);
        return;
    }
    count_reserved(tier, segment->span.bytes);
    gp_global_tier_keep_segment(tier, segment);
}

gp_status gp_global_tier_take_segment(gp_global_tier *tier, size_t bytes, cudaStream_t *own_stream,
                                      gp_segment **segment)
{
    gp_status status = gp_global_tier_own_stream(tier, own_stream);
    if (status != GP_OK)
        return status;
    gp_segment *made = calloc(1, sizeof(*made));
    if (made == NULL)
        return gp_error_set(GP_ERR_OUT_OF_HOST_MEMORY, "no host memory for a segment");

    status = take_aligned(tier, bytes, *own_stream, made);
    if (status == GP_OK)
        status = gp_address_table_prepare(made->span.base, made->span.bytes);
    if (status != GP_OK) {
        drop_made(tier, made, *own_stream);
        return status;
    }
    count_reserved(tier, made->span.bytes);
    *segment = made;
    return GP_OK;
}

gp_status gp_global_tier_give_segment(gp_global_tier *tier, gp_segment *segment,
                                      cudaStream_t stream)
{
    gp_address_table_assign(segment->span.base, segment->span.bytes, NULL);
    gp_status status = native_free(tier, segment, stream);
    if (status != GP_OK) {
        gp_address_table_assign(segment->span.base, segment->span.bytes, segment);
        return status;
    }
    gp_counter_sub_shared(&tier->reserved, segment->span.bytes);
    free(segment);
    return GP_OK;
}

/* ---- single blocks ---------------------------------------------------------------- */

/* Counted before it is there: no one thread grows such a pool for the others. */
gp_status gp_global_tier_take_block(gp_global_tier *tier, size_t bytes, cudaStream_t stream,
                                    void **native)
{
    const uint64_t reserved = gp_counter_add_shared(&tier->reserved, bytes);
    gp_status status = GP_OK;
    if (reserved > tier->limits.max_bytes)
        status = refuse_past_limit(tier, bytes);
    else
        status = call_alloc(tier, native, bytes, stream);
    if (status == GP_OK)
        raise_highs(tier, reserved);
    else
        gp_counter_sub_shared(&tier->reserved, bytes);
    return status;
}

gp_status gp_global_tier_give_block(gp_global_tier *tier, void *native, size_t bytes,
                                    cudaStream_t stream)
{
    gp_status status = call_free(tier, native, bytes, stream);
    if (status == GP_ERR_SHUTDOWN)
        status = GP_OK; /* A driver that is gone took the memory with it. */
    if (status == GP_OK)
        gp_counter_sub_shared(&tier->reserved, bytes);
    return status;
}

/* ---- segments that nobody could take -------------------------------------------- */

void gp_global_tier_keep_segment(gp_global_tier *tier, gp_segment *segment)
{
    gp_mutex_lock(&tier->lock, GP_RANK_ALONE);
    segment->next = tier->kept;
    tier->kept = segment;
    gp_mutex_unlock(&tier->lock, GP_RANK_ALONE);
}

static gp_segment *take_kept(gp_global_tier *tier)
{
    gp_mutex_lock(&tier->lock, GP_RANK_ALONE);
    gp_segment *kept = tier->kept;
    tier->kept = NULL;
    gp_mutex_unlock(&tier->lock, GP_RANK_ALONE);
    return kept;
}

bool gp_global_tier_give_kept(gp_global_tier *tier)
{
    bool given = false;
    gp_segment *segment = take_kept(tier);
    while (segment != NULL) {
        gp_segment *next = segment->next;
        const size_t bytes = segment->span.bytes;
        if (native_free(tier, segment, tier->own_stream) == GP_OK) {
            gp_counter_sub_shared(&tier->reserved, bytes);
            free(segment);
            given = true;
        } else {
            gp_global_tier_keep_segment(tier, segment);
        }
        segment = next;
    }
    return given;
}

uint64_t gp_global_tier_kept_bytes(gp_global_tier *tier)
{
    uint64_t bytes = 0;
    gp_mutex_lock(&tier->lock, GP_RANK_ALONE);
    for (const gp_segment *segment = tier->kept; segment != NULL; segment = segment->next)
        bytes += segment->span.bytes;
    gp_mutex_unlock(&tier->lock, GP_RANK_ALONE);
    return bytes;
}

static gp_status make_own_stream(gp_global_tier *tier)
{
    cudaStream_t stream;
    gp_status status = tier->backend->ops->stream_create(tier->backend, &stream);
    if (status != GP_OK)
        return status;

    gp_mutex_lock(&tier->own_stream_lock, GP_RANK_ALONE);
    bool mine = !tier->has_own_stream;
    if (mine) {
        tier->own_stream = stream;
        tier->has_own_stream = true;
    }
    gp_mutex_unlock(&tier->own_stream_lock, GP_RANK_ALONE);
    if (mine)
        gp_trace_name(tier->trace, stream, 0, GP_TRACE_OWN_STREAM);
    else
        tier->backend->ops->stream_destroy(tier->backend, stream);
    return GP_OK;
}

bool gp_global_tier_has_own_stream(gp_global_tier *tier, cudaStream_t *stream)
{
    gp_mutex_lock(&tier->own_stream_lock, GP_RANK_ALONE);
    const bool ready = tier->has_own_stream;
    *stream = tier->own_stream;
    gp_mutex_unlock(&tier->own_stream_lock, GP_RANK_ALONE);
    return ready;
}

gp_status gp_global_tier_own_stream(gp_global_tier *tier, cudaStream_t *stream)
{
    if (!gp_global_tier_has_own_stream(tier, stream)) {
        gp_status status = make_own_stream(tier);
        if (status != GP_OK)
            return status;
    }
    *stream = tier->own_stream;
    return GP_OK;
}

/* What others queue meanwhile may wait for the caller. */
bool gp_global_tier_wait_briefly(gp_global_tier *tier, cudaStream_t own_stream)
{
    const uint64_t start = gp_clock_ns();
    bool idle = false;
    while (tier->backend->ops->stream_query(tier->backend, own_stream, &idle) == GP_OK && !idle &&
           gp_clock_ns() - start < WAIT_NS)
        (void)sched_yield();
    return idle;
}

static bool wait_until_done(gp_global_tier *tier, cudaStream_t own_stream)
{
    /* The driver lets go of memory at synchronisation points only, which never end if what others
     * queue meanwhile waits for the caller. */
    if (tier->follows_others && !gp_global_tier_wait_briefly(tier, own_stream))
        return false;
    bool complete = false;
    gp_status status = tier->backend->ops->stream_synchronize(tier->backend, own_stream, &complete);
    return status == GP_OK && complete;
}

bool gp_global_tier_wait(gp_global_tier *tier, cudaStream_t own_stream)
{
    gp_trace_scope scope;
    gp_trace_begin(&scope, tier->trace, GP_TRACE_NATIVE_WAIT, 0);
    const bool complete = wait_until_done(tier, own_stream);
    gp_trace_end(&scope);
    return complete;
}

gp_status gp_global_tier_trim(gp_global_tier *tier, size_t min_bytes_to_keep)
{
    gp_trace_scope scope;
    (void)gp_counter_add_shared(&tier->trims, 1);
    gp_trace_begin(&scope, tier->trace, GP_TRACE_NATIVE_TRIM, min_bytes_to_keep);
    gp_status status =
        tier->backend->ops->pool_trim(tier->backend, tier->native, min_bytes_to_keep);
    gp_trace_end(&scope);
    return status;
}

/* ---- the end ---------------------------------------------------------------- */

static void drop_kept(gp_global_tier *tier)
{
    gp_segment *segment = take_kept(tier);
    while (segment != NULL) {
        gp_segment *next = segment->next;
        free(segment);
        segment = next;
    }
}

void gp_global_tier_destroy(gp_global_tier *tier)
{
    (void)gp_global_tier_give_kept(tier);
    drop_kept(tier);
    if (tier->has_own_stream)
        tier->backend->ops->stream_destroy(tier->backend, tier->own_stream);
    if (tier->owns_native)
        (void)tier->backend->ops->pool_destroy(tier->backend, tier->native);
    (void)pthread_mutex_destroy(&tier->own_stream_lock);
    (void)pthread_cond_destroy(&tier->grown);
    (void)pthread_mutex_destroy(&tier->lock);
}
