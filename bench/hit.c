#include "hit.h"

#include "crew.h"
#include "lane.h"
#include "progress.h"

#include <stdio.h>
#include <stdlib.h>

#define MALLOC_BYTES 64

/* The lanes of a run; the native one only where native is not the contender. */
enum { LANE_CONTENDER, LANE_MALLOC, LANE_NATIVE, LANE_COUNT };

/* Figures of every round, for medians over rounds and for ratios within them. */
typedef struct hit_rounds {
    double *pair_ns[LANE_COUNT];
    double *mpairs_per_s[LANE_COUNT];
    double *ratio; /* Scratch. */
} hit_rounds;

typedef struct hit_run {
    const bench_hit *hit;
    bench_crew *crew;
    bench_lane lanes[LANE_COUNT];
    size_t lane_count;
    hit_rounds rounds;
    bench_progress progress;
    atomic_bool not_current; /* A thread could not make the device current. */
    char *error;
} hit_run;

static bool fail(hit_run *run, const char *who, const char *reason)
{
    (void)snprintf(run->error, BENCH_ERROR_CHARS, "%s: %s", who, reason);
    return false;
}

static void arrive_job(void *argument, size_t member)
{
    hit_run *run = argument;
    (void)member;
    if (run->hit->device->set_current(0) != DEVICE_OK)
        atomic_store(&run->not_current, true);
}

static void depart_job(void *argument, size_t member)
{
    hit_run *run = argument;
    (void)member;
    run->hit->device->leave();
}

/* ---- rounds ---- */

static bool make_rounds(hit_run *run)
{
    size_t count = run->hit->rounds;
    bool enough = (run->rounds.ratio = calloc(count, sizeof(double))) != NULL;
    for (size_t i = 0; i < LANE_COUNT; i++) {
        run->rounds.pair_ns[i] = calloc(count, sizeof(double));
        run->rounds.mpairs_per_s[i] = calloc(count, sizeof(double));
        enough = enough && run->rounds.pair_ns[i] != NULL && run->rounds.mpairs_per_s[i] != NULL;
    }
    return enough || fail(run, "hit", "out of memory");
}

static void free_rounds(hit_run *run)
{
    for (size_t i = 0; i < LANE_COUNT; i++) {
        free(run->rounds.pair_ns[i]);
        free(run->rounds.mpairs_per_s[i]);
    }
    free(run->rounds.ratio);
}

static bool play_round(hit_run *run, size_t round)
{
    for (size_t i = 0; i < run->lane_count; i++) {
        bench_lane *lane = &run->lanes[i];
        bench_round took;
        if (!bench_lane_run(lane, &took))
            return fail(run, lane->contender->ops->name, lane->error);
        run->rounds.pair_ns[i][round] = took.pair_ns;
        run->rounds.mpairs_per_s[i][round] = took.mpairs_per_s;
    }
    return true;
}

static bool play_rounds(hit_run *run)
{
    bool sound = true;
    for (size_t round = 0; round < run->hit->rounds && sound; round++) {
        sound = play_round(run, round);
        bench_progress_update(&run->progress, round + 1);
    }
    return sound;
}

/* ---- figures ---- */

/* A ratio of two lanes' pairs, round by round: both saw the same machine. */
static bench_spread ratio_of(hit_run *run, size_t above, size_t below)
{
    for (size_t i = 0; i < run->hit->rounds; i++)
        run->rounds.ratio[i] = run->rounds.pair_ns[above][i] / run->rounds.pair_ns[below][i];
    return bench_spread_of(run->rounds.ratio, run->hit->rounds);
}

static void fill_figures(hit_run *run, bench_result *result)
{
    size_t rounds = run->hit->rounds;
    bench_hit_figures *figures = &result->hit;
    figures->bytes = run->hit->bytes;
    figures->rounds = rounds;
    figures->has_native = run->lane_count > LANE_NATIVE;

    /* Ratios first: they need the rounds in their order, and a spread sorts them. */
    figures->over_malloc = ratio_of(run, LANE_CONTENDER, LANE_MALLOC);
    if (figures->has_native)
        figures->native_over_contender = ratio_of(run, LANE_NATIVE, LANE_CONTENDER);

    figures->pair_ns = bench_spread_of(run->rounds.pair_ns[LANE_CONTENDER], rounds);
    figures->malloc_pair_ns = bench_spread_of(run->rounds.pair_ns[LANE_MALLOC], rounds);
    if (figures->has_native) {
        figures->native_pair_ns = bench_spread_of(run->rounds.pair_ns[LANE_NATIVE], rounds);
        figures->native_mpairs_per_s =
            bench_spread_of(run->rounds.mpairs_per_s[LANE_NATIVE], rounds);
    }
    result->pair_ns = figures->pair_ns.median;
    result->mpairs_per_s = bench_spread_of(run->rounds.mpairs_per_s[LANE_CONTENDER], rounds).median;
}

static void describe(const hit_run *run, bench_result *result)
{
    const bench_hit *hit = run->hit;
    const bench_lane *lane = &run->lanes[LANE_CONTENDER];
    result->command = "hit";
    result->is_hit = true;
    result->hazards = -1; /* The checker is off, so that the hot path is the user's. */
    result->policy = hit->contender->name;
    result->device = hit->device->name;
    result->thread_count = hit->threads;
    result->mode = hit->contender->has_modes ? bench_mode_name(hit->mode) : NULL;
    result->simulated = hit->device->kind == GP_BACKEND_SIM;
    if (hit->device->get_name(0, result->device_name, sizeof(result->device_name)) != DEVICE_OK)
        (void)snprintf(result->device_name, sizeof(result->device_name), "unknown");
    for (size_t i = 0; i < hit->threads; i++)
        result->peak_live_bytes += bench_pairs_peak_bytes(&lane->runners[i].pairs);
}

/* Percentiles come from calls timed one by one, after the rounds. */
static bool fill_latencies(hit_run *run, bench_result *result)
{
    bench_lane *lane = &run->lanes[LANE_CONTENDER];
    const bench_runner *runners = lane->runners;
    if (!bench_lane_sample(lane))
        return fail(run, run->hit->contender->name, lane->error);
    if (!bench_latency_summarise(&runners->allocs, lane->thread_count, sizeof(*runners),
                                 run->hit->ticks, &result->alloc) ||
        !bench_latency_summarise(&runners->frees, lane->thread_count, sizeof(*runners),
                                 run->hit->ticks, &result->free))
        return fail(run, "hit", "out of memory");

    uint64_t native_ns = 0;
    for (size_t i = 0; i < lane->thread_count; i++)
        native_ns += runners[i].native_ns;
    result->sim_native_ns_mean =
        (double)native_ns / (double)(result->alloc.count + result->free.count);
    return true;
}

static bool get_usage(hit_run *run, bench_usage *usage)
{
    bench_contender *contender = run->lanes[LANE_CONTENDER].contender;
    int code = contender->ops->get_usage(contender, usage);
    return code == 0 || fail(run, contender->ops->name, contender->ops->error(code));
}

static void fill_usage(const hit_run *run, const bench_usage *before, const bench_usage *after,
                       bench_result *result)
{
    size_t pairs =
        run->lanes[LANE_CONTENDER].pairs_per_round * run->hit->threads * run->hit->rounds;
    result->events = pairs * 2;
    result->usage = bench_usage_since(after, before);
    if (run->hit->contender->passes_through) {
        result->usage.native_allocs = pairs;
        result->usage.native_frees = pairs;
    }
}

/* ---- the run ---- */

static bool open_lane(hit_run *run, size_t index, const bench_contender_ops *ops, size_t bytes)
{
    const bench_hit *hit = run->hit;
    bench_lane *lane = &run->lanes[index];
    run->lane_count = index + 1;
    return bench_lane_open(lane, ops, hit->device, hit->mode, run->crew, hit->threads, bytes,
                           hit->ticks) ||
           fail(run, ops->name, lane->error);
}

static bool open_lanes(hit_run *run)
{
    const bench_hit *hit = run->hit;
    const bench_contender_ops *native = bench_peer_native();
    return open_lane(run, LANE_CONTENDER, hit->contender, hit->bytes) &&
           open_lane(run, LANE_MALLOC, bench_contender_malloc(), MALLOC_BYTES) &&
           (hit->contender == native || open_lane(run, LANE_NATIVE, native, hit->bytes));
}

static bool measure(hit_run *run, bench_result *result)
{
    bench_usage before;
    bench_usage after;
    *result = (bench_result){0};
    if (!open_lanes(run) || !make_rounds(run))
        return false;
    describe(run, result);
    if (!get_usage(run, &before) || !play_rounds(run) || !get_usage(run, &after))
        return false;
    fill_usage(run, &before, &after, result);
    fill_figures(run, result);
    return fill_latencies(run, result);
}

bool bench_hit_run(const bench_hit *hit, bench_result *result, char error[BENCH_ERROR_CHARS])
{
    hit_run *run = calloc(1, sizeof(*run));
    if (run == NULL || !bench_crew_create(&run->crew, hit->threads)) {
        free(run);
        (void)snprintf(error, BENCH_ERROR_CHARS, "hit: cannot start %zu threads", hit->threads);
        return false;
    }
    run->hit = hit;
    run->error = error;

    bench_progress_begin(&run->progress, hit->rounds);
    bench_progress_part(&run->progress, hit->contender->name, hit->rounds);
    bench_crew_run(run->crew, arrive_job, run);
    bool sound = atomic_load(&run->not_current) ? fail(run, hit->device->name, "set_current failed")
                                                : measure(run, result);
    bench_progress_end(&run->progress);
    for (size_t i = 0; i < run->lane_count; i++)
        bench_lane_close(&run->lanes[i]);
    bench_crew_run(run->crew, depart_job, run);
    bench_crew_destroy(run->crew);
    free_rounds(run);
    free(run);
    return sound;
}
