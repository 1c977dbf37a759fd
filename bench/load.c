#include "load.h"

#include <stdio.h>
#include <stdlib.h>

/* Mostly small blocks, so that a million of them fit a device, and some that are not. */
#define SMALL_LOW ((size_t)64)
#define SMALL_HIGH ((size_t)16 << 10)
#define MEDIUM_LOW ((size_t)64 << 10)
#define MEDIUM_HIGH ((size_t)256 << 10)
#define MEDIUM_ONE_IN 32

/* Of a round, at least. */
#define PAIRS ((size_t)20000)
#define PAIRS_A_THREAD ((size_t)2000)
#define PAIRS_A_STREAM ((size_t)100)
#define SLOW_PAIRS ((size_t)500)

/* Of a turn of the warm-up, which also replaces as many blocks as are live. */
#define WARM_PAIRS_A_STREAM ((size_t)250)

/* Turns, the last of which is one in which the contender did not grow, if there is one. */
#define WARM_TURNS_LEAST 4
#define WARM_TURNS_MOST 8

static bool fail(bench_load *load, const char *call, const char *reason)
{
    if (!atomic_exchange(&load->failed, true))
        (void)snprintf(load->error, sizeof(load->error), "%s: %.400s", call, reason);
    return false;
}

static bool succeeded(bench_load *load, const char *call, int code)
{
    return code == 0 || fail(load, call, load->contender->ops->error(code));
}

static uint32_t draw_bytes(bench_random *random)
{
    if (bench_random_below(random, MEDIUM_ONE_IN) == 0)
        return (uint32_t)bench_random_bytes(random, MEDIUM_LOW, MEDIUM_HIGH);
    return (uint32_t)bench_random_bytes(random, SMALL_LOW, SMALL_HIGH);
}

/* ---- calls ---- */

static bool time_alloc(bench_load *load, bench_loader *loader, size_t block, uint32_t bytes)
{
    bench_contender *contender = load->contender;
    cudaStream_t stream = loader->streams[block % load->streams_each];
    void *ptr = NULL;
    uint64_t start = bench_ticks_begin();
    int code = contender->ops->alloc(contender, &ptr, bytes, stream);
    uint64_t end = bench_ticks_end();
    if (code != 0)
        return succeeded(load, "alloc", code);
    bench_latency_record(&loader->allocs, end - start);
    if (contender->ops->observe != NULL)
        contender->ops->observe(contender);
    loader->blocks[block] = ptr;
    loader->bytes[block] = bytes;
    return true;
}

static bool time_free(bench_load *load, bench_loader *loader, size_t block)
{
    bench_contender *contender = load->contender;
    cudaStream_t stream = loader->streams[block % load->streams_each];
    void *ptr = loader->blocks[block];
    size_t bytes = loader->bytes[block];
    loader->blocks[block] = NULL;
    uint64_t start = bench_ticks_begin();
    int code = contender->ops->free(contender, ptr, bytes, stream);
    uint64_t end = bench_ticks_end();
    bench_latency_record(&loader->frees, end - start);
    return succeeded(load, "free", code);
}

/* ---- jobs of the threads ---- */

static void arrive_job(void *argument, size_t member)
{
    bench_load *load = argument;
    (void)member;
    if (load->contender->device->set_current(0) != DEVICE_OK)
        (void)fail(load, "set_current", device_error());
}

static void fill_job(void *argument, size_t member)
{
    bench_load *load = argument;
    bench_loader *loader = &load->loaders[member];
    for (size_t i = 0; i < load->live_each && !atomic_load(&load->failed); i++)
        (void)time_alloc(load, loader, i, draw_bytes(&loader->random));
}

static void replace_job(void *argument, size_t member)
{
    bench_load *load = argument;
    bench_loader *loader = &load->loaders[member];
    bench_latency_clear(&loader->allocs);
    bench_latency_clear(&loader->frees);
    bench_rendezvous_wait(&load->rendezvous);
    bool sound = !atomic_load(&load->failed);
    for (size_t i = 0; i < load->pairs && sound; i++) {
        size_t block = bench_random_below(&loader->random, load->live_each);
        uint32_t bytes = draw_bytes(&loader->random);
        sound = time_free(load, loader, block) && time_alloc(load, loader, block, bytes);
    }
}

static void drain_job(void *argument, size_t member)
{
    bench_load *load = argument;
    bench_loader *loader = &load->loaders[member];
    for (size_t i = 0; i < load->live_each; i++) {
        if (loader->blocks[i] != NULL)
            (void)time_free(load, loader, i);
    }
    for (size_t i = 0; i < loader->streams_made; i++) {
        if (load->contender->device->stream_synchronize(loader->streams[i]) != DEVICE_OK)
            (void)fail(load, "stream_synchronize", device_error());
    }
    load->contender->device->leave();
}

static bool run_job(bench_load *load, bench_crew_job job)
{
    bench_crew_run(load->crew, job, load);
    return !atomic_load(&load->failed);
}

/* ---- rounds ---- */

static size_t larger(size_t one, size_t other)
{
    return one > other ? one : other;
}

static size_t pairs_of_round(const bench_load *load)
{
    if (load->contender->ops->is_slow)
        return larger(SLOW_PAIRS, load->size.threads);
    return larger(PAIRS,
                  larger(load->size.threads * PAIRS_A_THREAD, load->size.streams * PAIRS_A_STREAM));
}

static bool make_room(bench_load *load)
{
    for (size_t i = 0; i < load->size.threads; i++) {
        bench_loader *loader = &load->loaders[i];
        if (loader->allocs.capacity >= load->pairs)
            continue;
        bench_latency_destroy(&loader->allocs);
        bench_latency_destroy(&loader->frees);
        if (!bench_latency_create(&loader->allocs, load->pairs) ||
            !bench_latency_create(&loader->frees, load->pairs))
            return fail(load, "load", "out of memory");
    }
    return true;
}

bool bench_load_run(bench_load *load, const bench_ticks *ticks, bench_load_round *round)
{
    const bench_loader *loaders = load->loaders;
    load->pairs = pairs_of_round(load) / load->size.threads;
    if (!make_room(load) || !run_job(load, replace_job))
        return false;
    return (bench_latency_summarise(&loaders->allocs, load->size.threads, sizeof(*loaders), ticks,
                                    &round->alloc) &&
            bench_latency_summarise(&loaders->frees, load->size.threads, sizeof(*loaders), ticks,
                                    &round->free)) ||
           fail(load, "load", "out of memory");
}

/* ---- warm-up ---- */

static size_t pairs_of_turn(const bench_load *load)
{
    if (load->contender->ops->is_slow)
        return pairs_of_round(load);
    return larger(pairs_of_round(load),
                  larger(load->size.live, load->size.streams * WARM_PAIRS_A_STREAM));
}

static bool get_reserved(bench_load *load, uint64_t *bytes)
{
    bench_usage usage;
    int code = load->contender->ops->get_usage(load->contender, &usage);
    if (code != 0)
        return succeeded(load, "usage", code);
    *bytes = usage.reserved_bytes;
    return true;
}

/* Until blocks lie where chance has put them, caches have what they keep, and whatever grows has
 * grown. */
static bool turn_until_steady(bench_load *load)
{
    bool growing = true;
    uint64_t before = 0;
    for (int turn = 0; turn < WARM_TURNS_LEAST || (growing && turn < WARM_TURNS_MOST); turn++) {
        uint64_t after;
        if (!run_job(load, replace_job) || !get_reserved(load, &after))
            return false;
        growing = after > before;
        before = after;
    }
    return true;
}

/* What is slow keeps nothing, and is as it will be from the start. */
static bool warm_up(bench_load *load)
{
    load->pairs = pairs_of_turn(load) / load->size.threads;
    return load->contender->ops->is_slow ? run_job(load, replace_job) : turn_until_steady(load);
}

/* ---- open and close ---- */

static bool make_streams(bench_load *load, bench_loader *loader)
{
    const device_ops *device = load->contender->device;
    for (size_t i = 0; i < load->streams_each; i++) {
        if (device->stream_create(&loader->streams[i], true) != DEVICE_OK)
            return fail(load, "stream_create", device_error());
        int code = load->contender->ops->enter(load->contender, loader->streams[i]);
        if (code != 0) {
            (void)device->stream_destroy(loader->streams[i]);
            return succeeded(load, "attach", code);
        }
        loader->streams_made++;
    }
    return true;
}

static bool make_loaders(bench_load *load)
{
    load->loaders = calloc(load->size.threads, sizeof(*load->loaders));
    bool sound = load->loaders != NULL;
    for (size_t i = 0; i < load->size.threads && sound; i++) {
        bench_loader *loader = &load->loaders[i];
        loader->random = bench_random_seed(i);
        loader->streams = calloc(load->streams_each, sizeof(cudaStream_t));
        loader->blocks = calloc(load->live_each, sizeof(void *));
        loader->bytes = calloc(load->live_each, sizeof(*loader->bytes));
        sound = loader->streams != NULL && loader->blocks != NULL && loader->bytes != NULL;
    }
    if (!sound || !bench_crew_create(&load->crew, load->size.threads))
        return fail(load, "load", "out of memory");
    for (size_t i = 0; i < load->size.threads && sound; i++)
        sound = make_streams(load, &load->loaders[i]);
    return sound;
}

bool bench_load_open(bench_load *load, const bench_contender_ops *ops, const device_ops *device,
                     bench_mode mode, bench_load_size size)
{
    *load = (bench_load){.size = size,
                         .streams_each = size.streams / size.threads,
                         .live_each = size.live / size.threads};
    bench_rendezvous_init(&load->rendezvous, (unsigned int)size.threads);
    if (ops->needs_gpu && device->kind == GP_BACKEND_SIM)
        return fail(load, "open", "needs a GPU");
    int code = ops->open(ops, &load->contender, device, mode);
    if (code != 0)
        return fail(load, "open", ops->error(code));
    return make_loaders(load) && run_job(load, arrive_job) && run_job(load, fill_job) &&
           warm_up(load);
}

static void destroy_loader(bench_load *load, bench_loader *loader)
{
    for (size_t i = 0; i < loader->streams_made; i++) {
        (void)load->contender->ops->leave(load->contender, loader->streams[i]);
        (void)load->contender->device->stream_destroy(loader->streams[i]);
    }
    free(loader->streams);
    free(loader->blocks);
    free(loader->bytes);
    bench_latency_destroy(&loader->allocs);
    bench_latency_destroy(&loader->frees);
}

void bench_load_close(bench_load *load)
{
    if (load->contender == NULL)
        return;
    if (load->crew != NULL)
        bench_crew_run(load->crew, drain_job, load);
    bench_crew_destroy(load->crew);
    for (size_t i = 0; load->loaders != NULL && i < load->size.threads; i++)
        destroy_loader(load, &load->loaders[i]);
    free(load->loaders);
    load->contender->ops->close(load->contender);
    load->contender = NULL;
}
