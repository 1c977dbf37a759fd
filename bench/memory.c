#include "memory.h"

void bench_memory_begin(bench_memory *memory, size_t total)
{
    memory->count = 0;
    memory->total = total;
}

int bench_memory_take(bench_memory *memory, bench_contender *contender, size_t event,
                      uint64_t live_bytes, bool with_holes)
{
    const bench_contender_ops *ops = contender->ops;
    bench_usage usage;
    int code = ops->get_usage(contender, &usage);
    if (code != 0)
        return code;

    bench_memory_sample *sample = &memory->samples[memory->count];
    *sample = (bench_memory_sample){
        .event = event,
        .live_bytes = live_bytes,
        .reserved_bytes = usage.reserved_bytes,
        .has_holes = with_holes && ops->get_holes != NULL,
    };
    if (sample->has_holes)
        code = ops->get_holes(contender, &sample->holes);
    if (code == 0)
        memory->count++;
    return code;
}

double bench_memory_fragmentation(const bench_memory_sample *sample)
{
    if (sample->holes.free_bytes == 0)
        return 0.0;
    return 1.0 - (double)sample->holes.largest_free_bytes / (double)sample->holes.free_bytes;
}
