#include "replay.h"

#include "crew.h"
#include "player.h"

#include <stddef.h>
#include <stdio.h>

static void describe(const bench_replay *replay, const bench_stage *stage, bench_result *result)
{
    result->trace = stage->trace->name;
    result->policy = replay->contender->name;
    result->device = replay->device->name;
    result->thread_mode = replay->per_stream ? "per-stream" : "one";
    result->thread_count = stage->player_count;
    result->mode = replay->contender->has_modes ? bench_mode_name(replay->mode) : NULL;
    result->kernels = replay->kernels;
    result->simulated = replay->device->kind == GP_BACKEND_SIM;
    if (replay->device->get_name(0, result->device_name, sizeof(result->device_name)) != DEVICE_OK)
        (void)snprintf(result->device_name, sizeof(result->device_name), "unknown");
}

static bool summarise(const bench_replay *replay, bench_stage *stage, bench_result *result)
{
    const bench_player *players = stage->players;
    uint64_t native_ns = 0;
    if (!bench_latency_summarise(&players->allocs, stage->player_count, sizeof(*players),
                                 replay->ticks, &result->alloc) ||
        !bench_latency_summarise(&players->frees, stage->player_count, sizeof(*players),
                                 replay->ticks, &result->free))
        return bench_stage_fail(stage, "replay", "out of memory");
    for (size_t i = 0; i < stage->player_count; i++)
        native_ns += players[i].native_ns;

    result->events = result->alloc.count + result->free.count;
    result->pair_ns = result->alloc.mean + result->free.mean;
    if (result->pair_ns > 0.0)
        result->mpairs_per_s = (double)stage->player_count * 1000.0 / result->pair_ns;
    result->sim_native_ns_mean = (double)native_ns / (double)result->events;
    result->peak_live_bytes = atomic_load(&stage->peak_live_bytes);
    return true;
}

static bool get_usage(bench_stage *stage, bench_usage *usage)
{
    int code = stage->contender->ops->get_usage(stage->contender, usage);
    return code == 0 || bench_stage_fail(stage, "usage", stage->contender->ops->error(code));
}

static bool reset_peak(bench_stage *stage)
{
    int code = stage->contender->ops->reset_peak(stage->contender);
    return code == 0 || bench_stage_fail(stage, "reset_peak", stage->contender->ops->error(code));
}

/* Counters as they stand before a pass. */
typedef struct baseline {
    bench_usage usage;
    int64_t hazards;
} baseline;

static bool begin_pass(bench_stage *stage, baseline *before)
{
    bench_stage_reset(stage);
    before->hazards = stage->device->hazards();
    return reset_peak(stage) && get_usage(stage, &before->usage);
}

/* The pass is over, but what the trace leaves live is not freed yet. */
static bool end_pass(const bench_replay *replay, bench_stage *stage, const baseline *before,
                     bench_result *result)
{
    bench_usage after;
    if (!get_usage(stage, &after) || !summarise(replay, stage, result))
        return false;
    result->usage = bench_usage_since(&after, &before->usage);
    if (replay->contender->passes_through) {
        result->usage.native_allocs = result->alloc.count;
        result->usage.native_frees = result->free.count;
    }
    return true;
}

/* Those of the clean-up count too: its frees are as real as the others. */
static int64_t hazards_since(const bench_stage *stage, const baseline *before)
{
    int64_t hazards = stage->device->hazards();
    return hazards < 0 ? -1 : hazards - before->hazards;
}

static bool run_pass(const bench_replay *replay, bench_stage *stage, bench_crew *crew, int pass,
                     bench_result *result)
{
    char label[96];
    (void)snprintf(label, sizeof(label), "%s, %s, pass %d of %d", stage->trace->name,
                   replay->contender->name, pass, replay->passes);
    *result = (bench_result){.pass = pass};
    describe(replay, stage, result);

    baseline before;
    if (!begin_pass(stage, &before))
        return false;
    bench_progress_part(stage->progress, label, stage->trace->event_count);
    bench_crew_run(crew, bench_player_play, stage);
    bool measured = !atomic_load(&stage->failed) && end_pass(replay, stage, &before, result);

    bench_crew_run(crew, bench_player_clean_up, stage);
    result->hazards = hazards_since(stage, &before);
    return measured && !atomic_load(&stage->failed);
}

static void run_passes(const bench_replay *replay, bench_stage *stage, bench_result *results)
{
    bench_crew *crew = NULL;
    if (!bench_crew_create(&crew, stage->player_count)) {
        (void)bench_stage_fail(stage, "replay", "cannot start so many threads");
        return;
    }
    bench_crew_run(crew, bench_player_arrive, stage);
    bool sound = !atomic_load(&stage->failed);
    for (int pass = 1; pass <= replay->passes && sound; pass++)
        sound = run_pass(replay, stage, crew, pass, &results[pass - 1]);
    bench_crew_run(crew, bench_player_depart, stage);
    bench_crew_destroy(crew);
}

bool bench_replay_run(const bench_replay *replay, const bench_trace *trace, bench_result *results,
                      char error[BENCH_ERROR_CHARS])
{
    bench_contender *contender = NULL;
    int code = replay->contender->open(&contender, replay->device, replay->mode);
    if (code != 0) {
        (void)snprintf(error, BENCH_ERROR_CHARS, "%s: %s", replay->contender->name,
                       replay->contender->error(code));
        return false;
    }

    bench_stage stage;
    if (bench_stage_create(&stage, trace, contender, replay->per_stream, replay->kernels)) {
        stage.progress = replay->progress;
        run_passes(replay, &stage, results);
    }
    bool sound = !atomic_load(&stage.failed);
    if (!sound)
        (void)snprintf(error, BENCH_ERROR_CHARS, "%s, %s: %.400s", trace->name,
                       replay->contender->name, stage.error);
    bench_stage_destroy(&stage);
    contender->ops->close(contender);
    return sound;
}
