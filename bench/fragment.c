#include "fragment.h"

#include "adversary.h"

#include <stdio.h>

#define PROGRESS_STEP 4096
#define SLOW_SHARE 100

typedef struct fragment_run {
    const bench_fragment *fragment;
    bench_contender *contender;
    bench_adversary adversary;
    cudaStream_t streams[BENCH_ADVERSARY_STREAMS];
    size_t streams_made;
    bench_latency allocs, frees;
    bench_fragment_result *result;
} fragment_run;

static bool fail(fragment_run *run, const char *call, const char *reason)
{
    if (!run->result->failed)
        (void)snprintf(run->result->error, sizeof(run->result->error), "%s: %.400s", call, reason);
    run->result->failed = true;
    return false;
}

static bool succeeded(fragment_run *run, const char *call, int code)
{
    return code == 0 || fail(run, call, run->contender->ops->error(code));
}

/* ---- operations ---- */

static bool time_alloc(fragment_run *run, bench_victim *block)
{
    bench_contender *contender = run->contender;
    uint64_t start = bench_ticks_begin();
    int code =
        contender->ops->alloc(contender, &block->ptr, block->bytes, run->streams[block->stream]);
    uint64_t end = bench_ticks_end();
    bench_latency_record(&run->allocs, end - start);
    if (contender->ops->observe != NULL)
        contender->ops->observe(contender);
    if (run->adversary.live_bytes > run->result->peak_live_bytes)
        run->result->peak_live_bytes = run->adversary.live_bytes;
    return succeeded(run, "alloc", code);
}

static bool time_free(fragment_run *run, const bench_victim *block)
{
    bench_contender *contender = run->contender;
    uint64_t start = bench_ticks_begin();
    int code =
        contender->ops->free(contender, block->ptr, block->bytes, run->streams[block->stream]);
    uint64_t end = bench_ticks_end();
    bench_latency_record(&run->frees, end - start);
    return succeeded(run, "free", code);
}

static bool play(fragment_run *run)
{
    bench_memory *memory = &run->result->memory;
    bench_victim *block = NULL;
    bool frees = false;
    bool sound = true;
    bench_memory_begin(memory, run->result->operations);
    while (sound && bench_adversary_next(&run->adversary, &frees, &block)) {
        size_t made = run->adversary.made;
        sound = frees ? time_free(run, block) : time_alloc(run, block);
        if (sound && bench_memory_is_due(memory, made))
            sound = succeeded(
                run, "usage",
                bench_memory_take(memory, run->contender, made, run->adversary.live_bytes, true));
        if (made % PROGRESS_STEP == 0)
            bench_progress_update(run->fragment->progress, made);
    }
    if (sound && run->adversary.made < run->result->operations)
        return fail(run, "fragment", "out of memory");
    return sound;
}

/* ---- figures ---- */

static void fill_means(bench_fragment_result *result)
{
    const bench_memory *memory = &result->memory;
    double ratios = 0.0;
    double fragmentations = 0.0;
    for (size_t i = 0; i < memory->count; i++) {
        const bench_memory_sample *sample = &memory->samples[i];
        double fragmentation = bench_memory_fragmentation(sample);
        if (sample->live_bytes > 0)
            ratios += (double)sample->reserved_bytes / (double)sample->live_bytes;
        fragmentations += fragmentation;
        if (fragmentation > result->fragmentation_max)
            result->fragmentation_max = fragmentation;
        result->has_holes = sample->has_holes;
    }
    if (memory->count == 0)
        return;
    result->reserved_over_live_mean = ratios / (double)memory->count;
    result->fragmentation_mean = fragmentations / (double)memory->count;
}

static bool fill_figures(fragment_run *run)
{
    bench_fragment_result *result = run->result;
    bench_usage usage;
    if (!succeeded(run, "usage", run->contender->ops->get_usage(run->contender, &usage)))
        return false;
    if (!bench_latency_summarise(&run->allocs, 1, sizeof(run->allocs), run->fragment->ticks,
                                 &result->alloc) ||
        !bench_latency_summarise(&run->frees, 1, sizeof(run->frees), run->fragment->ticks,
                                 &result->free))
        return fail(run, "fragment", "out of memory");
    result->peak_reserved_bytes = usage.reserved_bytes_high;
    if (result->peak_live_bytes > 0)
        result->reserved_over_live =
            (double)usage.reserved_bytes_high / (double)result->peak_live_bytes;
    fill_means(result);
    return true;
}

/* ---- the run ---- */

static bool make_streams(fragment_run *run)
{
    const device_ops *device = run->fragment->device;
    for (size_t i = 0; i < BENCH_ADVERSARY_STREAMS; i++) {
        if (device->stream_create(&run->streams[i], true) != DEVICE_OK)
            return fail(run, "stream_create", device_error());
        int code = run->contender->ops->enter(run->contender, run->streams[i]);
        if (code != 0) {
            (void)device->stream_destroy(run->streams[i]);
            return succeeded(run, "attach", code);
        }
        run->streams_made++;
    }
    return true;
}

static bool make_room(fragment_run *run)
{
    size_t operations = run->result->operations;
    return (bench_adversary_create(&run->adversary, operations, run->fragment->live_bytes) &&
            bench_latency_create(&run->allocs, operations / 2 + operations / 16 + 1) &&
            bench_latency_create(&run->frees, operations / 2 + 1)) ||
           fail(run, "fragment", "out of memory");
}

static void clean_up(fragment_run *run)
{
    for (size_t i = 0; i < run->adversary.count && !run->result->failed; i++)
        (void)time_free(run, &run->adversary.live[i]);
    for (size_t i = 0; i < run->streams_made; i++) {
        (void)run->fragment->device->stream_synchronize(run->streams[i]);
        (void)run->contender->ops->leave(run->contender, run->streams[i]);
        (void)run->fragment->device->stream_destroy(run->streams[i]);
    }
    bench_adversary_destroy(&run->adversary);
    bench_latency_destroy(&run->allocs);
    bench_latency_destroy(&run->frees);
    run->contender->ops->close(run->contender);
}

void bench_fragment_run(const bench_fragment *fragment, const bench_contender_ops *ops,
                        bench_fragment_result *result)
{
    fragment_run run = {.fragment = fragment, .result = result};
    *result = (bench_fragment_result){.operations = fragment->operations};
    if (ops->is_slow)
        result->operations = result->operations / SLOW_SHARE + 1;
    bench_progress_part(fragment->progress, ops->name, fragment->operations);
    int code = ops->open(ops, &run.contender, fragment->device, fragment->mode);
    if (code != 0) {
        (void)fail(&run, "open", ops->error(code));
        return;
    }
    if (make_room(&run) && make_streams(&run) && play(&run))
        (void)fill_figures(&run);
    clean_up(&run);
}
