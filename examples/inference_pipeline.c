/*
 * An inference server in miniature: threads that serve requests of varying size,
 * each on a stream of its own. A request goes through 24 layers; each layer
 * allocates its output and a workspace, queues one kernel, and frees workspace
 * and input. No layer waits: memory is allocated and freed in stream order, and
 * only the end of a request is waited for.
 *
 * The same pipeline runs with four sources of device memory by turns, in one
 * run, so that their requests/s can be compared on a machine that others use
 * too: see memory_source.h. On a machine without a GPU it runs on gp's simulated
 * device, where kernels are queued and checked for hazards but take no real time.
 */
#include "inference_pipeline.h"

#include "comparison.h"
#include "fail.h"
#include "pipeline_options.h"
#include "pipeline_report.h"

#include "gp/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAYERS 24
#define HIDDEN 256 /* Width of an activation: one token is so many floats. */
#define WEIGHT_BYTES (sizeof(float) * HIDDEN * HIDDEN)
#define MAX_BATCH 8
#define MAX_LENGTH 128
#define MAX_TOKENS ((size_t)MAX_BATCH * MAX_LENGTH)
#define SHAPES 61 /* Request sizes, taken round and round; a prime, so that threads differ. */
#define PLAIN_KERNEL_NS 4000
#define MAX_LATENCIES ((size_t)1 << 17) /* Kept of each thread and source. */
#define INPUT_BYTE 0x3c                 /* Four of them are a small float. */

static size_t shapes[SHAPES]; /* Tokens of a request. */

static void check(device_result result, const char *call)
{
    if (result != DEVICE_OK)
        example_fail(call, device_error());
}

/* ---- a request ---- */

static size_t activation_bytes(size_t tokens)
{
    return tokens * HIDDEN * sizeof(float);
}

static void *take(inference_pipeline *pipeline, const server *self, size_t bytes)
{
    return pipeline->source.ops->take(&pipeline->source, self->index, bytes, self->stream);
}

static void give(inference_pipeline *pipeline, const server *self, void *ptr)
{
    pipeline->source.ops->give(&pipeline->source, self->index, ptr, self->stream);
}

static void queue_kernel(const inference_pipeline *pipeline, cudaStream_t stream, size_t tokens,
                         const void *input, void *output, void *workspace)
{
    const device_ops *device = pipeline->device;
    size_t bytes = activation_bytes(tokens);
    if (pipeline->use_gemm)
        check(device->gemm(stream, output, input, pipeline->weights, (int)tokens, HIDDEN, HIDDEN,
                           workspace, bytes),
              "gemm");
    else
        check(device->compute(stream, input, output, workspace, bytes, PLAIN_KERNEL_NS), "compute");
}

/* Queue one layer; its output is the next one's input. */
static void *run_layer(inference_pipeline *pipeline, const server *self, size_t tokens, void *input)
{
    void *output = take(pipeline, self, activation_bytes(tokens));
    void *workspace = take(pipeline, self, activation_bytes(tokens));

    queue_kernel(pipeline, self->stream, tokens, input, output, workspace);

    give(pipeline, self, workspace);
    give(pipeline, self, input);
    return output;
}

static void run_request(inference_pipeline *pipeline, const server *self, size_t tokens)
{
    size_t bytes = activation_bytes(tokens);
    void *activations = take(pipeline, self, bytes);
    check(pipeline->device->fill(self->stream, activations, bytes, INPUT_BYTE), "fill");

    for (int layer = 0; layer < LAYERS; layer++)
        activations = run_layer(pipeline, self, tokens, activations);

    give(pipeline, self, activations);
    check(pipeline->device->stream_synchronize(self->stream), "stream_synchronize");
}

/* ---- a thread ---- */

void inference_pipeline_arrive(void *argument, size_t member)
{
    const inference_pipeline *pipeline = argument;
    (void)member;
    check(pipeline->device->set_current(0), "set_current");
}

void inference_pipeline_depart(void *argument, size_t member)
{
    const inference_pipeline *pipeline = argument;
    (void)member;
    pipeline->device->leave();
}

static void enter(void *argument, size_t member)
{
    inference_pipeline *pipeline = argument;
    server *self = &pipeline->servers[member];
    self->index = member;
    self->next_shape = member * 7;
    check(pipeline->device->stream_create(&self->stream, true), "stream_create");
    if (!bench_latency_create(&self->latencies, MAX_LATENCIES))
        example_fail("latencies", "out of memory");
    pipeline->source.ops->enter(&pipeline->source, member, self->stream);
}

static void leave(void *argument, size_t member)
{
    inference_pipeline *pipeline = argument;
    server *self = &pipeline->servers[member];
    pipeline->source.ops->leave(&pipeline->source, member, self->stream);
    check(pipeline->device->stream_synchronize(self->stream), "stream_synchronize");
    check(pipeline->device->stream_destroy(self->stream), "stream_destroy");
    bench_latency_destroy(&self->latencies);
}

/* Serve requests until the round is over. */
static void serve(void *argument, size_t member)
{
    inference_pipeline *pipeline = argument;
    server *self = &pipeline->servers[member];
    bench_rendezvous_wait(&pipeline->start);

    size_t served = 0;
    const size_t first = self->latencies.count;
    uint64_t native_start = pipeline->device->native_call_ns();
    uint64_t start = bench_ticks_monotonic_ns();
    uint64_t now = start;
    for (; now - start < pipeline->round_ns; served++) {
        uint64_t begun = now;
        run_request(pipeline, self, shapes[self->next_shape++ % SHAPES]);
        now = bench_ticks_monotonic_ns();
        bench_latency_record(&self->latencies, now - begun);
    }
    self->round = (bench_latency){.ticks = self->latencies.ticks + first,
                                  .count = self->latencies.count - first};
    self->round_requests_per_s = (double)served * 1e9 / (double)(now - start);
    self->native_ns += pipeline->device->native_call_ns() - native_start;
    self->served += served;
}

/* ---- a pipeline ---- */

void inference_pipeline_open(inference_pipeline *pipeline, const memory_source_ops *ops,
                             bench_crew *crew, size_t threads)
{
    pipeline->source = (memory_source){
        .ops = ops, .device = pipeline->device, .max_bytes = activation_bytes(MAX_TOKENS)};
    ops->open(&pipeline->source, threads);
    pipeline->server_count = threads;
    pipeline->servers = calloc(threads, sizeof(*pipeline->servers));
    if (pipeline->servers == NULL)
        example_fail("servers", "out of memory");
    bench_rendezvous_init(&pipeline->start, (unsigned int)threads);
    bench_crew_run(crew, enter, pipeline);
}

void inference_pipeline_close(inference_pipeline *pipeline, bench_crew *crew)
{
    bench_crew_run(crew, leave, pipeline);
    pipeline->source.ops->close(&pipeline->source);
    free(pipeline->servers);
}

static double round_p99_ns(const inference_pipeline *pipeline)
{
    static const bench_ticks nanoseconds = {.ns_per_tick = 1.0};
    const server *servers = pipeline->servers;
    bench_latency_summary summary;
    if (!bench_latency_summarise(&servers->round, pipeline->server_count, sizeof(*servers),
                                 &nanoseconds, &summary))
        example_fail("latencies", "out of memory");
    return summary.p99;
}

pipeline_round inference_pipeline_round(inference_pipeline *pipeline, bench_crew *crew)
{
    pipeline_round round = {0};
    bench_crew_run(crew, serve, pipeline);
    for (size_t i = 0; i < pipeline->server_count; i++)
        round.requests_per_s += pipeline->servers[i].round_requests_per_s;
    round.p99_ns = round_p99_ns(pipeline);
    return round;
}

void inference_pipeline_warm_up(inference_pipeline *pipeline, bench_crew *crew)
{
    (void)inference_pipeline_round(pipeline, crew);
    for (size_t i = 0; i < pipeline->server_count; i++) {
        bench_latency_clear(&pipeline->servers[i].latencies);
        pipeline->servers[i].served = 0;
        pipeline->servers[i].native_ns = 0;
    }
}

/* ---- the program ---- */

/* Batches of 1, 2, 4 or 8 sequences of 16 to 128 tokens, the same on every run. */
static void draw_shapes(void)
{
    uint32_t state = 1;
    for (size_t i = 0; i < SHAPES; i++) {
        state = state * 1664525u + 1013904223u;
        size_t batch = (size_t)1 << (state >> 30);
        size_t length = 16 + (state >> 16) % (MAX_LENGTH - 15);
        shapes[i] = batch * length;
    }
}

static bool choose_gemm(const device_ops *device, pipeline_kernel wanted)
{
    bool there = device->gemm != NULL && device->has_gemm != NULL && device->has_gemm();
    if (wanted == PIPELINE_KERNEL_GEMM && !there)
        example_fail("--kernel gemm", "cuBLAS was not found");
    return there && wanted != PIPELINE_KERNEL_PLAIN;
}

static void choose_thread_counts(pipeline_options *options, const device_ops *device)
{
    static const size_t usual[] = {1, 4, 8, 16};
    if (options->thread_count_count > 0)
        return;
    /* The simulated device's kernels run on the host: more threads say nothing more. */
    options->thread_count_count = device->kind == GP_BACKEND_SIM ? 2 : 4;
    memcpy(options->thread_counts, usual, sizeof(usual));
}

static void describe(const inference_pipeline *common, const pipeline_options *options,
                     pipeline_setup *setup)
{
    *setup = (pipeline_setup){
        .device = common->device->name,
        .kernel = common->use_gemm ? "a cuBLAS matrix product" : "a plain kernel",
        .simulated = common->device->kind == GP_BACKEND_SIM,
        .layers = LAYERS,
        .rounds = options->rounds,
        .round_ms = options->round_ms,
    };
    if (setup->simulated)
        setup->kernel = "a simulated kernel";
    check(common->device->get_name(0, setup->device_name, sizeof(setup->device_name)), "get_name");
}

static void report(const inference_pipeline *common, const pipeline_options *options,
                   const pipeline_row *rows, size_t count, int64_t hazards)
{
    pipeline_setup setup;
    describe(common, options, &setup);
    if (options->json == NULL || strcmp(options->json, "-") != 0) {
        pipeline_report_table(&setup, rows, count);
        if (hazards >= 0)
            printf("hazards, in a round with the checker on: %lld\n", (long long)hazards);
    }
    if (options->json != NULL)
        pipeline_report_json(&setup, rows, count, options->json, hazards);
}

/* A new simulated device. Its hazard checker hears of every allocation, which
 * costs more than gp's hot path: it is off while requests are counted. */
static void renew_simulation(const device_ops *device, bool check_hazards)
{
    gp_sim_config config;
    gp_sim_config_init(&config);
    config.check_hazards = check_hazards;
    device->close(0);
    if (gp_sim_reset(&config) != GP_OK)
        example_fail("gp_sim_reset", gp_last_error());
    check(device->open(0), "open");
}

/* Hazards in one more round of each source, all of whose accesses are checked. */
static int64_t count_hazards(const inference_pipeline *common, size_t threads)
{
    pipeline_row unused[MEMORY_SOURCE_COUNT];
    if (common->device->kind != GP_BACKEND_SIM)
        return -1;
    renew_simulation(common->device, true);
    comparison_run(common, threads, 1, unused);
    return common->device->hazards();
}

/* Returns how many rows were filled. */
static size_t run(const inference_pipeline *common, const pipeline_options *options,
                  pipeline_row *rows)
{
    if (common->device->kind == GP_BACKEND_SIM)
        renew_simulation(common->device, false);
    for (size_t i = 0; i < options->thread_count_count; i++)
        comparison_run(common, options->thread_counts[i], options->rounds,
                       &rows[i * MEMORY_SOURCE_COUNT]);
    return options->thread_count_count * MEMORY_SOURCE_COUNT;
}

static float *make_weights(const device_ops *device)
{
    void *weights = NULL;
    check(device->plain_alloc(&weights, WEIGHT_BYTES), "plain_alloc");
    check(device->fill(NULL, weights, WEIGHT_BYTES, INPUT_BYTE), "fill");
    check(device->synchronize(), "synchronize");
    return weights;
}

int main(int argc, char **argv)
{
    pipeline_options options;
    pipeline_options_parse(&options, argc, argv);
    const device_ops *device = device_open(options.device, 0);
    if (device == NULL)
        example_fail(options.device, device_error());
    choose_thread_counts(&options, device);
    draw_shapes();

    bool use_gemm = choose_gemm(device, options.kernel);
    float *weights = use_gemm ? make_weights(device) : NULL;
    const inference_pipeline common = {
        .device = device,
        .weights = weights,
        .use_gemm = use_gemm,
        .round_ns = options.round_ms * 1000000u,
    };

    pipeline_row rows[PIPELINE_MAX_COUNTS * MEMORY_SOURCE_COUNT];
    size_t count = run(&common, &options, rows);
    int64_t hazards = count_hazards(&common, options.thread_counts[options.thread_count_count - 1]);
    report(&common, &options, rows, count, hazards);

    if (weights != NULL)
        check(device->plain_free(weights), "plain_free");
    device->close(0);
    return EXIT_SUCCESS;
}
