/* The command line of inference_pipeline. */
#ifndef GP_EXAMPLES_PIPELINE_OPTIONS_H
#define GP_EXAMPLES_PIPELINE_OPTIONS_H

#include <stddef.h>

#define PIPELINE_MAX_COUNTS 16
#define PIPELINE_MAX_THREADS 256

typedef enum pipeline_kernel {
    PIPELINE_KERNEL_AUTO, /* A matrix product if cuBLAS is there. */
    PIPELINE_KERNEL_GEMM,
    PIPELINE_KERNEL_PLAIN /* A kernel that reads and writes the layer's memory. */
} pipeline_kernel;

typedef struct pipeline_options {
    const char *device; /* "auto", "cuda" or "sim" */
    pipeline_kernel kernel;
    size_t thread_counts[PIPELINE_MAX_COUNTS];
    size_t thread_count_count; /* 0: the device decides. */
    size_t rounds;
    size_t round_ms;
    const char *json; /* A path, "-", or NULL. */
} pipeline_options;

/* Ends the process with exit code 2 if the arguments are wrong. */
void pipeline_options_parse(pipeline_options *options, int argc, char **argv);

#endif
