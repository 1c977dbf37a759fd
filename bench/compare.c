#include "compare.h"

#include <stdlib.h>

typedef struct compare_run {
    const bench_compare *compare;
    const bench_trace *trace;
    bench_session *sessions;
    bench_result *results; /* of contender c in round r: at c * rounds + r */
    double *scratch;       /* rounds */
    bench_cell *cells;
} compare_run;

static size_t rounds_of(const bench_compare *compare, size_t index)
{
    return compare->lineup->contenders[index]->is_slow ? 1 : compare->rounds;
}

size_t bench_compare_passes(const bench_compare *compare, const bench_contender_ops *ops)
{
    size_t warm = ops->is_slow ? 1 : compare->rounds;
    bool sampled = compare->with_memory && !ops->is_slow;
    return 1 + warm + (sampled ? 1 : 0);
}

static bench_result *result_of(const compare_run *run, size_t index, size_t round)
{
    return &run->results[index * run->compare->rounds + round];
}

/* ---- passes ---- */

static void play(compare_run *run, size_t index, bench_result *result, bench_memory *memory)
{
    bench_cell *cell = &run->cells[index];
    if (cell->failed)
        return;
    cell->failed = !bench_session_play(&run->sessions[index], result, memory, cell->error);
    if (!cell->failed && result->hazards > 0)
        cell->result.hazards += result->hazards;
}

static void open_all(compare_run *run)
{
    const bench_compare *compare = run->compare;
    bench_session_config config = {
        .device = compare->device,
        .ticks = compare->ticks,
        .mode = compare->mode,
        .threads = compare->per_stream ? BENCH_THREADS_PER_STREAM : BENCH_THREADS_ONE,
        .kernels = compare->kernels,
        .progress = compare->progress,
    };
    for (size_t i = 0; i < compare->lineup->count; i++) {
        bench_cell *cell = &run->cells[i];
        config.contender = compare->lineup->contenders[i];
        cell->failed = !bench_session_open(&run->sessions[i], &config, run->trace, cell->error);
    }
}

static void play_all(compare_run *run)
{
    size_t count = run->compare->lineup->count;
    for (size_t i = 0; i < count; i++) {
        bench_result cold = {0};
        play(run, i, &cold, NULL);
        run->cells[i].cold_pair_ns = cold.pair_ns;
    }
    for (size_t round = 0; round < run->compare->rounds; round++) {
        for (size_t i = 0; i < count; i++) {
            if (round < rounds_of(run->compare, i))
                play(run, i, result_of(run, i, round), NULL);
        }
    }
    for (size_t i = 0; i < count && run->compare->with_memory; i++) {
        bench_result unused;
        if (!run->compare->lineup->contenders[i]->is_slow)
            play(run, i, &unused, &run->cells[i].memory);
    }
}

/* ---- figures ---- */

typedef double (*figure)(const bench_result *result);

static double figure_pair(const bench_result *result)
{
    return result->pair_ns;
}

static double figure_alloc_p99(const bench_result *result)
{
    return result->alloc.p99;
}

static double figure_free_p99(const bench_result *result)
{
    return result->free.p99;
}

static bench_spread spread_of(compare_run *run, size_t index, figure get)
{
    size_t rounds = rounds_of(run->compare, index);
    for (size_t round = 0; round < rounds; round++)
        run->scratch[round] = get(result_of(run, index, round));
    return bench_spread_of(run->scratch, rounds);
}

static void fill_ratio(compare_run *run, size_t index)
{
    size_t baseline = run->compare->baseline;
    bench_cell *cell = &run->cells[index];
    size_t rounds = rounds_of(run->compare, index);
    size_t shared = rounds_of(run->compare, baseline);
    cell->baseline = run->compare->lineup->contenders[baseline]->name;
    cell->has_ratio = !run->cells[baseline].failed;
    if (!cell->has_ratio)
        return;
    if (rounds < shared)
        shared = rounds;
    for (size_t round = 0; round < shared; round++)
        run->scratch[round] =
            result_of(run, index, round)->pair_ns / result_of(run, baseline, round)->pair_ns;
    cell->over_baseline = bench_spread_of(run->scratch, shared);
}

static int compare_pairs(const void *left, const void *right)
{
    double a = ((const bench_result *)left)->pair_ns;
    double b = ((const bench_result *)right)->pair_ns;
    return (a > b) - (a < b);
}

/* After everything that needs the rounds in their order. */
static void choose_middle(compare_run *run, size_t index)
{
    bench_cell *cell = &run->cells[index];
    int64_t hazards = cell->result.hazards;
    qsort(result_of(run, index, 0), cell->rounds, sizeof(bench_result), compare_pairs);
    cell->result = *result_of(run, index, (cell->rounds - 1) / 2);
    cell->result.command = "compare";
    if (cell->result.hazards >= 0)
        cell->result.hazards = hazards;
}

static void fill_cells(compare_run *run)
{
    for (size_t i = 0; i < run->compare->lineup->count; i++) {
        bench_cell *cell = &run->cells[i];
        cell->rounds = rounds_of(run->compare, i);
        if (cell->failed)
            continue;
        cell->pair_ns = spread_of(run, i, figure_pair);
        cell->alloc_p99 = spread_of(run, i, figure_alloc_p99);
        cell->free_p99 = spread_of(run, i, figure_free_p99);
        fill_ratio(run, i);
    }
    for (size_t i = 0; i < run->compare->lineup->count; i++) {
        if (!run->cells[i].failed)
            choose_middle(run, i);
    }
}

bool bench_compare_run(const bench_compare *compare, const bench_trace *trace, bench_cell *cells)
{
    size_t count = compare->lineup->count;
    compare_run run = {
        .compare = compare,
        .trace = trace,
        .sessions = calloc(count, sizeof(*run.sessions)),
        .results = calloc(count * compare->rounds, sizeof(*run.results)),
        .scratch = calloc(compare->rounds, sizeof(*run.scratch)),
        .cells = cells,
    };
    bool enough = run.sessions != NULL && run.results != NULL && run.scratch != NULL;
    for (size_t i = 0; i < count; i++)
        cells[i] = (bench_cell){0};
    if (enough) {
        open_all(&run);
        play_all(&run);
        fill_cells(&run);
        for (size_t i = 0; i < count; i++)
            bench_session_close(&run.sessions[i]);
    }
    free(run.sessions);
    free(run.results);
    free(run.scratch);
    return enough;
}
