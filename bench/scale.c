#include "scale.h"

#include <stdio.h>
#include <stdlib.h>

#define LIVE_OF_A_THREAD ((size_t)64)
#define LIVE_ON_STREAMS ((size_t)4096)

typedef struct scale_run {
    const bench_scale *scale;
    bench_load *loads;
    bench_load_round *rounds; /* of contender c in round r: at c * rounds + r */
    double *scratch;          /* rounds */
    bench_scale_cell *cells;
} scale_run;

/* ---- axes ---- */

const char *bench_axis_name(bench_axis axis)
{
    static const char *const names[] = {"threads", "streams", "live"};
    return names[axis];
}

size_t bench_axis_value(bench_axis axis, size_t index, size_t most)
{
    static const struct {
        size_t first, factor;
    } steps[] = {{1, 2}, {1, 4}, {1000, 10}};
    size_t value = steps[axis].first < most ? steps[axis].first : most;
    for (size_t i = 0; i < index; i++) {
        if (value == most)
            return 0;
        value = value * steps[axis].factor < most ? value * steps[axis].factor : most;
    }
    return value;
}

bench_load_size bench_axis_size(bench_axis axis, size_t value)
{
    switch (axis) {
    case BENCH_AXIS_THREADS:
        return (bench_load_size){value, value, value * LIVE_OF_A_THREAD};
    case BENCH_AXIS_STREAMS:
        return (bench_load_size){1, value, LIVE_ON_STREAMS};
    default:
        return (bench_load_size){1, 1, value};
    }
}

/* ---- rounds ---- */

static bench_load_round *round_of(const scale_run *run, size_t index, size_t round)
{
    return &run->rounds[index * run->scale->rounds + round];
}

static void keep_failure(scale_run *run, size_t index)
{
    bench_scale_cell *cell = &run->cells[index];
    cell->failed = true;
    (void)snprintf(cell->error, sizeof(cell->error), "%s: %.440s",
                   run->scale->lineup->contenders[index]->name, run->loads[index].error);
}

static void open_all(scale_run *run, bench_load_size size)
{
    const bench_scale *scale = run->scale;
    for (size_t i = 0; i < scale->lineup->count; i++) {
        const bench_contender_ops *ops = scale->lineup->contenders[i];
        bench_progress_part(scale->progress, ops->name, scale->rounds);
        if (!bench_load_open(&run->loads[i], ops, scale->device, scale->mode, size))
            keep_failure(run, i);
    }
}

static void play_all(scale_run *run)
{
    for (size_t round = 0; round < run->scale->rounds; round++) {
        for (size_t i = 0; i < run->scale->lineup->count; i++) {
            if (!run->cells[i].failed &&
                !bench_load_run(&run->loads[i], run->scale->ticks, round_of(run, i, round)))
                keep_failure(run, i);
        }
        bench_progress_update(run->scale->progress, round + 1);
    }
}

/* ---- figures ---- */

typedef double (*figure)(const bench_load_round *round);

static double figure_pair(const bench_load_round *round)
{
    return round->alloc.mean + round->free.mean;
}

static double figure_p50(const bench_load_round *round)
{
    return round->alloc.p50 + round->free.p50;
}

static double figure_alloc_p99(const bench_load_round *round)
{
    return round->alloc.p99;
}

static double figure_free_p99(const bench_load_round *round)
{
    return round->free.p99;
}

static bench_spread spread_of(scale_run *run, size_t index, figure get)
{
    for (size_t round = 0; round < run->scale->rounds; round++)
        run->scratch[round] = get(round_of(run, index, round));
    return bench_spread_of(run->scratch, run->scale->rounds);
}

static void fill_cell(scale_run *run, size_t index)
{
    size_t baseline = run->scale->baseline;
    bench_scale_cell *cell = &run->cells[index];
    cell->pair_ns = spread_of(run, index, figure_pair);
    cell->pair_p50 = spread_of(run, index, figure_p50);
    cell->alloc_p99 = spread_of(run, index, figure_alloc_p99);
    cell->free_p99 = spread_of(run, index, figure_free_p99);
    cell->has_ratio = !run->cells[baseline].failed;
    if (!cell->has_ratio)
        return;
    for (size_t round = 0; round < run->scale->rounds; round++)
        run->scratch[round] =
            figure_pair(round_of(run, index, round)) / figure_pair(round_of(run, baseline, round));
    cell->over_baseline = bench_spread_of(run->scratch, run->scale->rounds);
}

bool bench_scale_run(const bench_scale *scale, bench_load_size size, bench_scale_cell *cells)
{
    size_t count = scale->lineup->count;
    scale_run run = {
        .scale = scale,
        .loads = calloc(count, sizeof(*run.loads)),
        .rounds = calloc(count * scale->rounds, sizeof(*run.rounds)),
        .scratch = calloc(scale->rounds, sizeof(*run.scratch)),
        .cells = cells,
    };
    bool enough = run.loads != NULL && run.rounds != NULL && run.scratch != NULL;
    for (size_t i = 0; i < count; i++)
        cells[i] = (bench_scale_cell){0};
    if (enough) {
        open_all(&run, size);
        play_all(&run);
        for (size_t i = 0; i < count; i++) {
            if (!cells[i].failed)
                fill_cell(&run, i);
            bench_load_close(&run.loads[i]);
        }
    }
    free(run.loads);
    free(run.rounds);
    free(run.scratch);
    return enough;
}
