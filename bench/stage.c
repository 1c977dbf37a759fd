#include "stage.h"

#include <stdio.h>
#include <stdlib.h>

/* How many calls a player makes, on average, between two meetings. So few that
 * threads stay together in trace time also where processors are fewer than
 * threads: with 64, two processors and four streams, the peak of live bytes is a
 * seventh below the trace's; with 8 it is the trace's. */
#define CALLS_BETWEEN_MEETINGS 8

bool bench_stage_fail(bench_stage *stage, const char *call, const char *reason)
{
    if (!atomic_exchange(&stage->failed, true))
        (void)snprintf(stage->error, sizeof(stage->error), "%s: %s", call, reason);
    return false;
}

const char *bench_threads_name(bench_threads threads)
{
    static const char *const names[] = {[BENCH_THREADS_ONE] = "one",
                                        [BENCH_THREADS_PER_STREAM] = "per-stream",
                                        [BENCH_THREADS_RECORDED] = "recorded"};
    return names[threads];
}

static size_t player_of(const bench_stage *stage, const bench_trace_event *event)
{
    switch (stage->threads) {
    case BENCH_THREADS_PER_STREAM:
        return event->stream;
    case BENCH_THREADS_RECORDED:
        return event->thread;
    default:
        return 0;
    }
}

static size_t count_players(const bench_trace *trace, bench_threads threads)
{
    switch (threads) {
    case BENCH_THREADS_PER_STREAM:
        return trace->stream_count;
    case BENCH_THREADS_RECORDED:
        return trace->thread_count;
    default:
        return 1;
    }
}

/* How many events of each kind each player will have. */
static bool size_players(bench_stage *stage)
{
    const bench_trace *trace = stage->trace;
    size_t *counts = calloc(stage->player_count * 2, sizeof(*counts));
    if (counts == NULL)
        return false;
    for (size_t i = 0; i < trace->event_count; i++)
        counts[player_of(stage, &trace->events[i]) * 2 + trace->events[i].frees]++;

    bool enough = true;
    for (size_t i = 0; i < stage->player_count && enough; i++) {
        bench_player *player = &stage->players[i];
        size_t total = counts[i * 2] + counts[i * 2 + 1];
        player->events = calloc(total + 1, sizeof(*player->events));
        enough = player->events != NULL && bench_latency_create(&player->allocs, counts[i * 2]) &&
                 bench_latency_create(&player->frees, counts[i * 2 + 1]);
    }
    free(counts);
    return enough;
}

static bool share_out_events(bench_stage *stage)
{
    const bench_trace *trace = stage->trace;
    stage->players = calloc(stage->player_count, sizeof(*stage->players));
    stage->blocks = calloc(trace->block_count, sizeof(*stage->blocks));
    if (stage->players == NULL || stage->blocks == NULL || !size_players(stage))
        return bench_stage_fail(stage, "replay", "out of memory");

    for (size_t i = 0; i < trace->event_count; i++) {
        bench_player *player = &stage->players[player_of(stage, &trace->events[i])];
        player->events[player->event_count++] = i;
    }
    return true;
}

static bool make_streams(bench_stage *stage)
{
    size_t count = stage->trace->stream_count;
    stage->streams = calloc(count, sizeof(cudaStream_t));
    if (stage->streams == NULL)
        return bench_stage_fail(stage, "replay", "out of memory");

    for (size_t i = 0; i < count; i++) {
        if (stage->device->stream_create(&stage->streams[i], true) != DEVICE_OK)
            return bench_stage_fail(stage, "stream_create", device_error());
        stage->streams_made++;
        int code = stage->contender->ops->enter(stage->contender, stage->streams[i]);
        if (code != 0)
            return bench_stage_fail(stage, "attach", stage->contender->ops->error(code));
    }
    return true;
}

bool bench_stage_create(bench_stage *stage, const bench_trace *trace, bench_contender *contender,
                        bench_threads threads, bool kernels)
{
    *stage = (bench_stage){
        .trace = trace,
        .device = contender->device,
        .contender = contender,
        .kernels = kernels,
        .threads = threads,
        .player_count = count_players(trace, threads),
    };
    stage->window_events = CALLS_BETWEEN_MEETINGS * stage->player_count;
    bench_rendezvous_init(&stage->rendezvous, (unsigned int)stage->player_count);
    if (stage->player_count > BENCH_MAX_PLAYERS)
        return bench_stage_fail(stage, "replay", "the trace asks for more than 256 threads");
    return share_out_events(stage) && make_streams(stage);
}

static void destroy_streams(bench_stage *stage)
{
    for (size_t i = 0; i < stage->streams_made; i++) {
        (void)stage->contender->ops->leave(stage->contender, stage->streams[i]);
        (void)stage->device->stream_destroy(stage->streams[i]);
    }
    free(stage->streams);
}

void bench_stage_destroy(bench_stage *stage)
{
    destroy_streams(stage);
    for (size_t i = 0; stage->players != NULL && i < stage->player_count; i++) {
        free(stage->players[i].events);
        bench_latency_destroy(&stage->players[i].allocs);
        bench_latency_destroy(&stage->players[i].frees);
    }
    free(stage->players);
    free((void *)stage->blocks);
}

void bench_stage_reset(bench_stage *stage)
{
    atomic_store(&stage->live_bytes, 0);
    atomic_store(&stage->peak_live_bytes, 0);
    if (stage->memory != NULL)
        bench_memory_begin(stage->memory, stage->trace->event_count);
    for (size_t i = 0; i < stage->player_count; i++) {
        bench_latency_clear(&stage->players[i].allocs);
        bench_latency_clear(&stage->players[i].frees);
        stage->players[i].native_ns = 0;
        stage->players[i].refused = 0;
    }
}
