#include "longest.h"

#include "result.h"

void bench_longest_init(bench_longest *longest)
{
    *longest = (bench_longest){.lock = PTHREAD_MUTEX_INITIALIZER};
}

void bench_longest_destroy(bench_longest *longest)
{
    (void)pthread_mutex_destroy(&longest->lock);
}

int bench_longest_begin(bench_longest *longest, bench_contender *contender, uint64_t long_ticks)
{
    longest->long_ticks = long_ticks;
    longest->call = (bench_call){0};
    return contender->ops->get_usage(contender, &longest->seen);
}

int bench_longest_look(bench_longest *longest, bench_contender *contender, bench_call *call)
{
    bench_usage now;
    (void)pthread_mutex_lock(&longest->lock);
    int code = contender->ops->get_usage(contender, &now);
    if (code == 0) {
        call->did = bench_usage_since(&now, &longest->seen);
        longest->seen = now;
        if (call->ticks > longest->call.ticks)
            longest->call = *call;
    }
    (void)pthread_mutex_unlock(&longest->lock);
    return code;
}

const char *bench_longest_cause(const bench_call *call)
{
    const bench_usage *did = &call->did;
    const struct {
        const char *name;
        uint64_t count;
        bool of_frees; /* A free may do it as well. */
    } causes[] = {
        {"growth", did->native_allocs, false},
        {"release", did->native_frees + did->native_trims, true},
        {"wait", did->waits, true},
        {"fence", did->records + did->queries, true},
        {"share", did->shared_hits, false},
        {"refill", did->refills, false},
        {"flush", did->flushes, true},
    };
    if (call->passes_through)
        return "native";
    for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
        if (causes[i].count > 0 && (causes[i].of_frees || !call->frees))
            return causes[i].name;
    }
    return "host";
}
