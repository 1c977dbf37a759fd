/*
 * The pipeline with every source of memory, by turns: what disturbs the machine
 * in one round disturbs all of them.
 */
#ifndef GP_EXAMPLES_COMPARISON_H
#define GP_EXAMPLES_COMPARISON_H

#include "inference_pipeline.h"
#include "pipeline_report.h"

#include <stddef.h>

/* One thread count, all sources: a row each, in the order of memory_sources.
 * `common` is a pipeline without source and servers. */
void comparison_run(const inference_pipeline *common, size_t threads, size_t round_count,
                    pipeline_row rows[MEMORY_SOURCE_COUNT]);

#endif
