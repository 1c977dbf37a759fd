#include "player.h"

#include "stage.h"

/* Device time of the work on each block: a small kernel. */
#define TOUCH_NS 3000

/* ---- bytes live ---- */

/*
 * Counted up after an allocation has returned and down before its free is
 * called: the peak is never above the true one, and so the ratio of reserved to
 * live bytes never looks better than it is.
 */
static void count_live(bench_stage *stage, size_t bytes)
{
    size_t live =
        atomic_fetch_add_explicit(&stage->live_bytes, bytes, memory_order_relaxed) + bytes;
    size_t peak = atomic_load_explicit(&stage->peak_live_bytes, memory_order_relaxed);
    while (live > peak &&
           !atomic_compare_exchange_weak_explicit(&stage->peak_live_bytes, &peak, live,
                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
}

static void count_freed(bench_stage *stage, size_t bytes)
{
    atomic_fetch_sub_explicit(&stage->live_bytes, bytes, memory_order_relaxed);
}

/* ---- events ---- */

/* Where a block lies that was refused: its free has nothing to do. */
static char nowhere;

/* Is that what a request of a limited contender came back with? */
static bool is_refusal(const bench_stage *stage, int code)
{
    return stage->limited && stage->contender->ops->is_refusal(code);
}

static bool touch(bench_stage *stage, void *ptr, size_t bytes, cudaStream_t stream)
{
    if (!stage->kernels || stage->device->touch(stream, ptr, bytes, TOUCH_NS) == DEVICE_OK)
        return true;
    return bench_stage_fail(stage, "touch", device_error());
}

/* Who asks for the longest call looks at each that may be it. */
static bool watch(bench_stage *stage, const bench_trace_event *event, uint64_t ticks)
{
    if (!bench_longest_is_long(stage->longest, ticks))
        return true;
    bench_call call = {
        .ticks = ticks,
        .event = (size_t)(event - stage->trace->events),
        .bytes = stage->trace->blocks[event->block].bytes,
        .stream = event->stream,
        .frees = event->frees,
        .passes_through = stage->contender->ops->passes_through,
    };
    int code = bench_longest_look(stage->longest, stage->contender, &call);
    return code == 0 || bench_stage_fail(stage, "usage", stage->contender->ops->error(code));
}

static bool play_alloc(bench_stage *stage, bench_player *player, const bench_trace_event *event)
{
    bench_contender *contender = stage->contender;
    cudaStream_t stream = stage->streams[event->stream];
    size_t bytes = stage->trace->blocks[event->block].bytes;
    void *ptr = NULL;

    uint64_t native_start = stage->device->native_call_ns();
    uint64_t start = bench_ticks_begin();
    int code = contender->ops->alloc(contender, &ptr, bytes, stream);
    uint64_t end = bench_ticks_end();

    bench_latency_record(&player->allocs, end - start);
    player->native_ns += stage->device->native_call_ns() - native_start;
    if (is_refusal(stage, code)) {
        player->refused++;
        atomic_store_explicit(&stage->blocks[event->block], &nowhere, memory_order_release);
        return true;
    }
    if (code != 0)
        return bench_stage_fail(stage, "alloc", contender->ops->error(code));
    count_live(stage, bytes);
    if (contender->ops->observe != NULL)
        contender->ops->observe(contender);
    bool touched = touch(stage, ptr, bytes, stream) && watch(stage, event, end - start);
    atomic_store_explicit(&stage->blocks[event->block], ptr, memory_order_release);
    return touched;
}

/* Where a block lies; waits while another player has yet to allocate it. */
static void *await_block(bench_stage *stage, uint32_t block)
{
    void *ptr = NULL;
    for (unsigned int turn = 0; ptr == NULL && !atomic_load(&stage->failed); turn++) {
        ptr = atomic_load_explicit(&stage->blocks[block], memory_order_acquire);
        if (ptr == NULL)
            bench_rendezvous_relax(turn);
    }
    return ptr;
}

/* A free on another stream than the allocation's must come after its uses there. */
static bool order_uses(bench_stage *stage, const bench_trace_event *event)
{
    uint16_t home = stage->trace->blocks[event->block].stream;
    if (home == event->stream ||
        stage->device->stream_synchronize(stage->streams[home]) == DEVICE_OK)
        return true;
    return bench_stage_fail(stage, "stream_synchronize", device_error());
}

static bool play_free(bench_stage *stage, bench_player *player, const bench_trace_event *event)
{
    bench_contender *contender = stage->contender;
    cudaStream_t stream = stage->streams[event->stream];
    void *ptr = await_block(stage, event->block);
    if (ptr == &nowhere) {
        atomic_store_explicit(&stage->blocks[event->block], NULL, memory_order_relaxed);
        return true;
    }
    if (ptr == NULL || !order_uses(stage, event))
        return false;
    size_t bytes = stage->trace->blocks[event->block].bytes;
    count_freed(stage, bytes);

    uint64_t native_start = stage->device->native_call_ns();
    uint64_t start = bench_ticks_begin();
    int code = contender->ops->free(contender, ptr, bytes, stream);
    uint64_t end = bench_ticks_end();

    if (code != 0)
        return bench_stage_fail(stage, "free", contender->ops->error(code));
    bench_latency_record(&player->frees, end - start);
    player->native_ns += stage->device->native_call_ns() - native_start;
    atomic_store_explicit(&stage->blocks[event->block], NULL, memory_order_relaxed);
    return watch(stage, event, end - start);
}

static bool play_event(bench_stage *stage, bench_player *player, const bench_trace_event *event)
{
    return event->frees ? play_free(stage, player, event) : play_alloc(stage, player, event);
}

/* ---- jobs ---- */

void bench_player_arrive(void *argument, size_t member)
{
    bench_stage *stage = argument;
    (void)member;
    if (stage->device->set_current(0) != DEVICE_OK)
        (void)bench_stage_fail(stage, "set_current", device_error());
}

void bench_player_depart(void *argument, size_t member)
{
    bench_stage *stage = argument;
    (void)member;
    stage->device->leave();
}

/* Play the player's events up to an index of the trace; returns how many it has played. */
static size_t play_window(bench_stage *stage, bench_player *player, size_t played, size_t end)
{
    while (played < player->event_count && player->events[played] < end &&
           !atomic_load_explicit(&stage->failed, memory_order_relaxed)) {
        (void)play_event(stage, player, &stage->trace->events[player->events[played]]);
        played++;
    }
    return played;
}

/* Between the windows, where player 0 times nothing. */
static void sample_memory(bench_stage *stage, size_t event)
{
    if (stage->memory == NULL || !bench_memory_is_due(stage->memory, event))
        return;
    int code = bench_memory_take(stage->memory, stage->contender, event,
                                 atomic_load(&stage->live_bytes), false);
    if (code != 0)
        (void)bench_stage_fail(stage, "usage", stage->contender->ops->error(code));
}

void bench_player_play(void *argument, size_t member)
{
    bench_stage *stage = argument;
    bench_player *player = &stage->players[member];
    size_t total = stage->trace->event_count;
    size_t played = 0;

    /* After a failure nobody plays, but all keep meeting, or some would wait for ever. */
    for (size_t start = 0; start < total; start += stage->window_events) {
        bench_rendezvous_wait(&stage->rendezvous);
        played = play_window(stage, player, played, start + stage->window_events);
        if (member == 0) {
            bench_progress_update(stage->progress, start);
            sample_memory(stage, start + stage->window_events);
        }
    }
}

static void free_rest(bench_stage *stage, size_t stream)
{
    bench_contender *contender = stage->contender;
    for (size_t i = 0; i < stage->trace->block_count; i++) {
        void *ptr =
            stage->trace->blocks[i].stream == stream ? atomic_load(&stage->blocks[i]) : NULL;
        if (ptr == NULL)
            continue;
        int code = ptr == &nowhere
                       ? 0
                       : contender->ops->free(contender, ptr, stage->trace->blocks[i].bytes,
                                              stage->streams[stream]);
        if (code != 0)
            (void)bench_stage_fail(stage, "free", contender->ops->error(code));
        atomic_store(&stage->blocks[i], NULL);
    }
    if (stage->device->stream_synchronize(stage->streams[stream]) != DEVICE_OK)
        (void)bench_stage_fail(stage, "stream_synchronize", device_error());
}

void bench_player_clean_up(void *argument, size_t member)
{
    bench_stage *stage = argument;
    if (stage->threads == BENCH_THREADS_PER_STREAM) {
        free_rest(stage, member);
        return;
    }
    for (size_t stream = 0; member == 0 && stream < stage->trace->stream_count; stream++)
        free_rest(stage, stream);
}
