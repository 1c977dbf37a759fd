#include "lane.h"

#include <stdio.h>
#include <stdlib.h>

#define ROUND_NS 20e6      /* Long against a scheduler's tick. */
#define CALIBRATION_NS 2e6 /* A round as long as this tells how long others will take. */
#define FIRST_PAIRS 64
#define SAMPLE_NS 100e6
#define MAX_SAMPLES 100000

/* Keep the first failure. Returns whether there was none in this call. */
static bool succeeded(bench_lane *lane, const char *call, int code)
{
    if (code == 0)
        return true;
    if (!atomic_exchange(&lane->failed, true))
        (void)snprintf(lane->error, sizeof(lane->error), "%s: %s", call,
                       lane->contender->ops->error(code));
    return false;
}

static bool fail(bench_lane *lane, const char *call, const char *reason)
{
    if (!atomic_exchange(&lane->failed, true))
        (void)snprintf(lane->error, sizeof(lane->error), "%s: %s", call, reason);
    return false;
}

/* ---- jobs of the threads ---- */

static void fill_job(void *argument, size_t member)
{
    bench_lane *lane = argument;
    bench_runner *runner = &lane->runners[member];
    (void)succeeded(lane, "alloc",
                    bench_pairs_fill(&runner->pairs, lane->contender->ops->alloc, lane->contender,
                                     runner->stream));
}

static void drain_job(void *argument, size_t member)
{
    bench_lane *lane = argument;
    bench_runner *runner = &lane->runners[member];
    if (!runner->entered)
        return;
    (void)succeeded(lane, "free",
                    bench_pairs_drain(&runner->pairs, lane->contender->ops->free, lane->contender,
                                      runner->stream));
    if (lane->contender->device->stream_synchronize(runner->stream) != DEVICE_OK)
        (void)fail(lane, "stream_synchronize", device_error());
}

static void round_job(void *argument, size_t member)
{
    bench_lane *lane = argument;
    bench_runner *runner = &lane->runners[member];
    bench_rendezvous_wait(&lane->rendezvous);
    runner->start = bench_ticks_begin();
    int code = lane->contender->ops->run_pairs(lane->contender, &runner->pairs,
                                               lane->pairs_per_round, runner->stream);
    runner->end = bench_ticks_end();
    (void)succeeded(lane, "alloc and free", code);
}

static bool sample_alloc(bench_lane *lane, bench_runner *runner, void **ptr, size_t bytes)
{
    uint64_t start = bench_ticks_begin();
    int code = lane->contender->ops->alloc(lane->contender, ptr, bytes, runner->stream);
    uint64_t end = bench_ticks_end();
    bench_latency_record(&runner->allocs, end - start);
    return succeeded(lane, "alloc", code);
}

static bool sample_free(bench_lane *lane, bench_runner *runner, void **ptr, size_t bytes)
{
    void *block = *ptr;
    *ptr = NULL;
    uint64_t start = bench_ticks_begin();
    int code = lane->contender->ops->free(lane->contender, block, bytes, runner->stream);
    uint64_t end = bench_ticks_end();
    bench_latency_record(&runner->frees, end - start);
    return succeeded(lane, "free", code);
}

static bool sample_pair(bench_lane *lane, bench_runner *runner)
{
    bench_pairs *pairs = &runner->pairs;
    void *ptr = NULL;
    if (pairs->fixed_bytes != 0)
        return sample_alloc(lane, runner, &ptr, pairs->fixed_bytes) &&
               sample_free(lane, runner, &ptr, pairs->fixed_bytes);

    size_t step = pairs->next++ % BENCH_PAIRS_STEPS;
    size_t index = pairs->slots[step];
    void **slot = &pairs->live[index];
    size_t freed_bytes = pairs->live_bytes[index];
    pairs->live_bytes[index] = pairs->bytes[step];
    return sample_free(lane, runner, slot, freed_bytes) &&
           sample_alloc(lane, runner, slot, pairs->bytes[step]);
}

static void sample_job(void *argument, size_t member)
{
    bench_lane *lane = argument;
    bench_runner *runner = &lane->runners[member];
    const device_ops *device = lane->contender->device;
    bench_rendezvous_wait(&lane->rendezvous);

    uint64_t native_start = device->native_call_ns();
    bool sound = true;
    for (size_t i = 0; i < runner->allocs.capacity && sound; i++)
        sound = sample_pair(lane, runner);
    runner->native_ns = device->native_call_ns() - native_start;
}

/* ---- rounds ---- */

static void measure(const bench_lane *lane, bench_round *round)
{
    const bench_runner *runners = lane->runners;
    double pairs = (double)lane->pairs_per_round;
    round->pair_ns = 0.0;
    for (size_t i = 0; i < lane->thread_count; i++) {
        round->pair_ns += bench_ticks_to_ns(lane->ticks, runners[i].end - runners[i].start) / pairs;
    }
    round->pair_ns /= (double)lane->thread_count;

    /* The sum of what the threads reach, each over its own time: a thread that the host
     * puts aside for a while does not lower what the others did meanwhile. */
    round->mpairs_per_s =
        round->pair_ns > 0.0 ? (double)lane->thread_count * 1e3 / round->pair_ns : 0.0;
}

bool bench_lane_run(bench_lane *lane, bench_round *round)
{
    bench_crew_run(lane->crew, round_job, lane);
    measure(lane, round);
    return !atomic_load(&lane->failed);
}

/* Find how many pairs make a round. The first pairs of a contender, which take memory
 * from the device, do not count: rounds would come out far too short. */
static bool calibrate(bench_lane *lane)
{
    bench_round round = {0};
    double took_ns = 0.0;
    lane->pairs_per_round = FIRST_PAIRS;
    if (!bench_lane_run(lane, &round))
        return false;
    while (took_ns < CALIBRATION_NS) {
        if (!bench_lane_run(lane, &round))
            return false;
        took_ns = round.pair_ns * (double)lane->pairs_per_round;
        if (took_ns < CALIBRATION_NS)
            lane->pairs_per_round *= 2;
    }
    lane->pairs_per_round = (size_t)(ROUND_NS / round.pair_ns) + 1;
    return bench_lane_run(lane, &round);
}

bool bench_lane_sample(bench_lane *lane)
{
    double share = SAMPLE_NS / ROUND_NS;
    size_t count = (size_t)(share * (double)lane->pairs_per_round);
    if (count > MAX_SAMPLES)
        count = MAX_SAMPLES;
    for (size_t i = 0; i < lane->thread_count; i++) {
        if (!bench_latency_create(&lane->runners[i].allocs, count) ||
            !bench_latency_create(&lane->runners[i].frees, count))
            return fail(lane, "hit", "out of memory");
    }
    bench_crew_run(lane->crew, sample_job, lane);
    return !atomic_load(&lane->failed);
}

/* ---- open and close ---- */

static bool make_runner(bench_lane *lane, size_t index, size_t bytes)
{
    const device_ops *device = lane->contender->device;
    bench_runner *runner = &lane->runners[index];
    bench_pairs_init(&runner->pairs, bytes, index);
    if (device->stream_create(&runner->stream, true) != DEVICE_OK)
        return fail(lane, "stream_create", device_error());
    runner->entered =
        succeeded(lane, "attach", lane->contender->ops->enter(lane->contender, runner->stream));
    if (!runner->entered)
        (void)device->stream_destroy(runner->stream);
    return runner->entered;
}

bool bench_lane_open(bench_lane *lane, const bench_contender_ops *ops, const device_ops *device,
                     bench_mode mode, bench_crew *crew, size_t thread_count, size_t bytes,
                     const bench_ticks *ticks)
{
    *lane = (bench_lane){.crew = crew, .ticks = ticks, .thread_count = thread_count};
    bench_rendezvous_init(&lane->rendezvous, (unsigned int)thread_count);
    if (ops->needs_gpu && device->kind == GP_BACKEND_SIM)
        return fail(lane, "open", "needs a GPU");
    int code = ops->open(ops, &lane->contender, device, mode);
    if (code != 0)
        return fail(lane, "open", ops->error(code));
    lane->runners = calloc(thread_count, sizeof(*lane->runners));
    if (lane->runners == NULL)
        return fail(lane, "hit", "out of memory");

    bool sound = true;
    for (size_t i = 0; i < thread_count && sound; i++)
        sound = make_runner(lane, i, bytes);
    if (sound)
        bench_crew_run(crew, fill_job, lane);
    return sound && !atomic_load(&lane->failed) && calibrate(lane);
}

static void destroy_runner(bench_lane *lane, bench_runner *runner)
{
    if (runner->entered) {
        (void)lane->contender->ops->leave(lane->contender, runner->stream);
        (void)lane->contender->device->stream_destroy(runner->stream);
    }
    bench_latency_destroy(&runner->allocs);
    bench_latency_destroy(&runner->frees);
}

void bench_lane_close(bench_lane *lane)
{
    if (lane->contender == NULL)
        return;
    if (lane->runners != NULL) {
        bench_crew_run(lane->crew, drain_job, lane);
        for (size_t i = 0; i < lane->thread_count; i++)
            destroy_runner(lane, &lane->runners[i]);
    }
    free(lane->runners);
    lane->contender->ops->close(lane->contender);
    lane->contender = NULL;
}
