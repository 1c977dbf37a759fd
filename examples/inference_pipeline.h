/*
 * The pipeline of inference_pipeline.c with one source of memory, to be run a
 * round at a time.
 */
#ifndef GP_EXAMPLES_INFERENCE_PIPELINE_H
#define GP_EXAMPLES_INFERENCE_PIPELINE_H

#include "crew.h"
#include "latency.h"
#include "memory_source.h"
#include "rendezvous.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One thread of a pipeline. */
typedef struct server {
    size_t index;
    cudaStream_t stream;
    size_t next_shape;
    bench_latency latencies;     /* In nanoseconds. */
    bench_latency round;         /* Of these, the ones of the last round. */
    double round_requests_per_s; /* Of the last round. */
    size_t served;               /* Requests of all rounds. */
    uint64_t native_ns;          /* Simulated time of their native calls. */
    char apart[128];             /* Keeps servers off each other's cache lines. */
} server;

/* The pipeline with one source of memory. */
typedef struct inference_pipeline {
    const device_ops *device;
    memory_source source;
    server *servers;
    size_t server_count;
    const float *weights; /* HIDDEN x HIDDEN, shared by all layers; NULL without gemm */
    uint64_t round_ns;
    bench_rendezvous start;
    bool use_gemm;
} inference_pipeline;

/* Make a stream for each thread of the crew and open the source. What describes
 * the device, the work and the length of a round is set before. */
void inference_pipeline_open(inference_pipeline *pipeline, const memory_source_ops *ops,
                             bench_crew *crew, size_t threads);
void inference_pipeline_close(inference_pipeline *pipeline, bench_crew *crew);

/* What one round gave, all threads together. */
typedef struct pipeline_round {
    double requests_per_s;
    double p99_ns; /* Of the requests' latencies. */
} pipeline_round;

/* Serve for one round. */
pipeline_round inference_pipeline_round(inference_pipeline *pipeline, bench_crew *crew);

/* Serve for one round, and forget it. */
void inference_pipeline_warm_up(inference_pipeline *pipeline, bench_crew *crew);

/* Jobs of a crew: a thread's first and last word to the device. The argument is
 * a pipeline, of which only the device is used. */
void inference_pipeline_arrive(void *pipeline, size_t member);
void inference_pipeline_depart(void *pipeline, size_t member);

#endif
