#include "comparison.h"

#include "fail.h"
#include "progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One figure of each source in each round. */
typedef struct round_figures {
    double *of[MEMORY_SOURCE_COUNT];
    size_t count;
} round_figures;

typedef struct all_rounds {
    round_figures requests_per_s;
    round_figures p99_ns;
} all_rounds;

static double *make_figures(size_t count)
{
    double *figures = calloc(count, sizeof(*figures));
    if (figures == NULL)
        example_fail("rounds", "out of memory");
    return figures;
}

static void make_rounds(all_rounds *rounds, size_t count)
{
    rounds->requests_per_s.count = rounds->p99_ns.count = count;
    for (size_t i = 0; i < MEMORY_SOURCE_COUNT; i++) {
        rounds->requests_per_s.of[i] = make_figures(count);
        rounds->p99_ns.of[i] = make_figures(count);
    }
}

static void free_rounds(all_rounds *rounds)
{
    for (size_t i = 0; i < MEMORY_SOURCE_COUNT; i++) {
        free(rounds->requests_per_s.of[i]);
        free(rounds->p99_ns.of[i]);
    }
}

/* Within each round, one source by another: both saw the same machine. */
static bench_spread ratio(const round_figures *rounds, size_t above, size_t below)
{
    double *ratios = make_figures(rounds->count);
    for (size_t i = 0; i < rounds->count; i++)
        ratios[i] = rounds->of[above][i] / rounds->of[below][i];
    bench_spread spread = bench_spread_of(ratios, rounds->count);
    free(ratios);
    return spread;
}

static bench_spread spread_of_round(const round_figures *rounds, size_t source)
{
    double *sorted = make_figures(rounds->count);
    memcpy(sorted, rounds->of[source], rounds->count * sizeof(*sorted));
    bench_spread spread = bench_spread_of(sorted, rounds->count);
    free(sorted);
    return spread;
}

static void fill_row(inference_pipeline *pipeline, const all_rounds *rounds, size_t source,
                     pipeline_row *row)
{
    static const bench_ticks nanoseconds = {.ns_per_tick = 1.0};
    const server *servers = pipeline->servers;
    uint64_t native_ns = 0;
    size_t served = 0;
    for (size_t i = 0; i < pipeline->server_count; i++) {
        native_ns += servers[i].native_ns;
        served += servers[i].served;
    }
    *row = (pipeline_row){
        .source = pipeline->source.ops->name,
        .threads = pipeline->server_count,
        .requests_per_s = spread_of_round(&rounds->requests_per_s, source),
        .of_ceiling = ratio(&rounds->requests_per_s, source, MEMORY_PREALLOCATED),
        .over_native = ratio(&rounds->requests_per_s, source, MEMORY_NATIVE),
        .p99_of_ceiling = ratio(&rounds->p99_ns, source, MEMORY_PREALLOCATED),
        .peak_bytes = pipeline->source.ops->peak_bytes(&pipeline->source),
        .sim_native_us = (double)native_ns / (double)served / 1e3,
    };
    if (!bench_latency_summarise(&servers->latencies, pipeline->server_count, sizeof(*servers),
                                 &nanoseconds, &row->latency_ns))
        example_fail("latencies", "out of memory");
}

static void run_rounds(inference_pipeline pipelines[MEMORY_SOURCE_COUNT], bench_crew *crew,
                       all_rounds *rounds)
{
    const size_t count = rounds->requests_per_s.count;
    bench_progress progress;
    char label[64];
    (void)snprintf(label, sizeof(label), "%zu threads", pipelines[0].server_count);
    bench_progress_begin(&progress, count);
    bench_progress_part(&progress, label, count);
    for (size_t source = 0; source < MEMORY_SOURCE_COUNT; source++)
        inference_pipeline_warm_up(&pipelines[source], crew);
    for (size_t round = 0; round < count; round++) {
        for (size_t source = 0; source < MEMORY_SOURCE_COUNT; source++) {
            pipeline_round result = inference_pipeline_round(&pipelines[source], crew);
            rounds->requests_per_s.of[source][round] = result.requests_per_s;
            rounds->p99_ns.of[source][round] = result.p99_ns;
        }
        bench_progress_update(&progress, round + 1);
    }
    bench_progress_end(&progress);
}

void comparison_run(const inference_pipeline *common, size_t threads, size_t round_count,
                    pipeline_row rows[MEMORY_SOURCE_COUNT])
{
    bench_crew *crew = NULL;
    inference_pipeline shared = *common;
    inference_pipeline pipelines[MEMORY_SOURCE_COUNT];
    all_rounds rounds;
    make_rounds(&rounds, round_count);
    if (!bench_crew_create(&crew, threads))
        example_fail("threads", "cannot start so many");
    bench_crew_run(crew, inference_pipeline_arrive, &shared);
    for (size_t i = 0; i < MEMORY_SOURCE_COUNT; i++) {
        pipelines[i] = *common;
        inference_pipeline_open(&pipelines[i], &memory_sources[i], crew, threads);
    }

    run_rounds(pipelines, crew, &rounds);

    for (size_t i = 0; i < MEMORY_SOURCE_COUNT; i++)
        fill_row(&pipelines[i], &rounds, i, &rows[i]);
    for (size_t i = 0; i < MEMORY_SOURCE_COUNT; i++) {
        inference_pipeline_close(&pipelines[i], crew);
    }
    free_rounds(&rounds);
    bench_crew_run(crew, inference_pipeline_depart, &shared);
    bench_crew_destroy(crew);
}
