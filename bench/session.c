#include "session.h"

#include "player.h"

#include <stdio.h>

static void describe(const bench_session_config *config, const bench_stage *stage,
                     bench_result *result)
{
    result->command = "replay";
    result->trace = stage->trace->name;
    result->policy = config->contender->name;
    result->device = config->device->name;
    result->thread_mode = bench_threads_name(config->threads);
    result->thread_count = stage->player_count;
    result->mode = config->contender->has_modes ? bench_mode_name(config->mode) : NULL;
    result->kernels = config->kernels;
    result->simulated = config->device->kind == GP_BACKEND_SIM;
    if (config->device->get_name(0, result->device_name, sizeof(result->device_name)) != DEVICE_OK)
        (void)snprintf(result->device_name, sizeof(result->device_name), "unknown");
}

static bool summarise(const bench_session_config *config, bench_stage *stage, bench_result *result)
{
    const bench_player *players = stage->players;
    uint64_t native_ns = 0;
    if (!bench_latency_summarise(&players->allocs, stage->player_count, sizeof(*players),
                                 config->ticks, &result->alloc) ||
        !bench_latency_summarise(&players->frees, stage->player_count, sizeof(*players),
                                 config->ticks, &result->free))
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
static bool end_pass(const bench_session_config *config, bench_stage *stage, const baseline *before,
                     bench_result *result)
{
    bench_usage after;
    if (!get_usage(stage, &after) || !summarise(config, stage, result))
        return false;
    result->usage = bench_usage_since(&after, &before->usage);
    if (config->contender->passes_through) {
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

static bool run_pass(bench_session *session, bench_result *result)
{
    const bench_session_config *config = &session->config;
    bench_stage *stage = &session->stage;
    char label[96];
    (void)snprintf(label, sizeof(label), "%s, %s, pass %d", stage->trace->name,
                   config->contender->name, ++session->passes);
    *result = (bench_result){.pass = session->passes};
    describe(config, stage, result);

    baseline before;
    if (!begin_pass(stage, &before))
        return false;
    bench_progress_part(stage->progress, label, stage->trace->event_count);
    bench_crew_run(session->crew, bench_player_play, stage);
    bool measured = !atomic_load(&stage->failed) && end_pass(config, stage, &before, result);

    bench_crew_run(session->crew, bench_player_clean_up, stage);
    result->hazards = hazards_since(stage, &before);
    return measured && !atomic_load(&stage->failed);
}

static bool fail(const bench_session *session, const char *reason, char error[BENCH_ERROR_CHARS])
{
    (void)snprintf(error, BENCH_ERROR_CHARS, "%s, %s: %.400s", session->trace->name,
                   session->config.contender->name, reason);
    return false;
}

static bool open_contender(bench_session *session, char error[BENCH_ERROR_CHARS])
{
    const bench_contender_ops *ops = session->config.contender;
    const device_ops *device = session->config.device;
    if (ops->needs_gpu && device->kind == GP_BACKEND_SIM) {
        (void)snprintf(error, BENCH_ERROR_CHARS, "%s: needs a GPU", ops->name);
        return false;
    }
    int code = ops->open(ops, &session->contender, device, session->config.mode);
    if (code != 0)
        (void)snprintf(error, BENCH_ERROR_CHARS, "%s: %s", ops->name, ops->error(code));
    return code == 0;
}

bool bench_session_open(bench_session *session, const bench_session_config *config,
                        const bench_trace *trace, char error[BENCH_ERROR_CHARS])
{
    bench_stage *stage = &session->stage;
    *session = (bench_session){.config = *config, .trace = trace};
    if (!open_contender(session, error))
        return false;
    bool sound =
        bench_stage_create(stage, trace, session->contender, config->threads, config->kernels);
    stage->progress = config->progress;
    if (sound && !bench_crew_create(&session->crew, stage->player_count))
        sound = bench_stage_fail(stage, "replay", "cannot start so many threads");
    if (sound) {
        bench_crew_run(session->crew, bench_player_arrive, stage);
        sound = !atomic_load(&stage->failed);
    }
    return sound || fail(session, stage->error, error);
}

bool bench_session_play(bench_session *session, bench_result *result, bench_memory *memory,
                        char error[BENCH_ERROR_CHARS])
{
    session->stage.memory = memory;
    return run_pass(session, result) || fail(session, session->stage.error, error);
}

void bench_session_close(bench_session *session)
{
    if (session->contender == NULL)
        return;
    if (session->crew != NULL)
        bench_crew_run(session->crew, bench_player_depart, &session->stage);
    bench_crew_destroy(session->crew);
    bench_stage_destroy(&session->stage);
    session->contender->ops->close(session->contender);
    session->contender = NULL;
}
