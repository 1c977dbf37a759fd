#include "session.h"

#include "player.h"

#include <stdio.h>

/* Of the bench_latency_shares, the one from which on calls are looked at as long: 0.95. In the
 * first pass nobody knows yet how long they take. */
#define LONG_QUANTILE 7
#define FIRST_LONG_NS 1000.0

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
    result->warmed = config->warm_from != NULL;
    result->limit_percent = config->limit_percent;
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
    for (size_t i = 0; i < stage->player_count; i++) {
        native_ns += players[i].native_ns;
        result->refused += players[i].refused;
    }

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

static bool begin_watch(bench_session *session)
{
    bench_stage *stage = &session->stage;
    if (stage->longest == NULL)
        return true;
    int code = bench_longest_begin(stage->longest, stage->contender, session->long_ticks);
    return code == 0 || bench_stage_fail(stage, "usage", stage->contender->ops->error(code));
}

static bool begin_pass(bench_session *session, baseline *before)
{
    bench_stage *stage = &session->stage;
    bench_stage_reset(stage);
    before->hazards = stage->device->hazards();
    return reset_peak(stage) && get_usage(stage, &before->usage) && begin_watch(session);
}

/* What is long next time: a twentieth of the calls. */
static void end_watch(bench_session *session, bench_result *result)
{
    const bench_ticks *ticks = session->config.ticks;
    const double alloc = result->alloc.quantiles[LONG_QUANTILE];
    const double freed = result->free.quantiles[LONG_QUANTILE];
    if (session->stage.longest == NULL)
        return;
    result->longest = session->longest.call;
    result->longest_ns = bench_ticks_to_ns(ticks, result->longest.ticks);
    session->long_ticks = bench_ticks_of_ns(ticks, alloc < freed ? alloc : freed);
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
    if (!begin_pass(session, &before))
        return false;
    bench_progress_part(stage->progress, label, stage->trace->event_count);
    bench_crew_run(session->crew, bench_player_play, stage);
    bool measured = !atomic_load(&stage->failed) && end_pass(config, stage, &before, result);

    end_watch(session, result);

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

static int open_within_limit(bench_session *session)
{
    const bench_session_config *config = &session->config;
    const bench_contender_ops *ops = config->contender;
    bench_contender **contender = &session->contender;
    if (config->limit_percent == 0)
        return ops->open(ops, contender, config->device, config->mode);
    const size_t max_bytes = session->trace->peak_live_bytes / 100 * config->limit_percent;
    return ops->open_limited(ops, contender, config->device, config->mode, max_bytes);
}

static bool open_contender(bench_session *session, char error[BENCH_ERROR_CHARS])
{
    const bench_contender_ops *ops = session->config.contender;
    const device_ops *device = session->config.device;
    if (ops->needs_gpu && device->kind == GP_BACKEND_SIM) {
        (void)snprintf(error, BENCH_ERROR_CHARS, "%s: needs a GPU", ops->name);
        return false;
    }
    if (session->config.warm_from != NULL && ops->warm == NULL) {
        (void)snprintf(error, BENCH_ERROR_CHARS, "%s: cannot be warmed from a trace", ops->name);
        return false;
    }
    if (session->config.limit_percent != 0 && ops->open_limited == NULL) {
        (void)snprintf(error, BENCH_ERROR_CHARS, "%s: knows no limit", ops->name);
        return false;
    }
    int code = open_within_limit(session);
    if (code == 0 && session->config.warm_from != NULL)
        code = ops->warm(session->contender, session->config.warm_from);
    if (code != 0)
        (void)snprintf(error, BENCH_ERROR_CHARS, "%s: %s", ops->name, ops->error(code));
    return code == 0;
}

bool bench_session_open(bench_session *session, const bench_session_config *config,
                        const bench_trace *trace, char error[BENCH_ERROR_CHARS])
{
    bench_stage *stage = &session->stage;
    *session = (bench_session){.config = *config, .trace = trace};
    bench_longest_init(&session->longest);
    if (!open_contender(session, error))
        return false;
    bool sound =
        bench_stage_create(stage, trace, session->contender, config->threads, config->kernels);
    stage->progress = config->progress;
    stage->limited = config->limit_percent != 0;
    session->long_ticks = bench_ticks_of_ns(config->ticks, FIRST_LONG_NS);
    stage->longest = config->finds_longest ? &session->longest : NULL;
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
    bench_longest_destroy(&session->longest);
    session->contender->ops->close(session->contender);
    session->contender = NULL;
}
